# SPDX-License-Identifier: MIT
"""The tools as models call them; psup tool answers the same calls."""
from __future__ import annotations

import asyncio
import json
import os
from typing import Any, Dict, List, Tuple

import psup

from lib import LiveCase, soon

# {tool, its arguments}; ID: of the session that the second one makes
CALLS: List[Tuple[str, Dict[str, Any]]] = [
    ("exec", {"command": "echo hi", "title": "say", "yieldMs": "2000",
              "data": "", "nonsense": 1, "ask": "off", "host": " Gateway "}),
    ("exec", {"command": "read x; echo got $x; sleep 1000",
              "background": "TRUE", "env": {"A": 1, "B": True, "C": None}}),
    ("process", {"action": "write", "sessionId": "ID", "data": "a\n",
                 "keys": []}),
    ("process", {"action": "wait", "sessionId": "ID", "text": "got a",
                 "timeout": "30000", "limit": None}),
    ("process", {"action": "log", "sessionId": "ID", "limit": "5",
                 "data": ""}),
    ("process", {"action": "kill", "sessionId": "ID", "graceMs": 0}),
    ("process", {"action": "poll", "sessionId": "absent", "limit": 200}),
    ("process", {"action": "fly"}),
    ("process", {"action": ["fly"]}),
    ("process", {"action": "Wait", "sessionIds": "ID", "idleMs": 0,
                 "text": "got", "timeout": "30000"}),
    ("process", {"action": "send_keys", "sessionId": "ID",
                 "keys": "[\"enter\"]"}),
    ("process", {"action": "send-keys", "sessionId": "ID", "keys": "C-c d"}),
    ("exec", {"command": "echo $A", "env": "{\"A\":1}", "cols": 0}),
    ("exec", {"argv": "echo hi"}),
    ("process", {"action": "wait", "sessionIds": 100000 * "["}),
    ("process", {}),
    ("process", {"action": "poll"}),
    ("process", {"action": "write", "sessionId": "ID", "input": "x"}),
    ("exec", {"command": "true", "cwd": "/"}),
    ("exec", {"cmd": "true"}),
    ("exec", {"command": "true", "workdir": "/absent"}),
    ("exec", {"command": "true", "timeout": "soon"}),
    ("exec", {"command": "", "argv": []}),
    ("process", {"action": "send-keys", "sessionId": "ID", "key": "up"}),
    ("process", {"action": "clear", "sessionId": "ID", "a": 1, "b": [2]}),
]
# what differs from run to run
MOVING = {"sessionId", "instanceId", "pid", "startedAt", "endedAt", "cpuMs",
          "durationMs", "idleMs", "lastOutputAt", "usage", "ladder", "error",
          "waitingForInput", "waitReason", "retryInMs", "runtimeMs",
          "deadlineAt", "worker", "scopeKey", "remainingPids"}


def still(v: Any) -> Any:
    if isinstance(v, list):
        return [still(x) for x in v]
    if isinstance(v, dict):
        return {k: still(x) for k, x in v.items() if k not in MOVING}
    return v


class Tools(LiveCase):
    async def asker(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            "psup", "tool", "--scope", "theirs",
            env={**os.environ, "PSUP_RUNTIME_DIR": self.dir},
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)

    async def test_the_answers_of_psup_tool(self) -> None:
        async with self.connect(scope="ours") as p:
            tools: Dict[str, Any] = {"exec": psup.ExecTool(p),
                                     "process": psup.ProcessTool(p)}
            theirs = await self.asker()
            assert theirs.stdin is not None and theirs.stdout is not None
            ids = ["", ""]
            for i, (tool, args) in enumerate(CALLS):
                def filled(n: int) -> Dict[str, Any]:
                    return {k: ids[n] if v == "ID" else v
                            for k, v in args.items()}
                ours = await soon(tools[tool].execute(str(i), filled(0)))
                theirs.stdin.write(json.dumps({
                    "tool": tool, **filled(1)}).encode() +
                    b"\n")
                line = json.loads(await soon(theirs.stdout.readline()))
                answer = line.get("result", line)
                if i == 1:
                    ids = [ours["details"]["sessionId"],
                           answer["details"]["sessionId"]]
                with self.subTest(i=i, args=args):
                    self.assertEqual(still(ours["details"]),
                                     still(answer["details"]))
                    text = ours["content"][0]["text"]
                    if not ids[0] or ids[0] not in text:
                        self.assertEqual(text, answer["text"])
            theirs.stdin.close()
            await soon(theirs.wait())

    async def test_updates_and_abort(self) -> None:
        async with self.connect(scope="up") as p:
            tool = psup.ExecTool(p, sessionKey="chat-1")
            came = asyncio.Event()
            said: List[str] = []

            def update(u: Dict[str, Any]) -> None:
                said.append(u["content"][0]["text"])
                came.set()

            task = asyncio.ensure_future(tool.execute(
                "1", {"command": "echo line; exec sleep 1000"}, update))
            await soon(came.wait())
            self.assertEqual(said, ["line"])
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await soon(task)

    async def test_a_server_that_is_not_there(self) -> None:
        p = await soon(self.connect()._connect())
        await p.close()
        r = await psup.ExecTool(p).execute("1", {"command": "true"})
        self.assertEqual((r["details"]["status"], r["details"]["code"],
                          r["details"]["failureKind"]),
                         ("failed", "usage", "runtime-error"))

    def test_schemas(self) -> None:
        from psup._tools import schema
        s = schema("exec")
        self.assertNotIn("baseEnv", s["properties"])
        self.assertEqual(s["properties"]["yieldMs"]["type"], "integer")
        self.assertIn("title", s["properties"])
        s = schema("process")
        self.assertIn("send-keys", s["properties"]["action"]["enum"])
        self.assertEqual(s["required"], ["action"])
        json.dumps(s)
