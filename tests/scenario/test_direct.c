/* SPDX-License-Identifier: MIT */
/*
 * Plain words run without a shell, and nobody can tell: what the command sees
 * is the same both ways, and what a shell would say is still said by it. The
 * shell here is one that says so when it runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib_scn.h"

/* A program of these lines; its path. */
static const char *
script(const char *name, const char *lines)
{
	const char *path = file_in_scenario(name);
	FILE *f = fopen(path, "w");

	expect(f != NULL);
	fputs(lines, f);
	expect(fclose(f) == 0 && chmod(path, 0755) == 0);
	return path;
}

/* The server, with a bash or dash that tells. */
static void
server_with_shell(const char *name, const char *more)
{
	char conf[4400], lines[200];
	const char *shell;

	snprintf(lines, sizeof(lines),
	    "#!/bin/sh\necho shell >&2\nexec /bin/%s \"$@\"\n", name);
	shell = script(name, lines);
	snprintf(conf, sizeof(conf), "[exec]\nshell = %s\n%s", shell, more);
	psupd(.conf = conf);
}

/* What runs says this; through the shell, or not. */
static struct answer *
expect_run(const char *command, bool shell)
{
	struct answer *a = ask("exec", STR("command", command));

	expect((strstr(text_of(a, "aggregated"), "shell\n") != NULL) == shell,
	    "%s: %s", command, text_of(a, "aggregated"));
	return a;
}

SCENARIO(direct, plain_words_run_without_a_shell)
{
	server_with_shell("bash", "");
	expect_int(expect_run("/bin/true", false), "exitCode", 0);
	expect_int(expect_run("/bin/false", false), "exitCode", 1);
	expect_text(expect_run("expr 1 + 2", false), "3");
	expect_int(expect_run("true", true), "exitCode", 0);
	expect_text(expect_run("expr 1 + 2 ;", true), "3");
}

SCENARIO(direct, what_only_a_shell_can_say_it_says)
{
	const char *plain, *text;
	struct answer *a;
	char command[4200];

	server_with_shell("bash", "");
	a = expect_run("no-such-program-x", true);
	expect_int(a, "exitCode", 127);
	expect_str(a, "failureKind", "shell-command-not-found");
	expect_text(a, "command not found");
	/* a script without #! is the shell's, and so is its $0 */
	plain = script("plain", "echo I am $0 $1\n");
	snprintf(command, sizeof(command), "%s x", plain);
	a = expect_run(command, true);
	text = text_of(a, "aggregated");
	expect(strstr(text, "I am ") != NULL && strstr(text, "plain x") != NULL,
	    "%s", text);
	expect(chmod(plain, 0644) == 0);
	expect_int(expect_run(command, true), "exitCode", 126);
	expect_int(expect_run("/tmp", true), "exitCode", 126);
}

SCENARIO(direct, it_can_be_turned_off)
{
	server_with_shell("bash", "direct = no\n");
	expect_int(expect_run("/bin/true", true), "exitCode", 0);
}

/* Lines of a text, sorted. */
static int
compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t
sorted_lines(const char *text, char *ret[64])
{
	char *copy = scn_alloc(strlen(text) + 1), *save = NULL, *line;
	size_t n = 0;

	memcpy(copy, text, strlen(text) + 1);
	for (line = strtok_r(copy, "\n", &save); line != NULL && n < 64;
	     line = strtok_r(NULL, "\n", &save))
		if (strncmp(line, "PSUP_", 5) != 0) /* a session's own */
			ret[n++] = line;
	qsort(ret, n, sizeof(*ret), compare_lines);
	return n;
}

/* The same environment, directory and mask, whoever execs env. "env #" is
 * env, but for the shell to find out. */
static void
looks_the_same(const char *shell)
{
	char conf[64], *a[64], *b[64];
	size_t i, k, n;
	static const char *const bases[][7] = {
	    {"PATH", "/usr/bin:/bin", "HOME", "/tmp", NULL},
	    {"PATH", "/usr/bin:/bin", "SHLVL", "3", "_", "foo", NULL},
	    {"PATH", "/usr/bin:/bin", "OLDPWD", "/tmp", "PWD", "/bogus", NULL},
	    {"PATH", "/usr/bin:/bin", "OLDPWD", "/nonexistent", "A", "", NULL},
	    {"PATH", "/usr/bin:/bin", "SHLVL", "x", "COLUMNS", "7", NULL},
	};

	snprintf(conf, sizeof(conf), "[exec]\nshell = /bin/%s\n", shell);
	psupd(.conf = conf);
	for (i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
		struct arg base = {.key = "baseEnv", .type = 'm',
		    .list = bases[i]};

		n = sorted_lines(text_of(ask("exec", STR("command", "env"),
		    STR("workdir", "/usr"), base), "aggregated"), a);
		k = sorted_lines(text_of(ask("exec", STR("command", "env #"),
		    STR("workdir", "/usr"), base), "aggregated"), b);
		expect(n == k && n > 3, "%zu and %zu lines", n, k);
		while (n-- > 0)
			expect(strcmp(a[n], b[n]) == 0, "%s: %s and %s", shell,
			    a[n], b[n]);
	}
}

SCENARIO(direct, bash_cannot_be_told_from_none)
{
	if (access("/bin/bash", X_OK) != 0) {
		skip_scenario("no bash here");
		return;
	}
	looks_the_same("bash");
}

SCENARIO(direct, dash_cannot_be_told_from_none)
{
	if (access("/bin/dash", X_OK) != 0) {
		skip_scenario("no dash here");
		return;
	}
	looks_the_same("dash");
}

SCENARIO(direct, the_mask_is_the_clients)
{
	mode_t before;

	psupd();
	expect_text(ask("exec", STR("command", "umask")), "0022");
	expect_text(ask("exec", STR("command", "umask"), STR("umask", "077")),
	    "0077");
	expect_refused_for(ask("exec", STR("command", "umask"),
	    STR("umask", "8")), "invalid-params", "umask");
	expect_refused_for(ask("exec", STR("command", "umask"),
	    STR("umask", "1000")), "invalid-params", "umask");
	before = umask(027);
	expect_out(cli("exec", "umask"), "0027\n");
	(void)umask(before);
}
