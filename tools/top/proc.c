/* SPDX-License-Identifier: MIT */
/* /proc: see proc.h. Called by sample.c, model.c and pressure.c. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc.h"

ssize_t
proc_slurp(const char *path, char *dst, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, dst, size - 1);
	close(fd);
	if (n >= 0)
		dst[n] = '\0';
	return n;
}

bool
proc_parse_stat(const char *text, struct proc_stat *ret)
{
	unsigned long long user, sys, dead_user, dead_sys, born;
	const char *name = strchr(text, '('), *end = strrchr(text, ')');
	struct proc_stat st = {0};
	int group, owner;
	long long rss;
	size_t len;

	if (name == NULL || end == NULL || end < name ||
	    sscanf(end + 1,
	        " %c %d %d %*d %*d %d %*u %*u %*u %*u %*u %llu %llu %llu "
	        "%llu %*d %*d %*d %*d %llu %*u %lld",
	        &st.state, &st.parent, &group, &owner, &user, &sys, &dead_user,
	        &dead_sys, &born, &rss) != 10)
		return false;
	len = (size_t)(end - name - 1);
	if (len >= sizeof(st.name))
		len = sizeof(st.name) - 1;
	memcpy(st.name, name + 1, len);
	st.ticks = user + sys + dead_user + dead_sys;
	st.born = born;
	st.foreground = group == owner;
	st.rss_pages = rss > 0 ? rss : 0;
	*ret = st;
	return true;
}

bool
proc_stat(int pid, struct proc_stat *ret)
{
	char path[48], text[1024];

	if (pid <= 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	return proc_slurp(path, text, sizeof(text)) > 0 &&
	    proc_parse_stat(text, ret);
}

void
proc_children(int pid, int *pids, size_t *count, size_t max)
{
	char path[64], text[4096], *p = text, *end;
	long child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	if (proc_slurp(path, text, sizeof(text)) <= 0)
		return;
	while (*count < max) {
		child = strtol(p, &end, 10);
		/* the last number may be cut: only one that a blank ends */
		if (end == p || *end != ' ' || child <= 0 || child > INT32_MAX)
			return;
		pids[(*count)++] = (int)child;
		p = end;
	}
}

bool
proc_exists(int pid, struct proc_stat *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (pid <= 0)
		return false;
	if (!proc_stat(pid, ret)) /* /proc may hide it */
		return kill(pid, 0) == 0 || errno == EPERM;
	return ret->state != 'Z' && ret->state != 'X';
}

bool
proc_fd(int pid, unsigned long fd, char *dst, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%lu", pid, fd);
	n = readlink(path, dst, size - 1);
	if (n <= 0)
		return false;
	dst[n] = '\0';
	return true;
}

/* What a process sleeps in. */
enum sleep { SLEEP_ELSE, SLEEP_READ, SLEEP_POLL, SLEEP_HIDDEN };

/* By its system call, where the kernel tells; of a read the descriptor. */
static enum sleep
sleep_of(int pid, unsigned long *ret_fd)
{
	char path[48], text[256], *end;
	long nr;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	if (proc_slurp(path, text, sizeof(text)) <= 0)
		return SLEEP_HIDDEN;
	if (!isdigit((unsigned char)text[0]))
		return SLEEP_ELSE; /* it runs */
	nr = strtol(text, &end, 10);
	*ret_fd = strtoul(end, NULL, 16);
	switch (nr) {
	case SYS_read:
	case SYS_readv:
		return SLEEP_READ;
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_epoll_pwait:
#ifdef SYS_poll
	case SYS_poll:
	case SYS_select:
	case SYS_epoll_wait:
#endif
		return SLEEP_POLL;
	default:
		return SLEEP_ELSE;
	}
}

/* Does it sleep in the read of a terminal? That every process of the same
 * user may see; of a pipe it does not say which one. */
static bool
sleeps_in_tty(int pid)
{
	char path[48], text[64];

	snprintf(path, sizeof(path), "/proc/%d/wchan", pid);
	return proc_slurp(path, text, sizeof(text)) > 0 &&
	    (strncmp(text, "n_tty_read", 10) == 0 ||
	        strncmp(text, "wait_woken", 10) == 0);
}

/* Programs that drive a terminal wait for it and the rest of the world in a
 * poll. */
bool
proc_reads(int pid, bool foreground, const char *link)
{
	bool tty = strncmp(link, "/dev/", 5) == 0;
	unsigned long fd = 0;
	enum sleep sleep = sleep_of(pid, &fd);
	char to[64];

	if (sleep == SLEEP_HIDDEN && tty && sleeps_in_tty(pid))
		sleep = SLEEP_READ;
	else if (sleep == SLEEP_POLL && tty && foreground) {
		sleep = SLEEP_READ;
		fd = 0;
	}
	return sleep == SLEEP_READ && proc_fd(pid, fd, to, sizeof(to)) &&
	    strcmp(to, link) == 0;
}
