# SPDX-License-Identifier: MIT
"""What the tests of the Python client share: a server that says what a test
wants, a real one in a directory of its own, and an eye on forgotten tasks."""
from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import shutil
import tempfile
import unittest
from typing import Any, Awaitable, Callable, Dict, List, Optional, TypeVar

import psup
from psup import _wire

T = TypeVar("T")
PATIENCE = 120.0  # ends a wait for what never comes
HELLO = {"server": "0", "protocol": 1, "incarnation": "0" * 16, "scope": None,
         "pid": 1}

Talk = Callable[["Peer"], Awaitable[None]]


async def soon(what: Awaitable[T]) -> T:
    return await asyncio.wait_for(what, PATIENCE)


async def readable(fd: int) -> None:
    loop, there = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(fd, there.set)
    try:
        await soon(there.wait())
    finally:
        loop.remove_reader(fd)


class Peer:
    """A connection, as the server sees it."""

    def __init__(self, reader: asyncio.StreamReader,
                 writer: asyncio.StreamWriter, number: int) -> None:
        self.reader, self.writer, self.number = reader, writer, number
        self._decoder = _wire.Decoder()
        self._got: List[Any] = []

    async def get(self, settles: bool = True) -> Any:
        """The next message; defaults are taken, and passed over."""
        while not self._got:
            data = await self.reader.read(65536)
            if not data:
                raise EOFError
            self._got += self._decoder.feed(data)
        m = self._got.pop(0)
        if m[0] != 0 or m[2] != "defaults" or not settles:
            return m
        self.send([1, m[1], None, {"bytes": 0}])
        return await self.get()

    def send(self, *messages: Any) -> None:
        for m in messages:
            self.writer.write(_wire.pack(m))

    async def greet(self, **fields: Any) -> None:
        hello = await self.get()
        self.send([1, hello[1], None, {**HELLO, **fields}])


class Case(unittest.IsolatedAsyncioTestCase):
    """No exception may be left that nobody looked at."""

    async def asyncSetUp(self) -> None:
        self.unseen: List[Dict[str, Any]] = []
        loop = asyncio.get_running_loop()
        loop.slow_callback_duration = PATIENCE
        loop.set_exception_handler(
            lambda loop, context: self.unseen.append(context))

    async def asyncTearDown(self) -> None:
        gc.collect()
        await asyncio.sleep(0)
        self.assertEqual(self.unseen, [])

    async def fails(self, code: str, what: Awaitable[Any],
                    field: Optional[str] = None) -> psup.PsupError:
        with self.assertRaises(psup.PsupError) as caught:
            await soon(what)
        self.assertEqual(caught.exception.code, code, caught.exception)
        if field is not None:
            self.assertEqual(caught.exception.field, field)
        return caught.exception


class FakeCase(Case):
    """Each connection is served by `talk`; what it returns from is closed."""

    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.dir = tempfile.mkdtemp(prefix="psup-test-", dir="/dev/shm")
        self.peers = 0
        self.talks: List["asyncio.Task[None]"] = []
        self.server: Optional[asyncio.AbstractServer] = None

    async def serve(self, talk: Talk) -> None:
        async def serve(reader: asyncio.StreamReader,
                        writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self.talks.append(task)
            self.peers += 1
            try:
                await talk(Peer(reader, writer, self.peers))
                await writer.drain()
            except (EOFError, OSError, asyncio.CancelledError):
                pass
            finally:
                writer.close()

        self.server = await asyncio.start_unix_server(
            serve, self.dir + "/sock")

    def stop(self) -> None:
        assert self.server is not None
        self.server.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.dir + "/sock")  # Python 3.13 has done it

    async def connect(self, timeout: float = PATIENCE) -> psup.Psup:
        return await psup.connect(runtime_dir=self.dir, start=False,
                                  timeout=timeout)

    async def asyncTearDown(self) -> None:
        if self.server is not None:
            self.server.close()
        for task in self.talks:
            task.cancel()
        await asyncio.gather(*self.talks, return_exceptions=True)
        shutil.rmtree(self.dir)
        await super().asyncTearDown()


class LiveCase(Case):
    """With a server of its own, which the first connection starts."""
    dir = ""

    @classmethod
    def setUpClass(cls) -> None:
        cls.dir = tempfile.mkdtemp(prefix="psup-test-", dir="/dev/shm")
        os.environ["PATH"] = (os.environ["PSUP_TEST_BIN"] + ":" +
                              os.environ["PATH"])
        for name in ("PSUP_SCOPE", "PSUP_TOKEN_FILE", "PSUP_CONFIG",
                     "PSUP_PSUPD", "PSUP_SERVER_USER"):
            os.environ.pop(name, None)

    @classmethod
    def tearDownClass(cls) -> None:
        async def stop() -> None:
            async with psup.connect(runtime_dir=cls.dir, start=False) as p:
                await p.shutdown(grace_ms=300)

        try:
            asyncio.run(stop())
        except psup.PsupError:
            pass  # the test has ended it
        shutil.rmtree(cls.dir, ignore_errors=True)

    def connect(self, **options: Any) -> Any:
        return psup.connect(runtime_dir=self.dir, **options)
