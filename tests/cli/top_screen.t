#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The display of psup-top in tmux: keys are sent, the screen is compared. It
# waits for what is to be on the screen.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tmux.sh"

# hold_master: it is stopped from now on, and so is its successor where this
# machine is so slow that the keeper takes it for hung
hold_master() {
	while kill -STOP "$(master_pid)"; do sleep 0.5; done 2>/dev/null &
	holder=$!
}
# A stopped master must run again for the end.
let_master_go() {
	[ -n "${holder:-}" ] || return 0
	kill "$holder"
	wait "$holder"
	holder=
	kill -CONT "$(master_pid)"
} 2>/dev/null
trap 'let_master_go; mux kill-server 2>/dev/null; finish' EXIT

# display WIDTH HEIGHT [ENVIRONMENT...] [OPTION...]: psup-top on a terminal
display() {
	local width=$1 height=$2
	shift 2
	# a shell says the exit status: tmux 3.3 now and then loses a pane's
	# shellcheck disable=SC2016
	terminal "$width" "$height" env TERM=xterm-256color \
	    "$@" sh -c 'psup-top --delay 0.2; echo "ended with $?"; exec sleep 60'
	mux set-option -g remain-on-exit on
	mux set-option -g status off
}
# filter TEXT
filter() {
	keys Escape
	keys Escape
	keys /
	typed "$1"
	keys Enter
}

# who asks for a box may have one
chmod 711 "$scratch"
export PSUP_CONFIG="$scratch/psup.conf"
printf '[sandbox]\nmode = named\nworkspace = %s/boxes\n' "$scratch" >"$PSUP_CONFIG"
[ "$(id -u)" != 0 ] || echo 'user = nobody' >>"$PSUP_CONFIG"

one=$(psup exec --background --lane main --label first 'sleep 600')
two=$(psup exec --background --lane main 'sleep 600')
bad=$(psup exec --background 'exit 7')
talk=$(psup exec --background --scope chatty --label talker \
    'while :; do echo 0123456789; sleep 0.02; done')
wide=$(psup exec --background --scope chatty --label '日本語' 'sleep 600')
joined=$(psup exec --background \
    --label $'\U1f468\u200d\U1f469\u200d\U1f467 \u2764\ufe0f e\u0301' 'sleep 600')
cat=$(psup exec --background --label echoer -- cat)
evil=$(psup exec --background \
    $': \'\033]0;pwned\007\033[2J\''"; printf 'two\\033[31mred\\033[2J\\033]0;pwned\\007\\n'; exec sleep 600")
inner=$(psup exec --background --pty --cols 60 --rows 6 --label inner -- \
    sh -c 'printf "one\\ntwo\\033[1;1Hten \\033[31mred\\033[0m\\033[6;1Hlast"
	exec sleep 600')
psup wait "$inner" --text last --timeout 30000 >/dev/null
psup wait "$bad" "$talk" "$evil" --any --text two --timeout 30000 >/dev/null 2>&1

# ----------------------------------------------------------------- 80 x 24
display 80 24
shows "psup  running  up *
running 7 * queued 1 * ended 1 *failed 0 *out *budget *load *
lanes main 1/1 +1 held by $one *
SESSION *STATE *CPU%*OUT/s▾*INPUT*NAME*" "a header of three lines"
keys H
shows "psup  running  up *
keeper * gen 1 restarts 0 beat *master * gen 1 restarts 0 beat *
w0 * g1 r0 *
sessions running 7 * queued 1 * ended 1 *failed 0*
starts *output */s  budget *
pressure cpu *load *
lanes main 1/1 +1 held by $one *
SESSION *STATE *CPU%*OUT/s▾*INPUT*NAME*
${talk:0:14}* running *talker: wh*
*9 of 9 * h help *" "the header, the table, the foot"
is "$(echo "$screen" | wc -l), $(echo "$screen" | LC_ALL=C.UTF-8 wc -L)" \
    "24, 80" "24 lines of 90 columns"
shows "*日本語: sl*" "wide characters as they are"
shows "*${joined:0:14}* "$'\U1f468 \u2764 e\u0301: sl*' \
    "of joined characters the first, in its columns"
shows "*: *x1b]0;*" "hostile ones as text"
is "$(mux display-message -p '#{pane_title}' | grep -c pwned)" 0 \
    "no title is set by them"
shows_styled "*"$'\033'"\[38;5;28mrunning*" "in colours"
keys H
shows "psup*
running 7 *" "three lines again"

keys h
shows "*psup-top: keys*up  *the one above*sort by the column*" "the help"
keys PageDown PageDown
shows "*q F10*quit*Sort by a column*I  *session*" "it scrolls"
keys h
shows "*SESSION*" "and back"

keys /
typed talker
shows "*SESSION*${talk:0:14}*/talker_  1 of 9*" "the filter is typed"
lacks "first:" "the others are gone"
typed x
shows "*no session matches*/talkerx_*" "it is typed on"
keys BSpace Enter f
shows "*${talk:0:14}*output of $talk*0123456789*1 of 9  /talker*" \
    "its output is followed"
keys d
shows "*details of $talk*scope chatty*command *while :;*process *pipes*" \
    "its details"
keys z
shows "*details of $talk*processes *sh*1 of 9*" "the pane alone"
lacks "CPU%" "without the table"
keys Escape
shows "*CPU%*1 of 9*" "back to the table"
keys Escape
shows "*9 of 9*" "and without a filter"

keys I
shows "*SESSION▴*sorted by session" "a letter sorts"
keys r
shows "*SESSION▾*" "in reverse"
keys r ">"
shows "*SCOPE▴*sorted by scope" "> sorts by the next"
keys O t
shows "*
▾ (none) * sessions, * live*
▾ chatty  2 sessions, 2 live*
  ${talk:0:12}*" "the tree"
keys End Left
shows "*▸ chatty  2 sessions, 2 live*" "a scope is folded"
lacks "talker:" "its sessions are gone"
keys Right
shows "*▾ chatty*talker:*" "and unfolded"
keys t e
shows "*running and queued sessions*" "what ended is hidden"
lacks "exit 7" "it is gone"
keys e

# output that is hostile, and a terminal's screen
filter pwned
keys f
shows "*output of $evil*two*red*" "hostile output"
is "$(mux display-message -p '#{pane_title}' | grep -c pwned)" 0 \
    "still no title"
filter inner
keys f
shows "*screen of $inner  60x6*
ten red
two*last*" "the screen of a terminal"
shows_styled "*ten "*"31mred*" "in its colours"

# ------------------------------------------------------ search in the output
filter ""
many=$(psup exec --background --label manylines \
    'i=0; while [ $((i+=1)) -le 400 ]; do echo "row $i of it"; done
	exec sleep 600')
psup wait "$many" --text 'row 400' --timeout 30000 >/dev/null
filter manylines
keys f z
shows "*output of $many*row 400 of it*/ search*" "the output alone"
keys /
typed "ROW 39"
shows "*search the output: ROW 39_  11 hits*" "what is typed is searched"
keys Enter
shows_styled "*"$'\033'"\[38;5;255m*row 39*9 of it*" "the newest hit is shown"
shows "*hit 1 of 11 (n N)*" "and counted"
keys n n N
shows "*hit 2 of 11*" "the next one, and back"
keys n n n n n n n n n
shows "*hit 11 of 11*row 39 of it*" "the oldest one, out of sight before"
keys n
shows "*there is no older one" "there is no further one"
keys Escape
shows "*output of $many*scrolled back*" "one step back: no search"
lacks "hits" "no hit is counted"
keys Escape f
filter manylines

# ---------------------------------------------------------------- actions
filter echoer
keys s
shows "*keys to $cat: _" "keys are asked for"
typed '"hello there" Enter'
keys Enter
shows "*send to $cat: \"hello there\" Enter \[y/N]" "sending asks"
keys y
shows "*Sent 12 bytes*" "and sends"
psup wait "$cat" --text 'hello there' --timeout 30000 >/dev/null
is $? 0 "they arrive"

filter "$one"
keys p
shows "*pause lane main? * \[y/N]" "pausing a lane asks"
keys y
shows "*lanes main 1/1 +1 paused*" "and pauses it"
keys l
shows "*LANE * RUNNING QUEUED LONGEST HELD BY*
 \[||||||||||||] main *1/1 *1 * paused*" "the lanes"
keys p
shows "*resume lane main? * \[y/N]" "the same key lets it go on"
keys y
shows "*main 1/1 +1 held by $one *" "it does"
keys w
shows "*PROCESS *PID*keeper *master *worker 0 *standby*" "the processes"
keys Escape

keys k
shows "*kill $one (sleep 600)? TERM, in 5 s KILL \[y/N]" "a kill asks"
keys n
shows "*not done" "no means no"
keys k y
psup wait "$one" --timeout 30000 >/dev/null
shows "*${one:0:14}* killed *TERM*" "yes kills"
keys x y
shows "*Removed session $one*" "remove removes"
psup poll "$one" >/dev/null 2>&1
is $? 4 "it is no more"
keys Escape

# --------------------------------------------------------- marks, the mouse
many1=$(psup exec --background --scope bulk --label bulk1 'sleep 600')
many2=$(psup exec --background --scope bulk --label bulk2 'sleep 600')
many3=$(psup exec --background --scope bulk --label bulk3 'sleep 600')
filter bulk
shows "*3 of [1-9]*" "three of a scope"
keys N
shows "*bulk1*bulk2*bulk3*sorted by name*" "in order"
keys Up Up Up Space Space
shows "* 2 marked*" "two are marked"
keys Escape
lacks marked "escape lets them go"
keys Up Up Up Space Space
shows "* 2 marked*" "two are marked again"
keys k
shows "*kill 2 marked sessions? TERM, in 5 s KILL \[y/N]" "a kill of many asks"
keys y
shows "*kill 2 marked sessions: 2 done*" "and kills"
psup wait "$many1" "$many2" --timeout 30000 >/dev/null
is $? 0 "both end"
like "$(psup list --all)" "*$many3*running*" "the third lives"
# mouse BUTTON COLUMN ROW, from 1, as terminals of TERM=xterm-256color tell it
# (all at once: half of a sequence would be an escape)
mouse() {
	local bytes
	bytes=$(printf '\033[<%d;%d;%dM\033[<%d;%d;%dm' "$@" "$@" | od -An -v -tx1)
	# shellcheck disable=SC2086
	mux send-keys -H $bytes
}
screen=$(mux capture-pane -p)
row=$(echo "$screen" | grep -n "bulk3" | cut -d: -f1)
head=$(echo "$screen" | grep -n "^SESSION" | cut -d: -f1)
mouse 0 3 "$head"
shows "*SESSION▴*sorted by session*" "a click on a title sorts"
mouse 0 3 "$head"
shows "*SESSION▾*" "one more turns the order round"
keys r N
shows "*NAME▴*" "as it was"
mouse 0 5 "$row"
keys d
shows "*details of $many3*" "a click chooses"
mouse 64 5 5
shows "*details of $many1*" "the wheel moves up"
mouse 65 5 5
shows "*details of $many3*" "and down"
keys Escape O
psup kill "$many3" --grace 0 >/dev/null

# ------------------------------------------------- columns, chosen and kept
conf=$XDG_CONFIG_HOME/psup/top.conf
keys c
shows "*COLUMNS*\[x] session *its name*\[x] scope *" "all columns, to choose from"
keys Down Space Space Space
shows "*\[x] session*\[x] state*" "three are out"
keys Right Right Right Right Right c
shows "*SESSION *kept in $conf*" "what is chosen is kept"
lacks "LANE" "what is out is not shown"
is "$(cat "$conf")" \
    "columns = session age cpu rss rate total state idle input exit name" \
    "the file says it"
printf '# mine\nsort = cpu\ncolumns = name, session exit\nmouse = yes\n' >"$conf"
display 80 24
shows "*
SESSION *EXIT NAME*
*" "what is kept is there again"
lacks "STATE" "and nothing else of the table's head"
keys c End Space Escape
shows "*INPUT*kept in $conf*" "one more"
is "$(head -2 "$conf" | tr '\n' ' ')" "# mine sort = cpu " "what else is there stays"
echo 'colunms = session' >>"$conf"
cp "$conf" "$scratch/broken"
display 80 24
shows "*STATE*not taken: top.conf, line 5: \"colunms\" is no setting; did you mean columns?*" \
    "a mistake is named, and nothing is taken"
keys c Space q
shows "*ended with 0*" "who leaves with other columns"
is "$(cmp "$conf" "$scratch/broken" && ls "$XDG_CONFIG_HOME/psup")" "top.conf" \
    "the broken file stays as it was"
rm "$conf"
display 80 24
shows "*SESSION*" "again without it"

# ------------------------------------------------------------------ attach
filter inner
keys a
shows "ten *last*" "a: the session's terminal, alone"
lacks "SESSION" "without the display"
keys 'C-]'
shows "*SESSION*detached*" "^] leads back"
filter echoer
keys a
shows "*$cat has no terminal: f follows its output*" "pipes are no terminal"
keys Escape

# ------------------------------------------------------------------- sizes
mux resize-window -x 200 -y 50
shows "psup*worker 0 *worker 1 *
*SESSION * SCOPE * LANE *TOTAL*INPUT*
*talker: while :; do echo 0123456789; sleep 0.02; done*" \
    "200 x 50: more columns, the whole command"
mux resize-window -x 30 -y 8
shows "needs 40x10: here 30x8*" "too small is said"
mux resize-window -x 80 -y 24
shows "psup  running*SESSION*talker: wh*" "80 x 24 again"

# ------------------------------------------------------------- the master
filter talker
keys f
hold_master
shows "psup  master stopped*kill -CONT *output of $talk*" \
    "a stopped master is said"
keys d
shows "*details of $talk*total*rate [1-9]*" "rates go on"
keys k
shows "*cannot kill $talk: the master is stopped (kill -CONT *)" \
    "what cannot be done is said"
let_master_go
shows "psup  running*" "until it runs again"
psup kill "$talk" --grace 0 >/dev/null
filter ""
kill -KILL "$(master_pid)"
shows "psup  running * restarts [1-9]*" "a new master is told of"

# --------------------------------------------------------- without colours
display 80 24 NO_COLOR=1
shows "*SESSION*" "NO_COLOR"
is "$(mux capture-pane -e -p | grep -cE $'\033''\[([0-9;]*;)?[34][0-8][;m]')" 0 \
    "no colour is used"
shows_styled "*"$'\033'"\[0;7m*SESSION*" "but others looks"

# ------------------------------------------------------- with 8 colours
display 80 24 TERM=screen
shows_styled "*"$'\033'"\[1mrunning*" "8 colours: what runs is bold"
is "$(mux capture-pane -e -p | grep -cE $'\033''\[([0-9;]*;)?(3[236]|38)[;m]')" 0 \
    "and nothing green, yellow or cyan that a light ground swallows"

# ------------------------------------------------------------------ boxes
if boxed=$(psup exec --background --host sandbox --label inmate 'sleep 600' 2>&1)
then
	display 80 24
	shows "*budget *  boxes 1*" "boxes"
	lacks HOST "where there is room"
	filter inmate
	keys P
	shows "*HOST*${boxed:0:14}* *sandbox *inmate*" "where each runs, and sorted by it"
	mux resize-window -x 130 -y 40
	shows "*load *  boxes 1  inside 1*HOST*sandbox*" "who is in them"
	keys d
	shows "*worker * in its box  on pipes*" "and among its details"
	psup kill "$boxed" --grace 0 >/dev/null
	shows "*boxes 1  inside 0*" "until it leaves"
else
	echo "# $boxed"
fi

# ------------------------------------------- a terminal without addressing
# shellcheck disable=SC2016
terminal 80 24 env TERM=dumb \
    sh -c 'psup-top; echo "ended with $?"; exec sleep 60'
shows "psup-top: on this terminal (TERM=dumb) no cursor can be placed; *--batch*
ended with 1*" "TERM=dumb gets an answer"

display 80 24
psup shutdown --grace 100 >/dev/null
shows "psup  down  psupd or any psup exec starts it*SESSION*${two:0:14}*" \
    "a server that ended is said, and what it left"
keys k
shows "*cannot kill *: the server is down*" "nothing can be done"
keys q
shows "*ended with 0*" "q ends it"
