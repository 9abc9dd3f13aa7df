#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# psup-mcp as a client meets it, line by line; tests/mcp has it with the clients
# that are in use. mcp_checks.py says "WHAT<TAB>GOT<TAB>WANTED" a check.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)

export scratch
while IFS=$'\t' read -r what got wanted; do
	is "$got" "$wanted" "$what"
	last=$what
done < <(cd "$scratch" && PYTHONDONTWRITEBYTECODE=1 python3 \
	"$here/mcp_checks.py" "$here/../helpers" 2>&1)
is "${last-}" end "all of it was looked at"
