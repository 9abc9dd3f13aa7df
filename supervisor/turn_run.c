/* SPDX-License-Identifier: MIT */
/*
 * Takes the units that clients cause, in the order of turn.c: half a millisecond
 * of them, then the loop commits and sends. After each the keeper sees that the
 * master lives; during one it sees which request is in hand, so that a master
 * that is silent can be told from one that is busy, and what it hung in from
 * what merely waited.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "shm/stats.h"
#include "supervisor/api/conn.h"

#define TURN_NS 500000u  /* of units, between two commits */
#define UNIT_MIN_NS 100000u /* a job has that long at least */
#define TURN_RECORDS 24u  /* the same: a record is 15 us, what it tells 15 */
#define SLOW_NS 10000000u /* a unit that is longer is said */

void
turn_in_hand(struct master *m, const char *method, uint64_t hash)
{
	struct stats_page *s = m->stats;

	(void)strlcpy(s->unit_method, method, sizeof(s->unit_method));
	SET_RELAXED(s->unit_hash, hash);
}

bool
turn_is_fatal(const struct master *m, uint64_t hash)
{
	struct stats_fatal *f = m->stats->fatal;
	uint64_t now = clock_boot_ns();

	for (; f < m->stats->fatal + STATS_FATALS; f++)
		if (RELAXED(f->hash) == hash &&
		    RELAXED(f->deaths) >= STATS_FATAL_DEATHS &&
		    now - RELAXED(f->last_ns) < STATS_FATAL_NS)
			return true;
	return false;
}

/* A unit is over. */
static void
unit_ends(struct master *m, uint64_t begin, uint64_t now)
{
	struct stats_page *s = m->stats;

	SET_RELAXED(s->unit_hash, 0);
	SET_RELAXED(s->unit_began_ns, 0);
	SET_RELAXED(s->heartbeat_ns, now);
	if (now - begin < SLOW_NS)
		return;
	log_event(LOG_NOTE, "unit-slow", KV("method", s->unit_method),
	    KV("ms", (now - begin) / NSEC_PER_MSEC),
	    KV("turn_cpu_ms", (clock_cpu_ns() - m->turn_cpu_ns) / NSEC_PER_MSEC));
}

/* What a unit is charged with: its time, but not the time of others who had the
 * processor meanwhile, 10 ms at a time on a full machine. Those units that were
 * before it in this turn are half a millisecond, and may stay in. */
static uint64_t
charge_of(const struct master *m, uint64_t took)
{
	uint64_t cpu = took > TURN_NS ? clock_cpu_ns() - m->units_cpu_ns : took;

	return cpu < took ? cpu : took;
}

/* One unit of a connection, which is not to last beyond the turn's by much. */
static void
unit_run(struct master *m, struct conn *c, uint64_t now, uint64_t until)
{
	struct turns *t = m->conns->turns;
	char buf[TURN_NAME_MAX];
	uint64_t end;
	bool more;

	SET_RELAXED(m->stats->unit_began_ns, now);
	turn_in_hand(m, "read", 0);
	m->unit_until_ns = now + turns_slice_ns(t);
	if (until < now + UNIT_MIN_NS)
		until = now + UNIT_MIN_NS;
	if (m->unit_until_ns > until)
		m->unit_until_ns = until;
	more = conn_unit(c, m->unit_until_ns);
	session_ends_drain(m);
	over_free(m);
	if (FAULT_FAILS("turn.of-3-seconds"))
		(void)sleep(3);
	if (FAULT_FAILS("turn.of-30-seconds"))
		(void)sleep(30);
	end = clock_boot_ns();
	turns_charge(t, charge_of(m, end - now), more, conn_account(c, buf));
	unit_ends(m, now, end);
}

bool
turn_waits(const struct master *m)
{
	return turns_wait(m->conns->turns);
}

bool
turn_is_full(const struct master *m)
{
	return m->dirty_count >= TURN_RECORDS;
}

void
turn_run(struct master *m)
{
	struct turns *t = m->conns->turns;
	uint64_t until, now = clock_boot_ns();
	struct turn_client *c;

	turn_begin(m);
	m->units_cpu_ns = clock_cpu_ns();
	for (until = now + TURN_NS; now < until; now = clock_boot_ns()) {
		c = turns_next(t);
		if (c == NULL)
			return;
		unit_run(m, (struct conn *)c, now, until);
		if (turn_is_full(m))
			return;
	}
}

void
turn_end_time(struct master *m)
{
	uint64_t now = clock_boot_ns();

	if (m->turn_began_ns != 0 &&
	    now - m->turn_began_ns > RELAXED(m->stats->longest_turn_ns))
		SET_RELAXED(m->stats->longest_turn_ns, now - m->turn_began_ns);
	stats_turn_cpu(m->stats, &m->turn_cpu_ns);
	m->turn_began_ns = 0;
	SET_RELAXED(m->stats->heartbeat_ns, now);
}
