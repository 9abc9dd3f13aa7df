/* SPDX-License-Identifier: MIT */
/*
 * The fault points of a test build. The environment is read at the first
 * point passed; nothing is allocated, a child between clone and exec passes
 * points too. A line that cannot be understood ends the process: a test that
 * tests nothing is worse than one that fails.
 */
#include "fault.h"

#ifdef PSUP_FAULTS

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define FAULT_MAX 16

struct fault {
	char name[64];
	int sig; /* SIGKILL, SIGSTOP or SIGABRT; 0: fail, -1: once */
	unsigned long at;
	unsigned long passes;
};

static struct fault faults[FAULT_MAX];
static size_t fault_count;
static bool fault_loaded;

static const struct {
	const char *word;
	int sig;
} actions[] = {
	{ "kill", SIGKILL },
	{ "stop", SIGSTOP },
	{ "abort", SIGABRT },
	{ "fail", 0 },
	{ "once", -1 },
};

/* One "name=action[@n]" of `len` bytes. */
static bool
fault_parse(const char *s, size_t len, struct fault *ret)
{
	const char *eq = memchr(s, '=', len), *end = s + len, *at;
	size_t i, name_len, word_len;

	if (eq == NULL || eq == s || (size_t)(eq - s) >= sizeof(ret->name))
		return false;
	name_len = (size_t)(eq - s);
	at = memchr(eq, '@', (size_t)(end - eq));
	word_len = (size_t)((at != NULL ? at : end) - (eq + 1));
	for (i = 0; i < NELEMS(actions); i++) {
		if (strlen(actions[i].word) == word_len &&
		    memcmp(actions[i].word, eq + 1, word_len) == 0)
			break;
	}
	if (i == NELEMS(actions))
		return false;
	memset(ret, 0, sizeof(*ret));
	memcpy(ret->name, s, name_len);
	ret->sig = actions[i].sig;
	ret->at = at != NULL ? strtoul(at + 1, NULL, 10) : 1;
	return ret->at > 0;
}

/* Reads the environment variable, once. */
static void
fault_load(void)
{
	const char *s = getenv("PSUP_FAULTS");

	fault_loaded = true;
	while (s != NULL && *s != '\0') {
		size_t len = strcspn(s, ",");

		CHECK(fault_count < FAULT_MAX);
		CHECK(fault_parse(s, len, &faults[fault_count]));
		fault_count++;
		s += len + (s[len] == ',');
	}
}

void
fault_hit(const char *name)
{
	size_t i;

	if (!fault_loaded)
		fault_load();
	for (i = 0; i < fault_count; i++) {
		if (strcmp(faults[i].name, name) != 0 || faults[i].sig <= 0 ||
		    ++faults[i].passes != faults[i].at)
			continue;
		if (faults[i].sig == SIGABRT)
			abort();
		kill(getpid(), faults[i].sig);
	}
}

bool
fault_fails(const char *name)
{
	bool fails = false;
	size_t i;

	if (!fault_loaded)
		fault_load();
	for (i = 0; i < fault_count; i++)
		if (strcmp(faults[i].name, name) == 0 && faults[i].sig <= 0) {
			faults[i].passes++;
			fails |= faults[i].passes == faults[i].at ||
			    (faults[i].sig == 0 &&
			        faults[i].passes > faults[i].at);
		}
	return fails;
}

#endif
