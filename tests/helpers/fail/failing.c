/* SPDX-License-Identifier: MIT */
/*
 * What the programs of a test call instead of the C library: counts, fails
 * when the test says so (fail.h), else does what was asked. Linked into the
 * program, it stands before the library for all others, too. Nothing here
 * allocates.
 */
#include "fail.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define OURS __attribute__((visibility("default")))

static struct fail_page *page;
static struct fail_process nobody, *self = &nobody;

/* Which program is this? FAIL_PROGRAM is the CMake file's word. */
static const enum fail_role role = FAIL_PROGRAM;

/* An entry of the test's file; before that, and without one, all works. */
__attribute__((constructor)) static void
attach(void)
{
	const char *path = getenv("PSUP_TEST_FAIL");
	int fd = path == NULL ? -1
			      : (int)syscall(SYS_openat, AT_FDCWD, path,
	                          O_RDWR | O_CLOEXEC, 0);
	uint32_t n;

	if (fd < 0)
		return;
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED,
	    fd, 0);
	syscall(SYS_close, fd);
	if (page == MAP_FAILED) {
		page = NULL;
		return;
	}
	n = atomic_fetch_add(&page->used, 1);
	if (n >= FAIL_PROCESSES)
		abort();
	memcpy(page->process[n].order, page->first[role],
	    sizeof(page->process[n].order));
	page->process[n].role = role;
	atomic_store(&page->process[n].pid, (int32_t)getpid());
	self = &page->process[n];
}

/* Is it this one's turn to fail? What a child does between clone and exec is
 * counted as its worker's. */
static bool
fails(enum fail_call what)
{
	struct fail_order *o;

	if (self == &nobody)
		return false;
	atomic_fetch_add_explicit(&self->calls[what], 1, memory_order_relaxed);
	o = &self->order[what];
	if (atomic_load(&o->times) == 0)
		return false;
	if (atomic_load(&o->skip) > 0) {
		atomic_fetch_sub(&o->skip, 1);
		return false;
	}
	atomic_fetch_add(&self->failed[what], 1);
	if (atomic_load(&o->times) > 0)
		atomic_fetch_sub(&o->times, 1);
	errno = o->error;
	return true;
}

/* The library's own. */
#define REAL(type, name, ...)                                        \
	static type(*real)(__VA_ARGS__);                             \
	if (real == NULL)                                            \
	*(void **)&real = dlsym(RTLD_NEXT, name)

/* ----------------------------------------------------------------- memory */

#ifndef __SANITIZE_ADDRESS__

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void __libc_free(void *p);

static void *
counted(void *p)
{
	if (p != NULL)
		atomic_fetch_add_explicit(&self->live, 1,
		    memory_order_relaxed);
	return p;
}

OURS void *
malloc(size_t size)
{
	return fails(FAIL_MALLOC) ? NULL : counted(__libc_malloc(size));
}

OURS void *
calloc(size_t n, size_t size)
{
	return fails(FAIL_MALLOC) ? NULL : counted(__libc_calloc(n, size));
}

OURS void *
realloc(void *p, size_t size)
{
	if (p == NULL)
		return malloc(size);
	return fails(FAIL_MALLOC) ? NULL : __libc_realloc(p, size);
}

OURS void *
reallocarray(void *p, size_t n, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(n, size, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, all);
}

OURS void
free(void *p)
{
	if (p != NULL)
		atomic_fetch_sub_explicit(&self->live, 1,
		    memory_order_relaxed);
	__libc_free(p);
}

#endif

/* ----------------------------------------------------------------- clocks */

OURS int
clock_gettime(clockid_t id, struct timespec *ts)
{
	int64_t off = 0, ns;

	if (syscall(SYS_clock_gettime, id, ts) != 0)
		return -1;
	if (page != NULL && (id == CLOCK_REALTIME ||
	                        id == CLOCK_REALTIME_COARSE))
		off = atomic_load(&page->wall_ns);
	else if (page != NULL && id == CLOCK_BOOTTIME)
		off = atomic_load(&page->boot_ns);
	ns = ts->tv_nsec + off % 1000000000;
	ts->tv_sec += off / 1000000000 + (ns < 0 ? -1 : ns / 1000000000);
	ts->tv_nsec = ns < 0 ? ns + 1000000000 : ns % 1000000000;
	return 0;
}

/* A time on the moved clock, as the kernel has it; what was armed before the
 * clock moved is armed anew with the next turn of its owner's loop. */
OURS int
timerfd_settime(int fd, int flags, const struct itimerspec *new,
    struct itimerspec *old)
{
	int64_t off = page == NULL ? 0 : atomic_load(&page->boot_ns), ns;
	struct itimerspec at = *new;

	if ((flags & TFD_TIMER_ABSTIME) && off != 0 &&
	    (at.it_value.tv_sec != 0 || at.it_value.tv_nsec != 0)) {
		ns = at.it_value.tv_nsec - off % 1000000000;
		at.it_value.tv_sec -= off / 1000000000;
		at.it_value.tv_sec += ns < 0 ? -1 : ns / 1000000000;
		at.it_value.tv_nsec = ns < 0 ? ns + 1000000000
					     : ns % 1000000000;
		if (at.it_value.tv_sec < 0)
			at.it_value = (struct timespec){0, 1};
	}
	return (int)syscall(SYS_timerfd_settime, fd, flags, &at, old);
}

/* ----------------------------------------------------------- system calls */

OURS int
pipe2(int fds[2], int flags)
{
	return fails(FAIL_PIPE) ? -1 : (int)syscall(SYS_pipe2, fds, flags);
}

OURS int
accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags)
{
	if (fails(FAIL_ACCEPT))
		return -1;
	return (int)syscall(SYS_accept4, fd, sa, len, flags);
}

OURS int
memfd_create(const char *name, unsigned flags)
{
	return fails(FAIL_MEMFD) ? -1
				 : (int)syscall(SYS_memfd_create, name, flags);
}

static int
open_at(int dir, const char *path, int flags, mode_t mode)
{
	return fails(FAIL_OPEN) ? -1
				: (int)syscall(SYS_openat, dir, path, flags,
	                            mode);
}

OURS int
open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return open_at(AT_FDCWD, path, flags, mode);
}

OURS int
openat(int dir, const char *path, int flags, ...)
{
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return open_at(dir, path, flags, mode);
}

/* The library's own calls no open() that could be stood before. */
OURS DIR *
opendir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	if (fd >= 0 && d == NULL)
		syscall(SYS_close, fd);
	return d;
}

OURS int
fallocate(int fd, int mode, off_t at, off_t len)
{
	if (!(mode & FALLOC_FL_PUNCH_HOLE) && fails(FAIL_FALLOCATE))
		return -1;
	return (int)syscall(SYS_fallocate, fd, mode, at, len);
}

OURS int
posix_fallocate(int fd, off_t at, off_t len)
{
	if (fails(FAIL_FALLOCATE))
		return errno;
	return syscall(SYS_fallocate, fd, 0, at, len) == 0 ? 0 : errno;
}

OURS ssize_t
pwrite(int fd, const void *p, size_t n, off_t at)
{
	return fails(FAIL_WRITE) ? -1 : syscall(SYS_pwrite64, fd, p, n, at);
}

OURS ssize_t
splice(int in, off_t *in_at, int out, off_t *out_at, size_t n, unsigned flags)
{
	if (fails(FAIL_SPLICE))
		return -1;
	return syscall(SYS_splice, in, in_at, out, out_at, n, flags);
}

OURS int
socketpair(int domain, int type, int protocol, int fds[2])
{
	if (fails(FAIL_SOCKETPAIR))
		return -1;
	return (int)syscall(SYS_socketpair, domain, type, protocol, fds);
}

OURS int
clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
	int *pidfd;
	va_list ap;

	REAL(int, "clone", int (*)(void *), void *, int, void *, int *);
	va_start(ap, arg);
	pidfd = va_arg(ap, int *);
	va_end(ap);
	return fails(FAIL_CLONE) ? -1 : real(fn, stack, flags, arg, pidfd);
}

/* worker/clone3.h; --wrap of the linker's. */
#ifdef FAIL_CLONE3
struct clone_args;
long __real_clone3_start(struct clone_args *args, int (*fn)(void *), void *arg);
long __wrap_clone3_start(struct clone_args *args, int (*fn)(void *), void *arg);

long
__wrap_clone3_start(struct clone_args *args, int (*fn)(void *), void *arg)
{
	return fails(FAIL_CLONE) ? -errno : __real_clone3_start(args, fn, arg);
}
#endif
