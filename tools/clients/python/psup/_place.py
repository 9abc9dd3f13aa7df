# SPDX-License-Identifier: MIT
"""Where the server is, whether it is to be believed, and how one starts."""
from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import socket
import stat
import struct
import tempfile
from typing import Optional, Set

from ._errors import PsupError

START_S = 20.0
EXIT_RUNS = 75  # a server has the directory already
# What a server is started with beside the basics: its settings, but for the
# client's own.
PASSED = ("PSUP_", "OPENCLAW_BASH_", "PI_BASH_", "CLAWDBOT_BASH_",
          "OPENCLAW_PROCESS_INPUT_WAIT_IDLE_MS",
          "OPENCLAW_CHILD_OOM_SCORE_ADJ", "XDG_CONFIG_HOME")
BASIC = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ",
         "USER",
         "XDG_RUNTIME_DIR")
NOT_PASSED = ("PSUP_TOKEN_FILE", "PSUP_SERVER_USER", "PSUP_SCOPE")


def default_dir() -> str:
    env = os.environ
    xdg = env.get("XDG_RUNTIME_DIR")
    return (env.get("PSUP_RUNTIME_DIR") or (xdg and xdg + "/psup") or
            f"/dev/shm/psup-{os.geteuid()}")


def read_token(path: str) -> str:
    """A scope token from a file that is the user's own and of nobody else."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        with open(fd, encoding="ascii") as f:
            st = os.fstat(f.fileno())
            if st.st_uid not in (0, os.geteuid()) or st.st_mode & 0o077:
                raise PsupError(
                    "system", f"{path}: uid {st.st_uid}, mode "
                    f"{stat.S_IMODE(st.st_mode):o}; expected a file of yours "
                    "with mode 0600", "token_file")
            return f.read(200).strip()
    except (OSError, ValueError) as e:
        raise PsupError("system", f"{path}: {e}", "token_file") from e


class Place:
    """A runtime directory and the socket in it."""

    def __init__(self, runtime_dir: Optional[str], psupd: Optional[str],
                 server_user: Optional[str]) -> None:
        self.dir = runtime_dir or default_dir()
        if not os.path.isabs(self.dir) or len(self.dir) > 100:
            raise PsupError("system", f"{self.dir}: expected an absolute path "
                            "of at most 100 bytes", "runtime_dir")
        self.psupd = psupd
        self.uids: Set[int] = {0, os.geteuid()}
        user = server_user or os.environ.get("PSUP_SERVER_USER")
        if user:
            try:
                self.uids.add(int(user) if user.isdigit()
                              else pwd.getpwnam(user).pw_uid)
            except KeyError:
                raise PsupError("system", f"{user}: no such user",
                                "server_user") from None

    def _believe(self, uid: int, what: str) -> None:
        if uid not in self.uids:
            raise PsupError(
                "system", f"{self.dir}: {what} belongs to uid {uid}, expected "
                f"{' or '.join(map(str, sorted(self.uids)))}", "runtime_dir")

    def dial(self) -> socket.socket:
        """A connected socket. FileNotFoundError, ConnectionRefusedError: nobody
        serves; BlockingIOError: the queue is full, later."""
        st = os.lstat(self.dir)
        if not stat.S_ISDIR(st.st_mode) or st.st_mode & 0o022:
            raise PsupError("system", f"{self.dir}: expected a directory that "
                            "others cannot write to", "runtime_dir")
        self._believe(st.st_uid, "the directory")
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            sock.connect(self.dir + "/sock")
            raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            self._believe(struct.unpack("=iII", raw)[1], "the server")
        except BaseException:
            sock.close()
            raise
        return sock

    def keeper_lives(self) -> bool:
        """Is there one who starts another master?"""
        try:
            with open(self.dir + "/lock", encoding="ascii") as f:
                pid = int(f.read(24).split()[0])
            if pid <= 0:
                return False
            os.kill(pid, 0)
        except PermissionError:
            return True
        except (OSError, ValueError, IndexError):
            return False
        return True

    def _find_psupd(self) -> str:
        named = self.psupd or os.environ.get("PSUP_PSUPD")
        found = named or shutil.which("psupd") or shutil.which(
            "psupd", path="/usr/local/sbin:/usr/sbin:/usr/local/bin:/usr/bin")
        if not found:
            raise PsupError(
                "no-server", "no server runs, and psupd is not in PATH: is "
                "psup installed? connect(psupd=...) or $PSUP_PSUPD may name "
                "it", "psupd")
        return found

    async def start(self) -> None:
        """Starts a server; one that runs already is as good."""
        path = self._find_psupd()
        env = {k: v for k, v in os.environ.items()
               if k in BASIC or k.startswith("LC_") or
               (k.startswith(PASSED) and k not in NOT_PASSED)}
        env["PSUP_RUNTIME_DIR"] = self.dir
        with tempfile.TemporaryFile() as said:
            try:
                proc = await asyncio.create_subprocess_exec(
                    path, "--detach", env=env,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.DEVNULL, stderr=said)
            except OSError as e:
                raise PsupError("no-server", f"{path}: {e.strerror}",
                                "psupd") from e
            try:
                code = await asyncio.wait_for(proc.wait(), START_S)
            except asyncio.TimeoutError:
                proc.kill()
                await proc.wait()
                raise PsupError(
                    "timeout", f"{path} --detach was not ready after "
                    f"{START_S:.0f} s", "psupd") from None
            said.seek(0)
            words = said.read(480).decode(errors="replace").strip()
        if code not in (0, EXIT_RUNS):
            raise PsupError("no-server", f"{path} --detach failed with code "
                            f"{code}: {words}", "psupd")
