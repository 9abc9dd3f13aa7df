/* SPDX-License-Identifier: MIT */
/* Counters and times, as progress lines, text and JSON. */
#include "chaos.h"
#include "common/grow.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/format.h"

#define SAID_MAX 5 /* lines of each kind of loss */

static const struct {
	const char *name; /* of the JSON report */
	const char *text;
} losses[LOSS_COUNT] = {
    [LOSS_BYTES] = {"bytesLost", "output bytes lost"},
    [LOSS_WRONG] = {"bytesWrong", "output wrong or doubled"},
    [LOSS_STDIN] = {"stdinWrong", "input lost or doubled"},
    [LOSS_STATUS] = {"statusWrong", "wrong exit code or reason"},
    [LOSS_START] = {"startsLost", "sessions that never ran"},
    [LOSS_START_TWICE] = {"startsDoubled", "sessions that ran twice"},
    [LOSS_EVENT] = {"eventsLost", "exit events lost"},
    [LOSS_EVENT_TWICE] = {"eventsDoubled", "exit events doubled"},
    [LOSS_ORDER] = {"orderWrong", "queued sessions out of order"},
    [LOSS_STUCK] = {"stuck", "stuck for a minute"},
    [LOSS_ANSWER] = {"answersWrong", "answers that must not be"},
    [LOSS_LATE] = {"late", "answers and lines too late"},
    [LOSS_SERVER] = {"serverLost", "processes of psup lost"},
    [LOSS_PROCESS] = {"processesLeft", "processes left behind"},
    [LOSS_ZOMBIE] = {"zombiesLeft", "zombies left behind"},
    [LOSS_DESCRIPTOR] = {"descriptorsLeft", "descriptors left open"},
    [LOSS_FILE] = {"filesLeft", "shared memory files left"},
    [LOSS_RECORD] = {"recordsLeft", "index records left"},
};

/* Whom it kills, and how many of them it has. */
static const struct {
	const char *name;
	_Atomic long *n;
} kills[] = {{"worker", &chaos.kills_worker}, {"master", &chaos.kills_master},
    {"reader", &chaos.kills_reader}, {"gateway", &chaos.kills_gateway},
    {"keeper", &chaos.kills_keeper}, {"box", &chaos.kills_box}};
#define KILLS (sizeof(kills) / sizeof(kills[0]))

long
kills_by_hand(void)
{
	long sum = 0;

	for (size_t i = 0; i < KILLS; i++)
		sum += *kills[i].n;
	return sum;
}

/* Of each kind, with this before it, but for the first. */
static void
print_kills(FILE *f, const char *between)
{
	for (size_t i = 0; i < KILLS; i++)
		fprintf(f, "%s%s %ld", i > 0 ? between : "", kills[i].name,
		    *kills[i].n);
}

void
lost(enum loss what, const char *fmt, ...)
{
	long before = atomic_fetch_add(&chaos.loss[what], 1);
	char text[1024];

	if (before >= SAID_MAX)
		return;
	(void)FORMATTED(text, sizeof(text), fmt);
	fprintf(stderr, "psup-chaos: %s: %s\n", losses[what].name, text);
}

/* ------------------------------------------------------------------ times */

void
times_add(struct times *t, uint64_t ns)
{
	if (!GROW(t->us, t->room, t->n + 1, 1024))
		die("no memory");
	t->us[t->n++] = ns / 1000 < UINT32_MAX ? (uint32_t)(ns / 1000)
	                                       : UINT32_MAX;
}

static int
compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

double
times_percentile_ms(struct times *t, double share)
{
	size_t i;

	if (t->n == 0)
		return 0;
	qsort(t->us, t->n, sizeof(*t->us), compare);
	i = (size_t)(share * (double)t->n);
	return t->us[i < t->n ? i : t->n - 1] / 1000.0;
}

/* --------------------------------------------------------------- printing */

static double
seconds(void)
{
	return (double)(clock_boot_ns() - chaos.began_ns) / 1e9;
}

static long
loss_sum(void)
{
	long sum = 0;

	for (int i = 0; i < LOSS_COUNT; i++)
		sum += atomic_load(&chaos.loss[i]);
	return sum;
}

void
progress_print(void)
{
	fprintf(stderr, "%5.0f s  kills: ", seconds());
	print_kills(stderr, " ");
	fprintf(stderr, "  stops %ld  sessions %ld of %ld  %.1f MB checked  "
	    "lost %ld\n", atomic_load(&chaos.stops), atomic_load(&chaos.ended),
	    atomic_load(&chaos.started),
	    (double)atomic_load(&chaos.bytes_checked) / 1e6, loss_sum());
}

static void
print_times(const char *name, struct times *t)
{
	if (t->n == 0)
		return;
	printf("%-28s p50 %.2f ms  p99 %.2f ms  max %.2f ms  (%zu)\n", name,
	    times_percentile_ms(t, 0.5), times_percentile_ms(t, 0.99),
	    times_percentile_ms(t, 1), t->n);
}

static void
print_text(void)
{
	json_t *points = faults_rows();
	const char *name, *key;
	struct times *t;

	printf("psup-chaos %s, seed %u, %.0f s\n", psup_version(),
	    chaos.o.seed, seconds());
	printf("%-28s ", "killed");
	print_kills(stdout, ", ");
	putchar('\n');
	if (chaos.o.fault != NULL)
		printf("%-28s %ld of %zu kinds\n", "at fault points",
		    atomic_load(&chaos.kills_point),
		    json_object_size(points));
	printf("%-28s %ld\n", "stopped and continued",
	    atomic_load(&chaos.stops));
	if (chaos.o.upgrade)
		printf("%-28s %ld done, %ld undone or refused\n", "upgrades",
		    atomic_load(&chaos.upgrades_done),
		    atomic_load(&chaos.upgrades_undone));
	printf("%-28s %ld started, %ld checked to their end\n",
	    "sessions", atomic_load(&chaos.started),
	    atomic_load(&chaos.ended));
	printf("%-28s %llu bytes, %ld events, %ld requests repeated\n",
	    "checked",
	    (unsigned long long)atomic_load(&chaos.bytes_checked),
	    atomic_load(&chaos.events_seen), atomic_load(&chaos.repeats));
	if (atomic_load(&chaos.kills_keeper) > 0)
		printf("%-28s %ld lost and told so (%ld had waited); %ld "
		    "processes ended by the next server\n",
		    "keeper's sessions", atomic_load(&chaos.lost_sessions),
		    chaos.lost_queued, chaos.hid);
	if (atomic_load(&chaos.kills_box) > 0)
		printf("%-28s %ld lost and told so\n", "boxes' sessions",
		    atomic_load(&chaos.lost_boxed));
	print_times("worker killed to resumed", &chaos.worker_back);
	print_times("master killed to answering", &chaos.master_back);
	print_times("keeper killed to answering", &chaos.keeper_back);
	print_times("box killed to in the next", &chaos.box_back);
	print_times("to the last command's end", &chaos.commands_gone);
	for (int i = 0; (t = witness_times(i, &name, &key)) != NULL; i++)
		print_times(name, t);
	for (int i = 0; i < LOSS_COUNT; i++)
		printf("%-28s %ld\n", losses[i].text,
		    atomic_load(&chaos.loss[i]));
	json_decref(points);
}

static json_t *
times_json(struct times *t)
{
	return json_pack("{s:I,s:f,s:f,s:f}", "count", (json_int_t)t->n,
	    "p50Ms", times_percentile_ms(t, 0.5), "p99Ms",
	    times_percentile_ms(t, 0.99), "maxMs",
	    times_percentile_ms(t, 1));
}

static json_t *
witness_json(void)
{
	json_t *all = json_object();
	const char *name, *key;
	struct times *t;

	for (int i = 0; (t = witness_times(i, &name, &key)) != NULL; i++)
		json_object_set_new(all, key, times_json(t));
	return all;
}

static void
print_json(void)
{
	json_t *all, *loss = json_object(), *killed = json_object();
	FILE *f = strcmp(chaos.o.json, "-") == 0
	    ? stdout
	    : fopen(chaos.o.json, "we");

	for (int i = 0; i < LOSS_COUNT; i++)
		json_object_set_new(loss, losses[i].name,
		    json_integer(atomic_load(&chaos.loss[i])));
	for (size_t i = 0; i < KILLS; i++)
		json_object_set_new(killed, kills[i].name,
		    json_integer(*kills[i].n));
	all = json_pack(
	    "{s:s,s:I,s:f,s:o,s:I,s:{s:I,s:I,s:I,s:I},"
	    "s:I,s:I,s:I,s:{s:o,s:o,s:o,s:o,s:o},s:o,s:b}",
	    "version", psup_version(), "seed", (json_int_t)chaos.o.seed,
	    "seconds", seconds(), "kills", killed, "stops",
	    (json_int_t)atomic_load(&chaos.stops), "sessions", "started",
	    (json_int_t)atomic_load(&chaos.started), "checked",
	    (json_int_t)atomic_load(&chaos.ended), "lost",
	    (json_int_t)atomic_load(&chaos.lost_sessions), "lostWithBox",
	    (json_int_t)atomic_load(&chaos.lost_boxed), "bytesChecked",
	    (json_int_t)atomic_load(&chaos.bytes_checked), "events",
	    (json_int_t)atomic_load(&chaos.events_seen), "repeats",
	    (json_int_t)atomic_load(&chaos.repeats), "recovery", "worker",
	    times_json(&chaos.worker_back), "master",
	    times_json(&chaos.master_back), "keeper",
	    times_json(&chaos.keeper_back), "box",
	    times_json(&chaos.box_back), "commandsGone",
	    times_json(&chaos.commands_gone), "losses", loss, "ok",
	    loss_sum() == 0);
	if (all != NULL && chaos.o.hostile != NULL)
		json_object_set_new(all, "witness", witness_json());
	if (all != NULL && program_rows() != NULL)
		json_object_set(all, "runs", program_rows());
	if (all != NULL && chaos.o.upgrade)
		json_object_set_new(all, "upgrades", json_pack("{s:I,s:I}",
		    "done", (json_int_t)atomic_load(&chaos.upgrades_done),
		    "undone", (json_int_t)atomic_load(
		    &chaos.upgrades_undone)));
	if (all != NULL && chaos.o.fault != NULL)
		json_object_set_new(all, "points", faults_rows());
	if (f == NULL || all == NULL || json_dumpf(all, f, JSON_INDENT(1)) < 0)
		die("%s: %s", chaos.o.json, strerror(errno));
	fprintf(f, "\n");
	if (f != stdout)
		fclose(f);
	json_decref(all);
}

int
report_print(void)
{
	if (chaos.o.json == NULL || strcmp(chaos.o.json, "-") != 0)
		print_text();
	if (chaos.o.json != NULL)
		print_json();
	return loss_sum() == 0 ? 0 : 1;
}
