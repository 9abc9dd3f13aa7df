/* SPDX-License-Identifier: MIT */
/* Reads memory pressure. Called by gate.c, and only where a bound on it is
 * configured, or status asks. */
#include "supervisor/gate/psi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kfile.h"

int
psi_parse(const char *text, uint32_t *ret_centi)
{
	const char *s = strstr(text, "some avg10=");
	char whole[6], part[3];

	if (s == NULL || (s != text && s[-1] != '\n') ||
	    sscanf(s, "some avg10=%5[0-9].%2[0-9]", whole, part) != 2)
		return -EBADMSG;
	*ret_centi = (uint32_t)(strtoul(whole, NULL, 10) * 100 +
	    strtoul(part, NULL, 10) * (part[1] == '\0' ? 10 : 1));
	return 0;
}

int
psi_read(const char *path, uint32_t *ret_centi)
{
	char text[256];
	ssize_t n = kfile_read(AT_FDCWD, path, text, sizeof(text));

	return n < 0 ? (int)n : psi_parse(text, ret_centi);
}
