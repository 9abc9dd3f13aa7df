#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# psup-bench: its shortest family, as text and as JSON, and what it leaves.
. "$(dirname "$0")/lib.sh"

member() { python3 -c 'import json,sys
v = json.load(sys.stdin)
print(eval(sys.argv[1]))' "$1"; }

json=$(psup-bench --quick --rounds 1 --only events --json 2>"$scratch/err")
is $? 0 "it ends well"
is "$(cat "$scratch/err")" "" "and has nothing to complain of"
is "$(echo "$json" | member 'len(v["rows"]) >= 3 and all(
r["psup"] > 0 and r["unit"] in ("us", "ms") for r in v["rows"])')" True \
    "each figure was measured"
is "$(echo "$json" | member '[abs(r["ratio"] - r["psup"] / r["raw"]) <= 0.02 * r["ratio"]
for r in v["rows"] if "raw" in r] == [True, True]')" True \
    "beside a raw loop, with the ratio of both"
is "$(echo "$json" | member 'v["rounds"]')" 1 "as many rounds as asked for"
psup-bench --only nothing >/dev/null 2>&1
is $? 2 "an unknown family"
psup-bench --rounds 0 >/dev/null 2>&1
is $? 2 "no rounds"
# its servers are found by a variable that they are handed
is "$(ulimit -n 400; TZ=$scratch psup-bench --only idle --quick --rounds 1 2>&1 |
    sed 's/[0-9]* of [0-9]*/some of many/; s/: this scope.*//')" \
    "psup-bench: some of many sessions were not started: sessions" \
    "there are too few descriptors for it"
is "$(grep -lzxF "TZ=$scratch" /proc/[0-9]*/environ 2>/dev/null)" "" \
    "and none of its servers stays"

# A task-spooler that says what it was asked, and is not ready where it is told to.
mkdir "$scratch/peers"
for program in sh timeout; do
	ln -s "$(command -v $program)" "$scratch/peers/"
done
cat >"$scratch/peers/tsp" <<-END
	#!/bin/sh
	echo "\$1" >>'$scratch/asked'
	[ "\$1" != -S ] || [ ! -e '$scratch/broken' ]
END
chmod +x "$scratch/peers/tsp"
peers() {
	env PATH="$scratch/peers" "$(command -v psup-bench)" --quick --rounds 1 \
		--only peers --peers --json
}
is "$(peers | member '[(r["figure"][:4], r["peer"] > 0, "raw" in r)
for r in v["rows"]]')" "[('task', True, False)]" "another program's figures are in JSON"
is "$(tail -n 1 "$scratch/asked")" -K "which is ended"
: >"$scratch/broken"
: >"$scratch/asked"
is "$(peers | member 'v["rows"]')" "[]" "one that does not get ready has none"
is "$(tail -n 1 "$scratch/asked")" -K "and is ended, too"
