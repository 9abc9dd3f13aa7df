# SPDX-License-Identifier: MIT
"""The wire for tests that are written in Python: the rows of
common/proto.def, and as much of MessagePack as they need."""
import os
import re
import socket
import struct
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

# ------------------------------------------------------------------- the table


def load_table():
    """method -> (kind, [(name, type, flags, min, max)])"""
    with open(os.path.join(ROOT, "common", "proto.def")) as f:
        text = f.read()
    ids, methods = {}, {}
    for m in re.finditer(r'^METHOD\((\w+), "([^"]+)", (\w+),', text, re.M):
        ids[m[1]] = m[2]
        methods[m[2]] = (m[3], [])
    for m in re.finditer(r'^PARAM\((\w+), "([^"]+)", (\w+), ([\w|]+), '
                         r'(-?\d+), (\d+),', text, re.M):
        methods[ids[m[1]]][1].append(
            (m[2], m[3], m[4].split("|"), int(m[5]), int(m[6])))
    return methods


# --------------------------------------------------------------------- msgpack


def pack(v):
    if v is None:
        return b"\xc0"
    if isinstance(v, bool):
        return b"\xc3" if v else b"\xc2"
    if isinstance(v, int):
        return struct.pack(">BQ", 0xcf, v) if v >= 0 else \
            struct.pack(">Bq", 0xd3, v)
    if isinstance(v, float):
        return struct.pack(">Bd", 0xcb, v)
    if isinstance(v, str):
        b = v.encode()
        return struct.pack(">BI", 0xdb, len(b)) + b
    if isinstance(v, bytes):
        return struct.pack(">BI", 0xc6, len(v)) + v
    if isinstance(v, list):
        return struct.pack(">BI", 0xdd, len(v)) + b"".join(map(pack, v))
    return struct.pack(">BI", 0xdf, len(v)) + b"".join(
        pack(k) + pack(x) for k, x in v.items())


class Short(Exception):
    """The buffer ends before the value does."""


# first byte -> (kind, format of the length or of the value)
FIXED = {
    0xca: ">f", 0xcb: ">d", 0xcc: ">B", 0xcd: ">H", 0xce: ">I", 0xcf: ">Q",
    0xd0: ">b", 0xd1: ">h", 0xd2: ">i", 0xd3: ">q"}
SIZED = {
    0xc4: ("bin", ">B"), 0xc5: ("bin", ">H"), 0xc6: ("bin", ">I"),
    0xd9: ("str", ">B"), 0xda: ("str", ">H"), 0xdb: ("str", ">I"),
    0xdc: ("list", ">H"), 0xdd: ("list", ">I"),
    0xde: ("map", ">H"), 0xdf: ("map", ">I")}


def take(fmt, buf, at):
    end = at + struct.calcsize(fmt)
    if end > len(buf):
        raise Short
    return struct.unpack(fmt, buf[at:end])[0], end


def unpack(buf, at):
    """(value, where it ends)"""
    b, at = take(">B", buf, at)
    if b < 0x80:
        return b, at
    if b >= 0xe0:
        return b - 0x100, at
    if b in (0xc0, 0xc2, 0xc3):
        return {0xc0: None, 0xc2: False, 0xc3: True}[b], at
    if b in FIXED:
        return take(FIXED[b], buf, at)
    if b < 0x90:
        kind, n = "map", b & 15
    elif b < 0xa0:
        kind, n = "list", b & 15
    elif b < 0xc0:
        kind, n = "str", b & 31
    else:
        kind, fmt = SIZED[b]
        n, at = take(fmt, buf, at)
    if kind in ("bin", "str"):
        if at + n > len(buf):
            raise Short
        data = bytes(buf[at:at + n])
        return data if kind == "bin" else data.decode(errors="replace"), at + n
    items = []
    for _ in range(n * (2 if kind == "map" else 1)):
        v, at = unpack(buf, at)
        items.append(v)
    if kind == "map":
        return dict(zip(items[::2], items[1::2])), at
    return items, at


# -------------------------------------------------------------- the connection


class Conn:
    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(path)
        self.sock.setblocking(False)
        self.out = bytearray()
        self.buf = bytearray()
        self.asked = {}       # msgid -> (method, params, when)
        self.next_id = 0
        self.scope = None     # None: admin
        self.fresh = True     # nothing was asked: hello is possible
        self.unread = False   # takes no answers for a while
        self.may_close = False  # the server has a reason to

    def ask(self, method, params):
        self.next_id += 1
        self.asked[self.next_id] = (method, params, time.monotonic())
        self.out += pack([0, self.next_id, method, params])
        self.fresh = False

    def cancel(self, msgid):
        self.out += pack([2, "cancel", [{"msgid": msgid}]])

    def send(self, most):
        try:
            n = self.sock.send(self.out[:most])
            del self.out[:n]
        except BlockingIOError:
            pass
        except (BrokenPipeError, ConnectionResetError):
            self.out.clear()

    def receive(self):
        """Whole messages; None: the server has closed it."""
        got, at, end = [], 0, False
        try:
            while len(self.buf) < 64 << 20:
                data = self.sock.recv(1 << 18)
                if not data:
                    end = True
                    break
                self.buf += data
        except BlockingIOError:
            pass
        except ConnectionResetError:
            end = True
        try:
            while at < len(self.buf):
                v, at = unpack(self.buf, at)
                got.append(v)
        except Short:
            pass
        del self.buf[:at]
        return got, end
