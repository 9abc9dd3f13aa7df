// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {constant, pack, Unpacker} from '../src/codec.js';

function unpack(bytes, step = bytes.length) {
  const unpacker = new Unpacker(), all = [];
  for (let i = 0; i < bytes.length; i += step) {
    const lent = Buffer.from(bytes.subarray(i, i + step));
    unpacker.push(lent);
    for (let m; (m = unpacker.next()) !== undefined;) all.push(m);
    unpacker.keep();
    lent.fill(0xc1); // as the next read would
  }
  return all;
}

const values = [null, true, false, 0, 1, 127, 128, 255, 256, 65535, 65536,
  2 ** 31, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER, -1, -32, -33, -128,
  -129, -32769, -(2 ** 31), -(2 ** 31) - 1, Number.MIN_SAFE_INTEGER, 0.5, -1.25,
  -0, 1e300, Infinity, -Infinity, NaN, '', 'a', '1234567', '12345678', 'é'.repeat(7),
  '日本😀', 'x'.repeat(31), 'x'.repeat(32), 'x'.repeat(255), 'x'.repeat(65536),
  [], [1, [2, [3]]], Array(15).fill(0), Array(16).fill(0), Array(70).fill('z'),
  {}, {a: 1, b: {c: null}}, Object.fromEntries(Array.from({length: 16},
      (_, i) => [`k${i}`, i])), 2n ** 64n - 1n, -(2n ** 63n)];

test('every value comes back', () => {
  for (const v of values) assert.deepEqual(unpack(pack([v])), [[v]]);
  for (const step of [1, 5, 100]) {
    assert.deepEqual(unpack(pack([Buffer.from([0, 255])]), step)[0][0],
        Buffer.from([0, 255]));
  }
  const proto = JSON.parse('{"__proto__": {"x": 1}}');
  assert.deepEqual(unpack(pack([proto]))[0][0], proto);
  assert.equal({}.x, undefined);
});

test('every form of the specification is read', () => {
  const forms = {'c40161': Buffer.from('a'), 'c5000161': Buffer.from('a'),
    'c60000000161': Buffer.from('a'), 'ca3f800000': 1,
    'cb3ff0000000000000': 1, 'cc80': 128, 'cd0100': 256, 'ce00010000': 65536,
    'cf0000000100000000': 2 ** 32, 'd080': -128, 'd18000': -32768,
    'd280000000': -(2 ** 31), 'd3ffffffffffffffff': -1, 'd90161': 'a',
    'da000161': 'a', 'db0000000161': 'a', 'dc000101': [1], 'dd0000000101': [1],
    'de0001a16101': {a: 1}, 'df00000001a16101': {a: 1}, 'e0': -32};
  for (const [hex, v] of Object.entries(forms)) {
    assert.deepEqual(unpack(Buffer.from(hex, 'hex')), [v], hex);
  }
});

test('messages cut at each byte are the same', () => {
  const bytes = Buffer.concat(values.filter(v => v?.length !== 65536)
      .map(v => pack([v, {v}])));
  const whole = unpack(bytes);
  for (let step = 1; step < 40; step++) {
    assert.deepEqual(unpack(bytes, step), whole);
  }
  for (let cut = 1; cut < bytes.length; cut++) {
    const unpacker = new Unpacker(), all = [];
    for (const part of [bytes.subarray(0, cut), bytes.subarray(cut)]) {
      unpacker.push(part);
      for (let m; (m = unpacker.next()) !== undefined;) all.push(m);
    }
    assert.equal(all.length, whole.length);
  }
});

test('what is no message, or too much, is refused', () => {
  const bad = ['c1', '91c1', 'c7010161', 'd40101', '810101',
    'dd10000001', 'df20000001', 'c6ffffffff', '91'.repeat(70) + '01'];
  for (const hex of bad) {
    assert.throws(() => unpack(Buffer.from(hex, 'hex')),
        {code: 'bad-request'}, hex);
  }
});

test('what MessagePack cannot carry is named by its field', () => {
  const cycle = {};
  cycle.again = cycle;
  const cannot = [() => {}, Symbol('x'), 2n ** 64n, -(2n ** 63n) - 1n,
    new Date(), new Map(), new Set(), /x/, Promise.resolve(), 'half \ud800',
    [undefined], cycle, 'x'.repeat((1 << 20) + 1), Array(17000).fill(0),
    Buffer.alloc((1 << 20) + 1), {f() {}}];
  for (const v of cannot) {
    assert.throws(() => pack([0, 1, 'exec', {tags: v}]), e =>
      ['invalid-params', 'limit-exceeded'].includes(e.code) &&
      e.field === 'tags', String(typeof v));
  }
  const many = Object.fromEntries(Array.from({length: 5}, (_, i) =>
    [`m${i}`, Buffer.alloc(1 << 20)]));
  assert.throws(() => pack([0, 1, 'exec', many]), {code: 'frame-too-large'});
  assert.deepEqual(unpack(pack([{a: undefined}])), [[{}]]);
});

test('a constant map is sent as it was', () => {
  const map = constant({A: '1'});
  assert.deepEqual(unpack(pack([{env: map}, 2])), [[{env: {A: '1'}}, 2]]);
});
