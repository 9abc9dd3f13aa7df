/* SPDX-License-Identifier: MIT */
/* Looks through the output of sessions that a wait waits for a text in. Called
 * by waits.c, in units. */
#include <stdlib.h>

#include "supervisor/api/waits.h"

#define BUFFER_BYTES 65536u
#define BUDGET       100000u /* steps of matching between looks at the clock */

void
waits_dequeue(struct waited *w)
{
	if (!w->scanning)
		return;
	TAILQ_REMOVE(&w->of->scans, w, scan_link);
	w->scanning = false;
}

void
waits_enqueue(struct waited *w)
{
	if (w->scanning || w->match == NULL)
		return;
	w->scanning = w->behind = true;
	TAILQ_INSERT_TAIL(&w->of->scans, w, scan_link);
	req_wake(w->of->r, WAKE_MORE);
}

/* What was found, as it stands in the ring; it may be gone already. */
static void
take_excerpt(struct waited *w, struct ring_reader *rd)
{
	char buf[WAITS_EXCERPT * 4];
	uint64_t pos = w->at, dropped;
	enum ring_verdict v;
	char *text;
	ssize_t n;

	n = ring_read(rd, &pos, buf,
	    w->end - w->at < sizeof(buf) ? (size_t)(w->end - w->at)
					 : sizeof(buf),
	    &dropped, &v);
	if (n <= 0 || pos != w->at)
		return;
	text = malloc(WAITS_EXCERPT + 1);
	if (text != NULL)
		match_excerpt(w->of->spec, buf, (size_t)n, text,
		    WAITS_EXCERPT + 1);
	w->matched = text;
}

bool
waits_take_found(struct waited *w, struct ring_reader *rd, bool last)
{
	enum match_found found;
	bool final;

	found = match_result(w->match, &w->at, &w->end, &final);
	if (found == MATCH_NOTHING ||
	    (!final && !last && w->pos < w->end + WAITS_LONGER))
		return false;
	if (rd != NULL)
		take_excerpt(w, rd);
	waits_met(w, found == MATCH_TEXT ? MET_TEXT : MET_REGEX);
	return true;
}

enum met
waits_ended_how(const struct waited *w, uint64_t head)
{
	uint64_t bytes = w->of->bytes;

	return bytes > 0 && head >= w->since + bytes ? MET_BYTES : MET_EXIT;
}

/* Everything there is was looked at. */
static void
caught_up(struct waited *w, struct ring_reader *rd, uint64_t head)
{
	bool live = session_live(w->s);

	w->behind = false;
	if (!live)
		match_at_end(w->match, w->pos);
	if (waits_take_found(w, rd, true))
		return;
	if (!live)
		waits_met(w, waits_ended_how(w, head));
	else
		output_watch(w->of->r->m, w->s, head);
}

void
waits_scan_one(struct waited *w)
{
	static char buf[BUFFER_BYTES];
	struct master *m = w->of->r->m;
	struct ring_reader *rd = readers_of(m, w->s);
	uint64_t pos = w->pos, dropped, head;
	struct ring_glance g = {0};
	enum ring_verdict v = RING_OK;
	bool live = session_live(w->s), more, held = false;
	size_t used = 0;
	ssize_t n;

	if (rd == NULL) {
		caught_up(w, NULL, w->pos);
		return;
	}
	(void)ring_glance(rd, &g);
	n = ring_read(rd, &pos, buf, sizeof(buf), &dropped, &v);
	if (n < 0 && v == RING_BUSY) {
		waits_enqueue(w);
		return;
	}
	if (n <= 0) {
		caught_up(w, rd, pos);
		return;
	}
	if (pos != w->pos) {
		match_gap(w->match);
		w->dropped += pos - w->pos;
		w->pos = pos;
	}
	head = pos + (uint64_t)n;
	more = (size_t)n == sizeof(buf) || (live && head >= g.head);
	used = match_feed(w->match, buf, (size_t)n, pos, more, BUDGET, &held);
	w->pos = pos + used;
	if (waits_take_found(w, rd, false))
		return;
	if ((size_t)n < sizeof(buf) && head >= g.head &&
	    (used == (size_t)n || held))
		caught_up(w, rd, head);
	else if (w->of->timed_out && w->pos >= w->goal)
		w->behind = false;
	else
		waits_enqueue(w);
}
