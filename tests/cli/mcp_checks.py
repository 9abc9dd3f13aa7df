# SPDX-License-Identifier: MIT
"""The checks of mcp.t, in the order of docs/mcp.md. Arguments: the folder of
mcp.py. Says a line each: what, what it was, what it was to be."""
import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, sys.argv[1])
from mcp import MODERN, Gone, Mcp, becomes, details, lives  # noqa: E402

SCRATCH = os.environ["scratch"]
RUNTIME = os.environ["PSUP_RUNTIME_DIR"]


def shown(v):
    v = v if isinstance(v, str) else json.dumps(v, ensure_ascii=False)
    return v.replace("\t", " ").replace("\n", "\\n")


def is_(got, wanted, what):
    print(what, shown(got), shown(wanted), sep="\t", flush=True)


def has(text, part, what):
    is_(part if part in text else text, part, what)


def path(name):
    return os.path.join(SCRATCH, name)


def folder(name):
    os.makedirs(path(name), exist_ok=True)
    return path(name)


def read(name):
    with open(path(name)) as f:
        return f.read()


def pid_in(name):
    """Of a command that writes its pid there."""
    becomes(lambda: os.path.exists(path(name)) and
            read(name).endswith("\n"), name)
    return int(read(name))


def holds(name):
    """A command that says its pid and stays."""
    return f"echo $$ >{path(name)}; exec sleep 1000"


def psup(*words):
    return subprocess.run(["psup", *words], capture_output=True,
                          text=True).stdout


def error(m):
    return [m["error"]["code"], m["error"]["message"]]


# ---------------------------------------------------------------------- lines

def shapes():
    m = Mcp(cwd=folder("shapes"))
    is_(os.listdir(RUNTIME), [], "initialize starts no server")
    m.ask("tools/list")
    is_(os.listdir(RUNTIME), [], "nor does tools/list")
    for line, wanted in [
            (b"{", [-32700, "Parse error: string or '}' expected near end of "
                    "file (byte 1)"]),
            (b'{"a":"\xff"}', [-32700, "Parse error: unable to decode byte "
                               "0xff near '\"' (byte 6)"]),
            (b"[]", [-32600, "Invalid request: one JSON-RPC object a line (no "
                     "batches)"]),
            (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
             [-32600, "Invalid request: one JSON-RPC object a line (no "
              "batches)"]),
            (b"7", [-32600, "Invalid request: one JSON-RPC object a line (no "
                    "batches)"]),
            (b'{"id":1,"method":"ping"}',
             [-32600, 'Invalid request: jsonrpc: expected "2.0"']),
            (b'{"jsonrpc":"2.0","id":1,"method":7}',
             [-32600, "Invalid request: method: expected a string"]),
            (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}',
             [-32602, "Invalid params: params: expected an object"]),
            (b'{"jsonrpc":"2.0","id":1,"method":"nope"}',
             [-32601, "Method not found: nope"]),
            (b'{"jsonrpc":"2.0","id":1,"method":"no\\u0001pe"}',
             [-32601, "Method not found: no\\x01pe"]),
            (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
             b'{"name":"nope"}}', [-32602, "Unknown tool: nope"]),
            (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
             b'{"name":"exec","arguments":3}}',
             [-32602, "Invalid params: arguments: expected an object"]),
            (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
             b'{"name":"exec","_meta":{"progressToken":{}}}}',
             [-32602, "Invalid params: _meta.progressToken: expected a string "
              "or an integer"]),
    ]:
        m.raw(line + b"\n")
        is_(error(m.line()), wanted, "refused: " + shown(line.decode(
            errors="replace")))
    for bad in ["null", "1.5", "true", "{}", "[1]"]:
        m.raw(b'{"jsonrpc":"2.0","id":%s,"method":"ping"}\n' % bad.encode())
        a = m.line()
        is_(error(a) + ["id" in a],
            [-32600, "Invalid request: id: expected a string or an integer",
             False], f"an id {bad}")
    for good in [0, -5, "", "x\u0000y", "\u00e9", 2**53]:
        m.raw(json.dumps({"jsonrpc": "2.0", "id": good,
                          "method": "ping"}).encode() + b"\r\n")
        is_(m.line(), {"jsonrpc": "2.0", "id": good, "result": {}},
            f"an id {good!r}")
    # an answer to what was never asked, empty lines, unknown notifications
    m.raw(b'\n  \n{"jsonrpc":"2.0","id":9,"result":{}}\n'
          b'{"jsonrpc":"2.0","method":"notifications/what"}\n')
    is_(m.ask("ping")["result"], {}, "what asks nothing is not answered")
    frame = b'{"jsonrpc":"2.0","id":"big","method":"ping","params":{"x":"%s"}}'
    m.raw(frame % (b"y" * (4194304 - len(frame) + 2)) + b"\n")
    is_(m.line()["id"], "big", "a line of 4 MiB")
    m.raw(frame % (b"y" * (4194304 - len(frame) + 3)) + b"\n")
    too_long = [-32600, "Invalid request: a line is over 4194304 bytes"]
    is_(error(m.line()), too_long, "one byte more")
    m.raw(b"z" * 20000000 + b"\n")
    is_(error(m.line()), too_long, "20 MB are refused once")
    is_(m.ask("ping")["result"], {}, "and the next line is a line")
    m.end()
    is_(m.code, 0, "it ends with its stdin")


def half_a_line():
    m = Mcp(cwd=folder("half"))
    m.raw(json.dumps({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
                      "params": {"name": "exec", "arguments": {
                          "command": f"touch {path('half-run')}"}}}).encode())
    said = m.end()
    is_([m.code, said, os.path.exists(path("half-run"))], [0, "", False],
        "a line whose end never comes is none")


def versions():
    for asked, got in [("2024-11-05", "2024-11-05"),
                       ("2025-03-26", "2025-03-26"),
                       ("2025-06-18", "2025-06-18"),
                       ("2025-11-25", "2025-11-25"),
                       ("1999-01-01", "2025-11-25")]:
        m = Mcp(era=asked, cwd=folder("versions"))
        is_(m.hello["result"]["protocolVersion"], got, f"version {asked}")
        links = [c["type"] for c in m.tool(
            "exec", command="seq 20000")["content"]]
        is_(links, ["text", "resource_link"] if asked != "2024-11-05" and
            asked != "2025-03-26" else ["text"], "with a link if it knows them")
        m.end()
    m = Mcp(era="modern", cwd=folder("versions"))
    r = m.ask("server/discover")["result"]
    is_([r["supportedVersions"], r["resultType"], r["cacheScope"],
         r["_meta"]["io.modelcontextprotocol/serverInfo"]["name"]],
        [["2026-07-28"], "complete", "public", "psup"], "server/discover")
    is_(error(m.ask("ping")), [-32601, "Method not found: ping"],
        "no ping in the modern era")
    is_(error(m.ask("initialize")), [-32601, "Method not found: initialize"],
        "no initialize")
    wrong = dict(MODERN)
    wrong["io.modelcontextprotocol/protocolVersion"] = "2027-01-01"
    a = m.ask("tools/list", {"_meta": wrong})
    is_([a["error"]["code"], a["error"]["data"]["requested"],
         a["error"]["data"]["supported"][0]],
        [-32022, "2027-01-01", "2026-07-28"], "another version")
    m.modern = False
    is_(error(m.ask("tools/list", {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28"}}))[0],
        -32602, "without clientCapabilities")
    is_(error(m.ask("server/discover"))[0], -32601,
        "without a version it is the other era")
    is_(m.ask("ping")["result"], {}, "which is there in the same process")
    m.end()


# ---------------------------------------------------------------------- tools

def tools():
    m = Mcp(cwd=folder("tools"))
    listed = m.ask("tools/list")["result"]["tools"]
    is_([t["name"] for t in listed],
        ["exec", "process_read", "process_input", "process_end"], "the tools")
    is_([[t["annotations"][h + "Hint"] for h in
          ("readOnly", "destructive", "idempotent", "openWorld")]
         for t in listed],
        [[False, True, False, True], [True, False, False, False],
         [False, True, False, True], [False, True, True, False]], "hints")
    is_([t["inputSchema"]["additionalProperties"] for t in listed],
        [False] * 4, "a schema says all that there is")
    # 1 600 tokens: what each conversation pays
    is_(len(json.dumps(listed, separators=(",", ":"))) < 6500, True, "size")
    is_([max(len(t["description"]) for t in listed) < 2000,
         len(m.hello["result"]["instructions"]) < 2000], [True, True],
        "no text that a client would cut")
    r = m.tool("exec", command="echo hi; exit 3")
    is_([r["content"][0]["text"], r["isError"], details(r)["exitCode"]],
        ["hi\n\n(Command exited with code 3)", False, 3], "exit 3 is no error")
    is_([k for k in ("aggregated", "tail", "output") if k in details(r)], [],
        "details repeat no output")
    r = m.tool("exec", command="nosuchcmd-at-all")
    is_([r["isError"], details(r)["exitCode"]], [True, 127], "127 is one")
    is_("structuredContent" in r, False, "no structuredContent unasked")
    for arguments, part in [
            ({"command": "true", "timeout": "soon"}, "timeout"),
            ({"command": "true", "env": {"LD_PRELOAD": "x"}}, "LD_PRELOAD"),
            ({"command": "true", "cwd": "/"}, "workdir"),
            ({"command": "true", "workdir": "/nowhere"}, "/nowhere"),
            ({"command": "true", "host": "sandbox"}, "[sandbox] mode = off"),
            ({}, "command")]:
        r = m.tool("exec", **arguments)
        has(r["content"][0]["text"], part, f"refused by name: {arguments}")
        is_(r["isError"], True, "as an error")
    r = m.tool("process_read", action="log", sessionId="none-such")
    is_(r["isError"], True, "an unknown session")
    r = m.tool("process_read", action="kill", sessionId="x")
    is_([r["isError"], r["content"][0]["text"]], [True,
        'action: "kill" is none of process_read\'s. Expected one of: list, '
        'poll, log, wait, screen.'], "a tool does what it is for alone")
    is_(m.text("process_end", action="list"),
        'action: "list" is none of process_end\'s. Expected one of: kill, '
        'remove, clear, killScope.', "each has its own")
    has(m.text("process_read"), "action: it is missing", "without an action")
    # the program's own parameters are not a model's
    r = m.tool("exec", command="echo $SECRET-$HOME", requestKey="x",
               baseEnv={"SECRET": "s"}, scope="other", stream=True)
    is_(r["content"][0]["text"].split("\n")[0],
        "-" + os.environ["HOME"], "which it cannot set")
    cut = m.text("exec", command="seq 20000")
    is_([len(cut.encode()) < 30500, cut[:6], cut[-6:]],
        [True, "1\n2\n3\n", "20000\n"], "a long output: both ends")
    has(cut, "bytes are left out here; process_read with action log", "how")
    at = re.search(r"\n\[\.\.\. (\d+) bytes are left out here[^]]*\]\n", cut)
    whole = "".join(f"{i}\n" for i in range(1, 20001))
    is_(len(cut) - len(at[0]) + int(at[1]), len(whole),
        "counted to the byte")
    whose = re.search(r"action log of session (\S+), and", cut)[1]
    is_(m.text("process_read", action="log", sessionId=whose, offset=0,
               limit=2).split("\n")[:2], ["1", "2"], "and it is there")
    accents = m.text("exec", command="yes \u00e9\u20ac | head -c 399996")
    is_("\ufffd" in accents, False, "cut on borders of characters")
    r = m.tool("exec", command="printf 'a\\377b\\0c'")
    is_(r["isError"], False, "bytes that are no text")
    r = m.tool("exec", command="true", title="x", nonsense=1)
    has(r["content"][0]["text"], "nonsense", "what is ignored is said")
    r = m.tool("exec", command="seq 3", spill="all.log")
    is_([read("tools/all.log"), r["content"][1]["text"]], ["1\n2\n3\n",
        f"Output file: {path('tools/all.log')} (6 bytes, complete)"],
        "spill keeps all of it")
    m.end()
    m = Mcp("--classic", cwd=folder("tools"))
    is_([t["name"] for t in m.ask("tools/list")["result"]["tools"]],
        ["exec", "process"], "--classic")
    i = m.tool("exec", command="sleep 1000", background=True)
    is_(m.tool("process", action="kill", data="", limit=200,
               sessionId=details(i)["sessionId"])["isError"], False,
        "process does all of it, from flat arguments")
    m.end()
    m = Mcp("--structured", cwd=folder("tools"))
    r = m.tool("exec", command="echo hi")
    is_([r["structuredContent"]["text"], r["structuredContent"]["status"],
         "_meta" in r], ["hi\n", "completed", False], "--structured")
    is_(m.ask("tools/list")["result"]["tools"][0]["outputSchema"]["required"],
        ["status", "text"], "with a schema")
    m.end()


def input_():
    m = Mcp(cwd=folder("input"))
    r = m.tool("exec", command="read a; echo got $a; cat", background=True)
    has(r["content"][0]["text"], "running", "running")
    s = details(r)["sessionId"]
    m.tool("process_input", action="write", sessionId=s, data="x\n")
    r = m.tool("process_read", action="wait", sessionId=s, text="got x")
    is_(details(r)["met"], "text", "what was typed came")
    m.tool("process_input", action="write", sessionId=s, data="y", eof=True)
    r = m.tool("process_read", action="wait", sessionId=s)
    is_(details(r)["met"], "exit", "and its end ended it")
    is_(m.tool("process_end", action="clear", sessionId=s)["isError"], False,
        "cleared")
    m.end()


# ----------------------------------------------------------------------- ends

def meanwhile(r):
    return [c["text"] for c in r["content"] if c["type"] == "text" and
            c["text"].startswith("Meanwhile:")]


def over(s):
    """The server knows that it is over."""
    becomes(lambda: "running" not in [
        line.split()[1] for line in psup("list").splitlines()
        if line.startswith(s + " ")], s)


def told_once():
    one, other = Mcp(cwd=folder("told")), Mcp(cwd=folder("told"))
    s = details(one.tool("exec", command="echo last; exit 4",
                         background=True))["sessionId"]
    over(s)
    seen = []
    becomes(lambda: seen.extend(meanwhile(one.tool("exec", command="true")))
            or seen, "the end is told")
    is_(seen, [f"Meanwhile:\nExec completed ({s}, code 4) :: last"],
        "an end is told with the next answer")
    is_(meanwhile(one.tool("exec", command="true")), [], "once")
    one.end()
    s = details(other.tool("exec", command="sleep 0.2; exit 5",
                           background=True))["sessionId"]
    r = other.tool("process_read", action="wait", sessionId=s)
    is_([details(r)["met"], meanwhile(r)], ["exit", []],
        "a wait from another process tells an end itself")
    is_(meanwhile(other.tool("exec", command="true")), [], "then nobody else")
    s = details(other.tool("exec", command="exit 6",
                           background=True))["sessionId"]
    over(s)
    other.end()
    third = Mcp(cwd=folder("told"))
    seen = []
    becomes(lambda: seen.extend(meanwhile(third.tool(
        "exec", command="true"))) or seen, "the end is kept")
    has(seen[0], f"({s}, code 6)", "who dies before telling leaves it")
    third.end()


def cancels():
    m = Mcp(cwd=folder("cancels"))
    i = m.call("exec", command=holds("c1"))
    pid = pid_in("c1")
    m.cancel(i)
    becomes(lambda: not lives(pid), "ended")
    i = m.call("exec", command=holds("c2"))
    pid = pid_in("c2")
    m.cancel(i, "McpError: MCP error -32001: Request timed out")
    has(m.text("process_read", action="list"), "running",
        "a time-out puts it into the background")
    is_(lives(pid), True, "where it goes on")
    i = m.call("process_read", action="wait", sessionId=details(m.tool(
        "process_read", action="list"))["sessions"][0]["sessionId"])
    m.cancel(i, "no more")
    is_([m.ask("ping")["result"], lives(pid)], [{}, True],
        "a wait is given up alone")
    # the client's own answer to what came twice
    i = m.call("exec", command=holds("c3"))
    pid = pid_in("c3")
    m.raw(json.dumps({"jsonrpc": "2.0", "id": i, "method": "ping"}).encode() +
          b"\n")
    has(error(m.answer(i))[1], "under way", "no second request of an id")
    m.cancel(i)
    becomes(lambda: not lives(pid), "ended")
    m.cancel(i)
    m.cancel("none")
    m.send("notifications/cancelled", note=True)
    is_(m.ask("ping")["result"], {}, "what is not under way is not cancelled")
    m.tool("process_end", action="killScope", graceMs=0)
    said = m.end()
    has(said, "the command is ended", "the log says what became of it")
    is_(m.answers, {}, "no answer follows")
    m = Mcp("--on-cancel=background", cwd=folder("cancels"))
    i = m.call("exec", command=holds("c4"))
    pid = pid_in("c4")
    m.cancel(i)
    becomes(lambda: "running" in m.text("process_read", action="list"), "list")
    is_(lives(pid), True, "--on-cancel=background")
    m.tool("process_end", action="killScope", graceMs=0)
    m.end()


def polls_again():
    m = Mcp(cwd=folder("polls"))
    s = details(m.tool("exec", command="echo FIRST; cat",
                       background=True))["sessionId"]
    m.tool("process_read", action="wait", sessionId=s, text="FIRST")
    i = m.call("process_read", action="poll", sessionId=s)
    has(m.answer(i)["result"]["content"][0]["text"], "FIRST", "polled")
    m.cancel(i, "Request timed out")
    has(m.text("process_read", action="poll", sessionId=s), "FIRST",
        "a poll whose client gave up comes again")
    is_("FIRST" in m.text("process_read", action="poll", sessionId=s), False,
        "one that was written does not")
    m.tool("process_end", action="kill", sessionId=s, graceMs=0)
    m.end()


def progress():
    m = Mcp(cwd=folder("progress"))
    go = path("go")
    i = m.call("exec", token="t", command=f"echo begun; until [ -e {go} ]; do "
               "sleep 0.02; done; echo more; until [ -e {go}2 ]; do sleep "
               "0.02; done".replace("{go}", go))
    seen = [m.note("notifications/progress")]
    while "begun" not in seen[-1]["message"]:
        seen.append(m.note("notifications/progress"))
    open(go, "w").close()
    while "more" not in seen[-1]["message"]:
        seen.append(m.note("notifications/progress"))
    open(go + "2", "w").close()
    is_(bool(re.fullmatch(r"[a-z-]+ \d+s, 11 bytes: more",
                          seen[-1]["message"])), True, "progress: " +
        seen[-1]["message"])
    is_({p["progressToken"] for p in seen} == {"t"} and all(
        a["progress"] < b["progress"] for a, b in zip(seen, seen[1:])), True,
        "it grows")
    m.answer(i)
    i = m.call("process_read", token=7, action="wait", timeout=1500,
               sessionId=details(m.tool("exec", command="sleep 1000",
                                        background=True))["sessionId"])
    is_(m.note("notifications/progress")["progressToken"], 7, "of a wait, too")
    m.answer(i)
    is_([m.ask("ping")["result"], m.notes], [{}, []], "and ends with it")
    m.tool("process_end", action="killScope", graceMs=0)
    m.end()


def caps():
    m = Mcp("--max-yield", "300", cwd=folder("caps"))
    is_(m.ask("tools/list")["result"]["tools"][0]["inputSchema"]["properties"]
        ["yieldMs"]["maximum"], 300, "the schema says how long a call waits")
    for y in [{}, {"yieldMs": 100000}, {"yieldMs": None}, {"yieldMs": "9000"}]:
        r = m.tool("exec", command="sleep 1000", **y)
        is_(details(r)["status"], "running", f"no longer: {y}")
    s = details(r)["sessionId"]
    r = m.tool("process_read", action="wait", sessionId=s, timeout=1000000)
    is_(details(r)["met"], "timeout", "a wait neither")
    m.tool("process_end", action="killScope", graceMs=0)
    m.end()


# ------------------------------------------------------------------ resources

def resources():
    m = Mcp(cwd=folder("resources"))
    s = details(m.tool("exec", command="echo hello; cat; exit 1",
                       background=True))["sessionId"]
    m.tool("process_read", action="wait", sessionId=s, text="hello")
    uri = f"psup://session/{s}/log"
    r = m.ask("resources/list")["result"]["resources"]
    is_([r[0]["uri"], "running" in r[0]["name"]], [uri, True], "listed")
    r = m.ask("resources/templates/list")["result"]["resourceTemplates"]
    is_([t["uriTemplate"] for t in r], ["psup://session/{sessionId}/log",
        "psup://session/{sessionId}/screen"], "templates")
    r = m.ask("resources/read", {"uri": uri})["result"]["contents"]
    # once it was seen to wait for input, a line behind the log says so
    r[0]["text"] = r[0]["text"].split("\n")[0]
    is_(r, [{"uri": uri, "mimeType": "text/plain", "text": "hello"}],
        "read")
    for u in ["psup://session/none-such/log", "psup://session/x/what",
              "file:///etc/passwd", "psup://session//log", ""]:
        a = m.ask("resources/read", {"uri": u})
        is_(error(a) + [a["error"]["data"]],
            [-32002, "Resource not found", {"uri": u}], f"not found: {u}")
    is_(m.ask("resources/subscribe", {"uri": uri})["result"], {}, "subscribed")
    is_(error(m.ask("resources/subscribe", {"uri": "x"}))[0], -32002,
        "to what there is")
    m.tool("process_input", action="write", sessionId=s, eof=True)
    is_(m.note("notifications/resources/updated"), {"uri": uri},
        "its end is told")
    is_(m.ask("resources/unsubscribe", {"uri": uri})["result"], {},
        "unsubscribed")
    m.end()
    m = Mcp(era="modern", cwd=folder("resources"))
    a = m.ask("resources/read", {"uri": "psup://session/none-such/log"})
    is_(error(a)[0], -32602, "not found is another number there")
    s = details(m.tool("exec", command="cat; exit 1",
                       background=True))["sessionId"]
    uri = f"psup://session/{s}/log"
    i = m.send("subscriptions/listen", {"notifications": {
        "toolsListChanged": True, "resourceSubscriptions": [uri, "file:x"]}})
    mine = {"io.modelcontextprotocol/subscriptionId": i}
    is_(m.note("notifications/subscriptions/acknowledged"),
        {"_meta": mine, "notifications": {"resourceSubscriptions": [uri]}},
        "listening to what there is")
    j = m.send("subscriptions/listen", {"notifications": {
        "resourceSubscriptions": [uri]}})
    m.note("notifications/subscriptions/acknowledged")
    m.cancel(j)
    m.tool("process_input", action="write", sessionId=s, eof=True)
    is_(m.note("notifications/resources/updated"), {"_meta": mine, "uri": uri},
        "told by its id")
    is_([m.ask("tools/list")["result"]["resultType"], m.notes],
        ["complete", []], "who gave it up is not told")
    m.p.send_signal(signal.SIGTERM)
    a = m.answer(i)["result"]
    is_([a["_meta"]["io.modelcontextprotocol/subscriptionId"],
         a["resultType"]], [i, "complete"], "we end it with a result")
    is_(m.note("notifications/cancelled")["requestId"], i, "and on stdio, too")
    m.end()


# --------------------------------------------------------------------- deaths

def leaves():
    """What is left of a client that closes, or is killed."""
    for how in ("closed", "killed"):
        m = Mcp(cwd=folder("leaves"))
        s = details(m.tool("exec", command=holds("bg" + how),
                           background=True))["sessionId"]
        m.call("exec", command=holds("fg" + how))
        fg, bg = pid_in("fg" + how), pid_in("bg" + how)
        if how == "killed":
            m.p.kill()
        m.end()
        becomes(lambda: not lives(fg), "the foreground ends with it")
        is_(lives(bg), True, f"{how}: the background goes on")
        m = Mcp(cwd=folder("leaves"))
        has(m.text("process_read", action="list"), s, "the next one finds it")
        m.tool("process_end", action="killScope", graceMs=0)
        becomes(lambda: not lives(bg), "ended")
        m.end()


def master_pid():
    out = psup("status", "--json")
    return json.loads(out)["master"]["pid"]


def servers_die():
    m = Mcp(cwd=folder("die"))
    m.tool("exec", command="true")
    runs, go = path("runs"), path("die-go")
    calls = [m.call("exec", command=f"echo {k} >>{runs}; until [ -e {go} ]; "
                    f"do sleep 0.02; done; echo done {k}") for k in range(8)]
    becomes(lambda: os.path.exists(runs) and
            len(read("runs").splitlines()) == 8, "all run")
    for _ in range(3):
        old = master_pid()
        os.kill(old, signal.SIGKILL)
        becomes(lambda: (psup("status", "--json") or "{}") and
                master_pid() != old, "another master")
    open(go, "w").close()
    got = sorted(m.answer(i)["result"]["content"][0]["text"] for i in calls)
    is_(got, [f"done {k}\n" for k in range(8)],
        "three masters die: each command answers")
    is_(sorted(read("runs").split()), [str(k) for k in range(8)],
        "and was run once")
    s = details(m.tool("exec", command="exit 7", background=True))["sessionId"]
    over(s)
    seen = []
    becomes(lambda: seen.extend(meanwhile(m.tool("exec", command="true")))
            or seen, "events go on")
    has(seen[0], f"({s}, code 7)", "and ends are told")
    i = m.call("exec", command=holds("kk"))
    pid = pid_in("kk")
    status = json.loads(psup("status", "--json"))
    keeper = status["keeper"]["pid"]
    os.kill(keeper, signal.SIGKILL)
    a = m.answer(i)["result"]
    is_(a["isError"], True, "the whole server dies")
    has(a["content"][0]["text"], "what the command did is unknown", "said")
    becomes(lambda: not lives(pid), "it is gone")
    is_(m.text("exec", command="echo again"), "again\n",
        "the next call starts another")
    # no master, and a keeper that starts none
    status = json.loads(psup("status", "--json"))
    i = m.call("exec", command=holds("ks"))
    pid_in("ks")
    os.kill(status["keeper"]["pid"], signal.SIGSTOP)
    os.kill(status["master"]["pid"], signal.SIGKILL)
    a = m.answer(i)["result"]
    has(a["content"][0]["text"], "what the command did is unknown",
        "no connection for 5 s")
    is_(m.ask("ping")["result"], {}, "nobody else waits for that")
    os.kill(status["keeper"]["pid"], signal.SIGCONT)
    is_(m.text("exec", command="echo there"), "there\n", "until it is back")
    m.end()
    m = Mcp("--no-start", "--runtime-dir", folder("nowhere"),
            cwd=folder("die"))
    r = m.tool("exec", command="true")
    is_(r["isError"], True, "no server")
    has(r["content"][0]["text"], "; nothing was run", "nothing was run")
    m.end()


# --------------------------------------------------------------------- crowds

def naps(pid):
    """How often it has waited for something, where it waits now."""
    with open(f"/proc/{pid}/status") as f:
        status = f.read()
    return (int(re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", status)[1])
            if re.search(r"\nState:\s+S", status) else None)


def crowds():
    m = Mcp(cwd=folder("crowds"))
    calls = [m.call("exec", command=f"echo {k}") for k in range(1000)]
    got = [m.answer(i)["result"]["content"][0]["text"] for i in calls]
    is_(got == [f"{k}\n" for k in range(1000)], True, "1 000 calls in flight")
    m.end()
    m = Mcp(cwd=folder("crowds"))
    # nobody reads: it takes in no more, and goes on once somebody does
    os.set_blocking(m.p.stdin.fileno(), False)
    line = b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}\n'
    sent, data, full = 0, b"", False
    while not full and sent < 20000:
        if not data:
            sent += 1
            data = line % sent
        before = naps(m.p.pid)
        try:
            data = data[os.write(m.p.stdin.fileno(), data):]
        except BlockingIOError:
            # asleep all the while, and its stdin is full: it is not that
            # which it waits for
            full = before is not None and naps(m.p.pid) == before
            os.sched_yield()
    with open(f"/proc/{m.p.pid}/smaps_rollup") as f:
        pss = int(re.search(r"Pss:\s+(\d+)", f.read())[1])
    # a sanitizer keeps what was freed
    most = 1 << 20 if os.environ.get("PSUP_TEST_SANITIZE") == "1" else 16384
    is_([sent < 20000, pss < most], [True, True],
        "a client that does not read is read from no more")
    while data:
        m.take()
        try:
            data = data[os.write(m.p.stdin.fileno(), data):]
        except BlockingIOError:
            pass
    os.set_blocking(m.p.stdin.fileno(), True)
    is_([m.answer(i)["id"] for i in range(1, sent + 1)] ==
        list(range(1, sent + 1)), True, "and gets all of it later")
    m.end()
    m = Mcp(cwd=folder("crowds"))
    for _ in range(400):
        m.send("tools/list")
    m.p.stdin.close()
    m.p.stdout.close()
    is_(m.p.wait(60), 0, "who is gone without reading is not waited for")
    m.p.stderr.close()


# --------------------------------------------------------------- surroundings

def scopes():
    one, two = Mcp(cwd=folder("p1")), Mcp(cwd=folder("p2"))
    s = details(one.tool("exec", command="sleep 1000",
                         background=True))["sessionId"]
    is_(s in two.text("process_read", action="list"), False,
        "another project's are not seen")
    r = two.tool("process_end", action="kill", sessionId=s)
    is_(r["isError"], True, "nor reached")
    two.end()
    three = Mcp("--workdir", path("p1"), cwd="/")
    has(three.text("process_read", action="list"), s, "--workdir names one")
    is_(three.text("exec", command="pwd"), path("p1") + "\n",
        "where commands run")
    three.end()
    four = Mcp(env={"CLAUDE_PROJECT_DIR": path("p1")}, cwd="/")
    has(four.text("process_read", action="list"), s, "so does the variable")
    four.end()
    five = Mcp(cwd=folder("home"), env={"HOME": path("home")})
    five.tool("exec", command="true")
    has(five.end(), "is no project", "the home directory is none")
    one.tool("process_end", action="killScope", graceMs=0)
    one.end()
    six = Mcp("--workdir", path("nowhere-at-all"), era=None)
    has(six.end(), "nowhere-at-all", "a folder that is not there")
    is_(six.code, 2, "is wrong usage")
    seven = Mcp("--scope", "mine", cwd=folder("p1"))
    has(seven.text("exec", command="echo $PSUP_SCOPE"), "mine", "--scope")
    seven.end()


def boxes():
    """A model may ask for the sandbox, and for the way out of it."""
    conf, run = path("boxes.conf"), folder("bx")
    os.chmod(run, 0o700)
    os.chmod(SCRATCH, 0o711)  # whom boxes run as is to come to them
    with open(conf, "w") as f:
        f.write("[server]\nany_fs = yes\n[sandbox]\nmode = named\n"
                f"workspace = {path('ws')}\n" +
                ("user = nobody\n" if os.geteuid() == 0 else "") +
                '[scope "boxed"]\nsandbox = yes\n')
    env = {"PSUP_RUNTIME_DIR": run, "PSUP_CONFIG": conf}
    m = Mcp("--scope", "boxed", cwd=folder("boxes"), env=env)
    here = m.text("exec", command="pwd")
    is_(here.startswith("/workspace\n") or "no sandbox: " in here or here,
        True, "in a box, or why not")
    for host in ("auto", "sandbox"):
        is_(m.text("exec", command="pwd", host=host), here, f"so is {host}")
    has(m.text("exec", command="true", host="gateway"),
        "host gateway: scope boxed is in a sandbox", "and nowhere else")
    has(m.text("exec", command="true", elevated=True),
        "elevated is not available: [elevated] enabled = no; scope boxed is "
        "not in [elevated] scopes", "out where it may")
    m.end()
    psup("--runtime-dir", run, "shutdown", "--grace", "300")


def tokens():
    token = psup("token", "mint", "theirs").strip()
    with open(path("token"), "w") as f:
        f.write(token)
    os.chmod(path("token"), 0o600)
    for options, env in [(("--token-file", path("token")), {}),
                         ((), {"PSUP_TOKEN_FILE": path("token")})]:
        m = Mcp(*options, cwd=folder("tokens"), env=env)
        is_(m.text("exec", command="echo $PSUP_SCOPE; env | grep PSUP_TOKEN"),
            "theirs\n\n(Command exited with code 1)", "a token's scope, and "
            "commands do not see it")
        m.end()
    with open(path("token"), "w") as f:
        f.write("0" * 64)
    m = Mcp("--token-file", path("token"), cwd=folder("tokens"))
    r = m.tool("exec", command="true")
    is_([r["isError"], "nothing was run" in r["content"][0]["text"]],
        [True, True], "one that is none opens nothing")
    m.end()


def login_env():
    with open(path("shell"), "w") as f:
        f.write("#!/bin/sh\nif [ \"$1\" = -l ]; then\n\techo noise\n"
                "\texec env FROM_PROFILE=yes sh -c 'env -0 >&3'\nfi\n"
                "exec /bin/sh \"$@\"\n")
    os.chmod(path("shell"), 0o755)
    m = Mcp("--login-env", cwd=folder("login"), env={"SHELL": path("shell")})
    is_(m.text("exec", command="echo $FROM_PROFILE"), "yes\n", "--login-env")
    m.end()
    m = Mcp("--login-env", cwd=folder("login"), env={"SHELL": "/bin/false",
                                                     "MINE": "1"})
    is_(m.text("exec", command="echo $MINE"), "1\n", "or our own")
    has(m.end(), "did not tell its environment", "and says so")


for check in (shapes, half_a_line, versions, tools, input_, told_once, cancels,
              polls_again, progress, caps, resources, leaves, servers_die,
              crowds, scopes, boxes, tokens,
              login_env):
    check()
is_("", "", "end")
