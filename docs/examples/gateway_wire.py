#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gateway_wire.py DIR [SCOPE]: a gateway that may be killed at any instant.

DIR/jobs has a job a line, "name<TAB>shell command". Each is run once by psup,
in the background, and gets one line in DIR/results: "name<TAB>status<TAB>exit
code". The program ends when every job has its result. Killed and started again
it neither runs a job twice nor reports one twice; see docs/gateways.md. Without
SCOPE it is an administrator, and its sessions are in no scope.

Needs nothing but Python: it speaks docs/protocol.md by itself, as a program in a
language without a package does (gateway.py has one). A psup must be there to
start a server where none runs.
"""
import itertools
import os
import socket
import struct
import subprocess
import sys
import time
from typing import Any


# --- MessagePack, as much of it as psup speaks --------------------------------

def pack(v):
    if v is None:
        return b'\xc0'
    if isinstance(v, bool):
        return b'\xc3' if v else b'\xc2'
    if isinstance(v, int):
        return b'\xd3' + struct.pack('>q', v)
    if isinstance(v, str):
        raw = v.encode()
        return b'\xdb' + struct.pack('>I', len(raw)) + raw
    if isinstance(v, (list, tuple)):
        return (b'\xdd' + struct.pack('>I', len(v)) +
                b''.join(pack(item) for item in v))
    if isinstance(v, dict):
        return (b'\xdf' + struct.pack('>I', len(v)) +
                b''.join(pack(k) + pack(item) for k, item in v.items()))
    raise TypeError(type(v))


class Short(Exception):
    """The message is not whole yet."""


class Reader:
    # first byte: format of what follows it
    NUMBERS = {0xca: '>f', 0xcb: '>d', 0xcc: '>B', 0xcd: '>H', 0xce: '>I',
               0xcf: '>Q', 0xd0: '>b', 0xd1: '>h', 0xd2: '>i', 0xd3: '>q'}
    SIZES = {0xc4: '>B', 0xc5: '>H', 0xc6: '>I', 0xd9: '>B', 0xda: '>H',
             0xdb: '>I', 0xdc: '>H', 0xdd: '>I', 0xde: '>H', 0xdf: '>I'}

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        if self.at + n > len(self.data):
            raise Short
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def value(self) -> Any:
        b = self.take(1)[0]
        if b < 0x80:
            return b
        if b >= 0xe0:
            return b - 256
        if b in (0xc0, 0xc2, 0xc3):
            return {0xc0: None, 0xc2: False, 0xc3: True}[b]
        if b in self.NUMBERS:
            return self.number(self.NUMBERS[b])
        if b < 0xc0:
            n = b & (0x1f if b >= 0xa0 else 0x0f)
            kind = 'map' if b < 0x90 else 'array' if b < 0xa0 else 'str'
        elif b in self.SIZES:
            n = self.number(self.SIZES[b])
            kind = ('bin' if b < 0xc7 else 'str' if b < 0xdc else
                    'array' if b < 0xde else 'map')
        else:
            raise ValueError(f'byte {b:#x} is none of psup\'s')
        if kind == 'array':
            return [self.value() for _ in range(n)]
        if kind == 'map':
            return {self.value(): self.value() for _ in range(n)}
        raw = self.take(n)
        return raw.decode(errors='replace') if kind == 'str' else bytes(raw)


# --- A connection -------------------------------------------------------------

def runtime_dir():
    env = os.environ
    return (env.get('PSUP_RUNTIME_DIR') or
            (env.get('XDG_RUNTIME_DIR') and env['XDG_RUNTIME_DIR'] + '/psup') or
            f'/dev/shm/psup-{os.geteuid()}')


class Psup:
    def __init__(self, on_event):
        self.on_event, self.data, self.ids = on_event, b'', itertools.count(1)
        self.sock = socket.socket(socket.AF_UNIX)
        try:
            self.sock.connect(runtime_dir() + '/sock')
        except OSError:  # nobody serves: psup starts a server
            subprocess.run(['psup', 'exec', '--', 'true'], check=True)
            self.sock.connect(runtime_dir() + '/sock')

    def read(self):
        """The next message, whole."""
        while True:
            try:
                reader = Reader(self.data)
                message = reader.value()
                self.data = self.data[reader.at:]
                return message
            except Short:
                more = self.sock.recv(65536)
                if not more:
                    raise ConnectionError('the server is gone')
                self.data += more

    def turn(self):
        """Reads one message; an event goes to on_event."""
        message = self.read()
        if message[0] == 2:
            if message[1] == 'event':
                self.on_event(message[2][0])
            return None
        return message

    def call(self, method, **params):
        msgid = next(self.ids)
        self.sock.sendall(pack([0, msgid, method, params]))
        while True:
            answer = self.turn()
            if answer and answer[1] == msgid:
                if answer[2]:
                    raise RuntimeError(f"{method}: {answer[2]['message']}")
                return answer[3]


# --- The gateway --------------------------------------------------------------

class Gateway:
    def __init__(self, directory, scope=''):
        self.directory, self.scope, self.seen = directory, scope, 0
        with open(f'{directory}/jobs', encoding='utf-8') as f:
            self.jobs = dict(line.rstrip('\n').split('\t', 1) for line in f)
        self.results = open(f'{directory}/results', 'a+', encoding='utf-8')
        self.results.seek(0)
        # a line without its end was being written: it does not count
        text = self.results.read()
        whole = text[:text.rfind('\n') + 1]
        self.results.truncate(len(whole.encode()))
        self.done = {line.split('\t', 1)[0] for line in whole.splitlines()}

    def report(self, job, status, code):
        """Once for each job, and on disk before anything is acknowledged."""
        if job not in self.jobs or job in self.done:
            return
        code = '-' if code is None else code
        self.results.write(f'{job}\t{status}\t{code}\n')
        self.results.flush()
        os.fsync(self.results.fileno())
        self.done.add(job)

    def on_event(self, event):
        # an administrator hears of every scope; a quiet end is one, too
        if (event['kind'] in ('exited', 'lost') and
                event['scope'] == self.scope):
            self.report(event['sessionKey'], event['status'],
                        event['exitCode'])
        self.seen = event['seq']

    def connect(self):
        psup = Psup(self.on_event)
        scope = {'scope': self.scope} if self.scope else {}
        psup.call('hello', client='gateway_wire.py', **scope)
        # First hear what happened meanwhile, then start what has no result:
        # the same request key starts nothing twice.
        events = psup.call('events', subscriber='gateway', limit=1000)['events']
        while events:
            for event in events:
                self.on_event(event)
            psup.call('ack', subscriber='gateway', seq=self.seen)
            events = psup.call('events', subscriber='gateway',
                               limit=1000)['events']
        psup.call('subscribe', subscriber='gateway')
        for job, command in self.jobs.items():
            if job in self.done:
                continue
            answer = psup.call('exec', command=command, background=True,
                               requestKey=job, sessionKey=job)
            details = answer['details']
            # It did not start; or its key is known, and it has ended: whoever
            # ran it before may have acknowledged its event.
            if details['status'] != 'running':
                self.report(job, details['status'], details.get('exitCode'))
        return psup

    def run(self):
        acked = 0
        while True:
            try:
                psup = self.connect()
                while True:
                    if self.seen > acked:
                        psup.call('ack', subscriber='gateway', seq=self.seen)
                        acked = self.seen
                    if self.jobs.keys() <= self.done:
                        return
                    psup.turn()
            except OSError as e:  # the server ended, or starts
                print(f'gateway: {e}; connecting again', file=sys.stderr)
                acked = 0
                time.sleep(0.2)


if __name__ == '__main__':
    Gateway(*sys.argv[1:3]).run()
