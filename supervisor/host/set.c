/* SPDX-License-Identifier: MIT */
/* The boxes that there are: found by session, by key, and by what time does to
 * them. See inner.h. */
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "supervisor/host/inner.h"
#include "supervisor/host/workspace.h"
#include "supervisor/master.h"

#define MAKE_NS	  (10 * NSEC_PER_SEC)
#define STOP_NS	  (5 * NSEC_PER_SEC)
#define MINUTE_NS (60 * NSEC_PER_SEC)

static RANK_BY_U64(cmp_sid, struct host_box, by_sid, sid.v)
static RANK_BY_TEXT(cmp_key, struct host_box, by_key, key)

static int
cmp_due(const void *key, const struct rank_node *n)
{
	const struct box_due *a = key;
	const struct box_due *b = &RANK_OWNER_C(n, struct host_box, by_due)->due;

	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

void
boxes_init(struct master *m)
{
	LIST_INIT(&m->boxes.list);
	rank_init(&m->boxes.by_sid, cmp_sid);
	rank_init(&m->boxes.by_key, cmp_key);
	rank_init(&m->boxes.by_due, cmp_due);
}

/* Out of by_key and by_due. */
static void
take_out(struct master *m, struct host_box *bx)
{
	if (bx->takes)
		rank_erase(&m->boxes.by_key, &bx->by_key);
	if (bx->due.ns != UINT64_MAX)
		rank_erase(&m->boxes.by_due, &bx->by_due);
	bx->takes = false;
	bx->due.ns = UINT64_MAX;
}

static void
box_free(struct master *m, struct host_box *bx)
{
	CHECK(TAILQ_EMPTY(&bx->waiting));
	take_out(m, bx);
	if (bx->sid.v != 0)
		rank_erase(&m->boxes.by_sid, &bx->by_sid);
	LIST_REMOVE(bx, link);
	free(bx->made);
	free(bx);
}

void
boxes_fini(struct master *m)
{
	struct host_box *bx;

	timer_free(&m->boxes.timer);
	while ((bx = LIST_FIRST(&m->boxes.list)) != NULL)
		box_free(m, bx);
}

struct host_box *
boxes_by_sid(struct master *m, struct sid sid)
{
	struct rank_node *n = rank_find(&m->boxes.by_sid, &sid.v);

	return n != NULL ? RANK_OWNER(n, struct host_box, by_sid) : NULL;
}

bool
boxes_is_of_session(const struct host_box *bx)
{
	return strncmp(bx->key, "session ", 8) == 0;
}

void
boxes_is(struct master *m, struct host_box *bx, struct sid sid)
{
	CHECK(bx->sid.v == 0);
	bx->sid = sid;
	rank_insert(&m->boxes.by_sid, &bx->by_sid, &sid.v);
}

/* ------------------------------------------------------------- whose box */

static void
key_of_session(uint64_t sid, char ret[BOXES_KEY_MAX])
{
	(void)snprintf(ret, BOXES_KEY_MAX, "session %016" PRIx64, sid);
}

void
boxes_key(const struct config_sandbox *c, const char *scope, uint64_t sid,
    char ret[BOXES_KEY_MAX])
{
	if (c->scope == CONFIG_BOX_SHARED)
		(void)snprintf(ret, BOXES_KEY_MAX, "shared");
	else if (c->scope == CONFIG_BOX_SESSION)
		key_of_session(sid, ret);
	else
		(void)snprintf(ret, BOXES_KEY_MAX, "agent %s", scope);
}

struct host_box *
boxes_of_session(struct master *m, struct sid sid)
{
	char key[BOXES_KEY_MAX];
	struct rank_node *n;

	key_of_session(sid.v, key);
	n = rank_find(&m->boxes.by_key, key);
	return n != NULL ? RANK_OWNER(n, struct host_box, by_key) : NULL;
}

/* One of which nothing is there yet. */
struct host_box *
boxes_new(struct master *m, const char *key, const char *scope)
{
	const struct config_sandbox *c = &m->cfg.sandbox;
	struct host_box *bx = calloc(1, sizeof(*bx));

	if (bx == NULL || (bx->made = malloc(sizeof(*bx->made))) == NULL) {
		free(bx);
		return NULL;
	}
	*bx->made = *c;
	(void)config_directory(&m->cfg, scope, bx->made->directory);
	bx->sum = config_sandbox_sum(&m->cfg, scope);
	bx->due = (struct box_due){UINT64_MAX, ++m->boxes.last};
	(void)strlcpy(bx->key, key, sizeof(bx->key));
	(void)strlcpy(bx->scope, scope, sizeof(bx->scope));
	bx->rules = (struct box_rules){.setup = c->setup[0] != '\0',
	    .make_ns = MAKE_NS,
	    .setup_ns = c->setup_sec * NSEC_PER_SEC,
	    .stop_ns = STOP_NS,
	    .idle_ns = c->idle_min * MINUTE_NS,
	    .age_ns = c->max_age_min * MINUTE_NS};
	bx->made_ms = clock_wall_ms();
	TAILQ_INIT(&bx->waiting);
	LIST_INSERT_HEAD(&m->boxes.list, bx, link);
	return bx;
}

struct host_box *
boxes_of(struct master *m, const char *key, const char *scope)
{
	struct rank_node *n = rank_find(&m->boxes.by_key, key);

	return n != NULL ? RANK_OWNER(n, struct host_box, by_key)
			 : boxes_new(m, key, scope);
}

/* What nobody uses again, and has nothing in it: a directory for each command
 * would fill a disk. Not where another box of the session has it, or will. */
static void
forget_workspace(const struct master *m, const struct host_box *bx)
{
	char name[NAME_MAX + 1];

	if (bx->made->access != CONFIG_ACCESS_RW && boxes_is_of_session(bx) &&
	    rank_find(&m->boxes.by_key, bx->key) == NULL &&
	    workspace_name(bx->key, m->h.incarnation, name) == 0)
		workspace_forget(bx->made, name);
}

void
boxes_settle(struct master *m, struct host_box *bx)
{
	if (bx->life.state != BOX_GONE || bx->life.inside > 0 ||
	    !TAILQ_EMPTY(&bx->waiting))
		return;
	forget_workspace(m, bx);
	box_free(m, bx);
}

/* ------------------------------------------------------------------ time */

static void on_timer(int fd, short what, void *arg);

/* What time does next, of all of them. */
static void
arm(struct master *m)
{
	const struct rank_node *n = rank_first(&m->boxes.by_due);
	uint64_t now = clock_boot_ns(), due;

	if (n == NULL)
		return;
	due = RANK_OWNER_C(n, struct host_box, by_due)->due.ns;
	timer_in(m, &m->boxes.timer, on_timer, m,
	    due > now ? (due - now) / NSEC_PER_MSEC + 1 : 1);
}

static void
on_timer(int, short, void *arg)
{
	struct master *m = arg;
	uint64_t now = clock_boot_ns();
	struct rank_node *n;
	struct host_box *bx;

	turn_begin(m);
	while ((n = rank_first(&m->boxes.by_due)) != NULL) {
		bx = RANK_OWNER(n, struct host_box, by_due);
		if (bx->due.ns > now)
			break;
		if (bx->life.state == BOX_MAKING)
			(void)snprintf(bx->why, sizeof(bx->why),
			    "no sandbox: it was not made within 10 s");
		else if (bx->life.state == BOX_SETUP)
			(void)snprintf(bx->why, sizeof(bx->why),
			    "no sandbox: its setup command did not end within "
			    "%u s (sandbox.setup_sec)",
			    (unsigned)(bx->rules.setup_ns / NSEC_PER_SEC));
		boxes_tell(m, bx, BOX_TIME);
	}
	arm(m);
}

void
boxes_place(struct master *m, struct host_box *bx)
{
	enum box_state state = bx->life.state;

	take_out(m, bx);
	bx->takes = state != BOX_GONE && state != BOX_DRAINING && !bx->stale &&
	    rank_find(&m->boxes.by_key, bx->key) == NULL;
	if (bx->takes)
		rank_insert(&m->boxes.by_key, &bx->by_key, bx->key);
	bx->due.ns = box_due_ns(&bx->life, &bx->rules);
	if (bx->due.ns == UINT64_MAX)
		return;
	rank_insert(&m->boxes.by_due, &bx->by_due, &bx->due);
	if (rank_of(&bx->by_due) == 0)
		arm(m);
}
