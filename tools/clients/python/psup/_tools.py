# SPDX-License-Identifier: MIT
"""OpenClaw's exec and process tools: one flat object of arguments, as models
write it. docs/protocol.md, section 14, has the rules; the tables are printed
from the rows that psup tool goes by."""
from __future__ import annotations

import json
import math
import os
import re
from typing import Any, Callable, Dict, List, Optional, Tuple

from ._client import Psup
from ._errors import PsupError
from ._protocol import EXTRAS, METHODS, SLIPS

IGNORED_MAX = 16
_INTEGER = re.compile(r"[+-]?[0-9]{1,15}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?")

Result = Dict[str, Any]
Update = Callable[[Result], None]


class _Refused(Exception):
    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


# ------------------------------------------------------------------ arguments

def _of_text(kind: str, name: str, v: str) -> Any:
    """A text where the row wants something else, or a host."""
    t = v.strip()
    if kind in ("int", "signal") and _INTEGER.fullmatch(t):
        return int(t)
    if kind == "num" and _NUMBER.fullmatch(t):
        return float(t) if "." in t else int(t)
    if kind == "bool" and t.lower() in ("true", "false"):
        return t.lower() == "true"
    return t.lower() if name == "host" else v


def _unwritten(kind: str, name: str, v: str) -> Any:
    """A list or a map that came as text: as its JSON, or a list's only word."""
    t = v.strip()
    if kind not in ("strlist", "strmap", "map", "stdin"):
        return None
    if t.startswith("[" if kind == "strlist" else "{"):
        try:
            return json.loads(t)
        except (ValueError, RecursionError):
            pass  # then it is a text
    if kind == "strlist" and name != "argv" and len(t.split()) == 1:
        return [t]
    return None


def _map_value(v: Any) -> Any:
    if isinstance(v, bool):
        return "true" if v else "false"
    return str(v) if isinstance(v, int) else v


class _Nothing:
    """As if it were not there."""


_NOTHING = _Nothing()


def bend(row: Tuple[str, str, str], v: Any) -> Any:
    """A model's value as the row wants it, where that takes no guess."""
    kind, name = row[0].rstrip("!?~+^"), row[2]
    marks = row[0][len(kind):]
    if v is None:
        return None if "?" in marks else _NOTHING
    if isinstance(v, str):
        blank = not v or (not v.strip() and (kind in ("int", "num", "bool") or
                                             name == "host"))
        if blank and kind != "data":
            return _NOTHING
        inner = _unwritten(kind, name, v)
        v = _of_text(kind, name, v) if inner is None else bend(row, inner)
    if (isinstance(v, (int, float)) and not isinstance(v, bool) and v == 0 and
            kind in ("int", "num") and "+" in marks and "!" not in marks):
        return _NOTHING
    if isinstance(v, (list, tuple)) and not v:
        return v if kind == "strlist" and "+" not in marks else _NOTHING
    if isinstance(v, dict) and kind in ("strmap", "map", "stdin"):
        ret = {k: _map_value(x) if kind == "strmap" else x
               for k, x in v.items() if x is not None}
        return ret if ret or kind != "stdin" else _NOTHING
    if (isinstance(v, float) and kind == "int" and "~" in marks and
            abs(v) < 1e15):
        return math.floor(v)
    return v


def _methods(tool: str) -> List[str]:
    return [m for m, row in METHODS.items() if row[1] == tool]


def _known(tool: str, name: str) -> bool:
    return (any(name in METHODS[m][2] for m in _methods(tool)) or
            EXTRAS.get(name, ("",))[0] == tool)


def _meant(tool: str, method: str, name: str, v: Any,
           params: Dict[str, Any]) -> Optional[str]:
    """The parameter without which the call would do the wrong thing."""
    rows = METHODS[method][2]
    for said, meant in SLIPS:
        if said != name or meant not in rows:
            continue
        if rows[meant][2] != meant or meant in params:
            return None
        is_data = rows[meant][0].startswith("data")
        if _known(tool, name) and not (is_data and isinstance(v, str)):
            return None
        return meant
    return None


def _bare(action: str) -> str:
    return re.sub(r"[-_\s]", "", action).lower()


def _method(tool: str, args: Dict[str, Any]) -> str:
    actions = _methods(tool)
    if tool == "exec":
        return "exec"
    action = args.get("action")
    for name in actions:
        if isinstance(action, str) and _bare(action) == _bare(name):
            return name
    said = "" if action in (None, "") else " " + json.dumps(
        action, separators=(",", ":"), ensure_ascii=False)[:62]
    raise _Refused("action", f"{'Invalid' if said else 'Missing'} {tool} "
                   f"action{said}. Expected one of: {', '.join(actions)}.")


def take(tool: str, method: str,
         args: Dict[str, Any]) -> Tuple[Dict[str, Any], List[str]]:
    """The method's parameters, and the names that nobody knows."""
    rows = METHODS[method][2]
    params: Dict[str, Any] = {}
    ignored: List[str] = []
    for name, v in args.items():
        if name in rows:
            v = bend(rows[name], v)
            if v is not _NOTHING:
                params[rows[name][2]] = v
    for name, v in args.items():
        if (v is None or v == "" or name in rows or
                (tool == "process" and name == "action")):
            continue
        extra = EXTRAS.get(name)
        if extra is not None and extra[0] == tool:
            if extra[1] and extra[1] not in params and isinstance(v, str):
                params[extra[1]] = "".join(
                    c if c.isprintable() else " " for c in v
                ).encode()[:47].decode(errors="ignore")
            continue
        meant = _meant(tool, method, name, v, params)
        if meant is not None:
            raise _Refused(name, f'{method} has no parameter "{name}", did '
                           f'you mean "{meant}"?')
        if not _known(tool, name) and len(ignored) < IGNORED_MAX:
            ignored.append(str(name)[:63])
    for name, row in rows.items():
        if "!" in row[0] and row[2] not in params:
            raise _Refused(row[2], f"{name} is required for this action.")
    return params, ignored


# --------------------------------------------------------------------- schema

_JSON = {"int": "integer", "num": "number", "bool": "boolean",
         "stream": "boolean", "map": "object"}


def _property(row: Tuple[str, str, str]) -> Dict[str, Any]:
    kind = row[0].rstrip("!?~+^")
    if kind == "strlist":
        return {"type": "array", "items": {"type": "string"}}
    if kind == "strmap":
        return {"type": "object", "additionalProperties": {"type": "string"}}
    if kind == "stdin":
        return {"type": ["string", "object"]}
    return {"type": _JSON.get(kind, "string")}


def schema(tool: str) -> Dict[str, Any]:
    """The tool's arguments as a JSON schema, flat."""
    properties: Dict[str, Any] = {}
    if tool == "process":
        properties["action"] = {"type": "string", "enum": _methods(tool)}
    for method in _methods(tool):
        for name, row in METHODS[method][2].items():
            if "^" in row[0]:
                continue
            p = properties.setdefault(name, _property(row))
            said = p.get("description", "")
            if row[1] and row[1] not in said:
                p["description"] = (said + "; " if said else "") + (
                    f"{method}: {row[1]}" if tool == "process" else row[1])
    for name, extra in EXTRAS.items():
        if extra[0] == tool:
            properties[name] = {"type": "string", "description": extra[2]}
    return {"type": "object", "properties": properties,
            "required": ["action"] if tool == "process" else []}


# -------------------------------------------------------------------- answers

def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def _failure(tool: str, params: Dict[str, Any], code: str, field: str,
             message: str) -> Dict[str, Any]:
    d: Dict[str, Any] = {"status": "failed", "error": message, "code": code}
    if field:
        d["field"] = field
    if tool == "exec":
        d.update(failureKind="aborted" if code == "cancelled"
                 else "runtime-error", exitCode=None, exitSignal=None,
                 durationMs=0, aggregated="", timedOut=False,
                 noOutputTimedOut=False)
        cwd = params.get("workdir") or params.get("baseDir") or _here()
        if isinstance(cwd, str) and cwd:
            d["cwd"] = cwd
    return {"text": message, "details": d, "isError": True}


def _shown(tool: str, answer: Dict[str, Any], ignored: List[str]) -> Result:
    text, details = str(answer.get("text", "")), answer.get("details", {})
    if ignored:
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        text += f"{gap}Ignored, not known to {tool}: {', '.join(ignored)}."
        details = {**details, "ignored": ignored}
    return {"content": [{"type": "text", "text": text}], "details": details}


class _Tool:
    name = ""
    description = ""

    def __init__(self, psup: Psup, **defaults: Any) -> None:
        self.psup = psup
        self.defaults = defaults
        self.parameters = schema(self.name)

    async def execute(self, tool_call_id: str, params: Dict[str, Any],
                      on_update: Optional[Update] = None) -> Result:
        """The tool's answer, a failure too, as {content, details}. Cancelled,
        the command of a foreground exec is ended."""
        wire: Dict[str, Any] = {}
        ignored: List[str] = []
        try:
            method = _method(self.name, params)
            wire, ignored = take(self.name, method, params)
            wire = {**self.defaults, **wire}
            answer = await self._call(method, wire, on_update)
        except _Refused as e:
            answer = _failure(self.name, params, "invalid-params", e.field,
                              str(e))
        except PsupError as e:
            answer = _failure(self.name, wire, e.code, e.field, e.message)
        return _shown(self.name, answer, ignored)

    async def _call(self, method: str, params: Dict[str, Any],
                    on_update: Optional[Update]) -> Dict[str, Any]:
        return await self.psup.call(method, params)


class ExecTool(_Tool):
    """exec(command, workdir, env, yieldMs, background, timeout, pty, ...).
    Defaults are exec's, by the names of the wire: sessionKey, yieldMs, ..."""
    name = "exec"
    description = ("Runs a shell command; one that takes long goes on in the "
                   "background: see process.")

    async def _call(self, method: str, params: Dict[str, Any],
                    on_update: Optional[Update]) -> Dict[str, Any]:
        if on_update is None:
            return await self.psup.call(method, params)
        update = on_update

        def note(name: str, p: Dict[str, Any]) -> None:
            if name == "tail":
                update({"content": [{"type": "text",
                                     "text": str(p.get("line", ""))}],
                        "details": {"status": "running",
                                    "bytes": p.get("bytes", 0)}})

        return await self.psup.call(method, {**params, "stream": "tail"}, note)


class ProcessTool(_Tool):
    """process(action, sessionId, ...): list, poll, log, write, kill, ..."""
    name = "process"
    description = ("Looks after commands that exec left in the background: "
                   "list, poll, log, wait, write, kill, ...")
