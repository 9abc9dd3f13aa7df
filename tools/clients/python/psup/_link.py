# SPDX-License-Identifier: MIT
"""One socket: bytes to messages, and back-pressure both ways.

What stays when it breaks is a Channel.
"""
from __future__ import annotations

import asyncio
from typing import Any, Callable, Dict, List, Optional, cast

from . import _wire
from ._errors import PsupError, of_answer


def _shape(m: Any) -> List[Any]:
    """An answer or a notification; nothing else is read."""
    if (isinstance(m, list) and len(m) == 4 and m[0] == 1 and
            isinstance(m[1], int)):
        return m
    if (isinstance(m, list) and len(m) == 3 and m[0] == 2 and
            isinstance(m[1], str) and isinstance(m[2], list)):
        return m
    raise _wire.BadMessage("neither an answer nor a notification")


class Link(asyncio.Protocol):
    """Messages go to on_message, its end, once, to on_end."""

    def __init__(self, on_message: Callable[[List[Any]], None],
                 on_end: Callable[["Link", PsupError], None]) -> None:
        self._on_message = on_message
        self._on_end = on_end
        self._decoder = _wire.Decoder()
        self._transport: Optional[asyncio.Transport] = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._own: Optional[asyncio.Future[Any]] = None
        self.ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            for message in self._decoder.feed(data):
                if self.ended:
                    return
                m = _shape(message)
                if m[0] == 1 and m[1] == 0 and self._own is not None:
                    own, self._own = self._own, None
                    if not own.done():
                        own.set_result(m)
                else:
                    self._on_message(m)
        except _wire.BadMessage as e:
            self.end(PsupError("bad-answer", f"what the server sent is no "
                               f"message of psup's: {e}"))

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def connection_lost(self, exc: Optional[BaseException]) -> None:
        self.end(PsupError("connection-lost",
                           f"the connection broke: {exc or 'end of file'}"))

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self.ended:
            self._transport.write(data)

    def is_writable(self) -> bool:
        return self._writable.is_set()

    async def writable(self) -> None:
        """Until the server reads, or the link has ended."""
        await self._writable.wait()

    def read(self, on: bool) -> None:
        """Lets what is sent come, or stand in the socket."""
        if self._transport is None or self.ended:
            return
        if on == self._transport.is_reading():
            return
        if on:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    async def ask(self, method: str, params: Dict[str, Any],
                  seconds: float) -> Dict[str, Any]:
        """A request before all others, under the number 0."""
        own: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        raw = _wire.pack_params(method, params)
        self._own = own
        self.write(_wire.request(0, method, raw))
        try:
            m = await asyncio.wait_for(own, max(seconds, 0.01))
        except asyncio.TimeoutError:
            raise PsupError("timeout", f"somebody listens, but {method} had "
                            "no answer in time") from None
        if m[2] is not None:
            raise of_answer(m[2], method)
        if not isinstance(m[3], dict):
            raise PsupError("bad-answer", f"{method}: an answer that is no "
                            "map")
        return m[3]

    def end(self, why: PsupError) -> None:
        if self.ended:
            return
        self.ended = True
        self._writable.set()
        if self._transport is not None:
            self._transport.abort()
        if self._own is not None and not self._own.done():
            self._own.set_exception(why)
            self._own.exception()
        self._on_end(self, why)
