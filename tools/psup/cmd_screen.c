/* SPDX-License-Identifier: MIT */
/* psup screen: what a session's terminal shows now. */
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"

/* The SGR numbers of a colour: 38 or 48, and which. */
static void
print_colour(const psup_value *run, const char *key, int base)
{
	const psup_value *v = psup_value_get(run, key);
	unsigned rgb;
	char text[16];

	if (v == NULL)
		return;
	if (psup_value_type(v) == PSUP_INT) {
		printf(";%d;5;%d", base, (int)psup_value_int(v, 0) & 0xff);
		return;
	}
	psup_get_copy(run, key, text, sizeof(text));
	if (sscanf(text, "#%6x", &rgb) == 1)
		printf(";%d;2;%u;%u;%u", base, rgb >> 16 & 0xff,
		    rgb >> 8 & 0xff, rgb & 0xff);
}

/* One run in its look; its text escaped, whoever made it. */
static void
print_run(const psup_value *run)
{
	static const struct {
		const char *name;
		int sgr;
	} attrs[] = {{"bold", 1}, {"italic", 3}, {"underline", 4},
	    {"blink", 5}, {"reverse", 7}, {"strike", 9}};
	size_t len;
	const char *text = psup_get_str(run, "text", &len);
	char *shown = malloc(4 * len + 1);

	if (text == NULL || shown == NULL) {
		free(shown);
		return;
	}
	printf("\033[0");
	for (size_t i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++)
		if (psup_get_bool(run, attrs[i].name, false))
			printf(";%d", attrs[i].sgr);
	print_colour(run, "fg", 38);
	print_colour(run, "bg", 48);
	len = psup_escape(text, len, false, shown, 4 * len + 1);
	printf("m%.*s", (int)len, shown);
	free(shown);
}

/* The lines with their colours, all of them. */
static int
print_ansi(struct cli *c, psup_reply **reply)
{
	const psup_value *runs = psup_value_get(psup_reply_details(*reply),
	    "runs");
	size_t rows = psup_value_count(runs);

	if (psup_reply_is_error(*reply) || runs == NULL)
		return cli_answer(c, reply);
	for (size_t i = 0; i < rows; i++) {
		const psup_value *row = psup_value_at(runs, i);
		size_t n = psup_value_count(row);

		for (size_t k = 0; k < n; k++)
			print_run(psup_value_at(row, k));
		printf("%s\n", n > 0 ? "\033[0m" : "");
	}
	psup_reply_free(reply);
	return ferror(stdout) ? EXIT_INTERNAL : EXIT_OK;
}

static struct {
	bool ansi, cells, untrimmed;
} o;

static int
run(struct cli *c, int, char **argv)
{
	unsigned flags = (o.untrimmed ? PSUP_SCREEN_UNTRIMMED : 0u) |
	    (o.ansi || o.cells ? PSUP_SCREEN_WITH_CELLS : 0u);
	psup_reply *reply;
	int rc;

	if (o.ansi && c->json)
		return cli_usage(c, "--ansi goes without --json; --cells has "
		                    "the colours");
	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc == PSUP_OK)
		rc = psup_screen(c->p, argv[0], flags, &reply);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	return o.ansi ? print_ansi(c, &reply) : cli_answer(c, &reply);
}

static const struct opt options[] = {
	FLAG("ansi", 0, o.ansi, "with its colours, all of its lines"),
	FLAG("cells", 0, o.cells, "with --json: the colours, as runs"),
	FLAG("no-trim", 0, o.untrimmed, "with the blanks at the ends of lines"),
	OPT_END};

const struct command cmd_screen = {
	.name = "screen",
	.args = "ID",
	.words = "@session",
	.min_args = 1,
	.max_args = 1,
	.wants = "it needs one session id",
	.summary = "Print what a session's terminal shows",
	.about = "It is drawn from the retained output when asked.",
	.options = options,
	.run = run,
};
