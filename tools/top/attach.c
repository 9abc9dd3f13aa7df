/* SPDX-License-Identifier: MIT */
/* A person sits down at a session's terminal: see attach.h. Called by
 * display.c. */
#include "attach.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* psup beside this program, or "psup". */
static void
find_psup(char *dst, size_t size)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	snprintf(dst, size, "psup");
	if (n <= 0)
		return;
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (slash == NULL)
		return;
	*slash = '\0';
	if (snprintf(dst, size, "%s/psup", self) >= (int)size ||
	    access(dst, X_OK) < 0)
		snprintf(dst, size, "psup");
}

void
attach_run(const char *runtime_dir, const char *session, char *ret_said,
    size_t size)
{
	void (*intr)(int) = signal(SIGINT, SIG_IGN);
	char psup[PATH_MAX];
	int status = 0;
	pid_t pid;

	find_psup(psup, sizeof(psup));
	pid = fork();
	if (pid == 0) {
		signal(SIGINT, SIG_DFL);
		signal(SIGPIPE, SIG_DFL);
		if (runtime_dir != NULL)
			setenv("PSUP_RUNTIME_DIR", runtime_dir, 1);
		execlp(psup, "psup", "attach", "--", session, (char *)NULL);
		fprintf(stderr, "psup-top: %s: %s\n", psup, strerror(errno));
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	signal(SIGINT, intr);
	if (pid < 0)
		snprintf(ret_said, size, "attach: %s", strerror(errno));
	else if (WIFSIGNALED(status))
		snprintf(ret_said, size, "attach ended by signal %d",
		    WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		snprintf(ret_said, size, "attach ended with exit code %d",
		    WEXITSTATUS(status));
	else
		snprintf(ret_said, size, "detached");
}
