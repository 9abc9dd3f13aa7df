/* SPDX-License-Identifier: MIT */
/*
 * Terminals with the programs that people use on them: driven by keys, read
 * by the screen.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib_scn.h"

#define on_terminal(...) background(YES("pty"), __VA_ARGS__)
#define keys(id, ...)                                    \
	expect_ok(ask("send-keys", STR("sessionId", id), \
	    LIST("keys", __VA_ARGS__)))

/* Types text. */
static void
type(const char *id, const char *text)
{
	expect_ok(ask("send-keys", STR("sessionId", id),
	    STR("literal", text)));
}

/* Types text and presses Enter. */
static void
enter(const char *id, const char *text)
{
	expect_ok(ask("submit", STR("sessionId", id), STR("data", text)));
}

/* Its exit code, once it has ended. */
static int
code_at_the_end(const char *id)
{
	return (int)psup_get_int(await_end(id), "exitCode", -1);
}

/* The path of a program; the scenario is skipped, and says so, where there is
 * none. */
static const char *
program(const char *name)
{
	static const char *const places[] = {"/usr/bin", "/bin",
		"/usr/local/bin"};
	char *path = scn_alloc(300);

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, 300, "%s/%s", places[i], name);
		if (access(path, X_OK) == 0)
			return path;
	}
	return NULL;
}
#define NEED(path, name)                                       \
	do {                                                   \
		if (((path) = program(name)) == NULL)          \
			skip_scenario("there is no %s", name); \
	} while (0)

static const char *
start_bash(const char *bash)
{
	const char *id = on_terminal(LIST("argv", bash, "--norc",
	    "--noprofile", "-i"), MAP("env", "PS1", "PS> "));

	await_screen(id, "PS>");
	return id;
}

SCENARIO(programs, bash_stops_resumes_and_lists_jobs)
{
	const char *id, *bash;
	struct answer *a;

	NEED(bash, "bash");
	psupd();
	id = start_bash(bash);
	/* what it shows when it runs is not what is typed */
	enter(id, "sh -c 'trap \"echo a\"\"gain\" CONT; echo u\"\"p; "
	          "while :; do read x; done'");
	await_screen(id, "\nup");
	keys(id, "C-z");
	await_screen(id, "done'\nPS>"); /* of the line that says Stopped */
	await_screen(id, "Stopped");
	enter(id, "fg");
	await_screen(id, "again");
	keys(id, "C-c");
	await_screen(id, "^C\nPS>"); /* ^C throws away what was typed */
	enter(id, "echo code=$?");
	await_screen(id, "code=130");
	enter(id, "clear");
	enter(id, "sh -c 'echo go\"\"ing; exec sleep 600'");
	await_screen(id, "\ngoing");
	keys(id, "C-z");
	await_screen(id, "sleep 600'\nPS>");
	enter(id, "bg");
	await_screen(id, "[1]+ sh -c");
	enter(id, "jobs");
	await_screen(id, "Running");
	enter(id, "kill %1; wait; echo abc");
	await_screen(id, "\nabc\nPS>");
	keys(id, "up", "bspace", "x", "enter"); /* history, editing */
	a = await_screen(id, "\nabx");
	expect_flag(a, "alternate", false);
	enter(id, "exit 7");
	expect(code_at_the_end(id) == 7);
}

SCENARIO(programs, python_computes_and_takes_a_block)
{
	const char *id, *python;

	NEED(python, "python3");
	psupd();
	id = on_terminal(LIST("argv", python, "-q"));
	await_screen(id, ">>>");
	enter(id, "6 * 7");
	await_screen(id, "\n42");
	enter(id, "def f(n):");
	await_screen(id, "...");
	enter(id, "    return n + 1");
	enter(id, "");
	enter(id, "f(98)");
	await_screen(id, "\n99");
	/* short ones: a ^C between the print and a long one would wait for it */
	enter(id, "import time; print('a' + 'sleep'); "
	    "[time.sleep(.05) for i in range(9999)]");
	await_screen(id, "\nasleep"); /* readline takes no ^C before */
	keys(id, "C-c");
	await_screen(id, "KeyboardInterrupt");
	enter(id, "exit(3)");
	expect(code_at_the_end(id) == 3);
}

SCENARIO(programs, node_computes)
{
	const char *id, *node;

	NEED(node, "node");
	psupd();
	id = on_terminal(LIST("argv", node));
	await_screen(id, ">");
	enter(id, "6 * 7");
	await_screen(id, "\n42");
	enter(id, "[1, 2, 3].map(x => x * 11)");
	await_screen(id, "[ 11, 22, 33 ]");
	keys(id, "up", "up", "C-e", "0", "enter");
	await_screen(id, "\n420");
	enter(id, "process.exit(4)");
	expect(code_at_the_end(id) == 4);
}

/* What a file has. */
static void
expect_file(const char *path, const char *want)
{
	char got[400] = "";
	FILE *f = fopen(path, "r");
	size_t n = f != NULL ? fread(got, 1, sizeof(got) - 1, f) : 0;

	if (f != NULL)
		fclose(f);
	got[n] = '\0';
	expect(strcmp(got, want) == 0, "%s has '%s'", path, got);
}

SCENARIO(programs, vim_edits_a_file)
{
	const char *id, *vim, *path = file_in_scenario("text.txt");
	struct answer *a;

	NEED(vim, "vim");
	psupd();
	id = on_terminal(LIST("argv", vim, "-N", "-u", "NONE", "-i", "NONE",
	    "-n", path), INT("cols", 80), INT("rows", 24));
	a = await_screen(id, "~\n~\n~");
	expect_flag(a, "alternate", true);
	keys(id, "i");
	await_screen(id, "INSERT");
	type(id, "first line\rsecnd line");
	await_screen(id, "secnd line");
	keys(id, "escape");
	keys(id, "0", "f", "n");
	keys(id, "i", "o", "escape");
	await_screen(id, "second line");
	keys(id, "up", "home"); /* in application mode now */
	type(id, "A!\033:wq\r");
	expect(code_at_the_end(id) == 0);
	expect_file(path, "first line!\nsecond line\n");
	a = ask("screen", STR("sessionId", id));
	expect_flag(a, "alternate", false);
}

SCENARIO(programs, less_pages_and_finds)
{
	char command[1200];
	const char *id, *less, *path = file_in_scenario("long.txt");
	struct answer *a;

	NEED(less, "less");
	psupd();
	snprintf(command, sizeof(command),
	    "seq -f 'line %%g' 500 >'%s' && exec %s '%s'", path, less, path);
	id = on_terminal(STR("command", command), INT("cols", 60),
	    INT("rows", 11), MAP("env", "LESS", ""));
	a = await_screen(id, "line 10\n");
	expect(strcmp(screen_line_of(a, 0), "line 1") == 0);
	keys(id, "space");
	a = await_screen(id, "line 20\n");
	expect(strcmp(screen_line_of(a, 0), "line 11") == 0);
	enter(id, "/line 333");
	a = await_screen(id, "line 333\n");
	expect(strcmp(screen_line_of(a, 0), "line 333") == 0);
	keys(id, "pgup");
	a = await_screen(id, "line 323\n");
	/* another size: it draws itself again, with its next key at the latest */
	expect_ok(ask("resize", STR("sessionId", id), INT("cols", 60),
	    INT("rows", 21)));
	keys(id, "r");
	a = await_screen(id, "line 342\n");
	expect(strcmp(screen_line_of(a, 0), "line 323") == 0);
	keys(id, "q");
	expect(code_at_the_end(id) == 0);
}

SCENARIO(programs, top_runs_and_quits)
{
	const char *id, *top;

	NEED(top, "top");
	psupd();
	id = on_terminal(LIST("argv", top, "-d", "1"), INT("cols", 100),
	    INT("rows", 40));
	await_screen(id, "PID USER");
	await_screen(id, "Tasks:");
	keys(id, "h");
	await_screen(id, "Help for Interactive");
	keys(id, "escape");
	await_screen(id, "PID USER");
	keys(id, "q");
	expect(code_at_the_end(id) == 0);
}

/* Typed without echo: nowhere in what it wrote. */
static void
expect_unseen(const char *id, const char *secret)
{
	struct output o = read_retained(id);

	expect(o.len > 0);
	expect(memmem(o.bytes, o.len, secret, strlen(secret)) == NULL);
}

SCENARIO(programs, a_password_prompt_shows_nothing)
{
	const char *id, *bash, *python;

	NEED(bash, "bash");
	psupd();
	id = on_terminal(LIST("argv", bash, "-c",
	    "read -rsp 'Password: ' p; echo; echo ${#p} characters; read x"));
	await_screen(id, "Password:");
	enter(id, "s3cret");
	await_screen(id, "6 characters");
	expect_unseen(id, "s3cret");
	enter(id, "");
	await_end(id);
	NEED(python, "python3");
	id = on_terminal(LIST("argv", python, "-c",
	    "import getpass\n"
	    "p = getpass.getpass(\"host's password: \")\n"
	    "print(len(p), 'characters'); input()"));
	await_screen(id, "host's password:");
	enter(id, "hunter22");
	await_screen(id, "8 characters");
	expect_unseen(id, "hunter22");
	enter(id, "");
	expect(code_at_the_end(id) == 0);
}

/* A program that fills the screen, and does it again when told. */
SCENARIO(programs, a_full_screen_is_drawn_again_after_a_resize)
{
	const char *id, *python;
	struct answer *a;

	NEED(python, "python3");
	psupd();
	/* bash forgets a signal that comes while its trap runs */
	id = on_terminal(LIST("argv", python, "-c",
	    "import os, signal, time\n"
	    "def draw(*_):\n"
	    "  cols, rows = os.get_terminal_size()\n"
	    "  os.write(1, b'\\33[H\\33[2J\\33[%d;%dHcorner' % "
	    "(rows, cols - 5))\n"
	    "signal.signal(signal.SIGWINCH, draw)\n"
	    "os.write(1, b'\\33[?1049h')\n"
	    "draw()\n"
	    "while True: time.sleep(0.2)\n"),
	    INT("cols", 50), INT("rows", 10));
	a = await_screen(id, "corner");
	expect(strcmp(screen_line_of(a, 9) + 44, "corner") == 0);
	expect_ok(ask("resize", STR("sessionId", id), INT("cols", 70),
	    INT("rows", 20)));
	do
		a = await_screen(id, "corner");
	while (strlen(screen_line_of(a, 19)) != 70);
	expect(strcmp(screen_line_of(a, 9), "") == 0);
	expect_ok(ask("resize", STR("sessionId", id), INT("cols", 30),
	    INT("rows", 5)));
	do
		a = await_screen(id, "corner");
	while (strlen(screen_line_of(a, 4)) != 30);
	ask("kill", STR("sessionId", id), INT("graceMs", 0));
}
