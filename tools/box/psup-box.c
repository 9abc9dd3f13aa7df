/* SPDX-License-Identifier: MIT */
/*
 * pid 1 of a box: says on a descriptor that it is there, adopts and reaps what
 * the box's commands leave behind, and waits to be killed. Static, for the box
 * may show no library that it could load.
 *
 *     psup-box FD
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	char *end;
	int null;
	long fd;

	if (argc != 2)
		return 2;
	fd = strtol(argv[1], &end, 10);
	if (*argv[1] == '\0' || *end != '\0' || fd < 1 || fd > 1023)
		return 2;
	/* a command of the box has the same uid: it must not open this memory,
	 * trace it or take its descriptors */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 ||
	    signal(SIGCHLD, SIG_IGN) == SIG_ERR)
		return 1;
	while (write((int)fd, "R", 1) != 1)
		if (errno != EINTR)
			return 1;
	/* what it was given it must not keep open */
	null = open("/dev/null", O_RDWR);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
	    dup2(null, 2) < 0)
		return 1;
	closefrom(3);
	for (;;)
		(void)pause();
}
