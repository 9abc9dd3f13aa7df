# SPDX-License-Identifier: MIT
"""create_subprocess_exec: what code written for asyncio's expects."""
from __future__ import annotations

import asyncio
import hashlib
import random
import signal

from lib import LiveCase, soon


class Processes(LiveCase):
    async def test_streams_and_codes(self) -> None:
        async with self.connect(scope="p") as p:
            proc = await soon(p.create_subprocess_exec(
                "sh", "-c", "cat; echo err >&2; exit 5"))
            self.assertEqual(await soon(proc.communicate(b"in\n")),
                             (b"in\n", b"err\n"))
            self.assertEqual(proc.returncode, 5)
            proc = await soon(p.create_subprocess_shell(
                "echo a; echo b >&2", stderr=asyncio.subprocess.STDOUT,
                stdin=asyncio.subprocess.DEVNULL))
            self.assertEqual(await soon(proc.communicate()),
                             (b"a\nb\n", None))
            self.assertIsNone(proc.stdin)

    async def test_env_and_cwd(self) -> None:
        async with self.connect() as p:
            proc = await soon(p.create_subprocess_exec(
                "/bin/sh", "-c", "echo $A; pwd", env={"A": "x"}, cwd="/"))
            self.assertEqual((await soon(proc.communicate()))[0], b"x\n/\n")

    async def test_no_such_program(self) -> None:
        async with self.connect() as p:
            with self.assertRaises(FileNotFoundError) as caught:
                await soon(p.create_subprocess_exec("/absent/program"))
            self.assertEqual(caught.exception.filename, "/absent/program")
            with self.assertRaises(PermissionError):
                await soon(p.create_subprocess_exec("/etc/passwd"))
            await self.fails("bad-workdir", p.create_subprocess_exec(
                "true", cwd="/absent"))

    async def test_signals(self) -> None:
        async with self.connect(scope="sig") as p:
            proc = await soon(p.create_subprocess_exec("sleep", "1000"))
            proc.terminate()
            self.assertEqual(await soon(proc.wait()), -signal.SIGTERM)
            with self.assertRaises(ProcessLookupError):
                proc.kill()
            proc = await soon(p.create_subprocess_shell(
                "trap 'echo usr' USR1; trap '' TERM; echo up; "
                "while :; do sleep 0.01; done"))
            assert proc.stdout is not None
            self.assertEqual(await soon(proc.stdout.readline()), b"up\n")
            proc.terminate()
            proc.send_signal(signal.SIGUSR1)
            self.assertEqual(await soon(proc.stdout.readline()), b"usr\n")
            proc.kill()
            self.assertEqual(await soon(proc.wait()), -signal.SIGKILL)

    async def test_what_it_cannot(self) -> None:
        async with self.connect() as p:
            for options in ({"pass_fds": (3,)}, {"preexec_fn": print},
                            {"close_fds": False}, {"user": 1},
                            {"stdin": None}, {"stdout": 7}, {"nonsense": 1},
                            {"stdout": asyncio.subprocess.STDOUT}):
                with self.assertRaises(TypeError):
                    await p.create_subprocess_exec("true", **options)

    async def test_20_megabytes(self) -> None:
        data = random.Random(16).randbytes(20 << 20)
        async with self.connect(scope="big") as p:
            proc = await soon(p.create_subprocess_exec("cat"))
            out, _ = await soon(proc.communicate(data))
            assert out is not None
            self.assertEqual(hashlib.sha256(out).digest(),
                             hashlib.sha256(data).digest())
            self.assertEqual(proc.dropped_bytes, 0)

    async def test_one_reader_asleep(self) -> None:
        async with self.connect(scope="asleep") as p:
            sleeper = await soon(p.create_subprocess_exec("yes"))

            async def one(i: int) -> bytes:
                proc = await p.create_subprocess_exec("echo", str(i))
                out, _ = await proc.communicate()
                return out or b""

            for begin in range(0, 200, 50):
                got = await soon(asyncio.gather(*(
                    one(i) for i in range(begin, begin + 50))))
                self.assertEqual(got, [b"%d\n" % i for i in
                                       range(begin, begin + 50)])
            assert sleeper.stdout is not None
            # held back: what waits here is bounded
            self.assertLess(len(getattr(sleeper.stdout, "_buffer")), 2 << 20)
            sleeper.kill()
            self.assertEqual(await soon(sleeper.wait()), -signal.SIGKILL)

    async def test_stdin_that_nobody_reads(self) -> None:
        async with self.connect(scope="unread") as p:
            proc = await soon(p.create_subprocess_exec("sleep", "1000"))
            assert proc.stdin is not None
            proc.stdin.write(b"x" * (4 << 20))
            drain = asyncio.ensure_future(proc.stdin.drain())
            # the server's queue is full, and so it stays
            while proc.stdin._position == 0:
                await soon(p.lanes())  # an answer of the server's later
            self.assertFalse(drain.done())
            proc.kill()
            await soon(proc.wait())
            with self.assertRaises(BrokenPipeError):
                await soon(drain)

    async def test_the_client_closes(self) -> None:
        async with self.connect(scope="closes") as p:
            proc = await soon(p.create_subprocess_exec("sleep", "1000"))
            wait = asyncio.ensure_future(proc.wait())
            assert proc.stdout is not None
            read = asyncio.ensure_future(proc.stdout.read())
            await asyncio.sleep(0)
        await self.fails("connection-lost", wait)
        await self.fails("connection-lost", read)

    async def test_given_up_before_it_runs(self) -> None:
        async with self.connect(scope="lane") as p:
            first = await soon(p.create_subprocess_exec(
                "sleep", "1000", lane="one"))
            task = asyncio.ensure_future(p.create_subprocess_exec(
                "echo", lane="one"))
            while not (await soon(p.lanes())).details["lanes"][0].get(
                    "queued"):
                pass
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await soon(task)
            while (await soon(p.lanes())).details["lanes"][0].get("queued"):
                pass
            first.kill()
            await soon(first.wait())
