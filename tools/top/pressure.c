/* SPDX-License-Identifier: MIT */
/* /proc/pressure and /proc/loadavg. Called once a refresh. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "common/kfile.h"
#include "pressure.h"

/* The figure behind the first `after` in a file, or -1. */
static double
figure(const char *path, const char *after)
{
	char text[256], *at;
	double v;

	if (kfile_read(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return -1;
	at = strstr(text, after);
	if (at == NULL || sscanf(at + strlen(after), "%lf", &v) != 1 ||
	    !(v >= 0))
		return -1;
	return v;
}

void
pressure_read(struct pressure *ret)
{
	static const char some[] = "some avg10=";

	ret->cpu = figure("/proc/pressure/cpu", some);
	ret->memory = figure("/proc/pressure/memory", some);
	ret->io = figure("/proc/pressure/io", some);
	ret->load = figure("/proc/loadavg", "");
}
