#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The server that a command starts: what it takes from its starter, and what
# it does not.
. "$(dirname "$0")/lib.sh"

keeper() { psup status --json | sed 's/.*"keeper":{"pid":\([0-9]*\).*/\1/'; }
stop() { psup shutdown --grace 100 >/dev/null; }
call() { echo "{\"tool\":\"exec\",$1}" | psup tool; }

# nothing of ours: stdio, descriptors, directory, environment, terminal
exec 9<"$0"
(cd "$scratch" && SECRET=here psup exec true) <"$0"
pid=$(keeper)
# psup's processes are not dumpable: only root may look into one
if [ "$(id -u)" = 0 ]; then
	is "$(readlink "/proc/$pid/cwd")" / "its directory is /"
	is "$(readlink "/proc/$pid/fd/0" "/proc/$pid/fd/1" | sort -u)" \
	    /dev/null "its stdio is /dev/null"
	readlink "/proc/$$"/fd/* | grep -F -e "$0" -e pipe: >"$scratch/ours"
	is "$(readlink "/proc/$pid"/fd/* | grep -c -F -f "$scratch/ours")" 0 \
	    "no descriptor of ours"
	is "$(tr '\0' '\n' <"/proc/$pid/environ" | grep -c SECRET)" 0 \
	    "not our environment"
fi
is "$(awk '{print $7}' "/proc/$pid/stat")" 0 "no terminal"
like "$(echo '{"tool":"exec","command":"echo $SECRET."}' | SECRET=now psup tool)" \
    '*"text":"now.\\n"*' "a command has its caller's"
stop
exec 9<&-

# a keeper that was killed while it started a process: that one has its lock
# until its exec, so the next keeper waits for a lock whose holder is dead
sh -c 'echo $$' >"$PSUP_RUNTIME_DIR/lock"
flock "$PSUP_RUNTIME_DIR/lock" sh -c ": >$scratch/held; sleep 1" &
becomes test -e "$scratch/held"
psupd --runtime-dir "$PSUP_RUNTIME_DIR" 2>"$scratch/said" &
server=$!
until psup --no-start status >/dev/null 2>&1 || ! kill -0 $server 2>/dev/null
do sleep 0.01; done
is "$(psup --no-start exec "echo on" 2>&1)" on \
    "a dead keeper's lock is waited for: $(grep ^psupd: "$scratch/said")"
stop
wait

# the families of names, given to the server
for name in PSUP_YIELD_MS OPENCLAW_BASH_YIELD_MS PI_BASH_YIELD_MS; do
	export $name=50
	like "$(call '"command":"sleep 60"')" '*"status":"running"*' $name
	stop
	unset $name
done
for name in PSUP_MAX_OUTPUT_CHARS OPENCLAW_BASH_MAX_OUTPUT_CHARS \
    PI_BASH_MAX_OUTPUT_CHARS; do
	export $name=5000
	like "$(call '"command":"head -c 9000 /dev/zero"')" \
	    '*"text":"[[]4000 bytes of earlier output*' $name
	stop
	unset $name
done
waits_for_input() { psup list --json | grep -q '"waitingForInput":true'; }
for name in PSUP_INPUT_WAIT_IDLE_MS OPENCLAW_PROCESS_INPUT_WAIT_IDLE_MS; do
	export $name=1000
	id=$(psup exec --background cat)
	becomes waits_for_input
	is $? 0 $name
	stop
	unset $name
done

# psup.conf
export PSUP_CONFIG=$scratch/psup.conf
cat >"$PSUP_CONFIG" <<'C'
[exec]
workdir = /usr
path_prepend = /opt/first
shell = /bin/sh
background_ms = 50
notify_on_exit = false
C
like "$(call '"command":"pwd; echo $PATH; echo $0","yieldMs":60000')" \
    '*"text":"/usr\\n/opt/first:*/bin/sh\\n"*' "workdir, path_prepend, shell"
like "$(call '"command":"sleep 60; exit 3"')" \
    '*No exit event will come*"status":"running"*' \
    "background_ms, notify_on_exit"
stop
wrong() { # CONTENTS PATTERN
	printf '%b' "$1" >"$PSUP_CONFIG"
	like "$(psup exec true 2>&1; echo $?)" \
	    "*$PSUP_CONFIG:$2
125" "refused: $2"
}
wrong '[exec]\nfoo = 1\n' '2: exec.foo: no such setting'
wrong '[nope]\na = 1\n' '2: nope.a: no such section*'
wrong '; x\nbackground_ms = 1\n' '2: background_ms: no such section*'
wrong '[exec]\nbackground_ms = 5\n' '2: *out of range; expected 10 to 120000'
wrong '[exec]\n\nshell = sh\n' '3: exec.shell: "sh" is no absolute path*'
wrong '[exec\n' '1: expected *'
wrong '[lane "x"]\nwidth = 0\n' '2: lane "x".width: "0" is no number from 1*'
