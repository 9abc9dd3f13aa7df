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
#define METRIC(id, type, name, unit, labels, from, help) METRIC_##id,
#include "common/metrics.def"
	METRIC_COUNT
};

/* The slots of struct stats_tally. */
enum metric_tally {
#define TALLY(pages, slot, name) TALLY_##name = slot,
#define PAGE(pages, field)
#define KINDS(field)
#define BOARD(field)
#define LANE(field)
#define OWN(name)
#define METRIC(id, type, name, unit, labels, from, help) from
#include "common/metrics.def"
#undef TALLY
#undef PAGE
#undef KINDS
#undef BOARD
#undef LANE
#undef OWN
	TALLY_ENDED = 8 /* by enum end_reason */
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
