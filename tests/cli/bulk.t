#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Many sessions at once: wait, signal, kill, remove, clear; how each ended.
. "$(dirname "$0")/lib.sh"

code() { "$@" >/dev/null 2>&1; echo $?; }

seven=$(psup exec --background 'exit 7')
fine=$(psup exec --background true)
doomed=$(psup exec --background 'exec sleep 600')
limited=$(psup exec --background --limit cpuSeconds=1 -- sh -c 'while :; do :; done')
slow=$(psup exec --background --timeout 1 'exec sleep 600')

# wait says how each ended
like "$(psup wait "$seven")" "$seven completed (exit 7) after * :: exit 7" \
    "wait: its exit code"
is "$(code psup wait "$seven")" 0 "of which it is no failure"
is "$(code psup wait --exit-code "$seven")" 7 "--exit-code"
is "$(code psup wait --exit-code "$fine" "$seven")" 7 "of several"
is "$(psup wait "$slow" | sed 's/ after.*//')" "$slow timed out" "a time-out"
is "$(code psup wait --exit-code "$slow")" 124 "its exit code"
is "$(psup wait "$limited" | sed 's/ after.*//')" \
    "$limited ended by a limit (cpuSeconds)" "a limit by its name"
like "$(psup wait --json "$limited")" '*"limitHit":"cpuSeconds"*' "as JSON, too"
like "$(psup events)" "*($limited, signal SIGXCPU) Command ended by the limit cpuSeconds*" \
    "its event names it"
like "$(psup wait --any "$seven" "$doomed")" \
    "$seven completed (exit 7)*
$doomed running for *" "--any"
is "$(code psup wait --timeout 10ms "$doomed")" 124 "a time with its unit"
like "$(psup wait --timeout 10 "$doomed"; echo $?)" "$doomed running for *124" \
    "one that goes on"

# a signal alone, and an end
trapper=$(psup exec --background 'trap "echo caught" USR1; echo ready; while :; do sleep 0.02; done')
other=$(psup exec --background 'trap "echo caught" USR1; echo ready; while :; do sleep 0.02; done')
psup wait "$trapper" "$other" --text ready >/dev/null
is "$(psup signal "$trapper" "$other" USR1)" "Sent SIGUSR1 to session $trapper.
Sent SIGUSR1 to session $other." "signal: a line for each"
psup wait "$trapper" "$other" --text caught --timeout 60000 >/dev/null
is "$(psup poll "$trapper" --json | grep -c '"status":"running"')" 1 \
    "and they go on"
like "$(psup signal "$trapper" USR9 2>&1; echo $?)" '*"USR9" is no signal*2' \
    "no such signal"
is "$(code psup signal "$trapper")" 2 "none"
is "$(psup signal "${trapper%?}" 10)" "Sent SIGUSR1 to session $trapper." \
    "a beginning, a number"
is "$(psup completion query -- psup signal "$trapper" US | cut -f1)" "USR1
USR2" "the signal is completed"
like "$(psup completion query -- psup signal "$trapper" "$other")" "$other	*" \
    "and so is another session"
like "$(psup help kill)" "*It ends them*psup signal*" "kill says that it ends"
is "$(psup kill "$trapper" no-such-one "$other" 2>"$scratch/err"; echo $?)" \
    "Session $trapper is ended.
Session $other is ended.
1" "kill: a line for each, 1 where one failed"
like "$(cat "$scratch/err")" "*found for no-such-one" "and which"
is "$(psup kill "$doomed" --json | grep -c .)" 1 "one: an object"
is "$(psup wait "$doomed" | sed 's/ after.*//')" "$doomed killed by TERM" \
    "wait says that it was killed"

# many that take their grace take it together
stubborn=()
for _ in 1 2 3 4 5 6 7 8; do
	stubborn+=("$(psup exec --background \
	    'trap "" TERM; echo ready; while :; do sleep 0.02; done')")
done
psup wait "${stubborn[@]}" --text ready >/dev/null
before=$(date +%s%N)
is "$(psup kill --grace 4000 "${stubborn[@]}" | grep -c 'is ended')" 8 \
    "eight are killed"
is "$((($(date +%s%N) - before) / 1000000000 < 8 * 4))" 1 "side by side"

# where nothing can be written, that is no success
for command in list "list --json" "log $fine" "wait $fine" \
    "inspect $fine" stats status; do
	# shellcheck disable=SC2086
	is "$(psup $command >/dev/full 2>/dev/null; echo $?)" 125 \
	    "$command: nowhere to write"
done

# one that is not there keeps nobody from the others
unknown="psup: No session found for nobody"
for command in wait inspect stats log; do
	is "$(psup $command nobody "$seven" 2>&1 >"$scratch/out"; echo $?)" \
	    "$unknown
1" "$command: which one is not there"
	is "$(grep -c "$seven" "$scratch/out")" 1 "$command: of the other"
done
is "$(psup wait --exit-code "$seven" nobody >/dev/null 2>&1; echo $?)" 7 \
    "wait: the code of the other"
is "$(psup inspect nobody "$seven" --json 2>/dev/null |
    grep -c '"code":"not-found"')" 1 "inspect: as JSON"
is "$(psup wait nobody no-other 2>&1; echo $?)" "$unknown
psup: No session found for no-other
1" "wait: none of them"
is "$(code psup stats nobody)" 4 "stats of none"

# clear and remove
psup exec --background 'exec sleep 600' >/dev/null
is "$(psup clear --finished --older 1h; echo $?)" "No finished sessions.
0" "--older: none"
is "$(code psup clear --older 1h)" 2 "--older alone"
is "$(code psup clear)" 2 "clear what?"
is "$(code psup clear --finished "$seven")" 2 "either"
is "$(psup clear "$seven" "$fine" | grep -c .)" 2 "clear: a line for each"
is "$(code psup log "$seven")" 4 "it is gone"
left=$(psup list --all | grep -c -v "running\|^ID")
is "$(psup clear --finished | grep -c .) $(psup list | grep -c -v ^ID)" \
    "$left 1" "clear --finished leaves what runs"
rest=$(psup list --format '{id}')
more=$(psup exec --background 'exec sleep 600')
is "$(psup remove "$rest" "$more" --json | grep -c '"isError":false')" 2 \
    "remove: an object for each"
is "$(psup list)" "No running or recent sessions." "nothing is left"
