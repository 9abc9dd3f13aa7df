/* SPDX-License-Identifier: MIT */
/*
 * Called by result.c for whoever asks. Reads /proc alone, of a bounded number
 * of processes; sends nothing and changes no session but its memory of this.
 *
 * wchan says in which function a process sleeps, with no more right than a
 * process of the same user has. That a shell sleeps in pipe_read does not say
 * in which pipe: $(...) is one, too. /proc/PID/syscall does, where it may be
 * read; else the pipe is the session's if the process has no other to read.
 */
#include "supervisor/session/input_wait.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/kfile.h"
#include "common/mark.h"
#include "common/sleep.h"
#include "supervisor/session/input_yield.h"
#include "supervisor/session/usage.h"

static_assert((int)INPUT_WAIT_STDIN == CTL_INPUT_STDIN &&
	(int)INPUT_WAIT_TTY == CTL_INPUT_TTY,
    "the worker says it in our numbers");

#define PIDS_MAX   32u  /* of a session; the others are not looked at */
#define FDS_MAX    256u /* of a process */
#define STALE_MS   10000u /* older than that is not believed */

const char *
input_wait_name(enum input_wait w)
{
	static const char *const names[] = {[INPUT_WAIT_STDIN] = "stdin-read",
	    [INPUT_WAIT_TTY] = "tty-read", [INPUT_WAIT_IDLE] = "idle"};

	CHECK(w < NELEMS(names));
	return names[w];
}

/* What is looked for: one session's stdin. */
struct target {
	struct master *m;
	struct session *s;
	char link[40];  /* what a descriptor of it shows as */
	bool pty;
};

/* One process, and its directory of /proc. */
struct process {
	int32_t pid;
	int dir;
};

/* One file of it, as text without the line's end. */
static bool
read_file(const struct process *p, const char *file, char *ret, size_t size)
{
	if (kfile_read(p->dir, file, ret, size) <= 0)
		return false;
	ret[strcspn(ret, "\n")] = '\0';
	return true;
}

/* Is this descriptor of it the session's stdin? */
static bool
is_stdin(const struct target *t, const struct process *p, const char *fd)
{
	char name[32], to[64];
	ssize_t n;

	snprintf(name, sizeof(name), "fd/%s", fd);
	n = readlinkat(p->dir, name, to, sizeof(to) - 1);
	if (n <= 0)
		return false;
	to[n] = '\0';
	return strcmp(to, t->link) == 0 ||
	    (t->pty && strcmp(to, "/dev/tty") == 0);
}

/* Of a process whose name may have an end of line. */
static bool
read_stat(const struct process *p, struct procfs_stat *ret)
{
	char text[1024];

	return kfile_read(p->dir, "stat", text, sizeof(text)) > 0 &&
	    procfs_parse(text, ret);
}

/* How it sleeps, by its system call. */
static struct sleep
sleep_of(const struct process *p)
{
	static const struct sleep hidden = {.kind = SLEEP_UNKNOWN};
	struct procfs_stat st;
	char text[256];

	if (!read_stat(p, &st) || mark_may_wait(&st) ||
	    !read_file(p, "syscall", text, sizeof(text)))
		return hidden;
	return sleep_by_syscall(text);
}

/* Without the system call: is stdin all that it could be reading? */
static bool
has_no_other(const struct target *t, const struct process *p)
{
	int fd = openat(p->dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	size_t seen = 0, others = 0;
	struct dirent *e;
	char name[300], to[64];
	struct stat st;
	ssize_t n;

	if (d == NULL) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while ((e = readdir(d)) != NULL && seen++ < FDS_MAX && others == 0) {
		if (e->d_name[0] == '.' ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) <
			0 ||
		    (st.st_mode & S_IRUSR) == 0)
			continue; /* not open for reading */
		snprintf(name, sizeof(name), "fd/%s", e->d_name);
		n = readlinkat(p->dir, name, to, sizeof(to) - 1);
		to[n > 0 ? n : 0] = '\0';
		others += strcmp(to, t->link) != 0 &&
		    (strncmp(to, "pipe:", 5) == 0 ||
			strncmp(to, "socket:", 7) == 0 ||
			strncmp(to, "/dev/pt", 7) == 0 ||
			strncmp(to, "/dev/tty", 8) == 0);
	}
	closedir(d);
	return others == 0 && seen <= FDS_MAX;
}

/* It sleeps in a read: of the session's stdin? */
static bool
reads_stdin(const struct target *t, const struct process *p)
{
	struct sleep sleep = sleep_of(p);
	char name[24];

	if (sleep.kind != SLEEP_UNKNOWN) {
		snprintf(name, sizeof(name), "%lu", sleep.fd);
		return sleep.kind == SLEEP_READ && is_stdin(t, p, name);
	}
	return is_stdin(t, p, "0") && has_no_other(t, p);
}

/* Is it in the foreground of its terminal? */
static bool
is_foreground(const struct process *p)
{
	struct procfs_stat st;

	return read_stat(p, &st) && st.pgrp == st.tty_pgrp;
}

/* It sleeps in a poll: of a terminal that it drives? */
static bool
drives_terminal(const struct target *t, const struct process *p)
{
	return t->pty && is_stdin(t, p, "0") && is_foreground(p) &&
	    !terminal_reads_lines(t->m, t->s);
}

/* Does this process wait for the session's input? */
static bool
process_waits(const struct target *t, int32_t pid)
{
	struct process p = {.pid = pid};
	char name[32], wchan[80];
	enum sleep_kind kind;
	bool found = false;

	snprintf(name, sizeof(name), "/proc/%d", (int)pid);
	p.dir = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p.dir < 0)
		return false;
	if (!read_file(&p, "wchan", wchan, sizeof(wchan)))
		wchan[0] = '\0';
	kind = sleep_by_wchan(wchan);
	if (kind == SLEEP_UNKNOWN)
		kind = sleep_of(&p).kind;
	if (kind == SLEEP_READ)
		found = reads_stdin(t, &p);
	else if (kind == SLEEP_POLL)
		found = drives_terminal(t, &p);
	close(p.dir);
	return found;
}

/* Goes through the session's processes. */
static enum input_wait
find_evidence(struct master *m, struct session *s)
{
	struct target t = {.m = m,
	    .s = s,
	    .pty = s->terminal.pty && s->terminal.pty_error == 0};
	int32_t pids[PIDS_MAX];
	size_t n;

	if (s->input_wait.node == 0)
		return INPUT_WAIT_NONE;
	if (t.pty)
		snprintf(t.link, sizeof(t.link), "/dev/pts/%llu",
		    (unsigned long long)s->input_wait.node - 1);
	else
		snprintf(t.link, sizeof(t.link), "pipe:[%llu]",
		    (unsigned long long)s->input_wait.node);
	n = usage_pids(m, s, pids, PIDS_MAX);
	for (size_t i = n < PIDS_MAX ? n : PIDS_MAX; i-- > 0;)
		if (process_waits(&t, pids[i]))
			return t.pty ? INPUT_WAIT_TTY : INPUT_WAIT_STDIN;
	return INPUT_WAIT_NONE;
}

void
input_wait_running(struct session *s, uint64_t node)
{
	s->input_wait.node = node;
}

void
input_wait_ask(struct master *m, struct session *s)
{
	struct ctl_head msg = CTL_INIT(CTL_LOOK_INPUT, s->id.sid,
	    struct ctl_head);
	uint64_t now = clock_boot_ns();

	if (!custody_has(&s->custody))
		return;
	if (s->input_wait.asked_ns != 0 &&
	    now - s->input_wait.asked_ns < INPUT_YIELD_LEAST_MS * NSEC_PER_MSEC)
		return;
	s->input_wait.asked_ns = now;
	pool_order(m, s, &msg, sizeof(msg), false, -1);
}

bool
input_wait_told(struct session *s, const struct ctl_input *msg)
{
	if (msg->waits > CTL_INPUT_TTY)
		return false;
	s->input_wait.told = (enum input_wait)msg->waits;
	s->input_wait.stamp = msg->stamp;
	s->input_wait.told_ns = clock_boot_ns();
	return true;
}

enum input_wait
input_wait_known(const struct session *s)
{
	return s->input_wait.told_ns != 0 &&
		clock_boot_ns() - s->input_wait.told_ns < NSEC_PER_SEC
	    ? s->input_wait.told : INPUT_WAIT_NONE;
}

enum input_wait
input_wait_show(struct session *s, enum input_wait found)
{
	return s->input_wait.shown = found;
}

enum input_wait
input_wait_look(struct master *m, struct session *s, uint64_t max_age_ms,
    bool may_look)
{
	struct input_probe *p = &s->input_wait.probe;
	uint64_t now = clock_boot_ns(), age = (now - p->at_ns) / 1000000u;
	bool same = p->at_ns != 0 && p->total == s->output.total &&
	    p->fed == s->input.spool_end;

	if (same && age < max_age_ms)
		return p->found;
	if (!may_look)
		return same && age < STALE_MS ? p->found : INPUT_WAIT_NONE;
	if (m->probes_left > 0)
		m->probes_left--;
	*p = (struct input_probe){.at_ns = now, .total = s->output.total,
	    .fed = s->input.spool_end, .found = find_evidence(m, s)};
	return p->found;
}
