// SPDX-License-Identifier: MIT
// The tools exec and process as OpenClaw has them: same parameters, same
// answers, run by psup. A call is taken as models make it (docs/protocol.md,
// section 14).
import {Psup} from './psup.js';
import {EXTRAS, METHODS, SLIPS} from './methods.js';

const ACTIONS = Object.keys(METHODS).filter(name =>
  METHODS[name][1] && name !== 'exec');
const actionsOf = tool => tool === 'exec' ? ['exec'] : ACTIONS;
const rowsOf = method => METHODS[method][1];
const isKnown = (tool, name) => EXTRAS[name]?.[0] === tool ||
    actionsOf(tool).some(method => rowsOf(method)[name]);
const REQUIRED = Object.fromEntries(['exec', ...ACTIONS].map(method =>
  [method, Object.keys(rowsOf(method)).filter(name =>
    rowsOf(method)[name][0].includes('!'))]));
const NAMES_MAX = 16;

// --- the arguments -----------------------------------------------------------

const NUMBER = /^[+-]?\d{1,15}$/, FRACTION = /^[+-]?\d{1,15}(\.\d{1,15})?$/;

// A list or a map that came as text: as its JSON, or a list's only word.
function unwritten(type, name, text) {
  const list = type.startsWith('array');
  if (!list && !/^(map|stdin)/.test(type)) return undefined;
  if (text.startsWith(list ? '[' : '{')) {
    try {
      return JSON.parse(text);
    } catch {
      // then it is a text
    }
  }
  return list && name !== 'argv' && /^\S+$/.test(text) ? [text] : undefined;
}

function bendText(type, name, v) {
  const text = v.trim(), kind = type.match(/^[a-z]+/)[0];
  if (type.startsWith('data')) return v;
  const blank = ['int', 'number', 'bool'].includes(kind) || name === 'host';
  if (v === '' || (blank && text === '')) return undefined;
  if (kind === 'bool') {
    return /^(true|false)$/i.test(text) ? text.toLowerCase() === 'true' : v;
  }
  if (kind === 'int' || kind === 'signal') return NUMBER.test(text) ? +text : v;
  if (kind === 'number') return FRACTION.test(text) ? +text : v;
  return name === 'host' ? text.toLowerCase() : v;
}

function bendMap(type, v) {
  const entries = Object.entries(v).filter(([, value]) => value != null);
  const texts = type.startsWith('map of');
  const map = Object.fromEntries(entries.map(([key, value]) => [key,
    texts && (typeof value === 'boolean' || Number.isInteger(value))
      ? String(value) : value]));
  return entries.length > 0 || !type.startsWith('stdin') ? map : undefined;
}

// The value as the row wants it; undefined: it counts as absent.
function bend([type], name, v) {
  if (v === undefined) return undefined;
  if (v === null) return type.includes('|nil') ? null : undefined;
  if (typeof v === 'string') {
    const inner = unwritten(type, name, v.trim());
    v = inner === undefined ? bendText(type, name, v)
      : bend([type], name, inner);
  }
  if (v === 0 && /^(int|num).*\+/.test(type)) return undefined;
  if (Array.isArray(v)) {
    return v.length === 0 && (!type.startsWith('array') || type.includes('+'))
      ? undefined : v;
  }
  if (typeof v === 'object' && !(v instanceof Uint8Array) &&
      /^(map|stdin)/.test(type)) return bendMap(type, v);
  if (typeof v === 'number' && type.startsWith('int') && type.includes('~') &&
      Math.abs(v) < 1e15) return Math.floor(v);
  return v;
}

// The parameter that was meant, where the call would do the wrong thing.
function meantBy(call, name, v) {
  for (const [said, meant] of SLIPS) {
    const row = said === name && rowsOf(call.method)[meant];
    if (!row || row[2] || call.params[meant] !== undefined) continue;
    if (isKnown(call.tool, name) &&
        !(row[0].startsWith('data') && typeof v === 'string')) continue;
    return meant;
  }
}

function refuse(message, field) {
  return Object.assign(new Error(message), {code: 'invalid-params', field});
}

function takeOther(call, name, v) {
  const [tool, stands] = EXTRAS[name] ?? [];
  if (tool === call.tool) {
    if (stands && typeof v === 'string' && call.params[stands] === undefined) {
      // eslint-disable-next-line no-control-regex
      call.params[stands] = v.replace(/[\0-\x1f\x7f-\x9f]/g, '?').slice(0, 40);
    }
    return;
  }
  const meant = meantBy(call, name, v);
  if (meant) {
    throw refuse(`${call.method} has no parameter "${name}", did you mean ` +
        `"${meant}"?`, name);
  }
  if (!isKnown(call.tool, name) && call.ignored.length < NAMES_MAX) {
    call.ignored.push(name.slice(0, 60));
  }
}

function methodOf(tool, action) {
  if (tool === 'exec') return 'exec';
  const bare = name => name.replace(/[-_\s]/g, '').toLowerCase();
  const found = typeof action === 'string' &&
      ACTIONS.find(name => bare(name) === bare(action));
  if (found) return found;
  const shown = action == null || action === '' ? ''
    : ` ${JSON.stringify(action).slice(0, 62)}`;
  throw refuse(`${shown ? 'Invalid' : 'Missing'} process action${shown}. ` +
      `Expected one of: ${ACTIONS.join(', ')}.`, 'action');
}

// {method, params, ignored}; throws what is wrong.
export function takeCall(call, tool, args) {
  Object.assign(call, {tool, params: {}, ignored: []});
  call.method = methodOf(tool, args?.action);
  const rows = rowsOf(call.method), others = [];
  for (const name of Object.keys(args ?? {})) {
    const v = args[name];
    if (!Object.hasOwn(rows, name)) {
      others.push(name);
      continue;
    }
    const bent = bend(rows[name], name, v);
    if (bent !== undefined) call.params[rows[name][2] ?? name] = bent;
  }
  for (const name of others) {
    const v = args[name];
    if (v != null && v !== '' &&
        !(tool === 'process' && name === 'action')) takeOther(call, name, v);
  }
  for (const name of REQUIRED[call.method]) {
    if (call.params[name] === undefined) {
      throw refuse(`${name} is required for this action.`, name);
    }
  }
  return call;
}

// --- the answer --------------------------------------------------------------

function failure(call, error, cwd) {
  const details = {status: 'failed', error: error.message,
    code: error.code ?? 'internal'};
  if (error.field) details.field = error.field;
  if (call.tool === 'exec') {
    Object.assign(details, {
      failureKind: error.code === 'cancelled' ? 'aborted' : 'runtime-error',
      exitCode: null, exitSignal: null, durationMs: 0, aggregated: '',
      timedOut: false, noOutputTimedOut: false,
      cwd: call.params.workdir ?? cwd});
  }
  return {text: error.message, details};
}

function result({ignored = [], tool}, {text, details}) {
  if (ignored.length > 0) {
    details.ignored = ignored;
    text += (text === '' ? '' : text.endsWith('\n') ? '\n' : '\n\n') +
        `Ignored, not known to ${tool}: ${ignored.join(', ')}.`;
  }
  return {content: [{type: 'text', text}], details};
}

const aborted = () => new Error('Tool execution was aborted');

// --- the schemas -------------------------------------------------------------

const SCHEMAS = {int: 'integer', number: 'number', bool: 'boolean',
  stream: 'boolean', map: 'object', stdin: ['string', 'object'], array: 'array'};

function property(type, description) {
  const kind = SCHEMAS[type.match(/^[a-z]+/)[0]] ?? 'string';
  return {type: kind, description,
    ...(kind === 'array' && {items: {type: 'string'}}),
    ...(type.startsWith('map of') && {additionalProperties: {type: 'string'}})};
}

// A tool's arguments as a JSON schema: flat, as OpenClaw's own.
export function schema(tool) {
  const properties = tool === 'process'
    ? {action: {type: 'string', enum: ACTIONS}} : {};
  for (const method of actionsOf(tool)) {
    for (const [name, [type, doc]] of Object.entries(rowsOf(method))) {
      if (!type.includes('^')) properties[name] ??= property(type, doc);
    }
  }
  for (const [name, [of, , doc]] of Object.entries(EXTRAS)) {
    if (of === tool) properties[name] = property('str', doc);
  }
  return {type: 'object', properties,
    required: tool === 'process' ? ['action'] : ['command']};
}

// --- the tools ---------------------------------------------------------------

// psup: a Psup, a promise of one, a function that gives either; or what
// Psup.connect() takes.
function lazily(options) {
  const {psup} = options;
  let made;
  return async () => {
    if (typeof psup === 'function') return psup();
    if (psup) return psup;
    made ??= Psup.connect(options.connect);
    return made.catch(e => {
      made = undefined;
      throw e;
    });
  };
}

// What a call of exec has that its model does not say.
function execParams(options, params, psup, stream) {
  const {sessionKey, scopeKey, cwd, env, backgroundMs, timeoutSec,
    notifyOnExit, lane, allowBackground} = options;
  return {sessionKey, lane, notifyOnExit, yieldMs: backgroundMs,
    timeout: params.timeoutSeconds === undefined ? timeoutSec : undefined,
    scope: psup.server.scope ? undefined : scopeKey,
    baseDir: cwd ?? process.cwd(),
    baseEnv: env, ...params,
    ...(allowBackground === false && {yieldMs: null, background: undefined}),
    stream};
}

function updates(onUpdate) {
  const details = {status: 'running'};
  let bytes = 0;
  return (name, note) => {
    if (name === 'session') {
      details.sessionId = note.sessionId;
      if (note.pid) details.pid = note.pid;
    } else if (name === 'tail') {
      ({bytes} = note);
      details.tail = note.line;
    } else {
      return;
    }
    onUpdate({content: [{type: 'text', text: details.tail ?? ''}],
      details: {...details, bytes}});
  };
}

function makeTool(tool, options, description) {
  const get = lazily(options);
  return {
    name: options.name ?? tool,
    label: options.name ?? tool,
    description: options.description ?? description,
    parameters: schema(tool),
    async execute(id, args, signal, onUpdate) {
      const call = {};
      if (signal?.aborted) throw aborted();
      try {
        takeCall(call, tool, args);
        const psup = await get();
        const live = tool === 'exec' && onUpdate;
        const {text, details} = await psup.call(call.method, tool === 'exec'
          ? execParams(options, call.params, psup, live ? 'tail' : undefined)
          : call.params, {signal, note: live && updates(onUpdate)});
        if (tool === 'exec' && signal?.aborted &&
            details.failureKind === 'aborted') throw aborted();
        return result(call, {text, details});
      } catch (e) {
        if (signal?.aborted) throw aborted();
        return result(call, failure({tool, params: {}, ...call}, e,
            options.cwd ?? process.cwd()));
      }
    },
  };
}

export function createExecTool(options = {}) {
  return makeTool('exec', options, 'Run shell commands. One that takes long ' +
      'goes on in the background, also over a restart of this program: look ' +
      'after it with process.');
}

export function createProcessTool(options = {}) {
  return makeTool('process', options, 'Look after commands that run in the ' +
      'background: list, poll, log, wait, write, send-keys, kill and more.');
}
