#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What people type who know other tools: run, ps, logs, inspect, stats, prune,
# top.
. "$(dirname "$0")/lib.sh"

for word in run list ps logs wait kill inspect stats prune top attach; do
	like "$(psup help | head -24 | cut -c1-13 | tr -s ' ,' ' ') " \
	    "* $word[ 
]*" "the first screen of psup help has $word"
	like "$(psup $word --help)" "Usage: psup *" "$word --help"
done
is "$(psup help | awk 'length > 80' | wc -l) $(($(psup help | wc -l) < 24))" \
    "0 1" "psup help is one screen of 80x24"
is "$(psup --help | sed -n '/^Commands/,/^$/p' | awk 'length > 80' | wc -l)" 0 \
    "80 columns do"
like "$(psup exec sleep 5 2>&1; echo $?)" "*: psup exec -- sleep 5;*2" \
    "the line that was meant"
like "$(psup run 'a | b' --stdin closed 2>&1; echo $?)" \
    "*: psup exec --stdin closed 'a | b';*2" "options behind the command"
like "$(psup run -d sleep 5 2>&1)" "*: psup exec -d -- sleep 5;*" "detached"
like "$(psup run echo 'a b' 2>&1)" "*: psup exec -- echo 'a b';*" "with quotes"

is "$(psup run 'echo hi')" hi "run"
done=$(psup run --background --tag ci=1 --label build 'echo out; exit 7')
busy=$(psup run --background --lane subagent -- sleep 600)
psup wait "$done" "$busy" --any >/dev/null
is "$(psup ps -q | sort)" "$(printf '%s\n' "$done" "$busy" | sort)" "ps"
is "$(psup logs "$done")" out "logs"
like "$(psup inspect "$done")" "session     $done
label       build
command     echo out; exit 7
directory   *
state       completed (exit 7) after *
started     20*
ended       20*
used        *
tags        ci=1
output      4
instance    *
Its output:
out" "inspect"
lines=$(psup run --background 'seq 1000')
psup wait "$lines" >/dev/null
is "$(psup inspect "$lines" | tail -11 | tr '\n' ' ')" \
    "The last of its output: $(seq -s ' ' 991 1000) " "its last lines, whole"
psup clear "$lines" >/dev/null
like "$(psup inspect "$busy")" "*state       running for *
process     [1-9]*, of worker [0-9]*
used        *; processes: 1
lane        subagent*" "of one that runs"
is "$(psup poll "$done" | head -1)" out "inspect moved no cursor"
is "$(psup inspect "$done" "$busy" --json | grep -c '"sessionId"')" 2 \
    "as JSON, an object for each"
is "$(psup inspect no-such-one >/dev/null 2>&1; echo $?)" 4 "one that is not"
is "$(psup stats | awk '{ print $1 }')" "ID
$busy" "stats: of those that run"
like "$(psup stats "$done" | tr -s ' ')" "ID STATUS TIME CPU MEMORY PROCESSES \
IO OUTPUT WHAT
$done exited 7 *" "or of these"
is "$(psup stats --json | grep -o '"rssBytes"' | wc -l)" 1 "as JSON"
psup stats --watch=0.1 2>&1 | head -5 >"$scratch/watched"
is "$(grep -c "^$busy" "$scratch/watched")" 2 "again and again"
is "$(psup prune --older 1h)" "No finished sessions." "prune --older"
like "$(psup prune)" "*Cleared session $done.*" "prune"
is "$(psup ps -q)" "$busy" "leaves what runs"

# docker's, tmux's, pueue's and kill's
detached=$(psup run -d -e N=7 -w / 'echo $N; pwd; exec sleep 600')
psup wait "$detached" --text / >/dev/null
is "$(psup logs --tail 1 "$detached")" / "run -d -e -w, logs --tail"
like "$(psup stop -s INT "$detached")" "*$detached is ended*" "stop"
like "$(psup rm "$detached")" "Removed session $detached*" "rm"
for try in "ls:list" "add x:run -d" "pause x:signal ID STOP, lanes pause" \
    "run -it sh:-t" "kill -9 x:--signal KILL" "kill -KILL x:--signal KILL" \
    "signal -9 x:signal ID KILL" "logs --lines 3 x:--limit"; do
	# shellcheck disable=SC2086
	like "$(psup ${try%%:*} 2>&1; echo $?)" \
	    "*; did you mean ${try#*:}?*2" "${try%%:*} leads there"
done
is "$(psup top 2>&1 </dev/null)" "$(psup-top 2>&1 </dev/null)" \
    "top is psup-top"
