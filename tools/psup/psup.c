/* SPDX-License-Identifier: MIT */
/*
 * psup: the command line. Finds the command in the table, and says what there
 * is. Everything it does goes through libpsup.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const struct command *const commands[] = {
	&cmd_exec, &cmd_list, &cmd_poll, &cmd_log, &cmd_write,
	&cmd_attach, &cmd_background, &cmd_screen,
	&cmd_send_keys,
	&cmd_submit, &cmd_paste, &cmd_resize, &cmd_kill, &cmd_clear,
	&cmd_remove, &cmd_wait, &cmd_events, &cmd_lanes, &cmd_status,
	&cmd_shutdown, &cmd_drain_scope, &cmd_token, &cmd_bridge, &cmd_tool,
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const char exit_codes[] =
    "Exit codes:\n"
    "  0    done\n"
    "  1    refused or failed, as the message says\n"
    "  2    wrong usage\n"
    "  3    no server runs\n"
    "  4    no session of that id\n"
    "  125  psup itself failed\n"
    "psup exec ends with the command's code; see psup exec --help.\n";

/* psup --help */
static void
print_help(void)
{
	printf("Usage: psup [--runtime-dir DIR] [--no-start] COMMAND ...\n\n"
	       "Runs and babysits shell commands. A server is started when "
	       "none runs.\n\nCommands:\n");
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-11s %s\n", commands[i]->name,
		    commands[i]->summary);
	printf("\nOptions of every command:\n"
	       "  --runtime-dir DIR  the server's directory "
	       "($PSUP_RUNTIME_DIR,\n"
	       "                     $XDG_RUNTIME_DIR/psup, "
	       "/dev/shm/psup-UID)\n"
	       "  --no-start         start no server (exec, tool)\n"
	       "  --token-file FILE  show the scope token in FILE "
	       "($PSUP_TOKEN_FILE);\n"
	       "                     $PSUP_SCOPE names a scope without one\n"
	       "  --json             one JSON object on stdout\n"
	       "  --help             more about one command\n"
	       "  --version\n\n%s",
	    exit_codes);
}

/* How many letters must change to make one word of another. */
static size_t
word_distance(const char *a, const char *b)
{
	size_t row[32], la = strlen(a), lb = strlen(b);

	if (la >= 32 || lb >= 32)
		return 32;
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[lb];
}

/* "unknown command", with the nearest one. */
static int
unknown_command(const char *name)
{
	const char *nearest = NULL;
	size_t best = 3;

	for (size_t i = 0; i < COMMANDS; i++) {
		size_t d = word_distance(name, commands[i]->name);

		if (d < best) {
			best = d;
			nearest = commands[i]->name;
		}
	}
	if (nearest != NULL)
		cli_say("there is no command \"%.64s\"; did you mean %s?",
		    name, nearest);
	else
		cli_say("there is no command \"%.64s\"; psup --help lists them",
		    name);
	return EXIT_USAGE;
}

/* Runs one command on a fresh handle. */
static int
run_command(struct cli *c, int argc, char **argv)
{
	int code;

	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(argv[0], commands[i]->name) != 0)
			continue;
		if (psup_new(&c->p) != PSUP_OK) {
			cli_say("no memory");
			return EXIT_INTERNAL;
		}
		c->command = commands[i];
		optind = 0; /* getopt starts again, for the command's own */
		code = commands[i]->run(c, argc, argv);
		psup_free(&c->p);
		if (fflush(stdout) != 0 && code == EXIT_OK) {
			cli_say("stdout cannot be written");
			code = EXIT_INTERNAL;
		}
		return code;
	}
	return unknown_command(argv[0]);
}

/* A closed stdin must not become a socket's number. */
static void
open_standard_files(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{"runtime-dir", required_argument, NULL, 'd'},
		{"no-start", no_argument, NULL, 'n'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'}, {0}};
	struct cli c = {.scope = getenv("PSUP_SCOPE")};
	int opt;

	if (c.scope != NULL && c.scope[0] == '\0')
		c.scope = NULL;
	open_standard_files();
	opterr = 0;
	while ((opt = getopt_long(argc, argv, "+hV", options, NULL)) != -1) {
		switch (opt) {
		case 'd':
			c.runtime_dir = optarg;
			break;
		case 'n':
			c.no_start = true;
			break;
		case 'h':
			print_help();
			return EXIT_OK;
		case 'V':
			printf("psup %s\n", psup_version());
			return EXIT_OK;
		default:
			cli_say("%.80s is no option of psup, or lacks its "
			        "value; see psup --help",
			    argv[optind - 1]);
			return EXIT_USAGE;
		}
	}
	if (optind == argc) {
		print_help();
		return EXIT_USAGE;
	}
	return run_command(&c, argc - optind, argv + optind);
}
