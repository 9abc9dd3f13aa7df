/* SPDX-License-Identifier: MIT */
/*
 * OpenMetrics 1.0.0 and Prometheus' text format 0.0.4, which differ in how a
 * counter's family is named, in UNIT, _created and EOF, and in what an info
 * is. A label's value is shown as everything that strangers may have named
 * is: text_escape() first, then what the format itself escapes.
 */
#include "exposition.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/format.h"
#include "common/grow.h"
#include "common/text.h"

#define VALUE_MAX 256

/* Makes room for `n` bytes and a NUL. */
static bool
room(struct expo *e, size_t n)
{
	e->failed = e->failed || !GROW(e->text, e->size, e->len + n + 1, 16384);
	return !e->failed;
}

static void
add(struct expo *e, const char *s, size_t n)
{
	if (!room(e, n))
		return;
	memcpy(e->text + e->len, s, n);
	e->len += n;
	e->text[e->len] = '\0';
}

static void
adds(struct expo *e, const char *s)
{
	add(e, s, strlen(s));
}

/* Short lines alone: what is longer than the buffer would be cut. */
static void __attribute__((format(printf, 2, 3)))
addf(struct expo *e, const char *fmt, ...)
{
	char line[256];
	int n;

	n = FORMATTED(line, sizeof(line), fmt);
	if (n > 0)
		add(e, line, (size_t)n < sizeof(line) ? (size_t)n
		                                      : sizeof(line) - 1);
}

/* Backslash, quote and end of line, as both formats have them. */
static void
add_escaped(struct expo *e, const char *s)
{
	for (; *s != '\0'; s++) {
		if (*s == '\\')
			add(e, "\\\\", 2);
		else if (*s == '"')
			add(e, "\\\"", 2);
		else if (*s == '\n')
			add(e, "\\n", 2);
		else
			add(e, s, 1);
	}
}

/* {a="b",c="d"}, nothing where there are none. `le`: of a bucket, or NULL. */
static void
add_labels(struct expo *e, const struct expo_label *labels, const char *le)
{
	char shown[4 * VALUE_MAX];
	bool any = false;

	for (; labels != NULL && labels->name != NULL; labels++) {
		addf(e, "%s%s=\"", any ? "," : "{", labels->name);
		text_escape(labels->value, strnlen(labels->value, VALUE_MAX),
		    false, shown, sizeof(shown));
		add_escaped(e, shown);
		adds(e, "\"");
		any = true;
	}
	if (le != NULL) {
		addf(e, "%sle=\"%s\"", any ? "," : "{", le);
		any = true;
	}
	if (any)
		adds(e, "}");
}

/* Microseconds as seconds, without zeros at the end: "0.0005", "1.0". */
static void
print_seconds(char *dst, size_t size, uint64_t us)
{
	int n = snprintf(dst, size, "%" PRIu64 ".%06" PRIu64, us / 1000000,
	    us % 1000000);

	while (n > 2 && dst[n - 1] == '0' && dst[n - 2] != '.')
		dst[--n] = '\0';
}

static bool
is_open(const struct expo *e)
{
	return e->format == PSUP_METRICS_OPENMETRICS;
}

static bool
is_histogram(const struct metric *m)
{
	return metric_bounds_of(m->type) != NULL;
}

/* What a sample's name has behind its family's. */
static const char *
suffix(const struct metric *m)
{
	return m->type == METRIC_COUNTER ? "_total"
	    : m->type == METRIC_INFO     ? "_info"
	                                 : "";
}

/* The comment lines of a family. In the older format a family is named as its
 * samples are, and knows no infos. */
void
expo_family(struct expo *e, const struct metric *m)
{
	const char *more = is_open(e) ? "" : suffix(m);
	const char *type = !is_open(e) && m->type == METRIC_INFO
	    ? "gauge"
	    : metric_type_name(m->type);

	e->family = m;
	addf(e, "# HELP %s%s ", m->name, more);
	add_escaped(e, m->help);
	addf(e, "\n# TYPE %s%s %s\n", m->name, more, type);
	if (is_open(e) && m->unit[0] != '\0')
		addf(e, "# UNIT %s %s\n", m->name, m->unit);
}

/* When it began to count: what goes back begins anew. */
static void
add_created(struct expo *e, const struct expo_label *labels)
{
	if (!is_open(e) || e->created_ms == 0)
		return;
	addf(e, "%s_created", e->family->name);
	add_labels(e, labels, NULL);
	addf(e, " %" PRIu64 ".%03" PRIu64 "\n", e->created_ms / 1000,
	    e->created_ms % 1000);
}

/* name{labels} value */
static void
add_sample(struct expo *e, const char *more, const struct expo_label *labels,
    const char *le, const char *value)
{
	addf(e, "%s%s", e->family->name, more);
	add_labels(e, labels, le);
	addf(e, " %s\n", value);
}

void
expo_uint(struct expo *e, const struct expo_label *labels, uint64_t v)
{
	char value[24];

	snprintf(value, sizeof(value), "%" PRIu64, v);
	add_sample(e, suffix(e->family), labels, NULL, value);
	if (e->family->type == METRIC_COUNTER)
		add_created(e, labels);
}

void
expo_seconds(struct expo *e, const struct expo_label *labels, uint64_t us)
{
	char value[32];

	print_seconds(value, sizeof(value), us);
	add_sample(e, suffix(e->family), labels, NULL, value);
}

void
expo_histogram(struct expo *e, const struct expo_label *labels,
    const struct metric_bounds *b, const uint64_t *count, uint64_t sum_us)
{
	char le[32], value[32];
	uint64_t sum = 0;

	if (!is_histogram(e->family))
		return;
	for (size_t i = 0; i <= b->count; i++) {
		sum += count[i];
		if (i < b->count)
			print_seconds(le, sizeof(le), b->us[i]);
		else
			snprintf(le, sizeof(le), "+Inf");
		snprintf(value, sizeof(value), "%" PRIu64, sum);
		add_sample(e, "_bucket", labels, le, value);
	}
	print_seconds(le, sizeof(le), sum_us);
	add_sample(e, "_sum", labels, NULL, le);
	add_sample(e, "_count", labels, NULL, value);
	add_created(e, labels);
}

void
expo_end(struct expo *e)
{
	if (is_open(e))
		adds(e, "# EOF\n");
}
