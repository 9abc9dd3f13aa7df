# SPDX-License-Identifier: MIT
"""What methods are made of: their answers, and how their names are spelt."""
from __future__ import annotations

import enum
from typing import Any, Dict, Generic, TypeVar

from ._errors import PsupError

D = TypeVar("D")


class Absent(enum.Enum):
    """A parameter that was not given, where None means something."""
    ABSENT = 0


ABSENT = Absent.ABSENT


class Answer(Generic[D]):
    """text is for a model or a person, details for a program."""

    __slots__ = ("text", "details", "is_error", "raw")
    details: D

    def __init__(self, raw: Dict[str, Any]) -> None:
        details = raw.get("details")
        if not isinstance(details, dict):
            raise PsupError("bad-answer", "an answer without details",
                            "details")
        self.raw = raw
        self.text: str = str(raw.get("text", ""))
        self.details = details  # type: ignore[assignment]
        self.is_error: bool = bool(raw.get("isError"))

    @property
    def session_id(self) -> str:
        """Of the session that it is about, or ""."""
        return str(self.raw["details"].get("sessionId", ""))

    @property
    def status(self) -> str:
        """completed, failed or running"""
        return str(self.raw["details"].get("status", ""))

    def __repr__(self) -> str:
        return f"Answer(text={self.text!r}, details={self.details!r})"


def camel(name: str) -> str:
    """session_id as the wire spells it."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


class Calls:
    """What the printed methods stand on."""

    async def call(self, method: str,
                   params: Dict[str, Any]) -> Dict[str, Any]:
        raise NotImplementedError

    async def _ask(self, method: str, given: Dict[str, Any]) -> Any:
        """A method's arguments are its locals: None is not sent unless it
        means something, and what the server refused is raised."""
        nil = _NIL.get(method, ())
        result = await self.call(method, {
            camel(k): v for k, v in given.items()
            if k != "self" and v is not ABSENT and
            (v is not None or k in nil)})
        details = result.get("details")
        if (result.get("isError") and isinstance(details, dict) and
                isinstance(details.get("code"), str)):
            code = details["code"]
            raise PsupError(code, str(details.get("error", "")), str(
                details.get("field", _FIELDS.get(code, ""))), details)
        return result


# What is at fault, where the code alone says it.
_FIELDS = {"not-found": "sessionId", "bad-workdir": "workdir"}
# Where None is a value: of the table's nullable parameters.
_NIL = {"exec": ("yield_ms",), "lanes": ("width",)}
