/* SPDX-License-Identifier: MIT */
/* The wish of list_wish.h. Called by list.c. */
#include "supervisor/api/list_wish.h"

#include <errno.h>
#include <string.h>

#include "shm/state_names.h"
#include "supervisor/session/fields.h"

/* What else a request may name is none of it. */
static const char *const names[] = {"sessionIds", "status", "lane", "label",
    "scope", "tags", "sinceMs", "beforeMs", "fields"};

int
list_wish_take(struct list_wish *w, const struct val *params)
{
	struct enc e = ENC_INIT;
	const struct val *p = NULL;
	size_t used, n = 0;
	char why[80];

	enc_map(&e);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct val *v = val_get(params, names[i]);

		if (v == NULL)
			continue;
		enc_key(&e, names[i]);
		enc_val(&e, v);
		n++;
	}
	enc_end(&e);
	if (n > 0 && (e.failed || codec_decode(e.buf, e.len,
	        &codec_limits_trusted, &used, &w->arena, &p, why,
	        sizeof(why)) != CODEC_OK))
		w->arena = NULL;
	w->bytes = 2 * e.len;
	enc_fini(&e);
	if (n > 0 && w->arena == NULL)
		return -ENOMEM;
	w->ids = val_get(p, "sessionIds");
	w->status = val_get(p, "status");
	w->lane = val_get(p, "lane");
	w->label = val_get(p, "label");
	w->scope = val_get(p, "scope");
	w->tags = val_get(p, "tags");
	w->fields = val_get(p, "fields");
	w->since_ms = val_uint(p, "sinceMs", 0);
	w->before_ms = val_uint(p, "beforeMs", 0);
	return 0;
}

void
list_wish_fini(struct list_wish *w)
{
	codec_arena_free(&w->arena);
}

bool
list_wish_matches(const char *pattern, size_t len, const char *text)
{
	const char *end = pattern + len, *star = NULL, *tried = NULL;

	while (*text != '\0') {
		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			tried = text;
		} else if (pattern < end && *pattern == '?') {
			pattern++;
			do
				text++;
			while (((unsigned char)*text & 0xc0u) == 0x80);
		} else if (pattern < end && *pattern == *text) {
			pattern++;
			text++;
		} else if (star != NULL) {
			pattern = star; /* it stands for a byte more */
			text = ++tried;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}

static bool
has_status(const struct session *s, const struct val *word)
{
	bool ended = s->state == STATE_ENDED, queued = s->state == STATE_QUEUED;

	if (val_is_str(word, "queued"))
		return queued;
	if (val_is_str(word, "running"))
		return !ended && !queued;
	return ended && (val_is_str(word, "finished") ||
	    val_is_str(word, status_name(s->facts.status)));
}

/* "key", or "key=value". */
static bool
has_tag(const struct val *tags, const struct val *wanted)
{
	const char *eq = memchr(wanted->s.ptr, '=', wanted->s.len);
	size_t len = eq != NULL ? (size_t)(eq - wanted->s.ptr) : wanted->s.len;

	for (size_t i = 0; tags != NULL && i < tags->a.count; i++) {
		const struct val *key = &tags->a.items[2 * i], *v = key + 1;

		if (key->s.len == len &&
		    memcmp(key->s.ptr, wanted->s.ptr, len) == 0)
			return eq == NULL ||
			    (v->s.len == wanted->s.len - len - 1 &&
			        memcmp(v->s.ptr, eq + 1, v->s.len) == 0);
	}
	return false;
}

static bool
has_tags(const struct session *s, const struct val *wanted)
{
	struct codec_arena *arena = NULL;
	const struct val *tags = NULL;
	bool all = true;
	char why[80];
	size_t used;

	if (s->id.tags.p == NULL || codec_decode(s->id.tags.p,
	        s->id.tags.bytes, &codec_limits_trusted, &used, &arena, &tags,
	        why, sizeof(why)) != CODEC_OK)
		return wanted->a.count == 0;
	for (size_t i = 0; all && i < wanted->a.count; i++)
		all = has_tag(tags, &wanted->a.items[i]);
	codec_arena_free(&arena);
	return all;
}

/* Is a text, which may be NULL, what is wanted, which may be anything? */
static bool
is_as(const struct val *wanted, const char *text)
{
	return wanted == NULL || val_is_str(wanted, text != NULL ? text : "");
}

static bool
has_label(const struct session *s, const struct val *pattern)
{
	return pattern == NULL || list_wish_matches(pattern->s.ptr,
	    pattern->s.len, s->id.label != NULL ? s->id.label : "");
}

static bool
is_of_time(const struct session *s, const struct list_wish *w)
{
	uint64_t started = s->facts.started_ms != 0 ? s->facts.started_ms
	                                            : s->id.created_ms;
	uint64_t ended = s->state == STATE_ENDED ? s->facts.ended_ms : started;

	return started >= w->since_ms &&
	    (w->before_ms == 0 || ended <= w->before_ms);
}

bool
list_wish_meets(const struct list_wish *w, const struct session *s)
{
	return w->arena == NULL ||
	    ((w->status == NULL || has_status(s, w->status)) &&
	        is_as(w->lane, s->wish.lane) && is_as(w->scope, s->id.scope) &&
	        has_label(s, w->label) && is_of_time(s, w) &&
	        (w->tags == NULL || has_tags(s, w->tags)));
}
