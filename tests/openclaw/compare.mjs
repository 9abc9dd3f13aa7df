// SPDX-License-Identifier: MIT
// compare.mjs FILE: what both sides said, as collect.mjs wrote it. Each field
// that OpenClaw has, psup has with the same value, or differences.mjs says why
// not; and details fit OpenClaw's own schemas. TAP.
import fs from 'node:fs';
import {differences} from './differences.mjs';

const {scratch, results, schema} =
    JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const measured = new Set(['pid', 'startedAt', 'endedAt', 'durationMs',
  'runtimeMs', 'idleMs', 'lastOutputAt']);

// What is another at each run.
function steady(value, side, id, key) {
  if (measured.has(key)) return typeof value;
  if (typeof value === 'string') {
    if (id) value = value.replaceAll(id, 'ID');
    return value.replaceAll(`${scratch}/${side}`, 'HERE')
        .replace(/gate-(openClaw|psup)-\d+/g, 'GATE').replaceAll(scratch, 'SCRATCH')
        .replace(/\bpid \d+/, 'pid N')
        .replace(/^(ID (?:running|completed|failed|killed) +)[\dhms]+/gm, '$1T');
  }
  if (Array.isArray(value)) return value.map(v => steady(v, side, id));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(
      ([k, v]) => [k, steady(v, side, id, k)]));
}

// [field, value] of every value below.
function flat(value, field = '') {
  if (value === null || typeof value !== 'object') return [[field, value]];
  const inner = Object.entries(value).flatMap(
      ([k, v]) => flat(v, Array.isArray(value) ? `${field}[]` : field ? `${field}.${k}` : k));
  return inner.length > 0 ? inner : [[field, Array.isArray(value) ? '[]' : '{}']];
}

// One field, as the rows see it.
function settle(field, step, openClaw, psup) {
  let a = openClaw, b = psup;
  for (const row of differences) {
    if (JSON.stringify(a) === JSON.stringify(b)) break;
    if (!row.field.test(field)) continue;
    const [na, nb] = [row.openClaw(a, step), row.psup(b, step)];
    row.used ||= JSON.stringify([na, nb]) !== JSON.stringify([a, b]);
    [a, b] = [na, nb];
  }
  return JSON.stringify(a) === JSON.stringify(b);
}

function unlike(result) {
  const found = [];
  result.openClaw.answers.forEach((a, i) => {
    const b = result.psup.answers[i];
    const [tool, args] = a.step;
    const step = {tool, ...args, thrown: a.thrown,
      openClaw: a.details, psup: b.details};
    const mine = flat(steady({text: b.text, details: b.details,
      isError: b.isError}, 'psup', result.psup.id));
    const get = field => mine.find(([f]) => f === field)?.[1];
    for (const [field, value] of flat(steady({text: a.text,
      details: a.details, isError: a.isError}, 'openClaw', result.openClaw.id))) {
      if (!settle(field, step, value, get(field))) {
        found.push({step: i, call: JSON.stringify(a.step), field,
          openClaw: value, psup: get(field)});
      }
    }
  });
  return found;
}

// As much of JSON Schema as these schemas use; additional keys are allowed.
function misfits(rule, value, at) {
  if (rule.anyOf) {
    const all = rule.anyOf.map(one => misfits(one, value, at));
    return all.some(one => one.length === 0) ? []
        : all.reduce((best, one) => one.length < best.length ? one : best);
  }
  if ('const' in rule && value !== rule.const) return [`${at} is no ${rule.const}`];
  const is = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  if (rule.type && rule.type !== is) return [`${at} is ${is}, no ${rule.type}`];
  if (rule.type === 'array') {
    return value.flatMap((v, i) => misfits(rule.items, v, `${at}[${i}]`));
  }
  if (rule.type !== 'object') return [];
  return [...(rule.required ?? []).filter(k => !(k in value))
      .map(k => `${at}.${k} is missing`),
  ...Object.entries(rule.properties ?? {}).filter(([k]) => k in value)
      .flatMap(([k, v]) => misfits(v, value[k], `${at}.${k}`))];
}

const input = new Set(['write', 'send-keys', 'submit', 'paste']);
const end = new Set(['kill', 'clear', 'remove']);
// The schema of an action's details, by what only that one requires.
function schemaOf(action) {
  const has = (rule, key) => rule.anyOf ? rule.anyOf.some(r => has(r, key))
      : (rule.required ?? []).includes(key);
  const closed = rule => !['sessions', 'aggregated', 'output']
      .some(key => has(rule, key));
  return schema.anyOf.find(rule =>
    action === 'list' ? has(rule, 'sessions')
        : action === 'poll' ? has(rule, 'aggregated')
        : action === 'log' ? has(rule, 'output')
        : input.has(action) ? closed(rule) && has(rule, 'sessionId')
        : end.has(action) && closed(rule) && !has(rule, 'sessionId'));
}

let n = 0, failed = 0;
function test(bad, name) {
  console.log(`${bad.length > 0 ? 'not ok' : 'ok'} ${++n} - ${name}`);
  for (const line of bad.slice(0, 20)) console.log(`# ${line}`);
  failed += bad.length > 0;
}

for (const result of results) {
  test(unlike(result).map(u =>
    `${u.call} ${u.field}\n#   openclaw ${JSON.stringify(u.openClaw)}\n#   psup     ${JSON.stringify(u.psup)}`),
  result.name);
}
const wrong = results.flatMap(r => r.psup.answers.flatMap(a => {
  const action = a.step[0] === 'end' ? 'poll' : a.step[1].action;
  const rule = schemaOf(action);
  return rule ? misfits(rule, a.details, action) : [];
}));
test([...new Set(wrong)], 'every answer of process fits the declared schema');
const shape = ['status', 'exitCode', 'exitSignal', 'durationMs', 'aggregated',
  'noOutputTimedOut', 'cwd'];
test(results.flatMap(r => r.psup.answers.filter(a => a.step[0] === 'exec' &&
  a.details.status !== 'running').flatMap(a => [...shape,
  ...(a.details.status === 'failed' ? ['failureKind', 'timedOut'] : [])]
    .filter(key => !(key in a.details)).map(key => `${a.step[1].command}: ${key}`))),
'every answer of exec has what OpenClaw\'s have');
test(results.flatMap(r => r.psup.answers.filter(a =>
  a.step[0] === 'exec' && a.details.status === 'running' &&
  !(a.details.pid > 0 && a.text.includes(`, pid ${a.details.pid})`)))
    .map(a => `${a.step[1].command}: ${a.details.pid}: ${a.text}`)),
'every command that runs is answered with its pid');
test(differences.filter(row => !row.used).map(row => row.why),
    'every difference of the table is there');
console.log(`1..${n}`);
process.exit(failed > 0 ? 1 : 0);
