#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# psup-mcp and psup tool while they and the server's processes are killed in the
# middle of calls. CALL_KILLS: how many (16); SEED: any. tests/long/call-kills has
# more of it.
. "$(dirname "$0")/lib.sh"
export scratch PYTHONDONTWRITEBYTECODE=1
kills=${CALL_KILLS:-16}
python3 "$(dirname "$0")/../helpers/call_kills.py" "$kills" \
	"${SEED:-$RANDOM}" >"$scratch/said" 2>&1
is "$(tail -n 1 "$scratch/said")" "$kills killed" "$(head -n 1 "$scratch/said")"
[ "$failed" = 0 ] || sed 's/^/# /' "$scratch/said"
