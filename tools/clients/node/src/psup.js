// SPDX-License-Identifier: MIT
// A server, as a program sees it: a method for each of the protocol's, events,
// output by position. Its connections are its own affair.
import {randomBytes, randomInt} from 'node:crypto';
import {EventEmitter} from 'node:events';
import {constant} from './codec.js';
import {PsupError} from './error.js';
import {Link, WINDOW} from './link.js';
import {METHODS} from './methods.js';
import {runtimeDir, startServer} from './place.js';
import {spawn} from './spawn.js';

// Another's in each process; then they are counted.
const ours = randomBytes(12).toString('hex');
let count = 0;
const key = () => `${ours}-${++count}`;

// The name by which a request that may be lost is known again.
const NAMES = {
  exec: ['requestKey', key],
  kill: ['killId', () => randomInt(1, 2 ** 31 - 1)],
  upgrade: ['id', () => randomBytes(8).toString('hex')],
};

// May the answer take long?
function isSlow(method, params) {
  if (method === 'exec') return !params.background;
  return method === 'wait' || method === 'drainScope' ||
      (method === 'lanes' && params.op === 'drain') || params.timeout > 0 ||
      (method.startsWith('kill') && params.wait !== false);
}

export class Psup extends EventEmitter {
  // A server that answers; starts one where none runs.
  static async connect(options = {}) {
    const psup = new Psup(options);
    try {
      await psup.links[0].ready();
    } catch (e) {
      await psup.close();
      throw e;
    }
    return psup;
  }

  constructor(options = {}) {
    super({captureRejections: true});
    this.options = options;
    this.dir = runtimeDir(options);
    this.patience = options.patienceMs ?? 30000;
    this.links = [new Link(this)]; // the first is never full of slow calls
    this.spare = []; // of ended streams
    this.streams = 0;
    this.waiting = []; // for a stream's connection
    this.seen = 0;
    this.env = options.env === undefined ? constant(process.env)
      : options.env && constant(options.env);
    this.on('newListener', name => name === 'event' && this.subscribed());
  }

  // The connections that a call may take: the least loaded; one more before
  // any has much to wait for.
  link(slow) {
    const [first, ...others] = this.links;
    if (!slow || first.slow < 16) return first;
    const least = others.reduce((a, b) => b.load < a?.load ? b : a, others[0]);
    if ((!least || least.load >= WINDOW / 4) &&
        this.links.length < (this.options.connections ?? 8)) {
      this.links.push(new Link(this));
      return this.links.at(-1);
    }
    return least ?? first;
  }

  call(method, params = {}, options = {}) {
    // the connection itself says it
    if (method === 'hello') return this.links[0].ready();
    if (params === null || typeof params !== 'object' || Array.isArray(params)) {
      return Promise.reject(new PsupError('invalid-params', `${method} takes ` +
          `its parameters as {name: value, ...}, not ${typeof params}`));
    }
    const name = NAMES[method];
    if (name && params[name[0]] === undefined) {
      params = {...params, [name[0]]: name[1]()};
    }
    // the connection has it, from a server that can keep it
    if (method === 'exec' && params.baseEnv === undefined && this.env &&
        !this.keeps) params = {...params, baseEnv: this.env};
    if (method === 'exec' && params.baseDir === undefined) {
      params = {...params, baseDir: here()};
    }
    const slow = isSlow(method, params);
    return (options.link ?? this.link(slow)).call(method, params,
        {...options, slow});
  }

  // A connection for one stream alone: who does not read it stops no other.
  async streamLink(signal) {
    if (this.streams >= (this.options.streams ?? 256)) {
      await new Promise(resolve => {
        this.waiting.push(resolve);
        signal?.addEventListener('abort', resolve, {once: true});
      });
    }
    this.streams++;
    return this.spare.pop() ?? new Link(this);
  }

  endStream(link) {
    this.streams--;
    link.stop(false);
    if (this.spare.length < 8 && !this.closing) this.spare.push(link);
    else link.close(closed());
    this.waiting.shift()?.();
  }

  // The output of a session from a position on, over restarts of both sides.
  async *output(sessionId, {since = 0, signal, maxBytes = 262144} = {}) {
    for (;;) {
      const {details} = await this.poll({sessionId, since, maxBytes, raw: true,
        timeout: 30000}, {signal});
      const {output, next = since, dropped = 0} = details;
      if (output?.length > 0) {
        yield {data: output, pos: next - output.length, dropped};
      }
      since = next;
      if (details.closed && !(output?.length > 0)) return;
    }
  }

  spawn(file, args, options) {
    return spawn(this, file, args, options);
  }

  // ------------------------------------------------------------------ events

  subscribed() {
    const [link] = this.links;
    if (link.held) return;
    link.held = true;
    if (link.state === 'open') this.subscribeNow();
    else link.pump();
  }

  subscribeNow() {
    const {subscriber, kinds} = this.options;
    this.links[0].call('subscribe', {subscriber, kinds})
        .catch(e => this.failed(e));
  }

  // Has the server keep the environment for this connection, so that it does
  // not travel with every call. An older one cannot: then it does.
  async settle(link, until) {
    if (!this.env || this.keeps === false) return;
    try {
      await link.greet('defaults', {baseEnv: this.env}, until);
      this.keeps = true;
    } catch (e) {
      const first = this.keeps === undefined;
      if (['connection-lost', 'no-server', 'bad-request'].includes(e.code)) {
        throw e;
      }
      if (first || e.code === 'unknown-method') this.keeps = false;
      if (!first) throw e; // what waits for this connection has none with it
    }
  }

  // A connection has said hello.
  opened(link, hello) {
    const before = this.server;
    this.server = hello;
    if (link !== this.links[0]) return;
    if (before && before.incarnation !== hello.incarnation) this.seen = 0;
    if (link.held) this.subscribeNow();
    if (before) this.emit('reconnect', hello);
  }

  // After a lost connection they come again, until acknowledged.
  event(event) {
    if (event.seq <= this.seen) return;
    this.seen = event.seq;
    this.emit('event', event);
  }

  failed(error) {
    if (this.closing) return;
    if (this.listenerCount('error') > 0) this.emit('error', error);
    else process.emitWarning(error);
  }

  [Symbol.for('nodejs.rejection')](error) {
    this.failed(error);
  }

  ack(seq, options) {
    const params = typeof seq === 'object' ? seq : {seq};
    return this.call('ack', {subscriber: this.options.subscriber, ...params},
        options);
  }

  // --------------------------------------------------------------------- end

  // One at a time, whoever asks.
  start() {
    this.starting ??= startServer(this.dir, this.options)
        .finally(() => { this.starting = undefined; });
    return this.starting;
  }

  async close() {
    this.closing = true;
    const why = closed();
    [...this.links, ...this.spare].forEach(link => link.close(why));
    this.waiting.splice(0).forEach(resolve => resolve());
  }

  [Symbol.asyncDispose]() {
    return this.close();
  }
}

// Where commands run, as with child_process. It may have been removed.
function here() {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}

// What is at fault, where the code alone says it.
const FIELDS = {'not-found': 'sessionId', 'bad-workdir': 'workdir'};

// An answer that says no: as call() gives it, for tools and their models.
function granted(answer) {
  const {isError, text, details} = answer;
  if (!isError || !details?.code) return answer;
  throw new PsupError(details.code, details.error ?? text,
      details.field ?? FIELDS[details.code], {details});
}

const closed = () => new PsupError('connection-lost', 'psup was closed');

for (const method of Object.keys(METHODS)) {
  const name = method.replace(/-(.)/g, (_, letter) => letter.toUpperCase());
  for (const is of new Set([method, name])) {
    if (Object.hasOwn(Psup.prototype, is)) continue;
    Object.defineProperty(Psup.prototype, is, {configurable: true,
      writable: true, async value(params, options) {
        return granted(await this.call(method, params, options));
      }});
  }
}
