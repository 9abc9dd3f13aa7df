/* SPDX-License-Identifier: MIT */
/*
 * System calls of a child that shares the worker's memory: errno and all of
 * the C library's per-thread state are the worker's, so they answer with
 * -errno and touch nothing.
 */
#ifndef PSUP_WORKER_RAW_H
#define PSUP_WORKER_RAW_H

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The child runs on a stack that no sanitizer knows. */
#define CHILD_CODE __attribute__((no_sanitize("address", "undefined")))

#if defined(__x86_64__)
CHILD_CODE static inline long
raw_syscall(long nr, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory", "cc");
	return ret;
}
#elif defined(__aarch64__)
CHILD_CODE static inline long
raw_syscall(long nr, long a, long b, long c, long d, long e)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory", "cc");
	return x0;
}
#else
/* The last resort: right where the worker waits until the child has exec'd. */
static inline long
raw_syscall(long nr, long a, long b, long c, long d, long e)
{
	long ret = syscall(nr, a, b, c, d, e);

	return ret < 0 ? -errno : ret;
}
#endif

#endif
