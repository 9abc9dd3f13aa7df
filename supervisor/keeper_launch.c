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
#include <sys/socket.h>
#include <unistd.h>

#include "supervisor/keeper_notify.h"
#include "supervisor/keeper_state.h"

#define CHANNEL_BYTES (1 << 20)
#define STACK_BYTES   (128u * 1024)

struct launch {
	const char *path;
	char *const *argv, *const *envp;
	bool master;
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

/* Between clone and exec: system calls only. */
static int
child(void *arg)
{
	struct launch *l = arg;
	sigset_t none;

	if (close_range(HERITAGE_FD_FIRST_FREE, ~0u, CLOSE_RANGE_UNSHARE) < 0)
		goto fail;
	(void)setsid(); /* the terminal's signals are the keeper's business */
	if (close(STDIN_FILENO) < 0 && errno != EBADF)
		goto fail;
	if (open("/dev/null", O_RDWR) != STDIN_FILENO ||
	    dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ||
	    fcntl(STDERR_FILENO, F_SETFD, 0) < 0 ||
	    fcntl(HERITAGE_FD_KEEPER, F_SETFD, 0) < 0 ||
	    fcntl(HERITAGE_FD_INFO, F_SETFD, 0) < 0)
		goto fail;
	if (l->master ? fcntl(HERITAGE_FD_LISTENER, F_SETFD, 0) < 0 :
			close(HERITAGE_FD_LISTENER) < 0)
		goto fail;
	reset_signals();
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	execve(l->path, l->argv, l->envp);
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
	h.size = sizeof(h);
	h.version = HERITAGE_VERSION;
	h.role = (uint32_t)p->role;
	h.keeper_pid = (int32_t)getpid();
	h.wid = p->wid;
	h.incarnation = k->incarnation;
	h.workers = k->workers;
	h.max_sessions = k->max_sessions;
	h.nofile_soft = k->nofile_soft;
	h.log_level = LOG_PACK(k->opt->log_level, k->opt->log_format);
	memcpy(h.runtime_dir, k->opt->runtime_dir, sizeof(h.runtime_dir));
	memcpy(h.config_path, k->opt->config_path, sizeof(h.config_path));
	memcpy(h.group, k->group, sizeof(h.group));
	h.flags = k->group_flags;
	return heritage_seal(&h);
}

/* Puts the heritage at its numbers, clones, and takes it away again. */
static int
clone_with(struct keeper *k, struct proc *p, struct launch *l, int chan,
    int info)
{
	int listener = l->master ? k->listener : k->null;
	int pidfd = -1, pid, error = 0;

	if (dup3(chan, HERITAGE_FD_KEEPER, O_CLOEXEC) < 0 ||
	    dup3(listener, HERITAGE_FD_LISTENER, O_CLOEXEC) < 0 ||
	    dup3(info, HERITAGE_FD_INFO, O_CLOEXEC) < 0)
		return -errno;
	pid = clone(child, stack + STACK_BYTES,
	    CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_PIDFD | SIGCHLD, l,
	    &pidfd);
	if (pid < 0)
		error = errno;
	/* our copy of the other end would hide its EOF */
	(void)dup3(k->null, HERITAGE_FD_KEEPER, O_CLOEXEC);
	(void)dup3(k->null, HERITAGE_FD_LISTENER, O_CLOEXEC);
	(void)dup3(k->null, HERITAGE_FD_INFO, O_CLOEXEC);
	if (pid < 0)
		return -error;
	/* a failed exec is a death like any other: its pidfd tells */
	if (l->error != 0)
		log_error("%s %u.%u cannot be started: %s: %s",
		    procs_name(p), p->wid.slot, p->wid.generation, l->path,
		    strerror(l->error));
	p->pid = pid;
	p->pidfd = pidfd;
	return 0;
}

/* One process with its channel. */
int
launch_proc(struct keeper *k, struct proc *p, const char *path)
{
	bool master = p->role == HERITAGE_MASTER;
	char name[32];
	char *argv[] = { name, NULL };
	struct launch l = { .path = path, .argv = argv, .master = master,
		.envp = notify_environ_for_others() };
	int pair[2], info, one = 1, r;

	(void)snprintf(name, sizeof(name), master ? "psup-master" :
	    "psup-worker");
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
	if (setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &one,
		sizeof(one)) < 0)
		r = -errno;
	else
		r = clone_with(k, p, &l, pair[1], info);
	(void)close(info);
out:
	(void)close(pair[1]);
	if (r < 0)
		(void)close(pair[0]);
	else
		p->chan = pair[0];
	return r;
}
