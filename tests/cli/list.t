#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# psup list as a table, by columns and templates, watched; colours; ids by
# their beginning.
. "$(dirname "$0")/lib.sh"

code() { "$@" >/dev/null 2>&1; echo $?; }
esc=$'\033'

is "$(psup list 2>&1; echo $?)" "psup: no server runs at $PSUP_RUNTIME_DIR; \
start one with psupd --detach or psup exec
3" "no server: how to start one"
psup exec true
is "$(psup list)" "No running or recent sessions." "nothing to list"
bad=$(psup exec --background -- sh -c 'printf "\033[31mred\033[0m"; exit 3')
psup wait "$bad" >/dev/null
wide=$(psup exec --background --label '漢字 label' --lane subagent -- \
    sleep 600)
name=漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字
psup exec --background -- $name 2>/dev/null

# cells, wherever they are cut
is "$(psup list --format id,status,exit | sed -n '1p;4p' | tr -s ' ')" \
    "ID STATUS EXIT
$bad completed 3" "columns by name"
is "$(psup list --format '{id}\t{exit}\t{lane}' | grep "$wide")" \
    "$wide		subagent" "a template"
is "$(psup list --format '{label}' | sed -n 2p)" "漢字 label" "a label"
is "$(psup list --format '{cpu}' | grep -c ms)" 3 "cpu asks for --usage"
like "$(psup list --format id,statsu 2>&1; echo $?)" \
    '*"statsu" is no column; did you mean status?*2' "a wrong column"
like "$(psup list --format '{id' 2>&1)" "*a { without its }*" "half a template"
is "$(psup list | awk '{ print (NF >= 7) }' | sort -u)" 1 "no cell is empty"
like "$(psup list)" "* $name*" "a pipe gets all of it"

# on a terminal of so many columns; its CR LF as LF
tty() { # COLUMNS COMMAND
	script -qefc "stty cols $1 rows 8; $2" /dev/null </dev/null |
	    tr -d '\r'
}
width() { # the widest line, in columns of a terminal
	sed "s/$esc\[[0-9;]*m//g" | python3 -c 'import sys, unicodedata
w = lambda s: sum(2 if unicodedata.east_asian_width(c) in "WF" else 1
    for c in s)
print(max(w(l.rstrip("\n")) for l in sys.stdin.buffer.read().decode()
    .splitlines()))'
}
export TERM=xterm
unset NO_COLOR COLUMNS LINES
for columns in 100 60 40 20; do
	got=$(tty $columns "psup list" | width)
	is "$((got <= columns && got > columns - 4 || got > 70))" 1 \
	    "$columns columns are $got"
done
like "$(tty 60 'psup list')" "* 漢字*…*" "a wide character is not halved"

# colours
shown() { tty 100 "$1" | grep -c "$esc"; }
is "$(psup list | grep -c "$esc")" 0 "a pipe gets no colours"
is "$(psup list --color always | grep -c "$esc\[31mnot started")" 1 \
    "unless they are asked for"
is "$(shown 'psup list')" 4 "a terminal gets them"
is "$(shown 'psup list --color never')" 0 "--color never"
is "$(shown 'NO_COLOR=1 psup list')" 0 "NO_COLOR"
is "$(shown 'NO_COLOR= psup list')" 4 "an empty one says nothing"
is "$(shown 'NO_COLOR=1 psup --color=always list')" 4 "the option wins"
is "$(shown 'TERM=dumb psup list')" 0 "a dumb terminal"
like "$(psup list --color blue 2>&1; echo $?)" "*auto always never*2" \
    "no such colour"

# what is shown of many
both=$(psup exec --background --tag kind=build --tag who=me 'exit 7')
psup wait "$both" >/dev/null
like "$(psup list | grep "^$both" | sed 's/[0-9]*s ago/now/')" "$both *exited 7 *now* exit 7" \
    "how it ended, and when; its command"
like "$(psup list | grep "^$wide")" "*subagent *漢字 label" "its label, if any"
is "$(psup list -q --tag kind=build)" "$both" "--tag KEY=VALUE"
is "$(psup list -q --tag who --tag kind=no)" "" "all of several"
is "$(psup list --tag who --format '{tags}')" "kind=build,who=me" "shown"
like "$(psup list --tag kind=no)" "No such session." "none"
is "$(psup list -q --status finished | wc -l)" 3 "--status finished"
is "$(psup list -q --status running)" "$wide" "--status running"
is "$(psup list -q --lane subagent --label '漢*')" "$wide" "--lane, --label"
is "$(psup list -q --scope other)$(psup list -q --older 1h)" "" \
    "--scope, --older"
is "$(psup list -q --since 1h | wc -l)" 4 "--since"
is "$(psup stats --json "$both" "$both" | grep -o '"sessionId"' | wc -l)" 1 \
    "one that is named twice"
like "$(psup list -q --label '*' --tag 2>&1; echo $?)" "*--tag*2" "no tag"
is "$(psup list --json --status running | grep -o '"sessionId"' | wc -l)" 1 \
    "as JSON"
like "$(psup list --status gone 2>&1; echo $?)" "*running queued finished*2" \
    "no such status"
is "$(code psup list -q --json)" 2 "-q is no JSON"
is "$(psup list --format '{lane}x' --tag who)" "x" "a column that is asked for"
like "$(psup list --tag who)" "ID *STATUS *OUTPUT  WHAT
*" "one with nothing in it is left out"
psup exec 'touch '"$scratch"'/up; exec sleep 600' &
foreground=$!
becomes test -e "$scratch/up"
like "$(psup list --all)" "* foreground * touch *" "--all"
kill $foreground
wait $foreground
psup clear "$both" >/dev/null

# again and again
psup list --watch=0.1 --format '{id}' 2>&1 | head -5 >"$scratch/watched"
is "${PIPESTATUS[0]} $(sort "$scratch/watched" | uniq -c | wc -l)" "0 3" \
    "--watch repeats, and ends with its reader"
is "$(code psup list --watch=0)" 2 "--watch=0"
is "$(code psup list --watch 5)" 2 "its value stands behind ="

# beginnings
is "$(psup poll "${bad%?}" --json | grep -c '"exitCode":3')" 1 \
    "a beginning is enough"
slug=$wide
like "$(psup log "x${slug#?}" 2>&1; echo $?)" "*did you mean $slug?*4" \
    "what was meant"
like "$(psup log --raw "x${slug#?}" 2>&1; echo $?)" "*did you mean $slug?*4" \
    "without the server, too"
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do
	psup exec --background true
done >/dev/null
first=$(psup list --format '{id}' | cut -c1 | sort | uniq -d | head -1)
like "$(psup kill "$first" 2>&1; echo $?)" "*$first may be $first*, $first*4" \
    "an ambiguous one lists them"
like "$(psup kill "$first" --json 2>/dev/null)" \
    '*"code":"ambiguous","field":"sessionId"*' "as JSON, too"
like "$(PSUP_SCOPE=other psup poll "${bad%?}" 2>&1; echo $?)" \
    "*No session found for ${bad%?}
4" "another scope's is not there, and not named"
mine=$(PSUP_SCOPE=other psup exec --background 'sleep 600')
is "$(PSUP_SCOPE=other psup wait --timeout 1 "${mine%?}" >/dev/null; echo $?)" \
    124 "one of ours is"
is "$(code psup poll '')" 1 "an empty one is none"


# labels
old=$(psup exec --background --name web -- sh -c 'exit 7')
psup wait "$old" >/dev/null
is "$(psup wait --exit-code web; echo $?)" "$(psup wait "$old"; echo 7)" \
    "a label is enough"
web=$(psup exec --background --name web -- sleep 600)
like "$(psup inspect web)" "session * $web*" "what runs goes before what ran"
also=$(PSUP_SCOPE=other psup exec --background --name web -- sleep 600)
like "$(PSUP_SCOPE=other psup inspect web)" "session * $also*" \
    "of our scope alone"
like "$(psup signal web USR1 2>&1; echo $?)" "*web may be *$web*4" \
    "of two that run neither"
PSUP_SCOPE=other psup kill web >/dev/null
psup kill web >/dev/null
is "$(psup wait "$web" "$also" | grep -c killed)" 2 "each killed by its label"

# while the master is stopped its memory is read, beginnings and all
becomes while_stopped psup list -q --status running --lane subagent
is "$(grep -v '^psup:' "$scratch/stopped")" "$wide" \
    "a list of some, with the master stopped"
becomes while_stopped psup log --raw "${bad%?}"
is "$(tr -d '\033' <"$scratch/stopped")" "[31mred[0m" \
    "a beginning, with the master stopped"
becomes while_stopped psup log --raw "x${slug#?}"
like "$(cat "$scratch/stopped" "$scratch/code")" "*did you mean $slug?*4" \
    "what was meant, too"
becomes while_stopped psup list
like "$(cat "$scratch/stopped")" "*from its shared memory
ID *$wide *running *" "and the list"

# lanes, and signals by number
like "$(psup lanes list subagnet 2>&1; echo $?)" \
    "*no lane subagnet now; did you mean subagent?*4" "no such lane"
is "$(code psup kill "$wide" --signal 9)" 0 "a signal by number"

# log: the last lines, and what came since
old=$(psup exec --background 'printf "a\nb\nc\nold\n"; read x
	sleep 0.05; printf "new\n\033[31mlast\033[0m\n"; read x; echo "got $x"')
# what came within 10 ms has one time
psup wait "$old" --text old --timeout 60000 >/dev/null
psup write "$old" '
' >/dev/null
psup wait "$old" --text last --timeout 60000 >/dev/null
when=$(psup log -t "$old" | sed -n 's/ new$//p')
is "$(psup log -n 2 "$old")" "new
last" "-n"
is "$(psup log --since "$when" "$old")" "new
last" "--since a time"
is "$(psup log --since 1h "$old" | wc -l)" 6 "--since a duration"
is "$(psup log --since 1h -n 1 "$old")" last "with -n"
is "$(psup log --since "$when" -n 5 "$old" | head -1)" new "no line before it"
is "$(psup log --since "$when" --grep w "$old")" "4:new" "with --grep"
is "$(psup log --since "$when" --grep old "$old")" "(none of 6 lines)" \
    "and none before it"
is "$(psup log --since 2031-01-01 "$old")" "(no lines since then, of 6)" \
    "nothing since"
like "$(psup log --since soon "$old" 2>&1; echo $?)" "*neither a duration*2" \
    "neither"
psup log -f -n 1 "$old" >"$scratch/followed" &
follower=$!
until [ -s "$scratch/followed" ]; do sleep 0.02; done
psup write "$old" 'it
' >/dev/null
wait $follower
is "$(cat "$scratch/followed")" "last
got it" "-f -n follows from the last line on"
is "$(psup log -f --since "$when" "$old")" "new
last
got it" "-f --since"
is "$(psup log -f -t "$old")" "$(psup log -t "$old")" "-f -t: the same times"
is "$(psup log -f -t -n 2 "$old" | sed 's/^20..-..-..T..:..:..[.]...Z //')" \
    "last
got it" "of the last lines"
is "$(psup log -n 1 no-such "$old" "$bad" 2>"$scratch/err"; echo $?)" \
    "==> $old <==
got it

==> $bad <==
red
1" "several, each that is there under its id"
like "$(cat "$scratch/err")" "*No session found for no-such" "and who is not there"
is "$(psup log --raw no-such "$old" 2>/dev/null | head -n 1)" "==> $old <==" \
    "from shared memory, too"
is "$(psup log -f "$old" "$bad" | sort | tr -d '\n')" \
    "$(psup log "$old" "$bad" | sort | tr -d '\n')" "-f of several"
like "$(psup log -f --asciicast "$old" "$bad" 2>&1; echo $?)" "*2" \
    "a recording is of one"
