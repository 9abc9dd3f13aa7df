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
is "$(code psup exec --timeout 0.2 'sleep 60')" 124 "timed out"
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
    '*"code":"forbidden","field":"env"*"isError":true}' "a refusal as JSON"
like "$(psup exec --yield 50 'sleep 60' 2>&1)" "*background as *" "--yield"

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
