#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What `apt purge` takes away of servers' directories, by the package's own
# script and a root of ours: never that of a living one.
. "$(dirname "$0")/lib.sh"
postrm=$(cd "$(dirname "$0")/../.." && pwd)/packaging/debian/postrm
DPKG_ROOT=$scratch/root
export DPKG_ROOT
shm=$DPKG_ROOT/dev/shm
mkdir -p "$shm" "$DPKG_ROOT/run/user/1000" "$DPKG_ROOT/elsewhere" \
    "$DPKG_ROOT/etc/systemd/system/default.target.wants"
serve() { (PSUP_RUNTIME_DIR=$1 psup "${@:2}"); }
# serves DIR: a command that runs there, with a server of its own
serves() {
	mkdir -m 700 "$1"
	serve "$1" exec --background 'echo up; exec sleep 600' >/dev/null
}

serves "$shm/psup-1"
serves "$shm/psup-2"
serves "$DPKG_ROOT/run/psup-x"
serves "$DPKG_ROOT/run/user/1000/psup"
serves "$shm/mine"
for dir in "$shm/psup-2" "$DPKG_ROOT/run/psup-x" "$shm/mine"; do
	serve "$dir" shutdown --grace 100 >/dev/null
done
trap 'serve "$shm/psup-1" shutdown --grace 0
	serve "$DPKG_ROOT/run/user/1000/psup" shutdown --grace 0
	finish' EXIT
# what only looks like one
mkdir -p "$shm/psup-3/rings" "$shm/psup-4/rings" "$shm/psup-5"
ln -s "$shm/psup-2/lock" "$shm/psup-3/lock"
: >"$shm/psup-5/lock"
mkdir "$DPKG_ROOT/elsewhere/rings"
: >"$DPKG_ROOT/elsewhere/lock"
ln -s ../../elsewhere "$shm/psup-6"
ln -s /nowhere "$DPKG_ROOT/etc/systemd/system/default.target.wants/psup@x.service"

sh "$postrm" remove
is "$?$(ls "$shm" | tr '\n' ' ')" "0mine psup-1 psup-2 psup-3 psup-4 psup-5 psup-6 " \
    "a removal takes nothing"
sh "$postrm" purge
is "$?" 0 "a purge"
is "$(ls "$shm" | tr '\n' ' ')" "mine psup-1 psup-3 psup-4 psup-5 psup-6 " \
    "an ended server's directory goes, and nothing that is none"
is "$(ls "$DPKG_ROOT/run" "$DPKG_ROOT/run/user/1000" | tr '\n' ' ')" \
    "$DPKG_ROOT/run: user  $DPKG_ROOT/run/user/1000: psup " \
    "of services and of users, too"
is "$(ls "$DPKG_ROOT/elsewhere")" "lock
rings" "and never through a link"
is "$(ls "$DPKG_ROOT/etc/systemd/system/default.target.wants")" "" \
    "no unit stays enabled"
for dir in "$shm/psup-1" "$DPKG_ROOT/run/user/1000/psup"; do
	like "$(serve "$dir" list --no-start)" "*running*" \
	    "a server that lives goes on"
done
serve "$shm/psup-1" shutdown --grace 100 >/dev/null
sh "$postrm" purge
is "$(ls "$shm" | tr '\n' ' ')" "mine psup-3 psup-4 psup-5 psup-6 " \
    "once it ended its directory goes, too"
