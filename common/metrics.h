/* SPDX-License-Identifier: MIT */
/* The rows of metrics.def: what is measured, and how histograms are cut. */
#ifndef PSUP_METRICS_H
#define PSUP_METRICS_H

#include <stddef.h>
#include <stdint.h>

#define METRIC_BOUNDS_MAX 15u

enum metric_type {
	METRIC_INFO,
	METRIC_GAUGE,
	METRIC_COUNTER,
	METRIC_HISTOGRAM_WORK,
	METRIC_HISTOGRAM_LIFE
};

enum metric_id {
#define METRIC(id, type, name, unit, labels, help) METRIC_##id,
#include "common/metrics.def"
	METRIC_COUNT
};

enum metric_cut {
#define BOUNDS(id, ...) METRIC_CUT_##id,
#include "common/metrics.def"
	METRIC_CUTS
};

/* Upper bounds in microseconds, ascending. */
struct metric_bounds {
	uint64_t us[METRIC_BOUNDS_MAX];
	size_t count;
};
extern const struct metric_bounds metric_bounds[METRIC_CUTS];

struct metric {
	enum metric_type type;
	const char *name;   /* without the suffix of its type */
	const char *unit;   /* "": none */
	const char *labels; /* names, by commas; "": none */
	const char *help;
};
extern const struct metric metrics[METRIC_COUNT];

/* info, gauge, counter, histogram */
const char *metric_type_name(enum metric_type type);
/* NULL where it is no histogram. */
const struct metric_bounds *metric_bounds_of(enum metric_type type);

#endif
