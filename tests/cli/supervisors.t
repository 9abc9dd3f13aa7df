#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The run scripts for s6 and runit, under these programs: ready when the server
# serves, ended with its commands, started again when it was killed.
if ! { command -v s6-supervise && command -v runsv; } >/dev/null; then
	echo "1..0 # SKIP not both of s6 and runit here"
	exit 0
fi
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")/../../packaging" && pwd)
export PSUP_CONFIG="$scratch/none.conf" PSUP_WORKERS=2
: >"$PSUP_CONFIG"

keeper() { cat "$PSUP_RUNTIME_DIR/lock"; }

another_keeper() { [ "$(keeper)" != "$1" ] && psup status --no-start; }
gone() { ! kill -0 "$1"; }

# What both have to do: WHO, then a server that serves.
serves() {
	is "$(psup exec --no-start -- echo "under $1")" "under $1" \
		"$1: a command runs"
	psup exec --background 'exec sleep 1000' >"$scratch/id"
	command=$(psup list --json | grep -oE '"pid": ?[0-9]+' | head -1 |
		grep -oE '[0-9]+')
	kill -0 "$command"
	is $? 0 "$1: and another in the background"
	old=$(keeper)
	kill -KILL "$old"
	becomes another_keeper "$old" >/dev/null 2>&1
	is $? 0 "$1: a keeper that was killed is replaced"
	becomes gone "$command" 2>/dev/null
	is $? 0 "$1: and its commands ended"
}

# ends PID WHO: once told to stop, nobody is left.
ends() {
	becomes gone "$1" 2>/dev/null
	is $? 0 "$2: it stops"
	is "$(psup status --no-start 2>&1 | grep -c 'no server runs')" 1 \
		"$2: and nobody serves"
}

cp -R "$here/s6" "$scratch/s6"
s6-supervise "$scratch/s6" >"$scratch/s6.log" 2>&1 &
supervisor=$!
becomes test -p "$scratch/s6/supervise/control"
s6-svwait -U -t 120000 "$scratch/s6"
is $? 0 "s6: it says that it is ready"
is "$(psup status --no-start >/dev/null 2>&1; echo $?)" 0 "s6: and serves then"
serves s6
pid=$(keeper)
s6-svc -d "$scratch/s6"
ends "$pid" s6
s6-svc -x "$scratch/s6"
wait $supervisor
is $? 0 "s6: its supervisor ends"

cp -R "$here/runit" "$scratch/runit"
rm -r "$scratch/runit/log"
runsv "$scratch/runit" >"$scratch/runit.log" 2>&1 &
supervisor=$!
becomes test -p "$scratch/runit/supervise/control"
like "$(sv -w 120 start "$scratch/runit" 2>&1)" "ok: run:*" \
	"runit: it says that it is ready"
serves runit
pid=$(keeper)
sv -w 120 stop "$scratch/runit" >/dev/null
ends "$pid" runit
sv exit "$scratch/runit" >/dev/null
wait $supervisor
is $? 0 "runit: its supervisor ends"
