/* SPDX-License-Identifier: MIT */
/* The filter of a box's commands: each call's answer on both architectures, and
 * in a real process. */
#include "worker/box_filter.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DENY(error) (SECCOMP_RET_ERRNO | (error))

struct row {
	const char *name;
	int x86, arm;
	unsigned error;
};

static const struct row rows[] = {
#define BOX_CALL(name, x86, arm, error) {#name, x86, arm, error},
#define BOX_CALL_X86(name, x86, error)	{#name, x86, -1, error},
#include "worker/box_filter.def"
};

#define ROWS (sizeof(rows) / sizeof(*rows))

/* What the kernel makes of `data`: its machine, as far as the filter uses it.
 */
static uint32_t
answer(const struct sock_fprog *prog, const struct seccomp_data *data)
{
	uint32_t a = 0;
	unsigned at = 0;

	while (at < prog->len) {
		const struct sock_filter *f = &prog->filter[at++];
		bool yes = false;

		switch (f->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			cr_assert_leq(f->k, sizeof(*data) - sizeof(a));
			memcpy(&a, (const char *)data + f->k, sizeof(a));
			continue;
		case BPF_RET | BPF_K:
			return f->k;
		case BPF_JMP | BPF_JEQ | BPF_K:
			yes = a == f->k;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			yes = a >= f->k;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			yes = (a & f->k) != 0;
			break;
		default:
			cr_assert_fail("instruction %u: code %#x", at, f->code);
		}
		at += yes ? f->jt : f->jf;
	}
	cr_assert_fail("the filter has no end");
	return 0;
}

static uint32_t
ask(uint32_t arch, int nr, uint64_t arg0, uint64_t arg1)
{
	struct seccomp_data data = {
	    .nr = nr, .arch = arch, .args = {arg0, arg1}};

	return answer(box_filter_of(arch), &data);
}

static uint32_t
expected(int nr, int x86)
{
	size_t i;

	if (nr == (x86 ? 41 : 198) || nr == (x86 ? 53 : 199))
		return DENY(EAFNOSUPPORT); /* of no family */
	for (i = 0; i < ROWS; i++)
		if ((x86 ? rows[i].x86 : rows[i].arm) == nr)
			return DENY(rows[i].error);
	return SECCOMP_RET_ALLOW;
}

Test(box_filter, says_no_to_what_the_table_names_and_to_nothing_else)
{
	int nr;

	for (nr = 0; nr < 1024; nr++) {
		cr_assert_eq(ask(AUDIT_ARCH_X86_64, nr, 0, 0), expected(nr, 1),
		    "x86_64 %d", nr);
		cr_assert_eq(ask(AUDIT_ARCH_AARCH64, nr, 0, 0), expected(nr, 0),
		    "arm64 %d", nr);
	}
}

static void
by_argument(
    uint32_t arch, int nr_clone, int nr_ioctl, int nr_socket, int nr_socketpair)
{
	const int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
	const int refused[] = {AF_UNSPEC, AF_VSOCK, AF_ALG, AF_PACKET,
	    AF_BLUETOOTH, AF_TIPC, AF_XDP, AF_RDS, AF_KEY};
	const uint64_t high = UINT64_C(1) << 32;
	const uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES |
				CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
				CLONE_SETTLS;
	const uint64_t spaces[] = {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS,
	    CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET,
	    CLONE_PARENT};
	size_t i;

	cr_expect_eq(ask(arch, nr_clone, thread, 0), SECCOMP_RET_ALLOW);
	cr_expect_eq(ask(arch, nr_clone, high, 0), SECCOMP_RET_ALLOW);
	for (i = 0; i < sizeof(spaces) / sizeof(*spaces); i++)
		cr_expect_eq(ask(arch, nr_clone, thread | high | spaces[i], 0),
		    DENY(EPERM), "flag %#lx", (unsigned long)spaces[i]);
	cr_expect_eq(ask(arch, nr_ioctl, 0, TIOCGWINSZ), SECCOMP_RET_ALLOW);
	cr_expect_eq(ask(arch, nr_ioctl, 0, TIOCSTI), DENY(EPERM));
	cr_expect_eq(ask(arch, nr_ioctl, 0, high | TIOCSTI), DENY(EPERM));
	cr_expect_eq(ask(arch, nr_ioctl, 0, TIOCLINUX), DENY(EPERM));
	cr_expect_eq(ask(arch, nr_ioctl, 0, TIOCSETD), DENY(EPERM));
	for (i = 0; i < sizeof(families) / sizeof(*families); i++) {
		uint64_t f = high | (unsigned)families[i];

		cr_expect_eq(ask(arch, nr_socket, f, 1), SECCOMP_RET_ALLOW);
		cr_expect_eq(ask(arch, nr_socketpair, f, 1), SECCOMP_RET_ALLOW);
	}
	for (i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		uint64_t f = high | (unsigned)refused[i];

		cr_expect_eq(ask(arch, nr_socket, f, 1), DENY(EAFNOSUPPORT),
		    "family %d", refused[i]);
		cr_expect_eq(ask(arch, nr_socketpair, f, 1), DENY(EAFNOSUPPORT),
		    "family %d", refused[i]);
	}
}

Test(box_filter, looks_at_the_low_half_of_flags_and_requests)
{
	by_argument(AUDIT_ARCH_X86_64, 56, 16, 41, 53);
	by_argument(AUDIT_ARCH_AARCH64, 220, 29, 198, 199);
}

Test(box_filter, kills_a_foreign_architecture_and_knows_no_x32)
{
	struct seccomp_data data = {.arch = AUDIT_ARCH_I386};

	cr_expect_eq(answer(box_filter_of(AUDIT_ARCH_X86_64), &data),
	    SECCOMP_RET_KILL_PROCESS);
	data.arch = AUDIT_ARCH_ARM;
	cr_expect_eq(answer(box_filter_of(AUDIT_ARCH_AARCH64), &data),
	    SECCOMP_RET_KILL_PROCESS);
	cr_expect_eq(ask(AUDIT_ARCH_X86_64, 0x40000000, 0, 0), DENY(ENOSYS));
	cr_expect_eq(ask(AUDIT_ARCH_X86_64, -1, 0, 0), DENY(ENOSYS));
	cr_expect_null(box_filter_of(AUDIT_ARCH_I386));
}

static void *
nothing(void *arg)
{
	return arg;
}

/* In the child: 0, or which of the steps went another way. */
static int
live(void)
{
	pthread_t thread;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, box_filter()) != 0)
		return 1;
	errno = 0;
	if (unshare(CLONE_NEWUSER) == 0 || errno != EPERM)
		return 2;
	if (syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0) >= 0 ||
	    errno != EPERM)
		return 3;
	if (syscall(SYS_clone3, NULL, 0) == 0 || errno != ENOSYS)
		return 4;
	if (ioctl(STDIN_FILENO, TIOCSTI, "x") == 0 || errno != EPERM)
		return 5;
	if (syscall(SYS_io_uring_setup, 1, NULL) >= 0 || errno != ENOSYS)
		return 6;
	if (pthread_create(&thread, NULL, nothing, NULL) != 0 ||
	    pthread_join(thread, NULL) != 0)
		return 7;
	execl("/bin/sh", "sh", "-c", "(exit 3); test $? = 3", (char *)NULL);
	return 8;
}

Test(box_filter, leaves_threads_and_programs_alone_in_a_real_process)
{
	pid_t pid;
	int status = -1;

	if (box_filter() == NULL)
		cr_skip_test("this architecture has no filter");
	pid = fork();
	if (pid == 0)
		_exit(live());
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status), "status %#x", (unsigned)status);
	cr_expect_eq(WEXITSTATUS(status), 0, "step %d", WEXITSTATUS(status));
}
