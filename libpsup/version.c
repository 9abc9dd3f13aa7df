/* SPDX-License-Identifier: MIT */
/* The library's version. */
#include <psup/psup.h>

const char *
psup_version(void)
{
	return PSUP_VERSION;
}
