#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# psup-top: for scripts, then the display inside a session of the very server
# it shows, driven by send-keys and read by screen.
. "$(dirname "$0")/lib.sh"
unset NO_COLOR

# stopped masters must run again for the end
resume() { [ -z "${master:-}" ] || kill -CONT "$master" 2>/dev/null; }
trap 'resume; finish' EXIT

# field EXPRESSION: of the last JSON line of $scratch/json, as python has it
field() {
	python3 - "$scratch/json" "$1" <<'P'
import json, sys
d = [json.loads(l) for l in open(sys.argv[1])]
last = d[-1]
by = {s['sessionId']: s for s in last.get('sessions', [])}
print(eval(sys.argv[2]))
P
}
# json [OPTION...]: one refresh
json() { psup-top --json -n 1 "$@" >"$scratch/json"; }

# mistakes
psup-top --batch -n 1 >"$scratch/out"
is $? 3 "no server: its code"
like "$(cat "$scratch/out")" "*no server*" "and it says so"
psup-top --delay soon --batch >/dev/null 2>"$scratch/err"
is $? 2 "a delay that is none"
like "$(cat "$scratch/err")" "*--delay*0.05 to 3600*soon*" "names what it wants"
psup-top --batch -n 1.5 2>/dev/null
is $? 2 "half a refresh"
psup-top --sort 'x'$'\033' --batch 2>"$scratch/err"
like "$(cat "$scratch/err")" "*--sort*x\\\\x1b*" "a mistake is shown escaped"
psup-top </dev/null >/dev/null 2>&1
is $? 2 "no terminal"

# sessions and their states; the table cuts an id to 15 characters
ok=$(psup exec --background -- true)
bad=$(psup exec --background 'exit 7')
psup wait "$ok" "$bad" --timeout 30000 >/dev/null
hostile=$'\033]0;pwned\007\033[2J \342\200\256日本語'
evil=$(psup exec --background --label "$hostile" \
    "printf '\\033[31mred\\033[2J\\n'; exec sleep 600 #$hostile")
first=$(psup exec --background --lane main 'sleep 600')
second=$(psup exec --background --lane main 'sleep 600')
talk=$(psup exec --background --label talker \
    'while :; do echo 0123456789; sleep 0.02; done')
psup wait "$talk" --text 0123456789 --timeout 30000 >/dev/null 2>&1
json
is "$(field "last['server']")" running "the server runs"
is "$(field "by['$ok']['status']")" completed "a session that ended well"
is "$(field "by['$bad']['exitCode']")" 7 "one that did not: its code"
is "$(field "by['$first']['state']")" running "one that runs"
is "$(field "by['$second']['state'], by['$second']['lanePosition']")" \
    "('queued', 1)" "one that waits for its lane"
is "$(field "[(l['active'], l['queued']) for l in last['lanes'] if l['name'] == 'main']")" \
    "[(1, 1)]" "the lane"
is "$(field "last['totals']['running'], last['totals']['queued']")" "(3, 1)" \
    "the totals"
is "$(field "sorted(p['role'] for p in last['processes'])[:2]")" \
    "['keeper', 'master']" "the processes"
is "$(field "by['$talk']['rate'] is None and last['outputBytesPerSec'] is None")" \
    True "no rates from one look"
is "$(field "by['$talk']['rss'] > 100000")" True "memory from /proc"
psup-top --batch -n 1 --filter "$evil" >"$scratch/out"
is "$(LC_ALL=C tr -d '\n\040-\176\200-\377' <"$scratch/out" | wc -c)" 0 \
    "hostile names: no control character"
like "$(cat "$scratch/out")" '*\\x1b]0;pwned\\x07*\\xe2\\x80\\xae日本語*' \
    "they are shown escaped"
is "$(grep -c "^${talk:0:15}" "$scratch/out")" 0 "a filter leaves out the others"
is "$(psup-top --batch -n 1 --live | grep -c "^${bad:0:15} ")" 0 \
    "--live leaves out what ended"
is "$(psup-top --batch -n 1 --sort total | sed '1,/^SESSION/d' | head -1 | cut -d' ' -f1)" \
    "${talk:0:15}" "sorted by a column"
is "$(psup-top --batch -n 2 -d 0.1 | grep -c '^SESSION')" 2 "two refreshes"
psup-top --batch -d 0.05 | head -1 >/dev/null
is "${PIPESTATUS[0]}" 1 "it ends where nobody reads"

# the master is stopped: states stand still, output goes on
master=$(field "[p['pid'] for p in last['processes'] if p['role'] == 'master'][0]")
kill -STOP "$master"
psup-top --json -n 3 -d 0.4 >"$scratch/json"
is "$(field "last['server']")" "master stopped" "a stopped master is said"
is "$(field "by['$talk']['rate'] > 0 and last['outputBytesPerSec'] > 0")" \
    True "rates are live without it"
is "$(field "by['$talk']['total'] > d[0]['sessions'][[s['sessionId'] for s in d[0]['sessions']].index('$talk')]['total']")" \
    True "totals grow without it"
is "$(field "by['$talk']['cpu'] is not None")" True "so does processor time"
kill -CONT "$master"
master=

# ------------------------------------------------------------- the display

top=$(psup exec --background --pty --cols 80 --rows 24 -- \
    psup-top --delay 0.2)
# shows PATTERN WHAT: waits until the display matches (a shell pattern)
shows() {
	local until=$((SECONDS + 20))
	while :; do
		screen=$(psup screen "$top" 2>&1)
		# shellcheck disable=SC2254
		case "$screen" in
		$1) is yes yes "$2"; return ;;
		esac
		[ $SECONDS -lt $until ] || break
		sleep 0.05 # it draws five times a second
	done
	is "$screen" "$1" "$2"
}
keys() { psup send-keys "$top" "$@" >/dev/null; }
typed() { psup send-keys "$top" --literal "$1" >/dev/null; }

shows "psup-top*server: running*keeper*sessions: *SESSION*CPU%*${talk:0:15}*q quit*" \
    "the header, the table, the foot"
is "$(psup screen "$top" | awk 'length($0) > 80' | wc -l)" 0 "80 columns"
keys h
shows "*keys*q F10*quit*filter as you type*" "the help"
keys x
shows "*SESSION*" "and back"
keys /
typed talker
shows "*SESSION*${talk:0:15}*/talker_" "the filter is typed"
case $screen in *"${first:0:15}"*) left=no ;; *) left=yes ;; esac
is "$left" yes "the others are gone at once"
keys enter f
shows "*SESSION*${talk:0:15}*output of $talk*0123456789*1 of * sessions*" \
    "its output is followed"
keys f /
typed x
shows "*/talkerx_" "the filter is typed on"
keys bspace enter / escape
shows "*SESSION*${first:0:15}*" "without a filter"
keys I
shows "*SESSION\\**sorted by session" "a letter sorts"
keys ">"
shows "*SCOPE\\**sorted by scope" "> sorts by the next"
keys N
shows "*NAME\\**" "by name"

# what is hostile shows as text, wide characters as they are
keys /
typed pwned
shows '*x1b]0;pwned*/pwned_' "a hostile label"
keys enter f
shows "*output of $evil*x1b?31mred*x1b?2J*" "hostile output"
is "$(psup screen "$top" --json | grep -c '"title":"pwned')" 0 \
    "no title is set by it"
psup resize "$top" 120x40 >/dev/null
shows "*SCOPE*LANE*output of $evil*" "a larger terminal"
psup resize "$top" 80x24 >/dev/null
keys escape
shows "*SESSION*${first:0:15}*" "and the small one again"

# a terminal in the pane: its screen
inner=$(psup exec --background --pty --cols 60 --rows 6 --label inner -- \
    sh -c 'printf "one\\ntwo\\033[1;1Hten\\033[6;1Hlast"; exec sleep 600')
psup wait "$inner" --text last --timeout 30000 >/dev/null
keys /
typed "$inner"
keys enter f
shows "*screen of $inner
ten
two*last*" "the screen of a terminal"
keys escape

# kill and remove, after a yes
keys /
typed "$first"
keys enter k
shows "*kill $first? y/n" "a kill asks"
keys n
shows "*not done" "no means no"
json
is "$(field "by['$first']['state']")" running "and nothing is done"
keys k
shows "*kill $first? y/n" "it asks again"
keys y
psup wait "$first" --timeout 30000 >/dev/null
json
is "$(field "by['$first']['status']")" killed "yes kills"
keys x
shows "*remove $first? y/n" "remove asks"
keys y
shows "*Removed session $first*" "and removes"
is "$(psup poll "$first" >/dev/null 2>&1; echo $?)" 4 "it is no more"
keys escape

# the master stops: the display goes on and says so
master=$(field "[p['pid'] for p in last['processes'] if p['role'] == 'master'][0]")
kill -STOP "$master"
psup-top --json -n 2 -d 0.3 --filter "$top" >"$scratch/json"
is "$(field "by['$top']['rate'] > 0")" True "it draws while the master is stopped"
# nobody draws a screen now; the line has another colour, so it is all there
for ((i = 0; i < 200; i++)); do
	psup log --raw "$top" 2>/dev/null >"$scratch/drawn"
	! grep -qa "server: master stopped" "$scratch/drawn" || break
	sleep 0.05
done
is "$(grep -ca "server: master stopped" "$scratch/drawn" | sed 's/^[1-9].*/yes/')" \
    yes "and says so"
kill -CONT "$master"
shows "*server: running*" "until it runs again"
master=
keys q
psup wait "$top" --timeout 30000 >/dev/null
like "$(psup poll "$top")" "*code 0*" "q ends it"

# it ended: what is known of it still shows
psup shutdown --grace 100 >/dev/null
json
is "$(field "last['server']")" down "a server that ended is down"
is "$(field "by['$bad']['exitCode']")" 7 "its sessions still show"
again=$(psup exec --background 'echo up; exec sleep 600')
psup wait "$again" --text up --timeout 30000 >/dev/null
json
is "$(field "last['server'], by['$again']['state']")" \
    "('running', 'running')" "and the one after it"
psup kill "$again" --grace 0 >/dev/null
