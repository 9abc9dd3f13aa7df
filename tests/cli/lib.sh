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

finish() {
	psup shutdown --grace 300 >/dev/null 2>&1
	rm -rf "$PSUP_RUNTIME_DIR" "$scratch"
	echo "1..$count"
	[ "$failed" = 0 ] || exit 1
}
trap finish EXIT

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
