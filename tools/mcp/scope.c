/* SPDX-License-Identifier: MIT */
/* See scope.h. Called by surroundings.c. */
#include "scope.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define FOLDER_BYTES 20

/* FNV-1a */
static uint64_t
hash(const char *s)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *s != '\0'; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3u;
	return h;
}

void
scope_of_folder(const char *path, char ret[SCOPE_SIZE])
{
	const char *slash = strrchr(path, '/');
	const char *folder = slash != NULL ? slash + 1 : path;
	char shown[FOLDER_BYTES + 1];
	size_t n;

	/* for people to read: the hash tells folders apart */
	for (n = 0; n < FOLDER_BYTES && folder[n] != '\0'; n++)
		shown[n] = isalnum((unsigned char)folder[n]) ||
			strchr("-_.", folder[n]) != NULL
		    ? folder[n]
		    : '_';
	shown[n] = '\0';
	snprintf(ret, SCOPE_SIZE, "mcp:%s:%016llx", shown,
	    (unsigned long long)hash(path));
}

bool
scope_is_project(const char *path, const char *home)
{
	return strcmp(path, "/") != 0 &&
	    (home == NULL || strcmp(path, home) != 0);
}
