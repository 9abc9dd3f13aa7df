/* SPDX-License-Identifier: MIT */
/*
 * The frame of a scenario: its directory, its server under the guard, and
 * what is told when it fails. Called through the SCENARIO macro. What is asked
 * of the server is lib_ask.c, processes and the CLI are lib_proc.c.
 *
 *     /dev/shm/psup-test-RUN-XXXXXX/    removed by the guard
 *         run/          the runtime directory
 *         psup.conf     log: what psupd said on stderr
 */
#include "lib_scn.h"

#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib_inner.h"

#define LOG_SHOWN 16384

struct scn scn;
static struct guarded former = {.pid = -1};

static struct chunk {
	struct chunk *next;
	max_align_t memory[];
} *chunks;

int64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The time that some have waited by one of the kernel's files, in us. */
static int64_t
waited_us(const char *path)
{
	FILE *f = fopen(path, "re");
	long long us = -1;

	if (f == NULL)
		return -1;
	if (fscanf(f, "some %*s %*s %*s total=%lld", &us) != 1)
		us = -1;
	fclose(f);
	return us;
}

/* The kernel's figure is an average over the processors: one of them may have
 * had all of it. */
int64_t
withheld_ms(void)
{
	int64_t cpu = waited_us("/proc/pressure/cpu");
	int64_t io = waited_us("/proc/pressure/io");

	if (cpu < 0 || io < 0)
		return now_ms();
	return (cpu + io) / 1000 * sysconf(_SC_NPROCESSORS_ONLN);
}

int64_t
busy_ms(void)
{
	return 3000 + withheld_ms() - scn.withheld_ms;
}

void *
scn_alloc(size_t size)
{
	struct chunk *c = calloc(1, sizeof(*c) + size);

	if (c == NULL)
		abort();
	c->next = chunks;
	chunks = c;
	return c->memory;
}

/* A printf into memory of the scenario. */
char *
scn_format(const char *fmt, ...)
{
	char buf[8192];
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(buf))
		abort();
	s = scn_alloc((size_t)n + 1);
	return memcpy(s, buf, (size_t)n + 1);
}

/* Where the programs of the build are: as CTest says, else beside us. */
const char *
scn_bin_dir(void)
{
	const char *bin = getenv("PSUP_TEST_BIN");
	char self[4096];
	ssize_t n;

	if (bin != NULL)
		return bin;
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n <= 0)
		abort();
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	return scn_format("%.4000s/../bin", self);
}

/* A program of the build tree. */
const char *
scn_program(const char *name)
{
	return scn_format("%s/%s", scn_bin_dir(), name);
}

static const char *
helper(const char *name)
{
	char *path = scn_format("%s/../tests/helpers/%s", scn_bin_dir(), name);
	char real[PATH_MAX];

	return realpath(path, real) != NULL ? scn_format("%s", real) : path;
}

const char *
scn_puppet(void)
{
	return helper("puppet");
}

const char *
runtime_dir(void)
{
	return scn.run;
}

const char *
file_in_scenario(const char *name)
{
	return scn_format("%s/%s%s", scn.base, is_boxed() ? "files/" : "",
	    name);
}

void
write_conf(const char *text)
{
	FILE *f = fopen(scn.conf, "we");

	if (is_boxed())
		text = boxed_conf(scn.base, text);

	if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
		scn_fail(__FILE__, __LINE__, "write psup.conf", "%s",
		    strerror(errno));
}

void
scn_begin(const char *name)
{
	const char *run = getenv("PSUP_TEST_RUN");
	char *base = scn_format("%s/psup-test-%s-XXXXXX",
	    is_boxed() ? "/tmp" : "/dev/shm", /* a box has its own /dev */
	    run == NULL ? "x" : run);

	/* Criterion's own descriptors are none of the programs' business. */
	close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
	memset(&scn, 0, sizeof(scn));
	scn.name = name;
	scn.guard.pid = -1;
	scn.withheld_ms = withheld_ms();
	if (mkdtemp(base) == NULL)
		abort();
	scn.base = base;
	scn.run = scn_format("%s/run", base);
	scn.conf = scn_format("%s/psup.conf", base);
	if (mkdir(scn.run, 0700) != 0)
		abort();
	if (is_boxed())
		boxed_begin(base);
	write_conf("");
}

/*
 * Starts argv under a guard. Its stdio is in (or /dev/null), out and err. The
 * guard's pipe is the caller's to close; env is added to ours.
 */
void
scn_guard(const char *const *argv, const char *const *env, int in, int out,
    int err, struct guarded *ret)
{
	const char *full[64] = {helper("guard")};
	int ends[2], devnull = open("/dev/null", O_RDWR | O_CLOEXEC);
	size_t n = 1;
	pid_t pid;

	for (; argv[n - 1] != NULL && n < 63; n++)
		full[n] = argv[n - 1];
	if (devnull < 0 || pipe2(ends, O_CLOEXEC) != 0)
		abort();
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		/* Only exec from here on: this is a copy of a Criterion test.
		 * dup2 takes close-on-exec away. */
		int fds[4] = {in < 0 ? devnull : in, out < 0 ? devnull : out,
		    err < 0 ? devnull : err, ends[0]};

		for (int i = 0; i < 4; i++)
			fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 10);
		for (int i = 0; i < 4; i++)
			dup2(fds[i], i);
		for (; env != NULL && *env != NULL; env++)
			putenv((char *)(uintptr_t)*env);
		execv(full[0], (char **)(uintptr_t)full);
		_exit(127);
	}
	close(ends[0]);
	close(devnull);
	if (pid < 0)
		abort();
	ret->pid = pid;
	ret->pipe = ends[1];
}

/* Lets the guard go and waits for it: its exit status. -1: it hangs. */
int
scn_guard_wait(struct guarded *g, int patience_ms)
{
	int64_t until = now_ms() + patience_ms;
	int status;

	for (;;) {
		pid_t pid = waitpid(g->pid, &status, WNOHANG);

		if (pid == g->pid)
			break;
		if (now_ms() > until) {
			if (g->pipe < 0)
				return -1;
			/* Its command did not end: let it kill. */
			close(g->pipe);
			g->pipe = -1;
			until = now_ms() + SCN_DEADLINE_MS;
		}
		poll(NULL, 0, 1);
	}
	if (g->pipe >= 0)
		close(g->pipe);
	g->pid = -1;
	return WIFEXITED(status) ? WEXITSTATUS(status)
	                         : 128 + WTERMSIG(status);
}

bool
scn_guard_is_over(const struct guarded *g)
{
	siginfo_t info = {0};

	return g->pid > 0 && waitid(P_PID, (id_t)g->pid, &info,
	    WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == g->pid;
}

/* A tmpfs of a few pages, seen by this test and its children alone. */
static void
mount_tiny(size_t bytes)
{
	char opts[64];

	snprintf(opts, sizeof(opts), "size=%zu,mode=0700", bytes);
	if (unshare(CLONE_NEWNS) != 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("tmpfs", scn.run, "tmpfs", MS_NOSUID | MS_NODEV, opts) != 0)
		skip_scenario("no tmpfs of one's own here: %s",
		    strerror(errno));
}

/* A command that should end is waited for, however slow the machine is, unless
 * the scenario is about the yield. */
static bool
sets_yield(const struct server *how)
{
	bool sets = how->conf != NULL &&
	    strstr(how->conf, "background_ms") != NULL;

	for (size_t i = 0; i < 8 && how->env[i] != NULL; i++)
		sets = sets || strstr(how->env[i], "YIELD_MS") != NULL;
	return sets;
}

/* A guard whose server is over removes the log, which then says why. */
static char kept_log[32];

static void
keep_log(int log)
{
	static int kept = -1;

	if (kept < 0)
		kept = fcntl(log, F_DUPFD_CLOEXEC, 100);
	else
		(void)dup3(log, kept, O_CLOEXEC);
	snprintf(kept_log, sizeof(kept_log), "/proc/self/fd/%d", kept);
}

void
scn_start(const struct server *how)
{
	static const char ready[] = "event=ready ";
	const char *env[20], *argv[12];
	size_t n = 0, k = 0;
	int64_t until;
	int log, before;

	while (k < 8 && how->wrap[k] != NULL) {
		argv[k] = how->wrap[k];
		k++;
	}
	argv[k++] = how->failing ? scn_format("%s/../tests/failing/psupd",
	    scn_bin_dir()) : scn_program("psupd");
	argv[k++] = how->option;
	argv[k] = NULL;
	if (how->conf != NULL)
		write_conf(how->conf);
	if (how->tmpfs_bytes > 0)
		mount_tiny(how->tmpfs_bytes);
	scn.log = scn_format("%s/log", scn.base);
	log = open(scn.log, O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	if (log < 0)
		abort();
	keep_log(log);
	before = count_log(ready);
	env[n++] = scn_format("PSUP_RUNTIME_DIR=%s", scn.run);
	env[n++] = scn_format("PSUP_CONFIG=%s", scn.conf);
	env[n++] = scn_format("PSUP_WORKERS=%d",
	    how->workers == 0 ? 2 : how->workers);
	if (!how->first)
		env[n++] = scn_format("GUARD_REMOVE=%s", scn.base);
	if (!sets_yield(how))
		env[n++] = "PSUP_YIELD_MS=120000";
	for (size_t i = 0; i < 8 && how->env[i] != NULL; i++)
		env[n++] = how->env[i];
	env[n] = NULL;
	scn_guard(argv, env, -1, log, how->err > 0 ? how->err : log,
	    &scn.guard);
	close(log);
	if (how->fails)
		return;
	scn_connect();
	until = now_ms() + SCN_DEADLINE_MS;
	while (!how->limps && how->err == 0 && count_log(ready) == before) {
		expect(now_ms() < until, "not all of it has come up");
		poll(NULL, 0, 1);
	}
}

void
server_was_killed(void)
{
	former = scn.guard;
	scn.guard.pid = -1;
	scn_ask_again();
}

int
await_former_server(void)
{
	return scn_guard_wait(&former, SCN_DEADLINE_MS);
}

int
count_log(const char *text)
{
	FILE *f = fopen(scn.log, "re");
	char *said = NULL;
	size_t size = 0;
	int n = 0;

	expect(f != NULL, "%s", strerror(errno));
	if (getdelim(&said, &size, '\0', f) >= 0)
		for (const char *s = said; (s = strstr(s, text)) != NULL; s++)
			n++;
	fclose(f);
	free(said);
	return n;
}

void
await_log(const char *text)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	while (count_log(text) == 0) {
		expect(now_ms() < until, "psupd did not say '%s'", text);
		poll(NULL, 0, 5);
	}
}

/* No server was started: nobody else removes the directory. */
void
scn_forget(void)
{
	scn_remove_tree(scn.base);
}

void
server_is_gone(void)
{
	scn.gone = true;
}

void
server_ends(void)
{
	scn.ending = true;
}

/* ------------------------------------------------------------ the timeline */

/* The end of what psupd wrote to stderr, and of its own log file. */
static void
show_file(const char *title, const char *path)
{
	char *buf = scn_alloc(LOG_SHOWN + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size;
	ssize_t n;

	if (fd < 0)
		return;
	size = lseek(fd, 0, SEEK_END);
	n = pread(fd, buf, LOG_SHOWN, size > LOG_SHOWN ? size - LOG_SHOWN : 0);
	close(fd);
	if (n > 0)
		fprintf(stderr, "--- %s\n%.*s\n", title, (int)n, buf);
}

static void
show_board(void)
{
	struct psup_view_session s;
	struct psup_view_process p;
	psup_view *v;
	char why[256];
	size_t cursor = 0;
	int shown = 0;

	fprintf(stderr, "--- board\n");
	if (psup_view_open(scn.run, &v, why, sizeof(why)) != 0) {
		fprintf(stderr, "%s\n", why);
		return;
	}
	while (psup_view_next_process(v, &cursor, &p) == 1)
		fprintf(stderr, "%s slot %d pid %d generation %u sessions %llu "
		    "last words: %s\n", p.role, p.slot, p.pid, p.generation,
		    (unsigned long long)p.sessions, p.last_words);
	cursor = 0;
	while (psup_view_next_session(v, &cursor, &s) == 1 && shown++ < 50)
		fprintf(stderr, "%s %s %s %s pid %d worker %d total %llu%s "
		    ":: %s\n", s.id, s.state, s.status, s.reason, s.pid,
		    s.worker, (unsigned long long)s.total_bytes,
		    s.backgrounded ? " bg" : "", s.command);
	psup_view_close(&v);
}

void
scn_fail(const char *file, int line, const char *what, const char *fmt, ...)
{
	static bool failing;
	va_list ap;

	fprintf(stderr, "\n=== %s failed at %s:%d: %s:", scn.name, file, line,
	    what);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	if (!failing) {
		failing = true;
		scn_show_asked();
		if (scn.log != NULL)
			show_file("psupd", kept_log);
		show_file("log", scn_format("%s/log", scn.run));
		show_board();
		scn_show_processes();
	}
	fprintf(stderr, "===\n");
	cr_assert_fail("%s:%d: %s", file, line, what);
	abort();
}

/* ---------------------------------------------------------------- the end */

/* Stops the server, and fails where it hangs or leaves anybody behind. */
static void
stop_server(void)
{
	int status;

	if (scn.guard.pid < 0)
		return;
	if (!scn.gone && !scn.ending)
		scn_ask_to_stop();
	status = scn_guard_wait(&scn.guard, SCN_DEADLINE_MS);
	if (!scn.gone && status != 0)
		scn_fail(__FILE__, __LINE__, "psupd ends clean",
		    "guard says %d (124: it hung, 125: it left processes)",
		    status);
}

void
scn_end(void)
{
	scn_hang_up();
	stop_server();
	scn_free_asked();
	scn_remove_tree(scn.base);
	while (chunks != NULL) {
		struct chunk *c = chunks;

		chunks = c->next;
		free(c);
	}
}
