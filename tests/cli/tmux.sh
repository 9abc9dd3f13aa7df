# SPDX-License-Identifier: MIT
# A real terminal for the TAP tests: tmux, with a server of its own for each
# display. Sourced after lib.sh.
unset NO_COLOR TMUX
export XDG_CONFIG_HOME=$scratch/config # nothing that a person keeps

if ! command -v tmux >/dev/null; then
	echo "# no tmux here"
	exit 0
fi
displays=0
mux() { tmux -S "$scratch/mux$displays" -f /dev/null "$@"; }
trap 'mux kill-server 2>/dev/null; finish' EXIT

# terminal WIDTH HEIGHT COMMAND [ARG...]: the display from now on. The command
# comes as words: a line of text tmux would give to the shell of the user, and
# one who may not log in has a shell that only says so.
terminal() {
	mux kill-server 2>/dev/null
	displays=$((displays + 1))
	mux new-session -d -x "$1" -y "$2" "${@:3}"
}
# on_screen WANTED WHAT TEST [ARG...]: waits until the test is true of $screen,
# whatever has been drawn of it by now
styles= # -e: with its colours, as escape sequences
on_screen() {
	local wanted=$1 what=$2 until=$((SECONDS + patience))
	shift 2
	while :; do
		# shellcheck disable=SC2086
		screen=$(mux capture-pane -p $styles 2>&1)
		if "$@"; then
			is yes yes "$what"
			return
		fi
		case "$screen" in
		"no server running"* | "error connecting"*) break ;;
		esac
		[ $SECONDS -lt $until ] || break
		sleep 0.03
	done
	patience=1 # of the first failure; then all of it is to end soon
	is "$screen" "$wanted" "$what"
}
# shellcheck disable=SC2254
matches() { case "$screen" in $1) ;; *) return 1 ;; esac; }
has_no() { case "$screen" in *"$1"*) return 1 ;; esac; }
# shows PATTERN WHAT (a shell pattern); shows_styled: of text and styles
shows() { on_screen "$1" "$2" matches "$1"; }
shows_styled() {
	local styles=-e
	shows "$@"
}
# lacks TEXT WHAT
lacks() { on_screen "no $1" "$2" has_no "$1"; }
keys() { mux send-keys "$@"; }
typed() { mux send-keys -l "$1"; }
