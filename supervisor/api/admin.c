/* SPDX-License-Identifier: MIT */
/* Forgetting sessions, the server's state, its end. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/abi.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/kfile.h"
#include "common/priority.h"
#include "shm/state_names.h"
#include "supervisor/api/method.h"
#include "supervisor/session/limits.h"
#include "supervisor/words/result.h"

/* {text, details {status completed, sessionId, name unless NULL}} */
static void
done(struct req *r, const char *slug, const char *name, const char *fmt_before,
    const char *fmt_after)
{
	struct enc e = ENC_INIT;
	char text[160];

	snprintf(text, sizeof(text), "%s %s%s", fmt_before, slug, fmt_after);
	result_open(&e, text, strlen(text));
	enc_kv_str(&e, "status", "completed");
	enc_kv_str(&e, "sessionId", slug);
	if (name != NULL)
		enc_kv_str(&e, "name", name);
	result_close(&e, false);
	req_done(r, &e);
}

/* clear */
static void
clear_call(struct api_call *c)
{
	struct session *s = api_session(c, API_BACKGROUND);
	char slug[SLUG_MAX];

	if (s == NULL)
		return;
	if (session_live(s)) {
		req_refuse(c->req, PROTO_E_NOT_FINISHED, s->id.slug,
		    "No finished session found for %s", s->id.slug);
		return;
	}
	memcpy(slug, s->id.slug, sizeof(slug));
	events_ack_session(c->m->events, s->id.scope, s->id.sid);
	if (!FAULT_FAILS("lie.record"))
		registry_forget(c->m, s);
	done(c->req, slug, NULL, "Cleared session", ".");
}

const struct method method_CLEAR = {.call = clear_call};

/* remove */
static void
remove_call(struct api_call *c)
{
	struct session *s = api_session(c, API_BACKGROUND);
	char slug[SLUG_MAX];

	if (s == NULL)
		return;
	memcpy(slug, s->id.slug, sizeof(slug));
	events_ack_session(c->m->events, s->id.scope, s->id.sid);
	if (!session_live(s)) {
		registry_forget(c->m, s);
		done(c->req, slug, NULL, "Removed session", ".");
		return;
	}
	shown_hide(c->m, s);
	session_touch(c->m, s);
	room_count(s);
	registry_drop_key(c->m, s);
	session_kill_is_of(s, conn_scope(c->conn));
	session_kill(c->m, s, SIGTERM, s->wish.grace_ms, END_MANUAL_CANCEL,
	    CTL_KILL_ESCALATE);
	done(c->req, slug, s->id.name, "Removed session",
	    " (termination requested).");
}

const struct method method_REMOVE = {.call = remove_call};

/* A relaxed load of a stats counter. */
#define STAT(p, f) ((uint64_t)RELAXED((p)->f))

/* The keeper and the master. */
static void
status_heads(struct master *m, struct enc *e)
{
	const struct stats_page *k = &m->pages[0];

	enc_kv_map(e, "keeper");
	enc_kv_int(e, "pid", m->h.keeper_pid);
	enc_kv_uint(e, "startedAt", STAT(k, started_ms));
	enc_kv_uint(e, "sessions", STAT(k, sessions));
	enc_kv_uint(e, "maxSessions", m->h.max_sessions);
	upgrade_build(k, e);
	enc_end(e);
	enc_kv_map(e, "master");
	enc_kv_int(e, "pid", getpid());
	enc_kv_uint(e, "generation", m->h.wid.generation);
	enc_kv_uint(e, "connections", conn_count(m));
	enc_kv_uint(e, "requests", STAT(m->stats, requests));
	enc_kv_uint(e, "malformed", STAT(m->stats, malformed));
	enc_kv_uint(e, "indexBytes", index_bytes_used(m->ix));
	upgrade_build(m->stats, e);
	enc_end(e);
}

/* The workers. */
static void
status_workers(struct master *m, struct enc *e)
{
	uint64_t now = clock_boot_ns();

	enc_kv_array(e, "workers");
	for (uint32_t i = 0; i < MASTER_WORKERS; i++) {
		const struct worker *w = &m->workers[i];
		const struct stats_page *p = &m->pages[STATS_PAGE_OF_WORKER(i)];
		uint64_t beat, role;

		if (!w->present)
			continue;
		beat = STAT(p, heartbeat_ns);
		role = STAT(p, role);
		enc_map(e);
		enc_kv_uint(e, "slot", i);
		enc_kv_int(e, "pid", w->pid);
		enc_kv_uint(e, "generation", w->wid.generation);
		enc_kv_str(e, "role",
		    (role != 0 ? role : w->role) == HERITAGE_STANDBY
			? "standby"
			: "active");
		enc_kv_uint(e, "sessions", w->live);
		enc_kv_uint(e, "heartbeatAgeMs",
		    beat != 0 && now > beat ? (now - beat) / NSEC_PER_MSEC
					    : 0);
		enc_kv_uint(e, "restarts", STAT(p, restarts));
		enc_kv_uint(e, "takenOver", STAT(p, taken_over));
		upgrade_build(p, e);
		enc_end(e);
	}
	enc_end(e);
}

/* The lanes. */
static void
status_lanes(struct master *m, struct enc *e)
{
	enc_kv_array(e, "lanes");
	for (size_t i = 0; i < lanes_count(m->lanes); i++) {
		struct lane_view v;

		lanes_view(m->lanes, i, &v);
		enc_map(e);
		enc_kv_str(e, "name", v.name);
		enc_kv_uint(e, "width", v.width);
		enc_kv_uint(e, "active", v.active);
		enc_kv_uint(e, "queued", v.queued);
		enc_kv_uint(e, "generation", v.generation);
		enc_kv_bool(e, "paused", v.paused);
		enc_kv_bool(e, "draining", v.draining);
		if (v.group[0] != '\0')
			enc_kv_str(e, "group", v.group);
		enc_end(e);
	}
	enc_end(e);
}

/* What holds commands and what they start. */
static void
status_cgroup(struct master *m, struct enc *e)
{
	const char *pids = limits_by(&m->h, CTL_LIMIT_PIDS);
	bool tree = m->h.group[HERITAGE_GROUP_TREE][0] != '\0';

	enc_kv_map(e, "cgroup");
	enc_kv_str(e, "kill",
	    !tree				      ? "none"
		: m->h.flags & HERITAGE_TREE_V2 ? "v2"
						      : "v1");
	if (tree)
		enc_kv_str(e, "path", m->h.group[HERITAGE_GROUP_TREE]);
	enc_kv_map(e, "limits");
	enc_kv_str(e, "memoryBytes", limits_by(&m->h, CTL_LIMIT_MEMORY));
	enc_kv_str(e, "pids", pids != NULL ? pids : "none");
	enc_end(e);
	enc_end(e);
}

/* What this process is worth to the scheduler beside commands. Of weight, autogroup
 * and niceness the first that there is decides. */
static void
status_scheduling(const struct master *m, struct enc *e)
{
	int nice = getpriority(PRIO_PROCESS, 0), autogroup;
	bool first = nice < priority_of_commands();
	char text[80];

	enc_kv_map(e, "scheduling");
	if ((m->h.flags & HERITAGE_TREE_AFTER_US) != 0) {
		first = true;
		enc_kv_int(e, "cpuWeight", HERITAGE_OWN_WEIGHT);
	} else if (kfile_read(AT_FDCWD, "/proc/self/autogroup", text,
	               sizeof(text)) > 0 &&
	    sscanf(text, "/autogroup-%*u nice %d", &autogroup) == 1) {
		first = autogroup < 0;
		enc_kv_int(e, "autogroupNice", autogroup);
	}
	enc_kv_int(e, "nice", nice);
	enc_kv_bool(e, "beforeCommands", first);
	enc_end(e);
}

static void
put_missing(struct enc *e, const char *feature, const char *reason)
{
	enc_map(e);
	enc_kv_str(e, "feature", feature);
	enc_kv_str(e, "reason", reason);
	enc_end(e);
}

/* What this machine, this configuration or this build cannot do. */
static void
status_unavailable(struct master *m, struct enc *e)
{
	const char *why = boxes_why(m);

	enc_kv_array(e, "unavailable");
	if (why[0] != '\0')
		put_missing(e, "sandbox", why);
	put_missing(e, "node", "the node host is not built yet");
	if (m->h.group[HERITAGE_GROUP_TREE][0] == '\0')
		put_missing(e, "cgroup", m->cfg.cgroup == CONFIG_CGROUP_OFF
		    ? "switched off: descendants are looked for in /proc"
		    : "no hierarchy is writable: descendants are looked for in "
		      "/proc");
	gate_unavailable(m, e);
	enc_end(e);
}

/* A box is no session of anybody's. */
static void
uncount(struct master *m, struct sid ours, uint64_t counts[STATE_COUNT])
{
	const struct session *s = session_by_sid(m, ours);

	if (s != NULL && counts[s->state] > 0)
		counts[s->state]--;
}

static void
status_boxes(struct master *m, struct enc *e)
{
	struct boxes_count n;

	boxes_count(m, &n);
	enc_kv_map(e, "boxes");
	enc_kv_uint(e, "total", n.total);
	enc_kv_uint(e, "inside", n.inside);
	for (uint32_t i = BOX_MAKING; i < BOX_GONE; i++)
		enc_kv_uint(e, box_state_name((enum box_state)i),
		    n.by_state[i]);
	enc_end(e);
}

/* Sessions by state: of all, or of one scope. */
static void
status_sessions(struct master *m, const char *scope, struct enc *e)
{
	uint64_t counts[STATE_COUNT] = {0};
	const struct host_box *bx;
	struct session *s;

	if (scope == NULL) {
		memcpy(counts, m->counts, sizeof(counts));
		LIST_FOREACH(bx, &m->boxes.list, link) {
			uncount(m, bx->sid, counts);
			uncount(m, bx->setup, counts);
		}
	} else
		for (s = registry_first(m); s != NULL; s = registry_next(m, s))
			if (!s->shown.hidden && strcmp(s->id.scope, scope) == 0)
				counts[s->state]++;
	enc_kv_map(e, "sessions");
	for (uint32_t i = STATE_QUEUED; i < STATE_COUNT; i++)
		enc_kv_uint(e, state_name(i), counts[i]);
	enc_end(e);
}

/* The scopes that take nothing new. */
static void
status_draining(struct master *m, struct enc *e)
{
	enc_kv_array(e, "draining");
	for (size_t i = 0; i < drains_count(m->drains); i++)
		enc_str(e, drains_name(m->drains, i));
	enc_end(e);
}

/* What is everybody's: nothing of it tells what other scopes do. */
static void
status_common(struct master *m, struct enc *e)
{
	status_cgroup(m, e);
	status_unavailable(m, e);
	enc_kv_str(e, "runtimeDir", m->h.runtime_dir);
	enc_kv_str(e, "version", abi_build());
}

/* status */
static void
status_call(struct api_call *c)
{
	const char *scope = conn_scope(c->conn);
	struct master *m = c->m;
	struct enc e = ENC_INIT;

	enc_map(&e);
	if (scope == NULL) {
		status_heads(m, &e);
		status_workers(m, &e);
		status_scheduling(m, &e);
		upgrade_status(m, &e);
	} else {
		enc_kv_str(&e, "scope", scope);
	}
	status_sessions(m, scope, &e);
	gate_status(m, scope, &e);
	room_status(m, scope, &e);
	if (scope == NULL) {
		enc_kv_map(&e, "output");
		enc_kv_uint(&e, "budgetBytes", m->budget);
		enc_kv_uint(&e, "usedBytes", sweep_used(m));
		enc_end(&e);
		status_boxes(m, &e);
		status_lanes(m, &e);
		status_draining(m, &e);
	}
	status_common(m, &e);
	enc_end(&e);
	req_done(c->req, &e);
}

const struct method method_STATUS = {.call = status_call};

/* shutdown */
static void
shutdown_call(struct api_call *c)
{
	struct ctl_shutdown msg = {.head = CTL_INIT(CTL_SHUTDOWN,
				       (struct sid){0}, struct ctl_shutdown)};
	struct enc e = ENC_INIT;
	int r;

	msg.grace_ms = (uint32_t)proto_int(PROTO_SHUTDOWN, c->params,
	    "graceMs", 5000);
	r = link_send(c->m, &msg, sizeof(msg));
	if (r < 0) {
		req_failf(c->req, PROTO_E_BUSY, "",
		    "the keeper does not take the order: %s", strerror(-r));
		return;
	}
	c->m->stopping = true;
	enc_map(&e);
	enc_kv_int(&e, "pid", c->m->h.keeper_pid);
	enc_end(&e);
	req_done(c->req, &e);
}

const struct method method_SHUTDOWN = {.call = shutdown_call};
