/* SPDX-License-Identifier: MIT */
/* Pages of the index, as a file that was damaged has them: the walk ends, and
 * stays inside. A short input stands in the pages of a larger file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "shm/index_walk.h"

#define PAGES_MAX 64u

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const name[] = {"meta", "sessions", "specs",
	    "cursors", "events", "subs", "keys", "tokens", "drains"};
	static const struct index_names names = {
	    name, sizeof(name) / sizeof(name[0])};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t pages = (size + page - 1) / page;
	unsigned char *map;
	int r;

	if (pages == 0 || pages > PAGES_MAX)
		return 0;
	map = calloc(pages, page); /* to the byte: the sanitizer looks on */
	EXPECT(map != NULL);
	memcpy(map, data, size);
	r = index_walk(map, pages * page, 1ull << 30, &names);
	EXPECT(r == 0 || r == -EBADMSG);
	free(map);
	return 0;
}
