/* SPDX-License-Identifier: MIT */
/*
 * What exec's `retain` and `spill` mean, and what is told of them. Called by
 * api/exec.c for a new session and by result.c. The worker writes the spill
 * file (worker/spill.c); how far it came stands in the ring's header.
 */
#include "supervisor/session/retain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "common/err.h"
#include "common/text.h"

#define REGION_MAX (16 << 20) /* each; what is larger goes into a file */

static const struct region {
	const char *name, *field;
	int64_t min;
	size_t at;
} regions[] = {
    {"headBytes", "retain.headBytes", 0,
	offsetof(struct session_wish, head_bytes)},
    {"tailBytes", "retain.tailBytes", 4096,
	offsetof(struct session_wish, tail_bytes)},
};

/* A key that the map does not have. */
static int
unknown(const char *map, const char *expected, const struct val *key,
    struct proto_problem *why)
{
	return proto_problem_set(why, PROTO_E_INVALID_PARAMS, map,
	    "%s: unknown key \"%.*s\"; expected %s", map,
	    (int)(key->s.len < 40 ? key->s.len : 40), key->s.ptr, expected);
}

/* One number of retain. */
static int
take_region(const struct region *r, const struct val *v, struct session_wish *w,
    struct proto_problem *why)
{
	char expected[80];
	int64_t n = v->type == VAL_UINT && v->u <= INT64_MAX ? (int64_t)v->u
	    : v->type == VAL_INT				? v->i
								: -1;
	uint32_t bytes;

	if (n < r->min || n > REGION_MAX) {
		snprintf(expected, sizeof(expected),
		    "bytes from %" PRId64 " to %d", r->min, REGION_MAX);
		return proto_problem_value(why, PROTO_E_INVALID_PARAMS,
		    r->field, v, expected);
	}
	bytes = (uint32_t)n;
	memcpy((char *)w + r->at, &bytes, sizeof(bytes));
	return 0;
}

/* {headBytes, tailBytes} */
static int
take_retain(const struct master *m, const struct val *map, struct session_wish *w,
    struct proto_problem *why)
{
	uint64_t sum, most;
	size_t i, k;
	int r;

	for (i = 0; i < map->a.count; i++) {
		const struct val *key = &map->a.items[2 * i];

		for (k = 0; k < 2 && !val_is_str(key, regions[k].name); k++)
			;
		if (k == 2)
			return unknown("retain", "headBytes, tailBytes", key,
			    why);
		r = take_region(&regions[k], key + 1, w, why);
		if (r < 0)
			return r;
	}
	sum = (uint64_t)w->head_bytes + w->tail_bytes;
	most = m->budget - m->budget / 8 - SHM_PAGE; /* for one scope, alone */
	if (sum <= most)
		return 0;
	return proto_problem_set(why, PROTO_E_NO_SPACE, "retain",
	    "retain: %" PRIu64 " bytes in all are more than the output budget "
	    "has for one scope; expected at most %" PRIu64,
	    sum, most);
}

/* Where the file is to be: as said, or a new one in the configured place. */
static int
spill_path(const struct master *m, const struct val *path,
    const struct session_id *id, struct session_wish *w,
    struct proto_problem *why)
{
	char at[4096];
	int n;

	if (path == NULL) {
		if (m->cfg.spill_dir[0] == '\0')
			return proto_problem_set(why, PROTO_E_INVALID_PARAMS,
			    "spill",
			    "spill: no path is given, and the server has no "
			    "place of its own for such files ([spill] dir)");
		n = snprintf(at, sizeof(at), "%s/%s-%" PRIx64 "-%" PRIx64
		    ".log", m->cfg.spill_dir, id->slug, m->h.incarnation,
		    id->sid.v);
	} else if (path->s.ptr[0] == '/') {
		n = snprintf(at, sizeof(at), "%.*s", (int)path->s.len,
		    path->s.ptr);
	} else {
		n = snprintf(at, sizeof(at), "%s/%.*s", w->cwd,
		    (int)path->s.len, path->s.ptr);
	}
	if (n < 0 || (size_t)n >= sizeof(at))
		return proto_problem_set(why, PROTO_E_INVALID_PARAMS,
		    "spill.path", "spill.path has more than 4095 bytes");
	w->spill_path = strdup(at);
	if (w->spill_path != NULL)
		return 0;
	return proto_problem_set(why, PROTO_E_BUSY, "", "out of memory");
}

/* {path, maxBytes} */
static int
take_spill(const struct master *m, const struct val *map,
    const struct session_id *id, struct session_wish *w,
    struct proto_problem *why)
{
	const struct val *path = NULL, *max = NULL;

	for (size_t i = 0; i < map->a.count; i++) {
		const struct val *key = &map->a.items[2 * i];

		if (val_is_str(key, "path"))
			path = key + 1;
		else if (val_is_str(key, "maxBytes"))
			max = key + 1;
		else
			return unknown("spill", "path, maxBytes", key, why);
	}
	if (path != NULL && (path->type != VAL_STR || path->s.len == 0 ||
	    path->s.len > 4095 || !text_is_utf8(path->s.ptr, path->s.len) ||
	    memchr(path->s.ptr, 0, path->s.len) != NULL))
		return proto_problem_value(why, PROTO_E_INVALID_PARAMS,
		    "spill.path", path, "a file name of 1 to 4095 bytes");
	w->spill_max = m->cfg.spill_max_bytes;
	if (max != NULL && max->type == VAL_UINT)
		w->spill_max = max->u;
	if ((max != NULL && max->type != VAL_UINT) || w->spill_max == 0 ||
	    w->spill_max > RETAIN_SPILL_MAX)
		return proto_problem_value(why, PROTO_E_INVALID_PARAMS,
		    "spill.maxBytes", max, "bytes from 1 to 1125899906842624");
	return spill_path(m, path, id, w, why);
}

int
retain_take(struct master *m, const struct val *params,
    const struct session_id *id, struct session_wish *w,
    struct proto_problem *why)
{
	const struct val *retain = val_get(params, "retain");
	const struct val *spill = val_get(params, "spill");
	int r = 0;

	if (retain != NULL)
		r = take_retain(m, retain, w, why);
	if (r == 0 && spill != NULL && w->host == HOST_SANDBOX)
		return proto_problem_set(why, PROTO_E_UNSUPPORTED, "spill",
		    "spill: a server writes that file outside of the box, and "
		    "with its own rights; have the command write one itself, "
		    "below /workspace");
	if (r == 0 && spill != NULL)
		r = take_spill(m, spill, id, w, why);
	return r;
}

/* ------------------------------------------------------------------- told */

/* How the file is, in a word or "error: EIO". */
static void
spill_state(const struct session *s, const struct ring_header *h, char *dst,
    size_t size)
{
	static const char *const words[] = {[SPILL_NONE] = "waiting",
	    [SPILL_WRITING] = "writing", [SPILL_FULL] = "full",
	    [SPILL_DISK_FULL] = "disk-full"};
	uint32_t state = (uint32_t)h->spill_state;
	uint64_t pos = h->spill_pos;

	if (state == SPILL_WRITING && !session_live(s) &&
	    pos >= s->output.total)
		snprintf(dst, size, "complete");
	else if (state < NELEMS(words))
		snprintf(dst, size, "%s", words[state]);
	else
		snprintf(dst, size, "error: %s",
		    err_name((int)(h->spill_state >> 32)));
}

void
spill_encode(struct master *m, struct session *s, struct enc *e)
{
	static struct ring_facts f; /* a page: used and forgotten here */
	struct ring_reader *r;
	char state[48] = "waiting";

	if (s->wish.spill_path == NULL || s->wish.spill_path[0] == '\0')
		return;
	r = readers_of(m, s);
	if (r == NULL || ring_facts(r, &f) != RING_OK)
		memset(&f, 0, sizeof(f));
	else
		spill_state(s, &f.raw, state, sizeof(state));
	enc_kv_map(e, "spill");
	enc_kv_str(e, "path", s->wish.spill_path);
	enc_kv_uint(e, "maxBytes", s->wish.spill_max);
	enc_kv_uint(e, "bytes", f.raw.spill_pos);
	enc_kv_str(e, "state", state);
	if (f.raw.dropped_nospace > 0)
		enc_kv_uint(e, "missing", f.raw.dropped_nospace);
	enc_end(e);
}

void
retain_encode(struct master *m, struct session *s, struct enc *e)
{
	enc_kv_map(e, "retain");
	enc_kv_uint(e, "headBytes", s->wish.head_bytes);
	enc_kv_uint(e, "tailBytes", s->wish.tail_bytes);
	enc_end(e);
	spill_encode(m, s, e);
}
