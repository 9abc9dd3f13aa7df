# SPDX-License-Identifier: MIT
"""The codec, without a server."""
from __future__ import annotations

import random
import struct
import unittest
from typing import Any, List

from psup import PsupError, _wire

VALUES: List[Any] = [
    None, True, False, 0, 1, 127, 128, 255, 256, 65535, 65536, 2**32 - 1,
    2**32, 2**63 - 1, 2**64 - 1, -1, -32, -33, -128, -129, -2**15, -2**31,
    -2**63, 0.0, 1.5, -1e300, "", "a", "x" * 31, "x" * 32, "x" * 70000, "\0",
    "\u00e9\u20ac\U0001f600", b"", b"\x00\xff", b"y" * 70000, [], [1, [2, []]],
    list(range(20)), {}, {"a": {"b": [None, b"c"]}},
    {str(i): i for i in range(20)},
]


class Codec(unittest.TestCase):
    def test_values_come_back(self) -> None:
        for v in VALUES:
            self.assertEqual(_wire.unpack(_wire.pack(v)), v)

    def test_every_form_is_read(self) -> None:
        for raw, v in (
                (b"\xcc\xff", 255), (b"\xcd\x01\x00", 256),
                (b"\xd0\xff", -1), (b"\xd1\xff\x00", -256),
                (b"\xd2\xff\xff\xff\xff", -1),
                (b"\xca" + struct.pack(">f", 1.5), 1.5),
                (b"\xd9\x01a", "a"), (b"\xda\x00\x01a", "a"),
                (b"\xc4\x01a", b"a"), (b"\xc5\x00\x01a", b"a"),
                (b"\xdc\x00\x01\x07", [7]), (b"\xde\x00\x01\xa1a\x07",
                                             {"a": 7}),
                (b"\xa1\xff", "\ufffd")):
            self.assertEqual(_wire.unpack(raw), v)

    def test_a_stream_cut_anywhere(self) -> None:
        raw = b"".join(map(_wire.pack, VALUES[:30] + VALUES[33:]))
        whole = VALUES[:30] + VALUES[33:]
        rand = random.Random(1)
        for cuts in [1, 2, 3] + [rand.randint(1, 5000) for _ in range(30)]:
            d = _wire.Decoder()
            got: List[Any] = []
            for at in range(0, len(raw), cuts):
                got += d.feed(raw[at:at + cuts])
            self.assertEqual(got, whole)
        for v in VALUES:
            one = _wire.pack(v)
            for cut in range(1, min(len(one), 200)):
                d = _wire.Decoder()
                self.assertEqual(list(d.feed(one[:cut])), [])
                self.assertEqual(list(d.feed(one[cut:])), [v])

    def test_a_large_message_is_looked_at_once(self) -> None:
        raw = _wire.pack([{"a": "b" * 50}] * 20000)
        d = _wire.Decoder()
        got: List[Any] = []
        looked = 0
        head = _wire._head

        def counting(*args: Any) -> Any:
            nonlocal looked
            looked += 1
            return head(*args)

        _wire._head = counting  # type: ignore[assignment]
        try:
            for at in range(0, len(raw), 4096):
                got += d.feed(raw[at:at + 4096])
        finally:
            _wire._head = head
        self.assertEqual(len(got[0]), 20000)
        # once for its end, once for its values
        self.assertLess(looked, 2 * 3 * 20000 + 1000)

    def test_rubbish_is_refused(self) -> None:
        for raw in (b"\xc1", b"\xd4\x00\x00", b"\x81\x01\x01", b"\x81\xc0\x01",
                    b"\x91" * 100, b"\x92\x01\xc7"):
            with self.assertRaises(_wire.BadMessage):
                list(_wire.Decoder().feed(raw))
        for raw in (b"", b"\x92\x01", b"\x01\x01"):
            with self.assertRaises(_wire.BadMessage):
                _wire.unpack(raw)

    def test_random_bytes_never_do_harm(self) -> None:
        rand = random.Random(16)
        for _ in range(2000):
            d = _wire.Decoder()
            try:
                for _ in range(4):
                    list(d.feed(bytes(rand.getrandbits(8)
                                      for _ in range(rand.randint(1, 60)))))
            except _wire.BadMessage:
                pass

    def test_what_cannot_be_carried(self) -> None:
        again: List[Any] = []
        again.append(again)
        deep: Any = 1
        for _ in range(9):
            deep = [deep]
        for v, code, field in (
                ({"env": {"A": object()}}, "invalid-params", "env.A"),
                ({"tags": {1: "x"}}, "invalid-params", "tags"),
                ({"timeout": 2**64}, "invalid-params", "timeout"),
                ({"timeout": -2**63 - 1}, "invalid-params", "timeout"),
                ({"timeout": 1j}, "invalid-params", "timeout"),
                ({"command": "\ud800"}, "invalid-params", "command"),
                ({"argv": ["a", {1}]}, "invalid-params", "argv[1]"),
                ({"\udfff": 1}, "invalid-params", "\udfff"),
                ({"tags": again}, "limit-exceeded", None),
                ({"tags": deep}, "limit-exceeded", None),
                ({"keys": ["a"] * 70000}, "limit-exceeded", None),
                ({"a": 1, "data": b"x" * (5 << 20)}, "frame-too-large",
                 "data")):
            with self.assertRaises(PsupError) as caught:
                _wire.pack_params("exec", v)
            self.assertEqual(caught.exception.code, code)
            if field is not None:
                self.assertEqual(caught.exception.field, field)
