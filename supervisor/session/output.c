/* SPDX-License-Identifier: MIT */
/*
 * What a session wrote: how much, who is to say when there is more, and the
 * last bytes, which lists show.
 */
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/text.h"
#include "common/text_clean.h"
#include "supervisor/master.h"

/* Read before the tail, to see whether it begins inside a sequence. */
#define LOOK_BACK 256u

void
output_head(struct session *s, uint64_t head)
{
	if (head <= s->output.total)
		return;
	s->output.total = head;
	row_drop(s);
}

void
output_ended(struct session *s, uint64_t total, uint64_t dropped_nospace,
    uint64_t ring_bytes)
{
	CHECK(session_live(s));
	s->output.total = total;
	s->output.dropped_nospace = dropped_nospace;
	s->output.ring_bytes = ring_bytes;
}

bool
output_no_space(struct session *s)
{
	bool first = !s->output.no_space;

	s->output.no_space = true;
	return first;
}

void
output_watch(struct master *m, struct session *s, uint64_t pos)
{
	struct ctl_pos w = {.head = CTL_INIT(CTL_WATCH, s->id.sid,
				struct ctl_pos), .pos = pos};

	if (!session_live(s) || !custody_has(&s->custody) ||
	    s->state == STATE_QUEUED ||
	    (s->output.watching && s->output.watch_pos <= pos))
		return;
	s->output.watching = true;
	s->output.watch_pos = pos;
	pool_order(m, s, &w, sizeof(w), false, -1);
}

void
output_unwatched(struct session *s)
{
	s->output.watching = false;
}

/* The position after the newest byte, as the ring says; 0: no ring. */
static uint64_t
head_of(struct ring_reader *r)
{
	static struct ring_facts f; /* a page: used and forgotten here */

	return ring_facts(r, &f) == RING_OK ? f.head : 0;
}

/* Reads up to `max` last bytes of the ring into buf. */
static size_t
tail_read(struct master *m, struct session *s, char *buf, size_t max,
    bool head_known)
{
	struct ring_reader *r = readers_get(m, s->id.sid);
	enum ring_verdict verdict;
	uint64_t pos, dropped, head = s->output.total;
	size_t len = 0;
	ssize_t n;

	if (r == NULL)
		return 0;
	if (!head_known)
		head = head_of(r);
	output_head(s, head);
	if (head == 0)
		return 0;
	pos = head > max ? head - max : 0;
	for (int i = 0; i < 4 && len < max && pos < head; i++) {
		n = ring_read(r, &pos, buf + len, max - len, &dropped,
		    &verdict);
		if (n <= 0)
			break;
		if (dropped > 0 && len > 0) {
			memmove(buf, buf + len, (size_t)n);
			len = 0;
		}
		len += (size_t)n;
		pos += (uint64_t)n;
	}
	return len;
}

/* Keeps the tail as it was read at the session's present total. */
static void
tail_keep(struct session *s, const char *buf, size_t len)
{
	char *p = realloc(s->output.tail, len != 0 ? len : 1);

	s->output.tail_read = p != NULL;
	if (p == NULL)
		return;
	memcpy(p, buf, len);
	s->output.tail = p;
	s->output.tail_len = len;
	s->output.tail_at = s->output.total;
}

/* The last bytes of a session, cleaned, into b. Read again only where there is
 * more output than the last time. */
void
session_tail(struct master *m, struct session *s, struct sbuf *b, size_t max,
    bool head_known)
{
	char buf[MASTER_TAIL + LOOK_BACK], shown[4 * MASTER_TAIL];
	const char *p = buf;
	size_t len, at = 0;

	if (s->state == STATE_QUEUED || max > MASTER_TAIL)
		return;
	if (s->output.tail_read && s->output.tail_at == s->output.total &&
	    (head_known || !session_live(s))) {
		p = s->output.tail;
		len = s->output.tail_len;
	} else {
		len = tail_read(m, s, buf, sizeof(buf), head_known);
		tail_keep(s, buf, len);
	}
	if (len > max)
		at = text_resync(p, len, len - max);
	else if (s->output.total > len)
		at = text_skip_partial(p, len);
	len = text_clean(TEXT_CLEAN, p + at, len - at, session_live(s), shown);
	if (len <= max) {
		sbuf_addn(b, shown, len);
		return;
	}
	at = len - max;
	at += text_skip_partial(shown + at, max);
	sbuf_addn(b, shown + at, len - at);
}
