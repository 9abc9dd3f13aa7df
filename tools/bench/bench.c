/* SPDX-License-Identifier: MIT */
/* psup-bench: options, rounds and the table. See bench.h. */
#include "bench.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/grow.h"
#include "common/option.h"

#define ROWS_MAX 96

static struct row rows[ROWS_MAX];
static int row_count;

static const struct family {
	const char *name;
	void (*round)(struct bench *b);
	const char *help;
} families[] = {
    {"starts", starts_round, "sessions/s and latency at 1, 8, 64 at once"},
    {"output", output_round, "MB/s of one and of 100 children"},
    {"idle", idle_round, "memory of idle sessions; list and poll"},
    {"events", events_round, "exit to event; server start to first command"},
    {"calls", calls_round, "calls of models a second: psup tool, psup-mcp"},
    {"many", many_round, "a start, list, poll beside 10 000 kept, 4 000 live"},
    {"boxes", boxes_round, "a command in a box beside one outside, the box"},
    {"peers", peers_round, "xargs, task-spooler, s6, supervisord, OpenClaw"},
};
#define FAMILIES (sizeof(families) / sizeof(families[0]))

static struct bench own;

void
die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "psup-bench: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	server_stop_all();
	exit(1);
}

void
need(const struct bench *b, int status, const char *what)
{
	if (status != PSUP_OK)
		die("%s: %s", what, psup_error_message(b->client));
}

static volatile sig_atomic_t interrupted;

void
turn(psup *client)
{
	uint64_t start = clock_boot_ns();

	if (interrupted)
		die("interrupted");
	if (psup_turn(client, 30000) != PSUP_OK)
		die("%s", psup_error_message(client));
	if (clock_boot_ns() - start > 29000000000ull)
		die("nothing came for 30 seconds");
}

bool
bench_wants(const struct bench *b, const char *family)
{
	if (b->only != NULL)
		return strcmp(b->only, family) == 0;
	if (strcmp(family, "peers") == 0)
		return b->peers;
	/* many sessions take half a minute to make and to end */
	return !b->quick || strcmp(family, "many") != 0;
}

/* -------------------------------------------------------------- samples */

void
samples_add(struct samples *s, double us)
{
	if (!GROW(s->v, s->room, s->n + 1, 1024))
		die("no memory");
	s->v[s->n++] = (float)us;
}

static int
by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return x < y ? -1 : x > y;
}

double
samples_percentile(struct samples *s, double share)
{
	if (s->n == 0)
		return 0;
	qsort(s->v, s->n, sizeof(*s->v), by_value);
	return (double)s->v[(size_t)((double)(s->n - 1) * share)];
}

void
samples_free(struct samples *s)
{
	free(s->v);
	*s = (struct samples){0};
}

/* ----------------------------------------------------------------- rows */

struct row *
row_get(const char *figure, const char *unit, const char *raw_is,
    enum goal goal, double goal_value)
{
	struct row *r;

	for (int i = 0; i < row_count; i++)
		if (strcmp(rows[i].figure, figure) == 0)
			return &rows[i];
	if (row_count == ROWS_MAX)
		die("too many rows");
	r = &rows[row_count++];
	snprintf(r->figure, sizeof(r->figure), "%s", figure);
	r->unit = unit;
	r->raw_is = raw_is;
	r->goal = goal;
	r->goal_value = goal_value;
	return r;
}

static void
add(double *v, int *n, double x)
{
	if (*n < ROUNDS_MAX)
		v[(*n)++] = x;
}

void
row_psup(struct row *r, double v)
{
	add(r->psup, &r->psup_n, v);
}

void
row_raw(struct row *r, double v)
{
	add(r->raw, &r->raw_n, v);
}

void
row_node(struct row *r, double v)
{
	if (v >= 0)
		add(r->node, &r->node_n, v);
}

static int
by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* -1 where nothing was measured. */
static double
median(double *v, int n)
{
	if (n == 0)
		return -1;
	qsort(v, (size_t)n, sizeof(*v), by_double);
	return n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* The ratio that was measured within each round, its median. */
static double
median_ratio(const struct row *r)
{
	double v[ROUNDS_MAX];
	int n = r->psup_n < r->raw_n ? r->psup_n : r->raw_n;

	for (int i = 0; i < n; i++)
		v[i] = r->raw[i] > 0 ? r->psup[i] / r->raw[i] : 0;
	return median(v, n);
}

/* By how much it was above raw within each round, the median. */
static double
median_above(const struct row *r)
{
	double v[ROUNDS_MAX];
	int n = r->psup_n < r->raw_n ? r->psup_n : r->raw_n;

	for (int i = 0; i < n; i++)
		v[i] = r->psup[i] > r->raw[i] ? r->psup[i] - r->raw[i] : 0;
	return median(v, n);
}

struct medians {
	double psup, raw, node, ratio, above;
};

/* What belongs to one round first: a median sorts. */
static struct medians
medians_of(struct row *r)
{
	struct medians m = {.ratio = median_ratio(r), .above = median_above(r)};

	m.psup = median(r->psup, r->psup_n);
	m.raw = median(r->raw, r->raw_n);
	m.node = median(r->node, r->node_n);
	return m;
}

/* A figure in at most four digits before a point, or a dash. */
static const char *
shown(double v, char buf[32])
{
	if (v < 0)
		return "-";
	snprintf(buf, 32, v < 10 ? "%.2f" : v < 100 ? "%.1f" : "%.0f", v);
	return buf;
}

static const char *
goal_text(const struct row *r, char buf[32])
{
	switch (r->goal) {
	case GOAL_RATIO_MIN:
		snprintf(buf, 32, ">= %.2f x", r->goal_value);
		return buf;
	case GOAL_RATIO_MAX:
		snprintf(buf, 32, "<= %.2f x", r->goal_value);
		return buf;
	case GOAL_ABOVE_MAX:
		snprintf(buf, 32, "<= raw+%g", r->goal_value);
		return buf;
	case GOAL_VALUE_MAX:
		snprintf(buf, 32, "<= %g", r->goal_value);
		return buf;
	case GOAL_NONE:
		break;
	}
	return "";
}

/* "yes", "no", or "" without a goal. */
static const char *
met(const struct row *r, const struct medians *m)
{
	const double judged[] = {[GOAL_NONE] = -1, [GOAL_RATIO_MIN] = m->ratio,
	    [GOAL_RATIO_MAX] = m->ratio, [GOAL_ABOVE_MAX] = m->above,
	    [GOAL_VALUE_MAX] = m->psup};
	double v = judged[r->goal];

	if (v < 0)
		return "";
	if (r->goal == GOAL_RATIO_MIN)
		return v >= r->goal_value ? "yes" : "no";
	return v <= r->goal_value ? "yes" : "no";
}

static void
print_table(const struct bench *b)
{
	const char *last = NULL;

	printf("psup %s, %d workers, %d rounds, medians\n\n", psup_version(),
	    b->workers, b->rounds);
	printf("%-38s %-6s %8s %8s %8s %6s  %-10s %s\n", "figure", "unit",
	    "psup", "raw", "node", "ratio", "goal", "met");
	for (int i = 0; i < row_count; i++) {
		struct row *r = &rows[i];
		char t[5][32];
		struct medians m = medians_of(r);

		printf("%-38s %-6s %8s %8s %8s %6s  %-10s %s\n", r->figure,
		    r->unit, shown(m.psup, t[0]), shown(m.raw, t[1]),
		    shown(m.node, t[2]), shown(m.ratio, t[3]),
		    goal_text(r, t[4]), met(r, &m));
	}
	printf("\n");
	for (int i = 0; i < row_count; i++) {
		if (rows[i].raw_is != NULL && rows[i].raw_is != last)
			printf("raw %s\n", rows[i].raw_is);
		if (rows[i].raw_is != NULL)
			last = rows[i].raw_is;
	}
}

static void
print_json(const struct bench *b)
{
	printf("{\"version\":\"%s\",\"workers\":%d,\"rounds\":%d,\"rows\":[",
	    psup_version(), b->workers, b->rounds);
	for (int i = 0; i < row_count; i++) {
		struct row *r = &rows[i];
		char t[32];
		struct medians m = medians_of(r);

		printf("%s\n{\"figure\":\"%s\",\"unit\":\"%s\"", i ? "," : "",
		    r->figure, r->unit);
		if (m.psup >= 0)
			printf(",\"psup\":%.6g", m.psup);
		if (m.raw >= 0)
			printf(",\"%s\":%.6g,\"ratio\":%.4g,\"above\":%.6g",
			    r->beside != NULL ? r->beside : "raw", m.raw,
			    m.ratio, m.above);
		if (m.node >= 0)
			printf(",\"node\":%.6g", m.node);
		if (r->goal != GOAL_NONE)
			printf(",\"goal\":%g,\"goalIs\":\"%s\",\"met\":%s",
			    r->goal_value, goal_text(r, t),
			    strcmp(met(r, &m), "yes") == 0 ? "true" : "false");
		printf("}");
	}
	printf("\n]}\n");
}

/* ----------------------------------------------------------------- main */

static void
print_families(void)
{
	puts("\nFamilies:");
	for (size_t i = 0; i < FAMILIES; i++)
		printf("  %-8s   %s\n", families[i].name, families[i].help);
}

/* -1: go on; else the exit code. */
static int
parse_options(int argc, char **argv)
{
	static const struct opt options[] = {
		FLAG("quick", 0, own.quick, "short loops, 2 rounds"),
		NUMBER("rounds", 0, "N", own.rounds, 1, ROUNDS_MAX,
		    "1 to 51 (5)"),
		FLAG("json", 0, own.json,
		    "one JSON object instead of the table"),
		TEXT("only", 0, "FAMILY", "starts|output|idle|events|calls|many|boxes|peers",
		    own.only, "one family of figures"),
		FLAG("peers", 0, own.peers,
		    "beside other programs, too, that are installed; OpenClaw's "
		    "where $OC_DIST is its dist ($NODE runs it)"),
		OPT_END};
	static const struct command_line line = {
		.about = "Measures psup beside a raw loop and Node, with a "
		         "server of its own.",
		.options = options,
		.more_help = print_families,
	};
	struct usage u = {.program = "psup-bench"};
	int code = command_line_take(&line, &u, argc, argv);

	if (own.rounds == 0)
		own.rounds = own.quick ? 2 : 5;
	own.turn_sec = own.quick ? 0.4 : 1.0;
	return code;
}

static void
on_signal(int sig)
{
	interrupted = sig;
}

int
main(int argc, char **argv)
{
	ssize_t n;
	int code;

	if (argc > 2 && strcmp(argv[1], "--child") == 0)
		return child_main(argc - 2, argv + 2);
	code = parse_options(argc, argv);
	if (code >= 0)
		return code;
	n = readlink("/proc/self/exe", own.self, sizeof(own.self) - 1);
	if (n <= 0)
		die("/proc/self/exe: %s", strerror(errno));
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	server_start(&own);
	for (int round = 0; round < own.rounds && !interrupted; round++) {
		own.round = round;
		for (size_t i = 0; i < FAMILIES; i++) {
			if (!bench_wants(&own, families[i].name))
				continue;
			if (isatty(STDERR_FILENO))
				fprintf(stderr, "\rround %d of %d: %-10s",
				    round + 1, own.rounds, families[i].name);
			families[i].round(&own);
		}
	}
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%40s\r", "");
	server_stop(&own);
	if (interrupted)
		return 130;
	if (own.json)
		print_json(&own);
	else
		print_table(&own);
	return 0;
}
