/* SPDX-License-Identifier: MIT */
/* psup-top: options, and who shows what they ask for. */
#include <errno.h>
#include <getopt.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "top.h"

#define EXIT_USAGE     2
#define EXIT_NO_SERVER 3
#define DELAY_MIN      0.05
#define DELAY_MAX      3600.0
#define REFRESH_MAX    1000000000L

enum { OPT_BATCH = 'b', OPT_COUNT = 'n', OPT_DELAY = 'd', OPT_DIR = 1000,
	OPT_JSON, OPT_MONO, OPT_SORT, OPT_REVERSE, OPT_FILTER, OPT_LIVE,
	OPT_HELP, OPT_VERSION };

static const struct option long_options[] = {
	{"batch", no_argument, NULL, OPT_BATCH},
	{"json", no_argument, NULL, OPT_JSON},
	{"refreshes", required_argument, NULL, OPT_COUNT},
	{"delay", required_argument, NULL, OPT_DELAY},
	{"sort", required_argument, NULL, OPT_SORT},
	{"reverse", no_argument, NULL, OPT_REVERSE},
	{"filter", required_argument, NULL, OPT_FILTER},
	{"live", no_argument, NULL, OPT_LIVE},
	{"monochrome", no_argument, NULL, OPT_MONO},
	{"runtime-dir", required_argument, NULL, OPT_DIR},
	{"help", no_argument, NULL, OPT_HELP},
	{"version", no_argument, NULL, OPT_VERSION}, {0}};

/* psup-top --help */
static void
print_help(void)
{
	fputs("Usage: psup-top [OPTIONS]\n\n"
	      "Show a server's sessions, processes and lanes as they change, "
	      "from its shared\nmemory: also while its master is down or "
	      "stopped. Keys: h.\n\n"
	      "  -b, --batch          plain text instead of the display\n"
	      "  --json               one JSON object a refresh instead\n"
	      "  -n, --refreshes N    end after N of them\n"
	      "  -d, --delay S        seconds between refreshes (1)\n"
	      "  --sort COLUMN        rate, or one of:",
	    stdout);
	for (size_t i = 0; i < column_count; i++)
		printf("%s%s", i % 8 == 6 ? "\n                       " : " ",
		    columns[i].name);
	fputs("\n  --reverse            the other way round\n"
	      "  --filter TEXT        only sessions that have it in a text\n"
	      "  --live               only what runs or waits\n"
	      "  --monochrome         no colours (also: $NO_COLOR)\n"
	      "  --runtime-dir DIR    the server's directory\n"
	      "  --help, --version\n\n"
	      "Exit codes: 0; 1: it failed; 2: wrong usage; 3: no server was "
	      "ever there.\n",
	    stdout);
}

/* Says what is wrong with an option. */
static int
usage(const char *option, const char *got, const char *wanted)
{
	char safe[256];

	psup_escape(got, strlen(got), false, safe, sizeof(safe));
	fprintf(stderr, "psup-top: %s: %s, but got \"%s\" (psup-top --help)\n",
	    option, wanted, safe);
	return EXIT_USAGE;
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

/* One option. 0, EXIT_USAGE, or -1: it was answered. */
static int
take_option(struct top_options *o, int opt, const char *arg)
{
	double v;
	int at;

	switch (opt) {
	case OPT_BATCH:
		o->batch = true;
		return 0;
	case OPT_JSON:
		o->batch = o->json = true;
		return 0;
	case OPT_COUNT:
		if (!parse_number(arg, 1, (double)REFRESH_MAX, &v) ||
		    v != (double)(long)v)
			return usage("--refreshes", arg,
			    "a whole number from 1 is expected");
		o->refreshes = (long)v;
		return 0;
	case OPT_DELAY:
		if (!parse_number(arg, DELAY_MIN, DELAY_MAX, &v))
			return usage("--delay", arg,
			    "seconds from 0.05 to 3600 are expected");
		o->delay_ms = (unsigned)(v * 1000);
		return 0;
	case OPT_SORT:
		at = column_find(arg);
		if (at < 0)
			return usage("--sort", arg,
			    "the name of a column is expected");
		o->list.sort = (size_t)at;
		return 0;
	case OPT_REVERSE:
		o->list.reverse = true;
		return 0;
	case OPT_FILTER:
		if (strlen(arg) >= sizeof(o->list.filter))
			return usage("--filter", arg,
			    "up to 127 bytes are expected");
		memcpy(o->list.filter, arg, strlen(arg) + 1);
		return 0;
	case OPT_LIVE:
		o->list.live_only = true;
		return 0;
	case OPT_MONO:
		o->monochrome = true;
		return 0;
	case OPT_DIR:
		o->runtime_dir = arg;
		return 0;
	case OPT_HELP:
		print_help();
		return -1;
	case OPT_VERSION:
		printf("psup-top %s\n", psup_version());
		return -1;
	default:
		fputs("psup-top: see psup-top --help\n", stderr);
		return EXIT_USAGE;
	}
}

/* Characters are UTF-8 here, whatever the locale is called. */
static void
set_characters(void)
{
	if (setlocale(LC_CTYPE, "") == NULL ||
	    strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		setlocale(LC_CTYPE, "C.UTF-8");
}

/* The options, then batch or display. */
static int
run(struct top_options *o)
{
	struct top_model m;
	char why[512] = "";
	psup_view *v = NULL;
	int code, rc;

	rc = o->batch ? 0
	              : psup_view_open(o->runtime_dir, &v, why, sizeof(why));
	psup_view_close(&v);
	if (rc < 0) {
		fprintf(stderr, "psup-top: %s%s\n",
		    why[0] != '\0' ? why : strerror(-rc),
		    rc == -ENOENT ? " (psup exec starts one)" : "");
		return rc == -ENOENT ? EXIT_NO_SERVER : EXIT_FAILURE;
	}
	model_init(&m, o->runtime_dir);
	code = o->batch ? batch_run(&m, o) : ui_run(&m, o);
	list_fini(&o->list);
	model_fini(&m);
	return code;
}

int
main(int argc, char **argv)
{
	const char *no_color = getenv("NO_COLOR");
	struct top_options o = {.delay_ms = 1000, .refreshes = -1};
	int opt, rc;

	o.list.sort = (size_t)column_find("rate");
	o.monochrome = no_color != NULL && no_color[0] != '\0';
	set_characters();
	signal(SIGPIPE, SIG_IGN);
	while ((opt = getopt_long(argc, argv, "+bn:d:", long_options, NULL)) !=
	    -1) {
		rc = take_option(&o, opt, optarg);
		if (rc != 0)
			return rc > 0 ? rc : 0;
	}
	if (optind < argc)
		return usage("arguments", argv[optind], "none are expected");
	if (!o.batch && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))) {
		fputs("psup-top: this is no terminal; use --batch or --json\n",
		    stderr);
		return EXIT_USAGE;
	}
	return run(&o);
}
