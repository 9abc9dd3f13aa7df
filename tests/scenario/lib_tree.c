/* SPDX-License-Identifier: MIT */
/* See lib_tree.h. */
#include "lib_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
pids_of(const char *id, size_t n, pid_t *ret)
{
	int64_t end = now_ms() + SCN_DEADLINE_MS;
	const char *text = "", *p;
	size_t lines = 0, i;

	while (lines < n && now_ms() < end) {
		text = text_of(ask("poll", STR("sessionId", id),
		    INT("since", 0)), "output");
		for (lines = 0, p = text; (p = strchr(p, '\n')) != NULL; p++)
			lines++;
		if (lines < n)
			ask("poll", STR("sessionId", id),
			    INT("timeout", 100));
	}
	expect(lines >= n, "%zu lines", lines);
	for (i = 0, p = text; i < n; i++, p = strchr(p, '\n') + 1) {
		ret[i] = (pid_t)atoi(p);
		expect(ret[i] > 1 && is_alive(ret[i]), "decoy %zu", i);
	}
}

const char *
leave_behind(const char *command, size_t n, pid_t *ret)
{
	const char *id = background(STR("command", command));

	pids_of(id, n, ret);
	expect_ok(ask("write", STR("sessionId", id), STR("data", "\n")));
	await_end(id);
	return id;
}

void
expect_dead(const pid_t *pids, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		expect(!is_alive(pids[i]), "decoy %zu lives", i);
}

/* The worker's own clock says that the ladder was over within grace and a
 * second, whatever the machine is busy with on our side. */
static void
expect_ladder(const struct answer *a, int64_t grace_ms)
{
	const psup_value *ladder = psup_value_get(details(a), "ladder");
	int64_t ms = psup_value_int(psup_value_get(ladder, "ms"), -1);

	expect(ms >= grace_ms && ms <= grace_ms + 1000 + busy_ms(), "%lld ms",
	    (long long)ms);
	expect(psup_value_bool(psup_value_get(ladder, "killed"), false));
}

/* On its way out of the kernel: it runs nothing any more, and control groups
 * no longer list it, but its environment may still be there. */
static bool
is_exiting(const char *pid)
{
	char path[64], text[512], *p;
	unsigned flags = 0;
	bool got;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return true;
	got = fgets(text, sizeof(text), f) != NULL &&
	    (p = strrchr(text, ')')) != NULL &&
	    sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1;
	fclose(f);
	return !got || (flags & 0x4) != 0; /* PF_EXITING */
}

void
mark_of(const char *id, char *ret, size_t size)
{
	const psup_value *rows = psup_value_get(details(ask("list",
	    YES("all"))), "sessions");
	char instance[64] = "";
	size_t i;

	for (i = 0; i < psup_value_count(rows); i++)
		if (psup_get_is(psup_value_at(rows, i), "sessionId", id))
			psup_get_copy(psup_value_at(rows, i), "instanceId",
			    instance, sizeof(instance));
	expect(instance[0] != '\0', "%s is not listed", id);
	snprintf(ret, size, "PSUP_INSTANCE=%s", instance);
}

/* How many living processes have the session's mark in their environment. */
static size_t
marked(const char *id)
{
	char path[64], mark[80], text[65536];
	DIR *d = opendir("/proc");
	size_t count = 0, len;
	struct dirent *e;
	FILE *f;

	expect(d != NULL);
	mark_of(id, mark, sizeof(mark));
	while ((e = readdir(d)) != NULL) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/environ", e->d_name);
		f = fopen(path, "re");
		if (f == NULL)
			continue;
		len = fread(text, 1, sizeof(text), f);
		fclose(f);
		count += memmem(text, len, mark, strlen(mark) + 1) != NULL &&
		    !is_exiting(e->d_name);
	}
	closedir(d);
	return count;
}

/* A kill says how it went where that is known in time; where the worker got no
 * processor for long, the session says so at its end. */
static const struct answer *
told_at_the_end(const struct answer *a)
{
	if (psup_value_get(details(a), "ladder") != NULL)
		return a;
	expect_text(a, "Termination requested");
	await_end(id_of(a));
	return ask("poll", STR("sessionId", id_of(a)));
}

void
expect_nobody_left(const struct answer *a, int64_t grace_ms)
{
	const psup_value *pids;
	const char *id = id_of(a);
	size_t i, named;
	int64_t left;

	a = told_at_the_end(a);
	pids = psup_value_get(details(a), "remainingPids");
	left = number_of(a, "remaining");
	named = psup_value_count(pids);
	expect_ladder(a, grace_ms);
	if (left == 0) {
		expect(named == 0);
		expect(marked(id) == 0, "%zu of %s live", marked(id), id);
		return;
	}
	expect(psup_value_int(psup_value_get(psup_value_get(details(a),
	           "ladder"), "ms"), 0) >= grace_ms + 1000);
	expect((int64_t)named == (left < 16 ? left : 16), "%zu of %lld",
	    named, (long long)left);
	for (i = 0; i < named; i++)
		await_gone((pid_t)psup_value_int(psup_value_at(pids, i), 0));
}

void
await_nobody_left(const struct answer *a, int64_t grace_ms)
{
	int64_t end = now_ms() + SCN_DEADLINE_MS, left;
	const char *id = id_of(a);

	expect_nobody_left(a, grace_ms);
	while ((left = number_of(ask("poll", STR("sessionId", id)),
	            "remaining")) > 0) {
		expect(now_ms() < end, "%lld remain", (long long)left);
		usleep(1000);
	}
	expect(left == 0 && marked(id) == 0, "%zu of %s live", marked(id),
	    id);
}
