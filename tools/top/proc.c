/* SPDX-License-Identifier: MIT */
/* See proc.h. Called by sample.c and model.c. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proc.h"
#include "common/sleep.h"

bool
proc_exists(int pid, struct procfs_stat *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (pid <= 0)
		return false;
	if (procfs_stat(pid, ret) < 0) /* /proc may hide it */
		return kill(pid, 0) == 0 || errno == EPERM;
	return !procfs_has_ended(ret);
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

/* Does it sleep in the read of a terminal? That every process of the same
 * user may see; of a pipe it does not say which one. */
static bool
sleeps_in_tty(int pid)
{
	char text[64];

	return procfs_file(pid, "wchan", text, sizeof(text)) > 0 &&
	    (strncmp(text, "n_tty_read", 10) == 0 ||
	        strncmp(text, "wait_woken", 10) == 0);
}

/* Programs that drive a terminal wait for it and the rest of the world in a
 * poll. */
bool
proc_reads(const struct procfs_stat *p, const char *link)
{
	bool tty = strncmp(link, "/dev/", 5) == 0;
	struct sleep sleep = {SLEEP_UNKNOWN, 0, false, false};
	char text[256], to[64];

	if (procfs_file(p->pid, "syscall", text, sizeof(text)) > 0)
		sleep = sleep_by_syscall(text);
	if (sleep.kind == SLEEP_UNKNOWN && tty && sleeps_in_tty(p->pid))
		sleep.kind = SLEEP_READ;
	else if (sleep.kind == SLEEP_POLL && tty && p->pgrp == p->tty_pgrp) {
		sleep.kind = SLEEP_READ;
		sleep.fd = 0;
	}
	return sleep.kind == SLEEP_READ && proc_fd(p->pid, sleep.fd, to, sizeof(to)) &&
	    strcmp(to, link) == 0;
}
