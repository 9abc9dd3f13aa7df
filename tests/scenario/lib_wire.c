/* SPDX-License-Identifier: MIT */
/* The server's socket without libpsup, for bytes that it would not send. */
#include "lib_scn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

int
raw_connect(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s/sock", runtime_dir());
	expect(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) ==
	        0,
	    "connect: %s", strerror(errno));
	return fd;
}
