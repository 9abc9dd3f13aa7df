/* SPDX-License-Identifier: MIT */
/*
 * The cap of a poll, stream by stream. Called by api_read.c; lines.c has read
 * the bytes, the ring's segment log says whose they are.
 */
#include "supervisor/pending.h"

#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "common/text_clean.h"

#define STREAMS 2u

/* A stretch of data that is one stream's. */
struct stretch {
	size_t at, len;
	unsigned stream;
};

struct walk {
	const struct ring_header *raw; /* NULL: nobody knows whose they are */
	const struct retained *k;
	size_t at;
};

/* The next stretch; false: no more. */
static bool
walk_next(struct walk *w, struct stretch *ret)
{
	const struct retained *k = w->k;
	uint64_t pos = k->from + w->at, end = UINT64_MAX, ms;
	enum ring_stream stream = RING_STDOUT;
	size_t len = k->len - w->at;

	if (len == 0)
		return false;
	if (w->at >= k->gap_at)
		pos += k->dropped;
	else if (k->gap_at - w->at < len)
		len = k->gap_at - w->at;
	if (w->raw != NULL)
		stream = ring_stream_at(w->raw, pos, &end, &ms);
	if (end > pos && end - pos < len)
		len = (size_t)(end - pos);
	*ret = (struct stretch){w->at, len, stream == RING_STDERR};
	w->at += len;
	return true;
}

/* Takes the oldest of each stream. */
size_t
pending_cut(struct ring_reader *rd, struct retained *k, size_t max, bool text)
{
	struct ring_facts *f = malloc(sizeof(*f));
	bool known = f != NULL && ring_facts(rd, f) == RING_OK;
	struct walk w = {.raw = known ? &f->raw : NULL, .k = k};
	size_t have[STREAMS] = {0, 0}, excess[STREAMS], kept = 0, len = k->len;
	struct stretch s;

	while (walk_next(&w, &s))
		have[s.stream] += s.len;
	for (unsigned i = 0; i < STREAMS; i++)
		excess[i] = have[i] > max ? have[i] - max : 0;
	w.at = 0;
	while (walk_next(&w, &s)) {
		size_t cut = excess[s.stream] < s.len ? excess[s.stream]
						      : s.len;

		excess[s.stream] -= cut;
		if (text && cut > 0 && cut < s.len)
			cut = text_resync(k->data + s.at, s.len, cut);
		memmove(k->data + kept, k->data + s.at + cut, s.len - cut);
		kept += s.len - cut;
	}
	k->len = kept;
	k->gap_at = kept;
	free(f);
	return len - kept;
}
