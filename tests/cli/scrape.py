#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What metrics.t asks of psup metrics over sockets, and the OpenMetrics parser
of Prometheus' own Python client.

    scrape.py parse               stdin is OpenMetrics: prints "ok N families"
    scrape.py raw ADDRESS < file  sends the bytes, prints the status line
    scrape.py crowd ADDRESS PID   many clients; what PID holds open meanwhile
    scrape.py silent ADDRESS      one that says nothing, until it is sent away
    scrape.py slow ADDRESS        a request byte by byte, until it is cut off
"""
import os
import select
import socket
import sys


def connect(address):
    if address.startswith("unix:"):
        s = socket.socket(socket.AF_UNIX)
        s.connect(address[5:])
        return s
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)))


def read_all(s):
    s.settimeout(120)
    data = b""
    try:
        while True:
            piece = s.recv(65536)
            if not piece:
                break
            data += piece
    except ConnectionResetError:
        pass
    return data


def parse():
    from prometheus_client.openmetrics.parser import (
        text_string_to_metric_families)
    families = list(text_string_to_metric_families(sys.stdin.read()))
    seen = set()
    for f in families:
        for s in f.samples:
            key = (s.name, tuple(sorted(s.labels.items())))
            assert key not in seen, key
            seen.add(key)
    print("ok", len(families), "families")


def raw(address):
    s = connect(address)
    try:
        s.sendall(sys.stdin.buffer.read())
    except (BrokenPipeError, ConnectionResetError):
        pass
    line = read_all(s).split(b"\r\n")[0].decode("latin-1")
    print(line or "closed")


def crowd(address, pid):
    clients = [connect(address) for _ in range(30)]
    s = connect(address)
    s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
              b"Connection: close\r\n\r\n")
    # it stands behind them: answered while all are held, or once some were
    # sent away
    select.select([s] + clients, [], [], 120)
    held = len(os.listdir("/proc/%s/fd" % pid))
    print("bounded" if held < 30 else "%d descriptors" % held)
    for c in clients:
        c.close()
    print(read_all(s).split(b"\r\n")[0].decode())


def silent(address):
    s = connect(address)
    print("sent away" if read_all(s) == b"" else "answered")


def slow(address):
    s = connect(address)
    try:
        for byte in b"GET /metrics HTTP/1.1\r\nX: " + b"y" * 600:
            s.sendall(bytes([byte]))
            if select.select([s], [], [], 0.1)[0] and not s.recv(1):
                raise ConnectionResetError
        print("let go on")
    except (BrokenPipeError, ConnectionResetError):
        print("cut off")


globals()[sys.argv[1]](*sys.argv[2:])
