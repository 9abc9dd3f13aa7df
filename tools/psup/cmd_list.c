/* SPDX-License-Identifier: MIT */
/*
 * psup list: the sessions, newest first, as a table (list_columns.c). Where a
 * server is there but its socket does not answer, the rows come from shared
 * memory.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bulk.h"
#include "common/clock.h"
#include "list.h"
#include "list_filter.h"

#define CALL_MS 30000

static struct {
	bool all, usage, watch, quiet;
	double seconds;
	const char *format;
	struct list_filter filter;
} o = {.seconds = 2};
static struct table table;

/* --watch[=S] */
static void
take_watch(struct usage *u, const char *text)
{
	o.watch = true;
	if (text != NULL)
		o.seconds = usage_duration(u, "--watch", text, 1000, 100,
		    31536000e3) / 1000;
}

/* --tag KEY[=VALUE] */
static void
take_tag(struct usage *u, const char *text)
{
	if (o.filter.tag_count < LIST_TAGS_MAX)
		o.filter.tags[o.filter.tag_count++] = text;
	else
		usage_wrong(u, "--tag: at most %d of them", LIST_TAGS_MAX);
}

/* The key as one that columns look at, or NULL. */
static const char *
looked_at(const char *key, size_t len)
{
	bool all = o.format != NULL || o.usage;

	for (const char *const *k = list_keys;
	    *k != NULL && (all || k != list_keys_asked); k++)
		if ((*k)[0] == key[0] && strncmp(*k, key, len) == 0 &&
		    (*k)[len] == '\0')
			return *k;
	return NULL;
}

/* A row for the columns: of ten thousand their tails and limits would take as
 * long as all else. */
static json_t *
row_of(const psup_value *row)
{
	json_t *object = json_object();
	const char *key;
	size_t len;

	for (size_t i = 0; i < psup_value_count(row); i++) {
		key = psup_value_key(row, i, &len);
		key = key != NULL && len > 0 ? looked_at(key, len) : NULL;
		if (key != NULL)
			json_object_set_new_nocheck(object, key,
			    json_of_value(psup_value_at(row, i)));
	}
	return object;
}

/* The answer; of its rows what is shown. */
static json_t *
answer_of(struct cli *c, const psup_reply *reply)
{
	const psup_value *rows = psup_value_get(psup_reply_details(reply),
	    "sessions");
	json_t *array;
	const char *text;
	size_t len;

	if (c->json)
		return json_of_value(psup_reply_value(reply));
	array = json_array();
	for (size_t i = 0; i < psup_value_count(rows); i++)
		json_array_append_new(array, row_of(psup_value_at(rows, i)));
	text = psup_reply_text(reply, &len);
	return json_pack("{s:o, s:{s:o}}", "text", json_of_text(text, len),
	    "details", "sessions", array);
}

/* The answer of the server, or of its shared memory. */
static int
ask(struct cli *c, json_t **ret)
{
	psup_args *a = psup_args_new();
	psup_reply *reply;
	int code, rc;

	*ret = NULL;
	if (a == NULL)
		return EXIT_INTERNAL;
	psup_args_bool(a, "all", o.all);
	psup_args_bool(a, "usage", o.usage);
	list_filter_args(&o.filter, a);
	if (o.quiet) {
		psup_args_list_begin(a, "fields");
		psup_args_str(a, NULL, "sessionId");
		psup_args_list_end(a);
	}
	rc = cli_connect_briefly(c);
	if (rc == PSUP_OK)
		rc = psup_call(c->p, "list", a, CALL_MS, &reply);
	psup_args_free(&a);
	list_now_ms = (int64_t)clock_wall_ms();
	if (rc == PSUP_ERR_TIMEOUT || rc == PSUP_ERR_LOST) {
		code = view_list(c, o.all, ret);
		if (code == EXIT_OK)
			list_filter(&o.filter, *ret);
		return code;
	}
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	code = cli_exit_code(reply);
	if (code != EXIT_OK)
		return cli_answer(c, &reply);
	*ret = answer_of(c, reply);
	psup_reply_free(&reply);
	return EXIT_OK;
}

/* Shows one answer; takes the reference. It is kept until the next one: to free
 * ten thousand rows before the end would be for nothing. */
static void
show(struct cli *c, json_t *answer, bool screen)
{
	static json_t *shown;
	const json_t *rows = json_object_get(
	    json_object_get(answer, "details"), "sessions");
	size_t columns, lines;

	json_decref(shown);
	shown = NULL;
	if (c->json) {
		cli_print_json(answer);
		return;
	}
	shown = answer;
	cells_of_terminal(&columns, &lines);
	if (json_array_size(rows) == 0 && o.format == NULL)
		cli_putf("%s\n", json_string_value(json_object_get(answer,
		    "text")));
	else
		table_print(c, &table, rows, columns, screen ? lines : 0);
	fflush(stdout);
}

/* The list again and again, on a terminal in one place, until somebody ends us
 * or nobody reads. */
static int
watch(struct cli *c)
{
	bool screen = color_terminal(STDOUT_FILENO) && !c->json;
	struct pollfd reader = {.fd = STDOUT_FILENO};
	json_t *answer;
	int code;

	for (bool again = false;; again = true) {
		code = ask(c, &answer);
		if (code != EXIT_OK)
			return code;
		if (screen)
			fputs("\033[H\033[J", stdout);
		else if (again && !c->json && table.template == NULL)
			putchar('\n');
		show(c, answer, screen);
		if (ferror(stdout))
			return EXIT_INTERNAL;
		/* a pipe that breaks ends the pause */
		if (poll(&reader, 1, (int)(o.seconds * 1000)) > 0)
			return EXIT_OK;
	}
}

/* Columns that --usage is for. */
static const char *const used[] = {"cpu", "memory", "io", "processes"};

/* What is shown: by --format, or as usual, with --usage its columns in front
 * of the name. */
static int
choose_columns(struct cli *c)
{
	table_default(&table, list_columns, list_column_count);
	for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++) {
		if (o.format != NULL)
			o.usage = o.usage || strstr(o.format, used[i]) != NULL;
		if (!o.usage)
			continue;
		table.columns[table.count] = table.columns[table.count - 1];
		for (size_t k = 0; k < list_column_count; k++)
			if (strcmp(list_columns[k].name, used[i]) == 0)
				table.columns[table.count - 1] =
				    &list_columns[k];
		table.count++;
	}
	if (o.quiet)
		o.format = "{id}";
	return o.format != NULL ? table_format(c, &table, o.format) : EXIT_OK;
}

static int
run(struct cli *c, int, char **)
{
	json_t *answer;
	int code;

	if (o.format != NULL && c->json)
		return cli_usage(c, "--format goes without --json");
	if (o.quiet && (o.format != NULL || c->json))
		return cli_usage(c, "--quiet goes without --format and --json");
	if (choose_columns(c) != EXIT_OK)
		return EXIT_USAGE;
	if (o.watch)
		return watch(c);
	code = ask(c, &answer);
	if (code == EXIT_OK)
		show(c, answer, false);
	return code;
}

static void
print_columns(void)
{
	table_help(list_columns, list_column_count);
}

static const struct opt options[] = {
	FLAG("all", 'a', o.all, "foreground sessions too"),
	FLAG("quiet", 'q', o.quiet, "ids alone: psup list -q | xargs psup ..."),
	TEXT("status", 0, "WORD", LIST_STATUSES, o.filter.status,
	    "only these: running, queued, finished (all that follow), "
	    "completed, failed, killed, lost"),
	TEXT("lane", 0, "NAME", "@lane", o.filter.lane, "only of that lane"),
	TEXT("label", 0, "TEXT", NULL, o.filter.label,
	    "only of that label; * and ? as in the shell"),
	TEXT("scope", 0, "NAME", "@scope", o.filter.scope,
	    "only of that scope"),
	CALL("tag", 0, "KEY[=VALUE]", NULL, take_tag,
	    "only with that tag; of several with all of them"),
	MOMENT("since", "WHEN", o.filter.since_ms,
	    "only started since: a duration before now (90, 10m, 1h30m, 2d), "
	    "or a time (14:30, 2026-11-21)"),
	MOMENT("older", "WHEN", o.filter.before_ms,
	    "only ended so long ago or longer; of those that run, started"),
	FLAG("usage", 'u', o.usage,
	    "with what each uses now: cpu, memory, processes"),
	TEXT("format", 0, "FORMAT", "?id|id,status,name|{id}", o.format,
	    "these columns, with commas between: id,status,name; or a template "
	    "for each line, without a title: '{id} {exit}\\t{name}'"),
	CALL("watch", 'w', "[S]", NULL, take_watch,
	    "again every S seconds (2), until ended; on a terminal in place"),
	OPT_END};

const struct command cmd_list = {
	.name = "list",
	.also = "ps",
	.summary = "List the backgrounded sessions, running and finished",
	.about = "On a terminal the table is as wide as that; elsewhere "
	         "nothing is cut. Columns in which there is nothing are left out.",
	.options = options,
	.more_help = print_columns,
	.run = run,
};

/* ------------------------------------------------------------------ stats */

static bool once;

static int
run_stats(struct cli *c, int argc, char **argv)
{
	size_t count = (size_t)argc, left = count;
	int code;

	o.usage = o.all = true;
	if (count > 0 && cli_connect_briefly(c) == PSUP_OK)
		left = bulk_known(c, argv, count);
	if (left == 0 && count > 0)
		return count > 1 ? EXIT_FAILED : EXIT_NOT_FOUND;
	o.filter.ids = (const char *const *)argv;
	o.filter.id_count = left;
	if (argc == 0)
		o.filter.status = "running";
	if (!c->json)
		o.format = "id,how,time,cpu,memory,processes,io,output,what";
	if (!once && isatty(STDOUT_FILENO) == 1)
		o.watch = true;
	code = run(c, 0, argv);
	return code == EXIT_OK && left < count ? EXIT_FAILED : code;
}

static const struct opt stats_options[] = {
	CALL("watch", 'w', "[S]", NULL, take_watch,
	    "again every S seconds (2), until ended; on a terminal unasked"),
	FLAG("once", 0, once, "once, on a terminal, too"),
	OPT_END};

const struct command cmd_stats = {
	.name = "stats",
	.args = "[ID...]",
	.words = "@session...",
	.max_args = -1,
	.wants = "it takes session ids or none",
	.summary = "Show what sessions use now: cpu, memory, processes, output",
	.about = "Of those that run, or of these; on a terminal again and "
	         "again. psup top shows more.",
	.options = stats_options,
	.run = run_stats,
};
