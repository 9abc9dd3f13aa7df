/* SPDX-License-Identifier: MIT */
/*
 * psup: the command line. Finds the command in the table and runs it; help,
 * manual page and completion come from the same table. Everything a command
 * does goes through libpsup.
 */
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

const struct command *const commands[] = {
#define COMMAND(id) &cmd_##id,
#define SESSION_COMMAND(name, also, summary, about) COMMAND(name)
#include "commands.def"
	NULL,
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* Habits of docker, tmux, pueue and kill(1). */
static const struct slip slips[] = {
	{NULL, "ls", "list"},
	{NULL, "start", "run"},
	{NULL, "add", "run -d"},
	{NULL, "new", "run -d -t"},
	{NULL, "new-session", "run -d -t"},
	{NULL, "capture-pane", "screen"},
	{NULL, "pause", "signal ID STOP, lanes pause"},
	{NULL, "unpause", "signal ID CONT"},
	{NULL, "resume", "signal ID CONT, lanes resume"},
	{NULL, "follow", "log --follow"},
	{NULL, "parallel", "lanes"},
	{NULL, "group", "lanes"},
	{NULL, "info", "status"},
	{NULL, "version", "--version"},
	{"exec", "-i", "-t"},
	{"exec", "-n", "--name"},
	{"exec", "-l", "--label"},
	{"attach", "-t", "attach ID"},
	{"kill", "-9", "--signal KILL"},
	{"kill", "-K", "--signal KILL"},
	{"signal", "-9", "signal ID KILL"},
	{"signal", "-s", "signal ID SIGNAL"},
	{"log", "--lines", "--limit"},
	{NULL, NULL, NULL}};

/* What the options of every command are taken into. */
static struct cli cli = {.usage = {.program = "psup", .slips = slips}};

/* --token-fd N */
static void
take_token_fd(struct usage *u, const char *text)
{
	int fd = (int)usage_number(u, "--token-fd", text, 0, 1 << 20);

	if (!u->wrong &&
	    psup_read_token_fd(cli.p, fd, cli.token) != PSUP_OK)
		usage_wrong(u, "--token-fd: %s", psup_error_message(cli.p));
}

const struct opt shared_options[] = {
	FLAG("json", 0, cli.json, "one JSON object on stdout"),
	TEXT("color", 0, "WHEN", "auto|always|never", cli.color,
	    "colours: auto (on a terminal, unless $NO_COLOR is set or $TERM is "
	    "dumb), always or never"),
	FLAG("no-progress", 0, cli.no_progress,
	    "no line on the terminal that says how a foreground exec stands"),
	TEXT("runtime-dir", 0, "DIR", "@dir", cli.runtime_dir,
	    "the server's directory ($PSUP_RUNTIME_DIR, else "
	    "$XDG_RUNTIME_DIR/psup, else /dev/shm/psup-UID)"),
	FLAG("no-start", 0, cli.no_start, "start no server (exec, tool, sandbox explain)"),
	TEXT("token-file", 0, "FILE", "@file", cli.token_file,
	    "show the scope token in FILE, mode 0600 ($PSUP_TOKEN_FILE)"),
	TEXT("server-user", 0, "USER", NULL, cli.server_user,
	    "also speak to a server of this user's ($PSUP_SERVER_USER; psup's "
	    "own and root's)"),
	CALL("token-fd", 0, "N", NULL, take_token_fd,
	    "show the scope token read from descriptor N"),
	FLAG("help", 'h', cli.help, "explain the command, or psup"),
	FLAG("version", 'V', cli.version, "print the version"),
	OPT_END};

const struct command *
command_find(const char *name)
{
	for (size_t i = 0; commands[i] != NULL; i++)
		if (strcmp(name, commands[i]->name) == 0 ||
		    words_have(commands[i]->also, name))
			return commands[i];
	return NULL;
}

int
command_unknown(const char *name)
{
	const char *names[COMMANDS], *near = slip_meant(slips, NULL, name);
	char meant[MEANT_SIZE];

	for (size_t i = 0; i < COMMANDS; i++)
		names[i] = commands[i] != NULL ? commands[i]->name : NULL;
	if (near == NULL)
		near = psup_nearest(name, names);
	cli_say("there is no command \"%.64s\"%s", name, near != NULL
	    ? option_meant(near, meant) : "; psup --help lists them");
	return EXIT_USAGE;
}

/* --help and --version, wherever they stand. True: that was all. */
static bool
was_explained(const struct cli *c)
{
	if (c->help && c->command != NULL)
		help_print_command(c->command);
	else if (c->help)
		help_print();
	else if (c->version)
		printf("psup %s\n", psup_version());
	return c->help || c->version;
}

/* Ids by their beginning, where the command's row says that operands are
 * ids. */
static int
resolve_ids(struct cli *c, int argc, char **argv)
{
	static const char kind[] = "@session";
	const char *words = c->command->words;
	bool again;
	int code = EXIT_OK;

	c->ids = calloc((size_t)argc + 1, sizeof(*c->ids));
	for (int i = 0; i < argc && words != NULL && c->ids != NULL; i++) {
		size_t len = strcspn(words, " ");

		again = len > 3 && strncmp(words + len - 3, "...", 3) == 0;
		if (len >= sizeof(kind) - 1 &&
		    strncmp(words, kind, sizeof(kind) - 1) == 0)
			code = session_id_resolve(c, &argv[i]);
		if (code != EXIT_OK)
			return code;
		/* what follows the repeated word is the last operand's */
		if (again && (words[len] == '\0' || i + 2 < argc))
			continue;
		words = words[len] == ' ' ? words + len + 1 : NULL;
	}
	return c->ids != NULL ? EXIT_OK : EXIT_INTERNAL;
}

/* The command's own part of the command line; argv[0] is its name. */
static int
run_command(struct cli *c, int argc, char **argv)
{
	int at, code;

	c->command = command_find(argv[0]);
	if (c->command == NULL)
		return command_unknown(argv[0]);
	c->usage.command = c->command->name;
	at = option_parse(&c->usage, (const option_tables)CLI_TABLES(c),
	    c->command->stops, argc, argv);
	if (at < 0)
		return EXIT_USAGE;
	if (was_explained(c))
		return EXIT_OK;
	argc -= at;
	if (argc < c->command->min_args ||
	    (c->command->max_args >= 0 && argc > c->command->max_args))
		return cli_usage(c, "%s",
		    c->command->wants != NULL   ? c->command->wants
		    : c->command->max_args == 0 ? "it takes no argument"
		                                : "it needs a session id");
	code = resolve_ids(c, argc, argv + at);
	return code == EXIT_OK ? c->command->run(c, argc, argv + at) : code;
}

/* The whole command line. */
static int
run(struct cli *c, int argc, char **argv)
{
	int at = option_parse(&c->usage, (const option_tables)CLI_TABLES(c),
	    true, argc, argv);

	if (at < 0)
		return EXIT_USAGE;
	if (was_explained(c))
		return EXIT_OK;
	if (at == argc) {
		help_print_usual();
		return EXIT_USAGE;
	}
	return run_command(c, argc - at, argv + at);
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
	int code;

	open_standard_files();
	setlocale(LC_CTYPE, "C.UTF-8"); /* for the width of characters */
	cli.scope = getenv("PSUP_SCOPE");
	if (cli.scope != NULL && cli.scope[0] == '\0')
		cli.scope = NULL;
	if (psup_new(&cli.p) != PSUP_OK) {
		cli_say("no memory");
		return EXIT_INTERNAL;
	}
	code = run(&cli, argc, argv);
	psup_free(&cli.p);
	free(cli.ids);
	/* what could not be written before is forgotten by fflush */
	if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_OK) {
		cli_say("stdout cannot be written");
		code = EXIT_INTERNAL;
	}
	return code;
}
