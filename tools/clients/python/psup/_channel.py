# SPDX-License-Identifier: MIT
"""Connections that are taken up again.

A Channel is what stays when the socket (a Link) breaks because the server's
master died: it connects again, and asks again for what may be asked for twice
(the rules are those of common/proto.def). All else gets connection-lost. Once
the server itself is another one, everything that waited gets no-server.
"""
from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple

from . import _wire
from ._errors import PsupError, of_answer
from ._link import Link
from ._place import Place
from ._protocol import METHODS

PROTOCOL = 1
WINDOW = 60  # the server reads no more than 64 requests of a connection
SHORT_S = 0.1  # a connection that lives no longer helps nobody
FULL = ("busy", "share-used-up")  # until something has ended
SHORT_MAX = 50

Note = Callable[[str, Dict[str, Any]], None]


def may_repeat(method: str, params: Dict[str, Any]) -> bool:
    """May it be asked for again where its answer was lost?"""
    rule = METHODS[method][0] if method in METHODS else ""
    name, _, value = rule.partition("=")
    if rule == "*":
        return True
    if value:
        return bool(params.get(name, value) == value)
    return bool(name) and params.get(name) is not None


CLOSED = PsupError("connection-lost", "the connection was closed")


def _cancel(msgid: int) -> bytes:
    return _wire.notification("cancel", {"msgid": msgid})


class _Call:
    def __init__(self, method: str, params: Dict[str, Any],
                 note: Optional[Note]) -> None:
        self.method = method
        self.raw = _wire.pack_params(method, params)
        self.repeats = may_repeat(method, params)
        self.note = note
        self.given_up = False
        self.answer: asyncio.Future[Any] = (
            asyncio.get_running_loop().create_future())

    def fail(self, why: PsupError) -> None:
        if self.answer.done():
            return
        rule = METHODS[self.method][0] if self.method in METHODS else ""
        field = "" if self.repeats or rule == "*" else rule.partition("=")[0]
        self.answer.set_exception(PsupError(
            why.code, f"{self.method}: {why.message}" +
            ("" if self.repeats else "; it may have been done"),
            why.field or field))
        self.answer.exception()  # whoever waited may be gone


class Defaults:
    """What exec on every connection begins with.

    kept: the server has it, so that no call need say it. None: it was not asked
    yet; False: it is too old for it, or would not take it.
    """

    def __init__(self, params: Dict[str, Any]) -> None:
        self.params = params
        self.kept: Optional[bool] = None

    async def give(self, link: Link, deadline: float) -> None:
        if self.kept is False:
            return
        try:
            await link.ask("defaults", self.params,
                           deadline - time.monotonic())
            self.kept = True
        except PsupError as e:
            if e.code in ("connection-lost", "timeout", "bad-answer"):
                raise
            first = self.kept is None
            if first or e.code == "unknown-method":
                self.kept = False
            if not first:
                raise  # what waits for this connection does not say it


class Channel:
    """Calls over a connection to one place.

    subscribe  what is asked for after each hello; with it the channel connects
               again though nobody waits for an answer
    on_hello   before that: is it another server than the one before?
    on_event   notifications that are no call's
    on_fail    it is not connected, and why
    """

    def __init__(self, place: Place, hello: Dict[str, Any], *,
                 start: bool, timeout: float,
                 defaults: Optional[Defaults] = None,
                 subscribe: Optional[Dict[str, Any]] = None,
                 on_hello: Optional[Callable[[bool], None]] = None,
                 on_event: Optional[Note] = None,
                 on_fail: Optional[Callable[[PsupError], None]] = None
                 ) -> None:
        self.place = place
        self.server: Dict[str, Any] = {}
        self.resumed = 0
        self.busy = 0  # calls under way, and those that wait for room
        self.closed = False
        self._hello = hello
        self._start = start
        self._timeout = timeout
        self._defaults = defaults
        self._subscribe = subscribe
        self._on_hello = on_hello
        self._on_event = on_event
        self._on_fail = on_fail
        self._link: Optional[Link] = None
        self._opening: Optional[asyncio.Task[None]] = None
        self._calls: Dict[int, _Call] = {}
        self._next = 0
        self._free = WINDOW
        self._room: Deque[asyncio.Future[None]] = deque()
        self._reads = True
        self._since = 0.0
        self._shorts = 0

    # ------------------------------------------------------------ connecting

    async def open(self) -> Link:
        """Until it is connected. What it raises is why it cannot be."""
        while self._link is None or self._link.ended:
            task = self._opening or self._begin()
            # whoever is cancelled here does not cancel it for the others
            await asyncio.wait([task])
            if self.closed or task.cancelled():
                raise CLOSED.again()
            e = task.exception()
            if isinstance(e, PsupError):
                raise e.again()
            if e is not None:
                raise e
        return self._link

    def _begin(self) -> "asyncio.Task[None]":
        if self.closed:
            raise CLOSED.again()
        self._opening = asyncio.get_running_loop().create_task(self._open())
        self._opening.add_done_callback(self._opened)
        return self._opening

    def _opened(self, task: "asyncio.Task[None]") -> None:
        if self._opening is task:
            self._opening = None
        if task.cancelled():
            return
        e = task.exception()
        if e is None:
            return
        why = (e if isinstance(e, PsupError) else
               PsupError("system", f"{type(e).__name__}: {e}"))
        self._fail_all(why)
        if self._on_fail is not None and not self.closed:
            self._on_fail(why)

    async def _open(self) -> None:
        deadline = time.monotonic() + self._timeout
        tries = self._shorts
        full: Optional[PsupError] = None
        while True:
            if tries > 0:
                await asyncio.sleep(min(0.005 * tries, 0.2))
            tries += 1
            try:
                link, hello = await self._dial(deadline)
                if not link.ended:
                    break
            except PsupError as e:
                # a master that dies in the middle of it has a successor, and
                # what others use ends
                if e.code in FULL:
                    full = e
                elif e.code == "timeout" and full is not None:
                    raise full from e
                elif e.code != "connection-lost":
                    raise
                if time.monotonic() >= deadline:
                    raise
        self._link = link
        self._since = time.monotonic()
        if self.server:
            self.resumed += 1
        if self._is_other(hello):
            self._fail_all(PsupError("no-server", "the server has ended, "
                                     "another one is in its place"))
        self.server = hello
        for msgid, c in list(self._calls.items()):
            link.write(_wire.request(msgid, c.method, c.raw))
            if c.given_up:
                link.write(_cancel(msgid))
        link.read(self._reads)

    def _is_other(self, hello: Dict[str, Any]) -> bool:
        return bool(self.server) and (self.server.get("incarnation") !=
                                      hello.get("incarnation"))

    async def _dial(self, deadline: float) -> Tuple[Link, Dict[str, Any]]:
        """A link on which hello was said."""
        sock = await self._connected(deadline)
        link = Link(self._message, self._ended)
        await asyncio.get_running_loop().create_unix_connection(
            lambda: link, sock=sock)
        try:
            hello = await link.ask("hello", self._hello,
                                   deadline - time.monotonic())
            if hello.get("protocol") != PROTOCOL:
                raise PsupError(
                    "unsupported", f"{self.place.dir}: the server speaks "
                    f"protocol {hello.get('protocol')!r}, expected "
                    f"{PROTOCOL}", "protocol")
            if self._on_hello is not None:
                self._on_hello(self._is_other(hello))
            if self._defaults is not None:
                await self._defaults.give(link, deadline)
            if self._subscribe is not None:
                await link.ask("subscribe", self._subscribe,
                               deadline - time.monotonic())
        except BaseException:
            link.end(PsupError("connection-lost", "hello was refused"))
            raise
        return link, hello

    async def _connected(self, deadline: float) -> Any:
        started = False
        tries = 0
        while True:
            try:
                return self.place.dial()
            except BlockingIOError:
                why = "its queue of connections is full"
            except (FileNotFoundError, ConnectionRefusedError,
                    NotADirectoryError, ConnectionResetError) as e:
                why = e.strerror or str(e)
                if not self.place.keeper_lives():
                    if not self._start or started:
                        raise PsupError("no-server", f"{self.place.dir}: no "
                                        f"server runs: {why}") from e
                    await self.place.start()
                    started = True
                    continue
            except OSError as e:
                raise PsupError("system", f"{self.place.dir}: "
                                f"{e.strerror}", "runtime_dir") from e
            if time.monotonic() >= deadline:
                raise PsupError("timeout", f"{self.place.dir}: not connected "
                                f"in {self._timeout:g} s: {why}")
            tries += 1
            started = False
            await asyncio.sleep(min(0.005 * tries, 0.2))

    def _ended(self, link: Link, why: PsupError) -> None:
        """The socket is gone. Who may be asked for again waits for another."""
        if link is not self._link:
            return
        short = time.monotonic() - self._since < SHORT_S
        self._shorts = self._shorts + 1 if short else 0
        lost = why.code != "connection-lost" or self._shorts >= SHORT_MAX
        self._fail_all(why, every=lost)
        if lost:
            self._shorts = 0
            if self._on_fail is not None and not self.closed:
                self._on_fail(why)
        elif self._calls or self._subscribe is not None:
            # one that is done has not been heard of yet: its link may break
            # by its first word
            if ((self._opening is None or self._opening.done()) and
                    not self.closed):
                self._begin()

    def _fail_all(self, why: PsupError, every: bool = True) -> None:
        for msgid, c in list(self._calls.items()):
            if every or not c.repeats:
                del self._calls[msgid]
                self._left()
                c.fail(why)

    async def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        if self._link is not None:
            self._link.end(CLOSED.again())
        self._fail_all(CLOSED)
        while self._room:
            self._left()

    # ----------------------------------------------------------------- calls

    def reading(self, on: bool) -> None:
        """Back-pressure: off, the server's words stand in the socket."""
        self._reads = on
        if self._link is not None:
            self._link.read(on)

    def _message(self, m: List[Any]) -> None:
        if m[0] == 2:
            self._noted(m[1], m[2][0] if m[2] else None)
            return
        c = self._calls.pop(m[1], None)
        if c is None:
            return  # of a message that had no number, or an old call
        self._left()
        if c.answer.done():
            return
        if m[2] is not None:
            c.answer.set_exception(of_answer(m[2], c.method))
            c.answer.exception()
        elif isinstance(m[3], dict):
            c.answer.set_result(m[3])
        else:
            c.fail(PsupError("bad-answer", "an answer that is no map"))

    def _noted(self, name: str, params: Any) -> None:
        if not isinstance(params, dict):
            raise _wire.BadMessage("a notification whose params are no map")
        c = self._calls.get(params.get("msgid", -1))
        if c is not None and c.note is not None:
            c.note(name, params)
        elif self._on_event is not None:
            self._on_event(name, params)

    def _left(self) -> None:
        """One call is over: the next one that waits for room has its place."""
        while self._room:
            waiter = self._room.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1

    async def _enter(self) -> None:
        """Until fewer than WINDOW are under way, in order of arrival."""
        if self._free > 0 and not self._room:
            self._free -= 1
            return
        waiter: asyncio.Future[None] = (
            asyncio.get_running_loop().create_future())
        self._room.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._left()  # it had its place already
            raise

    async def _send(self, c: _Call) -> int:
        """Once there is room on both sides. Its number."""
        await self._enter()
        try:
            link = await self.open()
            while not link.is_writable():
                await link.writable()
                link = await self.open()
        except BaseException:
            self._left()
            raise
        self._next = self._next % 0xffffffff + 1
        self._calls[self._next] = c
        link.write(_wire.request(self._next, c.method, c.raw))
        return self._next

    async def call(self, method: str, params: Dict[str, Any],
                   note: Optional[Note] = None) -> Dict[str, Any]:
        """The answer's result. Cancelled, it gives the request up."""
        try:
            return await self._ask(method, params, note)
        except PsupError as e:
            if (method != "exec" or self._defaults is None or
                    e.code != "share-used-up" or e.field != "baseEnv"):
                raise
        # another scope needed what the server kept of this connection
        await self._ask("defaults", self._defaults.params, None)
        return await self._ask(method, params, note)

    async def _ask(self, method: str, params: Dict[str, Any],
                   note: Optional[Note]) -> Dict[str, Any]:
        c = _Call(method, params, note)
        self.busy += 1
        try:
            msgid = await self._send(c)
            try:
                result: Dict[str, Any] = await c.answer
            except asyncio.CancelledError:
                # its place is taken until the server has answered
                c.given_up = True
                if self._calls.get(msgid) is c and self._link is not None:
                    self._link.write(_cancel(msgid))
                raise
            return result
        finally:
            self.busy -= 1
