# SPDX-License-Identifier: MIT
"""Commands for agents and gateways, run by a psup server.

    async with psup.connect(scope="agent-7") as p:
        r = await p.exec("make", yield_ms=10_000)
        async for chunk in p.output(r.session_id): ...
        proc = await p.create_subprocess_exec("cat")
"""
from ._answer import ABSENT, Answer
from ._client import Chunk, Events, Psup, connect
from ._errors import PsupError
from ._process import Process
from ._protocol import EventNote
from ._tools import ExecTool, ProcessTool

__version__ = "0.1.0"
__all__ = ["ABSENT", "Answer", "Chunk", "EventNote", "Events", "ExecTool",
           "Process", "ProcessTool", "Psup", "PsupError", "connect"]
