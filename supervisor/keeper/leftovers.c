/* SPDX-License-Identifier: MIT */
/*
 * What a dead keeper left running: every process that carries a mark, one that
 * counts (common/mark.h), of an incarnation that had this runtime directory is
 * killed before any work is accepted. Called once at the start,
 * under the lock.
 *
 * The file `incarnation` lists them, the newest first, one a line in hex; older
 * ones stay in it only while something of theirs could not be killed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mark.h"
#include "procfs.h"
#include "rundir.h"
#include "supervisor/keeper/state.h"

#define OLD_MAX    8u
#define FILE_NAME  "incarnation"
#define FILE_NEW   "incarnation.new"
#define BOUND_NS   (5 * NSEC_PER_SEC)
#define LOCKED_NS  (250 * NSEC_PER_MSEC)
#define LEAVING_NS (2 * NSEC_PER_SEC)

struct old {
	uint64_t v[OLD_MAX];
	uint32_t count;
};

/* The incarnations on file. */
static void
read_old(int dirfd, struct old *ret)
{
	char text[512], *p = text, *end;
	ssize_t n;
	int fd;

	ret->count = 0;
	fd = openat(dirfd, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	while (ret->count < OLD_MAX) {
		uint64_t v = strtoull(p, &end, 16);

		if (end == p)
			return;
		if (v != 0)
			ret->v[ret->count++] = v;
		p = end;
	}
}

/* Ours, and those that still have something alive. */
static int
write_new(int dirfd, uint64_t own, const struct old *old)
{
	char text[512];
	size_t len;
	uint32_t i;
	int fd, r = 0;

	len = (size_t)snprintf(text, sizeof(text), "%016" PRIx64 "\n", own);
	for (i = 0; i < old->count && i < OLD_MAX - 1; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
		    "%016" PRIx64 "\n", old->v[i]);
	fd = openat(dirfd, FILE_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC |
	    O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != (ssize_t)len)
		r = -ENOSPC;
	(void)close(fd);
	if (r == 0 && renameat(dirfd, FILE_NEW, dirfd, FILE_NAME) < 0)
		r = -errno;
	return r;
}

/* Has it a mark of one of them that counts (common/mark.h)? -EAGAIN: that
 * cannot be told now. */
static int
is_marked(int32_t pid, const struct old *old)
{
	struct proc_mark m;
	uint32_t i;

	if (mark_read_own(pid, getpid(), &m) == -EAGAIN)
		return -EAGAIN;
	for (i = 0; i < old->count; i++) {
		if (old->v[i] == m.incarnation)
			return true;
	}
	return false;
}

/* Kills one process if it is marked; by pidfd, so that it is the one whose
 * environment was read. */
static int
kill_marked(int32_t pid, const struct old *old)
{
	int pidfd, marked;

	if (pid <= 1 || pid == getpid())
		return false;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return false;
	marked = is_marked(pid, old);
	if (marked > 0)
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	(void)close(pidfd);
	return marked;
}

/* One pass over all processes: how many were marked, of how many that could
 * not be told. */
static uint32_t
kill_pass(const struct old *old, uint32_t *ret_locked)
{
	DIR *proc = opendir("/proc");
	uint32_t n = 0;
	int32_t pid;
	int r;

	*ret_locked = 0;
	while ((pid = procfs_next(proc)) != 0) {
		r = kill_marked(pid, old);
		n += r > 0;
		*ret_locked += r < 0;
	}
	if (proc != NULL)
		(void)closedir(proc);
	return n;
}

/* Kills until a pass finds nobody: how many are left. Who could not be asked is
 * waited for a moment, not for as long as a dead file system holds it. */
static uint32_t
kill_all(const struct old *old, const char *whose)
{
	uint64_t now = clock_boot_ns(), end = now + BOUND_NS;
	uint64_t locked_end = now + LOCKED_NS;
	uint32_t n, locked, killed = 0;

	while ((n = kill_pass(old, &locked)) + locked > 0 &&
	    clock_boot_ns() < (n > 0 ? end : locked_end)) {
		killed += n;
		clock_nap(2 * NSEC_PER_MSEC);
	}
	if (killed > 0)
		log_event(LOG_WARN, "leftover-killed", KV("of", whose),
		    KV("signals", killed));
	if (n > 0)
		log_event(LOG_ERROR, "leftover-stays", KV("of", whose),
		    KV("processes", n));
	return n;
}

/* Had we children already, from before we were psupd? */
bool
leftover_had_children(void)
{
	siginfo_t si;

	si.si_pid = 0;
	return waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

/* A child, not reaped: the number is its own. */
static bool
kill_child(void *, int32_t pid)
{
	if (pid > 1)
		(void)kill(pid, SIGKILL);
	return true;
}

/* SIGKILL to every child that the kernel lists. False: we have none; the list may
 * leave one out while others end. */
static bool
kill_children(void)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
		;
	if (pid < 0)
		return false;
	(void)procfs_each_child(getpid(), kill_child, NULL);
	return true;
}

/* At our end, when master and workers are gone: what commands that are over
 * have left behind. Whatever hid from its session is our child by then, or the
 * child of one. `children`: we had none when we started, so all are commands'. */
void
leftover_own(uint64_t incarnation, bool children)
{
	struct old own = { .v = { incarnation }, .count = 1 };
	uint64_t end = clock_boot_ns() + BOUND_NS;

	(void)kill_all(&own, "finished commands");
	while (children && kill_children() && clock_boot_ns() < end)
		clock_nap(2 * NSEC_PER_MSEC);
}

/* Are we still on file? A successor looks there for whom to kill. */
int
leftover_mend(int dirfd, uint64_t incarnation)
{
	struct old old;
	int r;

	read_old(dirfd, &old);
	if (old.count > 0 && old.v[0] == incarnation)
		return 0;
	old.count = 0;
	r = write_new(dirfd, incarnation, &old);
	return r < 0 ? r : 1;
}

/* What dead keepers left, then writes down who we are. */
int
leftover_kill(int dirfd, uint64_t incarnation)
{
	struct old old;

	read_old(dirfd, &old);
	if (old.count > 0 && kill_all(&old, "a dead keeper") == 0)
		old.count = 0;
	return write_new(dirfd, incarnation, &old);
}

/* SIGKILL to a worker, if that still is who has this number. */
static void
kill_worker(int lock, int32_t pid)
{
	int pidfd = pid > 1 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

	if (pidfd < 0)
		return;
	if (rundir_attendant(lock) == pid &&
	    syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0)
		log_event(LOG_WARN, "leftover-killed",
		    KV("of", "a dead keeper"), KV("role_pid", pid));
	(void)close(pidfd);
}

/* Each worker of a dead keeper ends what it had, then itself: until then it may
 * still make a ring, which would lie there for good. One that does not get to
 * it, stopped or without a processor, is killed after a while. */
void
leftover_workers(int lock)
{
	uint64_t late = clock_boot_ns() + LEAVING_NS;
	int32_t pid, killed = 0;

	while ((pid = rundir_attendant(lock)) != 0 &&
	    clock_boot_ns() < late + BOUND_NS) {
		if (pid != killed && clock_boot_ns() > late)
			kill_worker(lock, killed = pid);
		clock_nap(2 * NSEC_PER_MSEC);
	}
}
