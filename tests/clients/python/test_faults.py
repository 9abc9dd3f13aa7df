# SPDX-License-Identifier: MIT
"""Servers that do what none should: typed errors or back-pressure, no hang."""
from __future__ import annotations

import asyncio
import os
import socket
from typing import Any, List

import psup
from psup import _wire

from lib import PATIENCE, FakeCase, Peer, soon

ROW = {"text": "", "details": {"status": "completed", "sessions": []},
       "isError": False}


async def until_closed(peer: Peer) -> None:
    while True:
        await peer.get()


class Hello(FakeCase):
    async def test_another_version(self) -> None:
        async def talk(peer: Peer) -> None:
            await peer.greet(protocol=2)
            await until_closed(peer)
        await self.serve(talk)
        await self.fails("unsupported", self.connect(), "protocol")

    async def test_a_version_that_refuses_ours(self) -> None:
        async def talk(peer: Peer) -> None:
            m = await peer.get()
            peer.send([1, m[1], {"code": "invalid-params", "field": "protocol",
                                 "message": "protocol is 1, expected 2"},
                       None])
        await self.serve(talk)
        await self.fails("invalid-params", self.connect(), "protocol")

    async def test_no_server(self) -> None:
        await self.fails("no-server", self.connect())
        self.dir, there = self.dir + "/absent", self.dir
        await self.fails("no-server", self.connect())
        self.dir = there

    async def test_one_that_is_about_to_serve(self) -> None:
        async def talk(peer: Peer) -> None:
            await peer.greet()
            await until_closed(peer)

        def serves() -> None:
            with open(lock, "w", encoding="ascii") as f:  # it is looked at
                os.rename(away, sock)
                f.write(f"{os.getpid()}\n")

        await self.serve(talk)
        lock, sock, away = (os.path.join(self.dir, name)
                            for name in ("lock", "sock", "away"))
        os.rename(sock, away)
        os.mkfifo(lock)
        serving = asyncio.get_running_loop().run_in_executor(None, serves)
        async with await self.connect():
            await serving

    async def test_nothing_to_start(self) -> None:
        e = await self.fails("no-server", psup.connect(
            runtime_dir=self.dir, psupd="/nonexistent/psupd")._connect())
        self.assertEqual(e.field, "psupd")
        await self.fails("no-server", psup.connect(
            runtime_dir=self.dir, psupd="/bin/false")._connect(), "psupd")

    async def test_a_directory_of_everybody(self) -> None:
        os.chmod(self.dir, 0o777)
        await self.fails("system", self.connect(), "runtime_dir")
        os.chmod(self.dir, 0o700)

    async def test_nobody_answers(self) -> None:
        await self.serve(until_closed)
        await self.fails("timeout", self.connect(timeout=0.1))

    async def test_always_closed(self) -> None:
        async def talk(peer: Peer) -> None:
            await peer.get()
        await self.serve(talk)
        # which of the two, says where the time is up
        with self.assertRaises(psup.PsupError) as caught:
            await soon(self.connect(timeout=0.1))
        self.assertIn(caught.exception.code, ("connection-lost", "timeout"))

    async def test_hellos_of_no_shape(self) -> None:
        for answer in ([1, 0, None, 7], [1, 0, "no", None], [1, 0, {}, None],
                       [7], {}, [0, 1, "x", {}], [2, 1, []], [2, "event", [1]],
                       [1, "0", None, {}]):
            async def talk(peer: Peer, answer: Any = answer) -> None:
                await peer.get()
                peer.send(answer)
                await until_closed(peer)
            await self.serve(talk)
            await self.fails("bad-answer", self.connect())
            self.stop()


class Answers(FakeCase):
    async def test_no_messagepack(self) -> None:
        async def talk(peer: Peer) -> None:
            await peer.greet()
            m = await peer.get()
            if m[2] == "clear":
                peer.writer.write(b"\xc1")
            else:
                peer.send([1, m[1], None, ROW])
            await until_closed(peer)
        await self.serve(talk)
        async with await self.connect() as p:
            await self.fails("bad-answer", p.clear("x"))
            # and the next call has another connection
            await soon(p.list())

    async def test_closed_at_each_byte(self) -> None:
        for method, again in (("list", True), ("clear", False)):
            size = len(_wire.pack([1, 1, None, ROW]))
            for cut in range(size):
                await self._closed_at(method, again, cut)

    async def _closed_at(self, method: str, again: bool, cut: int) -> None:
        async def talk(peer: Peer) -> None:
            await peer.greet()
            first = peer.number % 2 == 1
            m = await peer.get()
            raw = _wire.pack([1, m[1], None, ROW])
            peer.writer.write(raw[:cut] if first else raw)
            if not first:
                await until_closed(peer)
        self.peers = 0
        await self.serve(talk)
        async with await self.connect() as p:
            params = {} if method == "list" else {"sessionId": "x"}
            if again:
                self.assertEqual(await soon(p.call(method, params)), ROW)
                self.assertEqual(p.resumed, 1)
            else:
                await self.fails("connection-lost", p.call(method, params))
        self.stop()

    async def test_what_may_be_asked_again_is_said_by_the_rows(self) -> None:
        asked = []

        async def talk(peer: Peer) -> None:
            await peer.greet()
            m = await peer.get()
            asked.append(m[2:])
            if peer.number % 2 == 0:
                peer.send([1, m[1], None, ROW])
                await until_closed(peer)
        await self.serve(talk)
        async with await self.connect() as p:
            await soon(p.exec("true"))
            self.assertEqual(asked[0], asked[1])
            self.assertIn("requestKey", asked[0][1])
        for method, params, field in (
                ("write", {"sessionId": "x", "data": "a"}, "position"),
                ("submit", {"sessionId": "x"}, ""),
                ("lanes", {"op": "clear", "lane": "a"}, "op")):
            self.peers = 0
            async with await self.connect() as p:
                await self.fails("connection-lost", p.call(method, params),
                                 field)
        self.peers = 0
        async with await self.connect() as p:
            await soon(p.write("x", "a", position=0))

    async def test_another_server(self) -> None:
        async def talk(peer: Peer) -> None:
            await peer.greet(incarnation=f"{peer.number:016}")
            m = await peer.get()
            if peer.number > 1:
                peer.send([1, m[1], None, ROW])
                await until_closed(peer)
        await self.serve(talk)
        async with await self.connect() as p:
            await self.fails("no-server", p.list())
            await soon(p.list())

    async def test_a_server_that_goes(self) -> None:
        async def talk(peer: Peer) -> None:
            await peer.greet()
            await peer.get()
            os.unlink(self.dir + "/sock")
        await self.serve(talk)
        async with await self.connect() as p:
            await self.fails("no-server", p.list())
            await self.fails("no-server", p.list())

    async def test_error_of_the_server_has_code_and_field(self) -> None:
        async def talk(peer: Peer) -> None:
            await peer.greet()
            m = await peer.get()
            peer.send([1, m[1], {"code": "not-found", "message": "no x",
                                 "field": "sessionId"}, None])
            m = await peer.get()
            peer.send([1, m[1], None, 3])
            m = await peer.get()
            peer.send([1, m[1], None, {"text": ""}])
            await until_closed(peer)
        await self.serve(talk)
        async with await self.connect() as p:
            await self.fails("not-found", p.clear("x"), "sessionId")
            await self.fails("bad-answer", p.clear("x"))
            await self.fails("bad-answer", p.clear("x"), "details")

    async def test_closed_client(self) -> None:
        async def talk(peer: Peer) -> None:
            await peer.greet()
            await until_closed(peer)
        await self.serve(talk)
        p = await self.connect()
        waits = [asyncio.ensure_future(p.list()) for _ in range(100)]
        await asyncio.sleep(0)
        await soon(p.close())
        for w in waits:
            await self.fails("connection-lost", w)
        await self.fails("usage", p.list())


class Defaults(FakeCase):
    """The environment goes once a connection, and nothing without it."""

    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.refusals: List[str] = []  # of defaults that are to come
        self.breaks = 0  # of connections, by an exec
        self.takes = 0  # what it has back, before so many execs
        self.settled = 0
        self.seen: List[Any] = []  # environments that came with an exec
        await self.serve(self.talk)

    async def talk(self, peer: Peer) -> None:
        await peer.greet()
        m = await peer.get(settles=False)
        if m[2] == "defaults":
            self.settled += 1
            refused = self.refusals.pop(0) if self.refusals else None
            peer.send([1, m[1], {"code": refused, "message": "no"}, None]
                      if refused else [1, m[1], None, {"bytes": 9}])
            m = await peer.get()
        while True:
            self.seen.append(m[3].get("baseEnv"))
            if self.breaks > 0:
                self.breaks -= 1
                return
            if self.takes > 0:
                self.takes -= 1
                peer.send([1, m[1], {"code": "share-used-up", "message": "no",
                                     "field": "baseEnv"}, None])
                m = await peer.get(settles=False)
                if m[2] == "defaults":
                    self.settled += 1
                    peer.send([1, m[1], None, {"bytes": 9}])
                    m = await peer.get()
                continue
            peer.send([1, m[1], None, ROW])
            m = await peer.get()

    async def test_that_is_taken_back(self) -> None:
        self.takes = 1
        async with await self.connect() as p:
            await soon(p.exec("true"))
            self.assertEqual((self.settled, self.seen), (2, [None] * 2))
            self.takes = 2
            await self.fails("share-used-up", p.exec("true"))
            self.assertEqual((self.settled, self.takes), (3, 0))

    async def test_a_server_that_is_too_old(self) -> None:
        self.refusals = ["unknown-method"]
        self.breaks = 1
        async with await self.connect() as p:
            await soon(p.exec("true"))
        self.assertEqual(self.settled, 1)
        self.assertEqual([e["PATH"] for e in self.seen],
                         [os.environ["PATH"]] * 2)

    async def test_before_what_is_asked_again(self) -> None:
        self.breaks = 2
        async with await self.connect() as p:
            await soon(p.exec("true"))
            self.assertEqual((self.settled, self.seen), (3, [None] * 3))
            self.breaks = 1
            self.refusals = ["share-used-up", "busy"]
            await soon(p.exec("true"))
        self.assertEqual((self.settled, self.seen), (6, [None] * 5))

    async def test_that_finds_no_room(self) -> None:
        async with await self.connect(timeout=5) as p:
            await soon(p.exec("true"))
            self.breaks = 1
            self.refusals = ["share-used-up"] * 10_000
            await self.fails("share-used-up", p.exec("true"))
            self.assertLess(len(self.refusals), 9_999)
            self.refusals = []
            await soon(p.exec("true"))
        self.assertEqual(self.seen, [None] * 3)

    async def test_an_environment_that_has_changed(self) -> None:
        async with await self.connect() as p:
            await soon(p.exec("true"))
            os.environ["PSUP_TEST_LATER"] = "x"
            try:
                await soon(p.exec("true"))
            finally:
                del os.environ["PSUP_TEST_LATER"]
            await soon(p.exec("true"))
        self.assertEqual([e and e["PSUP_TEST_LATER"] for e in self.seen],
                         [None, "x", None])


CALLS = int(os.environ.get("PSUP_TEST_CALLS", "2000"))


class Pressure(FakeCase):
    async def test_calls_at_once(self) -> None:
        under_way = most = 0

        async def talk(peer: Peer) -> None:
            nonlocal under_way, most
            await peer.greet()
            pending = []
            while True:
                pending.append(await peer.get())
                under_way += 1
                most = max(most, under_way)
                # nobody is answered before there is nothing more to read
                if peer._got:
                    continue
                for m in reversed(pending):
                    under_way -= 1
                    peer.send([1, m[1], None, ROW])
                pending.clear()
        await self.serve(talk)
        async with await self.connect() as p:
            got = await soon(asyncio.gather(*(
                p.list() for _ in range(CALLS))))
        self.assertEqual(len(got), CALLS)
        self.assertLess(most, 64)

    async def test_calls_that_are_given_up(self) -> None:
        cancelled = asyncio.Event()

        async def talk(peer: Peer) -> None:
            await peer.greet()
            asked = set()
            while True:
                m = await peer.get()
                if m[0] == 0:
                    asked.add(m[1])
                elif m[1] == "cancel":
                    asked.discard(m[2][0]["msgid"])
                    peer.send([1, m[2][0]["msgid"], {
                        "code": "cancelled", "message": "given up"}, None])
                    if not asked:
                        cancelled.set()
        await self.serve(talk)
        async with await self.connect() as p:
            calls = [asyncio.ensure_future(p.list()) for _ in range(CALLS)]
            await asyncio.sleep(0)
            for c in calls:
                c.cancel()
            done = await soon(asyncio.gather(*calls, return_exceptions=True))
            self.assertEqual({type(e) for e in done},
                             {asyncio.CancelledError})
            await soon(cancelled.wait())

    async def test_a_server_that_does_not_read(self) -> None:
        go = asyncio.Event()
        got = 0

        async def talk(peer: Peer) -> None:
            nonlocal got
            await peer.greet()
            m = await peer.get(settles=False)
            peer.send([1, m[1], None, {"bytes": 0}])
            await go.wait()
            while True:
                m = await peer.get()
                got += len(m[3]["data"])
                peer.send([1, m[1], None, ROW])
        await self.serve(talk)
        async with await self.connect() as p:
            data = b"x" * (1 << 20)
            calls = [asyncio.ensure_future(p.write("x", data, position=0))
                     for _ in range(40)]
            link = await p._main.open()
            while link.is_writable():
                await asyncio.sleep(0)
            transport: Any = link._transport
            # one message beyond the mark, not forty
            self.assertLess(transport.get_write_buffer_size(), 3 << 20)
            go.set()
            await soon(asyncio.gather(*calls))
        self.assertEqual(got, 40 << 20)

    async def test_events_that_nobody_takes(self) -> None:
        sent = 0
        full = asyncio.Event()

        async def talk(peer: Peer) -> None:
            nonlocal sent
            await peer.greet()
            m = await peer.get()
            if m[2] != "subscribe":
                return
            peer.send([1, m[1], None, {"acknowledged": 0, "overflowed": 0}])
            peer.writer.transport.set_write_buffer_limits(high=65536)
            for seq in range(1, 20_001):
                peer.send([2, "event", [{"seq": seq, "kind": "exited",
                                         "text": "x" * 500}]])
                sent = seq
                if peer.writer.transport.get_write_buffer_size() > 65536:
                    full.set()
                await peer.writer.drain()
            await until_closed(peer)
        await self.serve(talk)
        async with await self.connect() as p:
            async with p.listen("x") as events:
                await soon(full.wait())
                while len(events._events) < 1000:
                    await asyncio.sleep(0)
                self.assertLess(sent, 20_000)
                seen = 0
                async for e in events:
                    seen += 1
                    self.assertEqual(e["seq"], seen)
                    if seen == 20_000:
                        break

    async def test_events_over_a_lost_connection(self) -> None:
        async def talk(peer: Peer) -> None:
            await peer.greet()
            m = await peer.get()
            peer.send([1, m[1], None, {"acknowledged": 0, "overflowed": 0}])
            for seq in range(1, 3 * peer.number):
                peer.send([2, "event", [{"seq": seq, "kind": "exited"}]])
            if peer.number == 4:
                await until_closed(peer)
        await self.serve(talk)
        p = await self.connect_bare()
        async with p.listen() as events:
            got = []
            async for e in events:
                got.append(e["seq"])
                if len(got) == 11:
                    break
        self.assertEqual(got, list(range(1, 12)))
        await p.close()

    async def connect_bare(self) -> psup.Psup:
        """A client whose own connection is not made yet."""
        from psup._client import Psup
        from psup._place import Place
        return Psup(Place(self.dir, None, None), {"protocol": 1}, False,
                    PATIENCE)

    async def test_full_queue_of_connections(self) -> None:
        sock = socket.socket(socket.AF_UNIX)
        sock.bind(self.dir + "/sock")
        sock.listen(0)
        others = []
        for _ in range(3):
            s = socket.socket(socket.AF_UNIX)
            s.setblocking(False)
            try:
                s.connect(self.dir + "/sock")
            except BlockingIOError:
                pass
            others.append(s)
        await self.fails("timeout", self.connect(timeout=0.1))
        for s in [sock, *others]:
            s.close()
