/* SPDX-License-Identifier: MIT */
/* What the session says that makes a box: see boxes.h. Pure. Called by said.c. */
#include <string.h>

#include "supervisor/host/boxes.h"

/* Is pid 1's word the last one in it? The two come in any order, for they are
 * two pipes. */
static bool
is_ready(const char *text, size_t len)
{
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	return len > 0 && text[len - 1] == 'R' &&
	       (len == 1 || text[len - 2] == '\n');
}

/* The number of that name between two places; 0: none, or not below `end`. */
static uint64_t
number_of(const char *open, const char *close, const char *key, uint64_t end)
{
	const char *p = memmem(open, (size_t)(close - open), key, strlen(key));
	uint64_t n = 0;

	if (p == NULL)
		return 0;
	for (p += strlen(key); p < close && *p == ' '; p++)
		;
	for (; p < close && *p >= '0' && *p <= '9' && n < end; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	return n < end ? n : 0;
}

int32_t
maker_parse(const char *text, size_t len, uint64_t *ret_start)
{
	const char *open = memchr(text, '{', len);
	const char *close = open != NULL
				? memchr(open, '}', len - (size_t)(open - text))
				: NULL;
	uint64_t pid;

	*ret_start = 0;
	if (close == NULL ||
	    (!is_ready(text, (size_t)(open - text)) &&
		!is_ready(close + 1, (size_t)(text + len - close - 1))))
		return 0;
	*ret_start = number_of(open, close, "\"start\":", UINT64_MAX / 10);
	pid = number_of(open, close, "\"child-pid\":", (1 << 22) + 1);
	return pid > 1 ? (int32_t)pid : 0;
}
