# SPDX-License-Identifier: MIT
"""MessagePack, as much of it as psup speaks; no I/O.

pack() refuses what the wire cannot carry, before a byte is sent. Decoder takes
the stream in pieces of any size, looks at each byte once to find a message's
end, and never keeps more than ANSWER_MAX.
"""
from __future__ import annotations

import struct
from typing import Any, Iterator, List, Tuple

from ._errors import PsupError

FRAME_MAX = 4 << 20  # of what we send: the server closes over it
DEPTH_MAX = 8  # the message itself counted
ELEMENTS_MAX = 65_536
ANSWER_MAX = 256 << 20
ANSWER_DEPTH = 64


class BadMessage(Exception):
    """What came is no MessagePack, or none of psup's."""


class _Short(Exception):
    """The message is not whole yet."""


# ---------------------------------------------------------------------- pack

def _pack_int(v: int, field: str) -> bytes:
    if 0 <= v < 128:
        return bytes((v,))
    if -32 <= v < 0:
        return bytes((v + 256,))
    if 0 <= v < 1 << 32:
        return struct.pack(">BI", 0xce, v)
    if -(1 << 63) <= v < 1 << 63:
        return struct.pack(">Bq", 0xd3, v)
    if 0 <= v < 1 << 64:
        return struct.pack(">BQ", 0xcf, v)
    raise PsupError("invalid-params", f"{field or 'a value'}: an integer of "
                    f"{v.bit_length()} bits, expected at most 64", field)


def _pack_str(v: str, field: str) -> bytes:
    try:
        raw = v.encode()
    except UnicodeEncodeError:
        raise PsupError("invalid-params", f"{field or 'a value'}: the text "
                        "holds a lone surrogate, expected Unicode; bytes "
                        "where the parameter takes them", field) from None
    n = len(raw)
    if n < 32:
        return bytes((0xa0 | n,)) + raw
    return struct.pack(">BI", 0xdb, n) + raw


class _Packer:
    def __init__(self) -> None:
        self.out: List[bytes] = []
        self.elements = 0

    def put(self, v: Any, field: str, depth: int) -> None:
        self.elements += 1
        if self.elements > ELEMENTS_MAX:
            raise PsupError(
                "limit-exceeded", f"{field or 'the message'}: the message has "
                f"over {ELEMENTS_MAX} elements", field)
        if v is None:
            self.out.append(b"\xc0")
        elif isinstance(v, str):
            self.out.append(_pack_str(v, field))
        elif isinstance(v, bool):
            self.out.append(b"\xc3" if v else b"\xc2")
        elif isinstance(v, int):
            self.out.append(_pack_int(v, field))
        elif isinstance(v, float):
            self.out.append(struct.pack(">Bd", 0xcb, v))
        elif isinstance(v, (bytes, bytearray, memoryview)):
            raw = bytes(v)
            self.out.append(struct.pack(">BI", 0xc6, len(raw)) + raw)
        elif isinstance(v, (dict, list, tuple)):
            self.put_many(v, field, depth)
        else:
            raise PsupError(
                "invalid-params", f"{field or 'a value'}: {type(v).__name__} "
                "cannot be sent, expected None, bool, int, float, str, bytes, "
                "list, tuple or dict", field)

    def put_many(self, v: Any, field: str, depth: int) -> None:
        if depth >= DEPTH_MAX:
            raise PsupError(
                "limit-exceeded", f"{field or 'the message'}: the message has "
                f"over {DEPTH_MAX} levels", field)
        if isinstance(v, dict):
            self.out.append(struct.pack(">BI", 0xdf, len(v)))
            for key, item in v.items():
                if not isinstance(key, str):
                    raise PsupError(
                        "invalid-params", f"{field or 'a map'}: a key is "
                        f"{type(key).__name__}, expected str", field)
                self.out.append(_pack_str(key, field or key))
                self.put(item, f"{field}.{key}" if field else key, depth + 1)
            return
        self.out.append(struct.pack(">BI", 0xdd, len(v)))
        for i, item in enumerate(v):
            self.put(item, f"{field}[{i}]", depth + 1)


def pack(v: Any, depth: int = 0) -> bytes:
    """The value's bytes; depth: how many levels it will stand in."""
    packer = _Packer()
    packer.put(v, "", depth)
    return b"".join(packer.out)


def pack_params(method: str, params: Any) -> bytes:
    """A request's params. PsupError names the parameter that is at fault."""
    raw = pack(params, 1)
    if len(raw) + len(method) + 32 > FRAME_MAX:
        largest = max(params, key=lambda key: len(pack(params[key], 1)))
        raise PsupError(
            "frame-too-large", f"{method}: a message of {len(raw)} bytes, "
            f"expected at most {FRAME_MAX}; the most is {largest}", largest)
    return raw


def request(msgid: int, method: str, params: bytes) -> bytes:
    return b"\x94\x00" + _pack_int(msgid, "") + _pack_str(method, "") + params


def notification(method: str, params: Any) -> bytes:
    return b"\x93\x02" + _pack_str(method, "") + pack([params])


# -------------------------------------------------------------------- unpack

# first byte: what follows it, its size
_NUMBERS = {0xca: (">f", 4), 0xcb: (">d", 8), 0xcc: (">B", 1), 0xcd: (">H", 2),
            0xce: (">I", 4), 0xcf: (">Q", 8), 0xd0: (">b", 1), 0xd1: (">h", 2),
            0xd2: (">i", 4), 0xd3: (">q", 8)}
# first byte: kind, and the format of its count
_COUNTED = {0xc4: ("bin", ">B", 1), 0xc5: ("bin", ">H", 2),
            0xc6: ("bin", ">I", 4), 0xd9: ("str", ">B", 1),
            0xda: ("str", ">H", 2), 0xdb: ("str", ">I", 4),
            0xdc: ("array", ">H", 2), 0xdd: ("array", ">I", 4),
            0xde: ("map", ">H", 2), 0xdf: ("map", ">I", 4)}
_CONSTANTS = {0xc0: None, 0xc2: False, 0xc3: True}


def _head(d: Any, p: int) -> Tuple[str, Any, int]:
    """Kind, value or count, and where it goes on."""
    if p >= len(d):
        raise _Short
    b = d[p]
    p += 1
    if b < 0x80:
        return "value", b, p
    if b >= 0xe0:
        return "value", b - 256, p
    if b < 0x90:
        return "map", b & 0x0f, p
    if b < 0xa0:
        return "array", b & 0x0f, p
    if b < 0xc0:
        return "str", b & 0x1f, p
    if b in _CONSTANTS:
        return "value", _CONSTANTS[b], p
    if b in _NUMBERS:
        form, n = _NUMBERS[b]
        if p + n > len(d):
            raise _Short
        return "value", struct.unpack_from(form, d, p)[0], p + n
    if b not in _COUNTED:
        raise BadMessage(f"byte {b:#x} begins nothing that psup sends")
    kind, form, n = _COUNTED[b]
    if p + n > len(d):
        raise _Short
    return kind, struct.unpack_from(form, d, p)[0], p + n


def _value(d: bytes, p: int, depth: int) -> Tuple[Any, int]:
    kind, v, p = _head(d, p)
    if kind == "value":
        return v, p
    if kind in ("str", "bin"):
        end = p + v
        if end > len(d):
            raise _Short
        raw = d[p:end]
        return (raw.decode(errors="replace") if kind == "str" else raw), end
    if depth >= ANSWER_DEPTH:
        raise BadMessage(f"more than {ANSWER_DEPTH} levels")
    if kind == "array":
        items: List[Any] = []
        for _ in range(v):
            item, p = _value(d, p, depth + 1)
            items.append(item)
        return items, p
    fields = {}
    for _ in range(v):
        key, p = _value(d, p, depth + 1)
        if not isinstance(key, str):
            raise BadMessage("a key that is no str")
        fields[key], p = _value(d, p, depth + 1)
    return fields, p


def unpack(d: bytes) -> Any:
    """One value, whole."""
    try:
        v, end = _value(d, 0, 0)
    except _Short:
        raise BadMessage("it ends too early") from None
    if end != len(d):
        raise BadMessage("something stands behind it")
    return v


class Decoder:
    """feed() gives the messages that are whole. BadMessage: no other will be."""

    def __init__(self) -> None:
        self.rest = bytearray()  # of a message that is not whole
        self.at = 0  # in it, looked at so far
        self.left = 1  # values from there to its end

    def _ends(self) -> bool:
        """Has rest got a whole message? Goes on where it stopped."""
        try:
            while self.left > 0:
                kind, n, p = _head(self.rest, self.at)
                if kind in ("str", "bin"):
                    if p + n > len(self.rest):
                        return False
                    p += n
                elif kind != "value":
                    self.left += n if kind == "array" else 2 * n
                self.at = p
                self.left -= 1
        except _Short:
            return False
        return True

    def feed(self, data: bytes) -> Iterator[Any]:
        if self.rest:
            if len(self.rest) + len(data) > ANSWER_MAX:
                raise BadMessage(f"a message of more than {ANSWER_MAX} bytes")
            self.rest += data
            if not self._ends():
                return
            data, self.rest = bytes(self.rest), bytearray()
        p = 0
        while p < len(data):
            try:
                v, p = _value(data, p, 0)
            except _Short:
                break
            yield v
        self.rest += data[p:]
        self.at, self.left = 0, 1
