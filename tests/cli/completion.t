#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What shells complete, by the shells themselves where they are installed; and
# that help, manual page and completion say the same.
. "$(dirname "$0")/lib.sh"

psup exec true
one=$(psup exec --background --lane subagent -- sleep 600)
theirs=$(PSUP_SCOPE=theirs psup exec --background -- sleep 600)

# the question that every shell asks
ask() { psup completion query -- psup "$@" | cut -f1 | tr '\n' ' '; }
is "$(ask sh)" "shutdown " "a command"
is "$(ask kill "${one%?}")" "$one " "a session"
like "$(psup completion query -- psup kill "$one")" "$one	running sleep 600" \
    "and what it is"
is "$(ask wait x "$theirs")" "$theirs " "a further one"
is "$(PSUP_SCOPE=theirs ask kill "$one")" "" "not another scope's"
is "$(PSUP_SCOPE=theirs ask kill "${theirs%?}")" "$theirs " "our own"
is "$(ask poll "$one" "$one")" "" "no second where there is one"
is "$(ask lanes pau)" "pause " "an operation"
is "$(ask lanes pause sub)" "subagent " "a lane"
is "$(ask exec --lane sub)" "subagent " "a lane as a value"
is "$(ask exec --st)" "--stdin " "an option"
is "$(ask --col)" "--color " "one before the command"
is "$(ask exec --stdin '')" "inherit open closed " "its values"
is "$(ask list --color=al)" "--color=always " "behind ="
is "$(ask list --color = al)" "always " "as bash parts it"
is "$(ask kill --signal U)" "USR1 USR2 URG " "signals"
is "$(ask kill --scope th)" "theirs " "a scope"
is "$(ask send-keys "$one" page)" "pageup pagedown " "keys"
is "$(ask exec --workdir /)" ":dir " "a directory: the shell knows"
is "$(ask exec ls /)" ":file " "arguments of a command"
is "$(ask exec -- --lan)" ":program " "no option behind --"
is "$(ask --runtime-dir /nowhere kill '')" "" "ids of the named server"
is "$(PSUP_RUNTIME_DIR=/nowhere psup completion query -- psup \
    --runtime-dir "$PSUP_RUNTIME_DIR" kill "$one" | cut -f1)" "$one" \
    "wherever it is"

# every command and option of the table is in the help and in the manual page
psup help --man >"$scratch/man"
man=$(<"$scratch/man")
help=$(psup --help)
missing=
while IFS=$'\t' read -r command _; do
	[[ $help == *"
  $command"[\ ,]* ]] || missing="$missing help:$command"
	[[ $man == *".SS psup ${command//-/\\-}"* ]] ||
	    missing="$missing man:$command"
	own=$(psup "$command" --help)
	while IFS=$'\t' read -r option _; do
		[[ $own == *" $option"* ]] || missing="$missing $command:$option"
		[[ $man == *"${option//-/\\-}"* ]] ||
		    missing="$missing man:$command:$option"
	done < <(psup completion query -- psup "$command" --)
done < <(psup completion query -- psup '')
is "$missing" "" "help and psup(1) have every command and option"
if command -v man >/dev/null; then
	is "$(MANWIDTH=80 man -E UTF-8 -l --warnings=all "$scratch/man" 2>&1 \
	    >/dev/null)" "" "psup(1) has no mistake"
fi
if command -v mandoc >/dev/null; then
	is "$(mandoc -T lint -W error "$scratch/man")" "" "by mandoc, too"
fi

# bash, as it asks when TAB is pressed
in_bash() { # WORDS...
	bash --norc --noprofile -c '
		source <(psup completion bash)
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		_psup psup "${COMP_WORDS[COMP_CWORD]}" ""
		echo "${COMPREPLY[@]}"' bash "$@"
}
is "$(in_bash psup lo)" "log" "bash: a command"
is "$(in_bash psup poll "${one%?}")" "$one" "bash: a session"
is "$(in_bash psup list --color =)" "auto always never" "bash: behind ="
is "$(in_bash psup exec --limit p)" "pids=" "bash: a value with more to come"
touch "$scratch/a file"
is "$(in_bash psup exec ls "$scratch/a")" "$scratch/a file" "bash: a file"
is "$(in_bash psup exec --workdir "${scratch%?}")" "$scratch" \
    "bash: a directory"
is "$(bash --norc --noprofile -c 'source <(psup completion bash)
    complete -p psup')" "complete -F _psup psup" "bash: it is registered"

# programs that have options alone
of_bash() { # PROGRAM CURRENT PREVIOUS
	bash --norc --noprofile -c 'eval "$("$1" --completion bash)"
		COMPREPLY=()
		"_${1//-/_}" "$1" "$2" "$3"; echo "${COMPREPLY[*]}"' bash "$@"
}
for program in psupd psup-top psup-mcp psup-chaos psup-bench; do
	wrong=
	for shell in bash zsh fish; do
		$program --completion $shell >"$scratch/$shell"
		is "$?" 0 "$program for $shell"
		! command -v $shell >/dev/null ||
			wrong=$wrong$($shell -n "$scratch/$shell" 2>&1)
		while read -r option; do
			# shellcheck disable=SC2016
			grep -q -e "[ '-]${option#--}\>" "$scratch/$shell" ||
				wrong="$wrong $shell:$option"
		done < <($program --help | grep -o -e '^  *\(-., \)\?--[a-z-]*' |
			grep -o -e '--.*')
	done
	is "$wrong" "" "each knows all of its options"
	is "$(of_bash $program --vers '')" "--version" "bash completes one"
done
is "$(of_bash psup-top ra --sort)" "rate" "psup-top: a column"
is "$(of_bash psup-mcp b --on-cancel)" "background" "psup-mcp: a word"
is "$(of_bash psupd no --log-level)" "note" "psupd: a level"
is "$(of_bash psupd "${scratch%?}" --runtime-dir)" "$scratch" \
    "psupd: a directory"
like "$(psup-top --completion tcsh 2>&1; echo $?)" "*tcsh*bash*zsh*fish*2" \
    "a shell that is none"

if command -v fish >/dev/null; then
	is "$(HOME=$scratch fish --no-config -c \
	    "psup completion fish | source; complete -C 'psup poll ${one%?}'" |
	    cut -f1)" "$one" "fish: a session"
	is "$(HOME=$scratch fish --no-config -c \
	    "psup completion fish | source; complete -C 'psup shutd'" |
	    cut -f1)" "shutdown" "fish: a command"
else
	echo "# no fish here"
fi
like "$(psup completion tcsh 2>&1; echo $?)" "*bash zsh fish*2" "no such shell"

if ! command -v zsh >/dev/null; then
	echo "# no zsh here"
	exit 0
fi
is "$(psup completion zsh | zsh -n 2>&1)" "" "zsh: it parses"
. "$(dirname "$0")/tmux.sh"
mkdir "$scratch/fpath"
psup completion zsh >"$scratch/fpath/_psup"
export TERM=xterm
terminal 100 20 env HOME="$scratch" PS1='ready ' zsh -f
typed "fpath=($scratch/fpath \$fpath); autoload -U compinit;\
    compinit -u -D; clear; echo set up
"
shows "set up
ready*" "zsh: it loads"
typed "psup poll ${one%?}	"
shows "*psup poll $one*" "zsh: a session"
keys C-u
typed "psup exec --stdin 	"
shows "*inherit*" "zsh: values of an option"
keys C-u
typed "psup exec --no-ou	"
shows "*psup exec --no-output-timeout*" "zsh: an option"
