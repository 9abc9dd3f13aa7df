/* SPDX-License-Identifier: MIT */
/* The manual page psup(1) as troff, from the rows. Called by help.c. */
#include <stdio.h>

#include "cli.h"
#include "tools/lib/man.h"

static void
put_rows(const char *title, const struct help_row *rows)
{
	printf(".SH %s\n", title);
	for (; rows->text != NULL; rows++)
		man_tagged(rows->name, rows->text);
}

static void
put_command(const struct command *cmd)
{
	fputs(".SS psup ", stdout);
	man_text(cmd->name);
	if (cmd->options != NULL)
		fputs(" [OPTIONS]", stdout);
	if (cmd->args != NULL) {
		putchar(' ');
		man_text(cmd->args);
	}
	putchar('\n');
	man_text(cmd->summary);
	puts(".");
	if (cmd->also != NULL) {
		fputs("psup ", stdout);
		man_text(cmd->also);
		puts(" is the same.");
	}
	if (cmd->about != NULL) {
		puts(".PP");
		man_paragraphs(cmd->about);
	}
	man_options(cmd->options);
	if (cmd->notes != NULL) {
		puts(".PP");
		man_paragraphs(cmd->notes);
	}
}

void
man_print(void)
{
	man_title("PSUP");
	puts(".SH NAME\npsup \\- run and babysit shell commands\n"
	     ".SH SYNOPSIS\n.B psup\n[\\fIOPTIONS\\fR] \\fICOMMAND\\fR "
	     "[\\fIOPTIONS\\fR] ...\n.SH DESCRIPTION");
	man_paragraphs(help_about);
	puts(".SH OPTIONS\nEvery command takes these, before its name or after "
	     "it.");
	man_options(shared_options);
	puts(".SH COMMANDS");
	for (size_t i = 0; commands[i] != NULL; i++)
		put_command(commands[i]);
	put_rows("EXIT STATUS", help_exit_codes);
	put_rows("ENVIRONMENT", help_environment);
	put_rows("FILES", help_files);
	puts(".SH SEE ALSO\n.BR psupd (8),\n.BR psup\\-top (1),\n"
	     ".BR psup.conf (5),\n.BR libpsup (3)");
}
