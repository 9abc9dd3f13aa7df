# SPDX-License-Identifier: MIT
"""psup-top in tmux, driven by one client in control mode: what the pane writes
is the event that is waited for, and no process is started for a look.

top_resize.py SOCKET ROUNDS SEED: changes of size at random; what is seen after
each, characters, attributes and colours, against the same drawn from nothing.
Prints what differs, and "N sizes"."""
import faulthandler
import fcntl
import itertools
import random
import re
import struct
import subprocess
import sys
import termios

PATIENCE = 120
# What a key does to the screen's last line.
ANSWERS = (("S", "sorted by scope"), ("I", "sorted by session"))
# Views, each at a part of the sizes: the keys that lead there.
VIEWS = ((), ("f",), ("d",), ("z",), ("Escape", "t"), ("l",), ("l", "h"))


class Mux:
    """A tmux server's pane, and what is on it."""

    def __init__(self, socket):
        self.client = subprocess.Popen(
            ["tmux", "-S", socket, "-f", "/dev/null", "-C", "attach"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.wrote = False
        self.answer()

    def line(self):
        line = self.client.stdout.readline()
        if not line:
            raise SystemExit("tmux is gone")
        self.wrote |= line.startswith(b"%output ")
        return line.rstrip(b"\n")

    def answer(self):
        while not self.line().startswith(b"%begin "):
            pass
        lines = []
        while not re.match(rb"%(end|error) \d+ \d+ \d+$", line := self.line()):
            lines.append(line.decode("utf-8", "replace"))
        return lines

    def ask(self, command):
        self.client.stdin.write(command.encode() + b"\n")
        self.client.stdin.flush()
        return self.answer()

    def wait(self):
        while not self.wrote:
            self.line()

    def look(self):
        self.wrote = False
        return self.ask("capture-pane -p -e -N")


def cells(lines):
    """What is seen: of a blank no colour of a letter, and how it was made does
    not count."""
    rows, style = [], {}  # which a line has from the one before
    for line in lines:
        row = []
        for part in re.findall(r"\x1b\[([0-9;:]*)m|([^\x1b])|\x1b[^\[m]*m?", line):
            if not part[1]:
                sgr(style, part[0])
                continue
            seen = dict(style)
            if part[1] == " " and "7" not in seen:
                seen = {k: v for k, v in seen.items() if k in ("bg", "4")}
            row.append((part[1], tuple(sorted(seen.items()))))
        while row and row[-1] == (" ", ()):
            row.pop()
        rows.append(row)
    while rows and not rows[-1]:
        rows.pop()
    return rows


def sgr(style, text):
    codes = text.split(";") if text else ["0"]
    while codes:
        c = codes.pop(0)
        if c in ("", "0"):
            style.clear()
        elif c in ("38", "48"):
            n = 2 if codes[0] == "5" else 4
            style["fg" if c == "38" else "bg"] = ";".join(codes[:n])
            del codes[:n]
        elif c in ("39", "49"):
            style.pop("fg" if c == "39" else "bg", None)
        elif c[0] in "34910" and len(c) > 1 and int(c) >= 30:
            style["fg" if (int(c) // 10) % 2 == 1 else "bg"] = c
        else:
            style[c] = ""


class Display:
    def __init__(self, mux):
        self.mux = mux
        self.tty = open(mux.ask("display-message -p '#{pane_tty}'")[0], "rb")

    def size(self):
        return struct.unpack("HHHH", fcntl.ioctl(
            self.tty, termios.TIOCGWINSZ, b"\0" * 8))[:2]

    def pressed(self, key, word):
        """The key, and its answer is on the screen: it is the last line, which
        is drawn last."""
        self.mux.ask("send-keys " + key)
        while True:
            lines = self.mux.look()
            if any(word in line for line in lines[-1:]):
                return cells(lines)
            self.mux.wait()

    def settled(self):
        """As it is after two answers, and was after the two before: a change of
        size may come one key late."""
        before = None
        while True:
            for key, word in ANSWERS:
                now = self.pressed(key, word)
            if now == before:
                return now
            before = now


def shown(cells_of):
    return "\n".join("".join(c for c, _ in row) for row in cells_of)


def main(socket, rounds, seed):
    mux = Mux(socket)
    display = Display(mux)
    chance = random.Random(seed)
    for i in range(rounds):
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        view = i * len(VIEWS) // rounds
        if view != (i - 1) * len(VIEWS) // rounds:
            for key in VIEWS[view]:
                mux.ask("send-keys " + key)
        columns, rows = chance.randint(40, 220), chance.randint(10, 60)
        mux.ask(f"resize-window -x {columns} -y {rows}")
        while display.size() != (rows, columns):
            # tmux gives the pane its size by a timer, and psup-top draws then
            mux.wait()
            mux.wrote = False
        got = display.settled()
        mux.ask("send-keys C-l")
        anew = display.settled()
        if got == anew:
            continue
        print(f"{columns}x{rows}, view {view}")
        for y, (a, b) in enumerate(itertools.zip_longest(got, anew, fillvalue=[])):
            for x, (c, d) in enumerate(itertools.zip_longest(a, b)):
                if c != d:
                    print(f"row {y}, character {x}: {c}, not {d}")
        print(f"{shown(got)}\n--- anew\n{shown(anew)}")
        return
    print(f"{rounds} sizes")


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
