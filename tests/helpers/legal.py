# SPDX-License-Identifier: MIT
"""Parameters that are legal, for tests that ask anything: by the rows of the
protocol's table, about sessions, lanes, scopes, keys and tokens that are
there."""
import time

SCOPES = ["red", "green", "blue"]
LANES = ["main", "narrow", "cron:a", "session:x"]
NAMES = ["one", "two"]
COMMANDS = [
    "true", "exit 3", "echo hi; echo ho >&2", "sleep 0.02", "sleep 0.3",
    "sleep 30", "cat", "read a; echo got $a", "head -c 300000 /dev/zero",
    "yes | head -n 20000", "trap '' TERM; echo up; sleep 30",
    "sleep 5 & echo left", "(setsid sleep 3 &) ; echo hid", "kill -9 $$",
    "no-such-program", "mkdir d; ln -s / d/l; cd d && pwd", "read -r a <&1",
    "while :; do echo tick; sleep 0.01; done",
]


class Legal:
    def __init__(self, rnd, methods):
        self.rnd = rnd
        self.methods = methods
        self.ids = []     # sessions, the newest last
        self.tokens = []  # (token, id, scope)
        self.acks = ["1"]

    def a_session(self):
        if self.ids and self.rnd.random() < 0.97:
            near = self.ids[-12:] if self.rnd.random() < 0.8 else self.ids
            return self.rnd.choice(near)
        return self.rnd.choice(["no-such", "0000000000000001"])

    def by_name(self, method, name):
        """What the rows cannot say; KeyError: any value of its type will do."""
        r = self.rnd
        ms = [0, 1, 20, 200, 1000]
        return {
            "sessionId": self.a_session,
            "sessionIds": lambda: [self.a_session()
                                   for _ in range(r.randint(1, 4))],
            "scope": lambda: r.choice(SCOPES),
            "lane": lambda: r.choice(LANES),
            "reader": lambda: r.choice(NAMES),
            "subscriber": lambda: r.choice(NAMES),
            "requestKey": lambda: "key-%d" % r.randint(1, 12),
            "command": lambda: r.choice(COMMANDS),
            "argv": lambda: ["sh", "-c", r.choice(COMMANDS)],
            "workdir": lambda: r.choice(["/", "/tmp", "~", "/nowhere",
                                         "/workspace", "/workspace/d"]),
            "baseDir": lambda: r.choice(["/", "/tmp", "/workspace"]),
            "umask": lambda: r.choice(["022", "077", "0"]),
            "env": lambda: {"A": "1", "B_%d" % r.randint(0, 9): "x"},
            "baseEnv": lambda: {"PATH": "/usr/bin:/bin", "HOME": "/"},
            "timeout": lambda: r.choice([0.05, 0.5, 3.0])
            if method == "exec" else r.choice(ms),
            "timeoutSeconds": lambda: r.choice([0.2, 5]),
            "noOutputTimeout": lambda: r.choice([0, 0.2, 3]),
            "yieldMs": lambda: r.choice([10, 50, 500]),
            "stdin": lambda: r.choice(["open", "closed", {"text": "abc\n"}]),
            "cols": lambda: r.randint(1, 200),
            "rows": lambda: r.randint(1, 60),
            "elevated": lambda: r.random() < 0.5,
            "host": lambda: r.choice(["auto", "auto", "gateway", "sandbox"]),
            "ask": lambda: r.choice(["off", "on-miss", "always"]),
            "limits": lambda: {"nice": 5, "openFiles": 64},
            "text": lambda: r.choice(["clean", "ansi", "shown", "plain"])
            if method in ("exec", "poll", "log") else "tick",
            "retain": lambda: {"headBytes": r.choice([0, 100]),
                               "tailBytes": r.choice([4096, 20000])},
            "spill": lambda: {"maxBytes": 100000},
            "tags": lambda: {"k": "v"},
            "ack": lambda: r.choice(["explicit"] + self.acks[-5:]),
            "stream": lambda: r.choice([True, False, "tail"])
            if method == "exec" else r.choice(["stdout", "stderr"]),
            "mode": lambda: r.choice(["any", "all"]),
            "regex": lambda: r.choice(["t[a-z]+k", "^$", "(a|b)*c", "h."]),
            "grep": lambda: r.choice(["tick", "h", "zz"]),
            "idleMs": lambda: r.choice([1, 30, 300]),
            "since": lambda: r.choice([0, 1, 1000, -1])
            if method == "wait" else r.choice([0, 1, 1000]),
            "sinceMs": lambda: int(time.time() * 1000) - r.choice([0, 500]),
            "position": lambda: r.choice([0, 3]),
            "keys": lambda: r.choice([["C-c"], ["a", "enter"], ["up"]]),
            "hex": lambda: ["0x61", "0a"],
            "delayMs": lambda: r.choice([0, 5, 50]),
            "data": lambda: r.choice(["x", "line\n", "y" * 30000]),
            "literal": lambda: r.choice(["x", "line\n"]),
            "graceMs": lambda: r.choice([0, 20, 200]),
            "signal": lambda: r.choice(["TERM", "INT", "SIGKILL", 1, "USR1"]),
            "op": lambda: r.choice(["list", "set-width", "pause", "resume",
                                    "resume", "clear", "reset", "drain"]),
            "width": lambda: r.choice([0, 1, 3, None]),
            "kinds": lambda: r.choice([["all"], ["exited", "lost"],
                                       ["started"]]),
            "token": lambda: r.choice(self.tokens)[0] if self.tokens
            else "0" * 64,
            "id": lambda: r.choice(self.tokens)[1] if self.tokens else "t0",
            "protocol": lambda: 1,
            "process": lambda: r.random() < 0.8,
            "binaryDir": lambda: "/nowhere",
        }[name]()

    def by_type(self, kind, low, high):
        r = self.rnd
        if kind == "BOOL":
            return r.random() < 0.5
        if kind in ("INT", "NUM"):
            return r.choice([low, min(high, low + 1), min(high, 100),
                             min(high, 5000)])
        if kind in ("STR", "DATA"):
            return "x" * max(low, min(high, r.choice([1, 5])))
        if kind == "STRLIST":
            return ["x"] * max(low, 1)
        return {}

    def params(self, method):
        """A legal map; most of what is optional is left out."""
        values = {}
        for name, kind, flags, low, high in self.methods[method][1]:
            if "REQ" not in flags and self.rnd.random() > 0.25:
                continue
            try:
                values[name] = self.by_name(method, name)
            except KeyError:
                values[name] = self.by_type(kind, low, high)
        return self.amend(method, values)

    def amend(self, method, v):
        """What belongs together."""
        r = self.rnd
        if method == "exec":
            if "argv" in v:
                v.pop("command", None)
            else:
                v["command"] = r.choice(COMMANDS)
            if r.random() < 0.5:
                v["background"] = True
            if r.random() < 0.4:
                v["lane"] = r.choice(LANES)
            if "yieldMs" in v and r.random() < 0.3:
                v["yieldMs"] = None
            v.pop(r.choice(["timeout", "timeoutSeconds"]), None)
        if method == "wait" and "sessionIds" not in v:
            v["sessionId"] = self.a_session()
        if method == "log":
            v.pop(r.choice(["grep", "regex"]), None)
            if v.get("raw"):
                for name in ("grep", "regex", "timestamps"):
                    v.pop(name, None)
            if "grep" not in v and "regex" not in v:
                v.pop("context", None)
        if method == "lanes":
            v.setdefault("op", "list")
            if v["op"] != "list":
                v["lane"] = r.choice(LANES)
            if v["op"] == "set-width":
                v["width"] = r.choice([0, 1, 3, None])
        if method == "upgrade":
            v["readyMs"] = 60000  # who is not ready by then is killed
        if method == "killScope":
            v["scope"] = r.choice(SCOPES)
        if method == "revokeToken":
            v.pop("scope" if "id" in v else "id", None)
            if not v:
                v["scope"] = r.choice(SCOPES)
        return v
