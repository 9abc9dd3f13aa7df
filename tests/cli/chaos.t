#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# psup-chaos: campaigns that find nothing. What it does find is in chaos_lies.t.
. "$(dirname "$0")/lib.sh"

value() { python3 -c '
import json, sys
v = json.load(open(sys.argv[1]))
for k in sys.argv[2].split("."):
    v = v[int(k)] if isinstance(v, list) else v[k]
print(v)' "$@"; }

report=$scratch/report.json
psup-chaos --kill all --kills 40 --rate 20 --sessions 8 --seed 7 --quiet \
    --json "$report" >"$scratch/text" 2>"$scratch/said"
is $? 0 "nothing is lost: $(cat "$scratch/said")"
is "$(value "$report" ok)" True "the report says so"
is "$(value "$report" losses.bytesLost)" 0 "every loss has its counter"
is "$(value "$report" seed)" 7 "the seed is told"
like "$(cat "$scratch/text")" "*master killed to answering*p99*" "text, too"

psup-chaos --stop=50 --kills 10 --rate 20 --sessions 4 --seed 8 --quiet \
    >/dev/null 2>"$scratch/said"
is $? 0 "stopped and continued: $(cat "$scratch/said")"

# Clients that take all they may; how late the others are is for campaigns.
# Who has no processor meanwhile is given more time.
for for in 2 10 60; do
	psup-chaos --kill none --hostile starts,unread,connections,queue \
	    --late 0 --for $for --sessions 4 --seed 9 --quiet \
	    --json "$report" >/dev/null 2>"$scratch/said"
	code=$?
	asked=$(value "$report" witness.answers.count)
	[ "$code" = 0 ] && [ "$asked" = 0 ] || break
done
is $code 0 "nobody is stopped: $(cat "$scratch/said")"
is "$((asked > 0))" 1 "the witness asked"
