#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The gateways of docs/examples, each killed in the middle, then its server:
# every job runs once, every end is reported once.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")/../../docs/examples" && pwd)
include=$here/../../libpsup/include

has() { grep -q "$1" "$2" 2>/dev/null; }

# The whole story of one gateway: NAME COMMAND...
story() {
	local name=$1 dir=$scratch/$1 pid
	shift
	mkdir "$dir"
	# Each says that it began; `gate` holds two of them back.
	printf '%s\n' \
		"$name-quick	echo $name >>$dir/quick; echo done" \
		"$name-silent	echo $name >>$dir/silent" \
		"$name-failing	echo $name >>$dir/failing; until [ -e $dir/gate ]; do sleep 0.02; done; exit 3" \
		"$name-killed	echo $name >>$dir/killed; until [ -e $dir/gate ]; do sleep 0.02; done; kill -9 \$\$" \
		>"$dir/jobs"
	"$@" "$dir" example 2>"$dir/said" &
	pid=$!
	becomes test -s "$dir/killed" && becomes test -s "$dir/failing" &&
		becomes has "$name-quick" "$dir/results"
	is $? 0 "$name: it runs jobs and reports"
	kill -KILL $pid
	wait $pid 2>/dev/null
	# Both jobs end while no gateway is there, and one result was written
	# whose event was not acknowledged, one cut off.
	touch "$dir/gate"
	psup wait --timeout 60000 $(psup list --json |
		grep -oE '"sessionId": ?"[^"]*"' | cut -d'"' -f4) >/dev/null
	printf '%s-failing\tfailed\t3\nkill' "$name" >>"$dir/results"
	timeout 300 "$@" "$dir" example 2>>"$dir/said"
	is $? 0 "$name: started again, it comes to its end"
	is "$(sed "s/^$name-//" "$dir/results" | sort | tr '\t\n' ' ;')" \
		"failing failed 3;killed failed -;quick completed 0;silent completed 0;" \
		"$name: each job has one result"
	is "$(cat "$dir/quick" "$dir/silent" "$dir/failing" "$dir/killed")" \
		"$name
$name
$name
$name" "$name: each job ran once"
	is "$(psup events --subscriber gateway --json |
		grep -c '"sessionKey": *"[a-z]*-failing"')" 0 \
		"$name: every event is acknowledged"

	# Now the server is killed: what ran is lost, what had not is run.
	mkdir "$dir.2"
	printf '%s\n' "$name-lost	echo up >>$dir.2/up; exec sleep 1000" \
		>"$dir.2/jobs"
	"$@" "$dir.2" example 2>"$dir.2/said" &
	pid=$!
	becomes has up "$dir.2/up"
	kill -KILL "$(cat "$PSUP_RUNTIME_DIR/lock")"
	becomes has "$name-lost" "$dir.2/results"
	wait $pid
	is "$? $(cat "$dir.2/results")" "0 $name-lost	lost	-" \
		"$name: a lost session is reported as lost"
}

# The same jobs again, their results forgotten: the keys are known, and every
# event is acknowledged. NAME COMMAND...
twice() {
	local name=$1 scope dir run
	shift
	for scope in "" "$name"; do
		dir=$scratch/$name.twice$scope
		mkdir "$dir"
		printf '%s\n' \
			"$name$scope-ok	echo ok >>$dir/ran; echo done" \
			"$name$scope-silent	echo silent >>$dir/ran" \
			"$name$scope-bad	echo bad >>$dir/ran; exit 3" \
			>"$dir/jobs"
		for run in first second; do
			rm -f "$dir/results"
			timeout 300 "$@" "$dir" $scope 2>"$dir/said"
			is "$? $(sed "s/^$name$scope-//" "$dir/results" |
				sort | tr '\t\n' ' ;')" \
				"0 bad completed 3;ok completed 0;silent completed 0;" \
				"$name, scope '$scope': the $run run"
		done
		is "$(sort "$dir/ran" | tr '\n' ' ')" "bad ok silent " \
			"$name, scope '$scope': each job ran once"
	done
}

# A program without the sanitizer does not run with a library that has it.
if [ "${PSUP_TEST_SANITIZE:-0}" = 0 ]; then
	cc -std=c11 -Wall -Wextra -Werror -I"$include" -o "$scratch/gateway" \
		"$here/gateway.c" -L"$PSUP_TEST_BUILD/lib" -lpsup \
		>"$scratch/log" 2>&1
	is "$(cat "$scratch/log")" "" "c: it builds"
	LD_LIBRARY_PATH=$PSUP_TEST_BUILD/lib story c "$scratch/gateway"
	LD_LIBRARY_PATH=$PSUP_TEST_BUILD/lib twice c "$scratch/gateway"
fi
if command -v "$system_python" >/dev/null; then
	story wire "$system_python" "$here/gateway_wire.py"
	twice wire "$system_python" "$here/gateway_wire.py"
fi
# With the package, from where it lies.
if "$system_python" -c 'import sys; sys.exit(sys.version_info < (3, 9))'; then
	export PYTHONPATH=$here/../../tools/clients/python
	export PYTHONDONTWRITEBYTECODE=1
	story python "$system_python" "$here/gateway.py"
	twice python "$system_python" "$here/gateway.py"
fi
if command -v node >/dev/null; then
	# as if it were installed by npm
	mkdir -p "$scratch/node_modules"
	ln -s "$here/../../tools/clients/node" "$scratch/node_modules/psup"
	cp "$here/gateway.mjs" "$scratch/"
	story node node "$scratch/gateway.mjs"
	twice node node "$scratch/gateway.mjs"
fi
