#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What one does with sessions from the command line.
. "$(dirname "$0")/lib.sh"

code() { "$@" >/dev/null 2>&1; echo $?; }
member() { python3 -c 'import json,sys
v = json.load(sys.stdin)
for k in sys.argv[1].split("."):
    v = v[int(k)] if isinstance(v, list) else v[k]
print(v)' "$1"; }

cat_id=$(psup exec --background --label mine -- cat)
like "$(psup list)" "ID *STATUS *
$cat_id  running *" "list shows it"
is "$(psup list --json | member details.sessions.0.sessionId)" "$cat_id" \
    "list --json"
is "$(psup poll "$cat_id" --json | member details.status)" running "poll"
is "$(code psup poll no-such-one)" 4 "an unknown id is exit code 4"
is "$(code psup clear "$cat_id")" 1 "clear refuses a running one"
like "$(psup write "$cat_id" 'first
')" "*6 bytes*" "write"
like "$(psup poll "$cat_id" --timeout 30000)" "*first*" "poll has it"
like "$(psup poll "$cat_id")" "*no new output*" "and only once"
like "$(psup poll "$cat_id" --since 0)" "*first*" "--since repeats"
printf 'second\n' | psup write "$cat_id" - --eof >/dev/null
is "$(code psup wait "$cat_id" --timeout 60000)" 0 "wait"
is "$(psup log "$cat_id" --offset 1 --limit 1)" second "log pages"
is "$(psup log "$cat_id" -f)" "first
second" "log -f ends with the session"
is "$(psup log --raw "$cat_id" | wc -c)" 13 "log --raw"

typed=$(psup exec --background -- cat -v)
like "$(psup send-keys "$typed" --hex '1b,5B 43' --literal lit -- Up C-c -- x)" \
    "*Sent 13 bytes*" "send-keys"
like "$(psup send-keys "$typed" --delay 10 M-frobnicate ^J)" \
    "*Warnings:*frobnicate*" "send-keys warns"
is "$(code psup send-keys "$typed" ' ')" 1 "send-keys: nothing to send"
is "$(code psup send-keys "$typed")" 2 "send-keys: no key"
is "$(code psup send-keys "$typed" --delay 10001 a)" 2 "send-keys: --delay"
is "$(code psup send-keys no-such-one a)" 4 "send-keys: an unknown id"
like "$(psup send-keys --help)" "*escape*pgdn*f12*kpenter*" \
    "the help lists the names"
like "$(psup submit "$typed" yes)" "*sent 3 bytes and CR*" "submit"
like "$(psup submit "$typed")" "*sent CR*" "submit alone"
printf 'a\033[201~b' | psup paste "$typed" - >/dev/null
psup paste "$typed" plain --plain >/dev/null
like "$(psup paste "$typed" 'é')" "*Pasted 2 bytes*" "paste"
psup send-keys "$typed" ^J >/dev/null
psup write "$typed" --eof >/dev/null
psup wait "$typed" --timeout 60000 >/dev/null
is "$(psup log "$typed")" 'lit^[[C^[[A^C--xfrobnicate
yes^M^M^[[200~aM-bM-^PM-^[[201~b^[[201~plain^[[200~M-CM-)^[[201~' \
    "what the session read, in that order"

sleeper=$(psup exec --background 'sleep 600')
is "$(code psup wait "$sleeper" --timeout 10)" 124 "wait times out"
is "$(code psup kill "$sleeper")" 0 "kill"
like "$(psup list --format '{id} {status}')" "*$sleeper killed*" \
    "list says killed"
is "$(code psup clear "$sleeper")" 0 "clear"
is "$(code psup log "$sleeper")" 4 "it is gone"
like "$(psup events)" "*$cat_id*" "its exit event is there"
is "$(psup events --ack >/dev/null; psup events --json | member events)" "[]" \
    "acknowledged"
like "$(psup status --json | member keeper.pid)" "[1-9]*" "status"
is "$(psup status --json | member runtimeDir)" "$PSUP_RUNTIME_DIR" "its place"

tool() { psup tool; }
like "$(echo '{"tool":"exec","command":"echo hi","id":1}' | tool)" \
    '{"id":1,*hi*"isError":false}' "tool: exec"
out=$(printf '%s\n' '{"tool":"exec","command":"sleep 0.3; echo A"}' '[]' \
    '{"tool":"exec","command":"echo B"}' | tool)
is "$(echo "$out" | sed -n '1s/.*\(A\).*/\1/p;2s/.*\(true\)}/\1/p
3s/.*"\(B\)..*/\1/p' | tr '\n' ' ')" "A true B " "without ids: in order"
# The first goes on until the answer to the second is there.
answered() {
	while read -r line; do
		[[ $line != *'"id":"fast"'* ]] || : >"$scratch/answered"
		echo "$line"
	done
}
is "$(printf '%s\n' '{"tool":"exec","command":"until [ -e '"$scratch"'/answered ]; do sleep 0.02; done","id":"slow","timeout":60}' \
    '{"tool":"exec","command":":","id":"fast"}' | tool | answered |
    sed 's/{"id":"\([a-z]*\).*"isError":\([a-z]*\).*/\1 \2/' | tr '\n' ' ')" \
    "fast false slow false " "with ids: side by side"
like "$(echo '{"tool":"exec","command":"true","cwd":"/"}' | tool)" \
    '*workdir*' "a hint for a slip"
like "$(echo '{"tool":"exec","command":"a\u0000b"}' | tool)" \
    '*command*"isError":true*' "a NUL byte"

is "$(code psup shutdown --grace 300)" 0 "shutdown"
is "$(code psup status)" 3 "nobody is left"
