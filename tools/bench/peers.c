/* SPDX-License-Identifier: MIT */
/*
 * Other programs that run many commands, each driven the way in which it is
 * fastest, in turn with psup: whichever is installed. What a peer runs is shell
 * text: `prepare`, then `run`, which is timed and has run $N times `sh -c true`,
 * or prints how many a second; then `end`.
 */
#include "bench.h"
#include "tools/lib/remove_tree.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const sh_true[] = {"/bin/sh", "-c", "true", NULL};

static const struct peer {
	const char *name;
	const char *need; /* a test: 0 where it can be run */
	const char *prepare, *run, *end;
	int jobs;
	double goal; /* so many times as fast is psup to be */
} peers[] = {
    {"xargs -P2", "command -v xargs", ":",
        "seq $N | xargs -P2 -n1 /bin/sh -c true", ":", 1000, 1.5},
    {"task-spooler, 8 slots", "command -v tsp",
        "tsp -S 8",
        "i=0; while [ $i -lt $N ]; do i=$((i + 1)); "
        "tsp -n /bin/sh -c true >/dev/null; done; tsp -w", "tsp -K", 300, 3},
    {"s6-svc -o, 8 services", "command -v s6-svscan && command -v s6-svc",
        "for i in 1 2 3 4 5 6 7 8; do mkdir -p scan/$i; touch scan/$i/down; "
        "printf '#!/bin/sh\\nexec /bin/sh -c true\\n' >scan/$i/run; "
        "chmod +x scan/$i/run; done; "
        "s6-svscan scan >/dev/null 2>&1 & echo $! >pid; "
        "for i in 1 2 3 4 5 6 7 8; do "
        "until s6-svok scan/$i; do sleep 0.05; done; done",
        "for i in 1 2 3 4 5 6 7 8; do (k=0; while [ $k -lt $((N / 8)) ]; do "
        "k=$((k + 1)); s6-svc -o -wD -T 10000 scan/$i; done) & done; wait",
        "s6-svscanctl -t scan; while kill -0 $(cat pid) 2>/dev/null; do "
        "sleep 0.05; done", 160, 8},
    {"supervisord, start all", "command -v supervisord",
        "printf '%s\\n' '[supervisord]' 'nodaemon=false' \"pidfile=$PWD/pid\" "
        "'logfile=/dev/null' 'logfile_maxbytes=0' '[unix_http_server]' "
        "\"file=$PWD/s\" '[supervisorctl]' \"serverurl=unix://$PWD/s\" "
        "'[rpcinterface:supervisor]' 'supervisor.rpcinterface_factory="
        "supervisor.rpcinterface:make_main_rpcinterface' '[program:x]' "
        "'command=/bin/sh -c true' 'process_name=%(process_num)s' "
        "\"numprocs=$N\" 'autostart=false' 'autorestart=false' "
        "'startsecs=0' 'startretries=0' 'stdout_logfile=NONE' "
        "'stderr_logfile=NONE' >conf; supervisord -c conf; "
        "until [ -S s ]; do sleep 0.05; done",
        /* 7: one had ended before it was looked at */
        "supervisorctl -c conf start 'x:*' >/dev/null || [ $? = 7 ]",
        "supervisorctl -c conf shutdown >/dev/null || kill $(cat pid); "
        "while [ -e pid ]; do sleep 0.05; done", 200, 7},
    {"OpenClaw's exec, 8 at once", "[ -d \"$OC_DIST\" ] && command -v \"${NODE:-node}\"",
        ":",
        "${NODE:-node} --input-type=module -e '"
        "import fs from \"node:fs\";const d=process.env.OC_DIST;let make;"
        "for(const f of fs.readdirSync(d)){"
        "if(!/^bash-tools-.*mjs$/.test(f))continue;"
        "const t=/createExecTool as (\\w+)/.exec("
        "fs.readFileSync(d+\"/\"+f,\"utf8\"));"
        "if(t)make=(await import(d+\"/\"+f))[t[1]];}"
        "const tool=make({scopeKey:\"bench\",cwd:\"/\"});"
        "const n=+process.env.N;let left=n;const t0=performance.now();"
        "const one=async()=>{while(left-->0)"
        "await tool.execute(\"id\",{command:\"true\"});};"
        "await Promise.all(Array.from({length:8},one));"
        "console.log(n/(performance.now()-t0)*1e3);process.exit(0)'",
        ":", 200, 12},
};
#define PEERS (sizeof(peers) / sizeof(peers[0]))

/* Runs shell text where this peer's files are, at most two minutes: its exit
 * status, what it printed, how long it took. */
static int
shell(const struct peer *p, const char *dir, const char *text,
    char ret_out[128], double *ret_sec)
{
	uint64_t start = clock_boot_ns();
	char head[512];
	size_t n;
	FILE *f;

	snprintf(head, sizeof(head),
	    "cd '%s' && export N=%d TS_SOCKET='%s/ts' TMPDIR='%s'", dir,
	    p->jobs, dir, dir);
	setenv("PSUP_BENCH_TEXT", text, 1);
	setenv("PSUP_BENCH_HEAD", head, 1);
	f = popen("exec timeout 120 sh -c 'eval \"$PSUP_BENCH_HEAD\" && "
	          "eval \"$PSUP_BENCH_TEXT\"' 2>/dev/null", "re");
	if (f == NULL)
		die("no shell");
	n = fread(ret_out, 1, 127, f);
	ret_out[n] = '\0';
	n = (size_t)pclose(f);
	*ret_sec = (double)(clock_boot_ns() - start) / 1e9;
	return (int)n;
}

/* A second; -1: it is not here, or did not work. */
static double
run_peer(const struct peer *p)
{
	char dir[] = "/tmp/psup-bench-peer-XXXXXX", out[128];
	double sec = 0, rate = -1, said;

	if (mkdtemp(dir) == NULL)
		die("/tmp: no directory can be made");
	if (shell(p, dir, p->need, out, &sec) == 0) {
		if (shell(p, dir, p->prepare, out, &sec) == 0 &&
		    shell(p, dir, p->run, out, &sec) == 0)
			rate = sscanf(out, "%lf", &said) == 1 ? said
			                                      : p->jobs / sec;
		/* also one that was not ready: it may run, or come up yet */
		shell(p, dir, p->end, out, &sec);
	}
	(void)remove_tree(dir);
	return rate;
}

void
peers_round(struct bench *b)
{
	struct psup_exec x = PSUP_EXEC_INIT;
	struct measure mine = {0};
	double rate[PEERS];

	x.argv = sh_true;
	x.yield_ms = -2;
	for (size_t i = 0; i <= PEERS; i++) {
		size_t k = (i + (size_t)b->round) % (PEERS + 1);

		if (k == PEERS)
			mine = psup_starts(b, &x, 64);
		else
			rate[k] = run_peer(&peers[k]);
	}
	for (size_t i = 0; i < PEERS; i++) {
		struct row *r;

		if (rate[i] < 0)
			continue;
		r = row_get(peers[i].name, "/s",
		    "peers: the peer, `sh -c true` as often as it can; psup 64 "
		    "at once", GOAL_RATIO_MIN, peers[i].goal);
		r->beside = "peer";
		row_psup(r, mine.rate);
		row_raw(r, rate[i]);
	}
}
