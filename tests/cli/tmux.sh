# SPDX-License-Identifier: MIT
# A real terminal for the TAP tests: tmux, with a server of its own for each
# display. Sourced after lib.sh.
unset NO_COLOR TMUX

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
# shows PATTERN WHAT: waits until the display matches (a shell pattern)
patience=30 # of the first failure; then all of it is to end soon
shows() {
	local until=$((SECONDS + patience))
	while :; do
		screen=$(mux capture-pane -p 2>&1)
		# shellcheck disable=SC2254
		case "$screen" in
		$1) is yes yes "$2"; return ;;
		"no server running"* | "error connecting"*) break ;;
		esac
		[ $SECONDS -lt $until ] || break
		sleep 0.03
	done
	patience=1
	is "$screen" "$1" "$2"
}
keys() { mux send-keys "$@"; }
typed() { mux send-keys -l "$1"; }
