/* SPDX-License-Identifier: MIT */
/* Boxes that the real bwrap makes by the plan. Where this machine refuses user
 * namespaces they are skipped. */
#include "supervisor/box/plan.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 60000

/* pid 1 of the box that the real bwrap makes: says what it sees. */
static const char program_text[] =
    "#!/bin/sh\n"
    "no() { echo \"in the box: $*\" >&2; exit 9; }\n"
    "[ $$ = 1 ] || no pid $$\n"
    "[ \"$PWD\" = /workspace ] || no workdir \"$PWD\"\n"
    "[ -z \"$PLAN_SECRET\" ] || no environment\n"
    "grep -q '^CapEff:[[:space:]]*0*$' /proc/self/status || no capabilities\n"
    "echo x >/workspace/made || no workspace\n"
    "(echo x >/usr/made) 2>/dev/null && no /usr is writable\n"
    "(echo x >/made) 2>/dev/null && no / is writable\n"
    "(echo x >/shown/made) 2>/dev/null && no a bind is writable\n"
    "[ -f /shown/program ] || no bind\n"
    "[ \"$(ls /run)\" = psup ] || no run: $(ls /run)\n"
    "[ \"$(ls /sys 2>/dev/null)\" = '' ] || no sys\n"
    "[ \"$(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ')\" = lo ] ||\n"
    "	no network\n"
    "echo R >&$1\n";

/* bwrap with these for errors, its first word and its info, which it closes
 * here. */
static pid_t
start(const struct box_argv *a, int err, int word, int info)
{
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		/* first away from where they are to be */
		int e = fcntl(err, F_DUPFD, 30);
		int w = fcntl(word, F_DUPFD, 30);
		int i = fcntl(info, F_DUPFD, 30);

		(void)dup2(e, 2);
		(void)dup2(w, 8);
		(void)dup2(i, 9);
		closefrom(10);
		(void)setenv("PLAN_SECRET", "x", 1);
		execv(a->arg[0], (char *const *)(uintptr_t)a->arg);
		_exit(125);
	}
	(void)close(err);
	(void)close(word);
	(void)close(info);
	return pid;
}

/* Runs it; its exit status, what it said in `said`, and on `ready`. */
static int
run(const struct box_argv *a, char said[1024], char ready[8])
{
	int err[2], word[2], info[2], status = -1;
	size_t n = 0;
	ssize_t r;
	pid_t pid;

	cr_assert_eq(pipe(err) | pipe(word) | pipe(info), 0);
	pid = start(a, err[1], word[1], info[1]);
	while (n < 1023 && (r = read(err[0], said + n, 1023 - n)) > 0)
		n += (size_t)r;
	said[n] = '\0';
	r = read(word[0], ready, 7);
	ready[r > 0 ? r : 0] = '\0';
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	(void)close(err[0]);
	(void)close(word[0]);
	(void)close(info[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* Is it this machine that makes no boxes? */
static bool
machine_refuses(const char *said)
{
	return strstr(said, "No permissions to create new namespace") != NULL ||
	       strstr(said, "Creating new namespace failed") != NULL ||
	       strstr(said, "Can't mount proc") != NULL ||
	       strstr(said, "setting up uid map") != NULL;
}

/* The directories beside /usr, as they are here. */
static size_t
find_roots(struct box_root *ret, char links[6][64])
{
	static const char *const paths[] = {
	    "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
	size_t i, n = 0;

	for (i = 0; i < 6; i++) {
		ssize_t len = readlink(paths[i], links[i], 63);

		if (len < 0 && access(paths[i], F_OK) != 0)
			continue;
		links[i][len > 0 ? len : 0] = '\0';
		ret[n++] =
		    (struct box_root){paths[i], len > 0 ? links[i] : NULL};
	}
	return n;
}

Test(box_live, shows_what_the_plan_says)
{
	char dir[] = "/tmp/psup-plan-XXXXXX", program[64], made[64], said[1024];
	char links[6][64], ready[8];
	struct box_bind bind = {.inside = "/shown"};
	struct box_root here[6];
	struct box_plan plan = {.bwrap = "/usr/bin/bwrap",
	    .program = program,
	    .workspace = dir,
	    .roots = here,
	    .binds = &bind,
	    .bind_count = 1,
	    .info_fd = 9,
	    .ready_fd = 8};
	struct box_argv a;
	FILE *f;
	int rc;

	if (access(plan.bwrap, X_OK) != 0)
		cr_skip_test("bwrap is not installed");
	cr_assert_not_null(mkdtemp(dir));
	(void)snprintf(program, sizeof(program), "%s/program", dir);
	(void)snprintf(made, sizeof(made), "%s/made", dir);
	strcpy(bind.host, dir);
	plan.root_count = find_roots(here, links);
	f = fopen(program, "we");
	cr_assert_not_null(f);
	cr_assert_geq(fputs(program_text, f), 0);
	cr_assert_eq(fchmod(fileno(f), 0755) | fclose(f), 0);
	box_plan_argv(&plan, &a);
	rc = run(&a, said, ready);
	(void)unlink(program);
	if (unlink(made) != 0)
		cr_expect_neq(rc, 0, "the workspace is another one");
	cr_expect_eq(rmdir(dir), 0);
	if (rc != 0 && machine_refuses(said))
		cr_skip_test("no box on this machine: %s", said);
	cr_expect_eq(rc, 0, "%s", said);
	cr_expect_str_eq(ready, "R\n");
}

/* A box whose pid 1 is psup-box. */
struct live {
	char dir[64], program[512];
	pid_t bwrap, one; /* one: pid 1 as seen from here */
	int pidfd;
};

static void
wait_for(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	cr_assert_eq(poll(&p, 1, PATIENCE_MS), 1, "nothing came");
}

static void
end_of(struct live *l)
{
	int status;

	wait_for(l->pidfd);
	(void)close(l->pidfd);
	cr_expect_eq(waitpid(l->bwrap, &status, 0), l->bwrap);
	cr_expect_eq(rmdir(l->dir), 0);
}

static void
begin(struct live *l)
{
	char links[6][64], text[512] = "", word = 0;
	struct box_root here[6];
	struct box_plan plan = {.bwrap = "/usr/bin/bwrap",
	    .program = l->program,
	    .workspace = l->dir,
	    .roots = here,
	    .info_fd = 9,
	    .ready_fd = 8};
	const char *bin = getenv("PSUP_TEST_BIN"), *at;
	struct box_argv a;
	int ready[2], info[2], err[2];
	ssize_t n;

	if (access(plan.bwrap, X_OK) != 0)
		cr_skip_test("bwrap is not installed");
	cr_assert_not_null(bin, "PSUP_TEST_BIN is not set");
	(void)snprintf(l->program, sizeof(l->program), "%s/psup-box", bin);
	strcpy(l->dir, "/tmp/psup-live-XXXXXX");
	cr_assert_not_null(mkdtemp(l->dir));
	plan.root_count = find_roots(here, links);
	box_plan_argv(&plan, &a);
	cr_assert_eq(pipe(ready) | pipe(info) | pipe(err), 0);
	l->bwrap = start(&a, err[1], ready[1], info[1]);
	wait_for(ready[0]);
	if (read(ready[0], &word, 1) != 1) { /* bwrap has ended */
		n = read(err[0], text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = '\0';
		(void)waitpid(l->bwrap, NULL, 0);
		(void)rmdir(l->dir);
		cr_assert(machine_refuses(text), "%s", text);
		cr_skip_test("no box on this machine: %s", text);
	}
	cr_expect_eq(word, 'R');
	n = read(info[0], text, sizeof(text) - 1);
	cr_assert_gt(n, 0);
	text[n] = '\0';
	at = strstr(text, "\"child-pid\":");
	cr_assert_not_null(at, "%s", text);
	l->one = (pid_t)strtol(at + strlen("\"child-pid\":"), NULL, 10);
	l->pidfd = (int)syscall(SYS_pidfd_open, l->one, 0);
	cr_assert_geq(l->pidfd, 0);
	(void)close(ready[0]);
	(void)close(info[0]);
	(void)close(err[0]);
}

/* "KEY:" of pid 1's status as a number of base 16. */
static unsigned long long
status_of(pid_t pid, const char *key)
{
	char path[64], line[256];
	unsigned long long ret = ~0ULL;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, key, strlen(key)) == 0)
			ret = strtoull(line + strlen(key), NULL, 16);
	(void)fclose(f);
	return ret;
}

Test(box_live, pid_1_reaps_has_no_capability_and_ends_the_box)
{
	struct live l;
	struct stat st;
	char path[64];

	begin(&l);
	/* not dumpable: what it has in /proc is not its uid's; root cannot tell
	 */
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)l.one);
	cr_expect_eq(stat(path, &st), 0);
	cr_expect(geteuid() == 0 || st.st_uid != geteuid());
	cr_expect_eq(status_of(l.one, "CapEff:"), 0);
	cr_expect_eq(status_of(l.one, "CapBnd:"), 0);
	cr_expect_neq(status_of(l.one, "SigIgn:") & 1ULL << (SIGCHLD - 1), 0);
	cr_expect_eq(kill(l.one, SIGTERM), 0, "to pid 1 that is nothing");
	cr_expect_eq(kill(l.one, SIGKILL), 0);
	end_of(&l);
}

Test(box_live, dies_with_bwrap)
{
	struct live l;

	begin(&l);
	cr_expect_eq(kill(l.bwrap, SIGKILL), 0);
	end_of(&l);
}
