/* SPDX-License-Identifier: MIT */
/* Limits of psup exec: --limit. Called by cmd_exec.c. */
#include <stdio.h>
#include <string.h>

#include "exec_limits.h"

#define LIMIT_NAMES                                                            \
	"memoryBytes|pids|cpuSeconds|fileSizeBytes|openFiles|nice"

static const struct limit {
	const char *name;
	enum { LIMIT_SIZE, LIMIT_SECONDS, LIMIT_COUNT } unit;
	int64_t min, max;
} known[] = {
#define LIMIT(id, name, unit, min, max, expected) {name, LIMIT_##unit, min, max},
#include "common/limit.def"
};
_Static_assert(sizeof(known) / sizeof(known[0]) <= EXEC_LIMITS_MAX,
    "each has its place");

/* The one of this name, or NULL. */
static const struct limit *
limit_find(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].name) == len &&
		    memcmp(known[i].name, name, len) == 0)
			return &known[i];
	return NULL;
}

/* A size, a time or a count. */
static int64_t
limit_value(struct usage *u, const struct limit *l, const char *text)
{
	char option[48];

	snprintf(option, sizeof(option), "--limit %s", l->name);
	if (l->unit == LIMIT_SIZE)
		return usage_size(u, option, text, l->min, l->max);
	if (l->unit == LIMIT_SECONDS)
		return (int64_t)usage_duration(u, option, text, 1000,
		    (double)l->min * 1000, (double)l->max * 1000) / 1000;
	return usage_number(u, option, text, l->min, l->max);
}

void
exec_limits_take(struct usage *u, const char *option, const char *text,
    void *into)
{
	struct exec_limits *limits = into;
	const char *eq = strchr(text, '=');
	const struct limit *l;
	char name[41];
	size_t i = 0;

	if (eq == NULL || eq == text) {
		usage_wrong(u, "%s: \"%.40s\" is not NAME=NUMBER", option,
		    text);
		return;
	}
	l = limit_find(text, (size_t)(eq - text));
	if (l == NULL) {
		snprintf(name, sizeof(name), "%.*s", (int)(eq - text), text);
		usage_no_word(u, "a limit", name, LIMIT_NAMES);
		return;
	}
	while (i < limits->count && limits->v[i].name != l->name)
		i++; /* of its name the last one counts */
	limits->v[i].name = l->name;
	limits->v[i].value = limit_value(u, l, eq + 1);
	limits->count += i == limits->count;
}

void
exec_limits_args(const struct exec_limits *limits, psup_args *a)
{
	if (limits->count == 0)
		return;
	psup_args_map_begin(a, "limits");
	for (size_t i = 0; i < limits->count; i++)
		psup_args_int(a, limits->v[i].name, limits->v[i].value);
	psup_args_map_end(a);
}
