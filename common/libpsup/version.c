/* SPDX-License-Identifier: MIT */
#include <psup/psup.h>

const char *
psup_version(void)
{
	return PSUP_VERSION;
}
