#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Wrong usage and bad lines, with no server anywhere.
. "$(dirname "$0")/lib.sh"

code() { "$@" >/dev/null 2>&1; echo $?; }

is "$(code psup --help)" 0 "--help is no failure"
is "$(code psup)" 2 "nothing to do is wrong usage"
like "$(psup exce 2>&1)" "*did you mean exec*" "a slip gets a suggestion"
for c in exec list poll log write kill clear remove wait events status \
    shutdown tool; do
	like "$(psup $c --help)" "Usage: psup $c *" "$c --help"
done
# help: the same three ways; exit codes are all in it
is "$(psup help exec)" "$(psup exec --help)" "psup help COMMAND"
is "$(psup --help exec)" "$(psup --help)" "psup --help"
like "$(psup help exce 2>&1; echo $?)" "*did you mean exec*2" \
    "help for a slip"
like "$(psup --version)" "psup [0-9]*.[0-9]*.[0-9]*" "psup --version"
is "$(psup list -V)" "$(psup --version)" "behind a command, too"
is "$(psup --help | sed -n '/^Exit codes/,$s/^  \([0-9+n, ]*[0-9n]\) .*/\1/p' |
    tr '\n' ' ')" "0 1 2 3 4 124 125 126, 127 128+n " "the exit codes"

# what was meant
for try in "psup list --jsno:--json" "psup --jsno list:--json" \
    "psup exec --tiemout 3 true:--timeout" "psup token mnit:mint" \
    "psup lanes puase x:pause" "psup completion zhs:zsh" \
    "psup exec --stdin opne x:open" "psup --colour=always list:--color" \
    "psup log x --stream stdot:stdout" "psup events --kind exitd:exited" \
    "psupd --runtime-dri x:--runtime-dir" "psup-top --sotr x:--sort" \
    "psup-mcp --skope x:--scope" "psup-chaos --sesions 3:--sessions" "psup-bench --quik:--quick"; do
	# shellcheck disable=SC2086
	like "$(${try%%:*} 2>&1)" "*did you mean ${try#*:}?*" "${try%%:*}"
done
like "$(psup list --n 2>&1; echo $?)" "*--n may be any of --no-progress \
--no-start*2" "an abbreviation of several"
like "$(psup poll --timeout 2>&1; echo $?)" "*--timeout needs a value*2" \
    "a value is missing"
like "$(psup list --all=x 2>&1; echo $?)" "*--all takes no value*2" \
    "a value too many"
like "$(psup log -z x 2>&1; echo $?)" "*-z is no option*2" "a letter"

# options of every command, before it or behind it
is "$(code psup --token-file "$scratch/none" list)" 125 "--token-file first"
is "$(code psup list --token-file "$scratch/none")" 125 "--token-file last"
like "$(psup --json list 2>/dev/null)" '*"code":"no-server"*' "--json first"
is "$(code psup --runtime-dir "$scratch/other" --no-start exec true)" 3 \
    "--no-start first"

is "$(code psup poll)" 2 "poll needs an id"
is "$(code psup kill x --grace soon)" 2 "a number must be one"
like "$(psup kill x --grace 2m 2>&1)" "*\"2m\" is no duration from 0 to 1m, \
like 500ms, 10s or 1h30m (a number alone: ms)*" "a duration out of its range"
like "$(psup exec --timeout soon true 2>&1)" "*from 0 to 365d*(*: seconds)*" \
    "none at all"
like "$(psup exec --spill-max 2000T true 2>&1)" \
    '*"2000T" is no size from 1 to 1024T*' "a size out of its range"
for size in 1.5.5K 5KK K -1 0x10 1e3 ''; do
	is "$(code psup exec --spill-max "$size" true)" 2 "no size: $size"
done
is "$(code psup kill x --grace 0.5)" 2 "half a millisecond"
is "$(code psup list --nope)" 2 "an unknown option"
is "$(code psup exec '')" 2 "an empty command"
like "$(psup kill x --signal FOO 2>&1)" '*"FOO" is no signal*' "no signal"
like "$(psup wait x --bytes 1X 2>&1)" '*no size from 1 to 4096T*' "no size"
for c in --help "help exec" "status --help" doctor; do
	# shellcheck disable=SC2086
	is "$(psup $c >/dev/full 2>/dev/null; echo $?)" 125 "$c: nowhere to write"
done
for c in list status events shutdown; do
	is "$(code psup $c)" 3 "$c: no server is exit code 3"
done
like "$(psup list 2>&1)" "*no server runs at $PSUP_RUNTIME_DIR*" \
    "it says where"
like "$(psup status --json 2>/dev/null)" '*"code":"no-server"*' "as JSON too"
is "$(code psup exec --no-start true)" 3 "--no-start forbids a server"
is "$(ls -A "$PSUP_RUNTIME_DIR")" "" "nobody started one"

tool() { psup tool --no-start; }
is "$(printf '' | tool)" "" "no line, no answer"
like "$(echo '{"tool":"fly"}' | tool)" '*Unknown tool \\"fly\\"*' "a tool"
like "$(echo '{"tool":"process","action":"fly"}' | tool)" \
    '*\\"fly\\"*Expected one of: list, poll*"field":"action"*' "an action"
like "$(echo '{"tool":"f\u001b[1m"}' | tool)" \
    '*Unknown tool \\"f\\\\x1b[[]1m\\"*' "its control characters are shown"
like "$(echo '{"tool":"process","action":"f\u001b"}' | tool)" \
    '*action \\"f\\\\x1b\\"*' "an action's, too"
for a in resize screen background killScope lanes; do
	like "$(echo '{"tool":"process"}' | tool)" \
	    "*Missing process action*Expected one of: *$a*" "$a is listed"
	like "$(echo "{\"tool\":\"process\",\"action\":\"$a\",\"sessionId\":\"x\",\"cols\":1,\"rows\":1}" | tool)" \
	    '*no server runs*' "$a is known"
done
like "$(echo '[]' | tool)" '*"isError":true*' "an array is no call"
like "$(echo '{"tool":' | tool)" '*not JSON*' "half an object"
like "$(printf '{"tool":"exec","id":"a","command":"x\xffy"}\n' | tool)" \
    '{"id":"a",*command: invalid UTF-8*"field":"command"*' "invalid UTF-8"
like "$({ printf '{"id":7,"tool":"exec","command":"'
	head -c 5000000 /dev/zero | tr '\0' x
	echo '"}'; echo '{"id":8,"tool":"y"}'; } | tool)" \
    '{"id":7,*E2BIG*too-big*command*{"id":8,*' "5 MB is named, and it goes on"
is "$(printf '[]\n{}\n""\n' | tool | wc -l)" 3 "an answer for every line"
is "$(printf '[]\n' | code tool)" 0 "bad lines are no failure of psup tool"
