/* SPDX-License-Identifier: MIT */
/* See help.h; and the command line of a program that has options alone
 * (option.h). */
#include "common/help.h"

#include <stdio.h>
#include <string.h>

#include "common/abi.h"
#include "common/completion.h"
#include "common/text_wrap.h"

#define COLUMN 21 /* where the explanation of an option begins */

void
help_label(const struct opt *o, char *ret, size_t size)
{
	size_t n = 0;

	if (o->letter != '\0')
		n = (size_t)snprintf(ret, size, "  -%c, --%s", o->letter,
		    o->name);
	else
		n = (size_t)snprintf(ret, size, "  --%s", o->name);
	if (o->value == NULL || n >= size)
		return;
	if (o->value[0] == '[')
		snprintf(ret + n, size - n, "[=%s", o->value + 1);
	else
		snprintf(ret + n, size - n, " %s", o->value);
}

void
help_pair(const char *label, const char *text)
{
	size_t len = strlen(label);

	fputs(label, stdout);
	if (len + 1 > COLUMN) {
		putchar('\n');
		len = 0;
	}
	printf("%*s", (int)(COLUMN - len), "");
	text_wrap(stdout, text, COLUMN, COLUMN);
}

void
help_options(const struct opt *o)
{
	char label[80];

	for (; o != NULL && o->name != NULL; o++) {
		help_label(o, label, sizeof(label));
		help_pair(label, o->help);
	}
}

void
help_command_line(const struct command_line *p, const char *name)
{
	printf("Usage: %s [OPTIONS]\n\n", name);
	text_wrap(stdout, p->about, 0, 0);
	putchar('\n');
	help_options(p->options);
	help_options(common_options);
	if (p->more_title != NULL) {
		printf("\n%s:\n", p->more_title);
		help_options(p->more);
	}
	if (p->more_help != NULL)
		p->more_help();
}

static bool help, version;
static const char *completion;

const struct opt common_options[] = {
	FLAG("help", 'h', help, "this text"),
	FLAG("version", 'V', version, "the version"),
	TEXT("completion", 0, "SHELL", "bash|zsh|fish", completion,
	    "print the completions for that shell"),
	OPT_END};

int
command_line_take(const struct command_line *p, struct usage *u, int argc,
    char **argv)
{
	const option_tables tables = {p->options, p->more, common_options};
	int at = option_parse(u, tables, false, argc, argv);

	if (at < 0)
		return EXIT_USAGE;
	if (help)
		help_command_line(p, u->program);
	else if (version)
		printf("%s %s\n", u->program, abi_build());
	else if (completion != NULL)
		completion_print(u->program, p, completion);
	else if (at < argc)
		return usage_wrong(u, "\"%.80s\": it takes no arguments",
		    argv[at]);
	else
		return -1;
	return 0;
}
