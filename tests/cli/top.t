#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# psup-top for scripts: --batch and --json. The display is in top_screen.t.
. "$(dirname "$0")/lib.sh"
unset NO_COLOR

# field EXPRESSION...: of the last JSON line of $scratch/json, as python has
# it, a line each
field() {
	python3 - "$scratch/json" "$@" <<'P'
import json, sys
d = [json.loads(l) for l in open(sys.argv[1])]
last = d[-1]
by = {s['sessionId']: s for s in last.get('sessions', [])}
first = {s['sessionId']: s for s in d[0].get('sessions', [])}
lane = {l['name']: l for l in last.get('lanes', [])}
for e in sys.argv[2:]:
    print(eval(e))
P
}
# are EXPRESSION WANTED WHAT...
are() {
	local expressions=() got=() i
	for ((i = 1; i <= $#; i += 3)); do
		expressions+=("${!i}")
	done
	mapfile -t got < <(field "${expressions[@]}")
	for ((i = 0; $# > 0; i++)); do
		is "${got[i]-}" "$2" "$3"
		shift 3
	done
}
# json [OPTION...]: one refresh
json() { psup-top --json -n 1 "$@" >"$scratch/json"; }
# look_until EXPRESSION: looks again until it is true
is_true() { json && [ "$(field "$1")" = True ]; }
look_until() { becomes is_true "$1"; }

# mistakes
psup-top --batch -n 1 >"$scratch/out"
is $? 3 "no server: its code"
like "$(cat "$scratch/out")" "*no server*psup exec starts one*" \
    "it says so, and how to start one"
psup-top --delay soon --batch >/dev/null 2>"$scratch/err"
is $? 2 "a delay that is none"
like "$(cat "$scratch/err")" "*--delay*soon*50ms to 1h*" "names what it wants"
psup-top --batch -n 1.5 2>/dev/null
is $? 2 "half a refresh"
psup-top --sort 'x'$'\033' --batch 2>"$scratch/err"
like "$(cat "$scratch/err")" "*--sort*x\\\\x1b*" "a mistake is shown escaped"
psup-top --sort ouptut --batch 2>"$scratch/err"
is $? 2 "no column"
like "$(psup-top --sort namme --batch 2>&1)" "*namme*no column; did you mean name?*" \
    "the nearest is named"
like "$(psup-top --bacth 2>&1)" "*--bacth is no option; did you mean --batch?*" \
    "and of options"
like "$(psup-top -Q 2>&1)" "*-Q is no option*" "a letter that is none"
like "$(psup-top --sort 2>&1)" "*--sort needs a value*" "one without its value"
psup-top </dev/null >/dev/null 2>&1
is $? 2 "no terminal"

# sessions and their states
ok=$(psup exec --background -- true)
bad=$(psup exec --background 'exit 7')
psup wait "$ok" "$bad" --timeout 30000 >/dev/null
hostile=$'\033]0;pwned\007\033[2J \342\200\256日本語'
evil=$(psup exec --background --label '日本' \
    ": '$hostile'; printf '\\033[31mred\\033[2J\\n'; exec sleep 600")
one=$(psup exec --background --lane main 'sleep 600')
two=$(psup exec --background --lane main 'sleep 600')
doomed=$(psup exec --background 'echo doomed; exec sleep 600')
psup wait "$doomed" --text doomed --timeout 30000 >/dev/null 2>&1
talk=$(psup exec --background --label talker \
    'while :; do echo 0123456789-0123456789; sleep 0.02; done')
psup wait "$talk" --text 0123456789 --timeout 30000 >/dev/null 2>&1
json
are "last['server']" running "the server runs" \
    "by['$ok']['status']" completed "a session that ended well" \
    "by['$bad']['exitCode']" 7 "one that did not: its code" \
    "by['$one']['state']" running "one that runs" \
    "by['$two']['state'], by['$two']['lanePosition']" "('queued', 1)" \
    "one that waits for its lane" \
    "lane['main']['active'], lane['main']['queued']" "(1, 1)" "the lane" \
    "lane['main']['blockedBy'], lane['main']['holder']" "('width', '$one')" \
    "what blocks it, and who" \
    "last['totals']['running'], last['totals']['queued']" "(4, 1)" \
    "the totals" \
    "sorted(p['role'] for p in last['processes'])[:2]" \
    "['keeper', 'master']" "the processes" \
    "by['$talk']['rate'] is None and last['outputBytesPerSec'] is None" \
    True "no rates from one look" \
    "by['$talk']['rss'] > 100000" True "memory from /proc" \
    "last['pressure']['load'] >= 0 and 'cpu' in last['pressure']" True \
    "pressure and load" \
    "by['$talk']['input'], by['$ok']['input']" "('open', None)" \
    "whose input is open"
psup-top --batch -n 1 --filter "$evil" >"$scratch/out"
is "$(LC_ALL=C tr -d '\n\040-\176\200-\377' <"$scratch/out" | wc -c)" 0 \
    "hostile names: no control character"
like "$(cat "$scratch/out")" '*\\x1b]0;pwned\\x07*\\xe2\\x80\\xae日本語*' \
    "they are shown escaped"
is "$(grep -c "^$talk " "$scratch/out")" 0 "a filter leaves out the others"
is "$(psup-top --batch -n 1 --live | grep -c "^$bad ")" 0 \
    "--live leaves out what ended"
is "$(psup-top --batch -n 1 --sort total | sed '1,/^SESSION/d' | head -1 | cut -d' ' -f1)" \
    "$talk" "sorted by a column"
is "$(psup-top --batch -n 2 -d 0.1 | grep -c '^SESSION')" 2 "two refreshes"
like "$(psup-top --batch -n 1 --tree)" "*(none)  * sessions, * live*
  $one *" "by scope"
psup-top --batch -d 0.05 | head -1 >/dev/null
is "${PIPESTATUS[0]}" 1 "it ends where nobody reads"

# an unprivileged user may not be told where a process sleeps
reader=$(psup exec --background -- cat)
[ "$(id -u)" != 0 ] || look_until "by['$reader']['input'] == 'reads'"
json
are "by['$reader']['input'] == 'reads' or $(id -u) > 0" True "who reads it"

# one table: options, columns, keys
psup-top --help-man >"$scratch/page"
is "$(psup-top --help | grep -c -- '--runtime-dir DIR')" 1 "--help"
for word in 'fB\-\-batch' 'fBinput' 'fBq F10'; do
	is "$(grep -cF -- "$word" "$scratch/page")" 1 "the page has $word"
done
if command -v groff >/dev/null; then
	is "$(groff -man -Tutf8 -ww -z "$scratch/page" 2>&1)" "" "and is sound"
fi

# the master is stopped: rates go on, ends are seen
live="by['$talk']['rate'] > 0 and by['$talk']['cpu'] is not None"
two_looks() {
	while_stopped psup-top --json -n 2 -d 0.4 || return
	mv "$scratch/stopped" "$scratch/json"
	[ "$(field "$live")" = True ]
}
becomes two_looks
are "last['server']" "master stopped" "a stopped master is said" \
    "by['$talk']['rate'] > 0 and last['outputBytesPerSec'] > 0" True \
    "rates are live without it" \
    "by['$talk']['total'] > first['$talk']['total']" True \
    "totals grow without it" \
    "by['$talk']['cpu'] is not None" True "so does processor time"
sees_the_end() {
	kill -KILL "$(field "by['$doomed']['pid']")"
	look_until "by['$doomed']['state'] != 'running'"
}
an_end() {
	doomed=$(psup exec --background 'echo doomed; exec sleep 600')
	psup wait "$doomed" --text doomed --timeout 30000
	json
	while_stopped sees_the_end
}
becomes an_end
are "[by['$doomed'][k] for k in ('state', 'exitSignal', 'status')]" \
    "['exited', 'SIGKILL', 'running']" "an end is seen before it is noted"

# it ended: what is known of it still shows
psup shutdown --grace 100 >/dev/null
json
are "last['server']" down "a server that ended is down" \
    "by['$bad']['exitCode']" 7 "its sessions still show"
again=$(psup exec --background 'echo up; exec sleep 600')
psup wait "$again" --text up --timeout 30000 >/dev/null
json
are "last['server'], by['$again']['state']" "('running', 'running')" \
    "and the one after it"

# memory of another version is said, not read
psup shutdown --grace 100 >/dev/null
printf '\377\377\377\377' | dd of="$PSUP_RUNTIME_DIR/board" bs=1 seek=8 conv=notrunc \
    2>/dev/null
json
is "$?" 3 "another version: its code"
are "last['server'], 'sessions' in last" "('another version', False)" \
    "and nothing is read"
like "$(psup-top --batch -n 1)" "*another version*made by psup layout 65535*" "it is said"
