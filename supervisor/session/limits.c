/* SPDX-License-Identifier: MIT */
/*
 * What limits a session has. Called by api/exec.c for a new session, and by
 * words/ for what is told about it.
 */
#include "supervisor/session/limits.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/limit.h"

/* The words for what holds a command to a limit. */
const char *
limits_by(const struct heritage *h, enum ctl_limit which)
{
	static const char *const words[] = {
	    [HERITAGE_BY_NOTHING] = NULL,
	    [HERITAGE_BY_RLIMIT] = "rlimit",
	    [HERITAGE_BY_V1] = "cgroup-v1",
	    [HERITAGE_BY_TREE] = "cgroup-v2",
	};
	enum heritage_by by = heritage_limit_by(h, which);

	if (by == HERITAGE_BY_TREE && (h->flags & HERITAGE_TREE_V2) == 0)
		return "cgroup-v1";
	return words[by];
}

/* Can this user set it at all? */
static int
can_be_met(const struct heritage *h, unsigned which, int64_t v,
    struct proto_problem *why)
{
	struct rlimit rl;

	if (limits_by(h, (enum ctl_limit)which) == NULL)
		return proto_problem_set(why, PROTO_E_UNSUPPORTED,
		    "limits.pids",
		    "limits.pids: no control group can count processes here; "
		    "the limit of the system is one per user, not per "
		    "session");
	if (which == CTL_LIMIT_NICE && v < 0 && geteuid() != 0)
		return proto_problem_set(why, PROTO_E_UNSUPPORTED,
		    "limits.nice", "limits.nice: below 0 is for root");
	if (which == CTL_LIMIT_NOFILE &&
	    getrlimit(RLIMIT_NOFILE, &rl) == 0 && (uint64_t)v > rl.rlim_max)
		return proto_problem_set(why, PROTO_E_UNSUPPORTED,
		    "limits.openFiles",
		    "limits.openFiles: the server itself may open %llu at "
		    "most",
		    (unsigned long long)rl.rlim_max);
	return 0;
}

/* A whole number of either sign. */
static bool
to_int(const struct val *v, int64_t *ret)
{
	if (v->type == VAL_INT)
		*ret = v->i;
	else if (v->type == VAL_UINT && v->u <= INT64_MAX)
		*ret = (int64_t)v->u;
	else
		return false;
	return true;
}

/* One key and its value. */
static int
take_one(const struct heritage *h, const struct val *key, const struct val *val,
    struct session_limits *l, struct proto_problem *why)
{
	unsigned i = limit_find(key->s.ptr, key->s.len);
	char field[64];
	int64_t v;

	if (i == CTL_LIMITS)
		return proto_problem_set(why, PROTO_E_INVALID_PARAMS, "limits",
		    "limits: there is no limit named %.*s; there are "
		    "memoryBytes, pids, cpuSeconds, fileSizeBytes, openFiles, "
		    "nice",
		    (int)(key->s.len < 64 ? key->s.len : 64), key->s.ptr);
	if (!to_int(val, &v) || v < limit_rows[i].min ||
	    v > limit_rows[i].max) {
		snprintf(field, sizeof(field), "limits.%s", limit_rows[i].name);
		return proto_problem_value(why, PROTO_E_INVALID_PARAMS, field,
		    val, limit_rows[i].expected);
	}
	l->mask |= 1u << i;
	l->value[i] = v;
	return can_be_met(h, i, v, why);
}

int
limits_take(const struct heritage *h, const struct val *params,
    struct session_limits *ret, struct proto_problem *why)
{
	const struct val *map = val_get(params, "limits");
	struct session_limits l = {0};
	size_t i;
	int r;

	for (i = 0; map != NULL && i < map->a.count; i++) {
		r = take_one(h, &map->a.items[2 * i], &map->a.items[2 * i + 1],
		    &l, why);
		if (r < 0)
			return r;
	}
	*ret = l;
	return 0;
}

int
limits_take_config(const struct heritage *h, const struct config_limits *c,
    struct session_limits *l, struct proto_problem *why)
{
	unsigned i;
	int r;

	for (i = 0; i < CTL_LIMITS; i++) {
		if ((c->mask & ~l->mask & (1u << i)) == 0)
			continue;
		r = can_be_met(h, i, c->value[i], why);
		if (r < 0)
			return r;
		l->mask |= 1u << i;
		l->value[i] = c->value[i];
	}
	return 0;
}

/* What a box has of it; 0: no bound. */
static int64_t
of_box(const struct config_sandbox *c, enum ctl_limit which)
{
	const struct limit_row *row = &limit_rows[which];
	uint64_t v = which == CTL_LIMIT_MEMORY ? c->memory
	    : which == CTL_LIMIT_PIDS	       ? c->pids
					       : 0;

	return v == 0			 ? 0
	    : v < (uint64_t)row->min ? row->min
	    : v > (uint64_t)row->max ? row->max
				     : (int64_t)v;
}

int
limits_check_box(const struct config_sandbox *c,
    const struct session_limits *l, struct proto_problem *why)
{
	char field[64];

	for (unsigned i = 0; i < CTL_LIMITS; i++) {
		int64_t most = of_box(c, (enum ctl_limit)i);

		if (most == 0 || (l->mask & 1u << i) == 0 ||
		    l->value[i] <= most)
			continue;
		(void)snprintf(field, sizeof(field), "limits.%s",
		    limit_rows[i].name);
		proto_problem_set(why, PROTO_E_INVALID_PARAMS, field,
		    "%s is %lld; expected at most %lld, which the session's "
		    "box has ([sandbox] in psup.conf)",
		    field, (long long)l->value[i], (long long)most);
		(void)snprintf(why->value, sizeof(why->value), "%lld",
		    (long long)l->value[i]);
		return -EINVAL;
	}
	return 0;
}

bool
limits_box_by_group(const struct heritage *h, enum ctl_limit which)
{
	return heritage_limit_by(h, which) == HERITAGE_BY_TREE ||
	    heritage_limit_by(h, which) == HERITAGE_BY_V1;
}

void
limits_take_box(const struct heritage *h, const struct config_sandbox *c,
    struct session_limits *l)
{
	for (unsigned i = CTL_LIMIT_MEMORY; i <= CTL_LIMIT_PIDS; i++) {
		int64_t v = of_box(c, (enum ctl_limit)i);

		if (v == 0)
			continue;
		if ((l->mask & 1u << i) != 0)
			l->value[i] = l->value[i] < v ? l->value[i] : v;
		else if (!limits_box_by_group(h, (enum ctl_limit)i)) {
			l->mask |= 1u << i;
			l->value[i] = v;
		}
	}
}

void
limits_of_box(const struct heritage *h, const struct config_sandbox *c,
    struct session_limits *ret)
{
	for (unsigned i = CTL_LIMIT_MEMORY; i <= CTL_LIMIT_PIDS; i++) {
		int64_t v = of_box(c, (enum ctl_limit)i);

		if (v == 0 || !limits_box_by_group(h, (enum ctl_limit)i))
			continue;
		ret->mask |= 1u << i;
		ret->value[i] = v;
	}
}

void
limits_encode(const struct heritage *h, const struct session_limits *l,
    struct enc *e)
{
	const char *by;
	unsigned i;

	if (l->mask == 0)
		return;
	enc_kv_map(e, "limits");
	for (i = 0; i < CTL_LIMITS; i++) {
		if ((l->mask & (1u << i)) == 0)
			continue;
		by = limits_by(h, (enum ctl_limit)i);
		enc_kv_map(e, limit_rows[i].name);
		enc_kv_int(e, "limit", l->value[i]);
		enc_kv_str(e, "by",
		    i == CTL_LIMIT_NICE ? "nice"
			: by != NULL	? by
					: "rlimit"); /* pids, in a box */
		enc_end(e);
	}
	enc_end(e);
}
