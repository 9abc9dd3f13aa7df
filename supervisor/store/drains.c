/* SPDX-License-Identifier: MIT */
/*
 * The scopes that are being drained: a sorted list beside its records in the
 * index. Called by api/drain.c, asked by exec. Ends no session.
 */
#include "supervisor/store/drains.h"
#include "common/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 48

struct drains {
	struct index *ix;
	char (*names)[NAME_MAX_BYTES]; /* sorted */
	size_t count, cap;
};

/* Where a name is, or would be. */
static size_t
place_of(const struct drains *d, const char *scope, bool *ret_there)
{
	size_t lo = 0, hi = d->count;

	*ret_there = false;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = strcmp(d->names[mid], scope);

		if (c == 0) {
			*ret_there = true;
			return mid;
		}
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Puts a name into the list. */
static int
insert(struct drains *d, const char *scope, size_t len)
{
	char name[NAME_MAX_BYTES];
	bool there;
	size_t at;

	if (len == 0 || len >= sizeof(name))
		return -EINVAL;
	memcpy(name, scope, len);
	name[len] = '\0';
	at = place_of(d, name, &there);
	if (there)
		return 0;
	if (d->count >= DRAINS_MAX)
		return -ENOSPC;
	if (!GROW(d->names, d->cap, d->count + 1, 16))
		return -ENOMEM;
	memmove(&d->names[at + 1], &d->names[at],
	    (d->count - at) * sizeof(*d->names));
	memcpy(d->names[at], name, len + 1);
	d->count++;
	return 0;
}

/* One record of the index: its key is the name. */
static int
on_record(void *arg, struct index_bytes key, struct index_bytes)
{
	int r = insert(arg, key.data, key.size);

	return r == -ENOMEM ? r : 0;
}

int
drains_reload(struct drains *d)
{
	d->count = 0;
	return index_scan(d->ix, INDEX_DRAINS, (struct index_bytes){"", 0},
	    on_record, d);
}

int
drains_open(struct index *ix, struct drains **ret)
{
	struct drains *d = calloc(1, sizeof(*d));
	int r;

	if (d == NULL)
		return -ENOMEM;
	d->ix = ix;
	r = drains_reload(d);
	if (r < 0) {
		drains_close(&d);
		return r;
	}
	*ret = d;
	return 0;
}

void
drains_close(struct drains **d)
{
	if (*d == NULL)
		return;
	free((*d)->names);
	free(*d);
	*d = NULL;
}

bool
drains_has(const struct drains *d, const char *scope)
{
	bool there;

	(void)place_of(d, scope, &there);
	return there;
}

int
drains_set(struct drains *d, const char *scope, bool on)
{
	struct index_bytes key = {scope, strlen(scope)};
	bool there;
	size_t at = place_of(d, scope, &there);
	int r;

	if (there == on)
		return 0;
	if (on) {
		r = insert(d, scope, key.size);
		if (r == 0)
			r = index_put(d->ix, INDEX_DRAINS, key,
			    (struct index_bytes){"\x01", 1});
		return r;
	}
	r = index_del(d->ix, INDEX_DRAINS, key);
	if (r < 0)
		return r;
	d->count--;
	memmove(&d->names[at], &d->names[at + 1],
	    (d->count - at) * sizeof(*d->names));
	return 0;
}

size_t
drains_count(const struct drains *d)
{
	return d->count;
}

const char *
drains_name(const struct drains *d, size_t i)
{
	return d->names[i];
}
