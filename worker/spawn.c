/* SPDX-License-Identifier: MIT */
/*
 * Between clone and exec. Called by start.c. What runs in the child is
 * async-signal-safe, changes its own stack, the ring's header page and
 * args->sh_argv[1], and nothing else: it shares the worker's memory.
 */
#include "worker/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/ctl.h"
#include "common/heritage.h"

#define STACK_BYTES (128u * 1024u)
#define GUARD_BYTES 65536u

/* The child runs on a stack that no sanitizer knows. */
#define CHILD_CODE __attribute__((no_sanitize("address", "undefined")))

struct child_args {
	const struct spawn_args *spawn;
	bool unshare; /* cloned with CLONE_FILES */
	int join_fd;  /* cgroup.procs the child writes itself to; -1 */
	bool joined;  /* by the child */
	bool told;    /* by the child: the keeper knows its pid */
};

/* What the worker ignores, which exec would hand on. */
static const int ignored_signals[] = {
    SIGPIPE, SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGXFSZ};

/* Where close_range is not allowed, the table is copied as of old. */
static bool no_unshare;

/* Puts /dev/null where a command's stdio will lie. */
int
spawn_reserve(int null_fd)
{
	int fd;

	for (fd = SPAWN_FD_STDIN; fd < SPAWN_FD_FIRST_OTHER; fd++)
		if (dup3(null_fd, fd, O_CLOEXEC) < 0)
			return -errno;
	return 0;
}

/* Leaves errno and stage where the worker, or its replacement, finds them. */
CHILD_CODE static _Noreturn void
child_give_up(const struct spawn_args *a, unsigned stage, int error)
{
	atomic_store_explicit(&a->hdr->exec_stage, stage, memory_order_relaxed);
	atomic_store_explicit(&a->hdr->exec_errno, (uint32_t)error,
	    memory_order_release);
	syscall(SYS_exit_group, 127);
	__builtin_unreachable();
}

/* Default dispositions for what the worker ignores, an empty mask. */
CHILD_CODE static void
child_reset_signals(void)
{
	uint64_t none = 0; /* the kernel's own set: 64 bits */
	struct sigaction sa;
	size_t i;

	__builtin_memset(&sa, 0, sizeof(sa));
	sa.sa_handler = SIG_DFL;
	for (i = 0; i < sizeof(ignored_signals) / sizeof(int); i++)
		sigaction(ignored_signals[i], &sa, NULL);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
}

/* psup's own processes hold many descriptors; a command gets the soft limit
 * back that the keeper was started with. */
CHILD_CODE static void
child_lower_nofile(uint64_t soft)
{
	struct rlimit rl;

	if (soft == 0 || getrlimit(RLIMIT_NOFILE, &rl) != 0)
		return;
	rl.rlim_cur = soft < rl.rlim_max ? soft : rl.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &rl);
}

/* The keeper learns the pid from the kernel, so a head says it all. */
CHILD_CODE static int
child_tell(struct sid sid)
{
	struct ctl_head head = CTL_INIT(CTL_SPAWNED, sid, struct ctl_head);
	ssize_t n;

	n = send(HERITAGE_FD_KEEPER, &head, sizeof(head),
	    MSG_DONTWAIT | MSG_NOSIGNAL);
	return n == (ssize_t)sizeof(head) ? 0 : n < 0 ? errno : EIO;
}

/* Tries the candidates as execvp would; returns the errno to report. */
CHILD_CODE static int
child_exec(const struct spawn_args *a)
{
	bool denied = false;
	size_t i = 0;

	if (a->direct != NULL)
		execve(a->paths[i++], a->direct, a->envp);
	for (; a->paths[i] != NULL; i++) {
		execve(a->paths[i], a->argv, a->envp);
		switch (errno) {
		case ENOEXEC:
			a->sh_argv[1] = (char *)(uintptr_t)a->paths[i];
			execve("/bin/sh", a->sh_argv, a->envp);
			return errno;
		case EACCES:
			denied = true;
			break;
		case ENOENT:
		case ENOTDIR:
		case ESTALE:
		case ENODEV:
		case ETIMEDOUT:
			break;
		default:
			return errno;
		}
	}
	return denied ? EACCES : ENOENT;
}

/* Into the groups that limit it. */
CHILD_CODE static void
child_join_groups(const struct spawn_args *a)
{
	unsigned i;

	for (i = 0; i < a->limits->join_count; i++)
		if (write(a->limits->join[i], "0", 1) != 1)
			child_give_up(a, STAGE_LIMIT, errno);
}

/* rlimits and niceness. */
CHILD_CODE static void
child_set_limits(const struct spawn_args *a)
{
	const struct spawn_limits *l = a->limits;
	struct rlimit rl;
	unsigned i;

	for (i = 0; i < l->rl_count; i++) {
		rl.rlim_cur = l->rl[i].soft;
		rl.rlim_max = l->rl[i].hard;
		if (setrlimit((__rlimit_resource_t)l->rl[i].resource, &rl) != 0)
			child_give_up(a, STAGE_LIMIT, errno);
	}
	if (l->nice_set && setpriority(PRIO_PROCESS, 0, l->nice) != 0)
		child_give_up(a, STAGE_LIMIT, errno);
}

/* The child. Until the table is unshared it must not close a descriptor. */
CHILD_CODE static int
child_main(void *arg)
{
	struct child_args *ca = arg;
	const struct spawn_args *a = ca->spawn;
	int error;

	if (ca->join_fd >= 0)
		ca->joined = write(ca->join_fd, "0", 1) == 1;
	child_join_groups(a);
	if (ca->unshare && syscall(SYS_close_range, SPAWN_FD_FIRST_OTHER, ~0u,
	                       CLOSE_RANGE_UNSHARE) != 0)
		child_give_up(a, STAGE_FDS, errno);
	if (setsid() < 0)
		child_give_up(a, STAGE_SETSID, errno);
	if (dup2(SPAWN_FD_STDIN, 0) < 0 || dup2(SPAWN_FD_STDOUT, 1) < 0 ||
	    dup2(SPAWN_FD_STDERR, 2) < 0)
		child_give_up(a, STAGE_FDS, errno);
	if (chdir(a->cwd) != 0)
		child_give_up(a, STAGE_CHDIR, errno);
	umask((mode_t)a->umask);
	child_reset_signals();
	child_lower_nofile(a->nofile_soft);
	child_set_limits(a);
	/* in this order: whoever dies in between is seen by one of the two */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		child_give_up(a, STAGE_PARENT, errno);
	if (getppid() != a->keeper_pid)
		child_give_up(a, STAGE_PARENT, ESRCH);
	if ((error = child_tell(a->sid)) != 0)
		child_give_up(a, STAGE_TELL, error);
	ca->told = true;
	/* not earlier: the end of a child that is tried again would hang up */
	if (a->pty && ioctl(0, TIOCSCTTY, 0) != 0)
		child_give_up(a, STAGE_SETSID, errno);
	error = child_exec(a);
	child_give_up(a, STAGE_EXEC, error);
}

/* One stack for all: the worker is held while a child is on it. */
static char *
spawn_stack(void)
{
	static char *top;
	char *base;

	if (top != NULL)
		return top;
	base = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (base == MAP_FAILED)
		return NULL;
	if (mprotect(base, GUARD_BYTES, PROT_NONE) != 0) {
		munmap(base, GUARD_BYTES + STACK_BYTES);
		return NULL;
	}
	top = base + GUARD_BYTES + STACK_BYTES;
	return top;
}

/* clone3 as clone(2) of the C library would be: the child begins on a stack of
 * its own in `fn`, which does not return. -errno. */
static long
clone_into(struct clone_args *args, int (*fn)(void *), void *arg)
{
#if defined(__x86_64__)
	long ret;

	__asm__ volatile("movq %3, %%r12\n\t"
			 "movq %4, %%r13\n\t"
			 "syscall\n\t"
			 "testq %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xorl %%ebp, %%ebp\n\t"
			 "movq %%r13, %%rdi\n\t"
			 "callq *%%r12\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(ret)
			 : "D"(args), "S"(sizeof(*args)), "r"(fn), "d"(arg),
			 "0"((long)SYS_clone3)
			 : "rcx", "r11", "r12", "r13", "memory", "cc");
	return ret;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = SYS_clone3;
	register long x0 __asm__("x0") = (long)args;
	register long x1 __asm__("x1") = sizeof(*args);
	register int (*x20)(void *) __asm__("x20") = fn;
	register void *x21 __asm__("x21") = arg;

	__asm__ volatile("svc #0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, #0\n\t"
			 "mov x0, x21\n\t"
			 "blr x20\n\t"
			 "brk #0\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x20), "r"(x21)
			 : "memory", "cc");
	return x0;
#else
	(void)args;
	(void)fn;
	(void)arg;
	return -ENOSYS;
#endif
}

/* Into the leaf by the clone itself: nothing it starts was ever elsewhere. */
static pid_t
spawn_into(struct child_args *ca, char *stack, int flags, int *pidfd)
{
	struct clone_args args;
	long pid;

	__builtin_memset(&args, 0, sizeof(args));
	args.flags = (unsigned)flags | CLONE_INTO_CGROUP;
	args.pidfd = (uintptr_t)pidfd;
	args.stack = (uintptr_t)(stack - STACK_BYTES);
	args.stack_size = STACK_BYTES;
	args.cgroup = (unsigned)ca->spawn->leaf_fd;
	pid = clone_into(&args, child_main, ca);
	if (pid < 0)
		errno = (int)-pid;
	return pid < 0 ? -1 : (pid_t)pid;
}

/* One clone with all signals blocked: a handler of the worker must not run on
 * the child's behalf. */
static int
spawn_once(struct child_args *ca, char *stack, pid_t *ret_pid, int *ret_pidfd,
    bool *ret_in_leaf)
{
	int flags = CLONE_VM | CLONE_VFORK | CLONE_PARENT | CLONE_PIDFD;
	bool into = ca->spawn->leaf_fd >= 0 && ca->spawn->leaf_into;
	sigset_t all, before;
	int pidfd = -1, error;
	pid_t pid = -1;

	if (ca->unshare)
		flags |= CLONE_FILES;
	ca->joined = ca->told = false;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	if (into)
		pid = spawn_into(ca, stack, flags, &pidfd);
	into = pid >= 0;
	if (pid < 0)
		pid = clone(child_main, stack, flags, ca, &pidfd);
	error = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return -error;
	if (!ca->told && atomic_load(&ca->spawn->hdr->exec_errno) == 0) {
		/* killed by somebody before the keeper could know of it */
		atomic_store(&ca->spawn->hdr->exec_stage, STAGE_CLONE);
		atomic_store(&ca->spawn->hdr->exec_errno, EAGAIN);
	}
	*ret_pid = pid;
	*ret_pidfd = pidfd;
	*ret_in_leaf = into || ca->joined;
	return 0;
}

/* Clones; once more with a copied table where close_range is refused. */
static int
spawn_twice(struct child_args *ca, pid_t *ret_pid, int *ret_pidfd,
    bool *ret_in_leaf)
{
	const struct spawn_args *args = ca->spawn;
	struct ring_header *hdr = args->hdr;
	char *stack = spawn_stack();
	uint32_t error;
	int rc;

	if (stack == NULL)
		return -ENOMEM;
	atomic_store(&hdr->exec_errno, 0);
	atomic_store(&hdr->exec_stage, STAGE_NONE);
	rc = spawn_once(ca, stack, ret_pid, ret_pidfd, ret_in_leaf);
	if (rc < 0 || !ca->unshare)
		return rc;
	error = atomic_load(&hdr->exec_errno);
	if (atomic_load(&hdr->exec_stage) != STAGE_FDS ||
	    (error != ENOSYS && error != EPERM && error != EINVAL))
		return 0;
	/* it exited before it did anything; the keeper reaps it unheard of */
	close(*ret_pidfd);
	no_unshare = true;
	ca->unshare = false;
	atomic_store(&hdr->exec_errno, 0);
	atomic_store(&hdr->exec_stage, STAGE_NONE);
	return spawn_once(ca, stack, ret_pid, ret_pidfd, ret_in_leaf);
}

/* Clones. Where clone cannot place the child, the child moves itself; the file
 * to write to is opened here, since the child's table is about to be cut. */
int
spawn_clone(const struct spawn_args *args, pid_t *ret_pid, int *ret_pidfd,
    bool *ret_in_leaf)
{
	struct child_args ca = {.spawn = args, .unshare = !no_unshare,
	    .join_fd = -1};
	int rc;

	if (args->leaf_fd >= 0 && !args->leaf_into)
		ca.join_fd = openat(args->leaf_fd, "cgroup.procs",
		    O_WRONLY | O_CLOEXEC);
	rc = spawn_twice(&ca, ret_pid, ret_pidfd, ret_in_leaf);
	if (ca.join_fd >= 0)
		close(ca.join_fd);
	return rc;
}
