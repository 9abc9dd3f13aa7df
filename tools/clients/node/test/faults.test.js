// SPDX-License-Identifier: MIT
// What a server may do to its client: a typed error each time, never a hang.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {once} from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {Psup} from '../index.js';
import {pack} from '../src/codec.js';
import {hello, imposter} from './lib.js';

const connect = ({dir}, options) => Psup.connect({runtimeDir: dir, start: false,
  ...options});
const briefly = {patienceMs: 300}; // where the patience is to end
const never = {patienceMs: 1e9}; // where it has no say

test('a server of another version', async () => {
  const it = await imposter(([, id], socket) => socket.write(
      pack([1, id, null, {protocol: 2, server: '9.9.9'}])));
  await assert.rejects(connect(it), {code: 'unsupported', field: 'protocol'});
});

test('a server that refuses hello', async () => {
  const it = await imposter(([, id], socket) => socket.end(pack([1, id,
    {code: 'forbidden', message: 'no such token', field: 'token'}, null])));
  await assert.rejects(connect(it, {token: '0'.repeat(64)}),
      {code: 'forbidden', field: 'token', message: 'no such token'});
});

test('a server that never answers hello', async () => {
  const it = await imposter(() => {});
  await assert.rejects(connect(it, briefly), {code: 'no-server'});
});

test('nobody there', async () => {
  await assert.rejects(connect({dir: '/dev/shm/psup-test-nowhere'}, never),
      {code: 'no-server', field: 'runtimeDir'});
  await assert.rejects(connect({dir: '/dev/shm/psup-test-nowhere'},
      {start: true, psupd: '/nonexistent/psupd'}),
  {code: 'no-server', field: 'psupd', message: /not installed/});
  await assert.rejects(connect({dir: 'relative'}),
      {code: 'invalid-params', field: 'runtimeDir'});
  await assert.rejects(connect({dir: '/tmp'}), {code: 'forbidden'});
});

test('one that is about to serve', async () => {
  const it = await imposter(([, id], socket) => socket.write(hello(id)));
  const [lock, sock, away] = ['lock', 'sock', 'away']
      .map(name => path.join(it.dir, name));
  fs.renameSync(sock, away);
  execFileSync('mkfifo', [lock]);
  const psup = connect(it, never);
  // it has found nobody, and looks who has the lock
  const writer = await fs.promises.open(lock, 'w');
  fs.renameSync(away, sock);
  await writer.write(`${process.pid}\n`);
  await writer.close();
  await (await psup).close();
});

test('who listens waits for the next one', async () => {
  const it = await imposter(([, id, method], socket) => socket.write(
      method === 'hello' ? hello(id) : pack([1, id, null, {}])));
  const [sock, away] = ['sock', 'away'].map(name => path.join(it.dir, name));
  const psup = await connect(it, never), [link] = psup.links;
  psup.on('event', () => {});
  await psup.status();
  const open = link.open, again = once(psup, 'reconnect');
  const missed = new Promise(resolve => link.open = until => {
    const opened = open.call(link, until);
    opened.catch(resolve);
    return opened;
  });
  fs.renameSync(sock, away);
  it.sockets.forEach(socket => socket.destroy());
  await missed;
  fs.renameSync(away, sock);
  await again;
  await psup.close();
});

for (const [name, bytes] of Object.entries({
  'no MessagePack': Buffer.from([0xc1]),
  'no message': pack(['x']),
  'half a message of four gigabytes': Buffer.from([0xdd, 0xff, 0xff, 0xff, 0xff]),
  'a map with numbers for keys': Buffer.from([0x94, 1, 1, 0xc0, 0x81, 1, 1]),
})) {
  test(`a frame that is ${name}`, async () => {
    const it = await imposter(([, id, method], socket) =>
      socket.write(method === 'hello' ? hello(id) : bytes));
    const psup = await connect(it);
    await assert.rejects(psup.status(), {code: 'bad-request'});
    await assert.rejects(psup.call('clear', {sessionId: 'x'}),
        {code: 'bad-request'});
    await psup.close();
  });
}

test('a socket that closes at each byte of an answer', async () => {
  const answer = id => pack([1, id, null, {text: 'x', details:
    {status: 'completed', exitCode: 0}, isError: false}]);
  const length = answer(2).length;
  let cut = 0, asked = 0, keys = new Set();
  const it = await imposter(([, id, method, params], socket) => {
    if (method === 'hello') return socket.write(hello(id));
    asked++;
    if (params.requestKey) keys.add(params.requestKey);
    const bytes = answer(id);
    if (cut >= bytes.length) return socket.write(bytes);
    socket.end(bytes.subarray(0, cut++));
  });
  const psup = await connect(it);
  // may be asked for again: until it is whole
  const {details} = await psup.exec({command: 'true'});
  assert.equal(details.exitCode, 0);
  assert.equal(asked, length + 1);
  assert.equal(keys.size, 1);
  for (cut = 0; cut < length;) { // may not
    await assert.rejects(psup.clear({sessionId: 'x'}),
        {code: 'connection-lost'});
  }
  assert.equal((await psup.clear({sessionId: 'x'})).text, 'x');
  await psup.close();
});

test('a server that is gone for good', async () => {
  const it = await imposter(([, id, method], socket) => {
    if (method === 'hello') return socket.write(hello(id));
    it.listener.close();
    socket.destroy();
  });
  const psup = await connect(it, never);
  await assert.rejects(psup.list(), {code: 'no-server'});
  await assert.rejects(psup.list(), {code: 'no-server'});
  await psup.close();
  await assert.rejects(psup.list(), {code: 'connection-lost'});
});

test('one that never reads: its client waits, and can give up', async () => {
  const it = await imposter(([, id, method], socket) => {
    if (method === 'hello') socket.write(hello(id));
  }, ([, id], socket) => {
    socket.pause();
    return pack([1, id, null, {bytes: 0}]);
  });
  const psup = await connect(it), stop = new AbortController();
  const data = 'x'.repeat(1 << 20);
  const calls = Array.from({length: 100}, () => psup.call('write',
      {sessionId: 'x', data, position: 0}, {signal: stop.signal}));
  const ends = Promise.allSettled(calls);
  await new Promise(setImmediate);
  const [link] = psup.links;
  const waits = link.socket.writableLength;
  assert.ok(waits > 0 && waits < 8 << 20, `what waits is bounded: ${waits}`);
  stop.abort();
  await psup.close();
  for (const {reason} of await ends) {
    assert.match(reason.code, /^(cancelled|connection-lost)$/);
  }
});

test('calls of one turn are one write, and each is answered by its own', async () => {
  let chunks = 0;
  const it = await imposter(([, id, method, params], socket) =>
    socket.write(method === 'hello' ? hello(id)
      : pack([1, id, null, {text: params.sessionId}])));
  const psup = await connect(it);
  const [socket] = it.sockets;
  socket.on('data', () => chunks++);
  const texts = await Promise.all(Array.from({length: 50}, async (_, i) =>
    (await psup.poll({sessionId: `s${i}`})).text));
  assert.deepEqual(texts, Array.from({length: 50}, (_, i) => `s${i}`));
  assert.equal(chunks, 1);
  await psup.close();
});

test('answers to nobody, notifications of nothing', async () => {
  const it = await imposter(([, id, method], socket) => {
    if (method === 'hello') return socket.write(hello(id));
    socket.write(Buffer.concat([pack([1, 999, null, {}]),
      pack([2, 'output', [{msgid: 7}]]), pack([2, 'news', []]),
      pack([1, id, null, {version: '1'}])]));
  });
  const psup = await connect(it);
  assert.equal((await psup.status()).version, '1');
  await psup.close();
});

test('an error has all that the wire says', async () => {
  const it = await imposter(([, id, method], socket) =>
    socket.write(method === 'hello' ? hello(id) : pack([1, id,
      {code: 'share-used-up', message: 'too much', field: 'scope', value: 'x',
        expected: 'less', details: {resource: 'memory'}}, null])));
  const psup = await connect(it);
  await assert.rejects(psup.list(), {name: 'PsupError', code: 'share-used-up',
    message: 'too much', field: 'scope', value: 'x', expected: 'less',
    details: {resource: 'memory'}});
  await psup.close();
});

const refusal = (id, code) => pack([1, id, {code, message: 'no'}, null]);

test('a server that cannot keep an environment gets it with each call', async () => {
  const seen = [];
  const it = await imposter(([, id, method, params], socket) => {
    if (method === 'hello') return socket.write(hello(id));
    seen.push(params.baseEnv.MARK);
    socket.write(pack([1, id, null, {}]));
  }, ([, id]) => refusal(id, 'unknown-method'));
  const psup = await connect(it, {env: {MARK: 'one'}});
  await psup.exec({command: 'true'});
  await psup.exec({command: 'true', baseEnv: {MARK: 'two'}});
  assert.deepEqual(seen, ['one', 'two']);
  await psup.close();
});

test('nothing is asked again without its environment', async () => {
  let settled = 0, execs = 0, breaks = 2;
  const codes = [];
  const it = await imposter(([, id, method, params], socket) => {
    if (method === 'hello') return socket.write(hello(id));
    if (method === 'exec') {
      execs++;
      assert.equal(params.baseEnv, undefined);
      if (breaks-- > 0) return socket.destroy();
    }
    socket.write(pack([1, id, null, {}]));
  }, ([, id, , params]) => {
    assert.equal(params.baseEnv.MARK, 'one');
    settled++;
    const code = codes.shift();
    return code ? refusal(id, code) : pack([1, id, null, {bytes: 9}]);
  });
  const psup = await connect(it, {env: {MARK: 'one'}});
  await psup.exec({command: 'true'});
  assert.deepEqual([settled, execs], [3, 3]);
  codes.push('share-used-up', 'busy');
  breaks = 1;
  await psup.exec({command: 'true'});
  assert.deepEqual([settled, execs], [6, 5]);
  await psup.close();
});

test('an environment that the server has taken back is sent again', async () => {
  let kept = 0, taken = 0;
  const it = await imposter(([, id, method, params], socket) => {
    if (method === 'hello') return socket.write(hello(id));
    assert.equal(params.baseEnv, undefined);
    socket.write(kept > taken ? pack([1, id, null, {}]) : pack([1, id,
      {code: 'share-used-up', message: 'no', field: 'baseEnv'}, null]));
  }, ([, id, , params]) => {
    assert.equal(params.baseEnv.MARK, 'one');
    kept++;
    return pack([1, id, null, {bytes: 9}]);
  });
  const psup = await connect(it, {env: {MARK: 'one'}});
  taken = 1;
  await psup.exec({command: 'true'});
  assert.equal(kept, 2);
  taken = 100;
  await assert.rejects(psup.exec({command: 'true'}), {code: 'share-used-up',
    field: 'baseEnv'});
  assert.equal(kept, 3);
  await psup.close();
});

test('a server that has no room for its environment any more', async () => {
  let full = false, tries = 0;
  const it = await imposter(([, id, method], socket) => {
    if (method === 'hello') return socket.write(hello(id));
    if (full) return socket.destroy();
    socket.write(pack([1, id, null, {}]));
  }, ([, id]) => {
    if (full) tries++;
    return full ? refusal(id, 'share-used-up') : pack([1, id, null, {bytes: 9}]);
  });
  const psup = await connect(it, {env: {MARK: 'one'}, patienceMs: 5000});
  await psup.exec({command: 'true'});
  full = true;
  await assert.rejects(psup.exec({command: 'true'}), {code: 'share-used-up'});
  assert.ok(tries > 1, 'it tries again first');
  full = false;
  await psup.exec({command: 'true'});
  await psup.close();
});

test('values that cannot be sent hurt nobody else', async () => {
  const it = await imposter(([, id, method], socket) =>
    socket.write(method === 'hello' ? hello(id) : pack([1, id, null, {}])));
  const psup = await connect(it);
  const [bad, good] = await Promise.allSettled([
    psup.exec({command: 'x', tags: {a: () => {}}}), psup.exec({command: 'y'})]);
  assert.equal(bad.reason.code, 'invalid-params');
  assert.equal(bad.reason.field, 'tags');
  assert.equal(good.status, 'fulfilled');
  await psup.close();
});

test('a listener that throws, or rejects', async () => {
  const it = await imposter(([, id, method], socket) => {
    socket.write(method === 'hello' ? hello(id) : pack([1, id, null, {}]));
    if (method === 'subscribe') {
      socket.write(pack([2, 'event', [{seq: 1, kind: 'exited'}]]));
    }
  });
  const psup = await connect(it);
  const failed = once(psup, 'error');
  psup.on('error', () => {});
  psup.on('event', async () => { throw new Error('of the listener'); });
  assert.equal((await failed)[0].message, 'of the listener');
  await psup.close();
});
