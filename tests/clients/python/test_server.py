# SPDX-License-Identifier: MIT
"""Against a real server: methods, output, events, restarts of its master."""
from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import psup

from lib import LiveCase, readable, soon


class Methods(LiveCase):
    async def test_a_command(self) -> None:
        async with self.connect(scope="a") as p:
            r = await soon(p.exec("echo hi; echo no >&2; exit 3"))
            self.assertEqual((r.status, r.details["exitCode"]),
                             ("completed", 3))
            self.assertIn("hi\nno\n", r.text)
            self.assertFalse(r.is_error)
            r = await soon(p.exec(argv=["printf", "%s", "a b"], env={"A": ""}))
            self.assertEqual(r.details["aggregated"], "a b")

    async def test_it_has_our_surroundings(self) -> None:
        os.environ["PSUP_TEST_HERE"] = "\udcff\u00e9"
        try:
            async with self.connect() as p:
                r = await soon(p.exec('printf %s "$PSUP_TEST_HERE" | od -An '
                                      "-tx1; pwd"))
        finally:
            del os.environ["PSUP_TEST_HERE"]
        self.assertEqual(r.details["aggregated"].split(),
                         ["ff", "c3", "a9", os.getcwd()])

    async def test_refusals_are_raised(self) -> None:
        async with self.connect() as p:
            await self.fails("not-found", p.poll("no-such"), "sessionId")
            await self.fails("bad-workdir", p.exec("true", workdir="/absent"),
                             "workdir")
            await self.fails("invalid-params", p.exec("true", host="moon"),
                             "host")
            await self.fails("invalid-params", p.exec(), "command")
            await self.fails("unknown-method", p.call("nothing", {}))
            await self.fails("limit-exceeded", p.write("x", "y" * (2 << 20)))

    async def test_nil_stays_in_the_foreground(self) -> None:
        async with self.connect() as p:
            r = await soon(p.exec("sleep 0.1; echo done", yield_ms=None))
            self.assertEqual(r.status, "completed")
            r = await soon(p.exec("exec sleep 1000", yield_ms=10))
            self.assertEqual(r.status, "running")
            k = await soon(p.kill(r.session_id, grace_ms=0))
            self.assertEqual(k.details["exitReason"], "manual-cancel")

    async def test_cancel_ends_the_command(self) -> None:
        async with self.connect(scope="cancel") as p:
            fifo = self.dir + "/up"
            os.mkfifo(fifo)
            up = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
            self.addCleanup(os.close, up)
            task = asyncio.ensure_future(p.exec(
                f"echo $$ >{fifo}; exec sleep 1000", yield_ms=None))
            await readable(up)
            end = os.pidfd_open(int(os.read(up, 16)))
            self.addCleanup(os.close, end)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await soon(task)
            await readable(end)

    async def test_tokens(self) -> None:
        async with self.connect() as p:
            token = (await soon(p.mint_token("tok")))["token"]
        path = self.dir + "/token"
        fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(fd, token.encode() + b"\n")
        os.close(fd)
        async with self.connect(token_file=path) as p:
            self.assertEqual(p.server["scope"], "tok")
            await self.fails("forbidden", p.shutdown())
        os.chmod(path, 0o644)
        await self.fails("system", self.connect(token_file=path)._connect(),
                         "token_file")
        await self.fails("forbidden",
                         self.connect(token="0" * 64)._connect())

    async def test_500_execs_at_once(self) -> None:
        async with self.connect(scope="many") as p:
            rs = await soon(asyncio.gather(*(
                p.exec(f"echo {i}", yield_ms=None) for i in range(500))))
            self.assertEqual([r.details["aggregated"] for r in rs],
                             [f"{i}\n" for i in range(500)])

    async def test_200_that_stay_hold_up_nobody(self) -> None:
        async with self.connect(scope="stay") as p:
            stay = [asyncio.ensure_future(p.exec(
                "exec sleep 1000", yield_ms=None)) for _ in range(200)]
            await soon(p.exec("true"))
            await soon(p.list())
            for t in stay:
                t.cancel()
            await soon(asyncio.gather(*stay, return_exceptions=True))


class Restarts(LiveCase):
    async def kill(self, p: psup.Psup, role: str) -> None:
        async with self.connect() as admin:
            s: Any = await soon(admin.status())
        os.kill(s[role]["pid"], signal.SIGKILL)

    async def test_output_over_a_restart(self) -> None:
        async with self.connect(scope="out") as p:
            gate = self.dir + "/gate"
            r = await soon(p.exec(
                f"echo one; until [ -e {gate} ]; do sleep 0.01; done; "
                "echo two", background=True))
            chunks = []
            async for c in p.output(r.session_id):
                chunks.append(c)
                if len(chunks) == 1:
                    await self.kill(p, "master")
                    open(gate, "w", encoding="ascii").close()
            self.assertEqual(b"".join(c.data for c in chunks), b"one\ntwo\n")
            self.assertEqual(chunks[-1].pos + len(chunks[-1].data), 8)
            self.assertGreaterEqual(p.resumed, 1)
            os.unlink(gate)

    async def test_a_foreground_exec_over_a_restart(self) -> None:
        async with self.connect(scope="fore") as p:
            gate, mark = self.dir + "/gate2", self.dir + "/mark"
            task = asyncio.ensure_future(p.exec(
                f"echo up >>{mark}; until [ -e {gate} ]; do sleep 0.01; done; "
                "echo end", yield_ms=None))
            while not os.path.exists(mark):
                await asyncio.sleep(0.01)
            await self.kill(p, "master")
            open(gate, "w", encoding="ascii").close()
            self.assertEqual((await soon(task)).details["aggregated"],
                             "end\n")
            with open(mark, encoding="ascii") as f:
                self.assertEqual(f.read(), "up\n")

    async def test_stdin_over_restarts(self) -> None:
        async with self.connect(scope="in") as p:
            proc = await soon(p.create_subprocess_exec("cat"))
            assert proc.stdin is not None and proc.stdout is not None
            sent = b""
            for i in range(3):
                line = b"%d %s\n" % (i, b"x" * 300_000)
                proc.stdin.write(line)
                await self.kill(p, "master")
                self.assertEqual(await soon(proc.stdout.readexactly(
                    len(line))), line)
                sent += line
            proc.stdin.close()
            self.assertEqual(await soon(proc.stdout.read()), b"")
            self.assertEqual(await soon(proc.wait()), 0)

    async def test_the_keeper_dies(self) -> None:
        async with self.connect(scope="keep") as p:
            proc = await soon(p.create_subprocess_exec("sleep", "1000"))
            waits = [asyncio.ensure_future(proc.wait())]
            r = await soon(p.exec("echo kept; exec sleep 1000",
                                  background=True))
            await soon(p.wait(r.session_id, text="kept"))
            async with p.listen("k") as events:
                await self.kill(p, "keeper")
                with self.assertRaises(psup.PsupError):
                    await soon(waits[0])
                async for e in events:
                    if e["instanceId"] == r.details["instanceId"]:
                        self.assertEqual(e["kind"], "lost")
                        break
            got = b""
            async for c in p.output(r.details["instanceId"]):
                got += c.data
            self.assertEqual(got, b"kept\n")


class Events(LiveCase):
    async def test_acknowledged_once(self) -> None:
        async with self.connect(scope="ev") as p:
            for i in range(3):
                await soon(p.exec(f"echo {i}", background=True,
                                  session_key=f"job-{i}"))
            seen = set()
            async with p.listen("gw") as events:
                async for e in events:
                    seen.add(e["sessionKey"])
                    await soon(events.ack(e))
                    if len(seen) == 3:
                        break
            self.assertEqual(seen, {"job-0", "job-1", "job-2"})
            left = await soon(p.events(subscriber="gw"))
            self.assertEqual(left["events"], [])

    async def test_closed_it_ends(self) -> None:
        async with self.connect(scope="ev2") as p:
            events = p.listen("gw")
            task = asyncio.ensure_future(events.__anext__())
            await asyncio.sleep(0)
            await soon(events.close())
            with self.assertRaises((StopAsyncIteration, psup.PsupError)):
                await soon(task)
