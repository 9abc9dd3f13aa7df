/* SPDX-License-Identifier: MIT */
/*
 * What a server has done and does, as Prometheus scrapes it: counters, gauges
 * and histograms, read from shared memory like the rest of the view. The
 * server does nothing for it and need not answer. docs/metrics.md lists them.
 */
#ifndef PSUP_METRICS_H_PUBLIC
#define PSUP_METRICS_H_PUBLIC

#include <psup/view.h>

#ifdef __cplusplus
extern "C" {
#endif

enum psup_metrics_format {
	PSUP_METRICS_OPENMETRICS, /* 1.0.0 */
	PSUP_METRICS_TEXT         /* Prometheus' own, 0.0.4 */
};

/* The text, NUL-terminated, for free(). v NULL: what there is to say where no
 * server ever was, psup_up 0. Returns 0 or -ENOMEM. */
PSUP_API int psup_view_metrics(psup_view *v, enum psup_metrics_format format,
    char **ret_text, size_t *ret_len);
/* Its Content-Type. */
PSUP_API const char *psup_metrics_content_type(enum psup_metrics_format format);

#ifdef __cplusplus
}
#endif

#endif
