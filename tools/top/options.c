/* SPDX-License-Identifier: MIT */
/* The options of psup-top. Called by main. */
#include "conf.h"
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct top_options o = {.refreshes = -1};
static double delay = 1;
static bool help_man, has_sort;

static void
take_sort(struct usage *u, const char *text)
{
	const char *names[LIST_COLUMNS] = {0};
	int at = column_find(text);
	char meant[MEANT_SIZE];

	for (size_t i = 0; i < column_count; i++)
		names[i] = columns[i].name;
	if (at < 0)
		usage_wrong(u, "--sort: \"%.80s\" is no column%s", text,
		    option_meant(psup_nearest(text, names), meant));
	else
		o.list.sort = (size_t)at;
	has_sort = true;
}

static void
take_columns(struct usage *u, const char *text)
{
	char why[160];

	if (!list_columns_take(&o.list, text, why, sizeof(why)))
		usage_wrong(u, "--columns: %s", why);
}

static void
take_filter(struct usage *u, const char *text)
{
	if (strlen(text) < sizeof(o.list.filter))
		memcpy(o.list.filter, text, strlen(text) + 1);
	else
		usage_wrong(u, "--filter: it takes up to 127 bytes");
}

/* "?session|scope|...": what shells offer */
static const char sort_words[] = "?"
#define COLUMN(name, ...) #name "|"
#include "columns.def"
#undef COLUMN
    ;

const struct opt top_rows[] = {
	FLAG("batch", 'b', o.batch,
	    "plain text instead of the display, for scripts"),
	FLAG("json", 0, o.json, "one JSON object a refresh instead"),
	NUMBER("refreshes", 'n', "N", o.refreshes, 1, 1000000000,
	    "end after N refreshes"),
	DECIMAL("delay", 'd', "S", delay, 0.05, 3600,
	    "seconds between refreshes (1)"),
	CALL("sort", 's', "COLUMN", sort_words, take_sort,
	    "the order of the table (rate)"),
	CALL("columns", 'c', "NAMES", sort_words, take_columns,
	    "these, in this order, where they have room (those that the width "
	    "has room for)"),
	FLAG("reverse", 'r', o.list.reverse, "the other way round"),
	CALL("filter", 'f', "TEXT", NULL, take_filter,
	    "only sessions that have it in a text"),
	FLAG("live", 'l', o.list.live_only, "only what runs or waits"),
	FLAG("tree", 't', o.list.tree, "sessions below their scopes"),
	FLAG("mono", 'm', o.monochrome, "no colours; so does $NO_COLOR"),
	FLAG("no-mouse", 0, o.no_mouse,
	    "leave the mouse to the terminal (which with it wants shift to "
	    "select)"),
	FLAG("monochrome", 0, o.monochrome, "the same"),
	TEXT("runtime-dir", 0, "DIR", "@dir", o.runtime_dir,
	    "the server's directory ($PSUP_RUNTIME_DIR, $XDG_RUNTIME_DIR/psup, "
	    "/dev/shm/psup-UID)"),
	FLAG("help-man", 0, help_man, "the manual page in roff"),
	OPT_END};

static void
print_more(void)
{
	fputs("\nColumns:", stdout);
	for (size_t i = 0; i < column_count; i++)
		printf(" %s", columns[i].name);
	fputs("\n\nKeys: h in the display.\n\n"
	      "Exit codes: 0; 1: it failed; 2: wrong usage; 3: there is no "
	      "server, or it is of\nanother version.\n",
	    stdout);
}

/* What was kept, where the command line does not say it. */
static void
take_conf(void)
{
	struct conf c;

	if (conf_read(&c, o.conf_why, sizeof(o.conf_why)) <= 0)
		return;
	if (!has_sort && c.has_sort)
		o.list.sort = c.list.sort;
	if (o.list.chosen_count == 0) {
		memcpy(o.list.chosen, c.list.chosen, sizeof(o.list.chosen));
		o.list.chosen_count = c.list.chosen_count;
	}
	o.list.reverse = o.list.reverse || c.list.reverse;
	o.list.tree = o.list.tree || c.list.tree;
	o.list.live_only = o.list.live_only || c.list.live_only;
	o.no_mouse = o.no_mouse || c.no_mouse;
	o.monochrome = o.monochrome || c.monochrome;
}

int
options_take(struct top_options **ret, int argc, char **argv)
{
	static const struct command_line line = {
		.about = top_about,
		.options = top_rows,
		.more_help = print_more,
	};
	struct usage u = {.program = "psup-top"};
	const char *no_color = getenv("NO_COLOR");
	int code;

	o.list.sort = (size_t)column_find("rate");
	o.monochrome = no_color != NULL && no_color[0] != '\0';
	code = command_line_take(&line, &u, argc, argv);
	if (code < 0 && help_man) {
		man_print_page();
		code = 0;
	}
	o.batch = o.batch || o.json;
	if (code < 0 && !o.batch)
		take_conf();
	o.delay_ms = (unsigned)(delay * 1000);
	*ret = &o;
	return code;
}
