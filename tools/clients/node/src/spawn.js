// SPDX-License-Identifier: MIT
// child_process.spawn's shape over a streamed exec: a command that ends with
// its client, unless the client only loses its connection.
import {EventEmitter} from 'node:events';
import path from 'node:path';
import {Readable, Writable} from 'node:stream';
import {PsupError} from './error.js';

const PIECE = 256 << 10; // of stdin, a write
const STDIO = ['pipe', 'ignore', 'inherit', 'overlapped', null, undefined];

// [stdin, stdout, stderr] as words.
function stdioOf(options) {
  const {stdio = 'pipe'} = options;
  const three = typeof stdio === 'string' ? [stdio, stdio, stdio] : [...stdio];
  for (const name of ['detached', 'uid', 'gid', 'argv0', 'serialization']) {
    if (options[name]) {
      throw new TypeError(`psup.spawn has no option ${name}`);
    }
  }
  if (three.length > 3 || three.some(word => !STDIO.includes(word))) {
    throw new TypeError('psup.spawn: stdio is stdin, stdout and stderr, each ' +
        `"pipe", "ignore" or "inherit", not ${JSON.stringify(stdio)}`);
  }
  return [0, 1, 2].map(i => three[i] ?? 'pipe');
}

function commandOf(file, args, shell) {
  if (!shell) return {argv: [file, ...args]};
  const command = [file, ...args].join(' ');
  return shell === true ? {command} : {argv: [shell, '-c', command]};
}

class Child extends EventEmitter {
  constructor(psup, file, args, options) {
    super();
    this.psup = psup;
    this.spawnfile = file;
    this.spawnargs = [file, ...args];
    this.exitCode = this.signalCode = null;
    this.killed = this.connected = false;
    this.next = 0; // the position behind the last output
    this.fed = 0; // bytes of stdin accepted
    this.full = new Set();
    this.stop = new AbortController();
    this.killSignal = options.killSignal ?? 'SIGTERM';
    this.running = new Promise(resolve => { this.runs = resolve; });
    const [input, ...outputs] = stdioOf(options);
    this.stdin = input === 'ignore' ? null : this.makeStdin();
    [this.stdout, this.stderr] = outputs.map(word =>
      word === 'ignore' ? null : this.makeOutput());
    this.stdio = [this.stdin, this.stdout, this.stderr];
    if (input === 'inherit') process.stdin.pipe(this.stdin);
    outputs.forEach((word, i) => word === 'inherit' &&
        this.stdio[i + 1].pipe([process.stdout, process.stderr][i]));
  }

  makeOutput() {
    const stream = new Readable({
      read: () => this.reads(stream),
      destroy: (error, done) => {
        this.reads(stream);
        done(error);
      },
    });
    return stream;
  }

  reads(stream) {
    if (this.full.delete(stream) && this.full.size === 0) {
      this.link?.stop(false);
    }
  }

  makeStdin() {
    return new Writable({
      write: (data, _, done) => this.feed(data, false).then(done, done),
      final: done => this.feed(Buffer.alloc(0), true).then(done, done),
    });
  }

  // Resolves when the session has the bytes; with nothing, so that it is a
  // callback's argument.
  async feed(data, eof) {
    await this.running;
    for (;;) {
      if (this.ended) throw pipeError();
      const piece = data.subarray(0, PIECE), last = piece.length === data.length;
      const {details} = await this.psup.call('write', {
        sessionId: this.instanceId, data: piece, eof: eof && last,
        position: this.fed, timeout: 30000}, {link: this.link});
      const accepted = details.accepted ?? 0;
      if (details.status === 'failed' && details.code !== 'stdin-full') {
        throw this.ended || details.code !== 'no-space' ? pipeError()
          : new PsupError(details.code, details.error, 'data');
      }
      this.fed += accepted;
      data = data.subarray(accepted);
      if (data.length === 0 && details.status !== 'failed') return;
    }
  }

  note(name, params) {
    if (name === 'session') {
      this.pid = params.pid ?? this.pid;
      this.sessionId = params.sessionId;
      this.instanceId = params.instanceId;
      if (this.wish) this.signal(this.wish);
      this.wish = undefined;
      if (params.state === 'running' && !this.spawned) this.isRunning();
    } else if (name === 'output') {
      this.output(params);
    }
  }

  isRunning() {
    this.spawned = true;
    this.runs();
    this.emit('spawn');
  }

  // A connection taken up again tells it from the first byte that is kept.
  output({stream, pos, data, dropped = 0}) {
    const again = Math.max(0, this.next - pos);
    if (again >= data.length && data.length > 0) return;
    if (dropped > 0 && pos > this.next) this.emit('dropped', dropped);
    this.next = Math.max(this.next, pos + data.length);
    const to = stream === 'stderr' ? this.stderr : this.stdout;
    if (!to || to.destroyed) return;
    if (!to.push(again > 0 ? data.subarray(again) : data)) {
      this.full.add(to);
      this.link.stop(true);
    }
  }

  signal(signal) {
    this.psup.call('kill', {sessionId: this.instanceId, signal, wait: false,
      escalate: signal === 'SIGKILL' || signal === 9}, {link: this.link})
        .catch(() => {}); // it has ended, or its end is told as an error
  }

  kill(signal = 'SIGTERM') {
    if (this.ended) return false;
    if (signal === 0) return true;
    this.killed = true;
    if (this.instanceId) this.signal(signal);
    else this.wish = signal; // once there is somebody
    return true;
  }

  ref() {}
  unref() {}

  // --------------------------------------------------------------------- end

  async run(params) {
    let error, details;
    try {
      this.link = await this.psup.streamLink(this.stop.signal);
      if (this.wish && !this.aborted) return this.neverRan();
      ({details} = await this.psup.call('exec', params, {link: this.link,
        signal: this.stop.signal, note: (...note) => this.note(...note)}));
      if (details.status === 'running') details = await this.follow(details);
      error = this.startError(details);
    } catch (e) {
      error = this.aborted ?? e;
    }
    if (this.link) this.psup.endStream(this.link);
    this.end(details ?? {}, error);
  }

  // It was killed before anything was sent.
  neverRan() {
    this.psup.endStream(this.link);
    this.end({exitSignal: this.wish});
  }

  // Somebody sent it to the background: its output goes on, unparted.
  async follow({instanceId}) {
    if (!this.spawned) this.isRunning();
    for await (const {data, pos, dropped} of this.psup.output(instanceId,
        {since: this.next, signal: this.stop.signal})) {
      this.output({stream: 'stdout', pos, data, dropped});
      while (this.full.size > 0) {
        await new Promise(resolve => this.stdout.once('resume', resolve)
            .once('data', resolve).once('close', resolve));
      }
    }
    const {details} = await this.psup.poll({sessionId: instanceId,
      since: this.next});
    return details;
  }

  startError(details) {
    if (this.aborted) return this.aborted;
    if (details.exitReason !== 'spawn-error' && !details.code) return undefined;
    if (details.code === 'bad-workdir') return this.noFile('ENOENT');
    return details.errno ? this.noFile(details.errno)
      : new PsupError(details.code ?? 'internal', details.error ??
        'the command could not be started');
  }

  // As node says it.
  noFile(code) {
    return Object.assign(new Error(`spawn ${this.spawnfile} ${code}`), {code,
      syscall: `spawn ${this.spawnfile}`, path: this.spawnfile,
      spawnargs: this.spawnargs.slice(1)});
  }

  end(details, error) {
    this.ended = true;
    this.details = details;
    this.runs();
    this.exitCode = details.exitCode ?? null;
    this.signalCode = details.exitSignal ?? null;
    if (error && !this.spawned) this.exitCode = -2;
    if (error) this.emit('error', error);
    if (!error || this.spawned) {
      this.emit('exit', this.exitCode, this.signalCode);
    }
    this.stdin?.destroy();
    const open = [this.stdout, this.stderr].filter(s => s && !s.closed);
    let left = open.length;
    const closed = () => --left <= 0 &&
        this.emit('close', this.exitCode, this.signalCode);
    open.forEach(stream => {
      stream.once('close', closed);
      if (!stream.destroyed) stream.push(null);
      // nobody wanted it: it is at its end all the same, as in node
      if (stream.readableFlowing === null) stream.resume();
    });
    if (open.length === 0) closed();
  }
}

const pipeError = () => Object.assign(new Error('write EPIPE'),
    {code: 'EPIPE', syscall: 'write'});

export function spawn(psup, file, args = [], options = {}) {
  if (!Array.isArray(args)) [args, options] = [[], args];
  const {cwd, env, shell, signal, timeout, stdio, psup: more} = options;
  const dir = cwd instanceof URL ? cwd.pathname : cwd;
  const child = new Child(psup, String(file), args.map(String), options);
  const abort = () => {
    child.aborted = Object.assign(new Error('The operation was aborted',
        {cause: signal.reason}), {name: 'AbortError', code: 'ABORT_ERR'});
    child.stop.abort();
  };
  signal?.addEventListener('abort', abort, {once: true});
  child.once('close', () => signal?.removeEventListener('abort', abort));
  const input = (stdio?.[0] === 'ignore' || stdio === 'ignore');
  queueMicrotask(() => {
    if (signal?.aborted) abort();
    void child.run({...commandOf(String(file), args.map(String), shell),
      baseDir: dir === undefined ? process.cwd() : path.resolve(dir),
      baseEnv: env, yieldMs: null, stream: true,
      timeout: timeout ? timeout / 1000 : 0, stdin: input ? 'closed' : 'open',
      ...more});
  });
  return child;
}
