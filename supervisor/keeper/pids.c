/* SPDX-License-Identifier: MIT */
/*
 * Which process a session's command is. The kernel has written it into the
 * ring's header when the worker cloned, and the worker says it when the command
 * has exited; until one of the two is looked at the row has no pid. A command
 * that lives for a second is looked up by the tick, since its header may be
 * spoiled later. Called by recv.c, and by whoever must know now: before an
 * orphan is reaped, when a worker is dead, before the table is told, saved or
 * killed.
 *
 * A header can be written by every command of this user, so it is believed only
 * about a child of ours that is in no row and younger than the row's HOLD.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fault.h"
#include "shm/ring.h"
#include "supervisor/keeper/state.h"

#define NAME_NS NSEC_PER_SEC /* a command that is over by then needs no look */

/* When a process began, on the boot clock, at the latest; 0: it is gone. */
static uint64_t
began_ns(int32_t pid)
{
	char path[48], text[1024], *p;
	unsigned long long ticks;
	long hz = sysconf(_SC_CLK_TCK);
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (n <= 0 || hz <= 0)
		return 0;
	text[n] = '\0';
	p = strrchr(text, ')'); /* the name may hold anything */
	if (p == NULL ||
	    sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u "
			  "%*u %*d %*d %*d %*d %*d %*d %llu", &ticks) != 1)
		return 0;
	return (ticks + 1) * (NSEC_PER_SEC / (uint64_t)hz);
}

/* The row's command is that child of ours. False: it cannot be. */
bool
pids_take(struct keeper *k, struct row *r, int32_t pid)
{
	if (r->pid != 0 || pid <= 1 || reap_is_known(k, pid) ||
	    !reap_is_child(pid))
		return false;
	table_set_pid(k->table, r, pid);
	r->spawned_ns = clock_boot_ns();
	FAULT("keeper.after-spawned");
	atomic_fetch_add_explicit(&k->stats[0].spawned, 1,
	    memory_order_relaxed);
	return true;
}

/* What the header of its ring says, as far as that is to be believed. */
void
pids_read(struct keeper *k, struct row *r)
{
	struct ring_look look;

	if (r->pid != 0 || ring_look(k->dir, r->sid, &look) < 0 ||
	    look.pid <= 1 || began_ns(look.pid) < r->held_ns)
		return;
	(void)pids_take(k, r, look.pid);
}

void
pids_read_all(struct keeper *k)
{
	struct row *r, *next;

	for (r = table_next_nameless(k->table, NULL); r != NULL; r = next) {
		next = table_next_nameless(k->table, r);
		pids_read(k, r);
	}
}

void
pids_read_old(struct keeper *k, uint64_t now)
{
	struct row *r, *next;

	for (r = table_next_nameless(k->table, NULL);
	    r != NULL && r->held_ns + NAME_NS < now; r = next) {
		next = table_next_nameless(k->table, r);
		pids_read(k, r);
	}
}

bool
pids_may_be(const struct keeper *k, int32_t pid)
{
	const struct row *r = table_next_nameless(k->table, NULL);

	return r != NULL && began_ns(pid) >= r->held_ns;
}

/* May a child of this dead worker still say SPAWNED? */
bool
pids_awaited(const struct keeper *k, uint32_t slot)
{
	const struct row *r = NULL;

	while ((r = table_next_nameless(k->table, r)) != NULL) {
		if (r->owner == slot && !r->by_header)
			return true;
	}
	return false;
}
