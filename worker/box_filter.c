/* SPDX-License-Identifier: MIT */
/* See box_filter.h. */
#include "worker/box_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "common/check.h"
#include "worker/box_filter_nr.h"

/* Namespaces; and a child of the caller's parent, which is the keeper.
 * CLONE_NEWTIME is no flag of clone(2): its bit lies in the exit signal. */
#define NOT_IN_CLONE                                                           \
	((uint32_t)(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |             \
		    CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |              \
		    CLONE_NEWNET | CLONE_PARENT))

#define X32_CALL 0x40000000u
#define CALLS	 1024u /* more than there are; none is refused beyond */
#define SPANS	 128u
#define FIELD(f)                                                               \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, f))
/* The low half: both architectures are little endian. */
#define ARG(n) FIELD(args[n])
#define JUMP(op, k, yes, no)                                                   \
	BPF_JUMP(BPF_JMP | (op) | BPF_K, (uint32_t)(k), yes, no)
#define RET(what)   BPF_STMT(BPF_RET | BPF_K, (what))
#define FAIL(error) RET(SECCOMP_RET_ERRNO | (error))

/* What becomes of a call: where in the end of a program it is decided. */
enum verdict {
	TO_ALLOW,
	TO_EPERM,
	TO_ENOSYS,
	TO_CLONE,
	TO_IOCTL = TO_CLONE + 4,
	TO_SOCKET = TO_IOCTL + 6
};

/* The kernel looks at the low 32 bits of clone's flags, the first argument on
 * both, of an ioctl's request and of a socket's family; so does this. A line
 * discipline is a module that the kernel loads for whoever has a terminal. Of
 * families those that a program of the network needs: others are modules, too,
 * and AF_VSOCK leads to the machine that this one runs on, whatever namespace
 * of the network it is asked in. */
static const struct sock_filter verdicts[] = {
    RET(SECCOMP_RET_ALLOW), FAIL(EPERM), FAIL(ENOSYS),
    /* TO_CLONE */
    ARG(0), JUMP(BPF_JSET, NOT_IN_CLONE, 0, 1), FAIL(EPERM),
    RET(SECCOMP_RET_ALLOW),
    /* TO_IOCTL */
    ARG(1), JUMP(BPF_JEQ, TIOCSTI, 2, 0), JUMP(BPF_JEQ, TIOCLINUX, 1, 0),
    JUMP(BPF_JEQ, TIOCSETD, 0, 1), FAIL(EPERM), RET(SECCOMP_RET_ALLOW),
    /* TO_SOCKET */
    ARG(0), JUMP(BPF_JEQ, AF_UNIX, 3, 0), JUMP(BPF_JEQ, AF_INET, 2, 0),
    JUMP(BPF_JEQ, AF_INET6, 1, 0), JUMP(BPF_JEQ, AF_NETLINK, 0, 1),
    RET(SECCOMP_RET_ALLOW), FAIL(EAFNOSUPPORT)};

/* One call; or all from this one to the next span's. */
struct span {
	uint32_t from;
	enum verdict to;
};

#define TO(error) ((error) == EPERM ? TO_EPERM : TO_ENOSYS)

static const struct span x86_64_calls[] = {
    {56, TO_CLONE}, {16, TO_IOCTL}, {41, TO_SOCKET}, {53, TO_SOCKET},
#define BOX_CALL(name, x86, arm, error) {x86, TO(error)},
#define BOX_CALL_X86(name, x86, error)	{x86, TO(error)},
#include "worker/box_filter.def"
#undef BOX_CALL
#undef BOX_CALL_X86
};

static const struct span arm64_calls[] = {
    {220, TO_CLONE}, {29, TO_IOCTL}, {198, TO_SOCKET}, {199, TO_SOCKET},
#define BOX_CALL(name, x86, arm, error) {arm, TO(error)},
#define BOX_CALL_X86(name, x86, error)
#include "worker/box_filter.def"
#undef BOX_CALL
#undef BOX_CALL_X86
};

/* Wrong by one would be a hole; the compiler sees to it. */
#if defined(__x86_64__)
#define BOX_CALL(name, x86, arm, error)                                        \
	_Static_assert(__NR_##name == (x86) && (x86) < CALLS, #name);
#define BOX_CALL_X86(name, x86, error) BOX_CALL(name, x86, 0, error)
_Static_assert(__NR_clone == 56 && __NR_ioctl == 16 && __NR_socket == 41 &&
		   __NR_socketpair == 53,
    "by argument");
#include "worker/box_filter.def"
#elif defined(__aarch64__)
#define BOX_CALL(name, x86, arm, error)                                        \
	_Static_assert(__NR_##name == (arm) && (arm) < CALLS, #name);
#define BOX_CALL_X86(name, x86, error)
_Static_assert(__NR_clone == 220 && __NR_ioctl == 29 && __NR_socket == 198 &&
		   __NR_socketpair == 199,
    "by argument");
#include "worker/box_filter.def"
#endif

#define HEAD 4u

struct program {
	struct sock_fprog prog;
	struct sock_filter code[HEAD + SPANS + NELEMS(verdicts)];
};

static unsigned
add_span(struct span *s, unsigned n, uint32_t from, enum verdict to)
{
	if (n > 0 && s[n - 1].to == to)
		return n;
	CHECK(n < SPANS);
	s[n] = (struct span){from, to};
	return n + 1;
}

static enum verdict
verdict_of(const struct span *calls, size_t n, uint32_t nr)
{
	for (size_t i = 0; i < n; i++)
		if (calls[i].from == nr)
			return calls[i].to;
	return TO_ALLOW;
}

/* A jump between any two spans. The kernel runs a filter for each number there
 * is when it is installed, and each start installs one: in a list that took
 * longer than the rest of entering a box. */
static void
put_tree(struct sock_filter *code, unsigned at, const struct span *s,
    unsigned n, unsigned end)
{
	unsigned half = n / 2;
	unsigned low = half == 1 ? end + s[0].to : at + 1;
	unsigned high = n - half == 1 ? end + s[half].to : at + half;

	code[at] = (struct sock_filter)JUMP(BPF_JGE, s[half].from,
	    (uint8_t)(high - at - 1), (uint8_t)(low - at - 1));
	if (half > 1)
		put_tree(code, low, s, half, end);
	if (n - half > 1)
		put_tree(code, high, s + half, n - half, end);
}

static const struct sock_fprog *
build(struct program *p, uint32_t arch, const struct span *calls, size_t n)
{
	const struct sock_filter head[HEAD] = {FIELD(arch),
	    JUMP(BPF_JEQ, arch, 1, 0), RET(SECCOMP_RET_KILL_PROCESS),
	    FIELD(nr)};
	struct span spans[SPANS];
	unsigned count = 0, end;

	if (p->prog.len != 0)
		return &p->prog;
	for (uint32_t nr = 0; nr < CALLS; nr++)
		count = add_span(spans, count, nr, verdict_of(calls, n, nr));
	if (arch == AUDIT_ARCH_X86_64)
		count = add_span(spans, count, X32_CALL, TO_ENOSYS);
	end = HEAD + count - 1;
	memcpy(p->code, head, sizeof(head));
	put_tree(p->code, HEAD, spans, count, end);
	memcpy(p->code + end, verdicts, sizeof(verdicts));
	p->prog.filter = p->code;
	p->prog.len = (unsigned short)(end + NELEMS(verdicts));
	CHECK(p->prog.len <= UINT8_MAX); /* a jump reaches all of it */
	return &p->prog;
}

const struct sock_fprog *
box_filter_of(uint32_t arch)
{
	static struct program x86_64, arm64;

	if (arch == AUDIT_ARCH_X86_64)
		return build(&x86_64, arch, x86_64_calls, NELEMS(x86_64_calls));
	return arch == AUDIT_ARCH_AARCH64
	    ? build(&arm64, arch, arm64_calls, NELEMS(arm64_calls))
	    : NULL;
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
