/* SPDX-License-Identifier: MIT */
/*
 * Starts one process, the master or a worker: clone that shares the memory
 * (nothing is copied, however many descriptors and rows there are), exec of
 * its own binary with exactly the heritage. The keeper's procs code calls it.
 *
 * The heritage lies at 3..5 before the clone; the child unshares a table cut
 * off above them, so the thousands of held descriptors are never copied.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kfile.h"
#include "log_write.h"
#include "priority.h"
#include "supervisor/keeper/notify.h"
#include "supervisor/keeper/state.h"

static_assert(KEEPER_FD_FREE <= LOG_FD_MIN, "the log is out of the way");

#define CHANNEL_BYTES (1 << 20)
#define STACK_BYTES   (128u * 1024)

/* What lies at the reserved numbers during the clone, and what of it the
 * program gets. */
struct launch {
	const char *path; /* for the log */
	int binary;
	char *const *argv, *const *envp;
	int at[3];        /* HERITAGE_FD_KEEPER and on; -1: nothing */
	bool says;        /* the first of them is its stdout */
	int error; /* of the child; seen here because memory is shared */
};

static _Alignas(64) unsigned char stack[STACK_BYTES];

/* Room for bursts; what the kernel does not grant is not needed to live. */
void
launch_buffers(int fd)
{
	int n = CHANNEL_BYTES;

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &n, sizeof(n)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &n, sizeof(n));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &n, sizeof(n)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &n, sizeof(n));
}

/* Default dispositions; the mask comes last, just before exec. */
static void
reset_signals(void)
{
	struct sigaction dfl;
	int sig;

	memset(&dfl, 0, sizeof(dfl));
	dfl.sa_handler = SIG_DFL;
	for (sig = 1; sig < NSIG; sig++)
		(void)sigaction(sig, &dfl, NULL);
}

void
launch_come_first(void)
{
	(void)kfile_write(AT_FDCWD, "/proc/self/autogroup", "-10");
}

/* Between clone and exec: system calls only. */
static int
child(void *arg)
{
	struct launch *l = arg;
	sigset_t none;
	int i, fd;

	if (close_range(KEEPER_FD_FREE, ~0u, CLOSE_RANGE_UNSHARE) < 0)
		goto fail;
	(void)setsid(); /* the terminal's signals are the keeper's business */
	launch_come_first();
	(void)setpriority(PRIO_PROCESS, 0, priority_of_commands());
	if (close(STDIN_FILENO) < 0 && errno != EBADF)
		goto fail;
	if (open("/dev/null", O_RDWR) != STDIN_FILENO ||
	    dup2(l->says ? HERITAGE_FD_KEEPER : STDERR_FILENO,
		STDOUT_FILENO) < 0 ||
	    fcntl(STDERR_FILENO, F_SETFD, 0) < 0)
		goto fail;
	for (i = 0; i < 3; i++) {
		fd = HERITAGE_FD_KEEPER + i;
		if (l->at[i] < 0 || (l->says && i == 0) ? close(fd) < 0 :
			fcntl(fd, F_SETFD, 0) < 0)
			goto fail;
	}
	reset_signals();
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)execveat(KEEPER_FD_BINARY, "", l->argv, l->envp,
	    AT_EMPTY_PATH);
fail:
	l->error = errno;
	_exit(127);
}

/* What the process has to know. */
static int
seal(const struct keeper *k, const struct proc *p)
{
	struct heritage h;

	memset(&h, 0, sizeof(h));
	h.role = (uint32_t)p->role;
	h.keeper_pid = (int32_t)getpid();
	h.wid = p->wid;
	h.incarnation = k->incarnation;
	h.workers = k->workers;
	h.max_sessions = k->max_sessions;
	h.nofile_soft = k->nofile_soft;
	h.core_soft = k->core_soft;
	h.log_level = LOG_PACK(k->opt->log_level, k->opt->log_format);
	memcpy(h.runtime_dir, k->opt->runtime_dir, sizeof(h.runtime_dir));
	memcpy(h.config_path, k->opt->config_path, sizeof(h.config_path));
	memcpy(h.group, k->group, sizeof(h.group));
	h.flags = k->group_flags;
	if (p->crashes >= KEEPER_CRASHES)
		h.flags |= HERITAGE_INDEX_BAD;
	return heritage_seal(&h);
}

/* Lays the descriptors at their numbers; -1 stands for /dev/null. */
static int
lay(const struct keeper *k, const struct launch *l)
{
	int i, from;

	for (i = 0; i < 3; i++) {
		from = l->at[i] >= 0 ? l->at[i] : k->null;
		if (dup3(from, HERITAGE_FD_KEEPER + i, O_CLOEXEC) < 0)
			return -errno;
	}
	return dup3(l->binary, KEEPER_FD_BINARY, O_CLOEXEC) < 0 ? -errno : 0;
}

/* Lays what it gets at its numbers, clones, and takes it away again: our copy
 * of the other end would hide its EOF. */
static int
clone_with(const struct keeper *k, struct launch *l, int *ret_pidfd)
{
	int pidfd = -1, pid, error, fd;

	error = lay(k, l);
	if (error < 0)
		return error;
	pid = clone(child, stack + STACK_BYTES,
	    CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_PIDFD | SIGCHLD, l,
	    &pidfd);
	if (pid < 0)
		error = -errno;
	for (fd = HERITAGE_FD_KEEPER; fd < KEEPER_FD_FREE; fd++)
		(void)dup3(k->null, fd, O_CLOEXEC);
	if (pid < 0)
		return error;
	*ret_pidfd = pidfd;
	return pid;
}

/* One process with its channel. */
int
launch_proc(struct keeper *k, struct proc *p)
{
	bool master = p->role == HERITAGE_MASTER;
	enum program which = master ? PROGRAM_MASTER : PROGRAM_WORKER;
	char name[32];
	char *argv[] = { name, NULL };
	struct launch l = { .path = k->set[p->set].path[which],
		.binary = k->set[p->set].fd[which], .argv = argv,
		.envp = notify_environ_for_others() };
	int pair[2], info, one = 1, r, pidfd = -1;

	(void)snprintf(name, sizeof(name), "%s", programs_name(which));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
		0, pair) < 0)
		return -errno;
	launch_buffers(pair[0]);
	launch_buffers(pair[1]);
	info = seal(k, p);
	if (info < 0) {
		r = info;
		goto out;
	}
	l.at[0] = pair[1];
	l.at[1] = master ? k->listener : -1;
	l.at[2] = info;
	if (setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &one,
		sizeof(one)) < 0)
		r = -errno;
	else
		r = clone_with(k, &l, &pidfd);
	(void)close(info);
out:
	(void)close(pair[1]);
	if (r < 0) {
		(void)close(pair[0]);
		return r;
	}
	/* a failed exec is a death like any other: its pidfd tells */
	if (l.error != 0)
		log_event(LOG_ERROR, "program-not-started", KV_PROC(p),
		    KV("path", l.path), KV("error", strerror(l.error)));
	p->pid = r;
	p->pidfd = pidfd;
	p->chan = pair[0];
	return 0;
}

/* One program that has something to say and then ends. */
int
launch_trial(struct keeper *k, int binary, const char *name, const char *arg,
    int out, int info, int32_t *ret_pid, int *ret_pidfd)
{
	char first[32], second[32];
	char *argv[] = { first, second, NULL };
	struct launch l = { .path = name, .binary = binary, .argv = argv,
		.envp = notify_environ_for_others(),
		.at = { out, -1, info }, .says = true };
	int pid, pidfd = -1;

	(void)snprintf(first, sizeof(first), "%s", name);
	(void)snprintf(second, sizeof(second), "%s", arg);
	pid = clone_with(k, &l, &pidfd);
	if (pid < 0)
		return pid;
	*ret_pid = pid;
	*ret_pidfd = pidfd;
	return -l.error;
}
