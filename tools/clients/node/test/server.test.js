// SPDX-License-Identifier: MIT
// The package and a real server.
import assert from 'node:assert/strict';
import {createHash} from 'node:crypto';
import {once} from 'node:events';
import fs from 'node:fs';
import {before, describe, test} from 'node:test';
import {createExecTool, createProcessTool} from '../index.js';
import {server, until} from './lib.js';

describe('the package and a server', () => {
const it = server('[exec]\nnotify_on_exit_empty_success = yes\n');
let psup;
before(async () => { psup = await it.connect({scope: 'test'}); });

const closed = child => once(child, 'close');
async function read(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}
const text = async stream => (await read(stream)).toString();
const gate = name => `${it.dir}/../${name}`;
const held = name => `until [ -e ${gate(name)} ]; do sleep 0.02; done`;
const open = name => fs.writeFileSync(gate(name), '');

test('a method for each of the protocol', async () => {
  const {details} = await psup.exec({command: 'echo hi; exit 3'});
  assert.equal(details.aggregated, 'hi\n');
  assert.equal(details.exitCode, 3);
  assert.equal((await psup.status()).scope, 'test');
  assert.equal((await psup.hello()).scope, 'test');
  assert.equal(psup.sendKeys, psup.sendKeys);
  await assert.rejects(psup['send-keys']({}),
      {code: 'invalid-params', field: 'sessionId'});
  await assert.rejects(psup.exec({command: 'x', cwd: '/'}),
      {code: 'invalid-params', field: 'cwd', expected: 'workdir'});
  await assert.rejects(psup.mintToken({scope: 'x'}), {code: 'forbidden'});
});

test('commands have our environment, sent once', async () => {
  const own = await it.connect({scope: 'test', env: {PATH: process.env.PATH,
    MARK: 'one'}});
  assert.equal(own.keeps, true);
  const {details} = await own.exec({command: 'echo $MARK $OTHER',
    env: {OTHER: 'two'}});
  assert.equal(details.aggregated, 'one two\n');
  assert.equal(details.cwd, process.cwd());
  assert.equal(await text(own.spawn('sh', ['-c', 'echo $MARK']).stdout), 'one\n');
  assert.equal(await text(own.spawn('sh', ['-c', 'echo $MARK'],
      {env: {MARK: 'other'}}).stdout), 'other\n');
  await it.kill('master');
  assert.equal((await own.exec({command: 'echo $MARK'})).details.aggregated,
      'one\n');
});

test('what the server refuses is thrown, by call() it is an answer', async () => {
  await assert.rejects(psup.poll({sessionId: 'nobody'}),
      {code: 'not-found', field: 'sessionId'});
  await assert.rejects(psup.exec('ls'), {code: 'invalid-params',
    message: /as \{name: value, \.\.\.\}, not string/});
  await assert.rejects(psup.exec({command: 'true', workdir: '/nonexistent'}),
      {code: 'bad-workdir', field: 'workdir'});
  await assert.rejects(psup.output('nobody').next(), {code: 'not-found'});
  const {isError, details} = await psup.call('poll', {sessionId: 'nobody'});
  assert.deepEqual([isError, details.code], [true, 'not-found']);
  assert.equal((await psup.exec({command: 'exit 3'})).details.exitCode, 3);
});

test('10 000 calls at once', async () => {
  const all = await Promise.all(Array.from({length: 10000}, (_, i) =>
    i % 20 ? psup.status() : psup.exec({command: `echo ${i}`})));
  all.forEach((answer, i) => i % 20
    ? assert.equal(answer.scope, 'test')
    : assert.equal(answer.details.aggregated, `${i}\n`));
});

test('spawn: exit code, signal, stdin to its end, stderr apart', async () => {
  const five = psup.spawn('sh', ['-c', 'echo o; echo e >&2; exit 5']);
  const [out, err, end] = await Promise.all([text(five.stdout),
    text(five.stderr), closed(five)]);
  assert.deepEqual([out, err, end], ['o\n', 'e\n', [5, null]]);
  assert.equal(five.exitCode, 5);

  const cat = psup.spawn('cat', ['-n']);
  const [[exit], said] = await Promise.all([once(cat, 'exit'),
    text(cat.stdout), cat.stdin.end('a\nb\n')]);
  assert.equal(exit, 0);
  assert.equal(said, '     1\ta\n     2\tb\n');

  const sleeper = psup.spawn('sleep', ['1000']);
  await once(sleeper, 'spawn');
  assert.ok(sleeper.pid > 0);
  assert.equal(sleeper.kill(), true);
  assert.deepEqual(await closed(sleeper), [null, 'SIGTERM']);
  assert.equal(sleeper.kill(), false);

  const early = psup.spawn('sleep', ['1000']);
  early.kill('SIGKILL'); // before anything was sent
  assert.deepEqual(await closed(early), [null, 'SIGKILL']);
});

test('spawn: what cannot start, and what is not built', async () => {
  // a folder of PATH that may not be entered would make it EACCES
  const none = psup.spawn('no-such-program', ['x'],
    {env: {PATH: '/usr/bin:/bin'}});
  const [error] = await once(none, 'error');
  assert.equal(error.code, 'ENOENT');
  assert.equal(error.path, 'no-such-program');
  const nowhere = psup.spawn('true', {cwd: '/nonexistent'});
  assert.equal((await once(nowhere, 'error'))[0].code, 'ENOENT');
  for (const options of [{detached: true}, {uid: 1}, {stdio: 'ipc'},
    {stdio: ['pipe', 'pipe', 'pipe', 'pipe']}]) {
    assert.throws(() => psup.spawn('true', [], options), TypeError);
  }
});

test('spawn: cwd, env, shell, signal, time-out, stdio', async () => {
  const env = psup.spawn('echo $X; pwd', [], {shell: true, cwd: '/',
    env: {PATH: process.env.PATH, X: 'y'}});
  assert.equal(await text(env.stdout), 'y\n/\n');
  const stop = new AbortController();
  const long = psup.spawn('sleep', ['1000'], {signal: stop.signal});
  await once(long, 'spawn');
  stop.abort();
  assert.equal((await once(long, 'error'))[0].name, 'AbortError');
  const timed = psup.spawn('sleep', ['1000'], {timeout: 50});
  assert.deepEqual(await closed(timed), [null, 'SIGTERM']);
  const quiet = psup.spawn('cat', [], {stdio: 'ignore'});
  assert.deepEqual(quiet.stdio, [null, null, null]);
  assert.deepEqual(await closed(quiet), [0, null]);
});

test('spawn: 20 MB through, byte by byte the same', async () => {
  const child = psup.spawn('head', ['-c', '20000000', '/dev/urandom']);
  const copy = psup.spawn('cat');
  const there = createHash('sha256'), back = createHash('sha256');
  child.stdout.on('data', data => there.update(data));
  child.stdout.pipe(copy.stdin);
  let bytes = 0;
  for await (const data of copy.stdout) {
    bytes += data.length;
    back.update(data);
  }
  assert.equal(bytes, 20000000);
  assert.equal(back.digest('hex'), there.digest('hex'));
});

test('spawn: 200 beside one whose reader sleeps', async () => {
  const asleep = psup.spawn('yes');
  await once(asleep, 'spawn');
  const ends = await Promise.all(Array.from({length: 200}, async (_, i) => {
    const child = psup.spawn('sh', ['-c', `echo ${i}; exit ${i % 7}`]);
    const [out, [code]] = await Promise.all([text(child.stdout), closed(child)]);
    return `${out.trim()} ${code}`;
  }));
  assert.deepEqual(ends, Array.from({length: 200}, (_, i) => `${i} ${i % 7}`));
  asleep.stdout.destroy();
  asleep.kill('SIGKILL');
  await closed(asleep);
});

test('output by position, over the master\'s death', async () => {
  const {details} = await psup.exec({background: true,
    command: `seq 1000; ${held('more')}; seq 1001 2000`});
  let all = '', next = 0, killed = false;
  for await (const {data, pos, dropped} of psup.output(details.sessionId)) {
    assert.equal(pos, next);
    assert.equal(dropped, 0);
    next = pos + data.length;
    all += data;
    if (!killed) {
      killed = true;
      await it.kill('master');
      open('more');
    }
  }
  assert.equal(all, Array.from({length: 2000}, (_, i) => `${i + 1}\n`).join(''));
  await assert.rejects(psup.output('no-such-session').next(),
      {code: 'not-found'});
});

test('calls go on over the master\'s death', async () => {
  const running = psup.exec({command: `${held('go')}; echo done`, yieldMs: null});
  const cat = psup.spawn('cat');
  cat.stdin.write('one ');
  await once(cat.stdout, 'readable');
  await it.kill('master');
  cat.stdin.end('two');
  assert.equal(await text(cat.stdout), 'one two');
  open('go');
  assert.equal((await running).details.aggregated, 'done\n');
});

test('events come once, and are acknowledged', async () => {
  const one = await it.connect({scope: 'events', subscriber: 'gw'});
  const got = [];
  one.on('event', async event => {
    got.push(event.sessionKey);
    await one.ack(event.seq);
    one.emit('acked');
  });
  for (const sessionKey of ['a', 'b', 'c']) {
    await one.exec({command: 'true', background: true, sessionKey});
    if (sessionKey === 'b') await it.kill('master');
  }
  await until(one, 'acked', () => got.length >= 3);
  assert.deepEqual(got.sort(), ['a', 'b', 'c']);
  const {events} = await one.events({subscriber: 'gw'});
  assert.deepEqual(events, []);
});

test('a call is given up', async () => {
  const stop = new AbortController();
  const call = psup.wait({sessionId: (await psup.exec({background: true,
    command: 'sleep 1000'})).details.sessionId}, {signal: stop.signal});
  stop.abort();
  await assert.rejects(call, {code: 'cancelled'});
  await assert.rejects(psup.list({}, {signal: stop.signal}),
      {code: 'cancelled'});
  await psup.killScope({graceMs: 0});
});

test('the tools take calls as models make them', async () => {
  const exec = createExecTool({psup, sessionKey: 'talk'});
  const tend = createProcessTool({psup});
  const run = async args => (await exec.execute('1', args));
  assert.equal((await run({command: 'echo hi', workdir: '', yieldMs: '5000',
    background: 'false', host: ' AUTO ', env: null})).content[0].text, 'hi\n');
  const odd = await run({command: 'echo hi', foo: 1});
  assert.deepEqual(odd.details.ignored, ['foo']);
  assert.match(odd.content[0].text, /Ignored, not known to exec: foo\.$/);
  const wrong = await run({command: 'pwd', cwd: '/'});
  assert.equal(wrong.details.code, 'invalid-params');
  assert.equal(wrong.details.failureKind, 'runtime-error');
  assert.match(wrong.content[0].text, /did you mean "workdir"/);
  const none = await run({});
  assert.deepEqual([none.details.status, none.details.code],
      ['failed', 'invalid-params']);
  const job = await run({command: `${held('tool')}; echo end`, background: true});
  assert.ok(job.details.pid > 0);
  const {sessionId} = job.details;
  const all = await tend.execute('2', {action: 'list', sessionId, data: '',
    keys: [], limit: 200});
  assert.ok(all.details.sessions.some(row => row.sessionId === sessionId));
  open('tool');
  const wait = await tend.execute('3', {action: 'wait', sessionId,
    timeout: '30000', offset: null});
  assert.equal(wait.details.met, 'exit');
  const poll = await tend.execute('3', {action: 'poll', sessionId, data: ''});
  assert.equal(poll.details.status, 'completed');
  assert.match((await tend.execute('4', {action: 'dance'})).content[0].text,
      /Invalid process action "dance"/);
});

test('the exec tool: updates, and abort', async () => {
  const exec = createExecTool({psup}), stop = new AbortController();
  const seen = [];
  const call = exec.execute('1', {command: 'echo line; sleep 1000'},
      stop.signal, partial => {
        seen.push(partial);
        if (partial.content[0].text === 'line') stop.abort();
      });
  await assert.rejects(call, {message: 'Tool execution was aborted'});
  assert.ok(seen[0].details.sessionId);
  await assert.rejects(exec.execute('2', {command: 'true'}, stop.signal),
      {message: 'Tool execution was aborted'});
});
});
