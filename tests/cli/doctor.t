#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# psup doctor on this system, and on what looks like another one. Each check is
# in unit-tools-test_doctor.
. "$(dirname "$0")/lib.sh"

member() { python3 -c 'import json,sys
v = json.load(sys.stdin)
print(eval(sys.argv[1]))' "$1"; }

# here: whatever it finds, exit code, text and JSON agree, and no server starts
text=$(psup doctor)
code=$?
json=$(psup doctor --json)
is $? $code "the same exit code as JSON"
is "$(echo "$json" | member '1 if v["problems"] else 0')" $code "by problems"
is "$(echo "$text" | grep -c '^problem ')" \
    "$(echo "$json" | member 'v["problems"]')" "as many of them"
is "$(echo "$json" | member 'len(v["checks"]) >= 20 and all(
c["verdict"] in ("ok", "note", "warning", "problem") and
("remedy" in c or c["verdict"] in ("ok", "note")) for c in v["checks"])')" \
    True "what is wrong has a remedy"
like "$text" "*ok *server *none runs; psup exec starts one*" "no server"
is "$(ls -A "$PSUP_RUNTIME_DIR")" "" "and none was started"
psup exec true
like "$(psup doctor)" "*ok *server *it runs, psup [0-9]*" "a server"
like "$(psup doctor --runtime-dir /proc/psup; echo $?)" \
    "*problem *tmpfs * of type 0x*-> set PSUP_RUNTIME_DIR=*1" "no tmpfs"
is "$(psup doctor | grep -c $'\033')" 0 "no colours in a pipe"
like "$(psup doctor --color always)" "*$(printf '\033[32mok')*" "but on demand"

# elsewhere
mkdir -p "$scratch"/{proc/self,run/systemd/system,dev/shm,usr/lib/systemd/system}
echo '30 25 0:27 / /dev/shm ro - tmpfs tmpfs ro' >"$scratch/proc/self/mountinfo"
printf '[Service]\nKillMode=mixed\n' \
    >"$scratch/usr/lib/systemd/system/psup@.service"
got=$(psup doctor --root "$scratch" --runtime-dir /dev/shm/psup-x)
is $? 1 "another system's files: problems"
like "$got" "*problem *tmpfs-options *read-only*" "a mount"
like "$got" "*problem *systemd-unit *OOMPolicy=stop*
*systemctl edit psup@.service*" "a unit"
