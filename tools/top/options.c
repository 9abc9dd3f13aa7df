/* SPDX-License-Identifier: MIT */
/* What each option means. Called by main. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

#define DELAY_MIN   0.05
#define DELAY_MAX   3600.0
#define REFRESH_MAX 1000000000L
#define LONG_FIRST  1000 /* getopt value of the first row */
#define UNUSED      __attribute__((unused))

/* Says what is wrong with an option. */
static int
usage(const char *option, const char *got, const char *wanted)
{
	char safe[256];

	psup_escape(got, strlen(got), false, safe, sizeof(safe));
	fprintf(stderr, "psup-top: %s: %s, but got \"%s\" (psup-top --help)\n",
	    option, wanted, safe);
	return TOP_EXIT_USAGE;
}

/* The words of unknown options begin alike: getopt says nothing itself. */
static int
unknown(const struct option *longs, int argc, char **argv)
{
	const char *got = optind > 0 && optind <= argc ? argv[optind - 1] : "";
	const char *near;
	char safe[256];

	if (optopt > 0 && optopt < LONG_FIRST && strncmp(got, "--", 2) != 0)
		snprintf(safe, sizeof(safe), "-%c", optopt);
	else
		psup_escape(got, strlen(got), false, safe, sizeof(safe));
	for (const struct option *l = longs; l->name != NULL; l++)
		if (optopt != 0 && l->val == optopt && l->has_arg != 0) {
			fprintf(stderr, "psup-top: --%s needs a value "
			                "(psup-top --help)\n", l->name);
			return TOP_EXIT_USAGE;
		}
	near = strncmp(got, "--", 2) == 0 ? psup_nearest_option(longs, got)
	                                  : NULL;
	fprintf(stderr, "psup-top: there is no option %s%s%s%s "
	                "(psup-top --help)\n",
	    safe, near != NULL ? "; did you mean --" : "",
	    near != NULL ? near : "", near != NULL ? "?" : "");
	return TOP_EXIT_USAGE;
}

/* A number within bounds. */
static bool
parse_number(const char *text, double low, double high, double *ret)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end != '\0' || !(v >= low && v <= high))
		return false;
	*ret = v;
	return true;
}

#define TAKE(name)                                                             \
	static int take_##name(UNUSED struct top_options *o,                   \
	    UNUSED const char *arg)

TAKE(batch)
{
	o->batch = true;
	return 0;
}

TAKE(json)
{
	o->batch = o->json = true;
	return 0;
}

TAKE(refreshes)
{
	double v;

	if (!parse_number(arg, 1, (double)REFRESH_MAX, &v) ||
	    v != (double)(long)v)
		return usage("--refreshes", arg,
		    "a whole number from 1 is expected");
	o->refreshes = (long)v;
	return 0;
}

TAKE(delay)
{
	double v;

	if (!parse_number(arg, DELAY_MIN, DELAY_MAX, &v))
		return usage("--delay", arg,
		    "seconds from 0.05 to 3600 are expected");
	o->delay_ms = (unsigned)(v * 1000);
	return 0;
}

TAKE(sort)
{
	const char *names[LIST_COLUMNS] = {0}, *near;
	char wanted[96] = "the name of a column is expected";
	int at = column_find(arg);

	for (size_t i = 0; i < column_count; i++)
		names[i] = columns[i].name;
	near = at < 0 ? psup_nearest(arg, names) : NULL;
	if (near != NULL)
		snprintf(wanted, sizeof(wanted),
		    "the name of a column is expected, perhaps %s", near);
	if (at < 0)
		return usage("--sort", arg, wanted);
	o->list.sort = (size_t)at;
	return 0;
}

TAKE(reverse)
{
	o->list.reverse = true;
	return 0;
}

TAKE(filter)
{
	if (strlen(arg) >= sizeof(o->list.filter))
		return usage("--filter", arg, "up to 127 bytes are expected");
	memcpy(o->list.filter, arg, strlen(arg) + 1);
	return 0;
}

TAKE(live)
{
	o->list.live_only = true;
	return 0;
}

TAKE(tree)
{
	o->list.tree = true;
	return 0;
}

TAKE(mono)
{
	o->monochrome = true;
	return 0;
}

TAKE(runtime_dir)
{
	o->runtime_dir = arg;
	return 0;
}

TAKE(help)
{
	man_print_help();
	return -1;
}

TAKE(help_man)
{
	man_print_page();
	return -1;
}

TAKE(version)
{
	printf("psup-top %s\n", psup_version());
	return -1;
}

const struct option_row option_rows[] = {
#define OPTION(function, name, letter, value, doc) {name, value, doc, letter},
#include "options.def"
#undef OPTION
};
const size_t option_row_count = sizeof(option_rows) / sizeof(option_rows[0]);
#define ROWS (sizeof(option_rows) / sizeof(option_rows[0]))

static int (*const takes[])(struct top_options *, const char *) = {
#define OPTION(function, name, letter, value, doc) take_##function,
#include "options.def"
#undef OPTION
};

int
options_take(struct top_options *o, int argc, char **argv)
{
	struct option longs[ROWS + 1] = {0};
	char letters[2 * ROWS + 2] = "+";
	size_t n = 1, at;
	int opt, rc = 0;

	for (size_t i = 0; i < ROWS; i++) {
		bool value = option_rows[i].value[0] != '\0';

		longs[i] = (struct option){option_rows[i].name,
		    value ? required_argument : no_argument, NULL,
		    LONG_FIRST + (int)i};
		if (option_rows[i].letter == 0)
			continue;
		letters[n++] = (char)option_rows[i].letter;
		if (value)
			letters[n++] = ':';
	}
	opterr = 0;
	while (rc == 0 &&
	    (opt = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (opt == '?')
			return unknown(longs, argc, argv);
		for (at = 0; at < ROWS; at++)
			if (opt == LONG_FIRST + (int)at ||
			    opt == option_rows[at].letter)
				break;
		rc = takes[at](o, optarg);
	}
	if (rc == 0 && optind < argc)
		return usage("arguments", argv[optind], "none are expected");
	return rc;
}
