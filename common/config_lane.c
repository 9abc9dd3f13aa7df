/* SPDX-License-Identifier: MIT */
/*
 * Lanes and the groups they share, as psup.conf has them. Called by config.c
 * for every section that its table does not know.
 */
#include "config_lane.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config_options.h"
#include "limit.h"

#define LIMITS "limits."

enum { KEY_WIDTH, KEY_QUEUE, KEY_RESERVE, KEY_PRIORITY, KEY_COUNT };
static const struct {
	const char *name;
	int64_t min, max;
} keys[KEY_COUNT] = {
	[KEY_WIDTH] = { "width", 1, 100000 },
	[KEY_QUEUE] = { "queue", 0, 10000000 },
	[KEY_RESERVE] = { "reserve", 0, 100000 },
	[KEY_PRIORITY] = { "priority", -1, 1 },
};

void *
config_row(void *rows, size_t size, uint32_t *count, uint32_t most,
    const char *name, size_t len)
{
	char *row = rows;

	for (uint32_t i = 0; i < *count; i++, row += size)
		if (strncmp(row, name, len) == 0 && row[len] == '\0')
			return row;
	if (*count == most)
		return NULL;
	++*count;
	memset(row, 0, size);
	memcpy(row, name, len);
	return row;
}

struct config_lane *
config_get_lane(struct config *c, const char *name, size_t len)
{
	struct config_lane *lane = config_row(c->lanes, sizeof(*lane),
	    &c->lane_count, CONFIG_LANES, name, len);

	if (lane != NULL && lane->width == 0) { /* it is new */
		lane->width = 1;
		lane->queue = 100000;
	}
	return lane;
}

const struct config_lane *
config_lane_for(const struct config *c, const char *name)
{
	const struct config_lane *best = NULL;
	size_t best_len = 0;

	for (uint32_t i = 0; i < c->lane_count; i++) {
		const struct config_lane *l = &c->lanes[i];
		size_t len = strlen(l->name);

		if (strcmp(l->name, name) == 0 && l->name[len - 1] != '*')
			return l;
		if (l->name[len - 1] == '*' && len > best_len &&
		    strncmp(l->name, name, len - 1) == 0) {
			best = l;
			best_len = len;
		}
	}
	return best;
}

/* Is it a name of 1 to 31 printable characters without blanks and quotes? */
static bool
is_name(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (name[i] <= ' ' || name[i] > '~' || name[i] == '"')
			return false;
	}
	return len > 0 && len < sizeof(((struct config_lane *)NULL)->name);
}

/* The name within `lane "name"`, where `what` is lane; else NULL. */
static const char *
name_in(const char *section, const char *what, size_t *ret_len)
{
	size_t len = strlen(section), w = strlen(what);

	if (len < w + 3 || strncmp(section, what, w) != 0 ||
	    section[w] != ' ' || section[w + 1] != '"' ||
	    section[len - 1] != '"')
		return NULL;
	*ret_len = len - w - 3;
	return is_name(section + w + 2, *ret_len) ? section + w + 2 : NULL;
}

/* A number in its range, by its name perhaps with a unit. */
static int
take_number(const char *name, const char *value, int64_t min, int64_t max,
    int64_t *ret, char why[CONFIG_WHY])
{
	if (config_parse_amount(name, value, ret) && *ret >= min && *ret <= max)
		return 0;
	return config_refuse(why, "\"%.80s\" is no number from %lld to %lld",
	    value, (long long)min, (long long)max);
}

/* limits.NAME of a lane, or NAME of all. */
static int
set_limit(struct config_limits *limits, const char *name, const char *value,
    char why[CONFIG_WHY])
{
	unsigned which = limit_find(name, strlen(name));
	int64_t v;
	int error;

	if (which == CTL_LIMITS)
		return config_refuse(why, "no such limit; expected "
		    "memoryBytes, pids, cpuSeconds, fileSizeBytes, openFiles "
		    "or nice, in [limits] start_ms, too");
	error = take_number(name, value, limit_rows[which].min,
	    limit_rows[which].max, &v, why);
	if (error < 0)
		return error;
	limits->mask |= 1u << which;
	limits->value[which] = v;
	return 0;
}

/* The group a lane shares. */
static int
set_group_of(struct config_lane *lane, const char *value, unsigned line,
    char why[CONFIG_WHY])
{
	size_t len = strlen(value);

	if (!is_name(value, len))
		return config_refuse(why, "\"%.80s\" is no group's name; "
		    "expected 1 to 31 printable characters without blanks and "
		    "quotes", value);
	memset(lane->group, 0, sizeof(lane->group));
	memcpy(lane->group, value, len);
	lane->group_line = line;
	return 0;
}

/* One setting of a lane. */
static int
set_key(struct config_lane *lane, const char *name, const char *value,
    unsigned line, char why[CONFIG_WHY])
{
	int64_t v;
	size_t i;

	if (strcmp(name, "group") == 0)
		return set_group_of(lane, value, line, why);
	if (strncmp(name, LIMITS, sizeof(LIMITS) - 1) == 0)
		return set_limit(&lane->limits, name + sizeof(LIMITS) - 1,
		    value, why);
	for (i = 0; i < KEY_COUNT && strcmp(keys[i].name, name) != 0; i++)
		;
	if (i == KEY_COUNT)
		return config_refuse(why, "no such setting; expected width or "
		    "queue, or group, reserve, priority or limits.NAME");
	if (take_number(name, value, keys[i].min, keys[i].max, &v, why) < 0)
		return -EINVAL;
	if (i == KEY_WIDTH) {
		lane->width = (uint32_t)v;
	} else if (i == KEY_QUEUE) {
		lane->queue = (uint32_t)v;
	} else if (i == KEY_PRIORITY) {
		lane->priority = (int)v;
	} else {
		lane->reserve = (uint32_t)v;
		lane->reserve_line = line;
	}
	return 0;
}

/* The group of that name, or NULL. */
static const struct config_group *
find_group(const struct config *c, const char *name)
{
	for (uint32_t i = 0; i < c->group_count; i++)
		if (strcmp(c->groups[i].name, name) == 0)
			return &c->groups[i];
	return NULL;
}

/* The width of a group. */
static int
set_group(struct config *c, const char *group, size_t len, const char *name,
    const char *value, char why[CONFIG_WHY])
{
	struct config_group *g;
	int64_t v;

	if (strcmp(name, "width") != 0)
		return config_refuse(why, "no such setting; expected width");
	if (take_number(name, value, 1, 1000000, &v, why) < 0)
		return -EINVAL;
	g = config_row(c->groups, sizeof(*g), &c->group_count, CONFIG_GROUPS,
	    group, len);
	if (g == NULL)
		return config_refuse(why, "more than %d groups", CONFIG_GROUPS);
	g->width = (uint32_t)v;
	return 0;
}

int
config_set_lane(struct config *c, const char *section, const char *name,
    const char *value, unsigned line, char why[CONFIG_WHY])
{
	struct config_lane *lane, made;
	const char *text;
	size_t len;
	int error;

	if (strcmp(section, "limits") == 0)
		return set_limit(&c->limits, name, value, why);
	text = name_in(section, "group", &len);
	if (text != NULL)
		return set_group(c, text, len, name, value, why);
	text = name_in(section, "lane", &len);
	if (text == NULL)
		return config_refuse(why, "no such section; expected exec, "
		    "retain, spill, server, scope, pressure, limits, or lane "
		    "\"NAME\" or group \"NAME\" with a name of 1 to 31 "
		    "printable characters without blanks and quotes");
	memset(&made, 0, sizeof(made));
	error = set_key(&made, name, value, line, why);
	if (error < 0)
		return error;
	lane = config_get_lane(c, text, len);
	if (lane == NULL)
		return config_refuse(why, "more than %d lanes", CONFIG_LANES);
	return set_key(lane, name, value, line, why);
}

/* What the lanes of a group other than `but` reserve of it, up to and with
 * lane number `n`. */
static uint64_t
reserved(const struct config *c, const char *group, size_t n,
    const struct config_lane *but)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < c->lane_count && i <= n; i++)
		if (&c->lanes[i] != but &&
		    strcmp(c->lanes[i].group, group) == 0)
			sum += c->lanes[i].reserve;
	return sum;
}

/* A lane and its reservation, by itself. */
static int
check_reserve(const struct config_lane *l, char why[CONFIG_WHY])
{
	if (l->reserve == 0)
		return 0;
	if (l->group[0] == '\0')
		return config_refuse(why, "the lane is in no group; expected "
		    "group = NAME beside it");
	if (l->name[strlen(l->name) - 1] == '*')
		return config_refuse(why, "a pattern stands for any number of "
		    "lanes and cannot reserve");
	if (l->reserve > l->width)
		return config_refuse(why, "%u is more than the lane's width, "
		    "%u", (unsigned)l->reserve, (unsigned)l->width);
	return 0;
}

/* A lane within its group. */
static int
check_lane(const struct config *c, size_t n, struct config_place *at,
    char why[CONFIG_WHY])
{
	const struct config_lane *l = &c->lanes[n];
	const struct config_group *g = find_group(c, l->group);
	uint64_t sum;

	at->line = l->reserve_line;
	at->name = "reserve";
	if (check_reserve(l, why) < 0)
		return -EINVAL;
	if (l->group[0] == '\0')
		return 0;
	sum = reserved(c, l->group, n, NULL);
	if (g != NULL && l->reserve > 0 && sum > g->width)
		return config_refuse(why, "with this one %llu are reserved of "
		    "group \"%s\", whose width is %u", (unsigned long long)sum,
		    g->name, (unsigned)g->width);
	at->line = l->group_line;
	at->name = "group";
	if (g == NULL)
		return config_refuse(why, "there is no group \"%s\"; expected "
		    "a section [group \"%s\"] with a width", l->group,
		    l->group);
	sum = reserved(c, l->group, c->lane_count, l);
	if (l->reserve == 0 && sum >= g->width)
		return config_refuse(why, "nothing is left for it: other lanes "
		    "reserve %llu of group \"%s\", whose width is %u",
		    (unsigned long long)sum, g->name, (unsigned)g->width);
	return 0;
}

int
config_check_lanes(const struct config *c, struct config_place *ret,
    char why[CONFIG_WHY])
{
	for (uint32_t i = 0; i < c->lane_count; i++) {
		int error = check_lane(c, i, ret, why);

		if (error == 0)
			continue;
		(void)snprintf(ret->section, sizeof(ret->section),
		    "lane \"%s\"", c->lanes[i].name);
		return error;
	}
	return 0;
}
