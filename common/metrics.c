/* SPDX-License-Identifier: MIT */
/* The tables of metrics.def. */
#include "common/metrics.h"

#include "common/check.h"

const struct metric metrics[METRIC_COUNT] = {
#define METRIC(id, type, name, unit, labels, from, help)                       \
	[METRIC_##id] = { METRIC_##type, name, unit, labels, help },
#include "common/metrics.def"
};

#define CUT(...)                                                               \
	{                                                                      \
		.us = { __VA_ARGS__ }, .count = sizeof((uint64_t[]){           \
		    __VA_ARGS__ }) / sizeof(uint64_t)                          \
	}
const struct metric_bounds metric_bounds[METRIC_CUTS] = {
#define BOUNDS(id, ...) [METRIC_CUT_##id] = CUT(__VA_ARGS__),
#include "common/metrics.def"
};

const char *
metric_type_name(enum metric_type type)
{
	static const char *const names[] = {
		[METRIC_INFO] = "info",
		[METRIC_GAUGE] = "gauge",
		[METRIC_COUNTER] = "counter",
		[METRIC_HISTOGRAM_WORK] = "histogram",
		[METRIC_HISTOGRAM_LIFE] = "histogram",
	};

	return names[type];
}

const struct metric_bounds *
metric_bounds_of(enum metric_type type)
{
	switch (type) {
	case METRIC_HISTOGRAM_WORK:
		return &metric_bounds[METRIC_CUT_WORK];
	case METRIC_HISTOGRAM_LIFE:
		return &metric_bounds[METRIC_CUT_LIFE];
	case METRIC_INFO:
	case METRIC_GAUGE:
	case METRIC_COUNTER:
		return NULL;
	}
	UNREACHABLE();
}
