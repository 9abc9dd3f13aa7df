/* SPDX-License-Identifier: MIT */
/*
 * What is over stays in memory until no function of it can be on the stack. An
 * end may come in the middle of a request that asked for it: a session's end
 * answers whoever waits for it, an answer forgets sessions, and the functions
 * below go on with both. So a request that was answered, a watch that was taken
 * off and a session that was forgotten are out of all trees and lists at once,
 * take no part in anything any more, and are freed here, by turn_run.c after
 * each unit and by master.c after each turn.
 */
#include <stdlib.h>

#include "common/check.h"
#include "supervisor/api/request.h"

/* A watch wakes nobody any more. Its neighbour's address stays in it: who walks
 * through the session's watches goes on from there. */
void
over_watch(struct master *m, struct watch *w)
{
	LIST_REMOVE(w, of_session);
	LIST_REMOVE(w, of_req);
	watch_hear(w);
	w->req = NULL;
	LIST_INSERT_HEAD(&m->over.watches, w, of_req);
}

/* It is out of its connection. */
void
over_req(struct req *r)
{
	CHECK(!r->over);
	r->over = true;
	SLIST_INSERT_HEAD(&r->m->over.reqs, r, over_link);
}

/* It is out of the registry. */
void
over_session(struct master *m, struct session *s)
{
	CHECK(!s->over.forgotten && !s->ending.due);
	s->over.forgotten = true;
	SLIST_INSERT_HEAD(&m->over.sessions, s, over.link);
}

/* Frees all of it. */
void
over_free(struct master *m)
{
	struct watch *w;
	struct req *r;
	struct session *s;

	while ((r = SLIST_FIRST(&m->over.reqs)) != NULL) {
		SLIST_REMOVE_HEAD(&m->over.reqs, over_link);
		req_free(r);
	}
	while ((w = LIST_FIRST(&m->over.watches)) != NULL) {
		LIST_REMOVE(w, of_req);
		free(w);
	}
	while ((s = SLIST_FIRST(&m->over.sessions)) != NULL) {
		SLIST_REMOVE_HEAD(&m->over.sessions, over.link);
		session_free(s);
	}
}
