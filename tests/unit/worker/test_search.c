/* SPDX-License-Identifier: MIT */
/* What a child execs of what START names, and what it says where it cannot. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/start_plan.h"

static char dir[] = "/tmp/psup-test-search-XXXXXX";

/* A file of the directory, with what is in it; its path. */
static const char *
file(const char *name, const char *text, mode_t mode)
{
	static char paths[16][80];
	static unsigned turn;
	char *path = paths[turn++ % 16];
	FILE *f;

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	f = fopen(path, "we");
	cr_assert_not_null(f);
	fputs(text, f);
	cr_assert(fclose(f) == 0 && chmod(path, mode) == 0);
	return path;
}

static void
make_dir(void)
{
	cr_assert_not_null(mkdtemp(dir));
}

static void
remove_dir(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	cr_assert_eq(system(command), 0);
}

TestSuite(search, .timeout = 20, .init = make_dir, .fini = remove_dir);

/* What a START says; lists end with NULL. */
struct order {
	uint32_t flags, shell_argc;
	const char *argv[8], *env[8], *paths[8];
};

/* Appends a list to the blob; returns how many. */
static uint32_t
put_list(char *blob, uint32_t *bytes, const char *const *list)
{
	uint32_t n;

	for (n = 0; list[n] != NULL; n++) {
		memcpy(blob + *bytes, list[n], strlen(list[n]) + 1);
		*bytes += (uint32_t)strlen(list[n]) + 1;
	}
	return n;
}

static struct start_plan *
plan_of(const struct order *o)
{
	static const struct sid sid = {1};
	const char *const cwd[] = {dir, NULL};
	struct start_plan *plan = calloc(1, sizeof(*plan));
	struct ctl_msg *msg = calloc(1, sizeof(*msg));
	struct ctl_start st = {
	    .head = CTL_INIT(CTL_START, sid, struct ctl_start),
	    .flags = o->flags, .shell_argc = o->shell_argc,
	    .tail_bytes = 4096, .blob_at = sizeof(st)};
	char *blob = (char *)msg->bytes + sizeof(st);

	(void)put_list(blob, &st.blob_bytes, cwd);
	st.argc = put_list(blob, &st.blob_bytes, o->argv);
	st.envc = put_list(blob, &st.blob_bytes, o->env);
	st.path_count = put_list(blob, &st.blob_bytes, o->paths);
	memcpy(msg->bytes, &st, sizeof(st));
	msg->size = sizeof(st) + st.blob_bytes;
	plan->child_end[0] = plan->child_end[1] = plan->child_end[2] = -1;
	cr_assert_eq(start_plan_make(plan, msg), 0);
	free(msg);
	return plan;
}

/* What it prints, or "errno N". */
static const char *
run(const struct order *o)
{
	static char text[4096];
	struct start_plan *plan = plan_of(o);
	const char *volatile trying = NULL;
	size_t len = 0;
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	plan->search.trying = &trying;
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		if (chdir(plan->cwd) != 0 || dup2(fds[1], 1) < 0 ||
		    dup2(fds[1], 2) < 0)
			_exit(1);
		dprintf(1, "errno %d", search_exec(&plan->search));
		_exit(0);
	}
	close(fds[1]);
	while ((n = read(fds[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(fds[0]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	start_plan_free(plan);
	return text;
}

#define TELLS "#!/bin/sh\necho ${0##*/} \"$@\"\n"
#define BOTH  (CTL_START_SHELL | CTL_START_DIRECT)

/* The first that is there and may be run, with the options of its own kind. */
Test(search, the_first_shell_that_is_there)
{
	const char *none = file("zsh", TELLS, 0600), *ksh;
	struct order o = {.flags = CTL_START_SHELL,
	    .argv = {"/nowhere/zsh", "-f", "-c", "a b"},
	    .paths = {"/nowhere/zsh", "/dev/null/bash", none, dir}};

	cr_expect_str_eq(run(&o), "errno 13");
	ksh = file("ksh", TELLS, 0700);
	o.paths[3] = ksh;
	o.paths[4] = file("bash", TELLS, 0700);
	cr_expect_str_eq(run(&o), "ksh -c a b\n");
	o.paths[3] = o.paths[4];
	o.paths[4] = ksh;
	cr_expect_str_eq(run(&o), "bash --noprofile --norc -c a b\n");
	cr_assert_eq(chmod(none, 0700), 0);
	cr_expect_str_eq(run(&o), "zsh -f -c a b\n");
	o.paths[1] = NULL;
	cr_expect_str_eq(run(&o), "errno 2");
	/* a script without #! is sh's */
	o.paths[0] = file("mine", "echo $1 $2", 0700);
	cr_expect_str_eq(run(&o), "-c a b\n");
}

/* A program's candidates all have its argv, argv[0] as it was given. */
Test(search, a_program_keeps_its_name)
{
	struct order o = {.argv = {"name", "$0"},
	    .paths = {"/nowhere/x", file("denied", TELLS, 0600)}};

	cr_expect_str_eq(run(&o), "errno 13");
	o.argv[1] = "-c";
	o.argv[2] = "echo $0";
	o.paths[2] = "/bin/sh";
	cr_expect_str_eq(run(&o), "name\n");
	o.paths[1] = o.paths[2] = NULL;
	cr_expect_str_eq(run(&o), "errno 2");
}

/* Plain words with bash or dash at the paths of a START; the shell here is one
 * that says so. */
static const char *
run_words(const char *shell, const char *words, const char *path,
    const char *more)
{
	struct order o = {.flags = BOTH, .argv = {shell, "-c", words},
	    .env = {path, more}, .paths = {shell}};

	return run(&o);
}

/* As a shell would find it: the first file of that name that is no directory;
 * where there is anything to say the shell says it. */
Test(search, plain_words_as_a_shell_would)
{
	const char *bash = file("bash", "#!/bin/sh\necho shell\n", 0700);
	char path[400], sub[80];

	file("prog", TELLS, 0700);
	snprintf(sub, sizeof(sub), "%s/sub", dir);
	cr_assert_eq(mkdir(sub, 0700), 0);
	snprintf(path, sizeof(path), "PATH=/nowhere:/dev/null:%s:/bin", dir);
	cr_expect_str_eq(run_words(bash, "prog a  b", path, NULL),
	    "prog a b\n");
	cr_expect_str_eq(run_words(bash, "./prog a", path, NULL), "prog a\n");
	cr_expect_str_eq(run_words(bash, "expr 1 + 2", path, NULL), "3\n");
	cr_expect_str_eq(run_words(bash, "prog *", path, NULL), "shell\n");
	cr_expect_str_eq(run_words(bash, "no-such-x", path, NULL), "shell\n");
	cr_expect_str_eq(run_words(bash, "./sub", path, NULL), "shell\n");
	/* a directory of that name is passed over, a file of no use is not */
	snprintf(path, sizeof(path), "PATH=%s:/bin", dir);
	file("prog2", "", 0600);
	cr_expect_str_eq(run_words(bash, "prog2", path, NULL), "shell\n");
	snprintf(sub, sizeof(sub), "%s/expr", dir);
	cr_assert_eq(mkdir(sub, 0700), 0);
	cr_expect_str_eq(run_words(bash, "expr 2 + 2", path, NULL), "4\n");
	/* odd directories are the shell's, unless it was found before */
	snprintf(path, sizeof(path), "PATH=sub:%s", dir);
	cr_expect_str_eq(run_words(bash, "prog a", path, NULL), "shell\n");
	snprintf(path, sizeof(path), "PATH=%s/", dir);
	cr_expect_str_eq(run_words(bash, "prog a", path, NULL), "shell\n");
	snprintf(path, sizeof(path), "PATH=%s::x", dir);
	cr_expect_str_eq(run_words(bash, "prog a", path, NULL), "prog a\n");
	cr_expect_str_eq(run_words(bash, "prog a", "PATH=", NULL), "shell\n");
	/* not where it would do more than exec */
	snprintf(path, sizeof(path), "PATH=%s", dir);
	cr_expect_str_eq(run_words(bash, "prog a", path, "UID=0"), "shell\n");
	cr_expect_str_eq(run_words(bash, "prog a", path, "SHLVL=x"),
	    "shell\n");
	cr_expect_str_eq(run_words(bash, "prog a", path, "OLDPWD=/nowhere"),
	    "shell\n");
	cr_expect_str_eq(run_words(bash, "prog a", path, "OLDPWD=/tmp"),
	    "prog a\n");
	cr_expect_str_eq(run_words(file("ksh", "#!/bin/sh\necho shell\n",
	    0700), "prog a", path, NULL), "shell\n");
}

/* So many directories are looked through, no more. */
Test(search, a_long_path_is_the_shells)
{
	const char *bash = file("bash", "#!/bin/sh\necho shell\n", 0700);
	char path[SEARCH_DIRS_MAX * 4 + 100] = "PATH=";
	size_t at;

	file("prog", TELLS, 0700);
	for (int i = 0; i < SEARCH_DIRS_MAX - 1; i++)
		strcat(path, "/no:");
	at = strlen(path);
	strcpy(path + at, dir);
	cr_expect_str_eq(run_words(bash, "prog a", path, NULL), "prog a\n");
	strcpy(path + at, "/no:");
	strcpy(path + at + 4, dir);
	cr_expect_str_eq(run_words(bash, "prog a", path, NULL), "shell\n");
}

/* What bash, and only bash, says to what it execs. */
Test(search, bash_sets_what_it_sets)
{
	const char *bash = file("bash", "", 0700);
	char dash[80];

	cr_expect_str_eq(run_words(bash, "env", "PATH=/bin", "_=x"),
	    "PATH=/bin\n_=/bin/env\nSHLVL=0\n");
	cr_expect_str_eq(run_words(bash, "/bin/env", "PATH=/bin", "SHLVL=3"),
	    "PATH=/bin\nSHLVL=3\n_=/bin/env\n");
	snprintf(dash, sizeof(dash), "%s/sh", dir);
	cr_assert_eq(symlink(file("dash", "", 0700), dash), 0);
	cr_expect_str_eq(run_words(dash, "env", "PATH=/bin", "_=x"),
	    "PATH=/bin\n_=x\n");
}

/* An earlier master has looked for the program itself: the shell is right. */
Test(search, an_earlier_masters_order_runs_its_shell)
{
	const char *sh = file("sh", TELLS, 0700);
	struct order o = {.shell_argc = 3,
	    .argv = {sh, "-c", "prog a", "prog", "a"},
	    .paths = {"/bin/true", sh}};

	cr_expect_str_eq(run(&o), "sh -c prog a\n");
}
