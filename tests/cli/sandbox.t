#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# psup sandbox: what is said of a box with a server and without, and what is
# asked of one that is not there. What a box holds is in tests/scenario.
. "$(dirname "$0")/lib.sh"

# nobody listens: one that ends with the answer is asked
is "$(psup sandbox explain; echo $?)" \
    "no scope: host gateway: [sandbox] mode = off
0" "no server, and none is needed"
is "$(ls -A "$PSUP_RUNTIME_DIR")" "" "and none was started here"
like "$(psup --no-start sandbox explain 2>&1; echo $?)" \
    "psup: no server runs at *3" "not with --no-start"
cat >"$scratch/psupd" <<-END
	#!/bin/sh
	kill -INT \$PPID
	exec "$(command -v psupd)" "\$@"
END
chmod +x "$scratch/psupd"
# asynchronous jobs of a shell ignore it: python does not
is "$(TZ=$scratch PSUP_PSUPD=$scratch/psupd python3 -c 'import subprocess as s
print(s.run(["psup", "sandbox", "explain"], stdout=s.DEVNULL).returncode)')" -2 \
    "who interrupts it waits for its end"
is "$(grep -lzxF "TZ=$scratch" /proc/[0-9]*/environ 2>/dev/null)" "" \
    "and leaves no server"
rm "$scratch/psupd"
export PSUP_CONFIG="$scratch/psup.conf"
printf '[sandbox]\nmode = named\nuser = nobody\nworkspace = %s/boxes\n[scope "web"]\nsandbox = yes\n' \
    "$scratch" >"$PSUP_CONFIG"
text=$(psup sandbox explain web)
case $text in
*": refused: no sandbox:"*)
	like "$text" "scope web: refused: no sandbox: *" "no box here, and why"
	;;
*)
	like "$text" "scope web: host sandbox: *
made by: bwrap \\\\
    --unshare-user \\\\
*/boxes/agent%20web /workspace*" "by bubblewrap's command line"
	is "$(ls "$scratch")" psup.conf "nothing is made"
	;;
esac
# what the server here would refuse is refused, though it is another that answers
sed "2a bind = $PSUP_RUNTIME_DIR:/x:ro" "$PSUP_CONFIG" >"$scratch/bad.conf"
like "$(PSUP_CONFIG=$scratch/bad.conf psup sandbox explain web 2>&1; echo $?)" \
    "*sandbox.bind: $PSUP_RUNTIME_DIR shares the server's runtime directory*125" \
    "a bind of the runtime directory that is ours"
echo nonsense >>"$PSUP_CONFIG"
like "$(psup sandbox explain web 2>&1; echo $?)" "*psup.conf:7:*125" \
    "a psup.conf that is refused"
unset PSUP_CONFIG

psup exec true
is "$(psup sandbox list)" "There is no box." "none"
is "$(psup sandbox inspect agent web 2>&1 >/dev/null; echo $?)" \
    'psup: No box "agent web"; psup sandbox list shows those there are
4' "not this one"
is "$(psup sandbox prune)" \
    "0 boxes: nobody enters any more, and each ends once it is empty." "no end"
like "$(psup sandbox inspect 2>&1; echo $?)" \
    "*inspect needs one box, as list names it*2" "which one?"
like "$(psup sandbox moon 2>&1; echo $?)" "*moon*2" "no such thing to do"
