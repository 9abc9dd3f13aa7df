// SPDX-License-Identifier: MIT
// Where a server is, whose it is, and how one is started.
import {execFile} from 'node:child_process';
import fs from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import {PsupError} from './error.js';

// What a server may see of our environment, beside the beginnings below.
const BASIC = new Set(['HOME', 'PATH', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TZ',
  'TMPDIR', 'XDG_RUNTIME_DIR', 'XDG_CONFIG_HOME',
  'OPENCLAW_PROCESS_INPUT_WAIT_IDLE_MS', 'OPENCLAW_CHILD_OOM_SCORE_ADJ']);
const BEGIN = /^(LC_|PSUP_|OPENCLAW_BASH_|PI_BASH_|CLAWDBOT_BASH_)/;
const OURS = /^PSUP_(TOKEN_FILE|SERVER_USER|SCOPE)$/;

export function runtimeDir(options) {
  const env = process.env;
  const dir = options.runtimeDir ?? (env.PSUP_RUNTIME_DIR ||
      (env.XDG_RUNTIME_DIR && `${env.XDG_RUNTIME_DIR}/psup`) ||
      `/dev/shm/psup-${process.geteuid()}`);
  if (!path.isAbsolute(dir) || Buffer.byteLength(dir) > 100) {
    throw new PsupError('invalid-params', `${dir}: the runtime directory's ` +
        'name is not absolute, or too long for a socket', 'runtimeDir');
  }
  return dir;
}

// Somebody else may have made it first. ENOENT passes: nobody has.
async function checkOwner(dir) {
  const is = await fs.lstat(dir);
  const uids = [process.geteuid(), 0];
  if (!is.isDirectory() || !uids.includes(is.uid) || is.mode & 0o022) {
    throw new PsupError('forbidden', `${dir} is not a directory of uid ` +
        `${uids[0]}, or others may write to it: uid ${is.uid}, mode 0` +
        (is.mode & 0o7777).toString(8), 'runtimeDir');
  }
}

// A socket with somebody at its other end; what comes goes to onread (node's).
// Rejects as the system says.
export async function dial(dir, onread) {
  await checkOwner(dir);
  return await new Promise((resolve, reject) => {
    const socket = net.connect({path: `${dir}/sock`, onread});
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}

export const nobodyThere = e => ['ENOENT', 'ECONNREFUSED', 'ENOTDIR']
    .includes(e.code);

// Is there one who starts another master, or is about to serve?
export async function keeperLives(dir) {
  try {
    const pid = parseInt(await fs.readFile(`${dir}/lock`, 'latin1'));
    return pid > 0 && process.kill(pid, 0);
  } catch (e) {
    return e.code === 'EPERM';
  }
}

// Resolves when a server serves, ours or another's.
export function startServer(dir, options) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) =>
    (BASIC.has(name) || BEGIN.test(name)) && !OURS.test(name)));
  const program = options.psupd ?? (process.env.PSUP_PSUPD || 'psupd');
  return new Promise((resolve, reject) => {
    execFile(program, ['--detach'], {cwd: '/', timeout: 20000,
      env: {...env, PSUP_RUNTIME_DIR: dir}}, (error, _, said) => {
      if (!error || error.code === 75) return resolve(); // 75: one runs already
      reject(new PsupError('no-server', error.code === 'ENOENT'
        ? `psup is not installed: no ${program} in PATH. apt install psup, ` +
          'or name it by the option psupd or $PSUP_PSUPD'
        : `no psup server could be started: ${said.trim() || error.message}`,
      'psupd', {cause: error}));
    });
  });
}
