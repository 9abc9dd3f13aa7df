/* SPDX-License-Identifier: MIT */
/*
 * See login_env.h. Many clients start a server with six variables and no more;
 * what a user's commands need (PATH of version managers, SSH_AUTH_SOCK) is what
 * his shell would have. Its profile may print, so it answers on a descriptor of
 * its own; it may hang, so it has a time.
 */
#include "login_env.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "log.h"

#define ANSWER_FD 3
#define ANSWER_MS 10000
#define ANSWER_BYTES (1u << 20)

/* The strings of a block, one behind the other. */
static char **
list_of(char *block, size_t len)
{
	size_t n = 0;
	char **list;

	for (size_t i = 0; i < len; i++)
		n += block[i] == '\0';
	list = calloc(n + 1, sizeof(*list));
	if (list == NULL)
		return NULL;
	for (size_t i = 0, at = 0; i < n; i++, at += strlen(block + at) + 1)
		list[i] = block + at;
	return list;
}

char **
login_env_own(void)
{
	size_t n = 0;
	char **list;

	while (environ != NULL && environ[n] != NULL)
		n++;
	list = calloc(n + 1, sizeof(*list));
	if (list != NULL && n > 0)
		memcpy(list, environ, n * sizeof(*list));
	return list;
}

/* In the child. */
static void
be_shell(const char *shell, int out)
{
	int null = open("/dev/null", O_RDWR);

	setsid(); /* no terminal: an interactive shell would take it */
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	if (out == ANSWER_FD)
		fcntl(out, F_SETFD, 0);
	else
		dup2(out, ANSWER_FD);
	execl(shell, shell, "-l", "-i", "-c", "env -0 >&3", (char *)NULL);
	_exit(127);
}

/* All that comes until it is closed. false: it took too long, or is no list. */
static bool
read_answer(int fd, char **ret, size_t *ret_len)
{
	uint64_t end = clock_boot_ns() + ANSWER_MS * NSEC_PER_MSEC;
	char *block = malloc(ANSWER_BYTES);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t len = 0;
	ssize_t n = -1;

	while (block != NULL && len < ANSWER_BYTES) {
		uint64_t now = clock_boot_ns();

		if (now >= end ||
		    poll(&p, 1, (int)((end - now) / NSEC_PER_MSEC) + 1) == 0)
			break;
		n = read(fd, block + len, ANSWER_BYTES - len);
		if (n == 0 || (n < 0 && errno != EINTR))
			break;
		len += n > 0 ? (size_t)n : 0;
	}
	if (n == 0 && len > 0 && block[len - 1] == '\0') {
		*ret = block;
		*ret_len = len;
		return true;
	}
	free(block);
	return false;
}

char **
login_env_read(void)
{
	const char *shell = getenv("SHELL");
	char *block = NULL, **list = NULL;
	size_t len = 0;
	int fds[2];
	pid_t pid;

	if (shell == NULL || shell[0] != '/')
		shell = "/bin/sh";
	if (pipe2(fds, O_CLOEXEC) < 0)
		return NULL;
	pid = fork();
	if (pid == 0)
		be_shell(shell, fds[1]);
	close(fds[1]);
	if (pid > 0 && read_answer(fds[0], &block, &len))
		list = list_of(block, len);
	close(fds[0]);
	if (pid > 0) {
		kill(-pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (list == NULL)
		mcp_log("login-env: %s did not tell its environment; commands "
		        "get that of psup-mcp", shell);
	return list;
}
