/* SPDX-License-Identifier: MIT */
/*
 * upgrade: an operator asks that other programs take over. The keeper does it
 * and says how far it is; this master is one of those that are replaced, so the
 * request is answered as soon as it is clear that it is done at all, and status
 * says the rest, also of the master that comes next.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/abi.h"
#include "supervisor/api/method.h"

static_assert(CTL_NAME_MAX == ABI_BUILD_MAX, "a build's name fits");

/* What is known of the last one, or of the one under way. */
static void
upgrade_encode(const struct ctl_upgraded *u, struct enc *e)
{
	char id[17];

	snprintf(id, sizeof(id), "%016" PRIx64, u->id);
	enc_map(e);
	enc_kv_str(e, "id", id);
	enc_kv_str(e, "phase", ctl_upgrade_phase_name(u->phase));
	enc_kv_str(e, "from", u->from);
	enc_kv_str(e, "to", u->to);
	enc_kv_uint(e, "sessions", u->sessions);
	enc_kv_uint(e, "replaced", u->replaced);
	enc_kv_uint(e, "ms", u->ms);
	if (u->why[0] != '\0')
		enc_kv_str(e, "why", u->why);
	enc_end(e);
}

/* Part of status; nothing where there never was one. */
void
upgrade_status(struct master *m, struct enc *e)
{
	if (m->upgraded.id == 0)
		return;
	enc_key(e, "upgrade");
	upgrade_encode(&m->upgraded, e);
}

/* Which build a process is of, by its stats page: part of its status. */
void
upgrade_build(const struct stats_page *p, struct enc *e)
{
	char build[ABI_BUILD_MAX];

	memcpy(build, p->build, sizeof(build));
	build[sizeof(build) - 1] = '\0';
	enc_kv_str(e, "build", build);
	enc_kv_map(e, "layouts");
	for (size_t i = 0; i < ABI_COUNT; i++)
		enc_kv_uint(e, abi_table[i].name,
		    abi_stamp_version(atomic_load(&p->layouts[i])));
	enc_end(e);
}

/* Tells the keeper what is asked for; where that cannot be, the request. */
static void
order_send(struct master *m)
{
	int r = link_send(m, &m->upgrade_order, sizeof(m->upgrade_order));

	if (r < 0)
		req_failf(m->upgrade_req, PROTO_E_BUSY, "",
		    "the keeper does not take the order: %s", strerror(-r));
}

/* Answers the request, if it is clear by now what becomes of it. */
static void
upgrade_answer(struct master *m)
{
	const struct ctl_upgraded *u = &m->upgraded;
	struct req *r = m->upgrade_req;
	struct enc e = ENC_INIT;

	if (r == NULL || r->over)
		return;
	if (u->id != m->upgrade_order.id && u->phase >= CTL_UPGRADE_DONE) {
		/* The last word on an older one. Ours may have come before
		 * that, and for nothing; the keeper begins none twice. */
		order_send(m);
		return;
	}
	if (u->id != m->upgrade_order.id) {
		req_failf(r, PROTO_E_BUSY, "", "another upgrade, to psup %s, "
		    "goes on", u->to);
		return;
	}
	if (u->phase == CTL_UPGRADE_REFUSED || u->phase == CTL_UPGRADE_UNDONE) {
		req_failf(r, PROTO_E_UPGRADE_REFUSED, "", "%s", u->why);
		return;
	}
	if (u->phase < CTL_UPGRADE_WORKERS)
		return;
	upgrade_encode(u, &e);
	req_done(r, &e);
}

/* The keeper says how far it is. */
void
upgrade_told(struct master *m, const struct ctl_upgraded *msg)
{
	struct ctl_upgraded u = *msg;

	if (u.phase >= CTL_UPGRADE_PHASES)
		return;
	u.from[sizeof(u.from) - 1] = u.to[sizeof(u.to) - 1] =
	    u.why[sizeof(u.why) - 1] = '\0';
	m->upgraded = u;
	upgrade_answer(m);
}

/* The next one may ask. */
static void
upgrade_drop(struct req *r)
{
	if (r->m->upgrade_req == r)
		r->m->upgrade_req = NULL;
}

/* upgrade */
static void
upgrade_call(struct api_call *c)
{
	struct master *m = c->m;
	struct ctl_upgrade *order = &m->upgrade_order;
	char id[20] = "", *end = id;

	if (m->upgrade_req != NULL && !m->upgrade_req->over) {
		req_failf(c->req, PROTO_E_BUSY, "",
		    "another upgrade was asked for");
		return;
	}
	*order = (struct ctl_upgrade){.head = CTL_INIT(CTL_UPGRADE,
					  (struct sid){0}, struct ctl_upgrade)};
	if (val_copy(c->params, "id", id, sizeof(id)) > 0)
		order->id = strtoull(id, &end, 16);
	if (*end != '\0' || (id[0] != '\0' && order->id == 0)) {
		req_failf(c->req, PROTO_E_INVALID_PARAMS, "id",
		    "upgrade: id: expected 16 hex digits, not all 0");
		return;
	}
	while (order->id == 0)
		arc4random_buf(&order->id, sizeof(order->id));
	order->ready_ms = (uint32_t)proto_int(PROTO_UPGRADE, c->params,
	    "readyMs", 10000);
	val_copy(c->params, "binaryDir", order->dir, sizeof(order->dir));
	if (order->dir[0] != '\0' && order->dir[0] != '/') {
		req_failf(c->req, PROTO_E_INVALID_PARAMS, "binaryDir",
		    "upgrade: binaryDir: expected an absolute path");
		return;
	}
	m->upgrade_req = c->req;
	order_send(m);
}

const struct method method_UPGRADE = {.call = upgrade_call,
    .drop = upgrade_drop};
