#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Many servers are started in one directory at the same instant: one wins, the
# others name it and go, and the socket is the winner's. The same where a dead
# server's lock and socket lie about. $PSUP_START_ROUNDS rounds of
# $PSUP_STARTS.
. "$(dirname "$0")/lib.sh"

rounds=${PSUP_START_ROUNDS:-2}
starts=${PSUP_STARTS:-50}
runs=75 # exit code: somebody runs there

keeper() { psup status --json | sed 's/.*"keeper":{"pid":\([0-9]*\).*/\1/'; }

# How many of a round's starts ended as the winner, and as a loser that names
# it; anything else is shown.
all_at_once() {
	local i pids=() won=0 lost=0 pid
	rm -f "$scratch"/said.*
	for ((i = 0; i < starts; i++)); do
		psupd --detach 2>"$scratch/said.$i" &
		pids+=($!)
	done
	for ((i = 0; i < starts; i++)); do
		wait "${pids[i]}"
		case $? in
		0) won=$((won + 1)) ;;
		"$runs") lost=$((lost + 1)) ;;
		*) cat "$scratch/said.$i" ;;
		esac
	done
	pid=$(keeper)
	echo "$won won, $lost lost," \
	    "$(grep -lw "pid $pid" "$scratch"/said.* | wc -l) named it"
}

for ((round = 0; round < rounds; round++)); do
	is "$(all_at_once)" \
	    "1 won, $((starts - 1)) lost, $((starts - 1)) named it" \
	    "round $round"
	is "$(psup exec -- echo on)" on "it answers"
	pid=$(keeper)
	if ((round % 2 == 0)); then
		kill -KILL "$pid" # its socket and lock stay
		while kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
	else
		psup shutdown --grace 0 >/dev/null
	fi
done
psup exec -- true
psup shutdown --grace 0 >/dev/null
