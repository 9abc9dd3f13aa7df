/* SPDX-License-Identifier: MIT */
/*
 * What this server has done so far, exactly: the counts stand in the index,
 * written by the transaction that records what they count, so that a master
 * killed at any instant has neither lost nor doubled one. After the commit
 * they are shown in the master's stats page, for whoever reads metrics.
 */
#include <string.h>

#include "supervisor/master.h"
#include "supervisor/store/kept.h"

#define KEY "tally"

static_assert(TALLY_ENDED + END_REASONS <= TALLY_SLOTS, "reasons in a tally");

/* Sessions that this turn's commit puts on record. */
static uint64_t
fresh_ones(const struct master *m)
{
	const struct session *s;
	uint64_t n = 0;

	TAILQ_FOREACH(s, &m->dirty, record.link)
		n += s->record.fresh;
	return n;
}

/* Before a commit. 0; -ENOSPC and others as index_put_last(). */
int
tally_write(struct master *m)
{
	struct enc e = ENC_INIT;

	m->tally_fresh = fresh_ones(m);
	if (m->tally_fresh == 0 && !m->tally_dirty)
		return 0;
	m->tally_dirty = true;
	enc_array(&e);
	for (size_t i = 0; i < TALLY_SLOTS; i++)
		enc_uint(&e, m->tally[i] +
		    (i == TALLY_ACCEPTED ? m->tally_fresh : 0));
	enc_end(&e);
	return kept_put(m->ix, INDEX_META,
	    (struct index_bytes){KEY, strlen(KEY)}, &e, true);
}

/* After a commit that worked. */
void
tally_written(struct master *m)
{
	_Atomic uint64_t *shown = m->stats->tally.count;

	if (!m->tally_dirty)
		return;
	m->tally_dirty = false;
	m->tally[TALLY_ACCEPTED] += m->tally_fresh;
	m->tally_fresh = 0;
	for (size_t i = 0; i < TALLY_SLOTS; i++)
		SET_RELAXED(shown[i], m->tally[i]);
}

/* The counts of this server so far; nothing where the index is another
 * server's. One that had to be set aside took its record along: what the last
 * master has shown is next to the truth. */
void
tally_load(struct master *m, bool ours)
{
	const _Atomic uint64_t *shown = m->stats->tally.count;
	struct codec_arena *arena = NULL;
	const struct val *v = NULL;
	struct index_bytes val;

	memset(m->tally, 0, sizeof(m->tally));
	m->tally_dirty = true;
	if (!ours && !m->set_aside)
		return;
	for (size_t i = 0; i < TALLY_SLOTS; i++)
		m->tally[i] = shown[i];
	if (!ours || index_get(m->ix, INDEX_META,
	        (struct index_bytes){KEY, strlen(KEY)}, &val) < 0 ||
	    kept_value(val, &arena, &v) < 0)
		return;
	for (size_t i = 0; v->type == VAL_ARRAY && i < v->a.count &&
	     i < TALLY_SLOTS; i++)
		if (v->a.items[i].type == VAL_UINT)
			m->tally[i] = v->a.items[i].u;
	codec_arena_free(&arena);
}
