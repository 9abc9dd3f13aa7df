// SPDX-License-Identifier: MIT
// MessagePack, as much of it as psup speaks, within limits both ways.
import {PsupError} from './error.js';

const FRAME_BYTES = 4 << 20, STRING_BYTES = 1 << 20, ELEMENTS = 16384;
const ANSWER_BYTES = 256 << 20, DEPTH = 8, ANSWER_DEPTH = 64;

// What has been packed before and does not change: an environment.
const packed = new WeakMap();

// Messages, one behind the other, until they are taken.
export class Packer {
  constructor() {
    this.buf = Buffer.allocUnsafe(4096);
    this.n = this.begin = 0;
  }

  room(bytes) {
    if (this.n - this.begin + bytes > FRAME_BYTES) {
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

  // The last `bytes` bytes of a number that is not negative.
  word(v, bytes) {
    for (let i = this.n + bytes - 1; i >= this.n; i--) {
      this.buf[i] = v;
      v = (v - v % 256) / 256;
    }
    this.n += bytes;
  }

  // A header of 1, 3 or 5 bytes.
  head(count, fix, fixMax, two, four) {
    this.room(5);
    if (count < fixMax) {
      this.buf[this.n++] = fix | count;
    } else {
      this.buf[this.n++] = count < 0x10000 ? two : four;
      this.word(count, count < 0x10000 ? 2 : 4);
    }
  }

  // Is it short, and nothing but ASCII? Then it is written.
  ascii(s) {
    const length = s.length;
    if (length >= 32) return false;
    this.room(length + 1);
    const {buf, n} = this;
    for (let i = 0; i < length; i++) {
      const c = s.charCodeAt(i);
      if (c >= 0x80) return false;
      buf[n + 1 + i] = c;
    }
    buf[n] = 0xa0 | length;
    this.n = n + 1 + length;
    return true;
  }

  str(s) {
    if (this.ascii(s)) return;
    if (!s.isWellFormed()) {
      throw this.wrong('invalid-params', 'a text with half a character');
    }
    const bytes = Buffer.byteLength(s);
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
    this.buf[this.n++] = 0xc6;
    this.word(b.length, 4);
    this.buf.set(b, this.n);
    this.n += b.length;
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
      if (v >= 0 && v < 2 ** 32) return this.head(v, 0, 0, 0xcd, 0xce);
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
    const keys = Object.keys(v), {field} = this;
    let count = 0;
    for (const key of keys) if (v[key] !== undefined) count++;
    this.head(count, 0x80, 16, 0xde, 0xdf);
    for (const key of keys) {
      const item = v[key];
      if (item === undefined) continue;
      if (depth === 2) this.field = key; // a parameter
      this.str(key);
      this.value(item, depth + 1);
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

  // [type, ...]: a message. Throws PsupError where a value cannot be sent:
  // then nothing of it is there.
  message(v) {
    this.begin = this.n;
    this.count = 0;
    this.field = undefined;
    try {
      this.value(v);
    } catch (e) {
      this.n = this.begin;
      throw e;
    }
  }

  take() {
    const bytes = Buffer.from(this.buf.subarray(0, this.n));
    this.n = 0;
    if (this.buf.length > 1 << 18) this.buf = Buffer.allocUnsafe(4096);
    return bytes;
  }
}

const packer = new Packer();
export function pack(v) {
  packer.message(v);
  return packer.take();
}

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
    default: return null;
  }
}
const [HEAD, WIDTH, BODY, EACH] = [0, 1, 2, 3].map(column =>
  Uint8Array.from({length: 256}, (_, b) => sizes(b)?.[column] ?? 0));

// Texts of keys, by a hash of their bytes: the same come again and again.
const keys = new Array(1024);

// Takes bytes as they come, gives messages: looks at each byte twice, however
// they are cut.
export class Unpacker {
  constructor(limit = ANSWER_BYTES) {
    this.limit = limit;
    this.buf = Buffer.alloc(0);
    this.end = 0; // of what is in buf
    this.lent = false; // buf is the caller's
    this.restart(0);
  }

  restart(start) {
    this.start = start;
    this.scanned = start;
    this.left = 1; // elements, until the message is whole
  }

  // The chunk may be written over once keep() has been called.
  push(chunk) {
    if (this.end === this.start) {
      this.buf = chunk;
      this.end = chunk.length;
      this.lent = true;
      this.restart(0);
      return;
    }
    if (this.start > 0 || this.end + chunk.length > this.buf.length) {
      this.move(chunk.length);
    }
    this.buf.set(chunk, this.end);
    this.end += chunk.length;
  }

  // What is left of the caller's bytes becomes ours.
  keep() {
    if (this.lent) this.move(0);
  }

  move(more) {
    const kept = this.end - this.start;
    const bytes = Buffer.allocUnsafe(more > 0 ? kept + Math.max(kept, more)
      : kept);
    this.buf.copy(bytes, 0, this.start, this.end);
    this.buf = bytes;
    this.lent = false;
    this.scanned -= this.start;
    this.start = 0;
    this.end = kept;
  }

  // A number of `width` bytes at `at`.
  word(at, width) {
    let v = this.buf[at];
    for (let i = 1; i < width; i++) v = v * 256 + this.buf[at + i];
    return v;
  }

  // Is a whole message there? Goes on where it stopped.
  whole() {
    const {buf, end} = this;
    let {scanned, left} = this;
    while (left > 0 && scanned < end) {
      const first = buf[scanned], head = HEAD[first], width = WIDTH[first];
      const each = EACH[first];
      if (head === 0) throw broken(`byte 0x${first.toString(16)}`);
      if (scanned + head > end) break;
      const n = width > 0 ? this.word(scanned + 1, width) : 0;
      left += (width > 0 ? each * n : each) - 1;
      scanned += head + (width > 0 && each === 0 ? n : BODY[first]);
      if (scanned - this.start + left > this.limit) {
        throw broken(`a message of more than ${this.limit} bytes`);
      }
    }
    this.scanned = scanned;
    this.left = left;
    return left === 0 && scanned <= end;
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
    const bytes = this.buf.subarray(this.at - n, this.at);
    return this.lent ? Buffer.from(bytes) : bytes;
  }

  // The number behind a head of 2 ** power bytes.
  wide(power) {
    const width = 1 << power, at = this.at;
    this.at += width;
    if (width < 8) return this.word(at, width);
    const v = this.word(at, 4) * 2 ** 32 + this.word(at + 4, 4);
    return Number.isSafeInteger(v) ? v : this.buf.readBigUInt64BE(at);
  }

  signed(power) {
    const width = 1 << power, at = this.at;
    this.at += width;
    if (width < 8) return this.buf.readIntBE(at, width);
    const v = this.buf.readBigInt64BE(at), number = Number(v);
    return Number.isSafeInteger(number) ? number : v;
  }

  key(depth) {
    const {buf, at} = this, n = buf[at] & 31;
    if ((buf[at] & 0xe0) !== 0xa0) { // a long one
      const key = this.value(depth);
      if (typeof key !== 'string') throw broken('a key that is no text');
      return key;
    }
    let hash = n;
    for (let i = at + 1; i <= at + n; i++) hash = (hash * 31 + buf[i]) & 1023;
    const known = keys[hash];
    this.at++;
    if (known?.length === n) {
      let i = 0;
      while (i < n && known.charCodeAt(i) === buf[at + 1 + i]) i++;
      if (i === n) {
        this.at += n;
        return known;
      }
    }
    return keys[hash] = this.text(n);
  }

  array(n, depth) {
    const items = new Array(n);
    for (let i = 0; i < n; i++) items[i] = this.value(depth);
    return items;
  }

  map(n, depth) {
    const map = {};
    for (let i = 0; i < n; i++) {
      const key = this.key(depth), value = this.value(depth);
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
    switch (b) {
      case 0xc0: return null;
      case 0xc2: return false;
      case 0xc3: return true;
      case 0xc4: case 0xc5: case 0xc6: return this.bin(this.wide(b - 0xc4));
      case 0xca: return this.buf.readFloatBE((this.at += 4) - 4);
      case 0xcb: return this.buf.readDoubleBE((this.at += 8) - 8);
      case 0xcc: case 0xcd: case 0xce: case 0xcf: return this.wide(b - 0xcc);
      case 0xd0: case 0xd1: case 0xd2: case 0xd3: return this.signed(b - 0xd0);
      case 0xd9: case 0xda: case 0xdb: return this.text(this.wide(b - 0xd9));
      case 0xdc: case 0xdd: return this.array(this.wide(b - 0xdb), depth);
      default: return this.map(this.wide(b - 0xdd), depth);
    }
  }
}
