#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# psup-chaos against servers that lie (common/fault.h): whatever they lose or
# double, it must say so by counter and exit code. Only test builds can lie.
. "$(dirname "$0")/lib.sh"

report=$scratch/report.json

# found COUNTER...: the report counts them all
found() {
	python3 -c '
import json, sys
losses = json.load(open(sys.argv[1]))["losses"]
sys.exit(not all(losses[c] > 0 for c in sys.argv[2:]))' "$report" "$@"
}
# lies COUNTER POINT ...: the report counts them all, and the exit code is 1;
# $victim is killed meanwhile. A lie comes with the n-th pass of its point: a
# campaign in which it did not come is run again for longer.
victim=reader
lies() {
	local points= counters= counter code for
	while [ $# -gt 0 ]; do
		counters="$counters $1"
		points="$points,$2"
		shift 2
	done
	for for in 1 5 30; do
		psup-chaos --kill "$victim" --for $for --rate 5 --sessions 4 \
		    --workers 1 --seed 21 --quiet --json "$report" \
		    --fault "${points#,}" >/dev/null 2>"$scratch/said"
		code=$?
		sed -n 's/^psup-chaos: \(.*\) is kept$/\1/p' "$scratch/said" |
			grep -x '/dev/shm/psup-chaos-......' | xargs -r rm -r
		# shellcheck disable=SC2086
		! found $counters || break
	done
	is "$code" 1 "exit code of${points//,/ }"
	for counter in $counters; do
		found "$counter"
		is $? 0 "$counter: $(grep -m 1 "$counter" "$scratch/said")"
	done
}

if ! grep -q lie.byte-lost "$PSUP_TEST_BIN/psup-worker"; then
	echo "ok 1 - # SKIP a build without fault points"
	count=1
	exit 0
fi
lies bytesLost lie.byte-lost@20=once stdinWrong lie.input-twice@2=once \
    statusWrong lie.exit-status@20=once startsDoubled lie.start-twice@20=once \
    eventsDoubled lie.event-twice@10=once
lies bytesWrong lie.byte-more@20=once stdinWrong lie.input-lost@2=once \
    startsLost lie.start-lost@20=once eventsLost lie.event-lost@10=once \
    orderWrong lie.order@5=fail
# the first 11 are those of the warm-up, before anything is counted
lies processesLeft lie.process=fail descriptorsLeft lie.descriptor@10=fail \
    filesLeft lie.file@12=fail recordsLeft lie.record@20=fail
victim=keeper
lies startsLost lie.queue-lost=fail
