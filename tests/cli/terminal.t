#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A bash, a python and a vim session, driven by send-keys, read by screen; and
# recordings of them.
. "$(dirname "$0")/lib.sh"

# position ID: how far the screen is drawn
position() {
	psup screen "$1" --json | sed -n 's/.*"next":\([0-9]*\).*/\1/p'
}
# shows ID PATTERN: waits until the screen matches (a shell pattern).
shows() {
	local until=$((SECONDS + patience))
	while :; do
		screen=$(psup screen "$1")
		# shellcheck disable=SC2254
		case "$screen" in
		$2) return 0 ;;
		esac
		[ $SECONDS -lt $until ] || return 1
		# not a look a moment: until there is more output
		psup poll "$1" --since "$(position "$1")" --timeout 500 \
		    >/dev/null
	done
}
# screen ID PATTERN WHAT
screen() {
	if shows "$1" "$2"; then
		is yes yes "$3"
	else
		is "$screen" "$2" "$3"
	fi
}
enter() { psup submit "$1" "$2" >/dev/null; }
keys() { psup send-keys "$@" >/dev/null; }

# What is asked for with its sequences: a terminal is shown none that reaches
# beyond its window.
loud=$(psup exec --background --label loud \
    'printf "\033]52;c;eA==\007a\033[31mred\033[0m\033]8;;x:y\007b\033[3Jc\n"')
psup wait "$loud" >/dev/null
all=$(printf '\033]52;c;eA==\007a\033[31mred\033[0m\033]8;;x:y\007b\033[3Jc')
few=$(printf 'a\033[31mred\033[0mbc\r')
is "$(psup log --text ansi "$loud")" "$all" "sequences, for a pipe"
is "$(psup log -f --text ansi "$loud")" "$all" "followed, for a pipe"
at_terminal() { script -qec "$*" /dev/null </dev/null; }
is "$(at_terminal psup log --text ansi "$loud")" "$few" "for a terminal"
is "$(at_terminal psup log -f --text ansi "$loud")" "$few" \
    "followed, for a terminal"

bash=$(psup exec --background --pty --cols 70 --rows 15 -- \
    env PS1='PS> ' bash --norc --noprofile -i)
screen "$bash" "PS>*" "bash: the prompt"
enter "$bash" 'echo $((6*7)) $(stty size)'
screen "$bash" "*
42 15 70*" "bash: a command"
# shellcheck disable=SC2016
enter "$bash" 'sh -c "echo go""ing; exec sleep 600"'
screen "$bash" "*
going*" "bash: a job"
keys "$bash" C-z
screen "$bash" "*Stopped*
PS>" "bash: it is stopped"
enter "$bash" 'kill %1; wait; clear'
enter "$bash" 'echo alone'
# bash says "Terminated" before any of its next prompts
screen "$bash" "*
alone
*PS>" "bash: it goes on"
case "$screen" in *"42 15 70"*) cleared=no ;; *) cleared=yes ;; esac
is $cleared yes "bash: a clear screen"
like "$(psup screen "$bash" --ansi)" "*PS> *" "the colours' way"
is "$(psup screen "$bash" --ansi | wc -l)" 15 "all lines of it"

python=$(psup exec --background --pty -- /usr/bin/env "$system_python" -q)
screen "$python" "*>>>*" "python: the prompt"
enter "$python" 'print("-".join("abc"))'
screen "$python" "*
a-b-c*" "python: a line"
enter "$python" 'exit(3)'
psup wait "$python" --timeout 30000 >/dev/null
like "$(psup poll "$python")" "*code 3*" "python: its exit code"

if command -v vim >/dev/null; then
	file=$scratch/edited
	vim=$(psup exec --background --pty --cols 60 --rows 12 -- \
	    vim -N -u NONE -i NONE -n "$file")
	screen "$vim" "*~
~
~*" "vim: an empty file"
	keys "$vim" i
	screen "$vim" "*INSERT*" "vim: inserts"
	psup paste "$vim" --plain 'two words' >/dev/null
	keys "$vim" escape b C-a x -- u
	screen "$vim" "two*" "vim: edits"
	at=$(position "$vim")
	psup resize "$vim" 40x8 >/dev/null
	# it knows once it draws
	psup poll "$vim" --since "$at" --timeout 30000 >/dev/null
	psup send-keys "$vim" --literal ':set columns? lines?
' >/dev/null
	screen "$vim" "*columns=40*lines=8*" "vim: another size"
	keys "$vim" enter
	psup send-keys "$vim" --literal ':%s/words/lines/
' >/dev/null
	screen "$vim" "two lines*" "vim: a command"
	psup send-keys "$vim" --literal ':wq
' >/dev/null
	psup wait "$vim" --timeout 30000 >/dev/null
	is "$(cat "$file")" "two lines" "vim: the file"
	is "$(psup screen "$vim" --json | grep -c '"alternate":true')" 0 \
	    "vim: the screen as it was"
fi

plain=$(psup exec --background -- sh -c 'echo one; echo two')
psup wait "$plain" --timeout 30000 >/dev/null
like "$(psup screen "$plain" 2>&1)" "*has no terminal*" "pipes have no screen"

# cast ID: the recording, checked line by line; its sizes and output
cast() {
	psup log --asciicast "$1" >"$scratch/cast" || return 1
	python3 - "$scratch/cast" <<'P'
import json, sys
lines = open(sys.argv[1], encoding='utf-8', errors='strict').read().splitlines()
head = json.loads(lines[0])
assert head['version'] == 2 and head['timestamp'] > 1600000000, head
last, out, sizes = 0, '', ['%dx%d' % (head['width'], head['height'])]
for line in lines[1:]:
    at, kind, data = json.loads(line)
    assert at >= last and kind in 'or', line
    last = at
    if kind == 'r':
        sizes.append(data)
    else:
        out += data
print(*sizes)
print(out, end='')
P
}
rec=$(psup exec --background --pty --cols 50 --rows 10 -- sh -c \
    'printf "caf\\303"; read x; printf "\\251 \\377 end\\n"; read x')
screen "$rec" "caf*" "a character in two pieces: the first"
psup resize "$rec" 44x9 >/dev/null
enter "$rec" ""
screen "$rec" "caf*end*" "and the second"
got=$(cast "$rec" | tr -d '\r')
is "$(echo "$got" | sed -n 1p)" "50x10 44x9" "a recording: its sizes"
like "$got" "*caf*end*" "its output"
is "$(cast "$plain" | od -c | grep -c '\\r  *\\n')" 1 "of pipes: line ends"
is "$(psup log --asciicast "$bash" --json >/dev/null 2>&1; echo $?)" 2 \
    "--asciicast alone"
if command -v asciinema >/dev/null; then
	cp "$scratch/cast" "$scratch/plain.cast"
	cast "$bash" >/dev/null
	for one in cast plain.cast; do
		player=$(psup exec --background --pty -- env HOME="$scratch" \
		    asciinema cat "$scratch/$one")
		psup wait "$player" --timeout 60000 >/dev/null
		like "$(psup poll "$player")" "*code 0*" \
		    "asciinema plays $one"
	done
	screen "$player" "*one
two*" "and shows it"
fi
for id in "$bash" "$rec"; do
	psup kill "$id" --grace 0 >/dev/null
done
