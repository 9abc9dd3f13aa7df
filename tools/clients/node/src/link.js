// SPDX-License-Identifier: MIT
// One connection: requests out, answers and notifications in. Where it is lost
// it is taken up again, and asks again for what may be asked for twice.
import {Packer, Unpacker} from './codec.js';
import {PsupError} from './error.js';
import {METHODS} from './methods.js';
import {dial, keeperLives, nobodyThere} from './place.js';

const PROTOCOL = 1;
// The server takes 64 at once, then stops reading: a cancel must get through.
export const WINDOW = 60;
const A_TURN = 16; // messages, then others have theirs
// A server that has no room until something has ended, or is being replaced.
const FULL = ['busy', 'share-used-up'];
const AGAIN = [...FULL, 'connection-lost', 'stopping', 'no-server'];
const TRIES = 100; // of one call, over lost connections
const A_WRITE = 64 << 10; // bytes, then what was said is sent

// What comes is read into this, by all: it is taken at once.
const inbox = Buffer.allocUnsafeSlow(64 << 10);

const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

// May a call whose answer was lost be asked for again?
function mayRepeat(method, params) {
  const [name, value] = (METHODS[method]?.[0] ?? '').split('=');
  if (name === '*') return true;
  return name !== '' && (value === undefined ? params[name] != null
    : (params[name] ?? value) === value);
}

export class Link {
  constructor(client) {
    this.client = client;
    this.calls = new Map(); // msgid: under way
    this.queue = []; // not sent yet
    this.out = new Packer(); // said in this turn of the loop
    this.slow = 0; // of both: what may take long
    this.next = 1;
    this.socket = null;
    this.state = 'idle'; // connecting, open, closed
    this.failures = 0; // connections in a row that brought no answer
  }

  get load() {
    return this.calls.size + this.queue.length;
  }

  // Resolves with the answer's result. signal gives the request up; note hears
  // of its notifications.
  call(method, params = {}, {signal, note, slow = false} = {}) {
    return new Promise((resolve, reject) => {
      const call = {method, params, note, slow, tries: 0, resolve, reject};
      if (signal?.aborted) return reject(cancelled(method));
      if (signal) {
        call.abort = () => this.abort(call);
        signal.addEventListener('abort', call.abort, {once: true});
        call.signal = signal;
      }
      if (slow) this.slow++;
      this.queue.push(call);
      this.pump();
    });
  }

  done(call, error, result) {
    call.signal?.removeEventListener('abort', call.abort);
    if (call.slow) this.slow--;
    if (error) call.reject(error);
    else call.resolve(result);
  }

  abort(call) {
    const at = this.queue.indexOf(call);
    call.aborted = true;
    if (at >= 0 && !call.sent) {
      this.queue.splice(at, 1);
      this.done(call, cancelled(call.method));
    } else if (this.calls.get(call.msgid) === call) {
      if (this.socket) this.say([2, 'cancel', [{msgid: call.msgid}]]);
    }
    this.hold();
  }

  // Whether the process stays for us.
  hold() {
    const holds = this.load > 0 || Boolean(this.held);
    if (!this.socket || this.holds === holds) return;
    this.holds = holds;
    if (holds) this.socket.ref();
    else this.socket.unref();
  }

  // Throws where the message cannot be said.
  say(message) {
    this.out.message(message);
    if (this.out.n >= A_WRITE) return this.flush();
    if (this.saying) return;
    this.saying = true;
    queueMicrotask(() => this.flush());
  }

  // One write for all that was said in a turn.
  flush() {
    this.saying = false;
    if (this.out.n > 0) this.socket?.write(this.out.take());
  }

  pump() {
    if (this.state === 'closed') return this.fail(this.why);
    if (this.state === 'idle' && (this.queue.length > 0 || this.held)) {
      this.state = 'connecting';
      void this.connect();
    }
    if (this.state === 'open') {
      while (this.queue.length > 0 && this.calls.size < WINDOW &&
          !this.socket.writableNeedDrain) {
        this.send(this.queue.shift());
      }
    }
    this.hold();
  }

  // Resolves with what the server said to hello.
  ready() {
    return new Promise((resolve, reject) => {
      this.queue.push({resolve, reject});
      this.pump();
    });
  }

  send(call) {
    if (!call.method) return this.done(call, null, this.client.server);
    const msgid = this.next;
    try {
      this.say([0, msgid, call.method, call.params]);
    } catch (e) { // it cannot be said
      return this.done(call, e);
    }
    this.next = msgid % 0xffffffff + 1;
    call.msgid = msgid;
    call.sent = true;
    this.calls.set(msgid, call);
    // given up while the connection was away: its answer is still wanted
    if (call.aborted) this.say([2, 'cancel', [{msgid}]]);
  }

  // ---------------------------------------------------------------- messages

  take(data) {
    try {
      this.unpacker.push(data);
      this.drain();
      this.unpacker.keep();
    } catch (e) {
      this.broken(e);
    }
  }

  // Some messages, then whoever else waits for the loop.
  drain() {
    for (let n = 0; n < A_TURN; n++) {
      const message = this.unpacker.next();
      if (message === undefined) {
        if (this.resting) {
          this.resting = false;
          this.flow();
        }
        this.pump();
        return;
      }
      this.message(message);
    }
    this.resting = true;
    this.flow();
    const socket = this.socket;
    setImmediate(() => {
      if (this.socket !== socket || !socket) return;
      try {
        this.drain();
      } catch (e) {
        this.broken(e);
      }
    });
  }

  // Somebody does not read: the command waits, by way of this socket.
  stop(stopped) {
    this.stopped = stopped;
    this.flow();
  }

  flow() {
    if (this.stopped || this.resting) this.socket?.pause();
    else this.socket?.resume();
  }

  // Another scope needed what the server kept of this connection: it is sent
  // again, and the call behind it, once.
  lacks(call, error) {
    const {env} = this.client;
    if (call.method !== 'exec' || error?.code !== 'share-used-up' ||
        error.field !== 'baseEnv' || call.lacked || !env) return false;
    call.lacked = true;
    this.send({method: 'defaults', params: {baseEnv: env}, tries: TRIES,
      resolve() {}, reject() {}});
    return true;
  }

  message(m) {
    if (!Array.isArray(m) || (m[0] === 1 ? m.length !== 4
      : m[0] !== 2 || m.length !== 3 || !Array.isArray(m[2]))) {
      throw new PsupError('bad-request',
          'the server sent what is neither answer nor notification');
    }
    if (m[0] === 2) {
      const params = m[2][0];
      if (m[1] === 'event') this.client.event(params);
      else this.calls.get(params?.msgid)?.note?.(m[1], params);
      return;
    }
    const [, msgid, error, result] = m, call = this.calls.get(msgid);
    if (!call) {
      // an answer to nobody: a complaint about what we sent
      if (error) throw new PsupError(error.code, error.message, error.field);
      return;
    }
    this.calls.delete(msgid);
    this.failures = 0;
    if (this.lacks(call, error)) {
      this.send(call);
    } else if (error) {
      this.done(call, new PsupError(error.code ?? 'internal',
          error.message ?? `${call.method} failed`, error.field, error));
    } else {
      this.done(call, null, result ?? {});
    }
  }

  // What came is no message: nobody knows what was answered.
  broken(e) {
    const error = e instanceof PsupError ? e
      : new PsupError('bad-request', e.message, undefined, {cause: e});
    const lost = [...this.calls.values()];
    this.calls.clear();
    lost.forEach(call => this.done(call, error));
    this.helloFails?.(error);
    const socket = this.socket;
    this.lost();
    socket?.destroy();
  }

  // -------------------------------------------------------------- connecting

  async connect() {
    const client = this.client, until = Date.now() + client.patience;
    let why;
    for (let again = 0; this.state === 'connecting'; again++) {
      // at once after a while of peace, then ever later
      const wait = Math.min(2 ** (this.failures + again) - 1, 500,
          client.patience / 20);
      if (again > 0 && Date.now() + wait > until) break;
      if (wait > 0) await pause(wait);
      if (this.state !== 'connecting') return;
      try {
        await this.open(until);
        return this.pump();
      } catch (e) {
        // that it is full says more than that the time is over
        if (!FULL.includes(why?.code) || e.code !== 'no-server') why = e;
        this.socket?.destroy();
        if (e instanceof PsupError && !AGAIN.includes(e.code)) break;
        if (!nobodyThere(e)) continue;
        if (client.options.start !== false) {
          const error = await client.start().then(() => null, e => e);
          if (error) {
            why = error;
            break;
          }
        } else if (!this.held && !await keeperLives(client.dir)) {
          break; // who listens waits for the next one
        }
      }
    }
    if (this.state === 'closed') return;
    this.state = 'idle';
    this.fail(why instanceof PsupError ? why : new PsupError(
        'no-server', `no psup server at ${client.dir}: ${why?.message}`,
        'runtimeDir', {cause: why}));
  }

  async open(until) {
    const client = this.client;
    let socket; // nothing comes before it is there
    const onread = {buffer: inbox, callback: (bytes, buf) => {
      if (socket && this.socket === socket) this.take(buf.subarray(0, bytes));
      return true;
    }};
    socket = await dial(client.dir, onread);
    if (this.state === 'closed') return socket.destroy();
    this.socket = socket;
    this.unpacker = new Unpacker(client.options.maxAnswerBytes);
    this.next = 1;
    this.resting = this.stopped = false;
    this.holds = true;
    socket.on('drain', () => this.pump());
    socket.on('error', () => {});
    socket.on('close', () => this.socket === socket && this.lost());
    const {client: name, scope, token} = client.options;
    const hello = await this.greet('hello', {client: name ?? 'psup-node',
      protocol: PROTOCOL, scope, token}, until);
    if (hello.protocol !== PROTOCOL) {
      const error = new PsupError('unsupported', 'the server speaks protocol ' +
          `${hello.protocol}, this client ${PROTOCOL}`, 'protocol');
      throw error;
    }
    await client.settle(this, until);
    if (this.state === 'closed') return;
    this.state = 'open';
    client.opened(this, hello);
  }

  // What a connection begins with: before all others, and never again.
  greet(method, params, until) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.broken(new PsupError('no-server',
          `the server does not answer ${method}`, 'runtimeDir')),
      Math.max(until - Date.now(), 1));
      const end = how => value => {
        clearTimeout(timer);
        this.helloFails = undefined;
        how(value);
      };
      this.helloFails = end(reject);
      this.send({method, params, tries: TRIES, resolve: end(resolve),
        reject: end(reject)});
    });
  }

  lost() {
    this.socket = null;
    this.out = new Packer();
    const calls = [...this.calls.values()], again = [];
    this.calls.clear();
    const error = new PsupError('connection-lost',
        'the connection to psup was lost before the answer');
    for (const call of calls) {
      if (mayRepeat(call.method, call.params) && ++call.tries < TRIES) {
        call.sent = false;
        again.push(call);
      } else {
        this.done(call, error);
      }
    }
    this.queue.unshift(...again);
    if (this.state !== 'open') return; // connect() goes on, or it is closed
    this.state = 'idle';
    this.failures = Math.min(this.failures + 1, 10);
    this.pump();
  }

  fail(error) {
    const calls = this.queue.splice(0);
    calls.forEach(call => this.done(call, error));
    if (this.held) this.client.failed(error);
  }

  close(why) {
    this.state = 'closed';
    this.why = why;
    this.held = false;
    const calls = [...this.calls.values()];
    this.calls.clear();
    calls.forEach(call => this.done(call, why));
    this.fail(why);
    this.flush();
    this.socket?.end();
    this.socket?.unref();
  }
}

const cancelled = method =>
  new PsupError('cancelled', `${method} was given up`);
