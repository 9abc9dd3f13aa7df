#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The manual pages: in order by mandoc and man, and complete.
if [ ! -d "$PSUP_TEST_BUILD/packaging/man" ]; then
	echo "1..0 # SKIP no manual pages were built"
	exit 0
fi
. "$(dirname "$0")/lib.sh"
pages=$PSUP_TEST_BUILD/packaging/man

for page in "$pages"/*.[1-8]; do
	name=${page##*/}
	if command -v mandoc >/dev/null; then
		is "$(mandoc -Tlint -W warning "$page" 2>&1)" "" \
			"$name: mandoc has nothing to say"
	fi
	if command -v man >/dev/null; then
		is "$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l "$page" \
			2>&1 >/dev/null)" "" "$name: nor has man"
	fi
done

# Every program has its page, and each page every option of its program.
for program in psupd.8 psup-bench.1 psup-chaos.1 psup-mcp.1 psup-top.1; do
	tool=${program%.*}
	is "$("$tool" --help 2>&1 | grep -oE -- '--[a-z][a-z-]+' | sort -u |
		while read -r option; do
			case $option in --help | --version) continue ;; esac
			sed 's/\\-/-/g; s/Fl Fl /--/g; s/\\f[A-Z]//g' \
				"$pages/$program" | grep -q -e "$option\b" ||
				echo "$option"
		done)" "" "$program has every option of --help"
done

is "$(psup-genconf check 2>&1)" "" "psup.conf(5) describes every option"

psup-genconf example | sed 's/^#\([a-z_.]* =\)/\1/; s/^#\[/[/' \
	>"$scratch/psup.conf"
like "$(psupd --check --config "$scratch/psup.conf" 2>&1)" "*: ok, *" \
	"the server takes every default of the example file"
is "$(grep -c '^[a-z_.]* =' "$scratch/psup.conf")" \
	"$(psup-genconf example | grep -c '^#[a-z_.]* =')" "and has seen them all"

library=$PSUP_TEST_BUILD/lib/libpsup.so
is "$(nm -D --defined-only "$library" | awk '$2 == "T" { print $3 }' |
	sed 's/@.*//' | while read -r call; do
	grep -q "\b$call(" "$pages/libpsup.3" || echo "$call"
done)" "" "libpsup(3) has every call of the library"
