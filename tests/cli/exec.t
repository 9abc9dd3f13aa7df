#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# psup exec, as a person at a shell meets it. The first one starts the server.
. "$(dirname "$0")/lib.sh"

code() { "$@" >/dev/null 2>&1 </dev/null; echo $?; }

is "$(psup exec 'echo hello')" hello "a shell string"
is "$(psup exec -- printf '%s|' a 'b c')" "a|b c|" "a program and arguments"
is "$(psup exec 'echo out; echo err >&2' 2>/dev/null)" out "stdout alone"
is "$(psup exec 'echo out; echo err >&2' 2>&1 >/dev/null)" err "stderr alone"
is "$(code psup exec -- sh -c 'exit 7')" 7 "the command's exit code"
is "$(code psup exec 'kill -TERM $$')" 143 "a signal is 128+n"
is "$(code psup exec -- "$scratch/none")" 127 "not found"
is "$(code psup exec -- "$scratch")" 126 "not executable"
is "$(code psup exec -- "$0/none")" 127 "not found below a file"
is "$(code psup exec -- "/$(head -c 300 /dev/zero | tr '\0' x)")" 126 \
    "a name too long"
like "$(psup exec -- "$scratch/none" 2>&1)" \
    "*could not be started: $scratch/none: No such file*" "it says what and why"
is "$(code psup exec --background -- "$scratch/none")" 127 \
    "not found, for the background"
is "$(code psup exec --timeout 1 'sleep 60')" 124 "timed out"
is "$(code psup exec --no-output-timeout 0.2 'sleep 60')" 124 "silent"
is "$(code psup exec --workdir "$scratch/none" true)" 125 "a bad workdir"
is "$(psup exec --workdir "$scratch" pwd)" "$scratch" "a workdir"
is "$(cd "$scratch" && psup exec pwd)" "$scratch" "our own directory"
is "$(MINE=x psup exec --env K=v 'echo $MINE$K')" xv "environment"
like "$(psup exec --env LD_PRELOAD=x true 2>&1)" "*LD_PRELOAD*" "policy"

head -c 300000 /dev/urandom >"$scratch/in"
is "$(psup exec -- cat <"$scratch/in" | cksum)" "$(cksum <"$scratch/in")" \
    "stdin from a file"
is "$(printf 'a\nb\n' | psup exec -- sort -r | tr '\n' ' ')" "b a " \
    "stdin from a pipe"
is "$(psup exec --stdin closed -- cat)" "" "stdin closed"
is "$(psup exec -- head -c 100M /dev/zero | wc -c)" 104857600 "lossless"
is "$(psup exec -- head -c 3 /dev/zero <&- | wc -c)" 3 "without a stdin"

psup exec 'yes' | head -1 >"$scratch/out"
is "${PIPESTATUS[0]} $(cat "$scratch/out")" "141 y" "nobody reads on"

psup exec 'trap "echo got; exit 9" INT; echo ready; while :; do sleep 0.1
	done' >"$scratch/out" &
pid=$!
until grep -q ready "$scratch/out" 2>/dev/null; do sleep 0.05; done
# a background job of this shell ignores SIGINT; TERM goes the same way
kill -TERM $pid
wait $pid
is $? 143 "SIGTERM goes through"

id=$(psup exec --background 'echo in the back; exit 3')
like "$id" "*-*" "--background prints the id"
psup wait "$id" >/dev/null
is "$(psup log --raw "$id")" "in the back" "its output is kept"
like "$(psup exec --json 'echo x; exit 4')" \
    '*"status":"completed"*"exitCode":4*' "--json"
like "$(psup exec --json --env PATH=x true 2>/dev/null)" \
    '*"code":"forbidden","field":"env.[A-Z]*"*"isError":true}' "a refusal as JSON"
like "$(psup exec --yield 50 'sleep 60' 2>&1)" "*background as *-*" "--yield"
workers=$(psup-top --json -n 1 |
    grep -oE '"role": *"(worker|standby)"[^}]*"pid": *[0-9]+' | grep -oE '[0-9]+$')
# shellcheck disable=SC2086
kill -STOP $workers
like "$(psup exec --yield 10 true 2>&1)" "*background as *-*" \
    "--yield of what no worker has begun"
# shellcheck disable=SC2086
kill -CONT $workers 2>/dev/null
is "$(psup exec --background --follow 'echo one; echo two; exit 7' \
    2>"$scratch/err"; echo $?)" "one
two
7" "--background --follow"
like "$(cat "$scratch/err")" "*runs in the background*" "says what it is"
big=$(psup exec --background --retain 0,4096 \
    'head -c 300000 /dev/zero | tr "\0" x')
psup wait "$big" >/dev/null
like "$(psup log -f "$big" 2>&1 >/dev/null)" \
    "*bytes of output were not there any more; *--retain*--spill*" \
    "what was lost, and how to keep more"
like "$(psup exec --follow true 2>&1; echo $?)" "*needs --background*2" \
    "--follow alone"

printf '# one\nA=1\n\n  B=two words\nA=3\r\n' >"$scratch/env"
# shellcheck disable=SC2016
is "$(psup exec --env-file "$scratch/env" --env C=4 'echo $A $B $C')" \
    "3 two words 4" "--env-file, the last one counts"
printf 'A=new\n' >"$scratch/env"
# shellcheck disable=SC2016
is "$(psup exec --env A=old --env-file "$scratch/env" --env-file /dev/null \
    'echo $A')" new "--env-file in place of what was there"
printf 'A=one\rtwo\r\n' >"$scratch/env"
# shellcheck disable=SC2016
is "$(psup exec --env-file "$scratch/env" 'echo $A')" $'one\rtwo' \
    "of carriage returns the last one goes"
echo x >"$scratch/env"
like "$(psup exec --env-file "$scratch/env" true 2>&1; echo $?)" \
    '*env: line 1: "x" is not KEY=VALUE*2' "a line that is none"
for bad in 'LD_PRELOAD=x' 'B C=1' $'\xff=1' $'N=\xff'; do
	printf '# one\nA=1\n%s\n' "$bad" >"$scratch/env"
	for how in '' --background; do
		# shellcheck disable=SC2086
		like "$(psup exec $how --env-file "$scratch/env" true 2>&1; echo $?)" \
		    "*: --env-file $scratch/env: line 3*125" \
		    "what is refused is found: ${bad@Q} $how"
	done
done
like "$(psup exec --env A=1 --env LD_PRELOAD=x true 2>&1)" \
    "*LD_PRELOAD*connect." "of no file, no line"
{ seq -f 'V%g=1' 1024; echo; echo W=1; } >"$scratch/env"
like "$(psup exec --env-file "$scratch/env" true 2>&1)" \
    '*line 1026: "W=1" is beyond*' "one too many"
printf 'A=1\nB=\0\n' >"$scratch/env"
like "$(psup exec --env-file "$scratch/env" true 2>&1)" '*line 2: it holds a NUL*' \
    "a NUL"
like "$(psup exec --tag $'a=b\nc' true 2>&1; echo $?)" \
    '*"tags" key "a" is "b\\x0ac"*without control characters*125' \
    "tags are shown: no control character is in them"
like "$(psup exec --env-file "$scratch/none" true 2>&1; echo $?)" \
    '*none: No such file*2' "no file"
is "$(psup exec --elevated 'echo out' 2>"$scratch/err")" out \
    "a warning is none of the output"
elevated='psup: warning: elevated changes nothing: *no sandbox*'
like "$(cat "$scratch/err")" "$elevated" "it is said on stderr"
like "$(psup exec --elevated --background true 2>&1 >/dev/null)" "$elevated" \
    "of the background, too"
named=$(psup exec --background --name me true)
like "$(psup list --label me)" "*$named *me" "--name"

# a limit says its range
limit() { psup exec --limit "$1" true 2>&1 | sed 's/; see.*//'; }
is "$(limit nice=30)" 'psup: exec: --limit nice: "30" is no whole number from -20 to 19' \
    "nice"
is "$(limit pids=0)" \
    'psup: exec: --limit pids: "0" is no whole number from 1 to 4194304' "pids"
is "$(limit openFiles=1)" \
    'psup: exec: --limit openFiles: "1" is no whole number from 8 to 1048576' \
    "openFiles"
like "$(limit memoryBytes=1K)" '*memoryBytes: "1K" is no size from 1M to *' \
    "memoryBytes"
like "$(limit cpuSeconds=0)" '*cpuSeconds: "0" is no duration from 1s to *' \
    "cpuSeconds"
like "$(psup exec --limit cpuSeconds=1 'while :; do :; done' 2>&1; echo $?)" \
    "*ended by a limit: cpuSeconds*152" "which one ended it is said"
like "$(limit pidz=3)" '*did you mean pids*' "no such limit"

# Somebody else waits for more than there will be: the worker is asked for both.
step() { until [ -e "$scratch/$1" ]; do sleep 0.02; done; }
connected() { psup status --json | grep -q '"connections":3,'; }
psup exec "$(declare -f step); scratch=$scratch; echo zero; step a; echo one
	step b; echo two; step c" >"$scratch/steps" &
pid=$!
becomes grep -q zero "$scratch/steps"
psup wait --bytes 1000000 --timeout 600000 "$(psup list --all | sed -n 's/ .*//;2p')" \
    >"$scratch/more" &
becomes connected
touch "$scratch/a"
becomes grep -q one "$scratch/steps"
touch "$scratch/b"
is "$(becomes grep -q two "$scratch/steps" && echo shown)" shown \
    "output comes while a wait is for more"
touch "$scratch/c"
wait $pid
wait
