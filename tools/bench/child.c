/* SPDX-License-Identifier: MIT */
/* psup-bench as a child of what it measures: the writer and the stamp. Started
 * as `psup-bench --child ...`; does nothing else. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes TOTAL bytes in writes of BLOCK. */
static int
write_blocks(size_t block, uint64_t total)
{
	char *buf = malloc(block);

	if (buf == NULL || block == 0) {
		free(buf);
		return 1;
	}
	memset(buf, 'x', block);
	buf[block - 1] = '\n';
	while (total > 0) {
		size_t want = total < block ? (size_t)total : block;
		ssize_t n = write(STDOUT_FILENO, buf, want);

		if (n <= 0)
			break;
		total -= (uint64_t)n;
	}
	free(buf);
	return total > 0;
}

int
child_main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[0], "write") == 0)
		return write_blocks(strtoull(argv[1], NULL, 10),
		    strtoull(argv[2], NULL, 10));
	if (argc == 1 && strcmp(argv[0], "stamp") == 0) {
		/* The last thing it does: when is that? */
		char text[32];
		int n = snprintf(text, sizeof(text), "%llu\n",
		    (unsigned long long)clock_boot_ns());

		if (write(STDOUT_FILENO, text, (size_t)n) != n)
			return 1;
		_exit(0);
	}
	return 2;
}
