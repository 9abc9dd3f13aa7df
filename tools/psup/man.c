/* SPDX-License-Identifier: MIT */
/* The manual page psup(1) as troff, from the rows. Called by help.c. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* Text between macros. `bold` words are the caller's business. */
static void
put(const char *s, size_t len)
{
	bool start = true;

	for (size_t i = 0; i < len; i++) {
		if (start && (s[i] == '.' || s[i] == '\''))
			fputs("\\&", stdout);
		start = s[i] == '\n';
		if (s[i] == '\\')
			fputs("\\e", stdout);
		else if (s[i] == '-')
			fputs("\\-", stdout);
		else
			putchar(s[i]);
	}
}

static void
put_text(const char *s)
{
	put(s, strlen(s));
}

/* Paragraphs; a line that begins with a blank stays as it is. */
static void
put_paragraphs(const char *s)
{
	bool as_is = false;

	while (*s != '\0') {
		size_t len = strcspn(s, "\n");
		bool blank = *s == ' ';

		if (blank != as_is && len > 0) {
			puts(blank ? ".nf" : ".fi");
			as_is = blank;
		}
		if (len == 0)
			puts(".PP");
		else {
			put(s, len);
			putchar('\n');
		}
		s += len + (s[len] == '\n');
	}
	if (as_is)
		puts(".fi");
}

static void
put_option(const struct opt *o)
{
	puts(".TP");
	if (o->letter != '\0')
		printf("\\fB\\-%c\\fR, ", o->letter);
	fputs("\\fB\\-\\-", stdout);
	put_text(o->name);
	fputs("\\fR", stdout);
	if (o->value != NULL) {
		fputs(o->value[0] == '[' ? "[=\\fI" : " \\fI", stdout);
		put(o->value + (o->value[0] == '['),
		    strcspn(o->value + (o->value[0] == '['), "]"));
		fputs(o->value[0] == '[' ? "\\fR]" : "\\fR", stdout);
	}
	putchar('\n');
	put_paragraphs(o->help);
}

static void
put_rows(const char *title, const struct help_row *rows)
{
	printf(".SH %s\n", title);
	for (; rows->text != NULL; rows++) {
		fputs(".TP\n\\fB", stdout);
		put_text(rows->name);
		fputs("\\fR\n", stdout);
		put_paragraphs(rows->text);
	}
}

static void
put_command(const struct command *cmd)
{
	fputs(".SS psup ", stdout);
	put_text(cmd->name);
	if (cmd->options != NULL)
		fputs(" [OPTIONS]", stdout);
	if (cmd->args != NULL) {
		putchar(' ');
		put_text(cmd->args);
	}
	putchar('\n');
	put_text(cmd->summary);
	puts(".");
	if (cmd->about != NULL) {
		puts(".PP");
		put_paragraphs(cmd->about);
	}
	for (const struct opt *o = cmd->options; o != NULL && o->name != NULL;
	     o++)
		put_option(o);
	if (cmd->notes != NULL) {
		puts(".PP");
		put_paragraphs(cmd->notes);
	}
}

void
man_print(void)
{
	printf(".TH PSUP 1 2026-11-21 \"psup %s\" \"psup manual\"\n", psup_version());
	puts(".SH NAME\npsup \\- run and babysit shell commands\n"
	     ".SH SYNOPSIS\n.B psup\n[\\fIOPTIONS\\fR] \\fICOMMAND\\fR "
	     "[\\fIOPTIONS\\fR] ...\n.SH DESCRIPTION");
	put_paragraphs(help_about);
	puts(".SH OPTIONS\nEvery command takes these, before its name or after "
	     "it.");
	for (const struct opt *o = shared_options; o->name != NULL; o++)
		put_option(o);
	puts(".SH COMMANDS");
	for (size_t i = 0; commands[i] != NULL; i++)
		put_command(commands[i]);
	put_rows("EXIT STATUS", help_exit_codes);
	put_rows("ENVIRONMENT", help_environment);
	put_rows("FILES", help_files);
	puts(".SH SEE ALSO\n.BR psupd (8),\n.BR psup\\-top (1),\n"
	     ".BR psup.conf (5),\n.BR libpsup (3)");
}
