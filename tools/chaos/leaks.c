/* SPDX-License-Identifier: MIT */
/*
 * What a campaign left behind, against what there was before it: descriptors
 * of keeper, master and workers, files of the runtime directory, bytes that the
 * output budget counts, children of
 * the keeper (running and dead), records of the index. Sessions that killed
 * gateways left are ended first.
 */
#include "chaos.h"

#include <ftw.h>
#include <unistd.h>

#include "common/procfs.h"

#define BEFORE_LOOKS 10 /* 20 ms apart */
#define QUIET_MS 15000

static struct counts {
	int keeper_fds, master_fds, worker_fds; /* the worker with the most */
	int files;
	int children, zombies; /* of the keeper, its own processes left out */
	long records;
	int64_t budget; /* bytes that count as output kept */
} before;

static int files;

static int
count_file(const char *, const struct stat *, int kind, struct FTW *)
{
	files += kind == FTW_F;
	return 0;
}

/* Children of the keeper that are none of psup's own processes. */
static void
count_children(psup_view *v, struct counts *c)
{
	static const char *const roles[] = {"master", "worker", "standby"};
	struct process own[3][PROCESSES_MAX];
	int n[3];
	DIR *d = opendir("/proc");
	struct procfs_stat st;
	pid_t pid;

	for (int i = 0; i < 3; i++)
		n[i] = server_processes(v, roles[i], own[i]);
	while ((pid = procfs_next(d)) != 0) {
		bool ours = false;

		for (int i = 0; i < 3; i++)
			for (int k = 0; k < n[i]; k++)
				ours = ours || own[i][k].pid == pid;
		if (ours || procfs_stat(pid, &st) < 0 ||
		    st.ppid != chaos.keeper)
			continue;
		c->children += st.state != 'Z';
		c->zombies += st.state == 'Z';
	}
	if (d != NULL)
		closedir(d);
}

static struct counts
count_all(psup *p)
{
	struct counts c = {0};
	struct process w[PROCESSES_MAX];
	psup_view *v = NULL;
	psup_reply *r = NULL;

	if (psup_view_open(chaos.dir, &v, NULL, 0) != 0)
		die("%s: not readable", chaos.dir);
	c.keeper_fds = (int)procfs_count_fds(chaos.keeper);
	if (server_processes(v, "master", w) > 0)
		c.master_fds = (int)procfs_count_fds(w[0].pid);
	for (int n = server_processes(v, "worker", w); n > 0; n--) {
		int fds = (int)procfs_count_fds(w[n - 1].pid);

		if (fds > c.worker_fds)
			c.worker_fds = fds;
	}
	files = 0;
	nftw(chaos.dir, count_file, 16, FTW_PHYS);
	c.files = files;
	count_children(v, &c);
	if (psup_list(p, true, &r) == PSUP_OK)
		c.records = (long)psup_value_count(psup_value_get(
		    psup_reply_details(r), "sessions"));
	psup_reply_free(&r);
	if (psup_status(p, &r) == PSUP_OK)
		c.budget = psup_get_int(psup_value_get(psup_reply_value(r),
		    "output"), "usedBytes", 0);
	psup_reply_free(&r);
	psup_view_close(&v);
	return c;
}

/* Which sessions are still there, for the one who has to find out why. */
static void
name_sessions(psup *p)
{
	psup_reply *r = NULL;
	size_t len = 0;
	const char *text;

	if (psup_list(p, true, &r) != PSUP_OK)
		return;
	text = psup_reply_text(r, &len);
	fprintf(stderr, "%.*s\n", (int)(len < 2000 ? len : 2000), text);
	psup_reply_free(&r);
}

void
remove_sessions(psup *p, const char *key, const char *value)
{
	uint64_t until = clock_boot_ns() + QUIET_MS * UINT64_C(1000000);
	psup_reply *r = NULL;
	const psup_value *rows;

	/* what a share has no room for now it has when its other answers are read */
	while (!reach(p) || psup_list(p, true, &r) != PSUP_OK) {
		if (clock_boot_ns() > until || atomic_load(&chaos.interrupted)) {
			fprintf(stderr, "psup-chaos: list: %s\n",
			    psup_error_message(p));
			return;
		}
		nap_ms(50);
	}
	rows = psup_value_get(psup_reply_details(r), "sessions");
	for (size_t i = 0; i < psup_value_count(rows); i++) {
		const psup_value *row = psup_value_at(rows, i);
		char id[ID_BYTES];
		psup_args *a;
		psup_reply *gone = NULL;

		if (!psup_get_is(row, key, value))
			continue;
		psup_get_copy(row, "sessionId", id, sizeof(id));
		a = of_session(id);
		ask(p, "remove", a, &gone);
		psup_reply_free(&gone);
	}
	psup_reply_free(&r);
}

static psup *
client(void)
{
	psup *p = client_new();

	reach(p);
	return p;
}

static int
most(int a, int b)
{
	return a > b ? a : b;
}

void
leaks_before(void)
{
	psup *p = client();

	before = count_all(p);
	/* whom the master does not know yet has no channel there: the standby, a
	 * moment after the server is ready, and who dies at a fault point now */
	for (int i = 0; i < BEFORE_LOOKS; i++) {
		struct counts c;

		nap_ms(20);
		reach(p);
		c = count_all(p);
		before.keeper_fds = most(before.keeper_fds, c.keeper_fds);
		before.master_fds = most(before.master_fds, c.master_fds);
		before.worker_fds = most(before.worker_fds, c.worker_fds);
	}
	psup_free(&p);
}

static bool
nothing_left(const struct counts *c)
{
	return c->keeper_fds <= before.keeper_fds &&
	    c->master_fds <= before.master_fds &&
	    c->worker_fds <= before.worker_fds &&
	    c->files <= before.files && c->children <= before.children &&
	    c->zombies <= before.zombies && c->records <= before.records &&
	    c->budget <= before.budget;
}

static void
compare(enum loss what, const char *name, long was, long is)
{
	if (is > was)
		lost(what, "%s: %ld, %ld before", name, is, was);
}

/* What the master has open, where that is more than before. */
static void
name_descriptors(void)
{
	struct process w[PROCESSES_MAX];
	char dir[64], to[128];
	struct dirent *e;
	psup_view *v;
	DIR *d;

	if (psup_view_open(chaos.dir, &v, NULL, 0) != 0)
		return;
	if (server_processes(v, "master", w) > 0) {
		(void)snprintf(dir, sizeof(dir), "/proc/%d/fd", (int)w[0].pid);
		d = opendir(dir);
		while (d != NULL && (e = readdir(d)) != NULL) {
			ssize_t n = readlinkat(
			    dirfd(d), e->d_name, to, sizeof(to));

			if (n > 0)
				fprintf(stderr, "the master's %s is %.*s\n",
				    e->d_name, (int)n, to);
		}
		if (d != NULL)
			(void)closedir(d);
	}
	psup_view_close(&v);
}

void
leaks_after(void)
{
	uint64_t until = clock_boot_ns() + QUIET_MS * UINT64_C(1000000);
	psup *p = client();
	struct counts c;

	do {
		/* what the gateways that were killed have left */
		remove_sessions(p, "sessionKey", "chaos-gateway");
		c = count_all(p);
		if (!nothing_left(&c))
			nap_ms(50);
	} while (!nothing_left(&c) && clock_boot_ns() < until &&
	         !atomic_load(&chaos.interrupted));
	compare(LOSS_DESCRIPTOR, "keeper", before.keeper_fds, c.keeper_fds);
	compare(LOSS_DESCRIPTOR, "master", before.master_fds, c.master_fds);
	compare(LOSS_DESCRIPTOR, "worker", before.worker_fds, c.worker_fds);
	compare(LOSS_FILE, "files", before.files, c.files);
	compare(LOSS_FILE, "bytes in the output budget", before.budget,
	    c.budget);
	compare(LOSS_PROCESS, "children of the keeper", before.children,
	    c.children);
	compare(LOSS_ZOMBIE, "zombies of the keeper", before.zombies,
	    c.zombies);
	compare(LOSS_RECORD, "sessions", before.records, c.records);
	if (c.records > before.records)
		name_sessions(p);
	if (c.master_fds > before.master_fds)
		name_descriptors();
	psup_free(&p);
}
