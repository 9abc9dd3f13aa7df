/* SPDX-License-Identifier: MIT */
/* See box_filter.h. */
#include "worker/box_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "worker/box_filter_nr.h"

/* Namespaces; and a child of the caller's parent, which is the keeper.
 * CLONE_NEWTIME is no flag of clone(2): its bit lies in the exit signal. */
#define NOT_IN_CLONE                                                           \
	((uint32_t)(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |             \
		    CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |              \
		    CLONE_NEWNET | CLONE_PARENT))

#define X32_CALL 0x40000000u
#define FIELD(f)                                                               \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, f))
/* The low half: both architectures are little endian. */
#define ARG(n) FIELD(args[n])
#define JUMP(op, k, yes, no)                                                   \
	BPF_JUMP(BPF_JMP | (op) | BPF_K, (uint32_t)(k), yes, no)
#define RET(what)   BPF_STMT(BPF_RET | BPF_K, (what))
#define FAIL(error) RET(SECCOMP_RET_ERRNO | (error))

#define BEGIN(arch_)                                                           \
	FIELD(arch), JUMP(BPF_JEQ, arch_, 1, 0),                               \
	    RET(SECCOMP_RET_KILL_PROCESS), FIELD(nr)

/* The kernel looks at the low 32 bits of clone's flags, the first argument on
 * both, of an ioctl's request and of a socket's family; so does this. A line
 * discipline is a module that the kernel loads for whoever has a terminal. Of
 * families those that a program of the network needs: others are modules, too,
 * and AF_VSOCK leads to the machine that this one runs on, whatever namespace
 * of the network it is asked in. */
#define BY_ARGUMENT(nr_clone, nr_ioctl, nr_socket, nr_socketpair)              \
	JUMP(BPF_JEQ, nr_clone, 0, 4), ARG(0),                                 \
	    JUMP(BPF_JSET, NOT_IN_CLONE, 0, 1), FAIL(EPERM),                   \
	    RET(SECCOMP_RET_ALLOW), JUMP(BPF_JEQ, nr_ioctl, 0, 6), ARG(1),     \
	    JUMP(BPF_JEQ, TIOCSTI, 2, 0), JUMP(BPF_JEQ, TIOCLINUX, 1, 0),      \
	    JUMP(BPF_JEQ, TIOCSETD, 0, 1), FAIL(EPERM),                        \
	    RET(SECCOMP_RET_ALLOW), JUMP(BPF_JEQ, nr_socket, 1, 0),            \
	    JUMP(BPF_JEQ, nr_socketpair, 0, 7), ARG(0),                        \
	    JUMP(BPF_JEQ, AF_UNIX, 3, 0), JUMP(BPF_JEQ, AF_INET, 2, 0),        \
	    JUMP(BPF_JEQ, AF_INET6, 1, 0), JUMP(BPF_JEQ, AF_NETLINK, 0, 1),    \
	    RET(SECCOMP_RET_ALLOW), FAIL(EAFNOSUPPORT)

static struct sock_filter x86_64_code[] = {
    BEGIN(AUDIT_ARCH_X86_64),
    JUMP(BPF_JGE, X32_CALL, 0, 1),
    FAIL(ENOSYS),
    BY_ARGUMENT(56, 16, 41, 53),
#define BOX_CALL(name, x86, arm, error) JUMP(BPF_JEQ, x86, 0, 1), FAIL(error),
#define BOX_CALL_X86(name, x86, error)	JUMP(BPF_JEQ, x86, 0, 1), FAIL(error),
#include "worker/box_filter.def"
#undef BOX_CALL
#undef BOX_CALL_X86
    RET(SECCOMP_RET_ALLOW),
};

static struct sock_filter arm64_code[] = {
    BEGIN(AUDIT_ARCH_AARCH64),
    BY_ARGUMENT(220, 29, 198, 199),
#define BOX_CALL(name, x86, arm, error) JUMP(BPF_JEQ, arm, 0, 1), FAIL(error),
#define BOX_CALL_X86(name, x86, error)
#include "worker/box_filter.def"
#undef BOX_CALL
#undef BOX_CALL_X86
    RET(SECCOMP_RET_ALLOW),
};

/* Wrong by one would be a hole; the compiler sees to it. */
#if defined(__x86_64__)
#define BOX_CALL(name, x86, arm, error)                                        \
	_Static_assert(__NR_##name == (x86), #name);
#define BOX_CALL_X86(name, x86, error) BOX_CALL(name, x86, 0, error)
_Static_assert(__NR_clone == 56 && __NR_ioctl == 16 && __NR_socket == 41 &&
		   __NR_socketpair == 53,
    "by argument");
#include "worker/box_filter.def"
#elif defined(__aarch64__)
#define BOX_CALL(name, x86, arm, error)                                        \
	_Static_assert(__NR_##name == (arm), #name);
#define BOX_CALL_X86(name, x86, error)
_Static_assert(__NR_clone == 220 && __NR_ioctl == 29 && __NR_socket == 198 &&
		   __NR_socketpair == 199,
    "by argument");
#include "worker/box_filter.def"
#endif

#define PROGRAM(code)                                                          \
	{                                                                      \
		.len = sizeof(code) / sizeof(*(code)), .filter = (code)        \
	}

const struct sock_fprog *
box_filter_of(uint32_t arch)
{
	static const struct sock_fprog x86_64 = PROGRAM(x86_64_code);
	static const struct sock_fprog arm64 = PROGRAM(arm64_code);

	if (arch == AUDIT_ARCH_X86_64)
		return &x86_64;
	return arch == AUDIT_ARCH_AARCH64 ? &arm64 : NULL;
}

const struct sock_fprog *
box_filter(void)
{
#if defined(__x86_64__)
	return box_filter_of(AUDIT_ARCH_X86_64);
#elif defined(__aarch64__)
	return box_filter_of(AUDIT_ARCH_AARCH64);
#else
	return NULL;
#endif
}
