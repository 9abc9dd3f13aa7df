// SPDX-License-Identifier: MIT
// collect.mjs FILE: asks both sides every sequence and writes what they said.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {sequences} from './sequences.mjs';

const atOnce = 6; // sequences
const scratch = fs.mkdtempSync('/dev/shm/psup-openclaw.');
process.env.OPENCLAW_STATE_DIR = path.join(scratch, 'state');
process.env.PSUP_RUNTIME_DIR = path.join(scratch, 'run');
process.env.SHELL = '/bin/bash';
delete process.env.PSUP_SCOPE;
fs.mkdirSync(process.env.PSUP_RUNTIME_DIR, {mode: 0o700});
const {loadOpenClaw, openClaw, psup} = await import('./sides.mjs');

// What stands for the sequence's own session and gate.
function fill(value, life) {
  if (typeof value === 'string') {
    return value === 'ID' ? life.id ?? 'ID' : value.replaceAll('GATE', life.gate);
  }
  if (Array.isArray(value)) return value.map(item => fill(item, life));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(
      ([key, item]) => [key, fill(item, life)]));
}

// Polls to the end: the texts one after the other, and the last details. A
// poll that says nothing new but that it runs is the wait for it.
async function pollToEnd(side, life) {
  let text = '';
  for (;;) {
    const a = await side.call('process',
        {action: 'poll', sessionId: life.id, timeout: 5000});
    const running = a.details.status === 'running';
    text += running ? a.text.replace(/(\(no new output\))?\n\nProcess still running\.$/, '\n')
        : a.text.replace(/^\(no new output\)\n\n/, '\n\n');
    if (!running) return {...a, text: text.replace(/[\r\n]+/g, '\n').trim()};
  }
}

async function live(side, steps, gate) {
  const life = {id: undefined, gate};
  const answers = [];
  for (const [what, args] of steps) {
    if (what === 'open') {
      fs.writeFileSync(gate, '');
      continue;
    }
    const a = what === 'end' ? await pollToEnd(side, life)
        : await side.call(what, fill(args, life));
    life.id ??= a.details.status === 'running' ? a.details.sessionId : undefined;
    answers.push({step: [what, args], ...a});
  }
  await side.close();
  return {id: life.id, answers};
}

await loadOpenClaw();
const results = [];
const queue = sequences.map((sequence, n) => ({...sequence, n}));
async function work() {
  for (let next; (next = queue.shift()) !== undefined;) {
    const {name, steps, n} = next;
    const result = {name};
    for (const [side, make] of [['openClaw', openClaw], ['psup', psup]]) {
      const dir = path.join(scratch, side);
      fs.mkdirSync(dir, {recursive: true});
      result[side] = await live(make(`s${n}`, dir), steps,
          path.join(scratch, `gate-${side}-${n}`));
    }
    results[n] = result;
  }
}
await Promise.all(Array.from({length: atOnce}, work));
fs.writeFileSync(process.argv[2], JSON.stringify({scratch, results,
  schema: openClaw('x', '/').schema}, null, 1));
const {spawnSync} = await import('node:child_process');
spawnSync(path.join(process.env.PSUP_TEST_BIN, 'psup'), ['shutdown']);
fs.rmSync(scratch, {recursive: true, force: true, maxRetries: 5});
console.error(`${results.length} sequences, ${results.reduce((sum, r) => sum + r.psup.answers.length, 0)} calls to each; node ${process.version} on ${os.arch()}`);
process.exit(0); // OpenClaw keeps timers
