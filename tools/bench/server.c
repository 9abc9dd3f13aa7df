/* SPDX-License-Identifier: MIT */
/* psup-bench's own server: in a runtime directory of its own, started and shut
 * down through libpsup; what its processes take. */
#include "bench.h"
#include "tools/lib/remove_tree.h"

#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/procfs.h"

#define START_MS 60000
#define STOP_MS  120000
#define PATIENCE_NS (5 * NSEC_PER_SEC)

/* Learns who the server's processes are. True: all of them, for the standby is
 * the last one that a keeper starts. */
static bool
find_processes(struct bench *b)
{
	psup_reply *r = NULL;
	const psup_value *v, *workers;
	bool all = false;

	need(b, psup_status(b->client, &r), "status");
	v = psup_reply_value(r);
	b->pid_count = 0;
	b->workers = 0;
	b->pids[b->pid_count++] =
	    (pid_t)psup_get_int(psup_value_get(v, "keeper"), "pid", 0);
	b->master = (pid_t)psup_get_int(psup_value_get(v, "master"), "pid", 0);
	b->pids[b->pid_count++] = b->master;
	workers = psup_value_get(v, "workers");
	for (size_t i = 0; i < psup_value_count(workers); i++) {
		const psup_value *w = psup_value_at(workers, i);

		if (b->pid_count < WORKERS_MAX + 3)
			b->pids[b->pid_count++] =
			    (pid_t)psup_get_int(w, "pid", 0);
		if (psup_get_is(w, "role", "active"))
			b->workers++;
		all = all || (psup_get_is(w, "role", "standby") &&
		                 psup_get_int(w, "pid", 0) > 0);
	}
	psup_reply_free(&r);
	return all;
}

static LIST_HEAD(, bench) started = LIST_HEAD_INITIALIZER(started);

void
server_start(struct bench *b)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	int tries = 0;

	snprintf(b->dir, sizeof(b->dir), "/dev/shm/psup-bench-XXXXXX");
	if (mkdtemp(b->dir) == NULL)
		die("%s: %s", b->dir, strerror(errno));
	b->client = NULL;
	b->pid_count = 0;
	LIST_INSERT_HEAD(&started, b, started);
	o.runtime_dir = b->dir;
	o.client = "psup-bench";
	o.start = true;
	if (psup_new(&b->client) != PSUP_OK)
		die("no memory");
	need(b, psup_connect(b->client, &o), "start a server");
	/* a master may answer while the keeper is still starting workers */
	while (!find_processes(b)) {
		if (tries++ == START_MS)
			die("the server starts no standby worker");
		poll(NULL, 0, 1);
	}
	if (b->workers == 0 || b->workers > WORKERS_MAX)
		die("the server names %d workers", b->workers);
}

void
server_stop(struct bench *b)
{
	psup_reply *r = NULL;
	int pidfd = -1;

	LIST_REMOVE(b, started);
	if (b->pid_count > 0)
		pidfd = (int)syscall(SYS_pidfd_open, b->pids[0], 0);
	if (b->client != NULL)
		psup_shutdown(b->client, 0, &r);
	psup_reply_free(&r);
	psup_free(&b->client);
	if (pidfd >= 0) {
		struct pollfd p = {.fd = pidfd, .events = POLLIN};

		if (poll(&p, 1, STOP_MS) <= 0)
			fprintf(stderr, "psup-bench: the server at %s does "
			    "not stop\n", b->dir);
		close(pidfd);
	}
	if (b->dir[0] != '\0')
		(void)remove_tree(b->dir);
	b->dir[0] = '\0';
	b->pid_count = 0;
}

void
server_stop_all(void)
{
	while (!LIST_EMPTY(&started))
		server_stop(LIST_FIRST(&started));
}

/* Anonymous memory of one process, in bytes. Not "private": that would count
 * a ring's header page, which lies on the tmpfs, a second time. */
static uint64_t
private_bytes(pid_t pid)
{
	uint64_t kib = 0;

	(void)procfs_number(pid, "smaps_rollup", "Pss_Anon:", &kib);
	return kib * 1024;
}

uint64_t
server_private_bytes(const struct bench *b)
{
	uint64_t sum = 0;

	for (int i = 0; i < b->pid_count; i++)
		sum += private_bytes(b->pids[i]);
	return sum;
}

static uint64_t blocks;

static int
count_one(const char *, const struct stat *st, int kind, struct FTW *)
{
	if (kind == FTW_F)
		blocks += (uint64_t)st->st_blocks;
	return 0;
}

uint64_t
server_shared_bytes(const struct bench *b)
{
	blocks = 0;
	nftw(b->dir, count_one, 16, FTW_PHYS);
	return blocks * 512;
}

uint64_t
server_cpu_ns(const struct bench *b, bool master_only)
{
	uint64_t sum = 0;

	for (int i = 0; i < b->pid_count; i++) {
		uint64_t ns;

		if ((!master_only || b->pids[i] == b->master) &&
		    procfs_number(b->pids[i], "schedstat", "", &ns))
			sum += ns;
	}
	return sum;
}

void
server_settle(const struct bench *b)
{
	for (int i = 0; i < 100; i++) {
		uint64_t ns = server_cpu_ns(b, false);

		poll(NULL, 0, 100);
		if (server_cpu_ns(b, false) - ns < 2000000)
			return;
	}
}

/* ---------------------------------------------------- background sessions */

struct batch {
	const psup *client;
	char (*ids)[48];
	int sent, done, failed;
	uint64_t done_ns; /* when the last one was */
	char why[256]; /* what the first that failed was told */
};

static void
on_started(void *arg, int status, psup_reply *r)
{
	struct batch *t = arg;

	if (status != PSUP_OK &&
	    strcmp(psup_error_code(t->client), "share-used-up") == 0 &&
	    clock_boot_ns() - t->done_ns < PATIENCE_NS) {
		/* more are asked for than come to their end meanwhile */
		poll(NULL, 0, 1);
		t->sent--;
	} else if (status != PSUP_OK || psup_reply_is_error(r)) {
		if (t->failed++ == 0)
			snprintf(t->why, sizeof(t->why), "%s",
			    status == PSUP_OK
			        ? psup_reply_text(r, NULL)
			        : psup_error_message(t->client));
	} else {
		psup_get_copy(psup_reply_details(r), "sessionId",
		    t->ids[t->done++], sizeof(t->ids[0]));
		t->done_ns = clock_boot_ns();
	}
	psup_reply_free(&r);
}

void
server_background(struct bench *b, const char *const *argv, int n,
    char (*ret_ids)[48])
{
	struct psup_exec x = PSUP_EXEC_INIT;
	struct batch t = {.client = b->client, .ids = ret_ids,
	    .done_ns = clock_boot_ns()};
	psup_args *a;

	x.argv = argv;
	x.background = true;
	x.timeout_sec = 0;
	a = psup_exec_args(&x);
	if (a == NULL)
		die("no memory");
	while (t.done + t.failed < n) {
		while (t.sent < n && psup_pending(b->client) < 48) {
			need(b, psup_send(b->client, "exec", a, on_started,
			            &t, NULL), "exec");
			t.sent++;
		}
		turn(b->client);
	}
	psup_args_free(&a);
	if (t.failed > 0)
		die("%d of %d sessions were not started: %s", t.failed, n,
		    t.why);
}

static void
on_removed(void *, int, psup_reply *r)
{
	psup_reply_free(&r);
}

void
server_remove(struct bench *b, char (*ids)[48], int n)
{
	for (int sent = 0; sent < n || psup_pending(b->client) > 0;) {
		while (sent < n && psup_pending(b->client) < 48) {
			psup_args *a = psup_args_new();

			psup_args_str(a, "sessionId", ids[sent++]);
			need(b, psup_send(b->client, "remove", a, on_removed,
			            NULL, NULL), "remove");
			psup_args_free(&a);
		}
		turn(b->client);
	}
}
