/* SPDX-License-Identifier: MIT */
/*
 * How a session is made, and its memory freed: of what a request asks for, of
 * what a board says of one that has no record, or of a record. Who it is and
 * what was asked for stays as it is from then on, but for what is here.
 */
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "supervisor/master.h"

struct session *
session_new(void)
{
	struct session *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	LIST_INIT(&s->watches);
	facts_begin(s);
	shown_begin(s);
	return s;
}

void
session_unmake(struct session_id *id, struct session_wish *wish)
{
	struct session s = {.id = *id, .wish = *wish};

	fields_free(&s);
	*id = (struct session_id){0};
	*wish = (struct session_wish){0};
}

struct session *
session_make(struct session_id *id, struct session_wish *wish)
{
	bool whole = id->scope != NULL && id->name != NULL &&
	    id->label != NULL && id->session_key != NULL &&
	    id->request_key != NULL && wish->command != NULL &&
	    wish->cwd != NULL && wish->lane != NULL;
	struct session *s = whole ? session_new() : NULL;

	if (s == NULL) {
		session_unmake(id, wish);
		return NULL;
	}
	CHECK(id->sid.v != 0);
	s->id = *id;
	s->wish = *wish;
	return s;
}

/* Frees a session that is in no tree and no list. */
void
session_free(struct session *s)
{
	if (s == NULL)
		return;
	room_leave(s);
	fields_free(s);
	free(s->output.tail);
	row_drop(s);
	news_deadline_off(s);
	record_spec_drop(s);
	free(s);
}

void
session_name(struct session *s, const char slug[SLUG_MAX])
{
	memcpy(s->id.slug, slug, sizeof(s->id.slug));
}

void
session_of_keeper(struct session *s, uint64_t incarnation)
{
	CHECK(s->id.incarnation == 0);
	s->id.incarnation = incarnation;
}

void
session_streams(struct master *m, struct session *s)
{
	s->wish.stream = true;
	session_touch(m, s);
}
