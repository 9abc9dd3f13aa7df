# SPDX-License-Identifier: MIT
"""What goes wrong, as one exception with a code and a field."""
from __future__ import annotations

from typing import Any, Dict, Optional


class PsupError(Exception):
    """A call that was not carried out, or whose answer was lost.

    code   one of docs/protocol.md, section 12, or of the client itself:
           no-server, connection-lost, timeout, bad-answer, system, usage
    field  the parameter that it is about, or ""
    """

    def __init__(self, code: str, message: str, field: str = "",
                 details: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.field = field
        self.details: Dict[str, Any] = details if details is not None else {}

    def again(self) -> "PsupError":
        """Another one of the same, since a traceback belongs to one raise."""
        return PsupError(self.code, self.message, self.field, self.details)


def of_answer(error: Any, method: str) -> PsupError:
    """From the error map of an answer."""
    if not isinstance(error, dict) or not isinstance(error.get("code"), str):
        return PsupError("bad-answer", f"{method}: an error that is no map "
                         "with a code")
    details = error.get("details")
    field = error.get("field")
    return PsupError(
        error["code"], str(error.get("message", error["code"])),
        field if isinstance(field, str) else "",
        details if isinstance(details, dict) else None)
