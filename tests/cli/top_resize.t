#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# psup-top on a terminal that changes its size at random: its cells are those of
# a screen drawn from nothing. Names of every width are on it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tmux.sh"
rounds=${PSUP_RESIZES:-200}

for label in $'\U1f468\u200d\U1f469\u200d\U1f467' $'\u2764\ufe0f' '日本語' \
    $'\U1f1e9\U1f1ea' $'e\u0301\u0301' $'\u1112\u1161\u11ab' $'\u0915\u093f' \
    $'\u0645\u0631\u062d\u0628\u0627'; do
	psup exec --background --label "$label" \
	    "printf '$label\033[2J$label\a\n'; exec sleep 600" >/dev/null
done
psup exec --background --pty --label screen -- \
    sh -c 'printf "\342\235\244\357\270\217 \346\227\245\346\234\254\n"; exec sleep 600' >/dev/null

# sized COLUMNS ROWS: the terminal's program has this size, and a signal
sized() { [ "$(stty size <"$tty" 2>/dev/null)" = "$2 $1" ]; }
# pressed KEY WORD: the key, and its answer is on the screen
pressed() {
	local until=$((SECONDS + patience))
	keys "$1"
	while [ $SECONDS -lt $until ]; do
		# a blank is a blank, whether it was written or cleared
		screen=$(mux capture-pane -e -p |
			sed -E 's/(\x1b\[(0|39|49)m| )+$//')
		case "$screen" in *"sorted by $2"*) return ;; esac
		sleep 0.01
	done
	return 1
}
# settled: $screen after two answers is as it was after the two before: the
# first may be seen amid its drawing, and a change of size one key late
settled() {
	local once=none
	until [ "$screen" = "$once" ]; do
		once=$screen
		pressed S scope && pressed I session || return
	done
}
# same_at COLUMNS ROWS
same_at() {
	local before
	mux resize-window -x "$1" -y "$2"
	becomes sized "$1" "$2" && settled || return
	before=$screen
	keys C-l
	settled || return
	[ "$screen" = "$before" ] || {
		printf '# %sx%s\n%s\n--- anew\n%s\n' "$1" "$2" "$before" "$screen"
		return 1
	} >&2
}

# its figures stand still: what moves is the size alone
terminal 80 24 env TERM=xterm-256color psup-top --delay 3600
mux set-option -g status off
shows "*SESSION*h help*" "it runs"
tty=$(mux display-message -p '#{pane_tty}')
RANDOM=15 # the same sizes each time
wrong=
for ((i = 0; i < rounds; i++)); do
	# every view is drawn at fifty sizes
	case $((i * 4 / rounds)).$((i % (rounds / 4))) in
	1.0) keys f ;;
	2.0) keys d ;;
	3.0) keys Escape t ;;
	esac
	columns=$((40 + RANDOM % 180)) rows=$((10 + RANDOM % 50))
	same_at $columns $rows || wrong="$wrong ${columns}x$rows"
	[ -z "$wrong" ] || break
done
is "$wrong" "" "$i random sizes: the same cells as drawn from nothing"
is "$i" "$rounds" "all of them"
