/* SPDX-License-Identifier: MIT */
/*
 * Who has a session's output open (tree.h): by the names of its pipes or its
 * terminal in /proc.
 */
#include "worker/tree.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "worker/procfs.h"

/* The pipes that its output comes through, or its terminal. */
static void
output_names(const struct child *c, struct procfs_links *ret)
{
	struct stat st;
	unsigned pty;
	size_t i;

	ret->count = 0;
	if (c->pty.fd >= 0) {
		if (ioctl(c->pty.fd, TIOCGPTN, &pty) == 0)
			snprintf(ret->name[ret->count++],
			    sizeof(ret->name[0]), "/dev/pts/%u", pty);
		return;
	}
	for (i = 0; i < 2; i++)
		if (c->out[i].fd >= 0 && fstat(c->out[i].fd, &st) == 0)
			snprintf(ret->name[ret->count++],
			    sizeof(ret->name[0]), "pipe:[%ju]",
			    (uintmax_t)st.st_ino);
}

size_t
tree_output_holders(const struct child *c, int32_t *pids, size_t n)
{
	struct procfs_links want;
	size_t i, count = 0;

	output_names(c, &want);
	for (i = 0; want.count > 0 && i < n; i++)
		if (procfs_has_open(pids[i], &want))
			pids[count++] = pids[i];
	return count;
}
