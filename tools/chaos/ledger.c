/* SPDX-License-Identifier: MIT */
/*
 * What was asked for and what is owed. A session's number is its place here;
 * the commands write it into the file of starts, events carry it in their
 * sessionKey. Sessions whose end was not seen (an interrupted campaign) owe
 * nothing.
 */
#include "chaos.h"
#include "common/grow.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct entry {
	uint8_t kind, events, starts;
	bool ended;
	bool lost;   /* by the keeper's death: one after so many, up to */
	uint32_t after, upto;
};

static struct entry *entries; /* [0] is nobody's */
static uint32_t count;
static size_t room;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uint32_t
ledger_new(enum kind kind)
{
	uint32_t n;

	pthread_mutex_lock(&lock);
	if (!GROW(entries, room, count + 2, 4096))
		die("no memory");
	n = ++count;
	entries[n] = (struct entry){.kind = (uint8_t)kind};
	pthread_mutex_unlock(&lock);
	return n;
}

void
ledger_key(uint32_t n, char *buf, size_t size)
{
	snprintf(buf, size, "chaos-%d-%u", getpid(), n);
}

void
ledger_ended(uint32_t n)
{
	pthread_mutex_lock(&lock);
	entries[n].ended = true;
	pthread_mutex_unlock(&lock);
	atomic_fetch_add(&chaos.ended, 1);
}

void
ledger_lost(uint32_t n, long after, long upto)
{
	pthread_mutex_lock(&lock);
	entries[n].lost = true;
	entries[n].after = (uint32_t)after;
	entries[n].upto = (uint32_t)upto;
	pthread_mutex_unlock(&lock);
}

/* The number in a key of this campaign; 0: another's. */
static uint32_t
number_of(const char *key)
{
	int pid;
	unsigned n;

	if (sscanf(key, "chaos-%d-%u", &pid, &n) != 2 || pid != getpid())
		return 0;
	return n;
}

void
ledger_event(const char *session_key)
{
	uint32_t n = number_of(session_key);

	if (n == 0)
		return;
	pthread_mutex_lock(&lock);
	if (n <= count && entries[n].events < UINT8_MAX)
		entries[n].events++;
	pthread_mutex_unlock(&lock);
	atomic_fetch_add(&chaos.events_seen, 1);
}

/* Every end makes one, quiet or not; a session in the foreground owes none, but
 * may have gone to the background while its key was waited for. */
static bool
owes_event(const struct entry *e)
{
	return e->ended && e->kind != KIND_FRONT;
}

long
ledger_events_owed(void)
{
	long owed = 0;

	pthread_mutex_lock(&lock);
	for (uint32_t n = 1; n <= count; n++)
		owed += owes_event(&entries[n]) && entries[n].events == 0;
	pthread_mutex_unlock(&lock);
	return owed;
}

/* Counts the lines of a file of starts. */
static void
read_starts(const char *dir)
{
	char path[128];
	unsigned n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%sstarts", chaos.work, dir);
	f = fopen(path, "re");
	if (f == NULL)
		return;
	while (fscanf(f, "%u", &n) == 1)
		if (n >= 1 && n <= count && entries[n].starts < UINT8_MAX)
			entries[n].starts++;
	fclose(f);
}

/* Numbers grow from the first line to the last, each once. */
static void
check_order(void)
{
	char path[128];
	unsigned n, before = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/order", chaos.work);
	f = fopen(path, "re");
	if (f == NULL)
		return;
	while (fscanf(f, "%u", &n) == 1) {
		if (n <= before)
			lost(LOSS_ORDER, "session %u ran after session %u", n,
			    before);
		before = n;
	}
	fclose(f);
}

/* A lane of width 1 has one session that a keeper's death can lose: the one
 * that has left the queue. Each that was lost has a death of its own, in their
 * order; those of keepers that died before they answered count, too. */
static void
check_queue(void)
{
	uint32_t death = 0;

	for (uint32_t n = 1; n <= count; n++) {
		const struct entry *e = &entries[n];

		if (!e->lost || e->kind != KIND_QUEUE)
			continue;
		chaos.lost_queued++;
		death = (e->after > death ? e->after : death) + 1;
		if (death > e->upto)
			lost(LOSS_START, "session %u (queue) was lost by death "
			    "%u to %u of the keeper, and so was one before it",
			    n, e->after + 1, e->upto);
	}
}

/* Of what is not there none runs; a time-out may end one before it can write
 * its number. */
void
ledger_check(void)
{
	read_starts("");
	read_starts("out/"); /* from boxes */
	check_order();
	check_queue();
	for (uint32_t n = 1; n <= count; n++) {
		const struct entry *e = &entries[n];

		if (e->starts > 1)
			lost(LOSS_START_TWICE, "session %u (%s) ran %u times",
			    n, kind_name(e->kind), e->starts);
		if (e->ended && e->starts == 0 && !e->lost &&
		    e->kind != KIND_FAIL && e->kind != KIND_TIMEOUT)
			lost(LOSS_START, "session %u (%s) never ran", n,
			    kind_name(e->kind));
		if (owes_event(e) && e->events == 0)
			lost(LOSS_EVENT, "session %u (%s): no exit event", n,
			    kind_name(e->kind));
		if (e->events > 1)
			lost(LOSS_EVENT_TWICE, "session %u (%s): %u events", n,
			    kind_name(e->kind), e->events);
	}
}
