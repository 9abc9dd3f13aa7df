// SPDX-License-Identifier: MIT
// MessagePack, as much of it as psup speaks, within limits both ways.
import {PsupError} from './error.js';

const FRAME_BYTES = 4 << 20, STRING_BYTES = 1 << 20, ELEMENTS = 16384;
const ANSWER_BYTES = 256 << 20, DEPTH = 8, ANSWER_DEPTH = 64;

// What has been packed before and does not change: an environment.
const packed = new WeakMap();

export class Packer {
  constructor() {
    this.buf = Buffer.allocUnsafe(16384);
    this.n = 0;
  }

  room(bytes) {
    if (this.n + bytes > FRAME_BYTES) {
      throw new PsupError('frame-too-large',
          'a message may have 4 MiB, this one has more', this.field);
    }
    if (this.n + bytes <= this.buf.length) return;
    const more = Buffer.allocUnsafe(Math.max(this.buf.length * 2,
        this.n + bytes));
    this.buf.copy(more, 0, 0, this.n);
    this.buf = more;
  }

  wrong(code, message) {
    return new PsupError(code, `${this.field ?? 'value'}: ${message}`,
        this.field);
  }

  byte(b) {
    this.room(1);
    this.buf[this.n++] = b;
  }

  // A header of 1, 3 or 5 bytes.
  head(count, fix, fixMax, two, four) {
    this.room(5);
    if (count < fixMax) {
      this.buf[this.n++] = fix | count;
    } else if (count < 0x10000) {
      this.buf[this.n++] = two;
      this.n = this.buf.writeUInt16BE(count, this.n);
    } else {
      this.buf[this.n++] = four;
      this.n = this.buf.writeUInt32BE(count, this.n);
    }
  }

  str(s) {
    if (!s.isWellFormed()) {
      throw this.wrong('invalid-params', 'a text with half a character');
    }
    const bytes = s.length < 8 ? -1 : Buffer.byteLength(s);
    if (bytes < 0) { // short: at most 24 bytes, and no second walk
      this.room(25);
      const n = this.buf.write(s, this.n + 1);
      this.buf[this.n] = 0xa0 | n;
      this.n += 1 + n;
      return;
    }
    if (bytes > STRING_BYTES) {
      throw this.wrong('limit-exceeded', `${bytes} bytes, at most 1 MiB`);
    }
    this.head(bytes, 0xa0, 32, 0xda, 0xdb);
    this.room(bytes);
    this.n += this.buf.write(s, this.n);
  }

  bin(b) {
    if (b.length > STRING_BYTES) {
      throw this.wrong('limit-exceeded', `${b.length} bytes, at most 1 MiB`);
    }
    this.room(b.length + 5);
    this.buf[this.n] = 0xc6;
    this.buf.writeUInt32BE(b.length, this.n + 1);
    this.buf.set(b, this.n + 5);
    this.n += 5 + b.length;
  }

  integer(v) {
    if (v >= 0n && v < 128n) return this.byte(Number(v));
    if (v < -(1n << 63n) || v >= 1n << 64n) {
      throw this.wrong('invalid-params', `${v} does not fit into 64 bits`);
    }
    this.room(9);
    this.buf[this.n++] = v < 0n ? 0xd3 : 0xcf;
    this.n = v < 0n ? this.buf.writeBigInt64BE(v, this.n)
      : this.buf.writeBigUInt64BE(v, this.n);
  }

  number(v) {
    if (Number.isInteger(v) && !Object.is(v, -0)) {
      if (v >= 0 && v < 128) return this.byte(v);
      if (Number.isSafeInteger(v)) return this.integer(BigInt(v));
    }
    this.room(9);
    this.buf[this.n++] = 0xcb;
    this.n = this.buf.writeDoubleBE(v, this.n);
  }

  map(v, depth) {
    const kind = Object.getPrototypeOf(v);
    if (kind !== null && Object.getPrototypeOf(kind) !== null &&
        v !== process.env) {
      throw this.wrong('invalid-params',
          `a ${v.constructor?.name ?? 'class'} cannot be sent`);
    }
    const before = packed.get(v);
    if (before) {
      this.room(before.length);
      this.buf.set(before, this.n);
      this.n += before.length;
      return;
    }
    const keys = Object.keys(v).filter(key => v[key] !== undefined);
    this.head(keys.length, 0x80, 16, 0xde, 0xdf);
    const field = this.field;
    for (const key of keys) {
      if (depth === 2) this.field = key; // a parameter
      this.str(key);
      this.value(v[key], depth + 1);
    }
    this.field = field;
  }

  value(v, depth = 1) {
    if (++this.count > ELEMENTS) {
      throw this.wrong('limit-exceeded', `more than ${ELEMENTS} elements`);
    }
    switch (typeof v) {
      case 'boolean': return this.byte(v ? 0xc3 : 0xc2);
      case 'number': return this.number(v);
      case 'string': return this.str(v);
      case 'bigint': return this.integer(v);
      case 'object': break;
      default: throw this.wrong('invalid-params', `a ${typeof v} cannot be sent`);
    }
    if (v === null) return this.byte(0xc0);
    if (v instanceof Uint8Array) return this.bin(v);
    if (depth > DEPTH) {
      throw this.wrong('limit-exceeded', `deeper than ${DEPTH} levels`);
    }
    if (!Array.isArray(v)) return this.map(v, depth);
    this.head(v.length, 0x90, 16, 0xdc, 0xdd);
    for (const item of v) this.value(item, depth + 1);
  }

  // [type, ...]: a message. Throws PsupError where a value cannot be sent.
  message(v) {
    this.n = 0;
    this.count = 0;
    this.field = undefined;
    this.value(v);
    const bytes = Buffer.from(this.buf.subarray(0, this.n));
    if (this.buf.length > 1 << 18) this.buf = Buffer.allocUnsafe(16384);
    return bytes;
  }
}

const packer = new Packer();
export const pack = v => packer.message(v);

// The same map of texts as one that is packed once and sent many times.
export function constant(map) {
  const copy = Object.freeze({...map});
  packed.set(copy, pack(copy));
  return copy;
}

const broken = message =>
  new PsupError('bad-request', `the server sent what is no message: ${message}`);

// How many bytes an element's header has, how many follow it as its own, and
// how many elements: [bytes, body width, body, elements].
function sizes(b) {
  if (b < 0x80 || b >= 0xe0) return [1, 0, 0, 0];
  if (b < 0x90) return [1, 0, 0, 2 * (b & 15)];
  if (b < 0xa0) return [1, 0, 0, b & 15];
  if (b < 0xc0) return [1, 0, b & 31, 0];
  switch (b) {
    case 0xc0: case 0xc2: case 0xc3: return [1, 0, 0, 0];
    case 0xc4: case 0xd9: return [2, 1, 0, 0];
    case 0xc5: case 0xda: return [3, 2, 0, 0];
    case 0xc6: case 0xdb: return [5, 4, 0, 0];
    case 0xcc: case 0xd0: return [2, 0, 0, 0];
    case 0xcd: case 0xd1: return [3, 0, 0, 0];
    case 0xca: case 0xce: case 0xd2: return [5, 0, 0, 0];
    case 0xcb: case 0xcf: case 0xd3: return [9, 0, 0, 0];
    case 0xdc: return [3, 2, 0, 1];
    case 0xdd: return [5, 4, 0, 1];
    case 0xde: return [3, 2, 0, 2];
    case 0xdf: return [5, 4, 0, 2];
    default: throw broken(`byte 0x${b.toString(16)}`);
  }
}
const TABLE = Array.from({length: 256}, (_, b) => {
  try {
    return sizes(b);
  } catch {
    return null;
  }
});

// Takes bytes as they come, gives messages: looks at each byte twice, however
// they are cut.
export class Unpacker {
  constructor(limit = ANSWER_BYTES) {
    this.limit = limit;
    this.buf = Buffer.alloc(0);
    this.end = 0; // of what is in buf
    this.restart(0);
  }

  restart(start) {
    this.start = start;
    this.scanned = start;
    this.left = 1; // elements, until the message is whole
  }

  push(chunk) {
    const kept = this.end - this.start;
    if (kept === 0) {
      this.buf = chunk;
      this.end = chunk.length;
      this.restart(0);
      return;
    }
    const scanned = this.scanned - this.start, left = this.left;
    if (this.start > 0 || this.end + chunk.length > this.buf.length) {
      const room = Math.max(2 * kept, kept + chunk.length);
      const more = Buffer.allocUnsafe(room);
      this.buf.copy(more, 0, this.start, this.end);
      this.buf = more;
      this.end = kept;
      this.restart(0);
      this.scanned = scanned;
      this.left = left;
    }
    this.buf.set(chunk, this.end);
    this.end += chunk.length;
  }

  // Is a whole message there? Goes on where it stopped.
  whole() {
    while (this.left > 0) {
      if (this.scanned >= this.end) return false;
      const first = this.buf[this.scanned], row = TABLE[first];
      if (!row) throw broken(`byte 0x${first.toString(16)}`);
      const [head, width, fixed, each] = row;
      if (this.scanned + head > this.end) return false;
      const n = width > 0 ? this.buf.readUIntBE(this.scanned + 1, width) : 0;
      const body = width > 0 && each === 0 ? n : fixed;
      this.left += (width > 0 ? each * n : each) - 1;
      this.scanned += head + body;
      if (this.scanned - this.start + this.left > this.limit) {
        throw broken(`a message of more than ${this.limit} bytes`);
      }
    }
    return this.scanned <= this.end;
  }

  // The next message, or undefined. Throws PsupError.
  next() {
    if (!this.whole()) return undefined;
    this.at = this.start;
    const message = this.value(0);
    this.restart(this.at);
    return message;
  }

  text(n) {
    this.at += n;
    return this.buf.toString('utf8', this.at - n, this.at);
  }

  bin(n) {
    this.at += n;
    return this.buf.subarray(this.at - n, this.at);
  }

  integer(width, signed) {
    const at = this.at;
    this.at += width;
    if (width < 8) {
      return signed ? this.buf.readIntBE(at, width)
        : this.buf.readUIntBE(at, width);
    }
    const v = signed ? this.buf.readBigInt64BE(at)
      : this.buf.readBigUInt64BE(at);
    const number = Number(v);
    return Number.isSafeInteger(number) ? number : v;
  }

  array(n, depth) {
    const items = new Array(n);
    for (let i = 0; i < n; i++) items[i] = this.value(depth);
    return items;
  }

  map(n, depth) {
    const map = {};
    for (let i = 0; i < n; i++) {
      const key = this.value(depth);
      if (typeof key !== 'string') throw broken('a key that is no text');
      const value = this.value(depth);
      if (key === '__proto__') {
        Object.defineProperty(map, key, {value, enumerable: true,
          writable: true, configurable: true});
      } else {
        map[key] = value;
      }
    }
    return map;
  }

  value(above) {
    const b = this.buf[this.at++], depth = above + 1;
    if (depth > ANSWER_DEPTH) throw broken(`deeper than ${ANSWER_DEPTH} levels`);
    if (b < 0x80) return b;
    if (b < 0x90) return this.map(b & 15, depth);
    if (b < 0xa0) return this.array(b & 15, depth);
    if (b < 0xc0) return this.text(b & 31);
    if (b >= 0xe0) return b - 256;
    const wide = base => this.integer(1 << (b - base), false);
    switch (b) {
      case 0xc0: return null;
      case 0xc2: return false;
      case 0xc3: return true;
      case 0xc4: case 0xc5: case 0xc6: return this.bin(wide(0xc4));
      case 0xca: return this.buf.readFloatBE((this.at += 4) - 4);
      case 0xcb: return this.buf.readDoubleBE((this.at += 8) - 8);
      case 0xcc: case 0xcd: case 0xce: case 0xcf: return wide(0xcc);
      case 0xd0: case 0xd1: case 0xd2: case 0xd3:
        return this.integer(1 << (b - 0xd0), true);
      case 0xd9: case 0xda: case 0xdb: return this.text(wide(0xd9));
      case 0xdc: case 0xdd: return this.array(wide(0xdb), depth);
      default: return this.map(wide(0xdd), depth);
    }
  }
}
