/* SPDX-License-Identifier: MIT */
/* Names of error numbers, for logs and answers. */
#include "err.h"

#include <limits.h>
#include <string.h>

const char *
err_name(int errnum)
{
	const char *name;

	if (errnum == INT_MIN)
		return "E?";
	name = strerrorname_np(errnum < 0 ? -errnum : errnum);
	return name != NULL ? name : "E?";
}
