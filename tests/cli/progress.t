#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# In a real terminal, tmux: the line that says how a foreground exec stands, and
# a watched list.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tmux.sh"

export TERM=xterm
terminal 70 12 env PS1='$ ' bash --norc --noprofile -i
type() { typed "$1"; keys Enter; }
shows '$*' "a shell"
psup exec true
mkfifo "$scratch/go"
exec 8<>"$scratch/go" # so that nobody waits for the other end
next() { echo >&8; }

cat >"$scratch/command" <<EOF2
read x <$scratch/go
printf 'one\ntwo\n'
read x <$scratch/go
printf 'Really? '
read x <$scratch/go
echo yes
EOF2
type "clear; psup exec -- sh $scratch/command"
shows ' *running *s  0 bytes  0 lines*' "it is there once a command takes a while"
next
shows 'one
two
* running *s  8 bytes  2 lines*' "below what was written"
next
shows 'one
two
Really?' "not beside the beginning of a line"
next
shows 'one
two
Really? yes
$*' "and nothing of it is left"

type "clear; psup exec -- sh $scratch/command >$scratch/out"
next
shows ' *running *  8 bytes  2 lines*' "stdout elsewhere: it stands alone"
next
next
shows '$' "and goes at the end"
is "$(tr '\n' ' ' <"$scratch/out")" "one two Really? yes " \
    "nothing of it on stdout"

type 'clear; psup exec cat'
shows ' *running *' "a command that reads"
typed 'typ'
typed 'ed'
keys Enter
shows 'typed
typed' "what is typed takes it away"
keys C-d
shows 'typed
typed
$*' "and it stays away"

# the list, watched: in one place, as long as the screen has lines
watched=$(psup exec --background -- sleep 600)
type 'clear; psup list --watch=0.2 --format id,status'
shows "ID *STATUS
$watched *running*" "a watched list"
psup kill "$watched" >/dev/null
shows "ID *STATUS
$watched *killed*" "is renewed"
for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
	psup exec --background true >/dev/null
done
shows "ID *STATUS
*completed
(4 more)*" "and cut"
is "$(echo "$screen" | grep -c '^ID ')" 1 "it has one title"
keys C-c
shows '*$' "and ends with Ctrl-C"

# On terminals of their own, side by side: is anything drawn?
drawn() { # NAME COMMAND
	script -qefc "stty cols 80; $2" "$scratch/$1" </dev/null >/dev/null 2>&1 &
}
slow="psup exec 'sleep 1.5'"
# this one ends once the line was there
drawn usual "psup exec 'for i in \$(seq 1200); do
	grep -q \"\$(printf \"\\0337\")\" $scratch/usual && exit
	sleep 0.1
done'"
drawn option "psup --no-progress exec 'sleep 1.5'"
drawn dumb "TERM=dumb $slow"
drawn piped "$slow 2>&1 | cat"
drawn elsewhere "$slow 2>$scratch/err"
wait
count() { grep -c $'\0337' "$scratch/$1"; }
is "$(($(count usual) > 0))" 1 "usually"
for how in option dumb piped elsewhere err; do
	is "$(count $how)" 0 "not: $how"
done
