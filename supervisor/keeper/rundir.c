/* SPDX-License-Identifier: MIT */
/*
 * What the keeper does in the runtime directory: the lock that makes it the
 * only one, the log, the incarnation, board and stats, the listening socket.
 * The loop calls it at start, at the end, and every few seconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fault.h"
#include "common/procfs.h"
#include "shm/board.h"
#include "supervisor/keeper/state.h"

#define LOG_MAX_BYTES  (1 << 20)
#define BACKLOG        1024
#define SIGN_TRIES     50 /* 10 ms apart */
#define LOCK_TRIES     1000
#define SOCK_NEW       "sock.new"

/* Cannot create something: says so. */
static int
cannot(const struct keeper *k, const char *what, int error)
{
	return keeper_fail(k->opt, KEEPER_CANTCREAT, "%s/%s: %s",
	    k->opt->runtime_dir, what, strerror(error));
}

/* The pid in the lock file; the winner may not have written it yet. */
static long
holder_of(int fd)
{
	char text[32];
	ssize_t n;
	int i;

	for (i = 0; i < SIGN_TRIES; i++) {
		n = pread(fd, text, sizeof(text) - 1, 0);
		if (n > 1 && text[n - 1] == '\n') {
			text[n] = '\0';
			return strtol(text, NULL, 10);
		}
		clock_nap(10 * NSEC_PER_MSEC);
	}
	return 0;
}

/* Is this process dead, whether or not somebody has asked how? */
static bool
is_dead(long pid)
{
	struct procfs_stat st;
	int r = procfs_stat((int32_t)pid, &st);

	return r < 0 ? r == -ENOENT || r == -ESRCH : procfs_has_ended(&st);
}

/* Takes the lock, or says who has it. A keeper that was killed while it started
 * a process leaves the lock to that one, until its exec: that is waited for, and
 * may take seconds where many want the processors. */
static int
lock_file(const struct keeper *k)
{
	long holder;
	int i;

	for (i = 0; flock(k->lock, LOCK_EX | LOCK_NB) < 0; i++) {
		if (errno != EWOULDBLOCK)
			return cannot(k, "lock", errno);
		holder = holder_of(k->lock);
		if (i == LOCK_TRIES || holder <= 0 || !is_dead(holder))
			return keeper_fail(k->opt, KEEPER_RUNNING,
			    "already running in %s: pid %ld",
			    k->opt->runtime_dir, holder);
		clock_nap(10 * NSEC_PER_MSEC);
	}
	return 0;
}

/* Our pid, for who does not get the lock. 0 or -errno. */
static int
lock_sign(int lock)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

	if (ftruncate(lock, 0) < 0 || pwrite(lock, text, (size_t)n, 0) != n)
		return -errno;
	return 0;
}

/* Whoever serves here, though we have the lock: its file was deleted, and it
 * has not noticed yet. A dead keeper's socket may live on in its master for a
 * moment; init's is passed to whom it starts. 0: nobody. */
static long
server_there(const struct keeper *k)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	int fd;

	if (k->opt->listener >= 0)
		return 0;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return 0;
	(void)snprintf(sa.sun_path, sizeof(sa.sun_path),
	    "/proc/self/fd/%d/sock", k->dir);
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		peer.pid = 0;
	(void)close(fd);
	return peer.pid > 1 && peer.pid != getpid() && !is_dead(peer.pid)
	    ? peer.pid
	    : 0;
}

/* The lock, with our pid in it. */
static int
take_lock(struct keeper *k)
{
	long other;
	int r;

	k->lock = openat(k->dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (k->lock < 0)
		return cannot(k, "lock", errno);
	r = lock_file(k);
	if (r != 0)
		return r;
	other = server_there(k);
	if (other != 0)
		return keeper_fail(k->opt, KEEPER_RUNNING,
		    "already running in %s: pid %ld serves there, though "
		    "nobody had its lock", k->opt->runtime_dir, other);
	r = lock_sign(k->lock);
	return r < 0 ? cannot(k, "lock", -r) : 0;
}

/* The lock again, where its file was deleted or overwritten: who starts next
 * must not get it. 1: done; 0: it is as it was; -errno. */
int
rundir_lock_mend(struct keeper *k)
{
	struct stat ours, there;
	char text[32];
	ssize_t n;
	int fd, r;

	if (fstat(k->lock, &ours) == 0 && fstatat(k->dir, "lock", &there,
	    AT_SYMLINK_NOFOLLOW) == 0 && ours.st_ino == there.st_ino) {
		n = pread(k->lock, text, sizeof(text) - 1, 0);
		text[n > 0 ? n : 0] = '\0';
		if (n > 1 && text[n - 1] == '\n' &&
		    strtol(text, NULL, 10) == (long)getpid())
			return 0;
		r = lock_sign(k->lock);
		return r < 0 ? r : 1;
	}
	fd = openat(k->dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
	    0600);
	if (fd < 0)
		return -errno;
	r = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : lock_sign(fd);
	if (r == 0)
		r = dup3(fd, k->lock, O_CLOEXEC) < 0 ? -errno : 1;
	(void)close(fd);
	return r;
}

/* A detached keeper writes to its own log from here on. */
static int
open_log(struct keeper *k)
{
	int fd;

	if (!k->opt->detached)
		return 0;
	fd = openat(k->dir, "log", O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (fd < 0)
		return cannot(k, "log", errno);
	(void)dup2(fd, STDERR_FILENO);
	(void)close(fd);
	log_open("keeper", STDERR_FILENO, k->opt->log_level);
	return 0;
}

/* Everybody has the log open: its text moves to log.old, the file stays. */
static void
rotate_log(struct keeper *k)
{
	static char buf[65536];
	struct stat st;
	off_t at = 0;
	ssize_t n;
	int to;

	if (!k->opt->detached || fstat(STDERR_FILENO, &st) < 0 ||
	    st.st_size <= LOG_MAX_BYTES)
		return;
	to = openat(k->dir, "log.old", O_WRONLY | O_CREAT | O_TRUNC |
	    O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return;
	/* of a log that ran wild only the end is worth its memory */
	if (st.st_size > 2 * LOG_MAX_BYTES)
		at = st.st_size - LOG_MAX_BYTES;
	while ((n = pread(STDERR_FILENO, buf, sizeof(buf), at)) > 0) {
		if (write(to, buf, (size_t)n) != n)
			break;
		at += n;
	}
	(void)close(to);
	(void)!ftruncate(STDERR_FILENO, 0);
}

/* A new random incarnation, and the old ones' processes ended. */
static int
begin_incarnation(struct keeper *k)
{
	int r;

	do {
		arc4random_buf(&k->incarnation, sizeof(k->incarnation));
	} while (k->incarnation == 0);
	group_leftover(k->dir);
	FAULT("keeper.before-leftover");
	r = leftover_kill(k->dir, k->incarnation);
	FAULT("keeper.after-leftover");
	if (r < 0)
		return cannot(k, "incarnation", -r);
	leftover_workers(k->lock);
	group_begin(k);
	return 0;
}

/* Board and stats, in full, before anybody runs. */
static int
create_shared(struct keeper *k)
{
	int r;

	r = board_create(k->dir, board_slots_for(k->dir), k->incarnation);
	FAULT("keeper.after-board");
	if (r < 0)
		return cannot(k, "board", -r);
	r = stats_create(k->dir, &k->stats);
	if (r < 0)
		return cannot(k, "stats", -r);
	return 0;
}

/* Lets the configured group, or nobody, pass through the directory. */
static int
admit_group(struct keeper *k)
{
	gid_t gid = (gid_t)k->opt->config.group;

	if (gid != 0 && fchown(k->dir, (uid_t)-1, gid) < 0)
		return keeper_fail(k->opt, KEEPER_CANTCREAT,
		    "%s cannot be given to group %u: %s (server.group)",
		    k->opt->runtime_dir, (unsigned)gid, strerror(errno));
	if (fchmod(k->dir, gid != 0 ? 0710 : 0700) < 0)
		return cannot(k, ".", errno);
	return 0;
}

/* What lies in the directory: for rings, spools and the index. */
static int
make_subdirs(struct keeper *k)
{
	static const char *const subdirs[] = { "index", "rings", "spool" };
	struct stat st;

	for (size_t i = 0; i < sizeof(subdirs) / sizeof(subdirs[0]); i++) {
		if (mkdirat(k->dir, subdirs[i], 0700) < 0 && errno != EEXIST)
			return cannot(k, subdirs[i], errno);
		if (fstatat(k->dir, subdirs[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			return cannot(k, subdirs[i], errno);
		if (!S_ISDIR(st.st_mode))
			return cannot(k, subdirs[i], ENOTDIR);
	}
	return 0;
}

/* Opens and locks the directory and makes what lies in it. */
int
rundir_begin(struct keeper *k)
{
	char why[512];
	int r;

	why[0] = '\0';
	k->dir = rundir_open(k->opt->runtime_dir, true, k->opt->any_fs, why,
	    sizeof(why));
	if (k->dir < 0)
		return keeper_fail(k->opt, KEEPER_CANTCREAT, "%s", why);
	r = take_lock(k);
	if (r != 0)
		return r;
	r = open_log(k);
	if (r == 0)
		r = admit_group(k);
	if (r != 0)
		return r;
	r = make_subdirs(k);
	if (r == 0)
		r = begin_incarnation(k);
	return r != 0 ? r : create_shared(k);
}

/* bind() to a short name relative to the directory, whatever its length. */
static int
bind_in(int dirfd, int fd, const char *name)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	(void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", name);
	if (fchdir(dirfd) < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -errno;
	return 0;
}

/* Takes the socket that we were started with. Clients look for it by the
 * directory's name; where it lies elsewhere that may be meant. */
static int
take_passed(struct keeper *k)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	char want[RUNDIR_PATH_MAX + 8];
	socklen_t len = sizeof(sa) - 1;
	int flags = fcntl(k->opt->listener, F_GETFL);

	if (flags < 0 || fcntl(k->opt->listener, F_SETFL,
		flags | O_NONBLOCK) < 0 ||
	    getsockname(k->opt->listener, (struct sockaddr *)&sa, &len) < 0)
		return cannot(k, "sock (passed)", errno);
	(void)snprintf(want, sizeof(want), "%s/sock", k->opt->runtime_dir);
	if (strcmp(sa.sun_path, want) != 0)
		log_event(LOG_WARN, "socket-elsewhere", KV("path", sa.sun_path),
		    KV("expected", want),
		    KV("msg", "clients look for the other one"));
	k->listener = k->opt->listener;
	k->listener_passed = true;
	return 0;
}

/* The listening socket appears under its name only when it can be used. */
int
rundir_listen(struct keeper *k)
{
	gid_t gid;
	int r;

	if (k->opt->listener >= 0)
		return take_passed(k);
	k->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0);
	if (k->listener < 0)
		return cannot(k, "sock", errno);
	(void)unlinkat(k->dir, SOCK_NEW, 0);
	r = bind_in(k->dir, k->listener, SOCK_NEW);
	if (chdir("/") < 0 && r == 0)
		r = -errno;
	if (r < 0)
		return cannot(k, SOCK_NEW, -r);
	gid = (gid_t)k->opt->config.group;
	if ((gid != 0 &&
		fchownat(k->dir, SOCK_NEW, (uid_t)-1, gid, 0) < 0) ||
	    fchmodat(k->dir, SOCK_NEW, gid != 0 ? 0660 : 0600, 0) < 0 ||
	    listen(k->listener, BACKLOG) < 0)
		return cannot(k, "sock", errno);
	FAULT("keeper.before-sock");
	if (renameat(k->dir, SOCK_NEW, k->dir, "sock") < 0)
		return cannot(k, "sock", errno);
	return 0;
}

/* Nobody finds a socket that nobody serves; the lock goes with the process. */
void
rundir_end(struct keeper *k)
{
	if (k->dir >= 0 && !k->listener_passed)
		(void)unlinkat(k->dir, "sock", 0);
}

/* Every few seconds: is the directory still there, is the log too long? */
void
rundir_check(struct keeper *k)
{
	struct stat st;

	rotate_log(k);
	if (fstat(k->dir, &st) < 0 || st.st_nlink != 0)
		mend_all(k);
	else
		log_event(LOG_ERROR, "runtime-dir-deleted",
		    KV("path", k->opt->runtime_dir),
		    KV("msg", "no client can reach this server; running "
			      "sessions finish; stop it and start anew"));
}
