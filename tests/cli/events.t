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
