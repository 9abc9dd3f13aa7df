/* SPDX-License-Identifier: MIT */
/* Reads memory pressure. Called by gate.c, and only where a bound on it is
 * configured, or status asks. */
#include "supervisor/gate/psi.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Digits, at most five of them. */
static const char *
take_digits(const char *s, unsigned max, uint32_t *ret, unsigned *ret_count)
{
	*ret = 0;
	for (*ret_count = 0; *s >= '0' && *s <= '9' && *ret_count < max;
	     s++, (*ret_count)++)
		*ret = *ret * 10 + (uint32_t)(*s - '0');
	return s;
}

int
psi_parse(const char *text, uint32_t *ret_centi)
{
	const char *s = strstr(text, "some avg10=");
	uint32_t whole, part;
	unsigned n;

	if (s == NULL || (s != text && s[-1] != '\n'))
		return -EBADMSG;
	s = take_digits(s + 11, 5, &whole, &n);
	if (n == 0 || *s != '.')
		return -EBADMSG;
	(void)take_digits(s + 1, 2, &part, &n);
	if (n == 0)
		return -EBADMSG;
	*ret_centi = whole * 100 + (n == 1 ? part * 10 : part);
	return 0;
}

int
psi_read(const char *path, uint32_t *ret_centi)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char text[256];
	ssize_t n;
	int e;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	e = errno;
	close(fd);
	if (n < 0)
		return -e;
	text[n] = '\0';
	return psi_parse(text, ret_centi);
}
