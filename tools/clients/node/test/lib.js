// SPDX-License-Identifier: MIT
// A real server of the test's own, and a false one that says what it is told.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import {after} from 'node:test';
import {Psup} from '../index.js';
import {pack, Unpacker} from '../src/codec.js';

const bin = process.env.PSUP_TEST_BIN;
// Whatever nobody caught ends the test.
process.on('unhandledRejection', e => {
  console.error('unhandled:', e);
  process.exit(1);
});

function place() {
  const run = process.env.PSUP_TEST_RUN || 'x';
  const base = fs.mkdtempSync(`/dev/shm/psup-test-${run}-`);
  const dir = path.join(base, 'run');
  fs.mkdirSync(dir, {mode: 0o700});
  return {base, dir};
}

async function there(file) {
  const watcher = fs.watch(path.dirname(file));
  while (!fs.existsSync(file)) await once(watcher, 'change');
  watcher.close();
}

// {dir, keeper}: ends with this process, and takes its directory along.
export function server(config = '') {
  const {base, dir} = place(), conf = path.join(base, 'psup.conf');
  fs.writeFileSync(conf, config);
  const guard = spawn(path.join(bin, '../tests/helpers/guard'),
      [path.join(bin, 'psupd')], {stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
        env: {...process.env, PSUP_RUNTIME_DIR: dir, PSUP_CONFIG: conf,
          GUARD_REMOVE: base}});
  guard.stdio[3].unref?.();
  guard.unref();
  const clients = [];
  after(async () => {
    await Promise.all(clients.map(client => client.close()));
    guard.stdio[3].destroy();
    guard.ref();
    if (guard.exitCode === null) await once(guard, 'exit');
  });
  return {
    dir,
    async connect(options) {
      await there(path.join(dir, 'sock')); // it comes up meanwhile
      const psup = await Psup.connect({runtimeDir: dir, start: false, ...options});
      clients.push(psup);
      return psup;
    },
    async kill(what) {
      const admin = await this.connect();
      const {keeper, master, workers} = await admin.status();
      const pid = what === 'keeper' ? keeper.pid
        : what === 'master' ? master.pid : workers[0].pid;
      process.kill(pid, 'SIGKILL');
    },
  };
}

// Somebody who answers each request by answer(request, socket), as bytes, and
// takes defaults, unless he has his own answer.
export async function imposter(answer, settle = ([, id]) =>
  pack([1, id, null, {bytes: 0}])) {
  const {base, dir} = place();
  const sockets = new Set();
  const listener = net.createServer(socket => {
    const unpacker = new Unpacker();
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', data => {
      unpacker.push(data);
      for (let m; (m = unpacker.next()) !== undefined;) {
        if (m[2] === 'defaults') socket.write(settle(m, socket));
        else answer(m, socket);
      }
    });
  });
  listener.listen(path.join(dir, 'sock'));
  await once(listener, 'listening');
  after(() => {
    listener.close();
    sockets.forEach(socket => socket.destroy());
    fs.rmSync(base, {recursive: true});
  });
  return {dir, sockets, listener};
}

export const hello = id => pack([1, id, null, {server: 'x', protocol: 1,
  incarnation: '0123456789abcdef', scope: null, pid: 1}]);

// Resolves when the condition holds after one of the emitter's events.
export async function until(emitter, name, condition) {
  while (!condition()) await once(emitter, name);
}
