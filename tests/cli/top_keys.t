#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every key of psup-top in tmux, and what the screen shows of it; the manual says
# which there are, so that one without its line here is told.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tmux.sh"

lane=$(psup exec --background --scope red --lane main --label alpha 'sleep 600')
many=$(psup exec --background --scope red --label beta \
    'i=0; while [ $((i+=1)) -le 300 ]; do echo "row $i of it"; done; sleep 600')
pty=$(psup exec --background --pty --scope blue --label gamma -- \
    sh -c 'echo on a terminal; exec sleep 600')
for i in 1 2 3 4 5 6 7 8 9; do
	psup exec --background --scope zero --label "x$i" 'sleep 600' >/dev/null
done
psup wait "$many" --text 'row 300 ' --timeout 60000 >/dev/null
psup wait "$pty" --text terminal --timeout 60000 >/dev/null

# What is done once for every key: the table, in order of NAME, no pane.
# shellcheck disable=SC2016
terminal 80 24 env TERM=tmux-256color \
    sh -c 'while :; do psup-top --delay 0.3 --sort name; echo "ended with $?"; read -r _; done'
mux set-option -g status off
shows "*NAME▴*alpha:*" "it runs"
did=
# key NAME PATTERN [BEFORE...]: the key as the manual calls it, behind others
key() {
	local name=$1 pattern=$2 sent
	shift 2
	case $name in
	up | down | left | right | home | end | enter | tab | escape | space)
		sent=$(tr '[:lower:]' '[:upper:]' <<<"${name:0:1}")${name:1} ;;
	page-up) sent=PageUp ;;
	page-down) sent=PageDown ;;
	delete) sent=DC ;;
	ctrl-L) sent=C-l ;;
	*) sent=$name ;;
	esac
	[ $# = 0 ] || keys "$@"
	keys "$sent"
	shows "$pattern" "$name"
	did="$did
$name"
}
# Chosen is what the details are of.
key down "*details of $many*" d
keys Down Escape
keys d
shows "*details of $pty*" "the third"
key up "*details of $many*"
key end "*details of *label     x9
*"
key home "*details of $lane*"
key G "*details of *label     x9
*"
key g "*details of $lane*"
key page-down "*details of *label     x[1-9]
*"
key page-up "*details of $lane*"
key i "*NAME▴*alpha:*x9:*"
key d "*details of $lane*"
key escape "*NAME▴*alpha:*x9:*"
key f "*output of $many*row 300 of it*" Down
key n "*search the output: _*"
keys Escape
key [ "*output of $many*scrolled back*"
key ] "*output of $many*row 300 of it*" ] ] ] ]
key z "*output of $many*row 285 of it*row 300 of it*"
key tab "*NAME▴*output of $many*"
key enter "*NAME▴*x9:*"
keys Home
key / "*/_*12 of 12*"
keys Escape
key F3 "*/_*12 of 12*"
keys Escape
key F4 "*/_*12 of 12*"
keys Escape
key r "*NAME▾*"
key r "*NAME▴*"
key '<' "*sorted by exit*"
key '>' "*sorted by name*"
key F6 "*sorted by session*"
for pair in S:scope L:lane P:host T:state A:age C:cpu M:rss O:rate B:total D:idle W:input \
    X:exit I:session N:name; do
	key "${pair%:*}" "*sorted by ${pair#*:}*"
done
key e "*running and queued sessions*"
key e "*all sessions*"
key t "*▾ blue*by scope*"
key left "*▸ blue*" Home Down
key right "*▾ blue*"
key F5 "*all in one table*"
keys Home
key space "*1 marked*"
keys Escape Home
key k "*kill $lane (sleep 600)? TERM, in 5 s KILL*"
keys n
key F9 "*kill $lane (sleep 600)? TERM, in 5 s KILL*"
keys n
key K "*kill at once $lane (sleep 600)? KILL*"
keys n
key x "*remove $lane*\[y/N]*"
keys n
key delete "*remove $lane*\[y/N]*"
keys n
key p "*pause lane main? *"
keys n
key s "*keys to $many: _*" Down
keys Escape
key a "on a terminal*" Down
keys 'C-]'
shows "*NAME▴*detached*" "back from it"
key l "*TAKEN*main *1/1*"
key l "*NAME▴*"
key w "*PROCESS *keeper *"
key w "*NAME▴*"
key c "*COLUMNS*"
key c "*NAME▴*"
key h "*psup-top: keys*"
key '?' "*NAME▴*"
key F1 "*psup-top: keys*"
keys Escape
key H "*keeper *beat*master *"
keys H
key + "*every 0.6 s*"
key - "*every 0.3 s*"
key u "*NAME▴*alpha:*"
# what somebody else wrote into the terminal goes; the cursor stays where
# psup-top left it
printf '\0337\033[5;1Hgarbage\0338' >"$(mux display-message -p '#{pane_tty}')"
shows "*garbage*" "a screen that is not ours"
keys C-l
lacks garbage "is drawn anew"
did="$did
ctrl-L"
key q "*ended with 0*"
keys Enter
shows "*NAME▴*" "again"
key F10 "*ended with 0*"

# The mouse is in top_screen.t.
psup-top --help-man | sed -n '/^\.SH KEYS/,/^\.SH BATCH/p' | sed -n '
	/^\.TP/ { n; s/^\.B //; s/\\f[BRI]//g; s/\\-/-/g; s/\\(ga/`/g; s/\\//g; p; }' |
	tr ' ' '\n' | grep -vE '^(click|wheel-up|wheel-down|)$' | sort -u >"$scratch/all"
is "$(wc -l <"$scratch/all" | awk '{ print ($1 > 50) }')" 1 "the manual names keys"
is "$(sort -u <<<"$did" | comm -13 - "$scratch/all" | tr '\n' ' ')" "" \
    "none was left out"
