#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gateway.py DIR [SCOPE]: a gateway that may be killed at any instant.

DIR/jobs has a job a line, "name<TAB>shell command". Each is run once by psup,
in the background, and gets one line in DIR/results: "name<TAB>status<TAB>exit
code". The program ends when every job has its result. Killed and started again
it neither runs a job twice nor reports one twice; see docs/gateways.md. Without
SCOPE it is an administrator, and its sessions are in no scope.

Needs the package psup (tools/clients/python).
"""
from __future__ import annotations

import asyncio
import os
import sys
from typing import Optional

import psup


class Gateway:
    def __init__(self, directory: str, scope: str = "") -> None:
        self.scope = scope
        with open(f"{directory}/jobs", encoding="utf-8") as f:
            self.jobs = dict(line.rstrip("\n").split("\t", 1) for line in f)
        self.results = open(f"{directory}/results", "a+", encoding="utf-8")
        self.results.seek(0)
        # a line without its end was being written: it does not count
        text = self.results.read()
        whole = text[:text.rfind("\n") + 1]
        self.results.truncate(len(whole.encode()))
        self.done = {line.split("\t", 1)[0] for line in whole.splitlines()}

    def report(self, job: Optional[str], status: str,
               code: Optional[int]) -> None:
        """Once for each job, and on disk before anything is acknowledged."""
        if job is None or job not in self.jobs or job in self.done:
            return
        self.results.write(f"{job}\t{status}\t"
                           f"{'-' if code is None else code}\n")
        self.results.flush()
        os.fsync(self.results.fileno())
        self.done.add(job)

    def hear(self, event: psup.EventNote) -> None:
        # an administrator hears of every scope; a quiet end is one, too
        if (event["kind"] in ("exited", "lost") and
                event.get("scope") == self.scope):
            self.report(event.get("sessionKey"), event.get("status", "lost"),
                        event.get("exitCode"))

    async def catch_up(self, p: psup.Psup) -> None:
        """What happened while this program was not there."""
        while True:
            missed = await p.events(subscriber="gateway", limit=1000)
            for event in missed["events"]:
                self.hear(event)
            if not missed["events"]:
                return
            await p.ack(missed["events"][-1]["seq"], subscriber="gateway")

    async def start(self, p: psup.Psup, job: str) -> None:
        """The same request key starts nothing twice."""
        r = await p.exec(self.jobs[job], background=True, request_key=job,
                         session_key=job)
        # It did not start; or its key is known, and it has ended: whoever ran
        # it before may have acknowledged its event.
        if r.status != "running":
            self.report(job, r.status, r.details.get("exitCode"))

    async def serve(self) -> None:
        async with psup.connect(client="gateway.py",
                                scope=self.scope or None) as p:
            await self.catch_up(p)
            async with p.listen("gateway") as events:
                for job in self.jobs.keys() - self.done:
                    await self.start(p, job)
                while not self.jobs.keys() <= self.done:
                    event = await events.__anext__()
                    self.hear(event)
                    await events.ack(event)

    async def run(self) -> None:
        while True:
            try:
                return await self.serve()
            except psup.PsupError as e:
                # the server ended: another one is started, all is asked again
                if e.code not in ("no-server", "connection-lost", "timeout"):
                    raise
                print(f"gateway: {e}; connecting again", file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(Gateway(*sys.argv[1:3]).run())
