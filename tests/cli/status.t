#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# psup status: a page for people, everything by --verbose, JSON as it was.
. "$(dirname "$0")/lib.sh"

running=$(psup exec --background --lane subagent 'exec sleep 600')
psup exec --background 'exit 3' >/dev/null
becomes eval 'psup status | grep -q "1 running, 1 ended; room for [1-9]"'
page=$(psup status)
like "$page" "server    up *, version *, healthy
in        $PSUP_RUNTIME_DIR
sessions  1 running, 1 ended; room for [1-9]*
output    *K of *[MG]
*" "the server"
is "$(echo "$page" | tr -s ' ' | grep '^subagent')" "subagent 8 1 0 open" \
    "a lane"
like "$page" "*
keeper  *
master  *
worker 0 *
standby *" "the processes"
is "$(echo "$page" | awk 'length > 80' | wc -l)" 0 "80 columns do"
is "$(psup lanes pause main >/dev/null; psup status | tr -s ' ' |
    grep '^main')" "main 1 0 0 paused" "a lane that is paused"
psup drain-scope gone --timeout 0 >/dev/null
like "$(psup status)" "*
draining  gone
*" "a scope that is drained"
alpha=$(psup exec --background --scope alpha 'seq 1000; exec sleep 600')
psup wait "$alpha" --text 1000 >/dev/null
psup token mint alpha --out "$scratch/token" >/dev/null
like "$(psup --token-file "$scratch/token" status)" "server *
in        $PSUP_RUNTIME_DIR
scope     alpha
sessions  1 running
output    [1-9]*K; its share is [1-9]*[MG]
*" "what a scope is told"
psup remove "$alpha" >/dev/null
like "$(psup status --verbose)" "*keeper.layouts: wire *shares: resource *" \
    "everything"
is "$(psup status --json | grep -o '"\(keeper\|shares\|lanes\|output\)":' |
    tr -d '\n')" '"keeper":"shares":"output":"lanes":' "as JSON"
psup lanes resume main >/dev/null
becomes while_stopped psup status
like "$(cat "$scratch/stopped")" "*from its shared memory
server    its master does not answer
*sessions  1 running*worker 0 *" "with the master stopped"
psup kill "$running" >/dev/null
