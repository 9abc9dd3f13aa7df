/* SPDX-License-Identifier: MIT */
/* The C library has no clone3 that begins on a stack of one's own. */
#include "worker/clone3.h"

#include <linux/sched.h>
#include <sys/syscall.h>

long
clone3_start(struct clone_args *args, int (*fn)(void *), void *arg)
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
