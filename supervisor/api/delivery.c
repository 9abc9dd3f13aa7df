/* SPDX-License-Identifier: MIT */
/* Reads and cuts what a poll delivers. Called by poll.c. */
#include "supervisor/api/delivery.h"

#include "common/text.h"
#include "supervisor/search/lines.h"

#define READ_MORE 65536u /* beyond maxBytes: what is open at a cut is seen whole */

/* How many of the first `len` bytes are whole: output that goes on is cut so
 * that its text in pieces is its text in one. */
static size_t
whole(const struct delivery_wish *w, const char *data, size_t len)
{
	if (w->raw)
		return len;
	if (w->text == TEXT_CLEAN || w->text == TEXT_ANSI)
		return len - text_open_tail(data, len);
	return len - text_unfinished(data, len);
}

/* Of a since read the oldest `max` bytes, up to the next gap: the position of
 * each byte is known to the reader, who hears of the gap by the next read. A
 * sequence that alone is longer than `max` comes whole. */
static void
delivery_cut_since(const struct delivery_wish *w, struct delivery *d, size_t max,
    size_t open)
{
	struct retained *k = &d->k;

	d->dropped = k->before;
	d->len = k->piece < k->len ? k->piece : k->len - open;
	if (d->len > max) {
		d->len = whole(w, k->data, max);
		if (d->len == 0)
			d->len = w->raw ? max
			                : text_resync(k->data, k->piece, 1);
	}
	/* nothing, or nothing whole: what is missing may be at the end */
	d->next = k->len > 0 ? k->from + d->len : k->to;
}

/* Keeps what is not whole yet for the next poll, and takes at most `max` bytes:
 * of a poll the newest, of a since read the oldest. */
static void
delivery_cut(const struct delivery_wish *w, struct session *s, struct delivery *d)
{
	struct retained *k = &d->k;
	size_t max = (size_t)w->max_bytes;
	size_t open = session_live(s) ? k->len - whole(w, k->data, k->len) : 0;

	d->at = 0;
	if (w->have_since) {
		delivery_cut_since(w, d, max, open);
		return;
	}
	d->len = k->len - open;
	d->dropped = k->dropped;
	d->next = k->to - open;
	d->omitted = k->omitted;
	if (d->len <= max)
		return;
	k->len = d->len;
	d->omitted += pending_cut(k, max, !w->raw);
	d->len = k->len;
}

void
delivery_read(struct master *m, struct session *s,
    const struct delivery_wish *w, struct delivery *d)
{
	struct ring_reader *rd = readers_of(m, s);
	size_t most = (size_t)w->max_bytes + READ_MORE;
	enum ring_verdict v;

	d->next = d->from;
	v = rd == NULL ? RING_GONE
	    : w->have_since
	    ? retained_read_some(rd, d->from, most, &d->k)
	    : retained_read_newest(rd, d->from, most, &d->k);
	if (v != RING_OK && v != RING_OVERRUN) {
		d->fault = readers_fault(m, s);
		return;
	}
	d->have = true;
	output_head(s, d->k.head);
	delivery_cut(w, s, d);
}
