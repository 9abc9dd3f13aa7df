/* SPDX-License-Identifier: MIT */
/*
 * The keeper's exec in place, and its other side. The process stays: its pid,
 * its children, its being their subreaper, its signal mask, what is pending.
 * What is carried over loses close-on-exec just before, and gets it back first
 * of all; everything else is made anew. Whoever died or spoke meanwhile is
 * found by what became readable.
 *
 * The old psupd lies at KEEPER_FD_BINARY during the exec: a new one that cannot
 * read the state, although it could when it was asked, gives way to it again.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/fault.h"
#include "common/priority.h"
#include "shm/stats.h"
#include "supervisor/keeper/notify.h"
#include "supervisor/keeper/upgrade/save.h"

#define RESUME      "--resume"
#define RESUME_BACK "--resume-back"
#define ARGS_MAX    64

extern char **environ;

/* Calls fn with every descriptor that is carried over. */
static void
each_fd(const struct keeper *k, const struct program_set *set,
    void (*fn)(int fd))
{
	uint32_t i, f;

	fn(k->dir);
	fn(k->lock);
	fn(k->listener);
	for (i = 0; i < HERITAGE_GROUPS; i++)
		if (k->group[i][0] != '\0')
			fn(k->group_lock[i]);
	for (i = 0; i < PROGRAMS; i++)
		fn(set->fd[i]);
	fn(k->master.chan);
	fn(k->master.pidfd);
	for (i = 0; i < k->slots; i++) {
		fn(k->slot[i].chan);
		fn(k->slot[i].pidfd);
	}
	for (i = 0; i < table_high(k->table); i++) {
		const struct row *r = table_at(k->table, i);

		for (f = 0; r != NULL && f < TABLE_FDS; f++)
			if (r->fds[f] >= 0)
				fn(r->fds[f]);
	}
}

/* It goes through the exec. */
static void
carry(int fd)
{
	(void)fcntl(fd, F_SETFD, 0);
}

/* It does not. */
static void
hold_back(int fd)
{
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* The command line as people know it, behind the word that says what it is. */
static void
command_line(char **argv, const char *word, const char **ret)
{
	size_t n = 0, i = 1;

	ret[n++] = argv[0];
	ret[n++] = word;
	if (argv[1] != NULL && (strcmp(argv[1], RESUME) == 0 ||
		strcmp(argv[1], RESUME_BACK) == 0))
		i = 2;
	for (; argv[i] != NULL && n < ARGS_MAX - 1; i++)
		ret[n++] = argv[i];
	ret[n] = NULL;
}

/* Becomes another program. Comes back with -errno where it cannot. */
static int
become(const struct keeper_options *o, int binary, const char *word)
{
	const char *argv[ARGS_MAX];
	int error;

	command_line(o->argv, word, argv);
	(void)setpriority(PRIO_PROCESS, 0, priority_of_commands());
	(void)execveat(binary, "", (char *const *)(uintptr_t)argv, environ,
	    AT_EMPTY_PATH);
	error = errno;
	priority_come_first();
	return -error;
}

/* Exec in place. */
int
exec_successor(struct keeper *k)
{
	int info, error;

	pids_read_all(k);
	info = save_state(k);
	if (info < 0)
		return info;
	log_event(LOG_NOTE, "upgrade-exec",
	    KV("path", k->set[SET_NEW].path[PROGRAM_KEEPER]));
	if (dup3(info, HERITAGE_FD_INFO, O_CLOEXEC) < 0 ||
	    dup3(k->set[SET_OLD].fd[PROGRAM_KEEPER], KEEPER_FD_BINARY,
		O_CLOEXEC) < 0) {
		error = -errno;
	} else {
		carry(HERITAGE_FD_INFO);
		carry(KEEPER_FD_BINARY);
		each_fd(k, &k->set[SET_NEW], carry);
		FAULT("upgrade.in-carry");
		error = FAULT_FAILS("upgrade.exec") ? -ENOEXEC :
			become(k->opt, k->set[SET_NEW].fd[PROGRAM_KEEPER],
			    RESUME);
		(void)close_range(HERITAGE_FD_KEEPER, ~0u,
		    CLOSE_RANGE_CLOEXEC);
	}
	(void)close(info);
	(void)dup3(k->null, HERITAGE_FD_INFO, O_CLOEXEC);
	(void)dup3(k->null, KEEPER_FD_BINARY, O_CLOEXEC);
	return error;
}

/* ------------------------------------------------- the other side of it */

/* Whatever came through the exec and is nobody's is closed: what is ours has
 * close-on-exec again. */
static void
close_strays(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	unsigned n = 0;
	int fd, flags;

	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL) {
		fd = (int)strtol(e->d_name, NULL, 10);
		if (e->d_name[0] == '.' || fd < KEEPER_FD_FREE)
			continue;
		flags = fcntl(fd, F_GETFD);
		if (flags < 0 || (flags & FD_CLOEXEC) != 0)
			continue;
		(void)close(fd);
		n++;
	}
	(void)closedir(d);
	if (n > 0)
		log_event(LOG_WARN, "descriptors-astray", KV("count", n));
}

/* The reserved numbers first: what is opened next must not get them. */
static int
reserve(struct keeper *k)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd < KEEPER_FD_FREE);
	k->null = fd;
	return fd < 0 ? -errno : 0;
}

/* Cannot go on: the old psupd again, which wrote the state. */
static int
give_way(struct keeper_options *o, const char *why)
{
	bool back = strcmp(o->argv[1], RESUME_BACK) == 0;
	int error;

	log_event(LOG_ERROR, "upgrade-not-resumed", KV("why", why));
	if (!back) {
		error = become(o, KEEPER_FD_BINARY, RESUME_BACK);
		log_event(LOG_ERROR, "upgrade-not-undone",
		    KV("error", strerror(-error)));
	}
	return KEEPER_FAILED;
}

/* Pages of shared memory, the loop, and everybody in it. */
static int
take_up(struct keeper *k)
{
	uint32_t i;
	int r;

	r = stats_attach_all(k->dir, &k->stats);
	if (r < 0) /* damaged in this very moment; owners go to the new one */
		r = stats_create(k->dir, &k->stats);
	if (r < 0)
		return r;
	k->started_ms = atomic_load(&k->stats[0].started_ms);
	stats_keep_last_words(&k->stats[0]);
	log_count_into(&k->stats[0].log_lines, &k->stats[0].log_dropped,
	    &k->stats[0].log_suppressed);
	k->master.page = &k->stats[STATS_PAGE_OF_MASTER];
	for (i = 0; i < k->slots; i++)
		k->slot[i].page = &k->stats[STATS_PAGE_OF_WORKER(i)];
	if (keeper_prepare(k) != 0)
		return -EIO;
	/* an older build gave none */
	if (group_come_first(k->group[HERITAGE_GROUP_TREE]))
		k->group_flags |= HERITAGE_TREE_AFTER_US;
	FAULT("upgrade.in-take-up");
	for (i = 0; i <= k->slots; i++) {
		struct proc *p = i == 0 ? &k->master : &k->slot[i - 1];

		if (keeper_epoll_add(k, p->chan, p, EV_CHAN) < 0 ||
		    keeper_epoll_add(k, p->pidfd, p, EV_PIDFD) < 0)
			return -EIO;
	}
	return 0;
}

int
keeper_resume(struct keeper_options *o)
{
	static struct keeper keeper;
	struct keeper *k = &keeper;
	char why[300] = "no descriptor";
	int r;

	(void)prctl(PR_SET_NAME, "psupd");
	priority_come_first();
	log_open("keeper", STDERR_FILENO, o->log_level);
	k->opt = o;
	o->ready_fd = o->newline_fd = o->listener = -1;
	(void)prctl(PR_SET_DUMPABLE, 0);
	if (strcmp(o->argv[1], RESUME) == 0 && FAULT_FAILS("upgrade.restore"))
		return give_way(o, "a fault was asked for");
	r = restore_state(k, HERITAGE_FD_INFO, false, why, sizeof(why));
	if (r < 0)
		return give_way(o, why);
	each_fd(k, &k->set[SET_OLD], hold_back);
	(void)close(HERITAGE_FD_INFO);
	(void)close(KEEPER_FD_BINARY);
	r = reserve(k);
	close_strays();
	FAULT("upgrade.after-exec");
	log_set_format(o->log_format);
	log_open("keeper", STDERR_FILENO, o->log_level);
	if (r == 0)
		r = take_up(k);
	if (r < 0) {
		log_event(LOG_ERROR, "upgrade-not-resumed",
		    KV("error", strerror(-r)));
		return KEEPER_FAILED;
	}
	k->retry_ns = NEVER;
	k->ready = k->activity = true;
	k->dump = DUMP_DONE;
	k->set[SET_NEW].fd[PROGRAM_KEEPER] =
	    k->set[SET_NEW].fd[PROGRAM_MASTER] =
	    k->set[SET_NEW].fd[PROGRAM_WORKER] = -1;
	k->upgrade.trial.pidfd = k->upgrade.trial.out = -1;
	k->upgrade.phase = CTL_UPGRADE_KEEPER;
	k->upgrade.replaced++;
	if (strcmp(o->argv[1], RESUME_BACK) == 0)
		(void)snprintf(k->upgrade.why, sizeof(k->upgrade.why),
		    "psupd %.47s could not read the state after its exec: "
		    "the keeper is %.47s, master and workers are %.47s", k->upgrade.to,
		    abi_build(), k->upgrade.to);
	upgrade_over(k, k->upgrade.why[0] != '\0' ? CTL_UPGRADE_UNDONE :
						    CTL_UPGRADE_DONE);
	notify_open(k);
	notify_ready(k);
	log_event(LOG_NOTE, "upgraded", KV("from", k->upgrade.from),
	    KV("to", abi_build()), KV("sessions", table_count(k->table)));
	return keeper_live(k);
}

int
keeper_check_state(struct keeper_options *o)
{
	static struct keeper k;
	char why[300];
	int r;

	k.opt = o;
	r = restore_state(&k, HERITAGE_FD_INFO, true, why, sizeof(why));
	(void)printf("%s\n", r < 0 ? why : "ok");
	(void)fflush(stdout);
	return r < 0 ? KEEPER_FAILED : 0;
}
