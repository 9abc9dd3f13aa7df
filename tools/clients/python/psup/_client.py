# SPDX-License-Identifier: MIT
"""A psup server as a Python object: connect(), methods, output(), listen()."""
from __future__ import annotations

import asyncio
import os
import random
import secrets
import sys
from collections import deque
from types import TracebackType
from typing import (Any, AsyncIterator, Deque, Dict, Generator, List,
                    NamedTuple, Optional, Sequence, Type, Union)

from ._channel import Channel, Defaults, Note
from ._errors import PsupError
from ._place import Place, read_token
from ._process import Process, spawn_params, start_process
from ._protocol import EventNote, Methods

CHANNEL_CALLS = 32  # long ones on one connection, before another is made
CHANNELS = 8
IDLE_STREAMS = 8
LONG = ("exec", "poll", "wait", "drainScope", "lanes")
OUTPUT_BYTES = 256 << 10
EVENTS_KEPT = 1000  # that nobody has taken; then the server waits


class Chunk(NamedTuple):
    """Output of a session: its first byte's position, bytes missing before."""
    data: bytes
    pos: int
    dropped: int


def environment() -> Dict[str, Union[str, bytes]]:
    """Our own, as far as it can be sent."""
    env: Dict[str, Union[str, bytes]] = {}
    for raw, value in os.environb.items():
        try:
            name = raw.decode()
        except UnicodeDecodeError:
            continue  # no name of a variable of ours
        try:
            env[name] = value.decode()
        except UnicodeDecodeError:
            env[name] = value
    return env


class Events:
    """Events of a subscriber, again and again until they are acknowledged.

        async with p.listen("gateway") as events:
            async for e in events:
                ...
                await events.ack(e)
    """

    def __init__(self, client: "Psup", subscriber: Optional[str],
                 kinds: Optional[Sequence[str]], since: Optional[int]) -> None:
        self._subscriber = ({} if subscriber is None else
                            {"subscriber": subscriber})
        params: Dict[str, Any] = dict(self._subscriber)
        if kinds is not None:
            params["kinds"] = list(kinds)
        if since is not None:
            params["since"] = since
        self._params = params
        self._events: Deque[EventNote] = deque()
        self._news = asyncio.Event()
        self._why: Optional[PsupError] = None
        self._seen = 0
        self._channel = client._channel(
            subscribe=params, on_hello=self._hello, on_event=self._event,
            on_fail=self._fail)
        client._also.append(self._channel)

    def _hello(self, other: bool) -> None:
        # of the same server, what was given is not given again
        if other:
            self._seen = 0

    def _event(self, name: str, e: Dict[str, Any]) -> None:
        seq = e.get("seq")
        if name != "event" or not isinstance(seq, int) or seq <= self._seen:
            return
        self._seen = seq
        if "since" in self._params:
            self._params["since"] = seq
        self._events.append(e)  # type: ignore[arg-type]
        self._news.set()
        if len(self._events) >= EVENTS_KEPT:
            self._channel.reading(False)

    def _fail(self, why: PsupError) -> None:
        self._why = why
        self._news.set()

    def __aiter__(self) -> "Events":
        return self

    async def __anext__(self) -> EventNote:
        while not self._events:
            if self._channel.closed:
                raise StopAsyncIteration
            if self._why is not None:
                why, self._why = self._why, None
                raise why.again()
            self._news.clear()
            await self._channel.open()
            if not self._events and self._why is None:
                await self._news.wait()
        e = self._events.popleft()
        if len(self._events) == EVENTS_KEPT // 2:
            self._channel.reading(True)
        return e

    async def ack(self, event: Union[EventNote, int]) -> None:
        """Acknowledges it and all before it."""
        seq = event if isinstance(event, int) else event["seq"]
        self._channel.reading(True)
        await self._channel.call("ack", {"seq": seq, **self._subscriber})

    async def close(self) -> None:
        await self._channel.close()
        self._news.set()

    async def __aenter__(self) -> "Events":
        await self._channel.open()
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        e: Optional[BaseException],
                        tb: Optional[TracebackType]) -> None:
        await self.close()


class Psup(Methods):
    """Made by connect()."""

    def __init__(self, place: Place, hello: Dict[str, Any], start: bool,
                 timeout: float) -> None:
        self._place = place
        self._hello = hello
        self._start = start
        self._timeout = timeout
        # the dict below os.environb, which takes 400 us to be compared
        self._environ: Any = getattr(os.environb, "_data", os.environb)
        self._env = dict(self._environ)  # as its connections have it
        self._defaults = Defaults({"baseEnv": environment()})
        self._main = self._channel()
        self._more: List[Channel] = []
        self._streams: List[Channel] = []  # that nobody uses
        self._also: List[Channel] = []
        self._closed = False

    def _channel(self, **hooks: Any) -> Channel:
        if "subscribe" not in hooks:
            hooks["defaults"] = self._defaults
        return Channel(self._place, self._hello, start=self._start,
                       timeout=self._timeout, **hooks)

    def _surroundings(self, params: Dict[str, Any]) -> Dict[str, Any]:
        """With our own environment and directory, where the call names none."""
        ret = dict(params)
        if "baseDir" not in ret:
            try:
                ret["baseDir"] = os.getcwd()
            except OSError:
                pass  # it is gone: the server's
        if "baseEnv" not in ret and (not self._defaults.kept or
                                     self._env != self._environ):
            ret["baseEnv"] = environment()
        return ret

    @property
    def server(self) -> Dict[str, Any]:
        """What the last hello said: server, incarnation, scope, pid."""
        return self._main.server

    @property
    def resumed(self) -> int:
        """How often the connection was taken up again."""
        return self._main.resumed

    # ----------------------------------------------------------------- calls

    def _channel_for(self, method: str) -> Channel:
        if method not in LONG or self._main.busy < CHANNEL_CALLS:
            return self._main
        for c in self._more:
            if c.busy < CHANNEL_CALLS:
                return c
        if len(self._more) < CHANNELS - 1:
            self._more.append(self._channel())
            return self._more[-1]
        return min(self._more, key=lambda c: c.busy)

    async def call(self, method: str,
                   params: Dict[str, Any],
                   note: Optional[Note] = None) -> Dict[str, Any]:
        """A method as the wire has it: its result, also where isError."""
        if self._closed:
            raise PsupError("usage", f"{method}: the client was closed")
        if method == "exec":
            params = self._surroundings(params)
            params.setdefault("requestKey", "py-" + secrets.token_hex(12))
        elif method == "kill" and "killId" not in params:
            params = dict(params, killId=random.randint(1, 0x7fffffff))
        elif method == "upgrade" and "id" not in params:
            params = dict(params, id=secrets.token_hex(8))
        return await self._channel_for(method).call(method, params, note)

    async def output(self, session_id: str, *, since: int = 0
                     ) -> AsyncIterator[Chunk]:
        """The session's output from a position on, to its end. Over restarts
        of the server it goes on at the byte."""
        tries = 0
        while True:
            try:
                answer = await self.poll(session_id, since=since, raw=True,
                                         timeout=30_000,
                                         max_bytes=OUTPUT_BYTES)
                tries = 0
            except PsupError as e:
                # another server has what the one before it kept
                if e.code != "no-server" or self._closed or tries > 0:
                    raise
                tries += 1
                continue
            d = answer.details
            data = d.get("output", b"")
            raw = data.encode() if isinstance(data, str) else data
            since = d.get("next", since)
            if raw:
                yield Chunk(raw, since - len(raw), d.get("dropped", 0))
            elif d.get("closed"):
                return

    def listen(self, subscriber: Optional[str] = None, *,
               kinds: Optional[Sequence[str]] = None,
               since: Optional[int] = None) -> Events:
        """Events as they happen, on a connection of their own."""
        return Events(self, subscriber, kinds, since)

    # ------------------------------------------------------------- processes

    async def create_subprocess_exec(self, program: Any, *args: Any,
                                     **options: Any) -> Process:
        """As asyncio's: a program and its arguments, no shell."""
        return await self._spawn(
            {"argv": [os.fsdecode(a) for a in (program, *args)]}, options)

    async def create_subprocess_shell(self, cmd: Union[str, bytes],
                                      **options: Any) -> Process:
        """As asyncio's: one string for a shell."""
        return await self._spawn({"command": os.fsdecode(cmd)}, options)

    async def _spawn(self, what: Dict[str, Any],
                     options: Dict[str, Any]) -> Process:
        if self._closed:
            raise PsupError("usage", "exec: the client was closed")
        params = self._surroundings(spawn_params(what, options))
        params["requestKey"] = "py-" + secrets.token_hex(12)
        channel = self._streams.pop() if self._streams else self._channel()
        self._also.append(channel)
        return await start_process(channel, params, options, self._give_back)

    async def _give_back(self, channel: Channel) -> None:
        """A stream's connection, whose command is over."""
        if channel in self._also:
            self._also.remove(channel)
        channel.reading(True)
        if self._closed or len(self._streams) >= IDLE_STREAMS or channel.busy:
            await channel.close()
        else:
            self._streams.append(channel)

    # --------------------------------------------------------------- its end

    async def close(self) -> None:
        """Calls under way get connection-lost; background sessions go on."""
        self._closed = True
        for c in [self._main, *self._more, *self._streams, *self._also]:
            await c.close()

    async def __aenter__(self) -> "Psup":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        e: Optional[BaseException],
                        tb: Optional[TracebackType]) -> None:
        await self.close()


class _Connecting:
    """await connect(...), or async with connect(...) as p."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._psup: Optional[Psup] = None

    async def _connect(self) -> Psup:
        o = self._options
        place = Place(o["runtime_dir"], o["psupd"], o["server_user"])
        hello: Dict[str, Any] = {
            "client": o["client"] or os.path.basename(sys.argv[0] or "python")
            [:64] or "python", "protocol": 1}
        token = o["token"]
        token_file = o["token_file"] or os.environ.get("PSUP_TOKEN_FILE")
        if token is None and token_file:
            token = read_token(token_file)
        scope = o["scope"] or os.environ.get("PSUP_SCOPE")
        if token:
            hello["token"] = token
        if scope:
            hello["scope"] = scope
        psup = Psup(place, hello, o["start"], o["timeout"])
        try:
            await psup._main.open()
        except BaseException:
            await psup.close()
            raise
        return psup

    def __await__(self) -> Generator[Any, None, Psup]:
        return self._connect().__await__()

    async def __aenter__(self) -> Psup:
        self._psup = await self._connect()
        return self._psup

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        e: Optional[BaseException],
                        tb: Optional[TracebackType]) -> None:
        if self._psup is not None:
            await self._psup.close()


def connect(*, scope: Optional[str] = None, token: Optional[str] = None,
            token_file: Optional[str] = None, client: Optional[str] = None,
            runtime_dir: Optional[str] = None, start: bool = True,
            psupd: Optional[str] = None, server_user: Optional[str] = None,
            timeout: float = 10.0) -> _Connecting:
    """Connects to the server, and starts one where none runs.

    scope        what it may see; none: everything
    token        of a scope, or token_file, or $PSUP_TOKEN_FILE
    runtime_dir  else $PSUP_RUNTIME_DIR, $XDG_RUNTIME_DIR/psup, /dev/shm/psup-UID
    start        False: where no server runs, PsupError no-server
    timeout      seconds that a connection may take
    """
    return _Connecting(scope=scope, token=token, token_file=token_file,
                       client=client, runtime_dir=runtime_dir, start=start,
                       psupd=psupd, server_user=server_user, timeout=timeout)
