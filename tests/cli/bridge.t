#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# psup bridge: a helper whose tree ends with its caller, and which gets the
# bridge's signals.
. "$(dirname "$0")/lib.sh"
export scratch

# gone PID...: waits until none of them lives
none_lives() {
	local pid
	left=
	for pid in "$@"; do
		case $(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null) in
		'' | Z* | X*) ;;
		*) left="$left $pid" ;;
		esac
	done
	[ -z "$left" ]
}
gone() {
	becomes none_lives "$@" && return
	kill -9 $left 2>/dev/null
	echo "# still there:$left"
	return 1
}
# there FILE: waits until it is not empty
there() { becomes test -s "$1"; }
# A helper with everything that hides: its pids go into $scratch/pids
cat >"$scratch/helper" <<'H'
#!/usr/bin/env bash
trap 'echo got TERM; exit 7' TERM
setsid sh -c 'trap "" TERM; echo $$ >>'"$scratch"'/some; exec sleep 1000' &
(setsid sleep 1000 & echo $! >>"$scratch/some")
nohup sleep 1000 >/dev/null 2>&1 &
echo $! >>"$scratch/some"
echo $$ >>"$scratch/some"
while [ "$(wc -l <"$scratch/some")" -lt 4 ]; do sleep 0.01; done
mv "$scratch/some" "$scratch/pids"
while :; do sleep 0.05; done
H
chmod +x "$scratch/helper"
pids() { there "$scratch/pids" && cat "$scratch/pids"; }

# code and signal
psup bridge -- sh -c 'exit 42'
is $? 42 "the helper's code"
psup bridge -- sh -c 'kill -KILL $$'
is $? 137 "128 + the signal that ended it"
psup bridge -- "$scratch/nothing" 2>/dev/null
is $? 127 "no such command"
psup bridge -- "$scratch" 2>/dev/null
is $? 126 "no program"
psup bridge 2>/dev/null
is $? 2 "wrong usage"
psup bridge --parent 1 -- true 2>/dev/null
is $? 125 "not the parent that was named: nothing is started"
is "$(sh -c 'psup bridge --parent $$ -- echo started; :')" started "the right one"

# stdio untouched
is "$(printf 'in' | psup bridge -- sh -c 'cat; echo err >&2; exec 1>&-' 2>&1)" \
    "inerr" "stdin, stdout and stderr are the caller's"
exec 8>"$scratch/eight"
psup bridge -- sh -c 'echo eight >&8'
exec 8>&-
is "$(cat "$scratch/eight")" eight "other descriptors, too"
# who reads the helper's stdout sees its end while the helper lives on
is "$(timeout $patience sh -c 'psup bridge -- sh -c "echo out; exec >&- 2>&-
	until [ -e $scratch/ended ]; do sleep 0.02; done
	echo later >$scratch/later" | { cat; : >$scratch/ended; }')" \
    out "its end of file is the helper's alone"
there "$scratch/later"
is "$(cat "$scratch/later")" later "and the helper went on"

# signals are forwarded, one each
for sig in TERM INT QUIT HUP; do
	rm -f "$scratch/got"
	cat >"$scratch/trap" <<T
#!/usr/bin/env bash
trap 'echo $sig >>$scratch/got; exit 9' $sig
echo ready
while :; do sleep 0.02; done
T
	# a job of an interactive-less shell ignores INT and QUIT: python does not
	python3 - "$sig" bash "$scratch/trap" <<'P' &
import signal, subprocess, sys
for s in (signal.SIGINT, signal.SIGQUIT):
    signal.signal(s, signal.SIG_DFL)
p = subprocess.Popen(["psup", "bridge", "--"] + sys.argv[2:],
                     stdout=subprocess.PIPE)
assert p.stdout.readline() == b"ready\n"
p.send_signal(getattr(signal, "SIG" + sys.argv[1]))
sys.exit(p.wait())
P
	wait $!
	is $? 9 "SIG$sig reaches the helper, whose code is the bridge's"
	is "$(cat "$scratch/got")" "$sig" "SIG$sig comes once"
done

# the helper ends: what it left behind does, too
rm -f "$scratch/pids"
psup bridge --grace 100 -- "$scratch/helper" >"$scratch/out" &
bridge=$!
list=$(pids)
kill -TERM $bridge
wait $bridge
is $? 7 "a helper that handles SIGTERM ends as it likes"
is "$(cat "$scratch/out")" "got TERM" "and says what it likes"
gone $list
is $? 0 "nothing of its tree is left, setsid and nohup or not"

# the caller ends, however
for how in TERM KILL; do
	rm -f "$scratch/pids"
	sh -c 'psup bridge --grace 100 -- "$scratch/helper" >/dev/null & \
	    echo $! >"$scratch/bridge"; while :; do sleep 0.05; done' &
	caller=$!
	list=$(pids)
	kill -$how $caller
	wait $caller 2>/dev/null
	gone $list $(cat "$scratch/bridge")
	is $? 0 "the caller's SIG$how ends the whole tree"
done

# the bridge itself is killed; the watcher is
rm -f "$scratch/pids"
psup bridge --grace 100 -- "$scratch/helper" >/dev/null &
bridge=$!
list=$(pids)
watcher=$(cat "/proc/$bridge/task/$bridge/children")
kill -KILL $bridge
gone $list $watcher
is $? 0 "SIGKILL to the bridge ends the whole tree"
wait $bridge 2>/dev/null
rm -f "$scratch/pids"
psup bridge --grace 100 -- "$scratch/helper" >/dev/null &
bridge=$!
list=$(pids)
watcher=$(cat "/proc/$bridge/task/$bridge/children")
kill -KILL $watcher
wait $bridge 2>/dev/null
is $? 137 "SIGKILL to its watcher ends the bridge"
gone $list
is $? 0 "and the whole tree"

# no server was started for any of this
is "$(ls -A "$PSUP_RUNTIME_DIR")" "" "no server is needed"
