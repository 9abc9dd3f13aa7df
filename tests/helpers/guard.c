/* SPDX-License-Identifier: MIT */
/*
 * guard COMMAND [ARG...]: runs a command so that nothing of it outlives its
 * test. The test holds the write end of a pipe whose read end is our fd 3;
 * however the test goes (passed, failed, crashed, timed out), that end closes,
 * and then every descendant is killed: we are their subreaper, so a setsid or
 * a double fork hides nobody.
 *
 * $GUARD_REMOVE names a directory under /dev/shm/psup-test-* or
 * /tmp/psup-test-* that goes too.
 *
 * $PSUP_TEST_CGROUP names a control group of version 2 below which the command gets
 * one of its own, as a service has: without it a psupd is in its test's, and can
 * bound nothing (docs/testing.md).
 *
 * Exit status: what the command ended with (128 + n for a signal), or 125
 * where descendants were still there at the end and had to be killed, or 124
 * where the command itself was.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define FD_PIPE      3
#define PIDS_MAX     65536
#define EXIT_KILLED  124
#define EXIT_LEFT    125

static pid_t pids[PIDS_MAX], parents[PIDS_MAX];

/* The parent of a process, or 0 where it is gone or already a zombie. */
static pid_t
parent_of(pid_t pid)
{
	char path[64], line[512], *end;
	FILE *f;
	int ppid = 0;
	char state = 'Z';

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	if (fgets(line, sizeof(line), f) != NULL &&
	    (end = strrchr(line, ')')) != NULL)
		sscanf(end + 1, " %c %d", &state, &ppid);
	fclose(f);
	return state == 'Z' || state == 'X' ? 0 : ppid;
}

/* Whether process i descends from us, by the table just read. */
static int
is_ours(size_t i, size_t count, pid_t self)
{
	pid_t up = parents[i];

	for (int hops = 0; hops < 1000 && up > 1; hops++) {
		size_t j;

		if (up == self)
			return 1;
		for (j = 0; j < count && pids[j] != up; j++)
			;
		if (j == count)
			return 0;
		up = parents[j];
	}
	return 0;
}

/* Kills every living descendant once; returns how many there were. */
static int
kill_round(int tell)
{
	struct dirent *e;
	size_t count = 0;
	int killed = 0;
	pid_t self = getpid();
	DIR *d = opendir("/proc");

	if (d == NULL)
		return 0;
	while ((e = readdir(d)) != NULL && count < PIDS_MAX) {
		pid_t pid = atoi(e->d_name);

		if (pid <= 1 || pid == self)
			continue;
		pids[count] = pid;
		parents[count] = parent_of(pid);
		if (parents[count] > 0)
			count++;
	}
	closedir(d);
	for (size_t i = 0; i < count; i++) {
		if (!is_ours(i, count, self))
			continue;
		if (tell && killed < 20)
			dprintf(STDERR_FILENO,
			    "guard: killing %d (child of %d)\n", pids[i],
			    parents[i]);
		kill(pids[i], SIGKILL);
		killed++;
	}
	return killed;
}

/* Reaps what is dead. Returns 1 where a child is left, and fills *status when
 * the command itself was among the dead. */
static int
reap(pid_t command, int *status, int *ended)
{
	for (;;) {
		int st;
		pid_t pid = waitpid(-1, &st, WNOHANG);

		if (pid == 0)
			return 1;
		if (pid < 0)
			return 0;
		if (pid == command) {
			*status = st;
			*ended = 1;
		}
	}
}

/* Kills until nobody is left; returns whether there was anybody. */
static int
kill_all(pid_t command, int *status, int *ended)
{
	int any = 0, tell = *ended;

	while (reap(command, status, ended)) {
		if (kill_round(tell) > 0)
			any = 1;
		tell = 0;
		poll(NULL, 0, 2);
	}
	return any;
}

static char group[4096]; /* of the command; "": ours */

static void
make_group(void)
{
	const char *above = getenv("PSUP_TEST_CGROUP");

	if (above == NULL)
		return;
	snprintf(group, sizeof(group), "%s/guard-%d", above, getpid());
	if (mkdir(group, 0755) != 0)
		fprintf(stderr, "guard: %s: %s\n", group, strerror(errno));
}

/* We go there. */
static void
enter_group(void)
{
	char procs[sizeof(group) + 16];
	int fd;

	if (group[0] == '\0')
		return;
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", group);
	fd = open(procs, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		fprintf(stderr, "guard: %s: %s\n", procs, strerror(errno));
	close(fd);
}

/* In the child: the command, with default signals and no fd of ours. */
static void
run(char **argv, const sigset_t *old)
{
	enter_group();
	sigprocmask(SIG_SETMASK, old, NULL);
	close(FD_PIPE);
	execvp(argv[0], argv);
	fprintf(stderr, "guard: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
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

/* The scenario's directory, and the tiny tmpfs that may be mounted in it. */
static void
remove_tree(const char *path)
{
	char run[256];

	if (path == NULL || (strncmp(path, "/dev/shm/psup-test-", 19) != 0 &&
	    strncmp(path, "/tmp/psup-test-", 15) != 0))
		return;
	snprintf(run, sizeof(run), "%s/run", path);
	umount2(run, MNT_DETACH | UMOUNT_NOFOLLOW);
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void
remove_group(void)
{
	if (group[0] != '\0')
		nftw(group, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int
main(int argc, char **argv)
{
	struct pollfd watch[2] = {{.fd = FD_PIPE}, {.events = POLLIN}};
	sigset_t set, old;
	pid_t command;
	const char *doomed = getenv("GUARD_REMOVE");
	int status = 0, ended = 0, any, in_time;

	if (argc < 2)
		return 2;
	close_range(FD_PIPE + 1, ~0U, 0);
	unsetenv("GUARD_REMOVE");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &old);
	watch[1].fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	make_group();
	command = fork();
	if (command == 0)
		run(argv + 1, &old);
	if (command < 0 || watch[1].fd < 0)
		return 126;

	/* Until the test lets go, or nothing is left to guard. */
	for (;;) {
		struct signalfd_siginfo info;

		if (poll(watch, 2, -1) < 0 && errno != EINTR)
			break;
		while (read(watch[1].fd, &info, sizeof(info)) > 0)
			;
		if (!reap(command, &status, &ended))
			break;
		if (watch[0].revents != 0)
			break;
	}
	in_time = ended;
	any = kill_all(command, &status, &ended);
	remove_tree(doomed);
	remove_group();
	if (!in_time)
		return EXIT_KILLED;
	if (any)
		return EXIT_LEFT;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
	                           : WEXITSTATUS(status);
}
