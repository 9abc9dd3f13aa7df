// SPDX-License-Identifier: MIT
// bench.mjs [ROUNDS]: calls of exec with `true` through OpenClaw's own tool and
// through the package's (tools/clients/node), 8 and 64 at once, in turns, each
// in a process of its own: calls a second, cpu of the Node process a call, p99
// of the event loop's delay. Prints medians as a table, and the ratios. Needs
// PSUP_TEST_BIN and PSUP_PACKAGE, the path of tools/clients/node/index.js; run
// from BUILD/openclaw, where tests/openclaw/run puts it.
import {execFile, spawn} from 'node:child_process';
import {once} from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import {monitorEventLoopDelay, performance} from 'node:perf_hooks';
import {promisify} from 'node:util';

const MS = 4000;
const sides = {
  async openclaw() {
    const {loadOpenClaw, openClaw} = await import('./sides.mjs');
    await loadOpenClaw();
    const tools = openClaw('bench', '/');
    return {call: () => tools.call('exec', {command: 'true'}), close() {}};
  },
  async psup() {
    const {Psup, createExecTool} = await import(process.env.PSUP_PACKAGE);
    const psup = await Psup.connect({scope: 'bench', start: false});
    const tool = createExecTool({psup, cwd: '/'});
    return {call: async () => {
      const {details} = await tool.execute('id', {command: 'true'});
      return {isError: details.status === 'failed'};
    }, close: () => psup.close()};
  },
};

async function measure(side, width) {
  const {call, close} = await sides[side]();
  let calls = 0;
  const until = async end => {
    while (performance.now() < end) {
      if ((await call()).isError) throw new Error('a call failed');
      calls++;
    }
  };
  const all = end => Promise.all(Array.from({length: width}, () => until(end)));
  await all(performance.now() + 500);
  calls = 0;
  const delay = monitorEventLoopDelay({resolution: 1});
  delay.enable();
  const cpu = process.cpuUsage(), begin = performance.now();
  await all(begin + MS);
  const seconds = (performance.now() - begin) / 1000;
  const {user, system} = process.cpuUsage(cpu);
  await close();
  return {rate: calls / seconds, cpu: (user + system) / 1000 / calls,
    p99: delay.percentile(99) / 1e6};
}

const median = all => all.sort((a, b) => a - b)[all.length >> 1];

async function drive(rounds) {
  const bin = process.env.PSUP_TEST_BIN;
  const base = fs.mkdtempSync('/dev/shm/psup-test-bench-');
  const env = {...process.env, PSUP_RUNTIME_DIR: path.join(base, 'run'),
    PSUP_CONFIG: path.join(base, 'none.conf')};
  fs.mkdirSync(env.PSUP_RUNTIME_DIR, {mode: 0o700});
  fs.writeFileSync(env.PSUP_CONFIG, '');
  const guard = spawn(path.join(bin, '../tests/helpers/guard'),
      [path.join(bin, 'psupd')], {stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
        env: {...env, GUARD_REMOVE: base}});
  const got = {};
  for (let round = 0; round < rounds; round++) {
    for (const width of [8, 64]) {
      for (const side of Object.keys(sides)) {
        const {stdout} = await promisify(execFile)(process.execPath,
            [import.meta.filename, 'one', side, width], {env});
        const row = JSON.parse(stdout.trim().split('\n').at(-1));
        (got[`${width} ${side}`] ??= []).push(row);
        console.error(`# ${width} at once, ${side}: ${stdout.trim()}`);
      }
    }
  }
  guard.stdio[3].destroy();
  await once(guard, 'exit');
  console.log('| | OpenClaw | psup | ratio |\n|---|---|---|---|');
  for (const width of [8, 64]) {
    for (const [key, what] of [['rate', 'calls a second'],
      ['cpu', 'cpu of Node a call, ms'], ['p99', 'event loop p99, ms']]) {
      const [theirs, ours] = ['openclaw', 'psup'].map(side =>
        median(got[`${width} ${side}`].map(row => row[key])));
      console.log(`| ${width} at once: ${what} | ${theirs.toFixed(1)} | ` +
          `${ours.toFixed(2)} | ${(ours / theirs).toFixed(3)} |`);
    }
  }
}

const [word = '3', side, width] = process.argv.slice(2);
if (word === 'one') console.log(JSON.stringify(await measure(side, +width)));
else await drive(+word);
process.exit(0);
