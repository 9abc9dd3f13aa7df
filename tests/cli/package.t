#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The Debian packages: what is in them, that it runs from where it is unpacked,
# and that a program builds with what libpsup-dev brings. An installation in a
# clean system is tests/long/package.
if [ "${PSUP_TEST_SANITIZE:-0}" = 1 ] || [ ! -w "$PSUP_TEST_BUILD" ] ||
	[ ! -d "$PSUP_TEST_BUILD/CMakeFiles" ] ||
	! { command -v dpkg-shlibdeps && command -v file; } >/dev/null; then
	echo "1..0 # SKIP instrumented, no build folder of ours, no dpkg-dev"
	exit 0
fi
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")/../.." && pwd)
root=$scratch/root
mkdir "$root"

(cd "$PSUP_TEST_BUILD" && cpack -B "$scratch/work" \
	-D CPACK_OUTPUT_FILE_PREFIX="$scratch/work") >"$scratch/log" 2>&1
is $? 0 "cpack makes packages"
deb=$(find "$scratch/work" -maxdepth 1 -name '*.deb')

for file in $deb; do
	package=$(dpkg-deb -f "$file" Package)
	dpkg-deb -x "$file" "$root"
	dpkg-deb -c "$file" | awk -v p="$package" \
		'$1 !~ /^d/ { sub(/^[.]/, "", $6); print p, $6 }'
done | grep -v /usr/share/doc/ | sort >"$scratch/found"
version=$(psup --version | awk '{ print $2 }')
lib=/usr/$(sed -n 's/^CMAKE_INSTALL_LIBDIR:[A-Z]*=//p' \
	"$PSUP_TEST_BUILD/CMakeCache.txt")
sed "s|LIB/|$lib/|; s/VERSION/$version/" "$here/tests/package/files" | sort |
	diff - "$scratch/found" >"$scratch/diff"
is "$(cat "$scratch/diff")" "" "they hold what tests/package/files lists"
ls "$root/usr/share/doc/psup" >"$scratch/docs"
is "$(cd "$here/docs" && ls -- *.md | grep -vxFf "$scratch/docs")" "" \
	"and every document"
is "$(find "$root" -perm /022 -not -type l -o -name '*.py[co]')" "" \
	"nothing can be written by others"
depends=$(for file in $deb; do dpkg-deb -f "$file" Depends; done)
like "$depends" "*liblmdb0*" "what they need is known"

is "$(PATH="$root/usr/bin:$PATH" psup exec -- echo packed)" packed \
	"a command runs with the unpacked programs"
exe=$(psup status --json | sed 's/.*"keeper": *{[^}]*"pid": *\([0-9]*\).*/\1/')
like "$(readlink "/proc/$exe/exe" || echo "no keeper $exe")" \
	"$root/usr/sbin/psupd" "by the unpacked server"
psup shutdown --grace 0 >/dev/null

cat >"$scratch/main.c" <<'C'
#include <psup/psup.h>
#include <stdio.h>

int
main(void)
{
	printf("%s\n", psup_version());
	return 0;
}
C
PKG_CONFIG_PATH=$root$lib/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
cc -o "$scratch/main" "$scratch/main.c" $(pkg-config --cflags --libs psup) \
	>"$scratch/log" 2>&1
is "$(cat "$scratch/log")" "" "a program builds with the unpacked library"
is "$(LD_LIBRARY_PATH=$root$lib "$scratch/main")" "$version" "and runs"

# Units are looked at where the programs they name can be found.
if command -v systemd-analyze >/dev/null; then
	mkdir "$scratch/units"
	for unit in system/psup@.service user/psup.service user/psup.socket; do
		to=$scratch/units/$(dirname "$unit")
		mkdir -p "$to"
		sed "s| *=/usr/|=$root/usr/|; s|^User=%i|User=root|" \
			"$root/usr/lib/systemd/$unit" >"$to/${unit#*/}"
	done
	cp "$scratch/units/system/psup@.service" \
		"$scratch/units/system/psup@x.service"
	is "$(SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no \
		"$scratch/units/system/psup@x.service" 2>&1 |
		grep -F "$scratch")" "" "systemd finds the unit in order"
	is "$(XDG_RUNTIME_DIR=$scratch SYSTEMD_LOG_LEVEL=warning \
		systemd-analyze verify --user --man=no \
		"$scratch"/units/user/psup.service \
		"$scratch"/units/user/psup.socket 2>&1 |
		grep -F "$scratch")" "" "and a user's units"
fi
# Scripts of the packages are shell's, whatever shell.
for script in "$here"/packaging/debian/p*[mt] "$here"/packaging/s6/run \
	"$here"/packaging/runit/run "$here"/packaging/runit/check \
	"$here"/packaging/runit/log/run; do
	sh -n "$script" || is "$script" "a script" "it can be read"
done
