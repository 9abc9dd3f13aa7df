/* SPDX-License-Identifier: MIT */
/*
 * Starting a server from a client: finds psupd, runs `psupd --detach` with an
 * allow-listed environment and nothing else of ours, and waits until it says
 * that it serves. Called by psup_connect() where options.start is set.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/envpolicy.h"
#include "internal.h"

#define START_MS       20000
#define EXIT_RUNS      75 /* EX_TEMPFAIL: a server has the directory already */
#define SAID_BYTES     480
#define ENVIRON_MAX    256

/* What a server is started with beside the basics: its settings. */
static const char *const passed[] = {
	"PSUP_", "OPENCLAW_BASH_", "PI_BASH_", "CLAWDBOT_BASH_",
	"OPENCLAW_PROCESS_INPUT_WAIT_IDLE_MS=",
	"OPENCLAW_CHILD_OOM_SCORE_ADJ=", "XDG_CONFIG_HOME=",
};

int
resolve_dir(struct psup *p, const struct psup_options *o,
    char ret_dir[RUNDIR_PATH_MAX])
{
	int rc;

	if (o->runtime_dir == NULL) {
		rc = rundir_default(ret_dir);
		if (rc < 0)
			return error_set(p, PSUP_ERR_SYSTEM, "system", "",
			    "the runtime directory's name is %s",
			    rc == -ENAMETOOLONG ? "too long for a socket"
			                        : "not absolute");
		return PSUP_OK;
	}
	if (o->runtime_dir[0] != '/')
		return error_set(p, PSUP_ERR_SYSTEM, "system", "",
		    "%.200s: the runtime directory's name is not absolute",
		    o->runtime_dir);
	if (strlen(o->runtime_dir) >= RUNDIR_PATH_MAX - sizeof("/sock"))
		return error_set(p, PSUP_ERR_SYSTEM, "system", "",
		    "%.200s: the runtime directory's name is too long for a "
		    "socket", o->runtime_dir);
	snprintf(ret_dir, RUNDIR_PATH_MAX, "%s", o->runtime_dir);
	return PSUP_OK;
}

/* Is there a program at dir/name? Its path is left in ret. */
static bool
program_at(const char *dir, size_t len, const char *name, char ret[PATH_MAX])
{
	char path[PATH_MAX];
	int n;

	if (len == 0 || len > PATH_MAX - 32)
		return false;
	n = snprintf(path, sizeof(path), "%.*s/%s", (int)len, dir, name);
	if (n < 0 || (size_t)n >= sizeof(path) || access(path, X_OK) != 0)
		return false;
	memcpy(ret, path, (size_t)n + 1);
	return true;
}

/* Finds psupd: named, beside the calling program, in ../sbin, in PATH. */
static int
find_psupd(struct psup *p, const struct psup_options *o, char ret[PATH_MAX])
{
	const char *named = o->psupd != NULL ? o->psupd : getenv("PSUP_PSUPD");
	const char *path = getenv("PATH");
	char self[PATH_MAX];
	const char *slash;
	ssize_t n;

	if (named != NULL && named[0] != '\0') {
		snprintf(ret, PATH_MAX, "%s", named);
		return PSUP_OK;
	}
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash != NULL &&
	    (program_at(self, (size_t)(slash - self), "psupd", ret) ||
	        program_at(self, (size_t)(slash - self), "../sbin/psupd", ret)))
		return PSUP_OK;
	while (path != NULL && *path != '\0') {
		size_t len = strcspn(path, ":");

		if (*path == '/' && program_at(path, len, "psupd", ret))
			return PSUP_OK;
		path += len + (path[len] == ':');
	}
	return error_set(p, PSUP_ERR_SYSTEM, "system", "",
	    "psupd was not found beside this program, in ../sbin or in PATH; "
	    "$PSUP_PSUPD may name it");
}

/* May the server see this variable of ours? */
static bool
environ_allowed(const char *var)
{
	if (strncmp(var, "PSUP_RUNTIME_DIR=", 17) == 0)
		return false; /* given below */
	if (strncmp(var, "PSUP_TOKEN_FILE=", 16) == 0 ||
	    strncmp(var, "PSUP_SERVER_USER=", 17) == 0 ||
	    strncmp(var, "PSUP_SCOPE=", 11) == 0)
		return false; /* the client's own */
	if (env_is_basic(var, strcspn(var, "=")))
		return true;
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		if (strncmp(var, passed[i], strlen(passed[i])) == 0)
			return true;
	return false;
}

/* Runs the program; stderr comes back by a pipe. */
static int
spawn_psupd(struct psup *p, const char *path, pid_t *ret_pid, int *ret_said)
{
	char dir[RUNDIR_PATH_MAX + 20], *envp[ENVIRON_MAX];
	char arg0[] = "psupd", arg1[] = "--detach";
	char *const argv[] = {arg0, arg1, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	size_t n = 0;
	int said[2], rc;

	snprintf(dir, sizeof(dir), "PSUP_RUNTIME_DIR=%s", p->runtime_dir);
	envp[n++] = dir;
	for (char **v = environ; v != NULL && *v != NULL; v++)
		if (n < ENVIRON_MAX - 1 && environ_allowed(*v))
			envp[n++] = *v;
	envp[n] = NULL;
	if (pipe2(said, O_CLOEXEC) < 0)
		return error_errno(p, errno, "pipe");
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, said[1], 2);
	posix_spawn_file_actions_addclosefrom_np(&actions, 3);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr,
	    POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	rc = posix_spawn(ret_pid, path, &actions, &attr, argv, envp);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	close(said[1]);
	if (rc != 0) {
		close(said[0]);
		return error_errno(p, rc, path);
	}
	*ret_said = said[0];
	return PSUP_OK;
}

/* Collects what the starter says until it has ended. 0, or -ETIMEDOUT. */
static int
await_starter(pid_t pid, int pidfd, int said_fd, char said[SAID_BYTES],
    int *ret_status)
{
	uint64_t deadline = clock_boot_ns() + START_MS * NSEC_PER_MSEC;
	struct pollfd pfd[2] = {{.fd = said_fd, .events = POLLIN},
	    {.fd = pidfd, .events = POLLIN}};
	char waste[512];
	size_t len = 0;
	ssize_t n;

	said[0] = '\0';
	for (;;) {
		uint64_t now = clock_boot_ns();

		if (now >= deadline)
			return -ETIMEDOUT;
		if (poll(pfd, 2, (int)((deadline - now) / NSEC_PER_MSEC) + 1) <
		    0)
			continue; /* EINTR */
		if (pfd[0].fd >= 0 && pfd[0].revents != 0) {
			n = len < SAID_BYTES - 1
			    ? read(said_fd, said + len, SAID_BYTES - 1 - len)
			    : read(said_fd, waste, sizeof(waste));
			if (n > 0 && len < SAID_BYTES - 1)
				len += (size_t)n;
			said[len] = '\0';
			if (n <= 0)
				pfd[0].fd = -1;
			continue;
		}
		if (pfd[1].revents != 0 &&
		    waitpid(pid, ret_status, WNOHANG) == pid)
			return 0;
	}
}

/* What the starter's end means. */
static int
judge_starter(struct psup *p, const char *path, int status, char *said)
{
	size_t len = strlen(said);

	while (len > 0 && said[len - 1] == '\n')
		said[--len] = '\0';
	if (WIFEXITED(status) &&
	    (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == EXIT_RUNS))
		return PSUP_OK;
	if (WIFEXITED(status))
		return error_set(p, PSUP_ERR_SYSTEM, "system", "",
		    "%.120s --detach failed with exit code %d%s%s", path,
		    WEXITSTATUS(status), len > 0 ? ": " : "", said);
	return error_set(p, PSUP_ERR_SYSTEM, "system", "",
	    "%.120s --detach was ended by signal %d%s%s", path,
	    WTERMSIG(status), len > 0 ? ": " : "", said);
}

int
psup_start_server(struct psup *p, const struct psup_options *o)
{
	struct psup_options defaults = PSUP_OPTIONS_INIT;
	char path[PATH_MAX] = "", said[SAID_BYTES] = "";
	int said_fd = -1, pidfd, status = 0, rc;
	pid_t pid = -1;

	if (o == NULL)
		o = &defaults;
	rc = resolve_dir(p, o, p->runtime_dir);
	if (rc == PSUP_OK)
		rc = find_psupd(p, o, path);
	if (rc == PSUP_OK)
		rc = spawn_psupd(p, path, &pid, &said_fd);
	if (rc != PSUP_OK)
		return rc;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	rc = pidfd < 0 ? -errno
	               : await_starter(pid, pidfd, said_fd, said, &status);
	if (rc < 0) {
		kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			continue;
		rc = rc == -ETIMEDOUT
		    ? error_set(p, PSUP_ERR_TIMEOUT, "timeout", "",
		          "%.120s --detach was not ready after %d s", path,
		          START_MS / 1000)
		    : error_errno(p, -rc, "pidfd_open");
	} else {
		rc = judge_starter(p, path, status, said);
	}
	if (pidfd >= 0)
		close(pidfd);
	close(said_fd);
	return rc;
}
