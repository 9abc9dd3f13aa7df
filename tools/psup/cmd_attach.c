/* SPDX-License-Identifier: MIT */
/* psup attach: a person at the terminal of a session (attach.c). */
#include <ctype.h>
#include <string.h>

#include "cli.h"

void
cli_take_detach_key(struct usage *u, const char *option, const char *text,
    void *ret)
{
	size_t n = strlen(text);
	const char *letter = NULL;
	int key = -1, up;

	if (strcmp(text, "none") == 0)
		goto out;
	if (n == 2 && text[0] == '^')
		letter = text + 1;
	else if (n == 3 && strncasecmp(text, "C-", 2) == 0)
		letter = text + 2;
	else if (n == 6 && strncasecmp(text, "ctrl-", 5) == 0)
		letter = text + 5;
	up = letter != NULL ? toupper((unsigned char)*letter) : 0;
	if (letter == NULL && n == 1 && (unsigned char)text[0] < 128)
		key = text[0];
	else if (up >= '@' && up <= '_')
		key = up & 0x1f;
	else if (up == '?')
		key = 127;
	else
		usage_wrong(u, "%s: \"%.20s\" is no key: one character, ^X, "
		             "C-x or ctrl-x, or none", option, text);
out:
	*(int *)ret = key;
}

static struct attach_options o = {.detach_key = CLI_DETACH_KEY};

static int
run(struct cli *c, int, char **argv)
{
	int rc;

	if (c->json)
		return cli_usage(c, "it is for a person, and goes without "
		                    "--json; psup poll --json is for programs");
	c->resume = true;
	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	return attach_run(c, argv[0], &o);
}

static const struct opt options[] = {
	INTO("detach-key", 0, "KEY", NULL, cli_take_detach_key, o.detach_key,
	    "leaves the session to itself: a character, ^X, C-x or ctrl-x, or "
	    "none (^])"),
	FLAG("no-resize", 0, o.fixed_size,
	    "leave its size alone (it follows this terminal's)"),
	FLAG("read-only", 0, o.read_only, "look only; implies --no-resize"),
	OPT_END};

const struct command cmd_attach = {
	.name = "attach",
	.args = "ID",
	.words = "@session",
	.min_args = 1,
	.max_args = 1,
	.wants = "it needs one session id",
	.summary = "Sit down at the terminal of a session",
	.about =
	    "Shows what the session's terminal shows, from what is retained of "
	    "its output on, and hands keys through as they are. Others may be "
	    "attached at the same time. Its output is not slowed; what a "
	    "client was too slow for is counted.",
	.options = options,
	.notes =
	    "Exit codes: 0 after the detach key; the command's own, if it ends "
	    "meanwhile; 128+n: detached by signal n; 1: it is over, or has no "
	    "terminal; 3, 4 as of every command.",
	.run = run,
};
