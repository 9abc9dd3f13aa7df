/* SPDX-License-Identifier: MIT */
/*
 * The server of a campaign: one of its own, as our child so that nothing of it
 * escapes, or one that runs already.
 */
#include "chaos.h"
#include "tools/lib/remove_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS 600000 /* of one that hangs */
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

extern char **environ;

/* What the child of a program of many threads needs: all made before fork. */
static struct launch {
	char psupd[4200], workers[16], log[128];
	const char *argv[8];
	char **env, **plain; /* plain: without faults */
	bool spared, spare; /* this one, the next one has none */
} launch;

static void
launch_prepare(void)
{
	const char *faults[2];
	size_t n = 0;
	int argc = 3;

	faults_environment(faults);
	find_psupd(launch.psupd, sizeof(launch.psupd));
	snprintf(launch.log, sizeof(launch.log), "%s/psupd.log", chaos.work);
	launch.argv[0] = "psupd";
	launch.argv[1] = "--runtime-dir";
	launch.argv[2] = chaos.dir;
	if (chaos.o.workers > 0) {
		snprintf(launch.workers, sizeof(launch.workers), "%d",
		    chaos.o.workers);
		launch.argv[argc++] = "--workers";
		launch.argv[argc++] = launch.workers;
	}
	launch.argv[argc] = NULL;
	for (char **e = environ; *e != NULL; e++)
		n++;
	launch.env = calloc(n + 3, sizeof(char *));
	if (launch.env == NULL)
		die("no memory");
	launch.plain = launch.env + 2;
	n = 2;
	for (char **e = environ; *e != NULL; e++)
		if (strncmp(*e, "PSUP_FAULTS", 11) != 0 || faults[0] == NULL)
			launch.env[n++] = *e;
	if (faults[0] == NULL)
		launch.env = launch.plain;
	for (int i = 0; i < 2 && faults[i] != NULL; i++)
		launch.env[i] = (char *)(uintptr_t)faults[i];
}

/* The keeper, in the foreground; what it says goes to a file. */
static pid_t
launch_psupd(void)
{
	pid_t pid = fork();
	int fd;

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid > 0)
		return pid;
	fd = open(launch.log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	dup2(fd, STDERR_FILENO);
	dup2(fd, STDOUT_FILENO);
	close(fd);
	signal(SIGPIPE, SIG_DFL);
	execve(launch.psupd, (char *const *)(uintptr_t)launch.argv,
	    launch.spare ? launch.plain : launch.env);
	_exit(127);
}

/* One of ours that is of no use does not outlive us; its log says why. */
static void
abandon(bool died)
{
	if (died || !chaos.own)
		return;
	kill(atomic_load(&chaos.keeper), SIGKILL);
	waitpid(atomic_load(&chaos.keeper), NULL, 0);
}

/* Until it answers; one of others is there, or it is none. False: ours died
 * before, by a fault point or somebody's hand; its other ends are ends. */
static bool
await_server(void)
{
	uint64_t until = clock_boot_ns() + START_MS * UINT64_C(1000000);
	psup *p = client_new();
	psup_reply *r = NULL;
	bool died = false;
	int status = 0;

	while (!reach(p) || psup_status(p, &r) != PSUP_OK) {
		died = chaos.own
		    ? waitpid(atomic_load(&chaos.keeper), &status, WNOHANG) != 0
		    : !reach(p);
		if (died && faults_of_keeper())
			break;
		if (died || clock_boot_ns() > until) {
			abandon(died);
			die("no server at %s: %s (%s, status %#x; %s/psupd.log)",
			    chaos.dir, psup_error_message(p), died ? "it ended" :
			    "it hangs", (unsigned)status, chaos.work);
		}
		nap_ms(2);
	}
	if (!died)
		atomic_store(&chaos.keeper, (pid_t)psup_get_int(
		    psup_value_get(psup_reply_value(r), "keeper"), "pid", 0));
	psup_reply_free(&r);
	psup_free(&p);
	return !died;
}

bool
server_is_spared(void)
{
	return launch.spared;
}

void
server_spare_next(void)
{
	launch.spare = true;
}

bool
server_is_dead(void)
{
	siginfo_t si = {0};

	return chaos.own && waitid(P_PID, (id_t)atomic_load(&chaos.keeper), &si,
	    WEXITED | WNOHANG | WNOWAIT) == 0 && si.si_pid != 0;
}

bool
server_again(void)
{
	bool up;

	atomic_store(&chaos.keeper, launch_psupd());
	up = await_server();
	launch.spared = launch.spare;
	launch.spare = !up; /* it dies as it starts: every other one */
	return up;
}

void
server_start(void)
{
	int tries = 0;

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
	boxed_prepare(); /* what it tries is not to be our orphan */
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	snprintf(chaos.dir, sizeof(chaos.dir), "%s/run", chaos.work);
	launch_prepare();
	hostile_prepare();
	while (!server_again())
		if (++tries == 20)
			die("no server comes up (%s/psupd.log)", chaos.work);
}

/* Everything else that came to be our child was left behind; but where keepers
 * were killed we are to reap whom they had, however late one of them died. */
static void
reap_the_left(void)
{
	bool ours = atomic_load(&chaos.keepers_dead) > 0;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (!ours)
			lost(LOSS_ZOMBIE, "process %d was left behind, dead",
			    pid);
	if (pid == 0)
		lost(LOSS_PROCESS, "processes outlived the server: ps --ppid %d",
		    getpid());
}

/* Waits for the end of our keeper. */
static void
await_end(void)
{
	uint64_t until = clock_boot_ns() + STOP_MS * UINT64_C(1000000);
	int status;

	while (waitpid(chaos.keeper, &status, WNOHANG) == 0) {
		if (clock_boot_ns() > until) {
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
		(void)remove_tree(chaos.work);
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
