/* SPDX-License-Identifier: MIT */
/*
 * The spill file of a session, seen from its worker, which never touches it: a
 * process of its own writes (spill_writer.c). Its queue is the ring: output
 * waits before it would overwrite what is not written yet. Where the writer
 * comes no further for LOOKS looks, a millisecond apart at least, the file is
 * given up; so what counts is time in which this worker ran. Called by pump.c
 * around every splice, by child.c before an end is told.
 *
 * Path and cap are noted in the ring's file, behind the data, for a successor.
 */
#include "worker/spill.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fault.h"
#include "common/log.h"
#include "shm/lent_map.h"
#include "shm/ring_math.h"
#include "worker/ladder.h"
#include "worker/spill_writer.h"

#define LOOKS        1000u
#define RESTARTS_MAX 3u /* of a writer that is killed and wrote nothing */
#define LEFT_BEATS   3u /* from END or UNDO to SIGKILL */
#define PATH_BYTES   4096u

#define GET(field) atomic_load_explicit(&(field), memory_order_acquire)

struct spill {
	struct spill_page *page;
	pid_t pid;      /* 0: reaped */
	uint64_t seen;  /* how far it was at the last look */
	unsigned looks; /* without progress */
	unsigned restarts, beats;
	LIST_ENTRY(spill) link; /* left */
};

/* Writers whose session needs them no more, until they are gone. */
static LIST_HEAD(, spill) left = LIST_HEAD_INITIALIZER(left);

/* Where the path stands in the ring's file. */
static off_t
path_offset(const struct child *c)
{
	return (off_t)(RING_DATA_OFFSET + c->ring.hdr->head_bytes +
	    c->ring.tail_cap);
}

static void
order(struct spill *s, uint32_t flags, uint32_t more)
{
	atomic_fetch_or(&s->page->order, flags);
	atomic_fetch_add(&s->page->order, more);
	(void)syscall(SYS_futex, &s->page->order, FUTEX_WAKE, INT_MAX, NULL,
	    NULL, 0);
}

/* Forks the writer. 0 or -errno. */
static int
start_writer(struct child *c, struct spill *s, const char *path, uint64_t max,
    bool again)
{
	struct spill_job job = {.page = s->page, .ring = &c->ring,
	    .path = path, .max = max, .again = again, .worker = getpid(),
	    .null_fd = c->w->null_fd};
	pid_t pid;

	atomic_store(&s->page->state, SPILLER_OPENS);
	lent_map_forked(c->ring.hdr, true);
	pid = FAULT_FAILS("spill.fork") ? (errno = EAGAIN, -1) : fork();
	if (pid == 0)
		spill_writer(&job);
	if (pid < 0)
		pid = -errno;
	lent_map_forked(c->ring.hdr, false);
	if (pid < 0)
		return pid;
	s->pid = pid;
	return 0;
}

/* What is shared with a writer, which there is none of yet. 0 or -errno. */
static int
make_page(struct child *c)
{
	struct spill *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return -ENOMEM;
	s->page = mmap(NULL, sizeof(*s->page), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->page == MAP_FAILED) {
		free(s);
		return -ENOMEM;
	}
	c->spill = s;
	return 0;
}

static void
forget(struct spill *s)
{
	munmap(s->page, sizeof(*s->page));
	free(s);
}

/* Was it killed, by whomever? */
static bool
is_dead(struct spill *s)
{
	if (s->pid > 0 && waitpid(s->pid, NULL, WNOHANG) != 0)
		s->pid = 0;
	return s->pid == 0;
}

/* The session goes on without it. */
static void
leave(struct child *c, uint32_t flags)
{
	if (c->spill == NULL)
		return;
	order(c->spill, flags, 0);
	LIST_INSERT_HEAD(&left, c->spill, link);
	c->spill = NULL;
}

void
spill_reap(void)
{
	struct spill *s, *next;

	LIST_FOREACH_SAFE(s, &left, link, next) {
		if (is_dead(s)) {
			LIST_REMOVE(s, link);
			forget(s);
		} else if (++s->beats == LEFT_BEATS) {
			(void)kill(s->pid, SIGKILL);
		}
	}
}

/* Writes no more. */
static void
give_up(struct child *c, int error)
{
	if (!is_dead(c->spill))
		(void)kill(c->spill->pid, SIGKILL);
	if (GET(c->ring.hdr->spill_state) == SPILL_WRITING)
		atomic_store(&c->ring.hdr->spill_state,
		    (uint64_t)(uint32_t)error << 32 | SPILL_ERROR);
	log_event(LOG_WARN, "spill-ends", KV("session", c->sid.v),
	    KV("error", err_name(error)));
	leave(c, SPILL_END);
}

void
spill_close(struct child *c)
{
	leave(c, SPILL_END);
}

void
spill_undo(struct child *c)
{
	if (c->spill == NULL)
		return;
	c->spill->looks = 0;
	order(c->spill, SPILL_UNDO, 0);
}

bool
spill_undone(struct child *c)
{
	struct spill *s = c->spill;

	if (s != NULL && GET(s->page->state) < SPILLER_FAILED &&
	    !is_dead(s) && ++s->looks <= LOOKS) {
		c->spill_ns = c->w->now_ns + SPILL_LOOK_NS;
		return false;
	}
	leave(c, SPILL_END);
	return true;
}

int
spill_create(struct child *c, const char *path, uint64_t max, bool again)
{
	struct spill *s = c->spill;
	size_t len = strlen(path) + 1;
	ssize_t n;
	int rc;

	if (s == NULL) {
		if (len > PATH_BYTES)
			return -ENAMETOOLONG;
		n = pwrite(c->ring.fd, path, len, path_offset(c));
		if (n != (ssize_t)len)
			return n < 0 ? -errno : -ENOSPC;
		rc = make_page(c);
		if (rc < 0)
			return rc;
		rc = start_writer(c, c->spill, path, max, again);
		if (rc == 0)
			return -EINPROGRESS;
		forget(c->spill);
		c->spill = NULL;
		return rc;
	}
	switch (GET(s->page->state)) {
	case SPILLER_OPENS:
		if (!is_dead(s))
			return -EINPROGRESS;
		/* killed by somebody, perhaps with the file made */
		rc = ++s->restarts > RESTARTS_MAX
		    ? -EPIPE
		    : start_writer(c, s, path, max, true);
		return rc < 0 ? rc : -EINPROGRESS;
	case SPILLER_FAILED:
		rc = -atomic_load(&s->page->error);
		leave(c, SPILL_END);
		return rc;
	default:
		return 0; /* a try before this one came so far, too */
	}
}

/* Goes on with a file that was made. */
static int
go_on(struct child *c)
{
	char path[PATH_BYTES];
	ssize_t n = pread(c->ring.fd, path, sizeof(path), path_offset(c));

	if (n <= 0 || memchr(path, 0, (size_t)n) == NULL)
		return n < 0 ? -errno : -EBADMSG;
	return start_writer(c, c->spill, path, 0, false);
}

/* The fork takes longer than all else of a session that is taken over, and what
 * is written after it a fault for each page: the others' output comes first. */
void
spill_take_over(struct child *c)
{
	int rc;

	if (GET(c->ring.hdr->spill_state) != SPILL_WRITING)
		return;
	rc = make_page(c);
	if (rc < 0) {
		atomic_store(&c->ring.hdr->spill_state,
		    (uint64_t)(uint32_t)-rc << 32 | SPILL_ERROR);
		log_event(LOG_WARN, "spill-ends", KV("session", c->sid.v),
		    KV("error", err_name(-rc)));
		return;
	}
	c->spill_ns = c->w->now_ns + SPILL_LOOK_NS;
}

/* Is there still one that writes? One that ended says why in the header. */
static bool
is_there(struct child *c)
{
	uint64_t state;

	if (c->spill == NULL)
		return false;
	if (GET(c->spill->page->state) < SPILLER_FAILED)
		return true;
	state = GET(c->ring.hdr->spill_state);
	if ((uint32_t)state != SPILL_FULL)
		log_event(LOG_WARN, "spill-ends", KV("session", c->sid.v),
		    KV("error", err_name((int)(state >> 32))));
	leave(c, SPILL_END);
	return false;
}

/* It is waited for: has it come further? One that was killed is followed by
 * another. False: it is given up. */
static bool
look(struct child *c)
{
	struct spill *s = c->spill;
	uint64_t pos = GET(c->ring.hdr->spill_pos);
	int rc = 0;

	if (pos != s->seen) {
		s->seen = pos;
		s->looks = s->restarts = 0;
	}
	if (is_dead(s)) {
		if (!is_there(c))
			return false;
		if (GET(c->ring.hdr->spill_state) != SPILL_WRITING) {
			/* it came to its end, or the header is damaged */
			leave(c, SPILL_END);
			return false;
		}
		rc = ++s->restarts > RESTARTS_MAX ? -EPIPE : go_on(c);
	}
	if (rc == 0 && ++s->looks > LOOKS)
		rc = -ETIMEDOUT;
	if (rc < 0)
		give_up(c, -rc);
	return rc == 0;
}

void
spill_due(struct child *c)
{
	if (c->state == CHILD_FAILED)
		child_say_failed(c);
	else if (c->state < CHILD_ENDED && is_there(c) && is_dead(c->spill))
		(void)look(c);
}

void
spill_step(struct child *c)
{
	if (is_there(c))
		order(c->spill, 0, SPILL_MORE);
}

size_t
spill_room(struct child *c, size_t max)
{
	const struct ring_header *hdr = c->ring.hdr;
	uint64_t pos, head = ring_pos(&c->ring), end;

	if (!is_there(c))
		return max;
	pos = GET(hdr->spill_pos);
	if (pos >= GET(hdr->spill_max))
		return max;
	end = (pos < hdr->head_bytes ? hdr->head_bytes : pos) +
	    c->ring.tail_cap;
	if (end > head)
		return end - head < max ? (size_t)(end - head) : max;
	return look(c) ? 0 : max;
}

bool
spill_waits(struct child *c)
{
	const struct ring_header *hdr = c->ring.hdr;
	uint64_t head;

	if (!is_there(c))
		return false;
	head = atomic_load(&hdr->head);
	if (GET(hdr->spill_pos) >= head && head <= GET(hdr->spill_max))
		return false;
	if (!look(c))
		return false;
	c->spill_ns = c->w->now_ns + SPILL_LOOK_NS;
	return true;
}
