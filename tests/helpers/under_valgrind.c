/* SPDX-License-Identifier: MIT */
/*
 * A copy of this in a --libexec directory, called psup-master, runs
 * real/psup-master beside it under valgrind: the keeper executes programs by
 * descriptors, which a script cannot be. Logs are put beside it, too
 * (tests/long/descriptors).
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int
main(void)
{
	static char exe[PATH_MAX], real[PATH_MAX + 100], log[PATH_MAX + 100];
	const char *name;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n <= 0)
		return 2;
	exe[n] = '\0';
	name = strrchr(exe, '/') + 1;
	exe[name - exe - 1] = '\0';
	snprintf(log, sizeof(log), "--log-file=%s/%s.%%p.log", exe, name);
	snprintf(real, sizeof(real), "%s/real/%s", exe, name);
	execlp("valgrind", "valgrind", "--track-fds=yes", "--leak-check=full",
	    "--errors-for-leak-kinds=definite", "--error-exitcode=99", log,
	    real, (char *)NULL);
	return 2;
}
