#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# psup metrics: read by Prometheus' own tools, printed and over HTTP.
. "$(dirname "$0")/lib.sh"
scrape="/usr/bin/python3 $(dirname "$0")/scrape.py"
servers=
stop() { for p in $servers; do kill "$p" 2>/dev/null; done; }
trap 'stop; finish' EXIT

psup metrics >"$scratch/out" 2>"$scratch/err"
is $? 3 "no server: its code"
like "$(cat "$scratch/err")" "*no server was ever started there*" \
    "and it says so"

for i in 1 2 3; do psup exec -- sh -c "echo $i; exit $i" >/dev/null; done
psup exec --background --lane 'a:"}\' -- sleep 600 >/dev/null
psup exec --background --lane 'b c' -- sleep 600 >/dev/null
psup metrics >"$scratch/open"
is $? 0 "printed"
is "$(tail -n 1 "$scratch/open")" "# EOF" "to its end"
if /usr/bin/python3 -c 'import prometheus_client' 2>/dev/null; then
	like "$($scrape parse <"$scratch/open" 2>&1)" "ok [34][0-9] families" \
	    "OpenMetrics, to the parser of Prometheus' client"
else
	count=$((count + 1))
	echo "ok $count - # skip: python3-prometheus-client is not there"
fi
psup metrics --format text >"$scratch/text"
here=$(cd "$(dirname "$0")/../.." && pwd)
rules=$here/packaging/prometheus/psup.rules.yml
dashboard=$here/packaging/grafana/psup.json
is "$(OUT=$scratch/exprs.yml python3 "$here/tests/package/watched.py" \
    "$scratch/text" "$dashboard" "$rules" 2>&1)" "" \
    "the dashboard and the alerts ask for what there is"
sed 's/psup_connections/psup_conections/; s/by (lane)/by (lame)/' "$dashboard" \
    >"$scratch/wrong.json"
like "$(python3 "$here/tests/package/watched.py" "$scratch/text" \
    "$scratch/wrong.json" "$rules")" "*lame*no psup_conections*not show*" \
    "and else it would be said"
if command -v promtool >/dev/null; then
	is "$(promtool check metrics <"$scratch/text" 2>&1)" "" \
	    "the older format, to promtool"
	like "$(promtool check rules --lint-fatal "$rules" "$scratch/exprs.yml" \
	    2>&1)" "*SUCCESS*SUCCESS*" "alerts and the dashboard's expressions"
	promtool test rules "$here/tests/package/psup.rules.test.yml" \
	    >"$scratch/rules" 2>&1
	is "$? $(grep -A9 FAILED "$scratch/rules")" "0 " "when the alerts fire"
else
	count=$((count + 1))
	echo "ok $count - # skip: promtool is not there"
fi
is "$(grep ^psup_starts_total "$scratch/text")" "psup_starts_total 5" \
    "what was started"
is "$(grep -F 'active{lane="a:*"}' "$scratch/text")" \
    'psup_lane_active{lane="a:*"} 1' "a lane's row"

# mistakes
for a in 0.0.0.0:0 8.8.8.8:0 example.org:80 '[::]:0' "$(hostname):0"; do
	psup metrics --listen "$a" 2>"$scratch/err"
	is $? 2 "$a is not listened at"
	like "$(cat "$scratch/err")" "*only addresses of this machine's loopback*" \
	    "and why"
done
for a in 9464 127.0.0.1 127.0.0.1:x 127.0.0.1:70000 unix:relative ''; do
	psup metrics --listen "$a" 2>"$scratch/err"
	is $? 2 "'$a' is no address"
done
psup metrics --format json 2>"$scratch/err"
is $? 2 "a format that is none"
like "$(cat "$scratch/err")" "*json*--format*openmetrics*text*" "is named"
PSUP_SCOPE=x psup metrics >/dev/null 2>&1
is $? 1 "not on behalf of a scope"

# over HTTP
listen() {
	# a file of its own, so that a line of another server is not read
	: >"$scratch/listen"
	psup metrics --listen "$1" >"$scratch/listen" 2>&1 &
	pid=$!
	servers="$servers $pid"
	becomes grep -q listening "$scratch/listen"
	at=$(sed -n 's|listening at http://\(.*\)/metrics|\1|p; s|listening at \(unix:.*\)|\1|p' \
	    "$scratch/listen")
}
ask() { printf "$1" | $scrape raw "$at"; }
get() {
	/usr/bin/python3 - "$at" "$1" <<'P'
import sys, urllib.request as u
r = u.urlopen(u.Request("http://%s/metrics" % sys.argv[1],
    headers={"Accept": sys.argv[2]} if sys.argv[2] else {}))
print(r.headers["Content-Type"])
sys.stdout.write(r.read().decode())
P
}

listen 127.0.0.1:0
tcp=$pid
tcp_at=$at
like "$at" "127.0.0.1:[0-9]*" "it says where it listens"
$scrape slow "$at" >"$scratch/slow" &
slow=$!
$scrape silent "$at" >"$scratch/silent" &
silent=$!
get "" >"$scratch/http"
is "$(head -n 1 "$scratch/http")" "text/plain; version=0.0.4; charset=utf-8" \
    "what an old client gets"
if command -v promtool >/dev/null; then
	is "$(tail -n +2 "$scratch/http" | promtool check metrics 2>&1)" "" \
	    "what it gets, to promtool"
fi
like "$(grep ^psup_starts_total "$scratch/http")" "psup_starts_total 5" \
    "with the numbers"
get "application/openmetrics-text;version=1.0.0,text/plain;q=0.5" \
    >"$scratch/http"
is "$(head -n 1 "$scratch/http")" \
    "application/openmetrics-text; version=1.0.0; charset=utf-8" \
    "what a new one gets"
is "$(tail -n 1 "$scratch/http")" "# EOF" "to its end"
like "$(ask 'HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n')" "*200 OK" "HEAD"
like "$(ask 'GET /metrics?a=b HTTP/1.0\r\n\r\n')" "*200 OK" "HTTP 1.0"
for h in localhost LOCALHOST:9464 127.0.0.1 127.0.0.1:1 127.8.8.8 '[::1]' \
    '[::1]:80'; do
	like "$(ask "GET /metrics HTTP/1.1\r\nHost: $h\r\n\r\n")" "*200 OK" \
	    "the host $h"
done
for h in evil.example evil.example:9464 localhost.evil.example 8.8.8.8 ::1 \
    '[::1]x' '[127.0.0.1]' '[::1' 127.0.0.1.evil.example localhost:9464:1 \
    'localhost:x' '' "$(hostname)x"; do
	like "$(ask "GET /metrics HTTP/1.1\r\nHost: $h\r\n\r\n")" "*403*" \
	    "another host '$h'"
done
like "$(ask 'GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n')" \
    "*403*" "or a target elsewhere"
like "$(ask 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')" "*404*" "another page"
like "$(ask 'GET /metrics/../x HTTP/1.1\r\nHost: localhost\r\n\r\n')" "*404*" \
    "and another"
like "$(ask 'POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx')" \
    "*405*" "another method"
like "$(ask 'DELETE /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n')" "*405*" \
    "and another"
like "$(ask 'BREW /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n')" "*501*" \
    "a method that is none"
like "$({ printf 'POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\n\r\n'; head -c 99999 /dev/zero; } | $scrape raw "$at")" \
    "*413*" "a body too large"
case "$({ printf 'GET /metrics HTTP/1.1\r\nX: '; head -c 100000 /dev/zero | tr '\0' x; } | $scrape raw "$at")" in
*" 400 "* | *" 413 "* | *" 431 "* | closed) got=refused ;;
*) got=answered ;;
esac
is $got refused "a header without end"
like "$(head -c 5000 /dev/urandom | $scrape raw "$at")" "*[c4]*" "noise"
is "$($scrape crowd "$at" "$tcp" | tr '\n' ' ')" "bounded HTTP/1.1 200 OK " \
    "a crowd that says nothing"
psup metrics --listen "$at" >/dev/null 2>"$scratch/err"
is $? 1 "an address in use"
like "$(cat "$scratch/err")" "*$at*in use*" "is named"

listen "unix:$scratch/sock"
is "$at" "unix:$scratch/sock" "a socket in the file system"
is "$(stat -c %a "$scratch/sock")" 600 "for its owner alone"
like "$(ask 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n')" "*200 OK" \
    "answers, whatever the host"
kill -TERM "$pid"
wait "$pid"
is $? 0 "ends at SIGTERM"
[ -e "$scratch/sock" ]
is $? 1 "with its socket"
listen "$scratch/sock"
is "$at" "unix:$scratch/sock" "a path says it is a socket"
kill -TERM "$pid"
wait "$pid"
[ -e "$scratch/sock" ]
is $? 1 "and goes as well"

# the server's end is told, and not the listener's
psup shutdown --grace 100 >/dev/null 2>&1
at=$tcp_at
like "$(get "")" "*psup_up 0*" "without a server"
wait "$silent"
is "$(cat "$scratch/silent")" "sent away" "who says nothing"
wait "$slow"
is "$(cat "$scratch/slow")" "cut off" "who says it byte by byte"
kill -INT "$tcp"
wait "$tcp"
is $? 0 "ends at SIGINT"
