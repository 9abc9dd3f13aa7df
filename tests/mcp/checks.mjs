// SPDX-License-Identifier: MIT
// checks.mjs SCRATCH: what a client sees of psup-mcp, by the clients that are in
// use. Each runs with a project and a log of its own; at the end every line
// that was written is validated.
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio1 }
  from "@modelcontextprotocol/sdk/client/stdio.js";
import { ResourceUpdatedNotificationSchema as Updated1 }
  from "@modelcontextprotocol/sdk/types.js";
import { Client as Client2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio2 }
  from "@modelcontextprotocol/client/stdio";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync }
  from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { validate } from "./schemas.mjs";

const scratch = process.argv[2];
const env = { ...process.env };
let passed = 0, failed = 0, project = 0;

function is(got, wanted, what) {
  const [a, b] = [got, wanted].map((v) => JSON.stringify(v));
  if (a === b) {
    passed++;
    console.log(`ok - ${what}`);
  } else {
    failed++;
    console.log(`not ok - ${what}\n# got:    ${a?.slice(0, 2000)}\n` +
      `# wanted: ${b?.slice(0, 2000)}`);
  }
}
const has = (text, part, what) =>
  is(text.includes(part) ? part : text, part, what);

async function becomes(true_, what) {
  for (const end = Date.now() + 120000; !(await true_()); await sleep(10))
    if (Date.now() > end) throw new Error(`never: ${what}`);
}
const psup = (...words) => execFileSync("psup", words, { encoding: "utf8" });
const lives = (pid) => {
  try {
    return !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
};
async function pidIn(file) {
  await becomes(() => existsSync(file) && readFileSync(file, "utf8")
    .endsWith("\n"), file);
  return Number(readFileSync(file, "utf8"));
}
const holds = (file) => `echo $$ >${file}; exec sleep 1000`;

const KINDS = {
  "SDK 1.32": [Client1, Stdio1, {}],
  "client 2.4, legacy": [Client2, Stdio2, {}],
  "client 2.4, modern":
    [Client2, Stdio2, { versionNegotiation: { mode: { pin: "2026-07-28" } } }],
};

const folder = (name) => {
  mkdirSync(`${scratch}/${name}`, { recursive: true });
  return `${scratch}/${name}`;
};

// A client of that kind in a project; options: psup-mcp's.
async function open(kind, cwd, options = []) {
  const [Client, Stdio, more] = KINDS[kind];
  const client = new Client({ name: "checks", version: "1" }, more);
  const transport = new Stdio({ command: process.execPath, cwd, env,
    stderr: "ignore", args: [process.cwd() + "/tap.mjs",
      `${scratch}/log-${++project}`, "psup-mcp", ...options] });
  await client.connect(transport);
  const c = { client, transport, kind };
  c.tool = (name, args, options) => client.callTool(
    { name, arguments: args },
    ...(Client === Client1 ? [undefined, options] : [options]));
  c.text = async (name, args) => (await c.tool(name, args)).content[0].text;
  c.details = (r) => r._meta["psup/details"];
  return c;
}
const meanwhile = (r) => r.content.map((b) => b.text ?? "").filter(
  (t) => t.startsWith("Meanwhile:"));

// the 22 checks of the design, and more
async function kind(name) {
  const cwd = folder("project-" + ++project);
  const file = (f) => `${cwd}/${f}`;
  const say = (s) => `${name}: ${s}`;
  let c = await open(name, cwd), r, s, pid;

  r = await c.client.listTools();
  is(r.tools.map((t) => t.name),
    ["exec", "process_read", "process_input", "process_end"], say("tools"));
  is(r.tools.map((t) => t.annotations.readOnlyHint),
    [false, true, false, false], say("hints"));
  has(c.client.getInstructions(), "process_read wait", say("instructions"));
  is(c.client.getServerVersion().name, "psup", say("who it is"));

  r = await c.tool("exec", { command: "echo out; exit 3" });
  is([r.content[0].text, r.isError ?? false, c.details(r).exitCode],
    ["out\n\n(Command exited with code 3)", false, 3], say("exit 3"));
  r = await c.tool("exec", { command: "nosuchcmd-here" });
  is([r.isError, c.details(r).exitCode], [true, 127], say("no such command"));

  r = await c.tool("exec",
    { command: "until [ -e go ]; do sleep 0.02; done; echo late; exit 4",
      background: true });
  s = c.details(r).sessionId;
  is(c.details(r).status, "running", say("in the background"));
  is(r.content[1].uri, `psup://session/${s}/log`, say("with a link"));
  const other = await open(name, cwd);
  const waits = other.tool("process_read", { action: "wait", sessionId: s });
  writeFileSync(file("go"), "");
  r = await waits;
  is([other.details(r).met, meanwhile(r)], ["exit", []],
    say("waited for from another process"));
  await becomes(async () => (r = meanwhile(await c.tool("exec",
    { command: "true" }))).length > 0, "told");
  is(r, [`Meanwhile:\nExec completed (${s}, code 4) :: late`],
    say("its end is told"));
  is(meanwhile(await c.tool("exec", { command: "true" })), [], say("once"));
  is(meanwhile(await other.tool("exec", { command: "true" })), [],
    say("and not to who asked"));
  await other.client.close();

  let seen = [];
  r = await c.tool("exec", { command: "for i in 1 2 3; do echo line $i; " +
    "sleep 1.1; done" }, { onprogress: (p) => seen.push(p) });
  is([seen.length >= 2, seen.every((p, i) => i === 0 ||
    p.progress > seen[i - 1].progress),
    /^[a-z-]+ \d+s, \d+ bytes: line \d$/.test(seen.at(-1)?.message)],
    [true, true, true], say("progress grows: " + seen.at(-1)?.message));

  let stop = new AbortController();
  let call = c.tool("exec", { command: holds(file("abort")) },
    { signal: stop.signal }).then(() => "answered", () => "rejected");
  pid = await pidIn(file("abort"));
  stop.abort("the user has changed his mind");
  is(await call, "rejected", say("an abort"));
  await becomes(() => !lives(pid), "ended");
  is(lives(pid), false, say("leaves no process"));

  call = c.tool("exec", { command: holds(file("late")) }, { timeout: 700 })
    .then(() => "answered", (e) => String(e));
  pid = await pidIn(file("late"));
  has((await call).toLowerCase(), "timed out", say("a client's time-out"));
  await becomes(async () => (await c.text("process_read",
    { action: "list" })).includes("running"), "listed");
  is(lives(pid), true, say("puts the command into the background"));
  r = c.details(await c.tool("process_read", { action: "list" })).sessions;
  await c.tool("process_end",
    { action: "kill", sessionId: r[0].sessionId, graceMs: 0 });
  await becomes(() => !lives(pid), "killed");
  is(lives(pid), false, say("process_end ends it"));

  r = await c.tool("process_read", { action: "kill", sessionId: "x" });
  is(r.isError, true, say("process_read refuses kill"));
  has(r.content[0].text, "Expected one of: list, poll", say("and says what"));
  r = await c.tool("exec", { command: "true", timeout: "x" });
  has(r.content[0].text, "timeout", say("a mistake names its field"));
  r = await c.client.callTool({ name: "nope", arguments: {} })
    .then(() => "answered", (e) => e.message);
  has(r, "Unknown tool: nope", say("an unknown tool"));

  r = await c.tool("exec", { command: "seq 30000" });
  is([r.content[0].text.length < 30500, r.content[0].text.includes(
    "bytes are left out here")], [true, true], say("a cut output"));
  const uri = r.content[1].uri;
  is(uri.startsWith("psup://session/"), true, say("links to all of it"));

  r = await c.tool("exec",
    { command: "echo for reading; cat; exit 1", background: true });
  s = c.details(r).sessionId;
  await c.tool("process_read",
    { action: "wait", sessionId: s, text: "reading" });
  r = await c.client.readResource({ uri: `psup://session/${s}/log` });
  has(r.contents[0].text, "for reading", say("a resource is read"));
  is((await c.client.listResources()).resources.some(
    (x) => x.uri.includes(s)), true, say("and listed"));
  is((await c.client.listResourceTemplates()).resourceTemplates.length, 2,
    say("templates"));
  r = await c.client.readResource({ uri: "psup://session/none-such/log" })
    .then(() => 0, (e) => e.code);
  // client 2.4 knows one number for both eras
  is(r, name.startsWith("SDK") ? -32002 : -32602, say("none of that name"));

  let updated = [];
  const news = `psup://session/${s}/log`;
  if (name.startsWith("SDK"))
    c.client.setNotificationHandler(Updated1, (n) =>
      updated.push(n.params.uri));
  else
    c.client.setNotificationHandler("notifications/resources/updated", (n) =>
      updated.push(n.params.uri));
  if (name.includes("modern"))
    await c.client.listen({ resourceSubscriptions: [news] });
  else
    await c.client.subscribeResource({ uri: news });
  await c.tool("process_input", { action: "write", sessionId: s, eof: true });
  await becomes(() => updated.length > 0, "updated");
  is(updated, [news], say("an end updates its resource"));

  r = await c.tool("exec", { command: "python3 -q || cat", pty: true,
    background: true });
  s = c.details(r).sessionId;
  await c.tool("process_read",
    { action: "wait", sessionId: s, text: ">>>", timeout: 30000 });
  await c.tool("process_input",
    { action: "submit", sessionId: s, data: "print(6 * 7)" });
  r = await c.tool("process_read",
    { action: "wait", sessionId: s, regex: "^42", timeout: 30000 });
  is(c.details(r).met, "regex", say("a REPL on a terminal"));
  has(await c.text("process_read", { action: "screen", sessionId: s }), "42",
    say("on its screen"));
  await c.tool("process_input",
    { action: "send-keys", sessionId: s, keys: ["C-d"] });
  r = await c.tool("process_read", { action: "wait", sessionId: s });
  is(c.details(r).met, "exit", say("ended by a key"));

  r = await Promise.all(Array.from({ length: 64 }, (_, i) =>
    c.text("exec", { command: `sleep 0.05; echo ${i}` })));
  is(r, Array.from({ length: 64 }, (_, i) => `${i}\n`), say("64 at once"));

  call = c.text("exec", { command: `echo once >>${file("runs")}; until ` +
    `[ -e ${file("end")} ]; do sleep 0.02; done; echo survived` });
  await becomes(() => existsSync(file("runs")), "it runs");
  const old = JSON.parse(psup("status", "--json")).master.pid;
  process.kill(old, "SIGKILL");
  await becomes(() =>
    JSON.parse(psup("status", "--json")).master.pid !== old, "another one");
  writeFileSync(file("end"), "");
  is([await call, readFileSync(file("runs"), "utf8")],
    ["survived\n", "once\n"], say("the master dies under an exec"));

  // kill -9 of psup-mcp alone
  c.tool("exec", { command: holds(file("bg")), background: true });
  const bg = await pidIn(file("bg"));
  c.tool("exec", { command: holds(file("fg")) }).catch(() => {});
  const fg = await pidIn(file("fg"));
  const mcp = Number(execFileSync("pgrep",
    ["-P", String(c.transport.pid), "psup-mcp"], { encoding: "utf8" }));
  process.kill(mcp, "SIGKILL");
  await becomes(() => !lives(fg), "the foreground ends");
  is([lives(fg), lives(bg)], [false, true], say("psup-mcp is killed"));
  await c.client.close();
  c = await open(name, cwd);
  has(await c.text("process_read", { action: "list" }), "running",
    say("the next one finds what goes on"));
  await c.tool("process_end", { action: "killScope", graceMs: 0 });
  await becomes(() => !lives(bg), "ended");
  await c.client.close();

  c = await open(name, cwd, ["--structured"]);
  r = await c.tool("exec", { command: "echo hi" });
  is([r.structuredContent.status, r.structuredContent.text],
    ["completed", "hi\n"], say("--structured fits its schema"));
  await c.client.close();
}

// The Inspector, a program a call.
function inspector() {
  writeFileSync(`${scratch}/inspector.json`, JSON.stringify({
    mcpServers: { psup: { type: "stdio", command: process.execPath,
      args: [process.cwd() + "/tap.mjs", `${scratch}/log-inspector`,
        "psup-mcp", "--workdir", folder("inspector")] } } }));
  const ask = (era, ...words) => {
    const r = spawnSync("node_modules/.bin/mcp-inspector",
      ["--cli", "--config", `${scratch}/inspector.json`, "--server", "psup",
        "--protocol-era", era, ...words], { encoding: "utf8", env });
    return [r.status, r.stdout];
  };
  for (const era of ["legacy", "modern", "auto"]) {
    const run = (command) => ask(era, "--method", "tools/call", "--tool-name",
      "exec", "--tool-args-json", JSON.stringify({ command }));
    const [code, out] = run("false");
    is(code, 0, `inspector, ${era}: false`);
    has(out, "(Command exited with code 1)", `inspector, ${era}: says so`);
    is(run("nosuchcmd")[0], 5, `inspector, ${era}: nosuchcmd`);
    const [strict, list] = ask(era, "--method", "tools/list", "--strict");
    is(strict, 0, `inspector, ${era}: the schemas are portable`);
    has(list, "process_end", `inspector, ${era}: tools`);
    is(ask(era, "--method", "resources/list")[0], 0,
      `inspector, ${era}: resources`);
  }
}

for (const name of Object.keys(KINDS)) await kind(name);
inspector();
let lines = 0;
const wrong = [];
for (const log of readdirSync(scratch).filter((f) => f.startsWith("log-"))) {
  const v = validate(`${scratch}/${log}`);
  lines += v.lines;
  wrong.push(...v.wrong);
}
is(wrong.slice(0, 5), [], `${lines} lines fit their schemas`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 || lines === 0 ? 1 : 0);
