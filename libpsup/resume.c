/* SPDX-License-Identifier: MIT */
/*
 * A connection that broke while its server lives: the master died, and the
 * keeper starts another. It is taken up again, and what may be repeated
 * (proto.def says what) is asked again, in its old order and under its old
 * numbers, once hello has said that it is the same server. All else is answered
 * PSUP_ERR_LOST; where that is everything, the next request takes it up. Called
 * by client.c and incoming.c.
 *
 * Nothing here waits: until the next try is due the handle's descriptor is a
 * timer, so that whoever polls it need not know.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/procfs.h"
#include "internal.h"

/* Connections that broke SHORT_NS or less after their hello was answered, tries
 * that met no listener, and those whose scope had no room for its defaults: after
 * so many of them in a row it is the request, the server or the scope that cannot
 * be helped. Where the keeper listens and no master answers there is always
 * another try. Each waits a little longer. */
#define SHORT_NS (100 * NSEC_PER_MSEC)
#define SHORT_MAX 50u
#define PAUSE_NS  (5 * NSEC_PER_MSEC)
#define PAUSES_MAX 40u
#define CONNECT_MS 10 /* to a backlog that is full; then the next try */

bool
keeper_lives(const char *dir)
{
	char path[RUNDIR_PATH_MAX + 8], text[24] = "";
	struct procfs_stat st;
	ssize_t n = -1;
	int fd, pid;

	snprintf(path, sizeof(path), "%s/lock", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	pid = n > 0 ? atoi(text) : 0;
	/* a dead one whose parent has not asked how still takes signals */
	return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM) &&
	    !(procfs_stat(pid, &st) == 0 && procfs_has_ended(&st));
}

int
request_lost(struct psup *p, const struct request *r, const char *code,
    const char *why)
{
	const char *rule = proto_method_repeat(r->method);
	char param[32];

	snprintf(param, sizeof(param), "%.*s", (int)strcspn(rule, "="), rule);
	if (r->repeats || rule[0] == '*')
		return error_set(p, PSUP_ERR_LOST, code, "", "%s: %s",
		    proto_method_name(r->method), why);
	return error_set(p, PSUP_ERR_LOST, code, param,
	    "%s: %s; it may have been done, and %s%s%s",
	    proto_method_name(r->method), why,
	    param[0] != '\0' ? "is asked for again only with " : "",
	    param[0] != '\0' ? param : "is not asked for again",
	    strchr(rule, '=') != NULL ? strchr(rule, '=') : "");
}

/* Lets a timer stand for the connection until the next try. */
static int
resume_later(struct psup *p)
{
	struct itimerspec when = {.it_value.tv_nsec = 1};
	unsigned n = p->resume.shorts + p->resume.tries;

	if (p->resume.shorts >= SHORT_MAX)
		return -ETIMEDOUT;
	p->fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (p->fd < 0)
		return -errno;
	when.it_value.tv_nsec += (long)(PAUSE_NS *
	    (n < PAUSES_MAX ? n : PAUSES_MAX));
	timerfd_settime(p->fd, 0, &when, NULL);
	p->resume.state = RESUME_WAITS;
	return 0;
}

/* Answers what is not asked for again. A callback may send something new. */
static void
fail_others(struct psup *p, const char *why)
{
	struct request *r;

	TAILQ_FOREACH(r, &p->by_age, by_age)
		r->fails = r->sent && !r->repeats;
	r = TAILQ_FIRST(&p->by_age);
	while (r != NULL) {
		if (!r->fails) {
			r = TAILQ_NEXT(r, by_age);
			continue;
		}
		(void)request_take(p, r->id);
		request_finish(p, r,
		    request_lost(p, r, "connection-lost", why), NULL);
		r = TAILQ_FIRST(&p->by_age); /* the queue may have changed */
	}
}

bool
resume_begin(struct psup *p, const char *why)
{
	struct request *r;
	bool any = false;

	TAILQ_FOREACH(r, &p->by_age, by_age)
		any = any || r->repeats;
	p->resume.broken = p->resume.incarnation[0] != '\0';
	if (!p->resume.broken || p->resume.subscribed || !any)
		return false;
	if (p->resume.state != RESUME_NONE)
		p->resume.tries++;
	else if (clock_boot_ns() - p->resume.since_ns < SHORT_NS)
		p->resume.shorts++;
	else
		p->resume.shorts = 0;
	client_disconnect(p);
	if (resume_later(p) < 0)
		return false;
	p->resume.broken = false;
	fail_others(p, why);
	return true;
}

bool
resume_broken(struct psup *p)
{
	/* from a callback: of those who are being told of it */
	if (p->fd >= 0 || !p->resume.broken || p->depth > 0)
		return false;
	p->resume.broken = false;
	p->resume.shorts = p->resume.tries = 0;
	return resume_later(p) == 0;
}

/* The server that answered has no room just now. `ours`: our own scope has
 * taken it, which may last as long as we do: that is not waited for without
 * end. */
static void
resume_busy(struct psup *p, bool ours)
{
	client_disconnect(p);
	if (ours)
		p->resume.shorts++;
	else
		p->resume.tries++;
	if (resume_later(p) < 0)
		client_fail(p, PSUP_ERR_LOST);
}

/* It is the connection that it was: everything is asked again. */
static void
resume_done(struct psup *p)
{
	struct request *r;

	p->resume.state = RESUME_NONE;
	p->resume.tries = 0;
	p->resume.since_ns = clock_boot_ns();
	p->resume.count++;
	TAILQ_FOREACH(r, &p->by_age, by_age)
		if (request_put(p, r) < 0)
			break;
	if (r != NULL) {
		error_set(p, PSUP_ERR_NO_MEMORY, "no-memory", "",
		    "no memory to ask again");
		client_fail(p, PSUP_ERR_NO_MEMORY);
	}
}

/* The answer to its defaults: no exec is asked again without them. */
static void
on_defaults(void *arg, int status, psup_reply *reply)
{
	struct psup *p = arg;

	psup_reply_free(&reply);
	if (status == PSUP_OK)
		resume_done(p);
	else if (client_is_busy(p, status))
		resume_busy(p, false);
	else if (status == PSUP_ERR_REFUSED && strcmp(psup_error_code(p),
		     proto_error_name(PROTO_E_SHARE_USED_UP)) == 0)
		resume_busy(p, true);
	else if (status != PSUP_ERR_LOST)
		client_fail(p, PSUP_ERR_LOST);
}

/* The answer to the hello of a connection that was taken up again. */
static void
on_hello(void *arg, int status, psup_reply *reply)
{
	struct psup *p = arg;
	bool same;

	if (status == PSUP_ERR_LOST)
		return; /* the next try is on its way */
	if (client_is_busy(p, status)) {
		psup_reply_free(&reply);
		resume_busy(p, false);
		return;
	}
	same = status == PSUP_OK && psup_get_is(psup_reply_value(reply),
	    "incarnation", p->resume.incarnation);
	psup_reply_free(&reply);
	if (!same) {
		p->resume.state = RESUME_NONE;
		p->resume.tries = 0;
		if (status == PSUP_OK)
			error_set(p, PSUP_ERR_LOST, "no-server", "",
			    "the server at %s has ended; another one is in "
			    "its place", p->runtime_dir);
		client_fail(p, PSUP_ERR_LOST);
	} else if (!p->who.kept) {
		resume_done(p);
	} else if (client_defaults(p, on_defaults, p) != PSUP_OK) {
		client_fail(p, PSUP_ERR_LOST);
	}
}

void
resume_try(struct psup *p)
{
	uint64_t times;
	int fd;

	if (read(p->fd, &times, sizeof(times)) != (ssize_t)sizeof(times))
		return; /* not yet */
	client_disconnect(p);
	fd = wire_connect(p, p->runtime_dir, CONNECT_MS);
	if (fd >= 0) {
		p->fd = fd;
		p->resume.state = RESUME_HELLO;
		if (client_hello(p, on_hello, p) == PSUP_OK)
			return;
		client_disconnect(p);
	}
	if (fd == PSUP_ERR_TIMEOUT || fd >= 0)
		p->resume.tries++;
	else
		p->resume.shorts++;
	if ((fd == PSUP_ERR_NO_SERVER && !keeper_lives(p->runtime_dir)) ||
	    resume_later(p) < 0)
		client_fail(p, PSUP_ERR_LOST);
}

unsigned
psup_resumed(const struct psup *p)
{
	return p->resume.count;
}

bool
psup_is_resuming(const struct psup *p)
{
	return p->resume.state != RESUME_NONE;
}
