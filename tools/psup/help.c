/* SPDX-License-Identifier: MIT */
/* psup --help and psup COMMAND --help, from the rows. Called by psup.c. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "common/help.h"
#include "common/text_wrap.h"

const char help_about[] =
    "Runs and babysits shell commands. A server is started when none runs.\n\n"
    "A session is named by its id, or by the beginning of it that no other "
    "session shares.\n\n"
    "Durations (MS, S) may have units, 500ms, 10s, 1h30m, 2d; so may sizes "
    "(BYTES): 20K, 100M, 1.5G.";

const struct help_row help_exit_codes[] = {
	{"0", "done"},
	{"1", "refused or failed, as the message says"},
	{"2", "wrong usage"},
	{"3", "no server runs"},
	{"4", "no session of that id, or it may be several"},
	{"124", "timed out (exec, wait, lanes drain)"},
	{"125", "psup itself failed"},
	{"126, 127", "exec: the command could not be run, was not found"},
	{"128+n", "exec: ended by signal n"},
	{"", NULL}};

const struct help_row help_environment[] = {
	{"PSUP_RUNTIME_DIR", "the server's directory, where --runtime-dir does "
	                     "not say it"},
	{"XDG_RUNTIME_DIR", "else psup below this one, else "
	                    "/dev/shm/psup-UID"},
	{"PSUP_SCOPE", "see and start sessions of this scope alone"},
	{"PSUP_TOKEN_FILE", "show the scope token in this file"},
	{"PSUP_SERVER_USER", "also speak to a server of this user's"},
	{"PSUP_PSUPD", "the server's program, where one is started"},
	{"PSUP_CONFIG", "the configuration of a server that is started"},
	{"NO_COLOR", "set and not empty: no colours, unless --color says so"},
	{"TERM", "dumb, or none: no colours and no progress line"},
	{"", NULL}};

const struct help_row help_files[] = {
	{"/dev/shm/psup-UID", "the runtime directory, where neither variable "
	                      "is set"},
	{"psup.conf", "the server's configuration; see psup.conf(5)"},
	{"", NULL}};

static void
print_rows(const char *title, const struct help_row *rows)
{
	char label[80];

	printf("\n%s:\n", title);
	for (; rows->text != NULL; rows++) {
		snprintf(label, sizeof(label), "  %s", rows->name);
		help_pair(label, rows->text);
	}
}

/* A command's line. */
static void
print_command(const struct command *cmd)
{
	char label[40];

	snprintf(label, sizeof(label), "  %s%s%s", cmd->name,
	    cmd->also != NULL ? ", " : "", cmd->also != NULL ? cmd->also : "");
	printf("%-13s %s\n", label, cmd->summary);
}

/* Those that people begin with have a line, the others their names. */
void
help_print_usual(void)
{
	char names[600] = "More:";
	size_t i = 0, n = strlen(names);

	puts("Usage: psup [OPTIONS] COMMAND [OPTIONS] ...\n");
	do
		print_command(commands[i]);
	while (commands[i++] != &cmd_prune);
	for (; commands[i] != NULL && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, " %s%s",
		    commands[i]->name, commands[i + 1] != NULL ? "," : ".");
	putchar('\n');
	text_wrap(stdout, names, 0, 0);
	puts("\npsup help COMMAND explains one; psup --help has a line for each, "
	     "options,\nexit codes.");
}

void
help_print(void)
{
	puts("Usage: psup [OPTIONS] COMMAND [OPTIONS] ...\n");
	text_wrap(stdout, help_about, 0, 0);
	puts("\nCommands:");
	for (size_t i = 0; commands[i] != NULL; i++)
		print_command(commands[i]);
	puts("\nOptions of every command:");
	help_options(shared_options);
	print_rows("Exit codes", help_exit_codes);
	puts("psup exec ends with the command's code; see psup exec --help.");
}

void
help_print_command(const struct command *cmd)
{
	char label[80];
	size_t column;

	printf("Usage: psup %s [OPTIONS]%s%s\n\n%s.\n\n", cmd->name,
	    cmd->args != NULL ? " " : "", cmd->args != NULL ? cmd->args : "",
	    cmd->summary);
	if (cmd->also != NULL)
		printf("psup %s is the same.\n\n", cmd->also);
	if (cmd->about != NULL) {
		text_wrap(stdout, cmd->about, 0, 0);
		putchar('\n');
	}
	help_options(cmd->options);
	column = (size_t)printf("  Of every command:");
	for (const struct opt *o = shared_options; o->name != NULL; o++) {
		help_label(o, label, sizeof(label));
		if (column + strlen(label) > 79)
			column = (size_t)printf("\n   ") - 1;
		column += (size_t)printf(" %s", label + 2);
	}
	puts("\n  (psup --help explains these)");
	if (cmd->notes != NULL) {
		putchar('\n');
		text_wrap(stdout, cmd->notes, 0, 0);
	}
	if (cmd->more_help != NULL)
		cmd->more_help();
}

/* ---------------------------------------------------------------- command */

static int
run(struct cli *, int argc, char **argv)
{
	const struct command *cmd;

	if (argc == 0) {
		help_print_usual();
		return EXIT_OK;
	}
	cmd = command_find(argv[0]);
	if (cmd == NULL)
		return command_unknown(argv[0]);
	help_print_command(cmd);
	return EXIT_OK;
}

static struct {
	bool man;
} o;

static int
run_help(struct cli *c, int argc, char **argv)
{
	if (!o.man)
		return run(c, argc, argv);
	man_print();
	return EXIT_OK;
}

static const struct opt options[] = {
	FLAG("man", 0, o.man, "print the manual page psup(1) as troff instead"),
	OPT_END};

const struct command cmd_help = {
	.name = "help",
	.args = "[COMMAND]",
	.words = "@command",
	.max_args = 1,
	.wants = "it takes one command or none",
	.summary = "Explain a command, or name them all",
	.options = options,
	.run = run_help,
};
