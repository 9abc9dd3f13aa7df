/* SPDX-License-Identifier: MIT */
/* From start to exit in a box beside the same outside, at a server of its own;
 * how long a box takes to be made, and its memory at rest. Nothing where this
 * machine makes none. */
#include "bench.h"
#include "tools/lib/remove_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/procfs.h"

#define RAW_IS "in a box: the same command outside, at the same server"

/* A psup.conf by which a call may ask for a box. */
static void
write_conf(const char *dir, char path[96])
{
	FILE *f;

	(void)snprintf(path, 96, "%s/psup.conf", dir);
	f = fopen(path, "we");
	if (f == NULL)
		die("%s cannot be written", path);
	/* whom boxes run as is to come to its workspace */
	(void)chmod(dir, 0711);
	fprintf(f, "[sandbox]\nmode = named\nworkspace = %s/boxes\n%s", dir,
	    geteuid() == 0 ? "user = nobody\n" : "");
	fclose(f);
}

/* The first command makes the box. False: there is none here, and why. */
static bool
make_box(struct bench *b, const struct psup_exec *x)
{
	psup_args *args = psup_exec_args(x);
	uint64_t start = clock_boot_ns();
	psup_reply *r = NULL;
	bool ok;

	psup_args_str(args, "host", "sandbox");
	ok = psup_call(b->client, "exec", args, 30000, &r) == PSUP_OK &&
	    psup_get_int(psup_reply_details(r), "exitCode", -1) == 0;
	if (ok)
		row_psup(row_get("box made, to its first command's end", "ms",
		             NULL, GOAL_VALUE_MAX, 50),
		    (double)(clock_boot_ns() - start) / 1e6);
	else
		fprintf(stderr, "psup-bench: boxes: %s\n",
		    r != NULL ? psup_reply_text(r, NULL)
			      : psup_error_message(b->client));
	psup_reply_free(&r);
	psup_args_free(&args);
	return ok;
}

/* bubblewrap and the box's pid 1. */
static void
note_memory(struct bench *b)
{
	uint64_t kib = 0, sum = 0, parent = 0;
	const psup_value *box;
	psup_reply *r = NULL;
	pid_t pid;

	need(b, psup_call(b->client, "sandboxes", NULL, 30000, &r),
	    "sandboxes");
	box = psup_value_at(psup_value_get(psup_reply_details(r), "boxes"), 0);
	pid = (pid_t)psup_get_int(box, "pid", 0);
	psup_reply_free(&r);
	if (pid > 0 && procfs_number(pid, "smaps_rollup", "Pss:", &kib))
		sum += kib;
	if (pid > 0 && procfs_number(pid, "status", "PPid:", &parent) &&
	    procfs_number((pid_t)parent, "smaps_rollup", "Pss:", &kib))
		sum += kib;
	if (sum > 0)
		row_psup(row_get("box at rest", "MB", NULL, GOAL_VALUE_MAX, 3),
		    (double)sum / 1024);
}

static void
round_at(struct bench *b, const struct psup_exec *x, int at_once)
{
	struct measure in = {0}, out = {0};
	char figure[64];

	for (int i = 0; i < 2; i++)
		if ((b->round + i) % 2 == 0)
			in = psup_starts_on(b, x, "sandbox", at_once);
		else
			out = psup_starts_on(b, x, "gateway", at_once);
	(void)snprintf(figure, sizeof(figure),
	    "true in a box, p50, %d at once", at_once);
	row_psup(row_get(figure, "us", RAW_IS, GOAL_RATIO_MAX, 1.8), in.p50_us);
	row_raw(row_get(figure, "us", RAW_IS, GOAL_RATIO_MAX, 1.8), out.p50_us);
}

void
boxes_round(struct bench *b)
{
	static char true_path[4096];
	static const char *const argv[] = {true_path, NULL};
	struct psup_exec x = PSUP_EXEC_INIT;
	char dir[] = "/dev/shm/psup-bench-conf-XXXXXX", conf[96];
	const char *before = getenv("PSUP_CONFIG");
	struct bench own = *b;

	raw_find("true", true_path);
	x.argv = argv;
	x.yield_ms = -2;
	if (mkdtemp(dir) == NULL)
		die("%s cannot be made", dir);
	write_conf(dir, conf);
	(void)setenv("PSUP_CONFIG", conf, 1);
	server_start(&own);
	if (before != NULL)
		(void)setenv("PSUP_CONFIG", before, 1);
	else
		(void)unsetenv("PSUP_CONFIG");
	if (make_box(&own, &x)) {
		note_memory(&own);
		round_at(&own, &x, 1);
		round_at(&own, &x, 64);
	}
	server_stop(&own);
	(void)remove_tree(dir);
}
