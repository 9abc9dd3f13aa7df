// SPDX-License-Identifier: MIT
// kills.mjs KILLS COMMAND...: a gateway (COMMAND DIR SCOPE, as docs/examples
// has them) runs jobs, 40 a round, while it, the master, a worker or the keeper
// is killed at random moments, KILLS times in all. Each job has one result in
// the end and ran once; what a keeper's death made `lost` ran once at most.
// Beside it a client of the package waits all the time: each of its calls
// settles. $PSUP_KILLS_SEED repeats the choices. Needs PSUP_TEST_BIN.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import {setTimeout as pause} from 'node:timers/promises';
import {Psup} from '../../tools/clients/node/index.js';

const [kills, ...command] = process.argv.slice(2);
const bin = process.env.PSUP_TEST_BIN;
const base = fs.mkdtempSync('/dev/shm/psup-test-kills-');
const dir = path.join(base, 'run');
fs.mkdirSync(dir, {mode: 0o700});
fs.writeFileSync(path.join(base, 'psup.conf'),
    '[exec]\nnotify_on_exit_empty_success = yes\n');
Object.assign(process.env, {PSUP_RUNTIME_DIR: dir,
  PSUP_CONFIG: path.join(base, 'psup.conf'), PATH: `${bin}:${process.env.PATH}`});
for (const name of ['PSUP_TOKEN_FILE', 'PSUP_PSUPD']) delete process.env[name];

const seed = Number(process.env.PSUP_KILLS_SEED ?? Date.now() % 100000);
let state = seed + 1;
const random = n => { // xorshift, of 32 bits
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % n;
};
console.log(`# seed ${seed}`);

function keeper() {
  const pid = Number(read(`${dir}/lock`).split('\n')[0]);
  return pid > 1 && read(`/proc/${pid}/comm`) === 'psupd\n' ? pid : 0;
}
function read(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
// Of the keeper's children those of a name.
function children(name) {
  const pid = keeper();
  return read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean)
      .map(Number).filter(child => read(`/proc/${child}/comm`)
          .startsWith(name));
}

let gateway;
const find = {
  gateway: () => gateway.pid,
  master: () => children('psup-master')[0],
  worker: () => children('psup-worker')[0],
  keeper,
};
const kinds = ['gateway', 'gateway', 'gateway', 'master', 'master', 'master',
  'worker', 'worker', 'worker', 'keeper'];
const killed = {gateway: 0, master: 0, worker: 0, keeper: 0};
let total = 0, wrong = 0;

function killOne() {
  const kind = kinds[random(kinds.length)], pid = find[kind]();
  if (!pid) return; // it is not up again yet
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    return; // it has just gone
  }
  killed[kind]++;
  total++;
}

const complain = text => {
  console.log(`not ok - ${text}`);
  wrong++;
};

// Waits, reads and runs until the round is over. How many calls settled.
async function wait(over) {
  const psup = new Psup({scope: 'waiter'});
  let settled = 0;
  psup.on('error', () => {});
  while (!over()) {
    await psup.exec({command: 'echo out; sleep 0.05', yieldMs: null})
        .then(() => settled++, () => settled++);
    await (async () => {
      const {details} = await psup.exec({command: 'seq 100; sleep 0.05; seq 9',
        background: true});
      await psup.wait({sessionId: details.instanceId});
      let next = 0;
      for await (const {data, pos} of psup.output(details.instanceId)) {
        if (pos < next) complain(`output again at ${pos}`);
        next = pos + data.length;
      }
    })().then(() => settled++, () => settled++);
    const child = psup.spawn('cat');
    child.on('error', () => {});
    child.stdin.on('error', () => {});
    child.stdin.end('x');
    await new Promise(resolve => child.once('close', resolve));
    settled++;
  }
  await psup.close();
  return settled;
}

// Until it has ended by itself, killed `share` times meanwhile.
async function run(work, share) {
  let left = share;
  for (;;) {
    gateway = spawn(command[0], [...command.slice(1), work, 'gw'],
        {stdio: ['ignore', 'ignore', fs.openSync(`${base}/said`, 'a')]});
    const ended = once(gateway, 'exit');
    let code;
    void ended.then(([is]) => { code = is ?? 'signal'; });
    while (code === undefined && left > 0) {
      const before = total;
      await Promise.race([ended, pause(10 + random(120))]);
      if (code === undefined) killOne();
      left -= total - before;
    }
    if (left <= 0) {
      await Promise.race([ended, pause(120000, null, {ref: false})]);
      if (code === undefined) {
        complain('the gateway does not come to its end');
        gateway.kill('SIGKILL');
        return;
      }
    }
    if (code === 0) return;
  }
}

const ends = {};
function check(work, jobs) {
  const lines = read(`${work}/results`).trim().split('\n')
      .map(line => line.split('\t'));
  const named = file => read(`${work}/${file}`).trim().split('\n');
  const ran = named('ran'), finished = named('finished');
  for (const job of jobs) {
    const results = lines.filter(([name]) => name === job);
    const times = ran.filter(name => name === job).length;
    if (results.length !== 1) complain(`${job}: ${results.length} results`);
    if (times > 1) complain(`${job} ran ${times} times`);
    if (results[0]?.[1] === 'completed' &&
        (times !== 1 || !finished.includes(job))) {
      complain(`${job} is completed, and did not run to its end`);
    }
  }
  for (const [, status, code] of lines) {
    const end = status === 'completed' ? `${status} ${code}` : status;
    ends[end] = (ends[end] ?? 0) + 1;
  }
}

let settled = 0, jobsDone = 0;
for (let round = 0; total < kills; round++) {
  const work = path.join(base, `work${round}`);
  fs.mkdirSync(work);
  const jobs = Array.from({length: 40}, (_, i) => `r${round}j${i}`);
  fs.writeFileSync(`${work}/jobs`, jobs.map(job => `${job}\techo ${job} ` +
    `>>${work}/ran; sleep ${random(2000) / 1000}; echo ${job} >>${work}/finished\n`)
      .join(''));
  let over = false;
  const waiter = wait(() => over);
  await run(work, Math.min(15, kills - total));
  over = true;
  const done = await Promise.race([waiter, pause(120000, null, {ref: false})]);
  if (done === null) complain('a waiter hangs');
  settled += done ?? 0;
  check(work, jobs);
  jobsDone += jobs.length;
}
const admin = new Psup();
await admin.shutdown({graceMs: 0});
await admin.close();
for (let pid; (pid = keeper());) await pause(10, pid); // its directory is its own
console.log(`# ${total} kills ${JSON.stringify(killed)}, ${jobsDone} jobs: ` +
    `${JSON.stringify(ends)}, ${settled} calls settled`);
console.log(wrong === 0 ? 'ok - no job twice, no result missing, nobody hangs'
  : `# ${base} is kept`);
if (wrong === 0) fs.rmSync(base, {recursive: true});
process.exit(wrong === 0 ? 0 : 1);
