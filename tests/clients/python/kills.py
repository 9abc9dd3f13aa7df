# SPDX-License-Identifier: MIT
"""kills.py [KILLS [SEED]]: docs/examples/gateway.py while it, the server's
master, its workers and its keeper are killed. No job runs twice, no result is
missing, and whoever waits meanwhile hears something. Long:
tests/long/clients-python."""
from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from typing import Any, Dict, List, Optional

import psup

JOBS = 40
TARGETS = ("gateway", "master", "worker", "keeper")
PATIENCE = 120.0
EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "../../../docs/examples/gateway.py")


class Wrong(Exception):
    pass


class Campaign:
    def __init__(self, kills: int, seed: int, directory: str) -> None:
        self.rand = random.Random(seed)
        self.wanted = kills
        self.dir = directory
        self.env = {**os.environ, "PSUP_RUNTIME_DIR": directory + "/run"}
        self.killed: Counter[str] = Counter()
        self.ends: Counter[str] = Counter()
        self.heard: Counter[str] = Counter()
        self.gateway: Optional[asyncio.subprocess.Process] = None
        self.over = False

    # --------------------------------------------------------------- killing

    async def pid_of(self, target: str) -> Optional[int]:
        if target == "gateway":
            assert self.gateway is not None
            return (self.gateway.pid if self.gateway.returncode is None
                    else None)
        try:
            async with psup.connect(start=False) as p:
                s: Dict[str, Any] = dict(await p.status())
        except psup.PsupError:
            return None  # it is on its way up
        if target == "worker":
            pids = [w["pid"] for w in s["workers"] if w.get("pid")]
            return self.rand.choice(pids) if pids else None
        pid = s[target]["pid"]
        return pid if isinstance(pid, int) else None

    async def kill_one(self) -> None:
        target = TARGETS[sum(self.killed.values()) % len(TARGETS)]
        pid = await self.pid_of(target)
        if pid is None:
            return
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self.killed[target] += 1

    # --------------------------------------------------------------- waiting

    async def waiter(self, p: psup.Psup, n: int) -> None:
        """Somebody whose calls must all come to an end."""
        while not self.over:
            try:
                await asyncio.wait_for(self.wait_once(p, n), PATIENCE)
                self.heard["answered"] += 1
            except psup.PsupError as e:
                self.heard[e.code] += 1
                if e.code not in ("no-server", "connection-lost", "timeout",
                                  "not-found", "stopping", "internal"):
                    raise Wrong(f"waiter {n}: {e.code}: {e}") from e

    async def wait_once(self, p: psup.Psup, n: int) -> None:
        if n == 0:
            r = await p.exec("sleep 0.05; echo end", yield_ms=None)
            if r.status == "completed" and r.details.get("aggregated") != "end\n":
                raise Wrong(f"exec: {r!r}")
        elif n == 1:
            r = await p.exec("for i in 1 2 3; do echo $i; sleep 0.02; done",
                             background=True)
            got = b"".join([c.data async for c in p.output(
                r.details.get("instanceId", ""))])
            if not b"1\n2\n3\n".startswith(got):
                raise Wrong(f"output: {got!r}")
        else:
            proc = await p.create_subprocess_exec("cat")
            out, _ = await proc.communicate(b"x" * 100_000)
            if proc.returncode == 0 and out != b"x" * 100_000:
                raise Wrong(f"cat: {len(out or b'')} bytes")

    # ---------------------------------------------------------------- rounds

    async def start_gateway(self, d: str) -> None:
        with open(d + "/said", "ab") as said:
            self.gateway = await asyncio.create_subprocess_exec(
                sys.executable, EXAMPLE, d, "kills", env=self.env, stderr=said)

    async def run_round(self, number: int) -> None:
        d = f"{self.dir}/{number}"
        os.mkdir(d)
        with open(d + "/jobs", "w", encoding="ascii") as f:
            for i in range(JOBS):
                f.write(f"r{number}-{i}\techo x >>{d}/ran-{i}; sleep "
                        f"{self.rand.uniform(0, 0.5):.3f}; exit {i % 3}\n")
        await self.start_gateway(d)
        until = time.monotonic() + PATIENCE * 3
        assert self.gateway is not None
        while True:
            if time.monotonic() > until:
                with open(d + "/said", encoding="utf-8") as f:
                    raise Wrong(f"round {number} does not end:\n{f.read()}")
            try:
                # kills come at times that nothing knows of
                code = await asyncio.wait_for(self.gateway.wait(),
                                              self.rand.uniform(0, 0.15))
            except asyncio.TimeoutError:
                if sum(self.killed.values()) < self.wanted:
                    await self.kill_one()
                continue
            if code == 0:
                break
            if code != -signal.SIGKILL:
                with open(d + "/said", encoding="utf-8") as f:
                    raise Wrong(f"the gateway ended with {code}:\n{f.read()}")
            await self.start_gateway(d)
        self.judge(number, d)

    def judge(self, number: int, d: str) -> None:
        with open(d + "/results", encoding="utf-8") as f:
            rows = [line.split("\t") for line in f.read().splitlines()]
        names = Counter(row[0] for row in rows)
        if names != Counter(f"r{number}-{i}" for i in range(JOBS)):
            raise Wrong(f"round {number}: results {names}")
        for name, status, code in rows:
            i = int(name.split("-")[1])
            ran = 0
            if os.path.exists(f"{d}/ran-{i}"):
                ran = os.path.getsize(f"{d}/ran-{i}") // 2
            self.ends[status] += 1
            if ran > 1 or (ran == 0 and status == "completed"):
                raise Wrong(f"{name} ran {ran} times: {status}")
            if status == "completed" and int(code) != i % 3:
                raise Wrong(f"{name} ended with {code}")

    async def rounds(self) -> None:
        number = 0
        while sum(self.killed.values()) < self.wanted:
            await self.run_round(number)
            number += 1

    async def run(self) -> None:
        async with psup.connect(scope="waits") as p:
            waiters: List["asyncio.Task[None]"] = [
                asyncio.ensure_future(self.waiter(p, n)) for n in range(3)]
            rounds = asyncio.ensure_future(self.rounds())
            try:
                await asyncio.wait([rounds, *waiters],
                                   return_when=asyncio.FIRST_COMPLETED)
                self.over = True
                if rounds.done():
                    rounds.result()
                await asyncio.wait_for(asyncio.gather(*waiters), PATIENCE * 2)
            finally:
                rounds.cancel()
                if (self.gateway is not None and
                        self.gateway.returncode is None):
                    self.gateway.kill()
                    await self.gateway.wait()


async def main() -> int:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    seed = (int(sys.argv[2]) if len(sys.argv) > 2
            else random.SystemRandom().randrange(1 << 31))
    print(f"kills.py {kills} {seed}", flush=True)
    directory = tempfile.mkdtemp(prefix="psup-kills-", dir="/dev/shm")
    os.environ["PSUP_RUNTIME_DIR"] = directory + "/run"
    # an end without output and with code 0 is to be told, too
    os.environ["PSUP_CONFIG"] = directory + "/psup.conf"
    with open(directory + "/psup.conf", "w", encoding="ascii") as f:
        f.write("[exec]\nnotify_on_exit_empty_success = yes\n")
    os.environ["PATH"] = (os.environ["PSUP_TEST_BIN"] + ":" +
                          os.environ["PATH"])
    unseen: List[Dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda loop, context: unseen.append(context))
    campaign = Campaign(kills, seed, directory)
    try:
        await campaign.run()
    except (Wrong, asyncio.TimeoutError) as e:
        print(f"WRONG: {type(e).__name__} {e}")
        return 1
    finally:
        print(f"killed {dict(campaign.killed)}, jobs {dict(campaign.ends)}, "
              f"waiters {dict(campaign.heard)}")
        try:
            async with psup.connect(start=False) as p:
                await p.shutdown(grace_ms=300)
        except psup.PsupError:
            pass
        shutil.rmtree(directory, ignore_errors=True)
    if unseen:
        print(f"WRONG: nobody looked at {unseen}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
