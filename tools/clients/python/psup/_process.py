# SPDX-License-Identifier: MIT
"""A foreground command in the shape of asyncio.subprocess.Process."""
from __future__ import annotations

import asyncio
import errno
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from typing import (Any, Awaitable, Callable, Dict, Iterable, Optional, Set,
                    Tuple, cast)

from ._channel import Channel
from ._errors import PsupError

CHUNK = 256 << 10
HIGH_WATER = 64 << 10
LIMIT = 64 << 10

# What asyncio's has and a command of another process cannot have.
UNSUPPORTED = ("pass_fds", "preexec_fn", "user", "group", "extra_groups",
               "executable", "startupinfo", "creationflags", "process_group")
# Of exec, by the names that methods have.
EXEC_OPTIONS = {"timeout": "timeout", "label": "label", "tags": "tags",
                "lane": "lane", "priority": "priority", "limits": "limits",
                "session_key": "sessionKey", "pty": "pty", "cols": "cols",
                "rows": "rows"}


def spawn_params(what: Dict[str, Any],
                 options: Dict[str, Any]) -> Dict[str, Any]:
    """exec's parameters, from those of asyncio. TypeError: there is no such."""
    o = dict(options)
    o.pop("limit", None)
    o.pop("start_new_session", None)  # every command has one
    for name in UNSUPPORTED:
        if o.pop(name, None):
            raise TypeError(f"{name}: a command of psup's server cannot have "
                            "that")
    if not o.pop("close_fds", True):
        raise TypeError("close_fds=False: the command is no child of this "
                        "process")
    stdin = o.pop("stdin", PIPE)
    for name, value, good in (
            ("stdin", stdin, (PIPE, DEVNULL)),
            ("stdout", o.pop("stdout", PIPE), (PIPE, DEVNULL)),
            ("stderr", o.pop("stderr", PIPE), (PIPE, DEVNULL, STDOUT))):
        if value not in good:
            raise TypeError(f"{name}={value!r}: expected PIPE, DEVNULL or, of "
                            "stderr, STDOUT: the command inherits nothing")
    params: Dict[str, Any] = dict(what)
    params.update(yieldMs=None, stream=True, timeout=0,
                  stdin="open" if stdin == PIPE else "closed")
    cwd, env, umask = o.pop("cwd", None), o.pop("env", None), o.pop("umask", -1)
    if cwd is not None:
        params["workdir"] = os.path.abspath(os.fsdecode(cwd))
    if env is not None:
        params["baseEnv"] = {os.fsdecode(k): os.fsencode(v)
                             for k, v in env.items()}
    if umask >= 0:
        params["umask"] = f"{umask:03o}"
    for name, wire in EXEC_OPTIONS.items():
        value = o.pop(name, None)
        if value is not None:
            params[wire] = value
    if o:
        raise TypeError(f"unexpected keyword argument {next(iter(o))!r}")
    return params


class _Valve(asyncio.ReadTransport):
    """What a StreamReader holds back. Once a signal was sent, nothing is held
    back: the end must be heard, and there is little more to come."""

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel
        self._full: Set[str] = set()
        self._open = False

    def side(self, name: str) -> "_Side":
        return _Side(self, name)

    def set(self, name: str, full: bool) -> None:
        (self._full.add if full else self._full.discard)(name)
        self._channel.reading(self._open or not self._full)

    def open(self) -> None:
        self._open = True
        self._channel.reading(True)


class _Side(asyncio.ReadTransport):
    def __init__(self, valve: _Valve, name: str) -> None:
        super().__init__()
        self._valve = valve
        self._name = name

    def pause_reading(self) -> None:
        self._valve.set(self._name, True)

    def resume_reading(self) -> None:
        self._valve.set(self._name, False)

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        self._valve.set(self._name, False)


class Stdin:
    """asyncio.StreamWriter's shape. Each write carries its position, so that
    none is given twice, whatever becomes of the server's master."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._session = ""
        self._data = bytearray()
        self._position = 0
        self._eof = False
        self._done = False  # the end of it is accepted
        self._why: Optional[BaseException] = None
        self._changed = asyncio.Event()
        self._pump: Optional[asyncio.Task[None]] = None

    def begin(self, session: str) -> None:
        self._session = session
        self._kick()

    def fail(self, why: BaseException) -> None:
        if self._why is None and not self._done:
            self._why = why
        self._data.clear()
        self._changed.set()

    def write(self, data: Any) -> None:
        if self._eof:
            raise RuntimeError("write() after write_eof() or close()")
        self._data += data
        self._kick()

    def writelines(self, data: Iterable[Any]) -> None:
        for line in data:
            self.write(line)

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self._eof = True
        self._kick()

    def close(self) -> None:
        self.write_eof()

    def is_closing(self) -> bool:
        return self._eof

    async def drain(self) -> None:
        """Until the command's queue has taken most of it."""
        while self._why is None and len(self._data) > HIGH_WATER:
            self._changed.clear()
            await self._changed.wait()
        if self._why is not None:
            raise self._error()

    async def wait_closed(self) -> None:
        while self._why is None and not self._done:
            self._changed.clear()
            await self._changed.wait()

    def _error(self) -> BaseException:
        if isinstance(self._why, PsupError):
            return self._why.again()
        return BrokenPipeError(errno.EPIPE, str(self._why))

    def _kick(self) -> None:
        if (self._session and self._pump is None and self._why is None and
                (self._data or (self._eof and not self._done))):
            self._pump = asyncio.get_running_loop().create_task(self._run())
            self._pump.add_done_callback(self._ran)

    def _ran(self, task: "asyncio.Task[None]") -> None:
        self._pump = None
        if task.cancelled():
            self.fail(BrokenPipeError(errno.EPIPE, "cancelled"))
        elif task.exception() is not None:
            self.fail(cast(BaseException, task.exception()))
        else:
            self._kick()

    async def _run(self) -> None:
        while self._why is None and (self._data or
                                     (self._eof and not self._done)):
            chunk = bytes(self._data[:CHUNK])
            last = self._eof and len(chunk) == len(self._data)
            answer = await self._channel.call("write", {
                "sessionId": self._session, "data": chunk, "eof": last,
                "position": self._position, "timeout": 30_000})
            d = answer.get("details", {})
            taken = d.get("accepted", 0)
            if answer.get("isError") and d.get("code") != "stdin-full":
                self.fail(BrokenPipeError(errno.EPIPE, answer.get("text")))
                return
            del self._data[:taken]
            self._position += taken
            self._done = last and taken == len(chunk)
            self._changed.set()


class Process:
    """asyncio.subprocess.Process's shape. It ends when its client goes away."""

    def __init__(self, channel: Channel, program: str,
                 options: Dict[str, Any]) -> None:
        self._channel = channel
        self._program = program
        self._valve = _Valve(channel)
        limit = options.get("limit", LIMIT)
        self.pid: Optional[int] = None
        self.session_id = ""
        self.returncode: Optional[int] = None
        self.details: Dict[str, Any] = {}
        self.dropped_bytes = 0
        self.stdin: Optional[Stdin] = (
            Stdin(channel) if options.get("stdin", PIPE) == PIPE else None)
        self.stdout = self._reader("stdout", options, limit)
        self.stderr = self._reader("stderr", options, limit)
        self._merged = options.get("stderr", PIPE) == STDOUT
        self._next = 0
        self._why: Optional[PsupError] = None
        self._started = asyncio.Event()
        self._ended = asyncio.Event()
        self._signals: Set[asyncio.Task[None]] = set()

    def _reader(self, name: str, options: Dict[str, Any],
                limit: int) -> Optional[asyncio.StreamReader]:
        if options.get(name, PIPE) != PIPE:
            return None
        reader = asyncio.StreamReader(limit=limit)
        reader.set_transport(self._valve.side(name))
        return reader

    def noted(self, name: str, p: Dict[str, Any]) -> None:
        if name == "session":
            self.session_id = str(p.get("instanceId", ""))
            if p.get("pid") is not None:
                self.pid = p["pid"]
                if self.stdin is not None:
                    self.stdin.begin(self.session_id)
                self._started.set()
        elif name == "output":
            self._output(p)

    def _output(self, p: Dict[str, Any]) -> None:
        data, pos = p.get("data"), p.get("pos")
        if not isinstance(data, bytes) or not isinstance(pos, int):
            return
        # what another connection says again
        data = data[max(0, self._next - pos):]
        self._next = max(self._next, pos + len(p["data"]))
        self.dropped_bytes += p.get("dropped", 0)
        to = (self.stderr if p.get("stream") == "stderr" and
              not self._merged else self.stdout)
        if to is not None and data:
            to.feed_data(data)

    def over(self, result: Dict[str, Any], why: Optional[PsupError]) -> None:
        """The exec has its answer."""
        self.details = result.get("details", {})
        self._why = why
        if why is None:
            code = self.details.get("exitCode")
            name = str(self.details.get("exitSignal") or "")
            if isinstance(code, int):
                self.returncode = code
            elif name:
                name = name if name.startswith("SIG") else "SIG" + name
                self.returncode = -getattr(signal, name, signal.SIGKILL)
            else:
                self._why = PsupError(
                    str(self.details.get("code", "internal")),
                    str(result.get("text", "")), "", self.details)
        if self.stdin is not None:
            self.stdin.fail(BrokenPipeError(errno.EPIPE, "it has ended"))
        for reader in (self.stdout, self.stderr):
            if reader is not None and why is not None:
                reader.set_exception(why.again())
            elif reader is not None:
                reader.feed_eof()
        self._started.set()
        self._ended.set()

    async def started(self) -> None:
        await self._started.wait()
        name = self.details.get("errno")
        if isinstance(name, str) and hasattr(errno, name):
            number = getattr(errno, name)
            raise OSError(number, os.strerror(number), self._program)
        if self._ended.is_set() and self._why is not None:
            raise self._why.again()

    async def wait(self) -> int:
        """Its exit code, or minus its signal. PsupError: nobody knows."""
        await self._ended.wait()
        if self.returncode is None:
            assert self._why is not None
            raise self._why.again()
        return self.returncode

    def send_signal(self, sig: int) -> None:
        self._kill({"signal": int(sig), "escalate": False, "wait": False})

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL, to all that it started."""
        self._kill({"signal": "KILL", "graceMs": 0, "wait": False})

    def _kill(self, params: Dict[str, Any]) -> None:
        if self._ended.is_set():
            raise ProcessLookupError(errno.ESRCH, "it has ended")
        self._valve.open()
        task = asyncio.get_running_loop().create_task(self._signal(params))
        self._signals.add(task)
        task.add_done_callback(self._signals.discard)

    async def _signal(self, params: Dict[str, Any]) -> None:
        try:
            await self._channel.call(
                "kill", {"sessionId": self.session_id, **params})
        except (PsupError, asyncio.CancelledError):
            pass  # its end, or the connection's, is heard by wait()

    async def _feed(self, data: Optional[bytes]) -> None:
        assert self.stdin is not None
        try:
            if data:
                self.stdin.write(data)
                await self.stdin.drain()
        except BrokenPipeError:
            pass  # as asyncio's communicate()
        self.stdin.close()

    async def communicate(self, input: Optional[bytes] = None
                          ) -> Tuple[Optional[bytes], Optional[bytes]]:
        async def read(r: Optional[asyncio.StreamReader]) -> Optional[bytes]:
            return None if r is None else await r.read()

        async def feed() -> None:
            if self.stdin is not None:
                await self._feed(input)

        _, out, err = await asyncio.gather(feed(), read(self.stdout),
                                           read(self.stderr))
        await self.wait()
        return out, err


async def start_process(channel: Channel, params: Dict[str, Any],
                        options: Dict[str, Any],
                        give_back: Callable[[Channel], Awaitable[None]]
                        ) -> Process:
    proc = Process(channel, params.get("argv", ["sh"])[0], options)

    async def run() -> None:
        result: Dict[str, Any] = {}
        why: Optional[PsupError] = PsupError("cancelled", "exec: given up")
        try:
            result = await channel.call("exec", params, proc.noted)
            why = None
        except PsupError as e:
            why = e
        except asyncio.CancelledError:
            pass
        finally:
            proc.over(result, why)
            await give_back(channel)

    task = asyncio.get_running_loop().create_task(run())
    proc._signals.add(task)
    task.add_done_callback(proc._signals.discard)
    try:
        await proc.started()
    except asyncio.CancelledError:
        task.cancel()
        raise
    return proc
