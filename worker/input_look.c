/* SPDX-License-Identifier: MIT */
/* See input_look.h. Called by recv.c, when the master asks, by ladder.c, when
 * the look is due, and by input.c for a terminal's end of file. */
#include "worker/input_look.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/kfile.h"
#include "common/mark.h"
#include "common/procfs.h"
#include "worker/input_rule.h"
#include "worker/ladder.h"
#include "worker/link.h"
#include "worker/pty.h"
#include "worker/tree.h"

#define PIDS_MAX  64u  /* of a session */
#define TASKS_MAX 128u /* of all of them */
#define FDS_MAX	  256u /* of a process */
#define QUIET_MS  250u /* whoever wrote since then is not looked at */
#define CROWD_MAX 4096u /* processes, of which a look is at some */
#define SHARE	  8u /* looks take the 8th part of the time, ... */
#define COST_NS	  (100 * NSEC_PER_USEC) /* ... the first one as much as this */

/* One look at one session. */
struct look {
	char link[40]; /* what a descriptor of its stdin shows as */
	bool tty;
	bool lines; /* the terminal takes lines */
	bool hearers; /* it is for those who would see an end of file, and
	               * ends with the first of them */
	unsigned tasks;
	struct input_look rule;
};

/* A file of a task, without the line's end. */
static bool
task_file(int task, const char *file, char *ret, size_t size)
{
	if (kfile_read(task, file, ret, size) <= 0)
		return false;
	ret[strcspn(ret, "\n")] = '\0';
	return true;
}

/* Where one of its descriptors leads. */
static bool
task_link(int task, unsigned long fd, char *ret, size_t size)
{
	char name[40];
	ssize_t n;

	(void)snprintf(name, sizeof(name), "fd/%lu", fd);
	n = readlinkat(task, name, ret, size - 1);
	if (n <= 0)
		return false;
	ret[n] = '\0';
	return true;
}

static bool
is_stdin(const struct look *l, const char *link)
{
	return strcmp(link, l->link) == 0 ||
	       (l->tty && strcmp(link, "/dev/tty") == 0);
}

/* What its descriptors are, those that somebody may wait for. */
struct open_kinds {
	unsigned own, pipes, sockets, terminals; /* own: the session's stdin */
};

/* False: they cannot be seen, or are too many. */
static bool
task_open(const struct look *l, int task, struct open_kinds *ret)
{
	int fd = openat(task, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	unsigned seen = 0;
	struct stat st;
	char link[64];

	*ret = (struct open_kinds){0};
	if (d == NULL) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while ((e = readdir(d)) != NULL && seen++ < FDS_MAX) {
		/* what it cannot read it does not wait for */
		if (!isdigit((unsigned char)e->d_name[0]) ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) <
			0 ||
		    (st.st_mode & S_IRUSR) == 0 ||
		    !task_link(
			task, strtoul(e->d_name, NULL, 10), link, sizeof(link)))
			continue;
		if (is_stdin(l, link))
			ret->own++;
		else if (strncmp(link, "pipe:", 5) == 0)
			ret->pipes++;
		else if (strncmp(link, "socket:", 7) == 0)
			ret->sockets++;
		else if (strncmp(link, "/dev/pt", 7) == 0 ||
			 strncmp(link, "/dev/tty", 8) == 0)
			ret->terminals++;
	}
	closedir(d);
	return seen < FDS_MAX;
}

/* The read of a task whose system call is hidden: of what can it be? */
static enum input_source
guess_source(const struct look *l, int task)
{
	struct open_kinds open;
	char link[64];

	if (!task_open(l, task, &open) || open.sockets + open.terminals > 0)
		return INPUT_FROM_ELSE;
	if (open.own == 0)
		return open.pipes > 0 ? INPUT_FROM_PIPE : INPUT_FROM_ELSE;
	return task_link(task, 0, link, sizeof(link)) && is_stdin(l, link) &&
		       open.pipes == 0
		   ? INPUT_FROM_STDIN
		   : INPUT_FROM_ELSE;
}

/* What a read is of. */
static enum input_source
source_of(const struct look *l, int task, unsigned long fd)
{
	char link[64];

	if (!task_link(task, fd, link, sizeof(link)))
		return INPUT_FROM_ELSE;
	if (is_stdin(l, link))
		return INPUT_FROM_STDIN;
	return strncmp(link, "pipe:", 5) == 0 ? INPUT_FROM_PIPE
					      : INPUT_FROM_ELSE;
}

/* Is it in the foreground of the session's terminal, which is its stdin? */
static bool
task_has_terminal(const struct look *l, int task, const struct procfs_stat *st)
{
	char link[64];

	return l->tty && st->pgrp == st->tty_pgrp &&
	    task_link(task, 0, link, sizeof(link)) && is_stdin(l, link);
}

/* Has it nothing else to wait for than its terminal, byte by byte? */
static bool
task_drives(const struct look *l, int task)
{
	struct open_kinds open;

	return !l->lines && task_open(l, task, &open) && open.sockets == 0;
}

/* How it sleeps, by wchan first, which waits for nobody. */
static void
task_sleep(const struct look *l, int task, const struct procfs_stat *st,
    struct input_task *ret)
{
	char text[256];

	ret->sleep.kind = task_file(task, "wchan", text, sizeof(text))
			      ? sleep_by_wchan(text)
			      : SLEEP_UNKNOWN;
	if (ret->sleep.kind != SLEEP_READ && ret->sleep.kind != SLEEP_POLL &&
	    ret->sleep.kind != SLEEP_UNKNOWN)
		return;
	if (!mark_may_wait(st) &&
	    task_file(task, "syscall", text, sizeof(text))) {
		ret->sleep = sleep_by_syscall(text);
		if (ret->sleep.kind == SLEEP_READ)
			ret->source = source_of(l, task, ret->sleep.fd);
	} else if (ret->sleep.kind == SLEEP_READ) {
		ret->source = guess_source(l, task);
	} else {
		ret->sleep.timed = true; /* for all that is known */
	}
	if (ret->sleep.kind == SLEEP_POLL && ret->first &&
	    (l->hearers || !ret->sleep.timed))
		ret->polls = task_has_terminal(l, task, st);
	ret->drives = ret->polls && !ret->sleep.timed && task_drives(l, task);
}

/* One task of a process; `name` is its directory. False: the look is over. */
static bool
look_task(struct look *l, int dir, const char *name, int32_t pid)
{
	struct input_task now = {.tid = (int32_t)strtol(name, NULL, 10)};
	int task = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct procfs_stat st;
	char text[1024];
	bool more = true;

	if (task < 0)
		return true; /* it has ended */
	if (kfile_read(task, "stat", text, sizeof(text)) > 0 &&
	    procfs_parse(text, &st)) {
		now.first = now.tid == pid;
		now.state = st.state;
		now.start = st.start;
		now.ticks = st.ticks;
		if (st.state == 'S')
			task_sleep(l, task, &st, &now);
		if (task_file(task, "schedstat", text, sizeof(text)))
			now.ran_ns = strtoull(text, NULL, 10);
		more = input_look_task(&l->rule, &now);
		if (l->hearers)
			more = !l->rule.hears;
	}
	close(task);
	return more;
}

/* All tasks of a process. False: the look is over. */
static bool
look_process(struct look *l, int32_t pid)
{
	const struct dirent *e;
	char path[40];
	bool more = true;
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	if (d == NULL)
		return true;
	while (more && (e = readdir(d)) != NULL) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		more = ++l->tasks <= TASKS_MAX &&
		       look_task(l, dirfd(d), e->d_name, pid);
	}
	closedir(d);
	return more;
}

/* The session's members, as far as they can be had cheaply: how many, of which
 * `max` at most are in pids. */
static size_t
members(struct child *c, int32_t *pids, size_t max)
{
	size_t n, at;

	if (c->leaf != 0)
		return tree_left(c, pids, max);
	pids[0] = c->pid;
	for (n = 1, at = 0; at < n; at++)
		n += procfs_children(pids[at], pids + n, max - n);
	return n;
}

/* Is there input that it has not taken yet? Then it is not that which it waits
 * for. */
static bool
has_input(const struct child *c)
{
	const struct ring_header *hdr = c->ring.hdr;
	int n = 0;

	return (uint64_t)atomic_load(&hdr->spool_off) <
		   atomic_load(&hdr->spool_end) ||
	       (ioctl(c->in.fd, FIONREAD, &n) == 0 && n > 0);
}

/* Has it written nothing for a while? */
static bool
is_quiet(const struct child *c)
{
	return c->w->now_ns >= atomic_load(&c->ring.hdr->last_output_ns) +
				   QUIET_MS * NSEC_PER_MSEC;
}

/* What its stdin shows as in /proc. */
static bool
name_stdin(struct child *c, struct look *l)
{
	struct stat st;

	l->tty = c->pty.fd >= 0;
	if (l->tty) {
		(void)snprintf(l->link, sizeof(l->link), "/dev/pts/%u",
		    (unsigned)atomic_load(&c->ring.hdr->pty_index));
		l->lines = pty_takes_lines(c);
		return true;
	}
	if (fstat(c->in.fd, &st) != 0)
		return false;
	(void)snprintf(l->link, sizeof(l->link), "pipe:[%llu]",
	    (unsigned long long)st.st_ino);
	return true;
}

/* All of it. False: it was ended before. */
static bool
look_session(struct child *c, struct look *l)
{
	int32_t pids[PIDS_MAX];
	size_t n = members(c, pids, PIDS_MAX);
	bool more = n < PIDS_MAX;

	input_look_begin(&l->rule, atomic_load(&c->ring.hdr->head),
	    (uint64_t)atomic_load(&c->ring.hdr->spool_off));
	for (size_t i = 0; i < n && more; i++)
		more = look_process(l, pids[i]);
	return more;
}

/* Of a crowd some are looked at, and the next time those behind them. */
bool
input_is_heard(struct child *c)
{
	static int32_t pids[CROWD_MAX]; /* used and forgotten here */
	struct look l = {.hearers = true};
	size_t n, i;

	if (c->pty.fd < 0 || c->state != CHILD_RUNNING || !name_stdin(c, &l))
		return false;
	n = members(c, pids, CROWD_MAX);
	n = n < CROWD_MAX ? n : CROWD_MAX;
	for (i = 0; i < n && i < PIDS_MAX && l.tasks < TASKS_MAX &&
	     !l.rule.hears; i++)
		(void)look_process(&l, pids[(c->pty.eof_from + i) % n]);
	c->pty.eof_from += i;
	return l.rule.hears;
}

/* What it waits for, CTL_INPUT_*, and the stamp of that. */
static uint32_t
input_look(struct child *c, uint64_t *ret_stamp)
{
	struct look l = {.tasks = 0};
	bool all;

	*ret_stamp = 0;
	if (c->in.fd < 0 || c->ring.hdr == NULL || c->state != CHILD_RUNNING ||
	    !is_quiet(c) || has_input(c) || !name_stdin(c, &l))
		return CTL_INPUT_NONE;
	all = look_session(c, &l);
	*ret_stamp = l.rule.stamp;
	if (!all || !input_look_waits(&l.rule))
		return CTL_INPUT_NONE;
	return l.tty ? CTL_INPUT_TTY : CTL_INPUT_STDIN;
}

void
input_look_asked(struct child *c)
{
	struct worker *w = c->w;

	if (c->in.look_ns != 0)
		return;
	if (w->look_ns < w->now_ns)
		w->look_ns = w->now_ns;
	c->in.look_ns = w->look_ns;
	w->look_ns += SHARE *
	    (c->in.look_cost_ns != 0 ? c->in.look_cost_ns : COST_NS);
	if (c->in.look_ns > w->now_ns)
		ladder_arm(c);
	else
		input_look_now(c);
}

void
input_look_now(struct child *c)
{
	uint64_t before = c->in.look_cost_ns != 0 ? c->in.look_cost_ns : COST_NS;
	uint64_t began = clock_cpu_ns();

	c->in.look_ns = 0;
	c->in.waits = input_look(c, &c->in.stamp);
	c->in.look_cost_ns = clock_cpu_ns() - began + 1;
	if (c->in.look_cost_ns > before)
		c->w->look_ns += SHARE * (c->in.look_cost_ns - before);
	link_say(c, LINK_MASTER, SAY_INPUT);
}
