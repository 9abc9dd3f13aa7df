# SPDX-License-Identifier: MIT
"""A client of psup-mcp for tests: lines out, lines in, nothing else."""
import json
import os
import select
import subprocess
import time

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
PATIENCE = 120  # ends what hangs


class Gone(Exception):
    """It closed its stdout."""


def becomes(true, what):
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.01)


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Mcp:
    def __init__(self, *options, cwd=None, env=None, era="2025-11-25",
                 program="psup-mcp"):
        """era: a version to shake hands with, None: say nothing, "modern"."""
        full = dict(os.environ, **(env or {}))
        self.p = subprocess.Popen(
            [program, *options], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, env=full)
        self.buf, self.notes, self.answers, self.last = b"", [], {}, 0
        self.modern = era == "modern"
        if era and not self.modern:
            self.hello = self.ask("initialize", {
                "protocolVersion": era, "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"}})
            self.send("notifications/initialized", note=True)

    def raw(self, data):
        self.p.stdin.write(data)
        self.p.stdin.flush()

    def send(self, method, params=None, note=False, token=None):
        m = {"jsonrpc": "2.0", "method": method}
        if not note:
            self.last += 1
            m["id"] = self.last
        params = dict(params or {})
        meta = dict(MODERN) if self.modern and not note else {}
        if token is not None:
            meta["progressToken"] = token
        if meta:
            params["_meta"] = meta | params.get("_meta", {})
        if params:
            m["params"] = params
        self.raw(json.dumps(m).encode() + b"\n")
        return self.last

    def line(self):
        while b"\n" not in self.buf:
            if not select.select([self.p.stdout], [], [], PATIENCE)[0]:
                raise TimeoutError("no line")
            data = os.read(self.p.stdout.fileno(), 1 << 16)
            if not data:
                raise Gone()
            self.buf += data
        line, self.buf = self.buf.split(b"\n", 1)
        return json.loads(line)

    def take(self):
        m = self.line()
        if "method" in m:
            self.notes.append(m)
        else:
            # an answer twice to one request is a fault of its own
            assert m.get("id") not in self.answers, m
            self.answers[m.get("id")] = m
        return m

    def answer(self, i):
        while i not in self.answers:
            self.take()
        return self.answers.pop(i)

    def ask(self, method, params=None):
        return self.answer(self.send(method, params))

    def call(self, name, token=None, **arguments):
        return self.send("tools/call", {"name": name, "arguments": arguments},
                         token=token)

    def tool(self, name, **arguments):
        """The result of a tool."""
        return self.answer(self.call(name, **arguments))["result"]

    def text(self, name, **arguments):
        return self.tool(name, **arguments)["content"][0]["text"]

    def cancel(self, i, reason=None):
        self.send("notifications/cancelled", {"requestId": i} | (
            {"reason": reason} if reason else {}), note=True)

    def note(self, method):
        """Waits for one of that method; forgets it."""
        while True:
            for n in self.notes:
                if n["method"] == method:
                    self.notes.remove(n)
                    return n["params"]
            self.take()

    def end(self):
        """Closes its stdin; what it says on stderr."""
        self.p.stdin.close()
        self.p.stdout.close()
        said = self.p.stderr.read().decode()
        self.p.stderr.close()
        self.code = self.p.wait(PATIENCE)
        assert "Sanitizer" not in said and "runtime error" not in said, said
        return said


def details(result):
    return result["_meta"]["psup/details"]
