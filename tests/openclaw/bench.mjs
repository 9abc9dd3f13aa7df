// SPDX-License-Identifier: MIT
// bench.mjs [ROUNDS [MS]]: calls of exec through OpenClaw's own tool and through
// the package's (tools/clients/node), 8 and 64 at once, in turns, each in a
// process of its own for MS ms: calls a second, cpu of the Node process a call,
// p99 of the event loop's delay. Of /bin/true, which psup runs without a shell, and
// of true, for which both start bash; beside them xargs -P, which does nothing but
// start the same: what the machine can do at all. Prints medians as a table, and
// the ratios, each of them the median of the rounds' own. Needs PSUP_TEST_BIN and
// PSUP_PACKAGE, the path of tools/clients/node/index.js; run from BUILD/openclaw,
// where tests/openclaw/run puts it.
import {execFile, spawn} from 'node:child_process';
import {once} from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import {monitorEventLoopDelay, performance} from 'node:perf_hooks';
import {promisify} from 'node:util';

const [word = '3', ...more] = process.argv.slice(2);
const COMMANDS = ['/bin/true', 'true'], WIDTHS = [8, 64];
const sides = {
  async openclaw(command) {
    const {loadOpenClaw, openClaw} = await import('./sides.mjs');
    await loadOpenClaw();
    const tools = openClaw('bench', '/');
    return {call: () => tools.call('exec', {command}), close() {}};
  },
  async psup(command) {
    const {Psup, createExecTool} = await import(process.env.PSUP_PACKAGE);
    const psup = await Psup.connect({scope: 'bench', start: false});
    const tool = createExecTool({psup, cwd: '/'});
    return {call: async () => {
      const {details} = await tool.execute('id', {command});
      return {isError: details.status === 'failed'};
    }, close: () => psup.close()};
  },
};

async function measure(side, command, width, ms) {
  const {call, close} = await sides[side](command);
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
  await all(begin + ms);
  const seconds = (performance.now() - begin) / 1000;
  const {user, system} = process.cpuUsage(cpu);
  await close();
  return {rate: calls / seconds, cpu: (user + system) / 1000 / calls,
    p99: delay.percentile(99) / 1e6};
}

// As OpenClaw starts them, without it: as many as psup did.
async function machine(command, width, count) {
  const n = Math.max(width, Math.round(count)), begin = performance.now();
  const child = spawn('xargs', ['-P', width, '-I{}', '/bin/bash', '-c', command],
      {stdio: ['pipe', 'ignore', 'inherit']});
  child.stdin.end('x\n'.repeat(n));
  await once(child, 'exit');
  return {rate: n / (performance.now() - begin) * 1000};
}

const median = all => {
  all.sort((a, b) => a - b);
  return (all[all.length >> 1] + all[all.length - 1 >> 1]) / 2;
};

async function drive(rounds, ms) {
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
  const keep = (key, row) => {
    (got[key] ??= []).push(row);
    console.error(`# ${key}: ${JSON.stringify(row)}`);
    return row;
  };
  for (let round = 0; round < rounds; round++) {
    for (const command of COMMANDS) {
      for (const width of WIDTHS) {
        for (const side of Object.keys(sides)) {
          const {stdout} = await promisify(execFile)(process.execPath,
              [import.meta.filename, 'one', side, command, width, ms], {env});
          keep(`${command} ${width} ${side}`,
              JSON.parse(stdout.trim().split('\n').at(-1)));
        }
        const {rate} = got[`${command} ${width} psup`].at(-1);
        keep(`${command} ${width} xargs`,
            await machine(command, width, rate * ms / 1000));
      }
    }
  }
  guard.stdio[3].destroy();
  await once(guard, 'exit');
  console.log('| | OpenClaw | psup | ratio | xargs |\n|---|---|---|---|---|');
  for (const command of COMMANDS) {
    for (const width of WIDTHS) {
      const of = side => got[`${command} ${width} ${side}`];
      for (const [key, what] of [['rate', 'calls a second'],
        ['cpu', 'cpu of Node a call, ms'], ['p99', 'event loop p99, ms']]) {
        const values = side => of(side).map(row => row[key]);
        const [theirs, ours] = [values('openclaw'), values('psup')];
        const ratio = median(ours.map((v, i) => v / theirs[i]));
        console.log(`| \`${command}\`, ${width} at once: ${what} | ` +
            `${median(theirs).toFixed(1)} | ${median(ours).toFixed(2)} | ` +
            `${ratio.toFixed(3)} | ${key === 'rate'
              ? median(values('xargs')).toFixed(0) : ''} |`);
      }
    }
  }
}

if (word === 'one') {
  const [side, command, width, ms] = more;
  console.log(JSON.stringify(await measure(side, command, +width, +ms)));
} else {
  await drive(+word, +(more[0] ?? 4000));
}
process.exit(0);
