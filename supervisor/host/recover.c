/* SPDX-License-Identifier: MIT */
/*
 * The boxes that a master finds: of each its session says what it was made of
 * and whether somebody is to enter it still. One that was to end ends, as does
 * one that would be made in another way now, or whose session has ended
 * meanwhile; and none is set up twice. See boxes.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/host/inner.h"
#include "supervisor/master.h"

#define SUM_DIGITS 16

char *
boxes_label(const struct host_box *bx)
{
	char label[SUM_DIGITS + 1 + sizeof(bx->scope)];

	(void)snprintf(
	    label, sizeof(label), "%016" PRIx64 " %s", bx->sum, bx->scope);
	return strdup(label);
}

/* What boxes_label() said: the scope; the sum in *ret_sum. One of an earlier build
 * says nothing: it was made in another way, as far as anybody knows. */
static const char *
read_label(const char *label, uint64_t *ret_sum)
{
	char *end;
	uint64_t sum = strtoull(label, &end, 16);
	bool known = end == label + SUM_DIGITS && *end == ' ';

	*ret_sum = known ? sum : 0;
	return known ? end + 1 : BOXES_SCOPE;
}

static void
recover_box(struct master *m, struct session *s)
{
	uint64_t sum;
	const char *scope = read_label(s->id.label, &sum);
	struct host_box *bx = boxes_new(m, s->id.session_key, scope);
	uint64_t now = clock_boot_ns(), wall = clock_wall_ms(), age;

	if (bx == NULL) {
		master_give_up(m, "no memory for the boxes");
		return;
	}
	boxes_is(m, bx, s->id.sid);
	bx->sum = sum;
	(void)box_tell(&bx->life, BOX_WANT, &bx->rules, now);
	bx->made_ms = s->id.created_ms;
	age = wall > bx->made_ms ? (wall - bx->made_ms) * NSEC_PER_MSEC : 0;
	bx->life.made_ns = now > age ? now - age : 0;
}

/* Is nobody to enter it? */
static bool
is_over(struct master *m, const struct host_box *bx, const struct session *s)
{
	return s->start.box.v == BOXES_CLOSING ||
	       bx->sum != config_sandbox_sum(&m->cfg, bx->scope) ||
	       (boxes_is_of_session(bx) && bx->life.inside == 0);
}

/* How far it had come; what its setup has done is not done again. */
static void
recover_life(struct master *m, struct host_box *bx)
{
	struct session *s = session_by_sid(m, bx->sid);
	bool setup = bx->rules.setup;

	if (is_over(m, bx, s)) {
		/* workers are not here yet: its timer stops it */
		(void)box_tell(&bx->life, BOX_DRAIN, &bx->rules, 0);
		starts_inside(s, (struct sid){BOXES_CLOSING});
		session_touch(m, s);
	}
	bx->rules.setup = setup && s->start.box.v == 0 && bx->setup.v == 0;
	if (s->state != STATE_STARTING)
		boxes_look(m, bx, s);
	bx->rules.setup = setup;
	if (bx->setup.v != 0 && bx->life.state == BOX_READY)
		bx->life.state = BOX_SETUP;
	boxes_place(m, bx);
}

void
boxes_name(struct session_id *id)
{
	char key[BOXES_KEY_MAX];

	(void)snprintf(key, sizeof(key), "lost %016" PRIx64, id->sid.v);
	free(id->scope);
	free(id->label);
	free(id->session_key);
	id->scope = strdup(BOXES_SCOPE);
	id->label = strdup("");
	id->session_key = strdup(key);
}

/* Those who were adopted before their box are inside already. Its timer looks at
 * it in a while only: others may be to come. */
static void
adopt_box(struct master *m, struct session *box)
{
	struct host_box *bx;
	struct session *s;

	recover_box(m, box);
	bx = boxes_by_sid(m, box->id.sid);
	if (bx == NULL)
		return;
	for (s = registry_first(m); s != NULL; s = registry_next(m, s))
		if (session_live(s) && s != box &&
		    s->start.box.v == box->id.sid.v)
			boxes_adopted(m, s);
	/* before its pid is known, so that it is neither set up nor judged again */
	(void)box_tell(&bx->life, BOX_DRAIN, &bx->rules, clock_boot_ns());
	boxes_look(m, bx, box);
	boxes_place(m, bx);
	starts_inside(box, (struct sid){BOXES_CLOSING});
}

void
boxes_adopted(struct master *m, struct session *s)
{
	struct host_box *bx;

	if (s->wish.host == HOST_BOX) {
		adopt_box(m, s);
		return;
	}
	bx = boxes_by_sid(m, s->start.box);
	if (bx == NULL)
		return;
	if (s->wish.host == HOST_SETUP)
		bx->setup = s->id.sid;
	else
		bx->life.inside++;
	boxes_place(m, bx);
}

void
boxes_recover(struct master *m)
{
	struct host_box *bx;
	struct session *s;

	for (s = registry_first(m); s != NULL; s = registry_next(m, s))
		if (session_live(s) && s->wish.host == HOST_BOX)
			recover_box(m, s);
	for (s = registry_first(m); s != NULL; s = registry_next(m, s)) {
		bx = session_live(s) ? boxes_by_sid(m, s->start.box) : NULL;
		if (bx != NULL && s->wish.host == HOST_SANDBOX)
			bx->life.inside++;
		else if (bx != NULL && s->wish.host == HOST_SETUP)
			bx->setup = s->id.sid;
	}
	LIST_FOREACH(bx, &m->boxes.list, link)
		recover_life(m, bx);
}
