# SPDX-License-Identifier: MIT
"""call_kills.py KILLS SEED: psup-mcp and psup tool while they, the gateway that
started them, the master and the workers are killed in the middle of calls.
Nothing runs twice; the foreground commands of who is gone end, those in the
background do not; every end of theirs is one event, and is told once. A kill is
a round. Says what it did; the first fault ends it."""
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter

from mcp import Mcp, becomes, details, lives

KINDS = ("psup-mcp", "psup tool")
TARGETS = ("client", "gateway", "master", "worker")
SHORT, LONG, BACK = "short", "long", "back"
BEGUN = {SHORT: 3, LONG: 3, BACK: 3}


def psup(*words):
    return subprocess.run(["psup", *words], capture_output=True, text=True,
                          check=False).stdout


def rows(scope):
    """What its sessions are, by instance id."""
    out = psup("list", "--all", "--json", "--scope", scope)
    return {r["instanceId"]: r
            for r in json.loads(out)["details"]["sessions"]}


EVENTS = []


def watch():
    """All ends, as they come, whoever acknowledges them."""
    follow = subprocess.Popen(["psup", "events", "--json", "--follow",
                               "--kind", "exited", "--since", "0"],
                              stdout=subprocess.PIPE)

    def read():
        for line in follow.stdout:
            EVENTS.append(json.loads(line))
    threading.Thread(target=read, daemon=True).start()
    return follow


class Tool:
    """psup tool, as Mcp is psup-mcp: calls by number."""

    def __init__(self, scope):
        self.p = subprocess.Popen(["psup", "tool", "--scope", scope],
                                  stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        self.answers, self.sent, self.last = {}, {}, 0

    def call(self, _name, **arguments):
        self.last += 1
        self.sent[self.last] = {"id": self.last, "tool": "exec",
                                "requestKey": f"k{self.last}", **arguments}
        self.write(self.last)
        return self.last

    def write(self, i):
        self.p.stdin.write(json.dumps(self.sent[i]).encode() + b"\n")
        self.p.stdin.flush()

    def result(self, i):
        while i not in self.answers:
            line = self.p.stdout.readline()
            assert line, "psup tool has ended"
            m = json.loads(line)
            # its answer is lost: asked again, by its key
            if m["details"].get("code") == "connection-lost":
                self.write(m["id"])
                continue
            assert m["id"] not in self.answers, m
            self.answers[m["id"]] = m
        m = self.answers[i]
        return m["text"], m["details"]

    def end(self):
        self.p.stdin.close()
        self.p.stdout.close()
        self.p.wait()


class OverMcp:
    def __init__(self, scope):
        self.m = Mcp("--scope", scope, cwd="/")
        self.p = self.m.p

    def call(self, name, **arguments):
        return self.m.call(name, **arguments)

    def result(self, i):
        r = self.m.answer(i)["result"]
        return r["content"][0]["text"], details(r)

    def end(self):
        self.m.end()


class Round:
    def __init__(self, number, kind, target, rand, place):
        self.kind, self.target, self.rand = kind, target, rand
        self.scope = f"round-{number}"
        self.dir = os.path.join(place, str(number))
        os.mkdir(self.dir)
        self.go = self.dir + "/go"
        self.of = {}  # a command's kind, by its name

    def client(self):
        return (OverMcp if self.kind == "psup-mcp" else Tool)(self.scope)

    def pids(self, name):
        """Of the runs of a command."""
        try:
            with open(f"{self.dir}/{name}") as f:
                return [int(line) for line in f]
        except FileNotFoundError:
            return []

    def start(self, c):
        calls = {}
        names = [(kind, n) for kind, k in BEGUN.items() for n in range(k)]
        self.rand.shuffle(names)
        for kind, n in names:
            name = f"{kind}{n}"
            self.of[name] = kind
            stay = "" if kind == SHORT else (
                f"until [ -e {self.go} ]; do sleep 0.05; done; ")
            calls[name] = c.call(
                "exec", command=f"echo $$ >>{self.dir}/{name}; {stay}"
                f"echo done {name}", background=kind == BACK,
                **({} if kind == BACK or self.kind == "psup-mcp"
                   else {"yieldMs": None}))
        return calls

    def kill(self, c):
        if self.target == "client":
            os.kill(c.p.pid, signal.SIGKILL)
        elif self.target == "gateway":
            # what its death is to whom it started
            c.p.stdin.close()
            c.p.stdout.close()
        else:
            s = json.loads(psup("status", "--json"))
            pid = (s["master"]["pid"] if self.target == "master" else
                   self.rand.choice(s["workers"])["pid"])
            os.kill(pid, signal.SIGKILL)

    def open_gate(self):
        with open(self.go, "w"):
            pass

    def ends(self):
        """Events of its ends: how many of each."""
        return dict(Counter(e["instanceId"] for e in list(EVENTS)
                            if e["scope"] == self.scope))

    def once(self):
        for name in self.of:
            assert len(self.pids(name)) <= 1, f"{name} ran twice"

    def back_ids(self):
        return {i: r for i, r in rows(self.scope).items()
                if r["backgrounded"]}

    def run(self):
        c = self.client()
        if self.target in ("master", "worker"):
            c.result(c.call("exec", command="true"))  # a server is there
        calls = self.start(c)
        # the kill comes at a time that nothing knows of
        self.rand_pause()
        self.kill(c)
        if self.target in ("master", "worker"):
            self.all_answered(c, calls)
        else:
            self.client_gone(c)

    def rand_pause(self):
        deadline = self.rand.uniform(0, 0.08)
        subprocess.run(["sleep", f"{deadline:.3f}"], check=True)

    def all_answered(self, c, calls):
        for name, i in calls.items():
            if self.of[name] == SHORT:
                assert c.result(i)[0] == f"done {name}\n", c.result(i)
        self.open_gate()
        for name, i in calls.items():
            if self.of[name] == SHORT:
                continue
            text, d = c.result(i)
            if self.of[name] == LONG and d["status"] != "running":
                assert text == f"done {name}\n", text
        c.end()
        becomes(lambda: all(r["status"] != "running"
                            for r in rows(self.scope).values()), "all end")
        for name in self.of:
            assert len(self.pids(name)) == 1, f"{name}: {self.pids(name)}"
        becomes(lambda: self.ends() == {i: 1 for i in self.back_ids()},
                "an event each")

    def client_gone(self, c):
        if self.target == "client":
            c.end()
        else:
            c.p.wait()
        # what it had asked for has been begun, and given up
        becomes(lambda: all(r["backgrounded"] or r["status"] != "running"
                            for r in rows(self.scope).values()),
                "the foreground ends")
        self.once()
        for name, kind in self.of.items():
            for pid in self.pids(name):
                if kind == LONG:
                    becomes(lambda pid=pid: not lives(pid), f"{name} is gone")
        back = self.back_ids()
        for r in back.values():
            assert r["status"] == "running", r
        for name, kind in self.of.items():
            for pid in self.pids(name):
                assert kind != BACK or lives(pid), f"{name} has ended"
        self.open_gate()
        if self.kind == "psup-mcp":
            self.told_once(back)
        becomes(lambda: self.ends() == {i: 1 for i in back}, "an event each")
        self.once()

    def told_once(self, back):
        """The next client is told of each of them, and the one after it of
        none."""
        m, told = Mcp("--scope", self.scope, cwd="/"), []

        def more():
            for block in m.tool("exec", command="true")["content"][1:]:
                told.extend(s["sessionId"] for s in back.values()
                            if f"({s['sessionId']}, " in
                            block.get("text", ""))
            return len(told) >= len(back)
        becomes(more, "they are told")
        m.end()
        m = Mcp("--scope", self.scope, cwd="/")
        more()
        m.end()
        assert sorted(told) == sorted(s["sessionId"]
                                      for s in back.values()), told


def main():
    kills, seed = int(sys.argv[1]), int(sys.argv[2])
    rand = random.Random(seed)
    print(f"# {kills} kills, seed {seed}", flush=True)
    psup("exec", "--", "true")  # a server is there
    follow = watch()
    for n in range(kills):
        kind = KINDS[n % 2]
        target = TARGETS[n // 2 % len(TARGETS)]
        try:
            Round(n, kind, target, rand, os.environ["scratch"]).run()
            print(f"round {n}: {kind}, {target} killed: as it should be",
                  flush=True)
        except Exception as e:
            print(f"round {n}: {kind}, {target} killed, seed {seed}: "
                  f"{type(e).__name__}: {e}", flush=True)
            raise
    follow.kill()
    follow.wait()
    print(f"{kills} killed", flush=True)


main()
