/* SPDX-License-Identifier: MIT */
/*
 * The box's own session where a box is somebody's container: asks its engine
 * which process is its first, makes sure of it, says so, and ends when that
 * does. It may hang, and is killed then, without anybody waiting for it. It
 * neither makes nor ends a container.
 *
 *     psup-container ENGINE NAME
 *
 * The words: {"child-pid": PID, "start": TICKS} and R; else one line on stderr
 * that says why there is no box.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/format.h"
#include "common/procfs.h"

#define ANSWER_MS 8000 /* both times, within the 10 s that a box may take */
#define SAID	  4096

static const char *engine, *name;
static uint64_t began_ns;

__attribute__((format(printf, 1, 2), noreturn)) static void
fail(const char *fmt, ...)
{
	char text[200];

	(void)FORMATTED(text, sizeof(text), fmt);
	fprintf(stderr, "no sandbox: container %.60s: %s\n", name, text);
	exit(1);
}

/* The engine, with its output and errors in a pipe of ours each. */
static pid_t
ask(int out[2], int err[2])
{
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0 ||
	    (pid = fork()) < 0)
		fail("%s cannot be asked: %s", engine, strerror(errno));
	if (pid != 0) {
		close(out[1]);
		close(err[1]);
		return pid;
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)setpgid(0, 0); /* with whatever it starts to answer */
	if (dup2(out[1], 1) < 0 || dup2(err[1], 2) < 0)
		_exit(126);
	execlp(engine, engine, "container", "inspect", "--format",
	    "{{.State.Pid}} {{.State.Status}} {{.Id}} {{.Name}}", name,
	    (char *)NULL);
	_exit(errno == ENOENT ? 127 : 126);
}

/* What comes until both have ended; -1: not in time, 0 or its wait status. */
static int
hear(pid_t pid, int out[2], int err[2], char said[2][SAID])
{
	struct pollfd p[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
	uint64_t end = began_ns + ANSWER_MS * NSEC_PER_MSEC, now;
	size_t len[2] = {0, 0};
	int status = -1;

	while ((p[0].fd >= 0 || p[1].fd >= 0) && (now = clock_boot_ns()) < end &&
	    poll(p, 2, (int)((end - now) / NSEC_PER_MSEC) + 1) >= 0)
		for (int i = 0; i < 2; i++) {
			char more[512];
			ssize_t n;

			if (p[i].fd < 0 || p[i].revents == 0)
				continue;
			n = read(p[i].fd, more, sizeof(more));
			if (n <= 0) {
				close(p[i].fd);
				p[i].fd = -1;
				continue;
			}
			if ((size_t)n > SAID - 1 - len[i]) /* the rest is lost */
				n = (ssize_t)(SAID - 1 - len[i]);
			memcpy(said[i] + len[i], more, (size_t)n);
			len[i] += (size_t)n;
		}
	said[0][len[0]] = said[1][len[1]] = '\0';
	while (p[0].fd < 0 && p[1].fd < 0 &&
	    waitpid(pid, &status, WNOHANG) == 0) {
		if (clock_boot_ns() >= end)
			return -1;
		(void)poll(NULL, 0, 1);
	}
	return p[0].fd < 0 && p[1].fd < 0 ? status : -1;
}

/* The last line with something in it. */
static const char *
last_line(char *text)
{
	size_t n = strlen(text);
	char *line;

	while (n > 0 && isspace((unsigned char)text[n - 1]))
		text[--n] = '\0';
	line = strrchr(text, '\n');
	return line != NULL ? line + 1 : text;
}

/* The process that the engine says is its first. */
static pid_t
inspect(void)
{
	static char said[2][SAID];
	int out[2], err[2], status;
	char state[32], id[65], called[256], rest[2];
	long pid;
	pid_t child = ask(out, err);

	status = hear(child, out, err, said);
	(void)kill(-child, SIGKILL);
	if (status == -1)
		fail("%s did not answer within %d s", engine,
		    ANSWER_MS / 1000);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		fail("%s is not installed", engine);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail("%s: %.120s", engine, said[1][0] != '\0' ?
		    last_line(said[1]) : "failed without a word");
	if (sscanf(said[0], "%8ld %31[a-z] %64[0-9a-f] %255s %1s", &pid, state,
		id, called, rest) != 4 ||
	    pid < 0)
		fail("%s said \"%.80s\"; expected a process, a state, an id and "
		     "a name", engine, last_line(said[0]));
	/* it takes the beginning of an id, too */
	if (strcmp(called + (called[0] == '/'), name) != 0 &&
	    (strlen(id) != 64 || strcmp(id, name) != 0))
		fail("%s takes that for %.80s; expected its name, or the whole "
		     "of its id", engine, called);
	if (strcmp(state, "running") != 0)
		fail("it is %s; expected it running", state);
	if (pid <= 1)
		fail("%s says it is running as process %ld; expected one of its "
		     "own", engine, pid);
	return (pid_t)pid;
}

/* Has it that namespace of its own? */
static bool
has_own(pid_t pid, const char *ns)
{
	char path[64];
	struct stat own, its;

	(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", ns);
	if (stat(path, &own) != 0)
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, ns);
	if (stat(path, &its) != 0)
		fail("its process %d: %s%s", (int)pid, strerror(errno),
		    errno == EACCES || errno == EPERM ?
			"; the server needs to be root, or the user of a "
			"rootless engine" :
			"");
	return own.st_dev != its.st_dev || own.st_ino != its.st_ino;
}

/* Is it the first process of its namespace? A number that is somebody else's by
 * now is not, unless that is a container, too. */
static bool
is_first(pid_t pid)
{
	char text[8192];
	const char *at;
	long n = 0;

	if (procfs_file(pid, "status", text, sizeof(text)) < 0 ||
	    (at = strstr(text, "\nNSpid:")) == NULL)
		return false;
	for (char *end, *p = strchr(at, '\t'); p != NULL && *p == '\t'; p = end)
		n = strtol(p + 1, &end, 10);
	return n == 1;
}

/* Could root in it make a device node? The engine's list of devices holds what is
 * in the container's control group, and not what psup runs in it. */
static bool
makes_devices(pid_t pid)
{
	char text[8192];
	const char *at;

	if (procfs_file(pid, "status", text, sizeof(text)) < 0 ||
	    (at = strstr(text, "\nCapBnd:")) == NULL)
		return true;
	return (strtoull(at + 8, NULL, 16) >> CAP_MKNOD & 1) != 0;
}

/* Would somebody of ours come in? In a child: nobody comes back. */
static void
try_to_enter(int pidfd, int namespaces)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(setns(pidfd, namespaces) == 0 ? 0 : errno & 0x7f);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		fail("it cannot be tried: %s", strerror(errno));
	if (WEXITSTATUS(status) != 0)
		fail("the kernel lets nobody in (%s); the server needs to be "
		     "root, or the user of a rootless engine",
		    strerror(WEXITSTATUS(status)));
}

/* Its number of a process is one of this machine's, then. */
static void
is_here(const char *variable)
{
	const char *where = getenv(variable);

	if (where != NULL && where[0] != '\0' &&
	    strncmp(where, "unix://", 7) != 0)
		fail("%s is %.80s; expected unix://PATH, an engine of this "
		     "machine", variable, where);
}

int
main(int argc, char **argv)
{
	struct procfs_stat st;
	struct pollfd p = {.events = POLLIN};
	char words[80];
	int n, namespaces = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
	    CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
	pid_t pid;

	if (argc != 3)
		return 2;
	engine = argv[1];
	name = argv[2];
	began_ns = clock_boot_ns();
	(void)signal(SIGCHLD, SIG_DFL);
	is_here("DOCKER_HOST");
	is_here("CONTAINER_HOST");
	pid = inspect();
	p.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (p.fd < 0 || procfs_stat(pid, &st) < 0)
		fail("its process %d is gone; is it restarting?", (int)pid);
	if (!has_own(pid, "pid") || !has_own(pid, "mnt") || !is_first(pid))
		fail("process %d is not the first of a container with "
		     "processes and files of its own", (int)pid);
	if (has_own(pid, "user"))
		namespaces |= CLONE_NEWUSER;
	else if (makes_devices(pid))
		fail("root in it may make device nodes, which the engine does "
		     "not keep from psup's commands; make it with --cap-drop "
		     "MKNOD");
	/* said again while we hold it: the number was not somebody else's */
	if (inspect() != pid || poll(&p, 1, 0) != 0)
		fail("it is another process by now; is it restarting?");
	try_to_enter(p.fd, namespaces);
	n = snprintf(words, sizeof(words),
	    "{\"child-pid\": %d, \"start\": %llu}\nR", (int)pid,
	    (unsigned long long)st.start);
	if (write(1, words, (size_t)n) != n)
		return 1;
	while (poll(&p, 1, -1) < 1)
		;
	return 0;
}
