// SPDX-License-Identifier: MIT
// plugin.mjs PACKAGE: the packed plugin, installed into OpenClaw by its own
// installer, loaded by it, then driven by a model's turns and through its entry:
// tools, live updates, abort, scopes, ends into the conversation, approval, and no
// psup at all. And `openclaw mcp` as the other way. Needs PSUP_TEST_BIN; HOME is made anew.
import assert from 'node:assert/strict';
import {execFile, spawn} from 'node:child_process';
import {EventEmitter, once} from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import {promisify} from 'node:util';
import {startModel} from './model.mjs';

const bin = process.env.PSUP_TEST_BIN;
const base = fs.mkdtempSync('/dev/shm/psup-test-plugin-');
const dir = path.join(base, 'run');
fs.mkdirSync(dir, {mode: 0o700});
fs.writeFileSync(path.join(base, 'none.conf'), '');
Object.assign(process.env, {HOME: base, PSUP_RUNTIME_DIR: dir,
  PSUP_CONFIG: path.join(base, 'none.conf'), NO_COLOR: '1',
  PATH: `${path.dirname(process.execPath)}:${bin}:${process.env.PATH}`});
// The guard kills the server and all it started when we end.
const guard = spawn(path.join(bin, '../tests/helpers/guard'),
    [path.join(bin, 'psupd')], {stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
      env: {...process.env, GUARD_REMOVE: base}});

const main = path.join(import.meta.dirname, 'node_modules/openclaw/openclaw.mjs');
async function openclaw(...args) {
  const {stdout, stderr} = await promisify(execFile)(process.execPath,
      [main, ...args], {timeout: 400000});
  return stdout + stderr;
}
let count = 0;
const ok = what => console.log(`ok ${++count} - ${what}`);

// --- its own installer and loader --------------------------------------------

await openclaw('plugins', 'install', process.argv[2], '--accept-capabilities',
    '--force');
const said = await openclaw('plugins', 'inspect', 'psup', '--runtime');
assert.match(said, /Status: loaded/);
assert.match(said, /psup_exec\s+psup_process/);
assert.match(said, /before_tool_call/);
ok('OpenClaw installs and loads it');

// --- a model's turn ----------------------------------------------------------

// OpenClaw's own agent asks the model, runs what it calls, and gives its answer.
async function turn(calls, config) {
  const model = await startModel(calls);
  const file = path.join(base, '.openclaw/openclaw.json');
  const is = JSON.parse(fs.readFileSync(file, 'utf8'));
  is.plugins.entries.psup.config = config;
  is.models = {mode: 'merge', providers: {here: model.provider}};
  is.agents = {defaults: {model: {primary: 'here/model'}, skipBootstrap: true}};
  is.tools = {deny: ['exec', 'process']};
  fs.writeFileSync(file, JSON.stringify(is));
  const said = await openclaw('agent', '--local', '--agent', 'main', '--message',
      'do it', '--session-id', `turn-${count}`, '--json');
  model.close();
  for (const names of model.asked) {
    assert.ok(names.includes('psup_exec') && names.includes('psup_process') &&
        !names.includes('exec'), names.join(' '));
  }
  return {results: model.results(), said};
}

const sessionId = ([started]) => /session ([a-z0-9-]+)/.exec(started)?.[1];
const follow = action => ['psup_process', results =>
  ({action, sessionId: sessionId(results), timeout: 60000})];
const {said: told} = await turn([
  ['psup_exec', {command: 'echo $PSUP_SCOPE; read line; echo got $line',
    background: true}],
  ['psup_process', results => ({action: 'write', sessionId: sessionId(results),
    data: 'hello\n', eof: true})],
  follow('wait'), follow('log'),
], {approval: false});
assert.match(told, /It said: openclaw\/main\\ngot hello/);
ok('a model starts a command, feeds it, waits and tells what it said');

const {results} = await turn([['psup_exec', {command: `touch ${base}/never`}]], {});
assert.match(results[0], /approval/i);
assert.ok(!fs.existsSync(`${base}/never`));
ok('what nobody can approve does not run');

// --- its entry ---------------------------------------------------------------

const root = path.join(base, '.openclaw/extensions/psup');
fs.mkdirSync(path.join(root, 'node_modules'), {recursive: true});
fs.symlinkSync(path.join(import.meta.dirname, 'node_modules/openclaw'),
    path.join(root, 'node_modules/openclaw'));
const {default: entry} = await import(path.join(root, 'index.js'));

function register(pluginConfig) {
  const tools = {}, hooks = {}, told = new EventEmitter();
  const api = {pluginConfig, config: {}, logger: {warn() {}},
    told, all: [], hooks, services: [],
    registerTool(make, {name}) { tools[name] = make; },
    registerService(service) { api.services.push(service); },
    on(name, handler) { hooks[name] = handler; },
    runtime: {system: {
      enqueueSystemEvent(text, options) {
        api.all.push({text, ...options});
        told.emit('told');
      },
      requestHeartbeat() {},
    }},
    call: (tool, ctx, args, signal, update) =>
      tools[tool](ctx).execute('id', args, signal, update),
  };
  entry.register(api);
  return api;
}

const api = register({});
const one = {agentId: 'one', sessionKey: 'agent:one:main', workspaceDir: '/'};
const two = {agentId: 'two', sessionKey: `agent:two:${'x'.repeat(200)}`};
const text = answer => answer.content[0].text;

assert.equal(text(await api.call('psup_exec', one, {command: 'pwd'})), '/\n');
const failed = await api.call('psup_exec', one, {command: 'exit 3'});
assert.equal(failed.details.exitCode, 3);
ok('psup_exec runs a command where the agent works');

const stop = new AbortController();
await assert.rejects(api.call('psup_exec', one,
    {command: 'echo working; sleep 1000'}, stop.signal, partial =>
      text(partial) === 'working' && stop.abort()),
/Tool execution was aborted/);
ok('it tells how a command goes on, and gives one up');

const job = await api.call('psup_exec', one,
    {command: 'sleep 1000', background: true});
const id = job.details.sessionId;
const listed = async ctx => (await api.call('psup_process', ctx,
    {action: 'list', sessionId: id, data: '', keys: []})).details.sessions;
assert.deepEqual((await listed(one)).map(row => row.sessionId), [id]);
assert.deepEqual(await listed(two), []);
assert.equal((await api.call('psup_process', two, {action: 'poll', sessionId: id}))
    .details.code, 'not-found');
ok('an agent sees no other\'s sessions');

await api.call('psup_process', one, {action: 'kill', sessionId: id});
for (const [ctx, word] of [[one, 'first'], [two, 'second']]) {
  await api.call('psup_exec', ctx,
      {command: `echo ${word}; exit 1`, background: true});
  while (!api.all.some(event => event.text.includes(word))) {
    await once(api.told, 'told');
  }
}
assert.deepEqual(api.all.map(({sessionKey, agentId}) => [sessionKey, agentId]),
    [[one.sessionKey, 'one'], [two.sessionKey, 'two']]);
ok('ends come into their conversation, those that the agent asked for not');

const ask = api.hooks.before_tool_call;
assert.match(ask({toolName: 'psup_exec', params: {command: 'rm x'}})
    .requireApproval.description, /rm x/);
assert.equal(ask({toolName: 'psup_process', params: {}}), undefined);
assert.equal(register({approval: false}).hooks.before_tool_call, undefined);
ok('each command is approved by somebody, unless the configuration says no');

for (const service of api.services) await service.stop();
process.env.PSUP_RUNTIME_DIR = path.join(base, 'nobody');
fs.mkdirSync(process.env.PSUP_RUNTIME_DIR, {mode: 0o700});
const none = register({path: '/nonexistent/psupd'});
const plain = await none.call('psup_exec', one, {command: 'true'});
assert.match(text(plain), /^psup is not installed: apt install psup, or set psup\.path/);
assert.equal(plain.details.status, 'failed');
process.env.PSUP_RUNTIME_DIR = dir;
ok('where psup is not, it says so');

// --- the other way -----------------------------------------------------------

await openclaw('mcp', 'set', 'psup', JSON.stringify({
  command: path.join(bin, 'psup-mcp'), env: {PSUP_RUNTIME_DIR: dir}}));
assert.match(await openclaw('mcp', 'probe', 'psup'), /4 tools/);
ok('openclaw mcp probes psup-mcp');

guard.stdio[3].destroy();
await once(guard, 'exit');
console.log(`1..${count}`);
process.exit(0);
