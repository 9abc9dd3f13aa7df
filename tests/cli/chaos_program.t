#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# psup-chaos with a program of the user's, a server that runs already, and wrong
# usage. Campaigns of its own are in chaos.t.
. "$(dirname "$0")/lib.sh"

code() { "$@" >/dev/null 2>&1; echo $?; }
value() { python3 -c '
import json, sys
v = json.load(open(sys.argv[1]))
for k in sys.argv[2].split("."):
    v = v[int(k)] if isinstance(v, list) else v[k]
print(v)' "$@"; }

report=$scratch/report.json
# What hides is killed with the program, and what it leaves is told.
psup-chaos --command 'setsid sleep 1000 & : >"$TMPDIR/x"; echo ready; wait' \
    --on ready --sessions 2 --restarts 1 --quiet --json - >"$report" \
    2>"$scratch/said"
is $? 0 "a program of the user's: $(cat "$scratch/said")"
is "$(value "$report" runs | grep -o "'killed': True" | wc -l)" 4 \
    "each is killed, once started and once restarted"
is "$(value "$report" runs.0.filesLeft)" 1 "the file it left"
is "$(value "$report" runs.0.processesLeft)" 0 "the process it hid is gone"
psup-chaos --command 'exit 3' --sessions 1 --restarts 0 --after 20000 \
    --quiet --json - >"$report" 2>/dev/null
is "$(value "$report" runs.0.killed) $(value "$report" runs.0.exitCode)" \
    "False 3" "one that ends by itself"

# A server that runs already.
psup exec --background -- sleep 1000 >/dev/null
psup-chaos --runtime-dir "$PSUP_RUNTIME_DIR" --kills 5 --rate 20 \
    --sessions 2 --quiet >/dev/null 2>"$scratch/said"
is $? 0 "the server of others: $(cat "$scratch/said")"
like "$(psup list)" "*running*sleep 1000*" "their sessions go on"

# Its commands write what is compared and nothing else, whoever looks for leaks.
is "$(LSAN_OPTIONS=log_threads=1 psup-chaos --child order "$scratch/starts" 1 \
    "$scratch/order" 2>&1)" "" "a command is silent"
is "$(cat "$scratch/starts" "$scratch/order")" "1
1" "it notes that it ran"

is "$(code psup-chaos --kill nobody)" 2 "a victim that is none"
is "$(code psup-chaos --kill none)" 2 "for how long?"
is "$(code psup-chaos --hostile nobody)" 2 "a kind that is none"
is "$(code psup-chaos --rate soon)" 2 "a number must be one"
is "$(code psup-chaos --kill command)" 2 "no command to kill"
is "$(code psup-chaos --upgrade=/nonexistent)" 2 "no programs there"
is "$(code psup-chaos --upgrade --command true)" 2 "nothing to upgrade"
is "$(code psup-chaos extra)" 2 "an argument too many"
is "$(code psup-chaos --runtime-dir /nonexistent)" 2 "no server there"
