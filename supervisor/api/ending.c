/* SPDX-License-Identifier: MIT */
/* See ending.h. */
#include "supervisor/api/ending.h"

#include <event2/event.h>
#include <stdlib.h>

#define UNIT  32u  /* records of one commit: less than a millisecond */
#define LOOKS 512u /* at sessions, for these */

struct ending *
ending_new(size_t most)
{
	return calloc(1, sizeof(struct ending) + most * sizeof(struct sid));
}

void
ending_leave(struct ending *end)
{
	if (end == NULL || end->r == NULL)
		return;
	*end->of = NULL;
	end->r = NULL;
}

/* As many of them as one commit is to write. True: there may be more. */
static bool
end_some(struct master *m, struct ending *end)
{
	unsigned told = 0;
	struct session *s = NULL;

	for (unsigned i = 0; i < LOOKS && told < UNIT; i++) {
		s = end->next(m, end);
		if (s == NULL)
			break;
		told += end->one(m, end, s);
	}
	end->told += told;
	return s != NULL;
}

/* A slice; the next one, of the next ending, is for another turn. */
static void
end_more(struct master *m)
{
	struct ending *end = TAILQ_FIRST(&m->endings);
	bool more = end_some(m, end);

	TAILQ_REMOVE(&m->endings, end, link);
	if (more) {
		TAILQ_INSERT_TAIL(&m->endings, end, link);
		return;
	}
	if (end->r != NULL) {
		*end->of = NULL;
		end->r = end->r->over ? NULL : end->r;
	}
	end->done(m, end);
	free(end);
}

static void
on_more(int, short, void *arg)
{
	struct master *m = arg;

	turn_begin(m);
	end_more(m);
	if (!TAILQ_EMPTY(&m->endings))
		timer_in(m, &m->end_timer, on_more, m, 0);
}

void
ending_begin(struct ending *end, struct req *r, struct ending **of)
{
	struct master *m = r->m;

	end->r = r;
	end->of = of;
	*of = end;
	TAILQ_INSERT_HEAD(&m->endings, end, link);
	end_more(m);
	if (!TAILQ_EMPTY(&m->endings))
		timer_in(m, &m->end_timer, on_more, m, 0);
}

void
api_end_stop(struct master *m)
{
	struct ending *end;

	while ((end = TAILQ_FIRST(&m->endings)) != NULL) {
		ending_leave(end);
		TAILQ_REMOVE(&m->endings, end, link);
		free(end);
	}
	timer_free(&m->end_timer);
}
