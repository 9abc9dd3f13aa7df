/* SPDX-License-Identifier: MIT */
/*
 * The text formats of metrics: families, samples, escaping. Knows nothing of
 * what is measured.
 */
#ifndef PSUP_LIBPSUP_EXPOSITION_H
#define PSUP_LIBPSUP_EXPOSITION_H

#include <psup/metrics.h>
#include <stdbool.h>

#include "common/metrics.h"

#define EXPO_LABELS 3

struct expo {
	char *text; /* NUL-terminated */
	size_t len, size;
	bool failed; /* out of memory: text is of no use */
	enum psup_metrics_format format;
	uint64_t created_ms; /* counters and histograms began; 0: not said */
	const struct metric *family;
};

struct expo_label {
	const char *name; /* NULL: the end */
	const char *value;
};

/* A family begins: HELP, TYPE, UNIT. */
void expo_family(struct expo *e, const struct metric *m);
/* A sample of an info, a gauge or a counter; labels may be NULL. */
void expo_uint(struct expo *e, const struct expo_label *labels, uint64_t v);
/* The same of microseconds, as seconds. */
void expo_seconds(struct expo *e, const struct expo_label *labels,
    uint64_t us);
/* A histogram's samples: `count` has a bucket more than there are bounds. */
void expo_histogram(struct expo *e, const struct expo_label *labels,
    const struct metric_bounds *b, const uint64_t *count, uint64_t sum_us);
/* Nothing follows. */
void expo_end(struct expo *e);

#endif
