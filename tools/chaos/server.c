/* SPDX-License-Identifier: MIT */
/*
 * The server of a campaign: one of its own, as our child so that nothing of it
 * escapes, or one that runs already.
 */
#include "chaos.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS 20000
#define STOP_MS  30000

/* psupd beside this program, or in ../sbin of it. */
static void
find_psupd(char *buf, size_t size)
{
	static const char *const places[] = {"psupd", "../sbin/psupd"};
	const char *given = getenv("PSUP_PSUPD");
	size_t dir = (size_t)(strrchr(chaos.self, '/') - chaos.self) + 1;

	if (given != NULL) {
		snprintf(buf, size, "%s", given);
		return;
	}
	for (size_t i = 0; i < 2; i++) {
		snprintf(buf, size, "%.*s%s", (int)dir, chaos.self, places[i]);
		if (access(buf, X_OK) == 0)
			return;
	}
	die("psupd was not found beside %s; $PSUP_PSUPD may name it",
	    chaos.self);
}

/* The keeper, in the foreground; what it says goes to a file. */
static void
run_psupd(const char *psupd)
{
	char log[128], workers[16], fault[256];
	const char *argv[8] = {"psupd", "--runtime-dir", chaos.dir};
	int n = 3, fd;

	snprintf(log, sizeof(log), "%s/psupd.log", chaos.work);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	dup2(fd, STDERR_FILENO);
	dup2(fd, STDOUT_FILENO);
	close(fd);
	if (chaos.o.workers > 0) {
		snprintf(workers, sizeof(workers), "%d", chaos.o.workers);
		argv[n++] = "--workers";
		argv[n++] = workers;
	}
	if (chaos.o.fault != NULL) {
		/* NAME[@N][=ACTION] as common/fault.h spells it */
		int name = (int)strcspn(chaos.o.fault, "@=");
		const char *at = strchr(chaos.o.fault, '@');
		const char *action = strchr(chaos.o.fault, '=');
		int n_at = at != NULL ? (int)strcspn(at, "=") : 0;

		snprintf(fault, sizeof(fault), "%.*s%s%.*s", name,
		    chaos.o.fault, action != NULL ? action : "=kill", n_at,
		    at != NULL ? at : "");
		setenv("PSUP_FAULTS", fault, 1);
	}
	argv[n] = NULL;
	signal(SIGPIPE, SIG_DFL);
	execv(psupd, (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* Until it answers. */
static void
await_server(void)
{
	uint64_t until = now_ns() + START_MS * UINT64_C(1000000);
	psup *p;
	psup_reply *r = NULL;

	if (psup_new(&p) != PSUP_OK)
		die("no memory");
	while (!reach(p) || psup_status(p, &r) != PSUP_OK) {
		if (now_ns() > until ||
		    (chaos.own && waitpid(chaos.keeper, NULL, WNOHANG) != 0))
			die("no server at %s: %s (%s/psupd.log)", chaos.dir,
			    psup_error_message(p), chaos.work);
		nap_ms(2);
	}
	chaos.keeper = (pid_t)psup_get_int(
	    psup_value_get(psup_reply_value(r), "keeper"), "pid", 0);
	psup_reply_free(&r);
	psup_free(&p);
}

void
server_start(void)
{
	char psupd[4200];

	snprintf(chaos.work, sizeof(chaos.work), "/dev/shm/psup-chaos-XXXXXX");
	if (mkdtemp(chaos.work) == NULL)
		die("%s: %s", chaos.work, strerror(errno));
	chaos.own = chaos.o.runtime_dir == NULL;
	if (!chaos.own) {
		snprintf(chaos.dir, sizeof(chaos.dir), "%s",
		    chaos.o.runtime_dir);
		await_server();
		return;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	snprintf(chaos.dir, sizeof(chaos.dir), "%s/run", chaos.work);
	find_psupd(psupd, sizeof(psupd));
	fflush(NULL);
	chaos.keeper = fork();
	if (chaos.keeper < 0)
		die("fork: %s", strerror(errno));
	if (chaos.keeper == 0)
		run_psupd(psupd);
	await_server();
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	remove(path);
	return 0;
}

/* Everything else that came to be our child was left behind. */
static void
reap_the_left(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		lost(LOSS_ZOMBIE, "process %d was left behind, dead", pid);
	if (pid == 0)
		lost(LOSS_PROCESS, "processes outlived the server: ps --ppid %d",
		    getpid());
}

/* Waits for the end of our keeper. */
static void
await_end(void)
{
	uint64_t until = now_ns() + STOP_MS * UINT64_C(1000000);
	int status;

	while (waitpid(chaos.keeper, &status, WNOHANG) == 0) {
		if (now_ns() > until) {
			lost(LOSS_STUCK, "the server does not stop");
			kill(chaos.keeper, SIGKILL);
			waitpid(chaos.keeper, &status, 0);
			break;
		}
		nap_ms(2);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		lost(LOSS_STATUS, "the server ended with status %#x", status);
}

void
server_stop(void)
{
	psup_reply *r = NULL;
	psup *p = NULL;
	long losses = 0;

	if (chaos.own && psup_new(&p) == PSUP_OK) {
		if (!reach(p) || psup_shutdown(p, 0, &r) != PSUP_OK)
			kill(chaos.keeper, SIGTERM);
		psup_reply_free(&r);
		psup_free(&p);
		await_end();
		reap_the_left();
	}
	for (int i = 0; i < LOSS_COUNT; i++)
		losses += atomic_load(&chaos.loss[i]);
	if (losses > 0)
		fprintf(stderr, "psup-chaos: %s is kept\n", chaos.work);
	else
		nftw(chaos.work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int
server_processes(psup_view *v, const char *role,
    struct process ret[PROCESSES_MAX])
{
	struct psup_view_process p;
	size_t cursor = 0;
	int n = 0;

	while (psup_view_next_process(v, &cursor, &p) == 1)
		if (strcmp(p.role, role) == 0 && p.pid > 1 &&
		    n < PROCESSES_MAX)
			ret[n++] = (struct process){p.pid, p.slot};
	return n;
}

long
server_restarts(const char *role)
{
	struct psup_view_process p;
	psup_view *v = NULL;
	size_t cursor = 0;
	long sum = 0;

	if (psup_view_open(chaos.dir, &v, NULL, 0) != 0)
		return 0;
	while (psup_view_next_process(v, &cursor, &p) == 1)
		if (strcmp(p.role, role) == 0)
			sum += p.restarts;
	psup_view_close(&v);
	return sum;
}
