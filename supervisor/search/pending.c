/* SPDX-License-Identifier: MIT */
/*
 * The cap of a poll, stream by stream. Called by api/poll.c; lines.c has read
 * the bytes and says whose they are.
 */
#include "supervisor/search/pending.h"

#include <string.h>

#include "common/text_clean.h"

/* How much of a run is left: the end of the data may have been cut off. */
static size_t
run_len(const struct retained *k, const struct retained_run *run)
{
	size_t left = run->at < k->len ? k->len - run->at : 0;

	return run->len < left ? run->len : left;
}

size_t
pending_cut(struct retained *k, size_t max, bool text)
{
	const struct retained_run *run, *end = k->runs + k->run_count;
	size_t have[2] = {0, 0}, kept = 0, len = k->len;

	for (run = k->runs; run < end; run++)
		have[run->stream == RING_STDERR] += run_len(k, run);
	for (run = k->runs; run < end; run++) {
		size_t *left = &have[run->stream == RING_STDERR];
		size_t n = run_len(k, run), cut = *left > max ? *left - max : 0;

		if (cut > n)
			cut = n;
		*left -= cut;
		if (text && cut > 0 && cut < n)
			cut = text_resync(k->data + run->at, n, cut);
		memmove(k->data + kept, k->data + run->at + cut, n - cut);
		kept += n - cut;
	}
	k->len = kept;
	k->gap_at = kept;
	return len - kept;
}
