// SPDX-License-Identifier: MIT
//
// Speaks psup's protocol with two MessagePack-RPC clients from npm that know
// nothing of psup: neovim's transport and msgpack-rpc-lite. What they can do,
// a client in any language can do from docs/protocol.md alone.
//
// Started by tests/npm/run with the packages beside it; needs PSUP_TEST_BIN.
'use strict';

const assert = require('assert');
const {spawn} = require('child_process');
const fs = require('fs');
const net = require('net');
const path = require('path');
const {Transport} = require('neovim/lib/utils/transport');
const {Client} = require('msgpack-rpc-lite');

const bin = process.env.PSUP_TEST_BIN;
const run = process.env.PSUP_TEST_RUN || 'x';
const base = fs.mkdtempSync(`/dev/shm/psup-test-${run}-`);
const runtimeDir = path.join(base, 'run');
const socketPath = path.join(runtimeDir, 'sock');
fs.mkdirSync(runtimeDir, {mode: 0o700});
fs.writeFileSync(path.join(base, 'none.conf'), '');

// The guard kills the server and all it started when our end of fd 3 closes.
const guard = spawn(path.join(bin, '../tests/helpers/guard'),
    [path.join(bin, 'psupd')], {
      stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
      env: {...process.env, PSUP_RUNTIME_DIR: runtimeDir,
        PSUP_CONFIG: path.join(base, 'none.conf'), GUARD_REMOVE: base},
    });

// Until somebody listens there.
function connected() {
  return new Promise((resolve, reject) => {
    const until = Date.now() + 20000;
    (function attempt() {
      const socket = net.connect(socketPath);
      socket.once('connect', () => resolve(socket));
      socket.once('error', error => {
        if (Date.now() > until) reject(error);
        else setTimeout(attempt, 5);
      });
    })();
  });
}

// One face for both: call(method, params) gives a promise.
async function neovimClient() {
  const transport = new Transport();
  const socket = await connected();
  const notes = [];
  const waiting = [];
  transport.on('notification', (name, args) => {
    notes.push({name, params: args[0]});
    waiting.splice(0).forEach(resolve => resolve());
  });
  transport.attach(socket, socket, {});
  return {
    call: (method, params) => new Promise((resolve, reject) =>
      transport.request(method, [params], (error, result) =>
        error ? reject(error) : resolve(result))),
    async note(matches) {
      for (;;) {
        const i = notes.findIndex(matches);
        if (i >= 0) return notes.splice(i, 1)[0];
        await new Promise(resolve => waiting.push(resolve));
      }
    },
    close: () => socket.end(),
  };
}

async function liteClient() {
  (await connected()).destroy();
  const client = new Client({path: socketPath});
  return {
    call: (method, params) => client.request(method, params)
        .then(response => response[0]),
    close: () => client.close(),
  };
}

// What a gateway does all day, in either client's hands.
async function session(client, name) {
  const hello = await client.call('hello',
      {client: name, protocol: 1, scope: `npm-${name}`});
  assert.strictEqual(hello.protocol, 1);
  assert.strictEqual(hello.scope, `npm-${name}`);

  const done = await client.call('exec', {command: 'echo hi; exit 3'});
  assert.strictEqual(done.isError, false);
  assert.strictEqual(done.details.status, 'completed');
  assert.strictEqual(done.details.exitCode, 3);
  assert.match(done.text, /hi/);

  const started = await client.call('exec', {
    argv: ['sh', '-c', 'read line; echo "got $line: é"; sleep 1000'],
    background: true, env: {COLOUR: 'blue'},
  });
  const id = started.details.sessionId;
  assert.strictEqual(started.details.status, 'running');

  const list = await client.call('list', {});
  assert.deepStrictEqual(list.details.sessions.map(row => row.sessionId),
      [id]);

  const written = await client.call('write',
      {sessionId: id, data: 'a word\n'});
  assert.strictEqual(written.details.accepted, 7);

  let output = '';
  while (!output.includes('\n')) {
    const poll = await client.call('poll', {sessionId: id, timeout: 10000});
    assert.strictEqual(poll.details.status, 'running');
    output += poll.details.output;
  }
  assert.strictEqual(output, 'got a word: é\n');

  const killed = await client.call('kill', {sessionId: id, graceMs: 1000});
  assert.strictEqual(killed.isError, false);
  const last = await client.call('poll', {sessionId: id});
  assert.strictEqual(last.details.status, 'failed');
  assert.strictEqual(last.details.exitReason, 'manual-cancel');
  const log = await client.call('log', {sessionId: id, limit: 1});
  assert.match(log.text, /got a word: é/);
  await client.call('clear', {sessionId: id});

  // A tool's refusal is an answer that a model can read ...
  const gone = await client.call('poll', {sessionId: id});
  assert.strictEqual(gone.isError, true);
  assert.strictEqual(gone.details.status, 'failed');
  assert.strictEqual(gone.details.code, 'not-found');
  // ... a request that is wrong is an error of the protocol.
  await assert.rejects(client.call('exec', {command: 7}),
      error => error.code === 'invalid-params' && error.field === 'command');
  await assert.rejects(client.call('no-such-method', {}),
      error => error.code === 'unknown-method');
}

// Exit events reach a subscriber as notifications.
async function events(client) {
  await client.call('subscribe', {});
  const started = await client.call('exec',
      {command: 'echo bye', background: true});
  const note = await client.note(n => n.name === 'event' &&
      n.params.sessionId === started.details.sessionId);
  assert.strictEqual(note.params.kind, 'exited');
  assert.strictEqual(note.params.exitCode, 0);
  assert.match(note.params.text, /bye/);
  const acked = await client.call('ack', {seq: note.params.seq});
  assert.strictEqual(acked.acknowledged, note.params.seq);
}

async function main() {
  const first = await neovimClient();
  await session(first, 'neovim');
  await events(first);
  first.close();
  const second = await liteClient();
  await session(second, 'lite');
  second.close();

  const last = await neovimClient();
  const ended = new Promise(resolve => guard.once('exit', resolve));
  await last.call('shutdown', {graceMs: 0});
  last.close();
  assert.strictEqual(await ended, 0, 'psupd ends, and leaves nobody behind');
}

const deadline = setTimeout(() => {
  console.error('not done in time');
  process.exit(1);
}, 100000);

main().then(() => {
  clearTimeout(deadline);
  fs.rmSync(base, {recursive: true, force: true});
  console.log('neovim and msgpack-rpc-lite both speak with psup');
  process.exit(0);
}, error => {
  console.error(error);
  try {
    console.error(fs.readFileSync(path.join(runtimeDir, 'log'), 'utf8'));
  } catch (e) { /* there is none */ }
  process.exit(1);
});
