#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# psup events in a pipe.
. "$(dirname "$0")/lib.sh"

id=$(psup exec --background -- false)
psup wait "$id" --timeout 30000 >/dev/null
# no second event comes: the end of its reader is what ends it
psup events --follow --json | head -n 1 >"$scratch/out"
is "${PIPESTATUS[0]}" 141 "ends when nobody reads"
like "$(cat "$scratch/out")" "{*\"sessionId\":*\"$id\"*}" "after a whole line"
id=$(psup exec --background -- false)
psup wait "$id" --timeout 30000 >/dev/null
psup events --ack --subscriber x >/dev/full 2>/dev/null
is $? 125 "a full disk is no success"
like "$(psup events --ack --subscriber x)" "*$id*" "and acknowledges nothing"
is "$(psup events --subscriber x)" "" "a success does"

id=$(psup exec --background -- false)
psup wait "$id" --timeout 30000 >/dev/null
today=$(date +%Y-%m-%d)
like "$(psup events --subscriber y)" "[0-9]* $today ??:??:?? Exec completed*" \
    "each with its time"
like "$(psup events --subscriber y --since 1h)" "*$id*" "--since a duration"
is "$(psup events --subscriber y --since 2037-01-01)" "" "or a time"
like "$(psup events --since 0)" "*$id*" "or a number"
like "$(psup events --since soon 2>&1; echo $?)" "*neither a duration*2" \
    "or nothing else"
is "$(psup events --since 1h --json >/dev/null 2>&1; echo $?)" 2 \
    "a time goes without --json"
is "$(psup events --since 0 --json | head -c 1)" "{" "a number with it"
