/* SPDX-License-Identifier: MIT */
/* The last minute: see history.h. Called by model.c and header.c. */
#include "history.h"

#include <string.h>

#include "common/clock.h"
#include "model.h"

#define LEAST_COLS 16 /* below it is no picture */
#define STEPS      8

/* Makes room for one more. */
static void
shift(double *values, double newest)
{
	memmove(values, values + 1, (HISTORY_SECONDS - 1) * sizeof(*values));
	values[HISTORY_SECONDS - 1] = newest > 0 ? newest : 0;
}

void
history_add(struct history *h, const struct top_model *m)
{
	uint64_t second = m->mono_ns / NSEC_PER_SEC;
	uint64_t passed = second - h->second;

	uint64_t started = m->totals.started_ever;
	double starts;

	if (second <= h->second)
		return;
	starts = h->second > 0 && started > h->started
	    ? (double)(started - h->started) / (double)passed
	    : 0;
	h->started = started;
	if (h->second == 0)
		passed = 1;
	if (passed > HISTORY_SECONDS)
		passed = HISTORY_SECONDS;
	h->second = second;
	for (; passed > 0; passed--) {
		shift(h->starts, starts);
		shift(h->output, m->output_rate);
		shift(h->running, (double)m->totals.running);
		if (h->count < HISTORY_SECONDS)
			h->count++;
	}
}

void
history_clear(struct history *h)
{
	memset(h, 0, sizeof(*h));
}

void
history_line(const struct history *h, const double *values, const char *name,
    int cols, struct line *ret)
{
	/* U+2581 to U+2588 */
	char cell[] = "\xe2\x96\x81";
	int n = cols - (int)strlen(name) - 3, step;
	double most = 0;
	size_t from;

	if (cols < LEAST_COLS || n < 1 || h->count == 0)
		return;
	from = h->count < (size_t)n ? HISTORY_SECONDS - h->count
	    : n < HISTORY_SECONDS   ? HISTORY_SECONDS - (size_t)n
	                            : 0;
	for (size_t i = from; i < HISTORY_SECONDS; i++)
		most = values[i] > most ? values[i] : most;
	line_put(ret, STYLE_LABEL, "  %s ", name);
	for (size_t i = from; i < HISTORY_SECONDS; i++) {
		step = most > 0 ? (int)(values[i] / most * (STEPS - 1) + 0.5)
		                : 0;
		cell[2] = (char)(0x81 + step);
		line_put(ret, values[i] > 0 ? STYLE_GOOD : STYLE_DIM, "%s",
		    cell);
	}
}
