/* SPDX-License-Identifier: MIT */
/*
 * What a process that died by itself had in hand: sessions of workers, requests
 * of masters, and the index that none of them gets past. Called by procs.c
 * once a death is complete.
 */
#include <signal.h>
#include <string.h>

#include "common/check.h"
#include "common/log.h"
#include "supervisor/keeper/state.h"

static bool
crashed(const struct down *d)
{
	static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE};
	size_t i;

	if (d->code == CLD_KILLED || d->code == CLD_DUMPED)
		for (i = 0; i < NELEMS(crashes); i++)
			if (d->status == crashes[i])
				return true;
	return false;
}

/* Was it its own doing? Whoever sends SIGKILL from outside says
 * nothing about what was in hand. */
static bool
own_fault(const struct proc *p, const struct down *d)
{
	return crashed(d) || p->hung;
}

/* A session that was in hand when three workers in a row crashed is given to
 * the next one to be ended, not to be babysat. */
void
blame_session(struct keeper *k, const struct proc *dead, const struct down *d)
{
	struct row *r, *guilty = table_find(k->table, d->in_hand);
	uint32_t i;

	if (!own_fault(dead, d) || guilty == NULL)
		return;
	for (i = 0; i < table_high(k->table); i++) {
		r = table_at(k->table, i);
		if (r != NULL && r != guilty && r->owner == dead->wid.slot &&
		    r->crashes < KEEPER_CRASHES)
			r->crashes = 0;
	}
	if (++guilty->crashes == KEEPER_CRASHES)
		log_event(LOG_ERROR, "session-quarantined",
		    KV("session", guilty->sid.v),
		    KV("crashes", guilty->crashes));
}

/* Where a request is remembered, or may be: who is forgotten, else the oldest. */
static struct stats_fatal *
fatal_of(struct stats_page *page, uint64_t hash, uint64_t now)
{
	struct stats_fatal *best = &page->fatal[0], *f;

	for (f = page->fatal; f < page->fatal + STATS_FATALS; f++) {
		if (atomic_load(&f->hash) == hash)
			return f;
		if (atomic_load(&f->last_ns) < atomic_load(&best->last_ns))
			best = f;
	}
	atomic_store(&best->hash, hash);
	atomic_store(&best->deaths, 0);
	atomic_store(&best->last_ns, now);
	return best;
}

/* Masters refuse a request that two of them died of. Where none was in hand it
 * was the index, which the one after three young ones goes without. */
void
blame_master(struct proc *dead, const struct down *d, bool young)
{
	struct stats_page *page = dead->page;
	uint64_t now = clock_boot_ns(), hash = atomic_load(&page->unit_hash);
	bool in_hand = atomic_load(&page->unit_began_ns) != 0 && hash != 0;
	struct stats_fatal *f;
	char method[sizeof(page->unit_method)];

	memcpy(method, page->unit_method, sizeof(method));
	method[sizeof(method) - 1] = '\0';
	if (dead->was_ready && !young)
		dead->crashes = 0;
	atomic_store(&page->unit_began_ns, 0); /* the next one has done nothing */
	atomic_store(&page->unit_hash, 0);
	if (!own_fault(dead, d))
		return;
	if (!in_hand) {
		dead->crashes += crashed(d);
		return;
	}
	f = fatal_of(page, hash, now);
	if (now - atomic_load(&f->last_ns) > STATS_FATAL_NS)
		atomic_store(&f->deaths, 0);
	atomic_store(&f->last_ns, now);
	if (atomic_fetch_add(&f->deaths, 1) + 1 == STATS_FATAL_DEATHS)
		log_event(LOG_ERROR, "request-refused-from-now-on",
		    KV("method", method), KV("deaths", STATS_FATAL_DEATHS));
}
