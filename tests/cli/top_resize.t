#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# psup-top on a terminal that changes its size at random: its cells, with their
# attributes and colours, are those of a screen drawn from nothing. Names of
# every width are on it. PSUP_RESIZES: how often (tests/long/resizes: ten times
# more); PSUP_SEED: which sizes.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tmux.sh"
rounds=${PSUP_RESIZES:-200}
seed=${PSUP_SEED:-$RANDOM}

for label in $'\U1f468\u200d\U1f469\u200d\U1f467' $'\u2764\ufe0f' '日本語' \
    $'\U1f1e9\U1f1ea' $'e\u0301\u0301' $'\u1112\u1161\u11ab' $'\u0915\u093f' \
    $'\u0645\u0631\u062d\u0628\u0627'; do
	psup exec --background --label "$label" \
	    "printf '$label\033[2J$label\a\n'; exec sleep 600" >/dev/null
done
psup exec --background --pty --label screen -- \
    sh -c 'printf "\342\235\244\357\270\217 \346\227\245\346\234\254\n"; exec sleep 600' >/dev/null

# its figures stand still: what moves is the size alone
# (of what a terminal erases in a colour, which this one does not, tmux would not
# tell the end of a line)
terminal 80 24 env TERM=tmux-256color psup-top --delay 3600
mux set-option -g status off
mux set-option -g window-size manual
shows "*SESSION*h help*" "it runs"
echo "# PSUP_SEED=$seed"
is "$(python3 "$(dirname "$0")/top_resize.py" "$scratch/mux$displays" "$rounds" \
    "$seed" 2>&1)" "$rounds sizes" \
    "each of $rounds random sizes shows what is drawn from nothing (seed $seed)"
