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

# what shells complete
if command -v bash >/dev/null; then
	is "$(psup-mcp --completion bash | bash -n 2>&1)" "" "bash reads it"
	is "$(bash -c 'eval "$(psup-mcp --completion bash)"
		COMP_WORDS=(psup-mcp --on); COMPREPLY=()
		_psup_mcp psup-mcp --on psup-mcp; echo "${COMPREPLY[*]}"
		_psup_mcp psup-mcp b --on-cancel; echo "${COMPREPLY[*]}"')" \
		"--on-cancel
background" "and completes options and words"
fi
if command -v zsh >/dev/null; then
	is "$(psup-mcp --completion zsh | zsh -n 2>&1)" "" "zsh reads it"
fi
if command -v fish >/dev/null; then
	is "$(psup-mcp --completion fish | fish -n 2>&1)" "" "fish reads it"
fi
