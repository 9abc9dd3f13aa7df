# SPDX-License-Identifier: MIT
# What the TAP tests of the command line share: a server directory of their
# own, and its end whatever happens.
set -u
PATH="$PSUP_TEST_BIN:$PATH"
PSUP_RUNTIME_DIR=$(mktemp -d /dev/shm/psup-cli-XXXXXX)
export PATH PSUP_RUNTIME_DIR
unset PSUP_CONFIG PSUP_PSUPD
# Whoever runs this may have a shell that only says so; script(1) takes it.
export SHELL=/bin/sh
scratch=$(mktemp -d /dev/shm/psup-scratch-XXXXXX)
count=0
failed=0
# What ends a wait for what never comes: longer than a busy machine takes.
patience=120
# The system's own, where there is one: a launcher that looks for the right
# python (pyenv) runs longer than what these tests give it.
system_python=/usr/bin/python3
[ -x $system_python ] || system_python=python3
python3() { command "$system_python" "$@"; }

finish() {
	psup shutdown --grace 300 >/dev/null 2>&1
	rm -rf "$PSUP_RUNTIME_DIR" "$scratch"
	echo "1..$count"
	[ "$failed" = 0 ] || exit 1
}
trap finish EXIT

# becomes COMMAND [ARG...]: waits until it is true; says whether it came true
becomes() {
	local until=$((SECONDS + patience))
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $until ] || return 1
		sleep 0.02
	done
}

# Told without the master's help.
master_pid() {
	psup-top --json -n 1 |
		sed -n 's/.*{"role": *"master"[^}]*"pid": *\([0-9]*\).*/\1/p'
}
# while_stopped COMMAND [ARG...]: runs it while the master is stopped, what it
# says goes to $scratch/stopped and its code to $scratch/code. False: on this
# machine it took so long that the keeper took the master for hung.
while_stopped() {
	local pid
	pid=$(master_pid)
	kill -STOP "$pid"
	"$@" >"$scratch/stopped" 2>&1
	echo $? >"$scratch/code"
	kill -CONT "$pid" && [ "$(master_pid)" = "$pid" ]
}

# is GOT WANTED WHAT
is() {
	count=$((count + 1))
	if [ "$1" = "$2" ]; then
		echo "ok $count - $3"
	else
		echo "not ok $count - $3"
		echo "# got:    $1" | head -c 2000
		echo
		echo "# wanted: $2" | head -c 2000
		echo
		failed=1
	fi
}

# like GOT PATTERN WHAT (a shell pattern)
like() {
	# shellcheck disable=SC2254
	case "$1" in
	$2) is yes yes "$3" ;;
	*) is "$1" "$2" "$3" ;;
	esac
}
