/* SPDX-License-Identifier: MIT */
/*
 * lanes: what an operator does; what there is says lanes_list.c. The doing is
 * gate/lanes.c's and the scheduler's; here are the words.
 */
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "common/log.h"
#include "supervisor/api/ending.h"
#include "supervisor/api/exec_spec.h"
#include "supervisor/api/lanes.h"
#include "supervisor/words/result.h"

/* What an operation's answer has beside the lane. */
struct fact {
	const char *key; /* NULL: nothing */
	bool is_bool;
	uint64_t value;
};

/* Answers with what the lane is like now. */
static void
answer(struct api_call *c, const char *op, const char *name,
    const struct fact *fact, const char *text)
{
	struct lane_view v = {.width = 1, .width_conf = 1, .generation = 1};
	struct enc e = ENC_INIT;

	if (!lanes_find(c->m->lanes, name, &v))
		memcpy(v.name, name, strlen(name)); /* forgotten: idle */
	result_open(&e, text, strlen(text));
	enc_kv_str(&e, "status", "completed");
	enc_kv_str(&e, "op", op);
	if (fact->key != NULL && fact->is_bool)
		enc_kv_bool(&e, fact->key, fact->value != 0);
	else if (fact->key != NULL)
		enc_kv_uint(&e, fact->key, fact->value);
	enc_key(&e, "lane");
	lanes_row(c, &v, &e);
	result_close(&e, false);
	req_done(c->req, &e);
}

/* Puts a changed state into force and answers. */
static void
put(struct api_call *c, const char *op, const char *name,
    const struct lane_state *st, const char *text)
{
	int r = lane_admin_put(c->m, name, st);

	if (r < 0)
		req_nomem(c->req);
	else
		answer(c, op, name, &(struct fact){0}, text);
}

/* set-width */
static void
op_set_width(struct api_call *c, const char *name)
{
	const struct val *width = val_get(c->params, "width");
	struct lane_state st;
	char text[160];

	if (width == NULL) {
		req_failf(c->req, PROTO_E_INVALID_PARAMS, "width",
		    "width is required for set-width: 0 to 100000, or nil for "
		    "the configured one");
		return;
	}
	(void)lane_admin_state(c->m, name, &st);
	st.width_set = width->type != VAL_NIL;
	st.width = (uint32_t)proto_int(PROTO_LANES, c->params, "width", 0);
	if (st.width_set)
		snprintf(text, sizeof(text), "Lane %s has width %u now.", name,
		    st.width);
	else
		snprintf(text, sizeof(text),
		    "Lane %s has its configured width again.", name);
	put(c, "set-width", name, &st, text);
}

/* pause */
static void
op_pause(struct api_call *c, const char *name)
{
	struct lane_state st;
	char text[160];

	(void)lane_admin_state(c->m, name, &st);
	st.paused = true;
	snprintf(text, sizeof(text),
	    "Lane %s is paused: nobody starts until resume.", name);
	put(c, "pause", name, &st, text);
}

/* resume */
static void
op_resume(struct api_call *c, const char *name)
{
	struct lane_state st;
	char text[160];

	(void)lane_admin_state(c->m, name, &st);
	st.paused = st.draining = false;
	snprintf(text, sizeof(text), "Lane %s goes on.", name);
	put(c, "resume", name, &st, text);
}

/* What lasts longer than its turn: a drain that waits, sessions that are ended. */
struct lane_work {
	LIST_ENTRY(lane_work) link; /* of the master's, with `drains` */
	struct req *req;
	bool drains;
	struct ending *ending; /* who is not told yet */
	char lane[LANE_NAME_MAX];
};

/* One who waits is told that it will not run. */
static bool
clear_one(struct master *m, struct ending *, struct session *s)
{
	if (s->state != STATE_QUEUED)
		return false;
	session_end_here(m, s, END_LANE_CLEARED, "its lane was cleared");
	return true;
}

/* The lane is empty; one that is reset is as good as new, too, whatever became of
 * those who hold it. */
static void
cleared(struct master *m, struct ending *end)
{
	struct api_call c = {.m = m, .req = end->r};
	struct fact f = {.key = "cleared", .value = end->told};
	char text[200];

	if (end->told > 0)
		log_event(LOG_NOTE, "lane-cleared", KV("lane", end->lane),
		    KV("sessions", end->told));
	if (end->resets)
		lane_admin_reset(m, end->lane);
	if (end->r == NULL)
		return;
	c.conn = end->r->conn;
	snprintf(text, sizeof(text), end->resets
		? "Lane %s is reset: %u waiting sessions were rejected, those "
		  "that run hold no place any more."
		: "Lane %s is cleared: %u waiting sessions were rejected.",
	    end->lane, (unsigned)f.value);
	answer(&c, end->resets ? "reset" : "clear", end->lane, &f, text);
}

static bool
take(void *arg, struct sid sid)
{
	struct ending *end = arg;

	end->v[end->n++] = sid;
	return true;
}

/* Those that were taken and are still there. */
static struct session *
next_taken(struct master *m, struct ending *end)
{
	struct session *s = NULL;

	while (s == NULL && end->i < end->n)
		s = session_by_sid(m, end->v[end->i++]);
	return s;
}

/* First those in the lane, then those that have a place there and wait at the
 * gate; some a turn, and who starts meanwhile was first. */
static void
clear(struct api_call *c, const char *name, bool resets)
{
	struct lane_work *w = c->req->state;
	struct lane_view v = {0};
	struct ending *end;

	(void)lanes_find(c->m->lanes, name, &v);
	end = ending_new((size_t)v.queued + v.active);
	if (end == NULL) {
		req_nomem(c->req);
		return;
	}
	lanes_each(c->m->lanes, name, LANE_THE_QUEUED, take, end);
	lanes_each(c->m->lanes, name, LANE_THE_ACTIVE, take, end);
	CHECK(end->n <= (size_t)v.queued + v.active);
	end->next = next_taken;
	end->one = clear_one;
	end->done = cleared;
	end->resets = resets;
	memcpy(end->lane, name, strlen(name) + 1);
	ending_begin(end, c->req, &w->ending);
}

static void
op_clear(struct api_call *c, const char *name)
{
	clear(c, name, false);
}

static void
op_reset(struct api_call *c, const char *name)
{
	clear(c, name, true);
}

/* Answers a drain, done or out of time. */
static void
drain_answer(struct req *r, bool done)
{
	const struct lane_work *d = r->state;
	const char *name = d->lane;
	struct api_call c = {.m = r->m, .conn = r->conn, .req = r};
	struct fact f = {.key = "drained", .is_bool = true, .value = done};
	struct lane_view v = {0};
	char text[200];

	(void)lanes_find(r->m->lanes, name, &v);
	if (done && v.stale > 0)
		snprintf(text, sizeof(text),
		    "Lane %s is drained: nobody waits or holds a place; %u of "
		    "older generations still run.",
		    name, v.stale);
	else if (done)
		snprintf(text, sizeof(text),
		    "Lane %s is drained: nobody runs or waits.", name);
	else
		snprintf(text, sizeof(text),
		    "Lane %s is not drained yet: %u run, %u wait. It goes on "
		    "draining.",
		    name, v.active, v.queued);
	answer(&c, "drain", name, &f, text);
}

/* Nobody runs or waits? */
static bool
is_empty(struct master *m, const char *name)
{
	struct lane_view v = {0};

	return !lanes_find(m->lanes, name, &v) || v.active + v.queued == 0;
}

/* drain */
static void
op_drain(struct api_call *c, const char *name)
{
	struct req *r = c->req;
	struct lane_work *d = r->state;
	struct lane_state st;

	(void)lane_admin_state(c->m, name, &st);
	st.draining = true;
	if (lane_admin_put(c->m, name, &st) < 0) {
		req_nomem(r);
		return;
	}
	memcpy(d->lane, name, strlen(name) + 1);
	if (is_empty(c->m, name)) {
		drain_answer(r, true);
		return;
	}
	d->req = r;
	d->drains = true;
	LIST_INSERT_HEAD(&c->m->lane_drains, d, link);
	req_timer(r, (uint64_t)proto_int(PROTO_LANES, c->params, "timeout",
			 30000));
}

/* A drain's time is up. */
static void
lanes_wake(struct req *r, struct session *, unsigned wake)
{
	const struct lane_work *d = r->state;

	if (wake & WAKE_TIMER)
		drain_answer(r, is_empty(r->m, d->lane));
}

static void
lanes_drop(struct req *r)
{
	struct lane_work *d = r->state;

	ending_leave(d->ending);
	if (d->drains)
		LIST_REMOVE(d, link);
}

/* Before each commit: which drains are done? */
void
api_lanes_step(struct master *m)
{
	struct lane_work *d;

	LIST_FOREACH(d, &m->lane_drains, link)
		if (!d->req->over && is_empty(m, d->lane))
			drain_answer(d->req, true);
}

/* lanes */
static void
lanes_call(struct api_call *c)
{
	static const struct {
		const char *name;
		void (*fn)(struct api_call *c, const char *lane);
	} ops[] = {{"list", lanes_list_all}, {"set-width", op_set_width},
	    {"pause", op_pause}, {"resume", op_resume}, {"clear", op_clear},
	    {"reset", op_reset}, {"drain", op_drain}};
	char op[24] = "list", lane[LANE_NAME_MAX];
	struct proto_problem why;
	size_t i;

	if (val_get(c->params, "op") != NULL)
		val_copy(c->params, "op", op, sizeof(op));
	val_copy(c->params, "lane", lane, sizeof(lane));
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (strcmp(ops[i].name, op) == 0)
			break;
	if (i == sizeof(ops) / sizeof(ops[0])) {
		req_invalid(c->req, "op", val_get(c->params, "op"),
		    "list, set-width, pause, resume, clear, reset or drain");
		return;
	}
	if (exec_check_lane(val_str(c->params, "lane"), &why) < 0) {
		req_fail(c->req, &why);
		return;
	}
	if (i > 0 && !conn_is_admin(c->conn)) {
		req_failf(c->req, PROTO_E_FORBIDDEN, "op",
		    "%s is for admin connections: lanes belong to no scope",
		    op);
		return;
	}
	if (i > 0 && lane[0] == '\0') {
		req_failf(c->req, PROTO_E_INVALID_PARAMS, "lane",
		    "lane is required for %s", op);
		return;
	}
	ops[i].fn(c, lane);
}

const struct method method_LANES = {.call = lanes_call, .wake = lanes_wake,
    .drop = lanes_drop, .state_size = sizeof(struct lane_work)};
