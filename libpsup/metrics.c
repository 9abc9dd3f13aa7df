/* SPDX-License-Identifier: MIT */
/*
 * Metrics from shared memory: the rows of common/metrics.def say where their
 * numbers are, or which function here knows. Reads what scrape.c found and, for
 * what is running, /proc; asks nobody.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <psup/metrics.h>

#include "common/clock.h"
#include "common/procfs.h"
#include "internal.h"
#include "scrape.h"
#include "shm/state_names.h"

#define PAGE_KEEPER 0u
#define PAGE_MASTER 1u
#define PAGE_WORKER STATS_PAGE_OF_WORKER(0u)

/* ------------------------------------------------------------ collecting */

/* The labels of a page's process. */
struct who {
	struct expo_label labels[EXPO_LABELS];
	char slot[12];
};

static const char *
process_name(uint32_t i)
{
	return i == PAGE_KEEPER ? "keeper"
	    : i == PAGE_MASTER  ? "master"
	                        : "worker";
}

static const struct expo_label *
who_is(struct who *w, uint32_t i)
{
	*w = (struct who){.labels = {{"process", process_name(i)}}};
	if (i >= PAGE_WORKER) {
		snprintf(w->slot, sizeof(w->slot), "%" PRIu32,
		    i - PAGE_WORKER);
		w->labels[1] = (struct expo_label){"slot", w->slot};
	}
	return w->labels;
}

/* Where a counter lies in every page. */
#define AT(field) offsetof(struct stats_page, field)

static uint64_t
load(const void *base, size_t offset)
{
	const char *p = (const char *)base + offset;

	return RELAXED(*(const _Atomic uint64_t *)(const void *)p);
}

/* Over these pages, those of who is no more, too. */
static uint64_t
sum_of(const struct scrape *s, uint32_t first, uint32_t last, size_t offset)
{
	uint64_t sum = 0;

	for (uint32_t i = first; i <= last; i++)
		sum += load(scrape_page(s, i), offset);
	return sum;
}

/* One sample for the keeper, one for the master, one for all workers. */
static void
by_kind(struct scrape *s, size_t offset, const char *name2, const char *value2)
{
	struct expo_label l[EXPO_LABELS] = {{"process", "keeper"},
	    {name2, value2}};

	expo_uint(&s->out, l, load(scrape_page(s, PAGE_KEEPER), offset));
	l[0].value = "master";
	expo_uint(&s->out, l, load(scrape_page(s, PAGE_MASTER), offset));
	l[0].value = "worker";
	expo_uint(&s->out, l, sum_of(s, PAGE_WORKER, STATS_PAGES - 1,
				offset));
}

/* Histograms at the same place of several pages are added up. */
static void
histogram(struct scrape *s, const struct expo_label *labels, uint32_t first,
    uint32_t last, size_t offset)
{
	uint64_t count[STATS_BUCKETS] = {0}, sum = 0;

	for (uint32_t i = first; i <= last; i++) {
		for (size_t b = 0; b < STATS_BUCKETS; b++)
			count[b] += load(scrape_page(s, i),
			    offset + b * sizeof(uint64_t));
		sum += load(scrape_page(s, i),
		    offset + offsetof(struct stats_hist, sum_us));
	}
	expo_histogram(&s->out, labels,
	    metric_bounds_of(s->out.family->type), count, sum);
}

static void
collect_build(struct scrape *s)
{
	const struct expo_label l[] = {{"version", PSUP_VERSION}, {NULL, NULL}};

	expo_uint(&s->out, l, 1);
}

static void
collect_up(struct scrape *s)
{
	expo_uint(&s->out, NULL, s->view != NULL && s->alive[PAGE_KEEPER] != 0);
}

static void
collect_start_time(struct scrape *s)
{
	expo_seconds(&s->out, NULL,
	    RELAXED(scrape_page(s, PAGE_KEEPER)->started_ms) *
	    1000);
}

static void
collect_connections(struct scrape *s)
{
	expo_uint(&s->out, NULL, s->alive[PAGE_MASTER] != 0
	    ? RELAXED(scrape_page(s, PAGE_MASTER)->connections)
	    : 0);
}

static void
collect_recovery(struct scrape *s)
{
	struct expo_label l[] = {{"process", "master"}, {NULL, NULL}};

	histogram(s, l, PAGE_KEEPER, PAGE_KEEPER, AT(master));
	l[0].value = "worker";
	histogram(s, l, PAGE_KEEPER, PAGE_KEEPER, AT(heir));
}

static void
collect_exits(struct scrape *s)
{
	for (uint32_t r = END_EXIT; r < END_REASONS; r++) {
		const struct expo_label l[] = {{"reason", reason_name(r)}, {NULL, NULL}};

		expo_uint(&s->out, l, load(scrape_page(s, PAGE_MASTER),
		    AT(tally.count[TALLY_ENDED + r])));
	}
}

static void
collect_sessions(struct scrape *s)
{
	for (uint32_t i = STATE_QUEUED; i < STATE_COUNT; i++) {
		const struct expo_label l[] = {{"state", state_name(i)}, {NULL, NULL}};

		expo_uint(&s->out, l, RELAXED(s->hdr->counts[i]));
	}
}

/* Every process that is, or was, there. */
/* NOLINTBEGIN(bugprone-macro-parentheses): i is declared here */
#define EACH_PROCESS(s, i, w)                                                  \
	for (uint32_t i = 0; i < STATS_PAGES; i++)                             \
		if ((s)->used[i] && who_is(&(w), i) != NULL)
/* A sample of each of them where there is one to say. */
#define OF_EACH(name, there, say)                                              \
	static void                                                            \
	collect_##name(struct scrape *s)                                       \
	{                                                                      \
		struct who w;                                                  \
		EACH_PROCESS(s, i, w)                                          \
			if (there)                                             \
				say;                                           \
	}
/* NOLINTEND(bugprone-macro-parentheses) */

OF_EACH(process_up, true, expo_uint(&s->out, w.labels, s->alive[i] != 0))
OF_EACH(restarts, i != PAGE_KEEPER, expo_uint(&s->out, w.labels,
    RELAXED(scrape_page(s, i)->restarts)))
OF_EACH(process_sessions, i != PAGE_MASTER, expo_uint(&s->out, w.labels,
    s->alive[i] != 0 ? RELAXED(scrape_page(s, i)->sessions) : 0))
OF_EACH(longest_turn, true, expo_seconds(&s->out, w.labels,
    RELAXED(scrape_page(s, i)->longest_turn_ns) / NSEC_PER_USEC))
OF_EACH(longest_turn_cpu, true, expo_seconds(&s->out, w.labels,
    RELAXED(scrape_page(s, i)->longest_turn_cpu_ns) / NSEC_PER_USEC))

static void
collect_heartbeat(struct scrape *s)
{
	struct who w;

	EACH_PROCESS(s, i, w) {
		uint64_t beat = RELAXED(scrape_page(s, i)->heartbeat_ns);

		if (beat != 0)
			expo_seconds(&s->out, w.labels,
			    beat < s->now_ns
				? (s->now_ns - beat) / NSEC_PER_USEC
				: 0);
	}
}

static void
collect_fds(struct scrape *s)
{
	struct who w;

	EACH_PROCESS(s, i, w) {
		int64_t n = s->alive[i] != 0
		    ? procfs_count_fds(s->alive[i])
		    : -1;

		if (n >= 0)
			expo_uint(&s->out, w.labels, (uint64_t)n);
	}
}

static void
collect_fds_max(struct scrape *s)
{
	struct who w;

	EACH_PROCESS(s, i, w) {
		uint64_t n;

		/* nothing where there is no bound */
		if (s->alive[i] != 0 && procfs_number(s->alive[i], "limits",
		    "Max open files", &n))
			expo_uint(&s->out, w.labels, n);
	}
}

static void
collect_log_lost(struct scrape *s)
{
	by_kind(s, AT(log_dropped), "why", "dropped");
	by_kind(s, AT(log_suppressed), "why", "suppressed");
}

/* Where the rows' numbers are. */
static const struct source {
	void (*own)(struct scrape *s); /* NULL: at `at` of ... */
	enum { OF_PAGES, OF_KINDS, OF_BOARD, OF_LANES } of;
	uint32_t first, last; /* ... these pages, added up */
	size_t at;
} sources[METRIC_COUNT] = {
#define KEEPER  PAGE_KEEPER, PAGE_KEEPER
#define MASTER  PAGE_MASTER, PAGE_MASTER
#define WORKERS PAGE_WORKER, STATS_PAGES - 1
#define OWN(name)          { collect_##name, OF_PAGES, 0, 0, 0 }
#define PAGE(pages, field) { NULL, OF_PAGES, pages, AT(field) }
#define TALLY(pages, slot, name)                                               \
	{ NULL, OF_PAGES, pages, AT(tally.count[slot]) }
#define KINDS(field) { NULL, OF_KINDS, 0, 0, AT(field) }
#define BOARD(field)                                                           \
	{ NULL, OF_BOARD, 0, 0, offsetof(struct board_header, field) }
#define LANE(field)                                                            \
	{ NULL, OF_LANES, 0, 0, offsetof(struct lane_row, field) }
#define METRIC(id, type, name, unit, labels, from, help) [METRIC_##id] = from,
#include "common/metrics.def"
};

static void
collect_lanes(struct scrape *s, size_t at)
{
	for (size_t i = 0; i < s->lane_count; i++) {
		const struct expo_label l[] = {{"lane", s->lanes[i].name},
		    {NULL, NULL}};
		uint64_t n;

		memcpy(&n, (const char *)&s->lanes[i] + at, sizeof(n));
		expo_uint(&s->out, l, n);
	}
}

/* One row's samples. */
static void
collect(struct scrape *s, enum metric_id id)
{
	const struct source *from = &sources[id];

	if (from->own != NULL)
		from->own(s);
	else if (from->of == OF_KINDS)
		by_kind(s, from->at, NULL, NULL);
	else if (from->of == OF_LANES)
		collect_lanes(s, from->at);
	else if (from->of == OF_BOARD)
		expo_uint(&s->out, NULL, load(s->hdr, from->at));
	else if (metric_bounds_of(metrics[id].type) != NULL)
		histogram(s, NULL, from->first, from->last, from->at);
	else
		expo_uint(&s->out, NULL,
		    sum_of(s, from->first, from->last, from->at));
}

/* Without a server there is little to say. */
static bool
is_said(const struct scrape *s, enum metric_id id)
{
	return s->view != NULL || id == METRIC_BUILD || id == METRIC_UP;
}

int
psup_view_metrics(struct psup_view *v, enum psup_metrics_format format,
    char **ret_text, size_t *ret_len)
{
	struct scrape *s = calloc(1, sizeof(*s));
	int rc;

	if (s == NULL)
		return -ENOMEM;
	s->out.format = format;
	s->now_ns = clock_boot_ns();
	/* a board without its stats pages is no server's */
	if (v != NULL && view_stats(v) != NULL) {
		scrape_take(s, v);
	}
	for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
		if (!is_said(s, id))
			continue;
		expo_family(&s->out, &metrics[id]);
		collect(s, id);
	}
	expo_end(&s->out);
	rc = s->out.failed ? -ENOMEM : 0;
	if (rc == 0) {
		*ret_text = s->out.text;
		*ret_len = s->out.len;
	} else {
		free(s->out.text);
	}
	free(s);
	return rc;
}

const char *
psup_metrics_content_type(enum psup_metrics_format format)
{
	return format == PSUP_METRICS_OPENMETRICS
	    ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
	    : "text/plain; version=0.0.4; charset=utf-8";
}
