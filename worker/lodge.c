/* SPDX-License-Identifier: MIT */
/*
 * See lodge.h. The worker puts a request into a page that both have, rings, and
 * waits for the clone: a porter is in its header, or it is not there, as if the
 * worker had cloned it. Called by spawn_clone.c and porter.c.
 */
#include "worker/lodge.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/fault.h"
#include "shm/layout.h"
#include "worker/clone3.h"
#include "worker/spawn_child.h"

#define LODGES  8u   /* of a worker at once */
#define IDLE_MS 1000 /* without a start: then it goes */
#define STEP_NS (10 * NSEC_PER_MSEC)
#define LAST_NS (2 * NSEC_PER_SEC) /* then it is killed */

enum { FREE, ASKED, DONE, GONE };

/* What both have. */
struct page {
	_Atomic uint32_t turn; /* whose it is: a futex */
	struct spawn *s;
	struct clone_args args;
	long pid; /* of the porter, or -errno */
	int pidfd;
};

static struct lodge {
	struct page *page; /* NULL: none */
	int32_t box_pid;
	uint64_t box_start;
	int pidfd, bell;
	uint64_t asked; /* which request was its last */
} lodges[LODGES];
static _Alignas(16) char stack[65536]; /* of a lodge, in its copy */
static uint64_t requests;
static int worker_fd = -1; /* our own pidfd */

/* The headers that a lodge has mapped for its porters. */
static struct mapped {
	const struct spawn *s;
	uint64_t serial; /* of the start that it was mapped for */
	void *at;
} mapped[SPAWN_MAX];

CHILD_CODE int
lodge_is_orphan(void)
{
	struct pollfd p = {.fd = worker_fd, .events = POLLIN};
	struct timespec now = {0};

	return worker_fd >= 0 &&
	    raw_syscall(SYS_ppoll, (long)&p, 1, (long)&now, 0,
	        sizeof(uint64_t)) != 0;
}

/* Gives back what nobody uses: a ring that is gone would stay in memory. */
CHILD_CODE static void
unmap_old(const void *but)
{
	for (size_t i = 0; i < SPAWN_MAX; i++) {
		struct mapped *m = &mapped[i];

		if (m->at == NULL ||
		    (m->s->serial == m->serial && !spawn_released(m->s)))
			continue;
		if (m->at != but)
			(void)munmap(m->at, SHM_PAGE);
		m->at = NULL;
	}
}

/* Lays the ring's header where the worker has it. There is nothing of ours: all
 * that we need was there before, and so is with the worker. */
CHILD_CODE static int
map_header(const struct spawn *s)
{
	void *at = s->args.hdr;

	unmap_old(at);
	for (size_t i = 0; i < SPAWN_MAX; i++) {
		if (mapped[i].at != NULL)
			continue;
		if (mmap(at, SHM_PAGE, PROT_READ | PROT_WRITE,
		        MAP_SHARED | MAP_FIXED, s->args.ring_fd,
		        0) == MAP_FAILED)
			return -errno;
		mapped[i] = (struct mapped){s, s->serial, at};
		return 0;
	}
	return -ENOMEM;
}

CHILD_CODE static void
serve(struct page *p)
{
	int rc = map_header(p->s);

	FAULT("lodge.before-clone");
	p->pid = rc < 0 ? rc
			: clone3_start(&p->args, spawn_porter, p->s);
	FAULT("lodge.after-clone");
	atomic_store(&p->turn, DONE);
	(void)syscall(SYS_futex, &p->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* The lodge. Ends with the keeper, with its worker, and where nobody asks. */
CHILD_CODE static int
lodge_main(void *arg)
{
	const struct lodge *l = arg;
	struct pollfd p[] = {{.fd = l->bell, .events = POLLIN},
	    {.fd = worker_fd, .events = POLLIN}};
	int32_t keeper = l->page->s->args.keeper_pid;
	uint32_t free = FREE;
	eventfd_t rings;
	int n;

	(void)prctl(PR_SET_NAME, "psup-porter");
	(void)prctl(PR_SET_DUMPABLE, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == keeper && (p[1].revents & POLLIN) == 0) {
		n = poll(p, NELEMS(p), IDLE_MS);
		if (n == 0 &&
		    atomic_compare_exchange_strong(&l->page->turn, &free, GONE))
			break;
		free = FREE;
		if (n > 0 && p[0].revents != 0 &&
		    eventfd_read(l->bell, &rings) == 0 &&
		    atomic_load(&l->page->turn) == ASKED &&
		    (p[1].revents & POLLIN) == 0)
			serve(l->page);
		if (atomic_load(&l->page->turn) == GONE)
			break;
	}
	child_exit();
}

/* Forgets it, which ends if it has not. */
static void
lodge_drop(struct lodge *l)
{
	if (l->page == NULL)
		return;
	(void)syscall(SYS_pidfd_send_signal, l->pidfd, SIGKILL, NULL, 0);
	(void)munmap(l->page, SHM_PAGE);
	(void)close(l->pidfd);
	(void)close(l->bell);
	l->page = NULL;
}

static bool
is_dead(const struct lodge *l)
{
	struct pollfd p = {.fd = l->pidfd, .events = POLLIN};

	return poll(&p, 1, 0) != 0;
}

int
lodge_begin(void)
{
	worker_fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	return worker_fd < 0 ? -errno : 0;
}

void
lodge_rest(void)
{
	for (size_t i = 0; i < LODGES; i++)
		if (lodges[i].page != NULL && is_dead(&lodges[i]))
			lodge_drop(&lodges[i]);
}

/* A copy of ours with our descriptors, and with all contexts. */
static bool
lodge_make(struct lodge *l, struct spawn *s)
{
	const struct ctl_start *o = s->args.order;
	struct clone_args args = {
	    .flags = CLONE_FILES | CLONE_PARENT | CLONE_PIDFD,
	    .pidfd = (uintptr_t)&l->pidfd,
	    .stack = (uintptr_t)stack,
	    .stack_size = sizeof(stack)};
	void *page = mmap(NULL, SHM_PAGE, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long pid = -1;

	l->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (page != MAP_FAILED && l->bell >= 0) {
		l->page = page;
		l->page->s = s;
		l->box_pid = o->box_pid;
		l->box_start = o->box_start;
		spawn_lend_all(true);
		pid = clone3_start(&args, lodge_main, l);
		spawn_lend_all(false);
		(void)madvise(page, SHM_PAGE, MADV_DONTFORK);
	}
	if (pid > 0)
		return true;
	if (page != MAP_FAILED)
		(void)munmap(page, SHM_PAGE);
	if (l->bell >= 0)
		(void)close(l->bell);
	l->page = NULL;
	return false;
}

/* That of its box, whose turn is ASKED; NULL: there can be none. */
static struct lodge *
lodge_of(struct spawn *s)
{
	const struct ctl_start *o = s->args.order;
	struct lodge *l = &lodges[0];
	uint32_t free = FREE;

	for (size_t i = 0; i < LODGES; i++) {
		struct lodge *it = &lodges[i];

		if (it->page != NULL && it->box_pid == o->box_pid &&
		    it->box_start == o->box_start) {
			l = it;
			break;
		}
		if (l->page != NULL &&
		    (it->page == NULL || it->asked < l->asked))
			l = it;
	}
	if (l->page != NULL && l->box_pid == o->box_pid &&
	    l->box_start == o->box_start && !is_dead(l) &&
	    atomic_compare_exchange_strong(&l->page->turn, &free, ASKED))
		return l;
	lodge_drop(l);
	if (!lodge_make(l, s))
		return NULL;
	atomic_store(&l->page->turn, ASKED);
	return l;
}

/* Has it done it? Not where it died, or had to, before it said so. */
static bool
await(struct lodge *l)
{
	const struct timespec step = {.tv_nsec = (long)STEP_NS};
	uint64_t until = clock_boot_ns() + LAST_NS;

	while (atomic_load(&l->page->turn) != DONE) {
		(void)syscall(SYS_futex, &l->page->turn, FUTEX_WAIT, ASKED,
		    &step, NULL, 0);
		if (atomic_load(&l->page->turn) == DONE)
			break;
		if (clock_boot_ns() > until)
			(void)syscall(SYS_pidfd_send_signal, l->pidfd, SIGKILL,
			    NULL, 0);
		if (is_dead(l))
			return atomic_load(&l->page->turn) == DONE;
	}
	return true;
}

long
lodge_clone(struct spawn *s, struct clone_args *args)
{
	struct ring_header *hdr = s->args.hdr;
	struct lodge *l = s->lent ? lodge_of(s) : NULL;
	int *pidfd = (int *)(uintptr_t)args->pidfd;
	struct page *p;
	bool done;
	long pid;

	if (l == NULL)
		return -ENOSYS;
	p = l->page;
	p->s = s;
	p->args = *args;
	p->args.pidfd = (uintptr_t)&p->pidfd;
	p->pidfd = -1;
	l->asked = ++requests;
	(void)eventfd_write(l->bell, 1);
	done = await(l);
	pid = done ? p->pid : (long)atomic_load(&hdr->porter);
	*pidfd = p->pidfd;
	if (!done && pid <= 0)
		pid = -ENOSYS; /* it is dead, and has cloned nothing */
	atomic_store(&p->turn, FREE);
	if (!done)
		lodge_drop(l);
	return pid;
}
