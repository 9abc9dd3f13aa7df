#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An outside C program builds with nothing but pkg-config's flags, against the
# shared and against the static library.
# An instrumented library needs its runtime, which no outside program has; and
# cmake --install leaves a list in the build folder.
if [ "${PSUP_TEST_SANITIZE:-0}" = 1 ] || [ ! -w "$PSUP_TEST_BUILD" ]; then
	echo "1..0 # SKIP instrumented, or the build folder is not ours"
	exit 0
fi
. "$(dirname "$0")/lib.sh"

prefix=$scratch/usr
cmake --install "$PSUP_TEST_BUILD" --prefix "$prefix" >"$scratch/log" 2>&1
is $? 0 "it installs"
pc=$(find "$prefix" -name psup.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
flags() { pkg-config --define-variable=prefix="$prefix" "$@" psup; }
libdir=$(flags --variable=libdir)

cat >"$scratch/main.c" <<'C'
#include <psup/psup.h>
#include <stdio.h>
#include <string.h>

/* a name that the library has inside, too */
int text_escape(void);
int text_escape(void) { return 7; }

int
main(void)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	psup_reply *r = NULL;
	psup *p;
	int rc;

	if (psup_new(&p) != PSUP_OK)
		return 1;
	rc = psup_connect(p, &o);
	printf("%s %d %s\n", psup_version(), rc, psup_error_code(p));
	psup_reply_free(&r);
	psup_free(&p);
	return text_escape() == 7 ? 0 : 1;
}
C
# shellcheck disable=SC2046
cc -std=c11 -Wall -Werror $(flags --cflags) -o "$scratch/shared" \
    "$scratch/main.c" $(flags --libs) >"$scratch/log" 2>&1
is "$(cat "$scratch/log")" "" "it builds against the shared library"
like "$(LD_LIBRARY_PATH=$libdir "$scratch/shared")" "*-2 no-server" "it runs"

# shellcheck disable=SC2046
cc -std=c11 -Wall -Werror $(flags --cflags) -o "$scratch/static" \
    "$scratch/main.c" "$libdir/libpsup.a" \
    $(pkg-config --static --libs-only-l psup | sed 's/-lpsup//') \
    >"$scratch/log" 2>&1
is "$(cat "$scratch/log")" "" "it builds against the static library"
like "$("$scratch/static")" "*-2 no-server" "it runs"

is "$(nm -D --defined-only "$libdir/libpsup.so" |
    grep -c -v -E ' (psup_|PSUP_)')" 0 "the shared library shows psup_* alone"
is "$(nm -g --defined-only "$libdir/libpsup.a" | grep ' [A-Z] ' |
    grep -c -v ' psup_')" 0 "and so does the static one"

for h in client value calls view screen text; do
	echo "#include <psup/$h.h>
int main() { return 0; }" >"$scratch/h.cc"
	# shellcheck disable=SC2046
	c++ -Wall -Werror $(flags --cflags) -fsyntax-only "$scratch/h.cc" \
	    >"$scratch/log" 2>&1
	is "$(cat "$scratch/log")" "" "psup/$h.h alone, in C++"
done
