# SPDX-License-Identifier: MIT
"""Printed by psup-gendoc types py from common/proto.def.

docs/protocol.md says the rest.
"""
from __future__ import annotations

from typing import (TYPE_CHECKING, Any, Dict, List, Mapping, Sequence, Tuple,
                    TypedDict, Union)

if TYPE_CHECKING:  # what checks types has it
    from typing_extensions import Required

from ._answer import ABSENT, Absent, Answer, Calls

Data = Union[str, bytes]

# Of each method: the rule by which it may be asked for again after a lost
# answer, the tool that it belongs to, or "", and of those its parameters: name
# among the tool's, (type, what it means, its name of the wire). A type ends by !
# where the parameter is required, ? where nil means something, ~ where it is
# moved into its range, + where an empty list or 0 means nothing; ^ where a
# program sets it, not a model.
METHODS: Dict[str, Tuple[str, str, Dict[str, Tuple[str, str, str]]]] = {}


class SessionGroup(TypedDict, total=False):
    status: str
    sessionId: str


class NamedGroup(TypedDict, total=False):
    name: str


class FailureGroup(TypedDict, total=False):
    error: str
    code: str
    resource: str
    used: int
    fair: int
    limit: int


class ExitGroup(TypedDict, total=False):
    exitCode: Union[int, None]
    exitSignal: Union[str, None]
    exitReason: str
    failureKind: str
    limitHit: str
    timedOut: bool
    noOutputTimedOut: bool
    holders: int
    holderList: List[Dict[str, Any]]
    remaining: int
    remainingPids: List[int]
    ladder: Dict[str, Any]
    quarantined: bool
    errno: str
    stage: str
    hungAt: str


class InputGroup(TypedDict, total=False):
    stdinWritable: bool
    waitingForInput: bool
    waitReason: str
    idleMs: int
    lastOutputAt: int


class QueueGroup(TypedDict, total=False):
    queuePosition: int
    queuedFor: str


class TerminalGroup(TypedDict, total=False):
    pty: bool
    cols: int
    rows: int


class UncertainGroup(TypedDict, total=False):
    stdinUncertain: bool
    stdinUncertainBytes: int


class OutputGroup(TypedDict, total=False):
    aggregated: str
    truncated: bool
    droppedBytes: int
    outputState: str


class TotalGroup(TypedDict, total=False):
    totalOutputChars: int


class UsageGroup(TypedDict, total=False):
    usage: Dict[str, Any]


class SpillGroup(TypedDict, total=False):
    spill: Dict[str, Any]


class ExecGroup(TypedDict, total=False):
    instanceId: str
    state: str
    cwd: str
    pid: int
    startedAt: int
    tail: str
    followUp: Sequence[str]
    durationMs: int
    endedAt: int
    warnings: Sequence[str]
    limits: Dict[str, Any]
    retain: Dict[str, Any]


class ListGroup(TypedDict, total=False):
    sessions: List[Row]


class RowGroup(TypedDict, total=False):
    instanceId: str
    state: str
    startedAt: int
    runtimeMs: int
    cwd: str
    command: str
    pid: int
    deadlineAt: int
    worker: int
    endedAt: int
    tail: str
    truncated: bool
    droppedBytes: int
    exited: bool
    closed: bool
    backgrounded: bool
    notifyOnExit: bool
    exitNotified: bool
    scopeKey: str
    sessionKey: str
    limits: Dict[str, Any]
    retain: Dict[str, Any]
    spill: Dict[str, Any]
    lane: str
    parentSession: str
    label: str
    tags: Dict[str, Any]


class MetGroup(TypedDict, total=False):
    met: Union[str, None]
    next: int
    dropped: int
    at: int
    matched: str


class PollGroup(TypedDict, total=False):
    output: Union[str, bytes]
    next: int
    dropped: int
    omitted: int
    exited: bool
    closed: bool
    ack: str
    retryInMs: int
    durationMs: int
    times: List[List[Any]]


class LogGroup(TypedDict, total=False):
    output: Union[str, bytes]
    total: int
    totalLines: int
    totalChars: int
    firstLine: int
    lines: int
    truncated: bool
    droppedBytes: int
    gapAt: Union[int, None]
    mixedBytes: int
    nextOffset: int
    matchedLines: int
    lineNumbers: List[int]


class WaitGroup(TypedDict, total=False):
    met: str


class FeedGroup(TypedDict, total=False):
    accepted: int
    queued: int
    position: int
    stdinWritable: bool


class KeysGroup(TypedDict, total=False):
    warnings: Sequence[str]


class SizeGroup(TypedDict, total=False):
    cols: int
    rows: int


class ScreenGroup(TypedDict, total=False):
    lines: Sequence[str]
    cursor: Dict[str, Any]
    alternate: bool
    title: str
    next: int
    droppedBytes: int
    approximate: bool
    truncated: bool
    runs: List[List[Any]]


class KillGroup(TypedDict, total=False):
    signal: str
    unattributed: int


class KillScopeGroup(TypedDict, total=False):
    sessions: int
    ended: int
    remaining: int


class LanesGroup(TypedDict, total=False):
    lanes: List[Dict[str, Any]]
    total: int
    groups: List[Dict[str, Any]]
    op: str
    lane: Dict[str, Any]
    cleared: int
    drained: bool


class Row(SessionGroup, NamedGroup, ExitGroup, InputGroup, QueueGroup, TerminalGroup, UncertainGroup, TotalGroup, UsageGroup, RowGroup, MetGroup, total=False):
    pass

METHODS["hello"] = ("*", "", {})


HelloAnswer = TypedDict("HelloAnswer", {
    "server": "Required[str]",
    "protocol": "Required[int]",
    "incarnation": "Required[str]",
    "scope": "Required[Union[str, None]]",
    "pid": "Required[int]",
}, total=False)

METHODS["defaults"] = ("*", "", {})


DefaultsAnswer = TypedDict("DefaultsAnswer", {
    "bytes": "Required[int]",
}, total=False)

METHODS["exec"] = ("requestKey", "exec", {
    "command": ("str", "One shell string", "command"),
    "argv": ("strlist+", "A program and its arguments, no shell", "argv"),
    "workdir": ("str", "An existing directory, taken literally; only ~ and ~/... expand", "workdir"),
    "baseDir": ("str^", "", "baseDir"),
    "umask": ("str^", "", "umask"),
    "env": ("strmap", "Variables added to the base environment; values are literal", "env"),
    "baseEnv": ("strmap^", "", "baseEnv"),
    "requestKey": ("str^", "", "requestKey"),
    "yieldMs": ("int?~", "How long to wait in the foreground before the session goes to the background, in ms; nil: until it ends", "yieldMs"),
    "background": ("bool", "Answer at once with the session id; a start that hangs is waited for a second", "background"),
    "timeout": ("num", "Seconds of life in all, the background part included, what it waited to be started not; 0: no limit", "timeout"),
    "timeoutSeconds": ("num", "The same parameter as timeout", "timeoutSeconds"),
    "noOutputTimeout": ("num", "Seconds of silence after which the command is ended; 0: no limit", "noOutputTimeout"),
    "notifyOnExit": ("bool", "Is the exit event of a backgrounded session one to be told? false: it is quiet; true: it is not, whatever ends it", "notifyOnExit"),
    "stdin": ("stdin", "open (the default: [exec] stdin): a pipe that write can feed; closed: EOF at once; {text}: that text, then EOF", "stdin"),
    "lane": ("str", "The queue the session waits in: main, subagent, cron:<job>, session:<key>, or a name of your own", "lane"),
    "priority": ("int", "1 foreground, 0 normal, -1 background", "priority"),
    "scope": ("str^", "", "scope"),
    "sessionKey": ("str^", "", "sessionKey"),
    "label": ("str", "Shown by list and psup-top", "label"),
    "tags": ("strmap", "Kept with the record", "tags"),
    "stream": ("stream^", "", "stream"),
    "pty": ("bool", "A terminal instead of pipes: stdin, stdout and stderr are one, output is stream stdout", "pty"),
    "cols": ("int+", "Columns of the terminal; resize changes them", "cols"),
    "rows": ("int+", "Lines of the terminal", "rows"),
    "elevated": ("bool", "Out of the sandbox, where [elevated] lets the scope; else refused", "elevated"),
    "ask": ("str", "off, on-miss or always: whether a person is asked before an elevated command", "ask"),
    "security": ("str", "full, allowlist or deny: what may run elevated", "security"),
    "host": ("str", "auto: sandbox where [sandbox] mode covers the scope, else gateway, which is this machine", "host"),
    "limits": ("map", "memoryBytes, pids (of the session), cpuSeconds, fileSizeBytes, openFiles, nice (of each process)", "limits"),
    "display": ("str", "How output is shown in text and aggregated: clean, ansi, shown, plain; section 6", "text"),
    "retain": ("map^", "", "retain"),
    "spill": ("map", "path, maxBytes: a new file (mode 0600) that gets every byte of output, stdout and stderr as they come, up to maxBytes (config, 1 GiB)", "spill"),
})


class ExecDetails(SessionGroup, NamedGroup, FailureGroup, ExitGroup, InputGroup, QueueGroup, TerminalGroup, UncertainGroup, OutputGroup, TotalGroup, UsageGroup, SpillGroup, ExecGroup, total=False):
    pass

METHODS["list"] = ("*", "process", {
    "all": ("bool^", "", "all"),
    "rows": ("int+", "At most so many rows", "limit"),
    "fields": ("strlist+^", "", "fields"),
    "usage": ("bool", "Also what running sessions use now (the first 1000 rows): cpuMs, maxRssBytes (the most that one of its processes has had), rssBytes, ioBytes, pids", "usage"),
    "sessionIds": ("strlist+^", "", "sessionIds"),
    "status": ("str^", "", "status"),
    "lane": ("str^", "", "lane"),
    "label": ("str^", "", "label"),
    "scope": ("str^", "", "scope"),
    "tags": ("strlist+^", "", "tags"),
    "sinceMs": ("int^", "", "sinceMs"),
    "beforeMs": ("int^", "", "beforeMs"),
})


class ListDetails(SessionGroup, FailureGroup, ListGroup, total=False):
    pass

METHODS["poll"] = ("*", "process", {
    "sessionId": ("str!", "Slug, or instance id", "sessionId"),
    "timeout": ("int~", "Wait up to so many ms for output or the end", "timeout"),
    "reader": ("str^", "", "reader"),
    "ack": ("str^", "", "ack"),
    "since": ("int", "A byte position: read from there, move no cursor", "since"),
    "maxBytes": ("int~", "At most so many bytes of output", "maxBytes"),
    "raw": ("bool^", "", "raw"),
    "display": ("str", "How output is shown: clean, ansi, shown, plain; section 6", "text"),
    "usage": ("bool", "Also what the session uses now, as in list", "usage"),
    "times": ("bool^", "", "times"),
})


class PollDetails(SessionGroup, NamedGroup, FailureGroup, ExitGroup, InputGroup, TerminalGroup, UncertainGroup, OutputGroup, TotalGroup, UsageGroup, SpillGroup, PollGroup, total=False):
    pass

METHODS["log"] = ("*", "process", {
    "sessionId": ("str!", "Slug, or instance id", "sessionId"),
    "offset": ("int", "First line, from 0", "offset"),
    "limit": ("int", "At most so many lines", "limit"),
    "sinceMs": ("int", "Only lines that began to arrive then or later (ms since 1970, to 10 ms; a line whose time is not known any more is older)", "sinceMs"),
    "stream": ("str", "stdout or stderr alone", "stream"),
    "display": ("str", "How output is shown: clean, ansi, shown, plain; section 6", "text"),
    "raw": ("bool^", "", "raw"),
    "timestamps": ("bool", "Each line after the time at which it began to arrive (UTC, to 10 ms), or after - where that is not known any more", "timestamps"),
    "grep": ("str", "Only lines that hold this text, each after its number and a colon", "grep"),
    "regex": ("str", "The same by a regular expression (section 6), of each line by itself", "regex"),
    "context": ("int~", "So many lines around each that was found, after number and -; -- stands where lines are left out", "context"),
})


class LogDetails(SessionGroup, NamedGroup, FailureGroup, ExitGroup, InputGroup, TotalGroup, LogGroup, total=False):
    pass

METHODS["wait"] = ("*", "process", {
    "sessionId": ("str", "One session", "sessionId"),
    "sessionIds": ("strlist+", "Several", "sessionIds"),
    "mode": ("str", "any or all of several", "mode"),
    "timeout": ("int~", "In ms", "timeout"),
    "text": ("str", "Until the output has this text", "text"),
    "regex": ("str", "Until this regular expression matches the output (section 6)", "regex"),
    "idleMs": ("int+", "Until so many ms went by since the last output, the last input, or the start", "idleMs"),
    "bytes": ("int+", "Until there are so many bytes of output after since", "bytes"),
    "input": ("bool", "Until it is waitingForInput, as in poll", "input"),
    "since": ("int", "The byte position where text, regex and bytes begin; -1: where the output ends now", "since"),
    "raw": ("bool", "text and regex see terminal sequences and CR as they are", "raw"),
})


class WaitDetails(SessionGroup, FailureGroup, ListGroup, WaitGroup, total=False):
    pass

METHODS["write"] = ("position", "process", {
    "sessionId": ("str!", "Slug, or instance id", "sessionId"),
    "data": ("data", "Bytes; text is UTF-8", "data"),
    "eof": ("bool", "Close stdin after the data; a terminal gets ^D and stays open", "eof"),
    "timeout": ("int~", "Wait up to so many ms for room in the session's queue", "timeout"),
    "position": ("int^", "", "position"),
})


class WriteDetails(SessionGroup, NamedGroup, FailureGroup, UncertainGroup, FeedGroup, total=False):
    pass

METHODS["send-keys"] = ("", "process", {
    "sessionId": ("str!", "Slug, or instance id", "sessionId"),
    "keys": ("strlist", "Key tokens: C-c, M-x, up, S-f5, ^D, a character, other text", "keys"),
    "hex": ("strlist", "Bytes as one or two hex digits each, 0x in front or not", "hex"),
    "literal": ("data", "Bytes sent as they are; text is UTF-8", "literal"),
    "delayMs": ("int~", "Wait so long between keys (literal is one, each hex byte is one); answered when the last one is queued", "delayMs"),
    "force": ("bool", "Send cursor keys though the terminal's cursor-key mode is not known yet, as in the normal mode", "force"),
})


class SendKeysDetails(SessionGroup, NamedGroup, FailureGroup, UncertainGroup, FeedGroup, KeysGroup, total=False):
    pass

METHODS["submit"] = ("", "process", {
    "sessionId": ("str!", "Slug, or instance id", "sessionId"),
    "data": ("data", "Bytes; text is UTF-8", "data"),
})


class SubmitDetails(SessionGroup, NamedGroup, FailureGroup, UncertainGroup, FeedGroup, total=False):
    pass

METHODS["paste"] = ("", "process", {
    "sessionId": ("str!", "Slug, or instance id", "sessionId"),
    "text": ("data", "Bytes; text is UTF-8", "text"),
    "bracketed": ("bool", "Between ESC[200~ and ESC[201~", "bracketed"),
})


class PasteDetails(SessionGroup, NamedGroup, FailureGroup, UncertainGroup, FeedGroup, total=False):
    pass

METHODS["resize"] = ("*", "process", {
    "sessionId": ("str!", "Slug, or instance id", "sessionId"),
    "cols": ("int!+", "Columns", "cols"),
    "rows": ("int!+", "Lines", "rows"),
})


class ResizeDetails(SessionGroup, FailureGroup, SizeGroup, total=False):
    pass

METHODS["background"] = ("*", "process", {
    "sessionId": ("str!", "Slug, or instance id", "sessionId"),
})


class BackgroundDetails(SessionGroup, FailureGroup, total=False):
    pass

METHODS["screen"] = ("*", "process", {
    "sessionId": ("str!", "Slug, or instance id", "sessionId"),
    "trim": ("bool", "Without blanks at the ends of lines and blank lines at the end of text", "trim"),
    "cells": ("bool", "Also runs: for each line its stretches of one look, {text, fg, bg, bold, underline, italic, blink, reverse, strike}; a colour is 0..255 or #rrggbb, what is absent is default or off", "cells"),
})


class ScreenDetails(SessionGroup, NamedGroup, FailureGroup, SizeGroup, ScreenGroup, total=False):
    pass

METHODS["kill"] = ("killId", "process", {
    "sessionId": ("str!", "Slug, or instance id", "sessionId"),
    "signal": ("signal", "A name with or without SIG, or a number", "signal"),
    "graceMs": ("int~", "From the signal to SIGKILL; 0: SIGKILL at once", "graceMs"),
    "wait": ("bool", "Answer when it is over", "wait"),
    "escalate": ("bool^", "", "escalate"),
    "killId": ("int+^", "", "killId"),
})


class KillDetails(SessionGroup, NamedGroup, FailureGroup, ExitGroup, KillGroup, total=False):
    pass

METHODS["killScope"] = ("*", "process", {
    "scope": ("str", "Whose sessions; an admin connection must name it", "scope"),
    "signal": ("signal", "A name with or without SIG, or a number", "signal"),
    "graceMs": ("int~", "From the signal to SIGKILL; 0: SIGKILL at once", "graceMs"),
    "wait": ("bool", "Answer when it is over", "wait"),
})


class KillScopeDetails(SessionGroup, FailureGroup, KillScopeGroup, total=False):
    pass

METHODS["clear"] = ("", "process", {
    "sessionId": ("str!", "Slug, or instance id", "sessionId"),
})


class ClearDetails(SessionGroup, FailureGroup, total=False):
    pass

METHODS["remove"] = ("", "process", {
    "sessionId": ("str!", "Slug, or instance id", "sessionId"),
})


class RemoveDetails(SessionGroup, NamedGroup, FailureGroup, total=False):
    pass

METHODS["events"] = ("*", "", {})


EventsAnswer = TypedDict("EventsAnswer", {
    "events": "Required[List[EventNote]]",
    "overflowed": "Required[int]",
    "acknowledged": "Required[int]",
}, total=False)

METHODS["subscribe"] = ("*", "", {})


SubscribeAnswer = TypedDict("SubscribeAnswer", {
    "acknowledged": "Required[int]",
    "overflowed": "Required[int]",
}, total=False)

METHODS["ack"] = ("*", "", {})


AckAnswer = TypedDict("AckAnswer", {
    "acknowledged": "Required[int]",
}, total=False)

METHODS["lanes"] = ("op=list", "process", {
    "op": ("str", "list; set-width (nil: as configured again); pause: nobody starts; resume: ends pause and drain; clear: who waits fails with exitReason lane-cleared, who runs goes on; reset: clear, and who runs goes on without holding a place, in a lane of a new generation; drain: new sessions are refused, answered when nobody runs or waits any more", "op"),
    "lane": ("str", "Which one", "lane"),
    "width": ("int?", "For set-width", "width"),
    "timeout": ("int~", "For drain: answer after so many ms at the latest; the lane goes on draining", "timeout"),
})


class LanesDetails(SessionGroup, FailureGroup, LanesGroup, total=False):
    pass

METHODS["status"] = ("*", "", {})


StatusAnswer = TypedDict("StatusAnswer", {
    "scope": "str",
    "keeper": "Dict[str, Any]",
    "master": "Dict[str, Any]",
    "workers": "List[Dict[str, Any]]",
    "scheduling": "Dict[str, Any]",
    "upgrade": "Dict[str, Any]",
    "sessions": "Dict[str, Any]",
    "boxes": "Dict[str, Any]",
    "admission": "Dict[str, Any]",
    "shares": "List[Dict[str, Any]]",
    "output": "Dict[str, Any]",
    "lanes": "List[Dict[str, Any]]",
    "cgroup": "Dict[str, Any]",
    "draining": "Sequence[str]",
    "unavailable": "List[Dict[str, Any]]",
    "runtimeDir": "str",
    "version": "str",
}, total=False)

METHODS["explainSandbox"] = ("*", "", {})

METHODS["sandboxes"] = ("*", "", {})

METHODS["pruneSandboxes"] = ("*", "", {})

METHODS["drainScope"] = ("*", "", {})

METHODS["undrainScope"] = ("*", "", {})

METHODS["mintToken"] = ("", "", {})


MintTokenAnswer = TypedDict("MintTokenAnswer", {
    "token": "Required[str]",
    "id": "Required[str]",
    "scope": "Required[str]",
    "createdAt": "Required[int]",
}, total=False)

METHODS["listTokens"] = ("*", "", {})


ListTokensAnswer = TypedDict("ListTokensAnswer", {
    "tokens": "Required[List[Dict[str, Any]]]",
}, total=False)

METHODS["revokeToken"] = ("", "", {})


RevokeTokenAnswer = TypedDict("RevokeTokenAnswer", {
    "revoked": "Required[int]",
}, total=False)

METHODS["upgrade"] = ("id", "", {})


UpgradeAnswer = TypedDict("UpgradeAnswer", {
    "id": "str",
    "phase": "str",
    "from": "str",
    "to": "str",
    "sessions": "int",
    "replaced": "int",
    "ms": "int",
    "why": "str",
}, total=False)

METHODS["shutdown"] = ("*", "", {})


ShutdownAnswer = TypedDict("ShutdownAnswer", {
    "pid": "Required[int]",
}, total=False)


class SessionNote(TypedDict, total=False):
    msgid: Required[int]
    sessionId: Required[str]
    instanceId: Required[str]
    state: Required[str]
    pid: Required[Union[int, None]]
    pty: bool


class OutputNote(TypedDict, total=False):
    msgid: Required[int]
    stream: Required[str]
    pos: Required[int]
    data: Required[bytes]
    dropped: int


class TailNote(TypedDict, total=False):
    msgid: Required[int]
    bytes: Required[int]
    line: Required[str]


class EventNote(TypedDict, total=False):
    seq: Required[int]
    kind: Required[str]
    sessionId: str
    instanceId: str
    scope: str
    sessionKey: Union[str, None]
    at: int
    text: str
    status: str
    exitCode: Union[int, None]
    exitSignal: Union[str, None]
    exitReason: str
    quiet: bool
    quietReason: str
    pid: int
    deadlineAt: int
    worker: int
    wait: Dict[str, Any]


class Methods(Calls):
    """Every method but those that a connection says itself."""

    async def defaults(
        self,
        *,
        base_env: Union[Mapping[str, Data], None] = None,
        base_dir: Union[str, None] = None,
        umask: Union[str, None] = None
    ) -> DefaultsAnswer:
        """What exec on this connection takes where a call does not say: sent once, an environment does not travel with every call. What is given replaces what was; nothing of it outlives the connection. hello takes the same; but before its hello another user's message has at most 4096 bytes, so who shows a token sends them behind it. Of a scope over its share of memory another scope that needs its own takes baseEnv and baseDir back: until it is sent again, by defaults or with the call, exec is refused then (share-used-up, field: which of the two)."""
        ret: DefaultsAnswer = await self._ask("defaults", locals())
        return ret

    async def exec(
        self,
        command: Union[str, None] = None,
        *,
        argv: Union[Sequence[str], None] = None,
        workdir: Union[str, None] = None,
        base_dir: Union[str, None] = None,
        umask: Union[str, None] = None,
        env: Union[Mapping[str, str], None] = None,
        base_env: Union[Mapping[str, Data], None] = None,
        request_key: Union[str, None] = None,
        yield_ms: Union[int, None, Absent] = ABSENT,
        background: Union[bool, None] = None,
        timeout: Union[float, None] = None,
        timeout_seconds: Union[float, None] = None,
        no_output_timeout: Union[float, None] = None,
        notify_on_exit: Union[bool, None] = None,
        stdin: Union[Union[str, Dict[str, str]], None] = None,
        lane: Union[str, None] = None,
        priority: Union[int, None] = None,
        scope: Union[str, None] = None,
        session_key: Union[str, None] = None,
        label: Union[str, None] = None,
        tags: Union[Mapping[str, str], None] = None,
        stream: Union[Union[bool, str], None] = None,
        pty: Union[bool, None] = None,
        cols: Union[int, None] = None,
        rows: Union[int, None] = None,
        elevated: Union[bool, None] = None,
        ask: Union[str, None] = None,
        security: Union[str, None] = None,
        host: Union[str, None] = None,
        limits: Union[Dict[str, Any], None] = None,
        text: Union[str, None] = None,
        retain: Union[Dict[str, Any], None] = None,
        spill: Union[Dict[str, Any], None] = None
    ) -> Answer[ExecDetails]:
        """Runs a command as a session and answers at the first of: its end, the end of the yield window, background, cancel."""
        return Answer(await self._ask("exec", locals()))

    async def list(
        self,
        *,
        all: Union[bool, None] = None,
        limit: Union[int, None] = None,
        fields: Union[Sequence[str], None] = None,
        usage: Union[bool, None] = None,
        session_ids: Union[Sequence[str], None] = None,
        status: Union[str, None] = None,
        lane: Union[str, None] = None,
        label: Union[str, None] = None,
        scope: Union[str, None] = None,
        tags: Union[Sequence[str], None] = None,
        since_ms: Union[int, None] = None,
        before_ms: Union[int, None] = None
    ) -> Answer[ListDetails]:
        """The backgrounded sessions of the scope, running and finished, newest start first. Of many it takes a while, in slices: none is shown twice, and who comes or goes meanwhile may be missing."""
        return Answer(await self._ask("list", locals()))

    async def poll(
        self,
        session_id: str,
        *,
        timeout: Union[int, None] = None,
        reader: Union[str, None] = None,
        ack: Union[str, None] = None,
        since: Union[int, None] = None,
        max_bytes: Union[int, None] = None,
        raw: Union[bool, None] = None,
        text: Union[str, None] = None,
        usage: Union[bool, None] = None,
        times: Union[bool, None] = None
    ) -> Answer[PollDetails]:
        """New output since this reader's last poll, and the status. With since: a repeatable read that moves no cursor."""
        return Answer(await self._ask("poll", locals()))

    async def log(
        self,
        session_id: str,
        *,
        offset: Union[int, None] = None,
        limit: Union[int, None] = None,
        since_ms: Union[int, None] = None,
        stream: Union[str, None] = None,
        text: Union[str, None] = None,
        raw: Union[bool, None] = None,
        timestamps: Union[bool, None] = None,
        grep: Union[str, None] = None,
        regex: Union[str, None] = None,
        context: Union[int, None] = None
    ) -> Answer[LogDetails]:
        """Lines of the retained output. Neither offset nor limit: the last 200; offset alone: from there on; limit alone: the last so many."""
        return Answer(await self._ask("log", locals()))

    async def wait(
        self,
        session_id: Union[str, None] = None,
        *,
        session_ids: Union[Sequence[str], None] = None,
        mode: Union[str, None] = None,
        timeout: Union[int, None] = None,
        text: Union[str, None] = None,
        regex: Union[str, None] = None,
        idle_ms: Union[int, None] = None,
        bytes: Union[int, None] = None,
        input: Union[bool, None] = None,
        since: Union[int, None] = None,
        raw: Union[bool, None] = None
    ) -> Answer[WaitDetails]:
        """Waits, in one bounded call, until sessions have ended or a condition is met: a session is waited for no longer once any one of those given here holds. See section 6."""
        return Answer(await self._ask("wait", locals()))

    async def write(
        self,
        session_id: str,
        data: Union[Data, None] = None,
        *,
        eof: Union[bool, None] = None,
        timeout: Union[int, None] = None,
        position: Union[int, None] = None
    ) -> Answer[WriteDetails]:
        """Feeds a running session's stdin."""
        return Answer(await self._ask("write", locals()))

    async def send_keys(
        self,
        session_id: str,
        literal: Union[Data, None] = None,
        *,
        keys: Union[Sequence[str], None] = None,
        hex: Union[Sequence[str], None] = None,
        delay_ms: Union[int, None] = None,
        force: Union[bool, None] = None
    ) -> Answer[SendKeysDetails]:
        """Sends keys to a running session, as its terminal would. Sent in the order literal, hex, keys. A hex item that is none is left out with a warning. Either all of it enters the session's queue or nothing; with delayMs that holds for each key. Section 13 says what a key is."""
        return Answer(await self._ask("send-keys", locals()))

    async def submit(
        self,
        session_id: str,
        data: Union[Data, None] = None
    ) -> Answer[SubmitDetails]:
        """Sends data, where given, and then a carriage return: the Enter key. All or nothing."""
        return Answer(await self._ask("submit", locals()))

    async def paste(
        self,
        session_id: str,
        text: Union[Data, None] = None,
        *,
        bracketed: Union[bool, None] = None
    ) -> Answer[PasteDetails]:
        """Sends text as a terminal pastes it. All or nothing."""
        return Answer(await self._ask("paste", locals()))

    async def resize(
        self,
        session_id: str,
        cols: int,
        rows: int
    ) -> Answer[ResizeDetails]:
        """Changes the size of a session's terminal; its programs are told by SIGWINCH."""
        return Answer(await self._ask("resize", locals()))

    async def background(
        self,
        session_id: str
    ) -> Answer[BackgroundDetails]:
        """Sends a session that still belongs to its exec request to the background: the exec is answered as at the end of its yield window. One that has ended there is kept, and listed, as if it had been in the background."""
        return Answer(await self._ask("background", locals()))

    async def screen(
        self,
        session_id: str,
        *,
        trim: Union[bool, None] = None,
        cells: Union[bool, None] = None
    ) -> Answer[ScreenDetails]:
        """What the session's terminal shows, drawn again from its retained output: nothing is kept for it before it is asked for. Its text holds no control character."""
        return Answer(await self._ask("screen", locals()))

    async def kill(
        self,
        session_id: str,
        *,
        signal: Union[Union[str, int], None] = None,
        grace_ms: Union[int, None] = None,
        wait: Union[bool, None] = None,
        escalate: Union[bool, None] = None,
        kill_id: Union[int, None] = None
    ) -> Answer[KillDetails]:
        """Ends a running session with everything it started: a signal, grace, SIGKILL until nothing is left. Of a session that is over: the processes that outlived it (holders, remaining)."""
        return Answer(await self._ask("kill", locals()))

    async def kill_scope(
        self,
        *,
        scope: Union[str, None] = None,
        signal: Union[Union[str, int], None] = None,
        grace_ms: Union[int, None] = None,
        wait: Union[bool, None] = None
    ) -> Answer[KillScopeDetails]:
        """Ends all sessions of a scope, queued ones included, as kill does."""
        return Answer(await self._ask("killScope", locals()))

    async def clear(
        self,
        session_id: str
    ) -> Answer[ClearDetails]:
        """Forgets a finished session and its output."""
        return Answer(await self._ask("clear", locals()))

    async def remove(
        self,
        session_id: str
    ) -> Answer[RemoveDetails]:
        """Ends a running session and forgets it; forgets a finished one."""
        return Answer(await self._ask("remove", locals()))

    async def events(
        self,
        *,
        subscriber: Union[str, None] = None,
        since: Union[int, None] = None,
        kinds: Union[Sequence[str], None] = None,
        limit: Union[int, None] = None
    ) -> EventsAnswer:
        """Events not acknowledged by this subscriber yet, oldest first."""
        ret: EventsAnswer = await self._ask("events", locals())
        return ret

    async def ack(
        self,
        seq: int,
        *,
        subscriber: Union[str, None] = None
    ) -> AckAnswer:
        """Acknowledges every event up to a number."""
        ret: AckAnswer = await self._ask("ack", locals())
        return ret

    async def lanes(
        self,
        *,
        op: Union[str, None] = None,
        lane: Union[str, None] = None,
        width: Union[int, None, Absent] = ABSENT,
        timeout: Union[int, None] = None
    ) -> Answer[LanesDetails]:
        """The lanes and what an operator may do to one. list is for everybody: a connection with a scope is told of the lanes its own sessions are in, and of other scopes' sessions only how long they have been there. All else is for admin connections: whoever may use a lane does not own it."""
        return Answer(await self._ask("lanes", locals()))

    async def status(
        self
    ) -> StatusAnswer:
        """The server's state. A scoped connection hears its own sessions' counts, its scope and its shares, cgroup, unavailable, runtimeDir and version."""
        ret: StatusAnswer = await self._ask("status", locals())
        return ret

    async def explain_sandbox(
        self,
        *,
        scope: Union[str, None] = None,
        host: Union[str, None] = None,
        elevated: Union[bool, None] = None,
        ask: Union[str, None] = None,
        security: Union[str, None] = None
    ) -> Answer[Dict[str, Any]]:
        """Which host a call of exec would get and why, and what its box would be made of. Nothing is made or run."""
        return Answer(await self._ask("explainSandbox", locals()))

    async def sandboxes(
        self,
        *,
        box: Union[str, None] = None
    ) -> Answer[Dict[str, Any]]:
        """The boxes that there are."""
        return Answer(await self._ask("sandboxes", locals()))

    async def prune_sandboxes(
        self,
        *,
        box: Union[str, None] = None
    ) -> Answer[Dict[str, Any]]:
        """Boxes take nobody in any more, and end once they are empty. Their workspaces stay."""
        return Answer(await self._ask("pruneSandboxes", locals()))

    async def drain_scope(
        self,
        scope: str,
        *,
        timeout: Union[int, None] = None,
        kill: Union[bool, None] = None,
        grace_ms: Union[int, None] = None
    ) -> Answer[Dict[str, Any]]:
        """The scope takes no new sessions from now on, also after a restart of the master, until undrainScope; those that run or are queued are waited for."""
        return Answer(await self._ask("drainScope", locals()))

    async def undrain_scope(
        self,
        scope: str
    ) -> Answer[Dict[str, Any]]:
        """The scope takes new sessions again."""
        return Answer(await self._ask("undrainScope", locals()))

    async def mint_token(
        self,
        scope: str,
        *,
        label: Union[str, None] = None
    ) -> MintTokenAnswer:
        """Makes a token that binds whoever shows it in hello to one scope. Only its hash is kept: this answer is the one time that the token is seen."""
        ret: MintTokenAnswer = await self._ask("mintToken", locals())
        return ret

    async def list_tokens(
        self,
        *,
        scope: Union[str, None] = None
    ) -> ListTokensAnswer:
        """The tokens that are valid."""
        ret: ListTokensAnswer = await self._ask("listTokens", locals())
        return ret

    async def revoke_token(
        self,
        *,
        id: Union[str, None] = None,
        scope: Union[str, None] = None
    ) -> RevokeTokenAnswer:
        """Makes tokens invalid and closes the connections that showed them."""
        ret: RevokeTokenAnswer = await self._ask("revokeToken", locals())
        return ret

    async def upgrade(
        self,
        *,
        binary_dir: Union[str, None] = None,
        id: Union[str, None] = None,
        ready_ms: Union[int, None] = None
    ) -> UpgradeAnswer:
        """Other programs take over: the workers one by one, the master, then the keeper in place. Sessions run on, connections end once, as at a master's death. Answered when the new programs have been found fit, or refused; status.upgrade says how it goes on."""
        ret: UpgradeAnswer = await self._ask("upgrade", locals())
        return ret

    async def shutdown(
        self,
        *,
        grace_ms: Union[int, None] = None
    ) -> ShutdownAnswer:
        """Ends every command by the stop ladder, then the server."""
        ret: ShutdownAnswer = await self._ask("shutdown", locals())
        return ret


# Taken, though no method has it: the tool, the parameter it stands for, what it
# means.
EXTRAS = {
    "title": ("exec", "label", "What the command is for, in a few words."),
    "node": ("exec", "", "Which machine, for host node, which is not built yet."),
}

# What was said, and what was meant: to ignore it would do the wrong thing.
SLIPS = (
    ("cwd", "workdir"),
    ("dir", "workdir"),
    ("directory", "workdir"),
    ("workingDirectory", "workdir"),
    ("working_directory", "workdir"),
    ("working_dir", "workdir"),
    ("work_dir", "workdir"),
    ("folder", "workdir"),
    ("timeoutMs", "timeout"),
    ("timeout_ms", "timeout"),
    ("timeoutSec", "timeout"),
    ("session", "sessionId"),
    ("id", "sessionId"),
    ("instanceId", "sessionId"),
    ("session_id", "sessionId"),
    ("sessions", "sessionIds"),
    ("cmd", "command"),
    ("script", "command"),
    ("args", "argv"),
    ("environment", "env"),
    ("text", "data"),
    ("input", "data"),
    ("data", "text"),
    ("key", "keys"),
    ("sig", "signal"),
)

CODES = (
    "bad-request",
    "frame-too-large",
    "limit-exceeded",
    "unknown-method",
    "invalid-params",
    "too-big",
    "unsupported",
    "forbidden",
    "not-found",
    "not-backgrounded",
    "not-running",
    "not-finished",
    "finalizing",
    "stdin-closed",
    "stdin-full",
    "cursor-mode-unknown",
    "line-too-long",
    "no-terminal",
    "no-space",
    "share-used-up",
    "refused-after-deaths",
    "queue-full",
    "deadlock",
    "lane-draining",
    "scope-draining",
    "overloaded",
    "bad-workdir",
    "output-lost",
    "runtime-gone",
    "cancelled",
    "stopping",
    "upgrade-refused",
    "busy",
    "internal",
)
