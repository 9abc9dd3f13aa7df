/* SPDX-License-Identifier: MIT */
/*
 * The fault points of a test build. The environment is read at the first
 * point passed; nothing is allocated, a child between clone and exec passes
 * points too. A line that cannot be understood ends the process: a test that
 * tests nothing is worse than one that fails.
 */
#include "fault.h"

#ifdef PSUP_FAULTS

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

#define FAULT_MAX 16

struct fault {
	char name[64];
	int sig; /* SIGKILL, SIGSTOP or SIGABRT; 0: fail, -1: once */
	unsigned long at;
	bool each; /* at each at-th pass, those of its forks with its own */
	atomic_ulong passes;
	atomic_ulong owed; /* notes of forks that see no such file, in a box */
};

static struct fault own_faults[FAULT_MAX];
static struct fault *faults = own_faults;
static size_t fault_count;
static bool fault_loaded;
static const char *fault_log; /* file of what happened; NULL: none */

/* The points of this program; the linker names both ends. */
extern const char *const __start_fault_names[] __attribute__((weak));
extern const char *const __stop_fault_names[] __attribute__((weak));

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

/* One "name=action[@n[+]]" of `len` bytes. */
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
	ret->each = at != NULL && end[-1] == '+';
	return ret->at > 0;
}

/* One more line, or byte, in a file that many add to; returns its size then.
 * System calls only, and errno as it was. */
static long
fault_add(const char *path, const char *text, size_t len)
{
	int fd, before = errno;
	long size = 0;

	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0) {
		if (write(fd, text, len) == (ssize_t)len)
			size = (long)lseek(fd, 0, SEEK_CUR);
		close(fd);
	}
	errno = before;
	return size;
}

/* Says that a point's time has come. False: it cannot. */
static bool
fault_note(const char *name)
{
	char line[80];
	size_t len = strnlen(name, sizeof(line) - 1);

	if (fault_log == NULL)
		return true;
	memcpy(line, name, len);
	line[len++] = '\n';
	return fault_add(fault_log, line, len) > 0;
}

/* Passes of its forks count with its own from now on: who follows one that died
 * there does not die there, too. */
static void
fault_share(void)
{
	faults = mmap(NULL, sizeof(own_faults), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(faults != MAP_FAILED);
	memcpy(faults, own_faults, sizeof(own_faults));
}

/* The next point of this program in turn: at its 1st pass, in the next round at
 * its 2nd, then its 4th, 8th, and again its 1st. Passes of its forks count with
 * its own: who follows one that died there does not die there, too. */
static void
fault_take_turn(void)
{
	size_t n = (size_t)(__stop_fault_names - __start_fault_names), turn;
	struct fault *f;
	char path[4096];

	CHECK(fault_log != NULL && n > 0);
	fault_share();
	f = &faults[fault_count++];
	CHECK(snprintf(path, sizeof(path), "%s.%s", fault_log,
	          program_invocation_short_name) < (int)sizeof(path));
	turn = (size_t)fault_add(path, ".", 1);
	f->sig = SIGKILL;
	f->at = 1ul << turn / n % 4;
	strncpy(f->name, __start_fault_names[turn % n], sizeof(f->name) - 1);
}

/* Reads the environment variables, once. */
static void
fault_load(void)
{
	const char *s = getenv("PSUP_FAULTS");
	bool each = false;

	fault_loaded = true;
	fault_log = getenv("PSUP_FAULTS_LOG");
	if (s != NULL && s[0] == '~') {
		s = strstr(s, program_invocation_short_name);
		if (s != NULL && s[-1] == '~')
			fault_take_turn();
		return;
	}
	while (s != NULL && *s != '\0') {
		size_t len = strcspn(s, ",");

		CHECK(fault_count < FAULT_MAX);
		CHECK(fault_parse(s, len, &faults[fault_count]));
		each |= faults[fault_count++].each;
		s += len + (s[len] == ',');
	}
	if (each)
		fault_share();
}

/* One pass more: is it the one? */
static bool
fault_is_due(struct fault *f, unsigned long *ret_pass)
{
	*ret_pass = atomic_fetch_add(&f->passes, 1) + 1;
	return f->each ? *ret_pass % f->at == 0 : *ret_pass == f->at;
}

void
fault_hit(const char *name)
{
	unsigned long pass;
	size_t i;

	if (!fault_loaded)
		fault_load();
	for (i = 0; i < fault_count; i++) {
		while (atomic_load(&faults[i].owed) > 0 &&
		    fault_note(faults[i].name))
			atomic_fetch_sub(&faults[i].owed, 1);
		if (strcmp(faults[i].name, name) != 0 || faults[i].sig <= 0 ||
		    !fault_is_due(&faults[i], &pass))
			continue;
		if (!fault_note(name))
			atomic_fetch_add(&faults[i].owed, 1);
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
			unsigned long pass;
			bool due = fault_is_due(&faults[i], &pass);

			if (due)
				(void)fault_note(name);
			fails |= due || (faults[i].sig == 0 &&
			    !faults[i].each && pass > faults[i].at);
		}
	return fails;
}

#endif
