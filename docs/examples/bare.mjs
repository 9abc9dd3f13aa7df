#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// bare.mjs DIR [SCOPE]: a gateway that may be killed at any instant, without
// any package; gateway.mjs is the same with the package psup.
//
// DIR/jobs has a job a line, "name<TAB>shell command". Each is run once by
// psup, in the background, and gets one line in DIR/results: "name<TAB>status
// <TAB>exit code". The program ends when every job has its result. Killed and
// started again it neither runs a job twice nor reports one twice; see
// docs/gateways.md. Without SCOPE it is an administrator, and its sessions are
// in no scope.
//
// Needs nothing but Node and a psup to start where no server runs.
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';

// --- MessagePack, as much of it as psup speaks -------------------------------

function pack(v) {
  const sized = (first, n) => {
    const b = Buffer.alloc(5, first);
    b.writeUInt32BE(n, 1);
    return b;
  };
  if (v === null || v === undefined) return Buffer.from([0xc0]);
  if (typeof v === 'boolean') return Buffer.from([v ? 0xc3 : 0xc2]);
  if (typeof v === 'number') {
    const b = Buffer.alloc(9, Number.isInteger(v) ? 0xd3 : 0xcb);
    if (Number.isInteger(v)) b.writeBigInt64BE(BigInt(v), 1);
    else b.writeDoubleBE(v, 1);
    return b;
  }
  if (typeof v === 'string') {
    const raw = Buffer.from(v);
    return Buffer.concat([sized(0xdb, raw.length), raw]);
  }
  if (Array.isArray(v)) {
    return Buffer.concat([sized(0xdd, v.length), ...v.map(pack)]);
  }
  const pairs = Object.entries(v);
  return Buffer.concat([sized(0xdf, pairs.length),
    ...pairs.flatMap(pair => pair.map(pack))]);
}

const SHORT = Symbol('the message is not whole yet');

class Reader {
  constructor(data) {
    this.data = data;
    this.at = 0;
  }

  take(n) {
    if (this.at + n > this.data.length) throw SHORT;
    this.at += n;
    return this.data.subarray(this.at - n, this.at);
  }

  // A number of 1, 2, 4 or 8 bytes.
  unsigned(n) {
    const b = this.take(n);
    return n === 8 ? Number(b.readBigUInt64BE()) : b.readUIntBE(0, n);
  }

  signed(n) {
    const b = this.take(n);
    return n === 8 ? Number(b.readBigInt64BE()) : b.readIntBE(0, n);
  }

  array(n) {
    return Array.from({length: n}, () => this.value());
  }

  map(n) {
    return Object.fromEntries(
        Array.from({length: n}, () => [this.value(), this.value()]));
  }

  value() {
    const b = this.unsigned(1);
    const wide = base => 1 << (b - base); // of formats in a row: 1, 2, 4, 8
    if (b < 0x80) return b;
    if (b < 0x90) return this.map(b & 15);
    if (b < 0xa0) return this.array(b & 15);
    if (b < 0xc0) return this.take(b & 31).toString();
    if (b === 0xc0) return null;
    if (b === 0xc2 || b === 0xc3) return b === 0xc3;
    if (b >= 0xc4 && b <= 0xc6) return this.take(this.unsigned(wide(0xc4)));
    if (b === 0xca) return this.take(4).readFloatBE();
    if (b === 0xcb) return this.take(8).readDoubleBE();
    if (b >= 0xcc && b <= 0xcf) return this.unsigned(wide(0xcc));
    if (b >= 0xd0 && b <= 0xd3) return this.signed(wide(0xd0));
    if (b >= 0xd9 && b <= 0xdb) {
      return this.take(this.unsigned(wide(0xd9))).toString();
    }
    if (b === 0xdc || b === 0xdd) return this.array(this.unsigned(wide(0xdb)));
    if (b === 0xde || b === 0xdf) return this.map(this.unsigned(wide(0xdd)));
    if (b >= 0xe0) return b - 256;
    throw new Error(`byte ${b} is none of psup's`);
  }
}

// --- A connection ------------------------------------------------------------

function socketPath() {
  const env = process.env;
  const dir = env.PSUP_RUNTIME_DIR ||
      (env.XDG_RUNTIME_DIR && `${env.XDG_RUNTIME_DIR}/psup`) ||
      `/dev/shm/psup-${process.geteuid()}`;
  return `${dir}/sock`;
}

class Psup {
  constructor(socket, onEvent) {
    this.socket = socket;
    this.waiting = new Map(); // msgid: {method, resolve, reject}
    this.next = 1;
    this.closed = new Promise((_, reject) => {
      const end = error => {
        const why = error || new Error('the server is gone');
        this.waiting.forEach(call => call.reject(why));
        this.waiting.clear();
        reject(why);
      };
      socket.once('error', end);
      socket.once('close', () => end());
    });
    this.closed.catch(() => {}); // whoever awaits it hears of it
    let data = Buffer.alloc(0);
    socket.on('data', more => {
      data = Buffer.concat([data, more]);
      try {
        for (;;) {
          const reader = new Reader(data);
          const message = reader.value();
          data = data.subarray(reader.at);
          this.take(message, onEvent);
        }
      } catch (e) {
        if (e !== SHORT) socket.destroy(e);
      }
    });
  }

  static connect(onEvent) {
    return new Promise((resolve, reject) => {
      const socket = net.connect(socketPath());
      socket.once('connect', () => resolve(new Psup(socket, onEvent)));
      socket.once('error', reject);
    });
  }

  take(message, onEvent) {
    if (message[0] === 2) {
      if (message[1] === 'event') onEvent(message[2][0]);
      return;
    }
    const [, msgid, error, result] = message;
    const call = this.waiting.get(msgid);
    this.waiting.delete(msgid);
    if (!call) return;
    if (error) call.reject(new Error(`${call.method}: ${error.message}`));
    else call.resolve(result);
  }

  call(method, params) {
    const msgid = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(msgid, {method, resolve, reject});
      this.socket.write(pack([0, msgid, method, params]));
    });
  }
}

// --- The gateway -------------------------------------------------------------

class Gateway {
  constructor(dir, scope = '') {
    this.scope = scope;
    this.seen = 0;
    this.jobs = new Map(fs.readFileSync(`${dir}/jobs`, 'utf8').split('\n')
        .filter(line => line !== '').map(line => {
          const tab = line.indexOf('\t');
          return [line.slice(0, tab), line.slice(tab + 1)];
        }));
    this.file = fs.openSync(`${dir}/results`, 'a+');
    const text = fs.readFileSync(`${dir}/results`, 'utf8');
    // a line without its end was being written: it does not count
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    fs.ftruncateSync(this.file, Buffer.byteLength(whole));
    this.done = new Set(whole.split('\n').map(line => line.split('\t')[0]));
    this.changed = () => {};
  }

  // Once for each job, and on disk before anything is acknowledged.
  report(job, status, code) {
    if (!this.jobs.has(job) || this.done.has(job)) return;
    fs.writeSync(this.file, `${job}\t${status}\t${code ?? '-'}\n`);
    fs.fsyncSync(this.file);
    this.done.add(job);
  }

  onEvent(event) {
    // an administrator hears of every scope; a quiet end is one, too
    if ((event.kind === 'exited' || event.kind === 'lost') &&
        event.scope === this.scope) {
      this.report(event.sessionKey, event.status, event.exitCode);
    }
    this.seen = event.seq;
    this.changed();
  }

  async connect() {
    const psup = await Psup.connect(event => this.onEvent(event));
    await psup.call('hello', {client: 'bare.mjs',
      ...(this.scope && {scope: this.scope})});
    // First hear what happened meanwhile, then start what has no result: the
    // same request key starts nothing twice.
    for (;;) {
      const {events} = await psup.call('events',
          {subscriber: 'gateway', limit: 1000});
      if (events.length === 0) break;
      events.forEach(event => this.onEvent(event));
      await psup.call('ack', {subscriber: 'gateway', seq: this.seen});
    }
    await psup.call('subscribe', {subscriber: 'gateway'});
    for (const [job, command] of this.jobs) {
      if (this.done.has(job)) continue;
      const {details} = await psup.call('exec',
          {command, background: true, requestKey: job, sessionKey: job});
      // It did not start; or its key is known, and it has ended: whoever ran
      // it before may have acknowledged its event.
      if (details.status !== 'running') {
        this.report(job, details.status, details.exitCode);
      }
    }
    return psup;
  }

  async serve(psup) {
    for (let acked = 0;;) {
      const change = new Promise(resolve => { this.changed = resolve; });
      if (this.seen > acked) {
        acked = this.seen;
        await psup.call('ack', {subscriber: 'gateway', seq: acked});
      }
      if ([...this.jobs.keys()].every(job => this.done.has(job))) return;
      if (this.seen === acked) await Promise.race([change, psup.closed]);
    }
  }

  async run() {
    for (;;) {
      try {
        const psup = await this.connect();
        await this.serve(psup);
        psup.socket.end();
        return;
      } catch (e) { // the server ended, or starts
        console.error(`gateway: ${e.message}; connecting again`);
        await new Promise(resolve => setTimeout(resolve, 200));
        if (e.code === 'ENOENT' || e.code === 'ECONNREFUSED') {
          execFileSync('psup', ['exec', '--', 'true']); // starts a server
        }
      }
    }
  }
}

await new Gateway(...process.argv.slice(2, 4)).run();
