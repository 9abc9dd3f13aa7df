/* SPDX-License-Identifier: MIT */
/*
 * The gate before the workers. Called by session.c once a session's lane (if
 * it has one) has let it through, by session/end.c for every end. Memory
 * pressure is looked at only where a bound on it is configured, and only while
 * somebody starts or waits.
 */
#include "supervisor/gate/gate.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "supervisor/master.h"

#define PSI_MS     500u /* a look at the pressure is good for so long */
#define SCOPES_MAX 100u /* shown by status */
#define WAIT_MAX   100000u /* as the queue of a lane */

static const char *const queued_for[ADMISSION_WHYS] = {
    [ADMISSION_SCOPE] = "scope-max-running",
    [ADMISSION_GLOBAL] = "max-running",
    [ADMISSION_RATE] = "spawn-rate",
    [ADMISSION_PRESSURE] = "pressure",
};

/* Milliseconds that the wall clock's changes do not touch. */
static uint64_t
now_ms(void)
{
	return clock_boot_ns() / NSEC_PER_MSEC;
}

static const char *
psi_path(const struct master *m)
{
	return m->cfg.psi_path[0] != '\0' ? m->cfg.psi_path : PSI_DEFAULT_PATH;
}

/* Is memory short? Not known counts as no; status says why. */
static void
look_at_pressure(struct master *m, uint64_t now)
{
	struct gate *g = &m->gate;

	if (m->cfg.memory_some_avg10 == 0) {
		admission_set_pressure(g->admission, false);
		return;
	}
	if (g->psi_at_ms != 0 && now - g->psi_at_ms < PSI_MS)
		return;
	g->psi_at_ms = now;
	g->psi_error = psi_read(psi_path(m), &g->psi_centi);
	if (g->psi_error < 0)
		g->psi_centi = 0;
	admission_set_pressure(g->admission,
	    g->psi_centi >= m->cfg.memory_some_avg10);
}

int
gate_init(struct master *m)
{
	m->gate.admission = admission_new();
	if (m->gate.admission == NULL)
		return -ENOMEM;
	gate_configure(m);
	return 0;
}

void
gate_fini(struct master *m)
{
	timer_free(&m->gate.timer);
	admission_free(&m->gate.admission);
}

void
gate_configure(struct master *m)
{
	const struct config *c = &m->cfg;
	struct admission_limits l = {.max_running = c->max_running,
	    .scope_max_running = c->scope_max_running,
	    .rate = c->spawn_rate,
	    .burst = c->spawn_burst != 0 ? c->spawn_burst : c->spawn_rate};

	int r = admission_configure(m->gate.admission, &l, c->scopes,
	    c->scope_count);

	if (r < 0)
		log_event(LOG_ERROR, "lanes-not-set",
		    KV("error", strerror(-r)));
	lanes_set_warn(admission_lanes(m->gate.admission), c->lane_warn_ms);
	m->gate.psi_at_ms = 0;
}

/* For the timer: the rate, or the pressure, may let somebody through; or one has
 * waited for too long. */
static void
on_timer(int, short, void *arg)
{
	struct master *m = arg;

	turn_begin(m);
	wait_warn(m, admission_lanes(m->gate.admission), now_ms());
	gate_pump(m);
}

/* Comes back when time alone may change something. */
static void
arm_timer(struct master *m, uint64_t now)
{
	uint64_t due = admission_due(m->gate.admission, now);
	uint64_t warn = lanes_warn_due(admission_lanes(m->gate.admission));

	if (admission_waiting(m->gate.admission) == 0)
		return;
	if (warn < due)
		due = warn;
	if (m->cfg.memory_some_avg10 != 0 && due > now + PSI_MS)
		due = now + PSI_MS;
	if (due != UINT64_MAX)
		timer_in(m, &m->gate.timer, on_timer, m,
		    due > now ? due - now : 1);
}

void
gate_pump(struct master *m)
{
	uint64_t now = now_ms();
	struct session *s;
	struct sid sid;

	if (m->stopping || admission_waiting(m->gate.admission) == 0)
		return;
	look_at_pressure(m, now);
	while ((sid = admission_next(m->gate.admission, now)).v != 0) {
		s = session_by_sid(m, sid);
		CHECK(s != NULL);
		(void)sweep_admit(m, s, NULL);
		session_set_state(m, s, STATE_STARTING, "there is a place");
		custody_back(&s->custody);
		starts_enter(m, s);
		session_wake(m, s, WAKE_STATE);
	}
	arm_timer(m, now);
}

/* Says which bound is reached: its name, what it is and what there is. */
static void
explain(struct master *m, const struct session *s, enum admission_why why,
    struct proto_problem *p)
{
	const struct config *c = &m->cfg;
	struct admission_view v;
	char current[40] = "";

	admission_view(m->gate.admission, s->id.scope, &v);
	switch (why) {
	case ADMISSION_SCOPE:
		snprintf(current, sizeof(current), "%" PRIu64, v.running);
		proto_problem_set(p, PROTO_E_OVERLOADED, "scope.max_running",
		    "%s sessions of this scope run, and %" PRIu64 " may at "
		    "once (scope.max_running)", current, v.max);
		break;
	case ADMISSION_RATE:
		snprintf(current, sizeof(current), "%" PRIu64, c->spawn_rate);
		proto_problem_set(p, PROTO_E_OVERLOADED, "server.spawn_rate",
		    "more than %s sessions a second would start "
		    "(server.spawn_rate)", current);
		break;
	case ADMISSION_PRESSURE:
		snprintf(current, sizeof(current), "%u.%02u",
		    m->gate.psi_centi / 100, m->gate.psi_centi % 100);
		proto_problem_set(p, PROTO_E_OVERLOADED,
		    "pressure.memory_some_avg10",
		    "memory pressure is %s %%, and sessions start below %"
		    PRIu64 ".%02" PRIu64 " %% (pressure.memory_some_avg10)",
		    current, c->memory_some_avg10 / 100,
		    c->memory_some_avg10 % 100);
		break;
	case ADMISSION_GLOBAL:
	case ADMISSION_FREE:
	case ADMISSION_WHYS:
		snprintf(current, sizeof(current), "%" PRIu64,
		    admission_running(m->gate.admission));
		proto_problem_set(p, PROTO_E_OVERLOADED, "server.max_running",
		    "%s sessions run, and %" PRIu64 " may at once "
		    "(server.max_running)", current, c->max_running);
		break;
	}
	(void)snprintf(p->value, sizeof(p->value), "%s", current);
}

/* Is what comes now refused instead of queued? */
static bool
refuses(const struct master *m, enum admission_why why)
{
	return (why == ADMISSION_PRESSURE ? m->cfg.pressure_action
					  : m->cfg.admission) ==
	    CONFIG_REFUSE;
}

/* Waits for a place, as queued; one that arrives is not to do so for ever. */
static int
wait_here(struct master *m, struct session *s, bool arrives, uint64_t since_ms,
    struct proto_problem *why)
{
	struct lanes *places = admission_lanes(m->gate.admission);

	if (admission_wait(m->gate.admission, s->id.sid, s->id.scope,
		since_ms) < 0) {
		if (why != NULL)
			proto_problem_set(why, PROTO_E_BUSY, "",
			    "out of memory");
		return -ENOMEM;
	}
	if (arrives && deadlock_refuse(m, s,
		s->id.scope[0] != '\0' ? s->id.scope : NULL, why) < 0) {
		lanes_leave(places, s->id.sid);
		return -EDEADLK;
	}
	if (s->queued.warned)
		lanes_mute(places, s->id.sid);
	if (s->state != STATE_QUEUED)
		session_set_state(m, s, STATE_QUEUED, "there is no place");
	else
		session_touch(m, s);
	arm_timer(m, now_ms());
	return 0;
}

int
gate_enter(struct master *m, struct session *s, bool arrives,
    const char *reason, struct proto_problem *why)
{
	uint64_t now = now_ms();
	enum admission_why verdict;

	look_at_pressure(m, now);
	gate_pump(m); /* those that came before go first */
	verdict = admission_judge(m->gate.admission, s->id.scope, now);
	if (verdict != ADMISSION_FREE) {
		if (arrives && refuses(m, verdict)) {
			explain(m, s, verdict, why);
			return -EBUSY;
		}
		if (arrives &&
		    admission_waiting(m->gate.admission) >= WAIT_MAX)
			return proto_problem_set(why, PROTO_E_QUEUE_FULL, "",
			    "%u sessions wait for a place already", WAIT_MAX);
		if (arrives && room_for(s, STATE_QUEUED, why) < 0)
			return -EBUSY;
		s->queued.warned &= s->custody.state == CUSTODY_UNKNOWN;
		return wait_here(m, s, arrives, now, why);
	}
	/* what was accepted before starts, whatever room there is */
	if (sweep_admit(m, s, arrives ? why : NULL) < 0 && arrives)
		return -EBUSY;
	if (admission_start(m->gate.admission, s->id.sid, s->id.scope, true,
		now) < 0) {
		if (why != NULL)
			proto_problem_set(why, PROTO_E_BUSY, "",
			    "out of memory");
		return -ENOMEM;
	}
	session_set_state(m, s, STATE_STARTING, reason);
	custody_back(&s->custody);
	starts_enter(m, s);
	return 0;
}

void
gate_warned(struct session *s)
{
	CHECK(s->state == STATE_QUEUED);
	s->queued.warned = true;
}

void
gate_deadlocked(struct session *s)
{
	CHECK(s->state == STATE_QUEUED);
	s->queued.deadlock = true;
}

void
gate_restore(struct master *m, struct session *s)
{
	if (admission_start(m->gate.admission, s->id.sid, s->id.scope, false,
		now_ms()) < 0)
		master_give_up(m, "no memory to count what runs");
}

int
gate_restore_waiting(struct master *m, struct session *s)
{
	uint64_t wall = clock_wall_ms(), now = now_ms();
	uint64_t waited = wall > s->id.created_ms ? wall - s->id.created_ms : 0;

	return wait_here(m, s, false, now > waited ? now - waited : 0, NULL);
}

bool
gate_leave(struct master *m, const struct session *s)
{
	struct admission *a = m->gate.admission;
	struct admission_view v;

	if (!lanes_leave(admission_lanes(a), s->id.sid))
		return false;
	admission_view(a, s->id.scope, &v);
	return (v.max != 0 && v.running >= v.max) || (m->cfg.max_running != 0 &&
		admission_running(a) >= m->cfg.max_running);
}

const char *
gate_queued_for(struct master *m, const struct session *s)
{
	enum admission_why why =
	    admission_waits_for(m->gate.admission, s->id.sid, now_ms());

	return queued_for[why] != NULL ? queued_for[why] : "lane";
}

uint32_t
gate_position(struct master *m, const struct session *s)
{
	uint32_t at = lanes_position(admission_lanes(m->gate.admission),
	    s->id.sid);

	return at != 0 ? at : lanes_position(m->lanes, s->id.sid);
}

/* A percentage with two digits behind the point. */
static void
put_percent(struct enc *e, const char *key, uint64_t centi)
{
	enc_key(e, key);
	enc_double(e, (double)centi / 100);
}

/* The numbers of one scope. */
static void
put_view(const struct admission_view *v, struct enc *e)
{
	enc_kv_uint(e, "maxRunning", v->max);
	enc_kv_uint(e, "running", v->running);
	enc_kv_uint(e, "waiting", v->waiting);
}

/* The scopes that have a bound or somebody waiting. */
static void
put_scopes(struct master *m, struct enc *e)
{
	struct lanes *places = admission_lanes(m->gate.admission);
	size_t n = lanes_count(places), shown = 0;
	struct lane_view v;

	enc_kv_array(e, "scopes");
	for (size_t i = 0; i < n && shown < SCOPES_MAX; i++) {
		lanes_view(places, i, &v);
		if (v.width == UINT32_MAX && v.queued == 0)
			continue;
		shown++;
		enc_map(e);
		enc_kv_strn(e, "scope", v.name, strlen(v.name) - 1);
		put_view(&(struct admission_view){
			.max = v.width != UINT32_MAX ? v.width : 0,
			.running = v.active, .waiting = v.queued}, e);
		enc_end(e);
	}
	enc_end(e);
}

void
gate_status(struct master *m, const char *scope, struct enc *e)
{
	static const char *const actions[] = {
	    [CONFIG_QUEUE] = "queue", [CONFIG_REFUSE] = "refuse"};
	const struct config *c = &m->cfg;
	struct admission_view v;

	enc_kv_map(e, "admission");
	if (scope != NULL) {
		admission_view(m->gate.admission, scope, &v);
		put_view(&v, e);
		enc_end(e);
		return;
	}
	m->gate.psi_at_ms = 0; /* who asks hears what is true now */
	look_at_pressure(m, now_ms());
	enc_kv_uint(e, "maxRunning", c->max_running);
	enc_kv_uint(e, "running", admission_running(m->gate.admission));
	enc_kv_uint(e, "waiting", admission_waiting(m->gate.admission));
	enc_kv_uint(e, "scopeMaxRunning", c->scope_max_running);
	enc_kv_uint(e, "spawnRate", c->spawn_rate);
	enc_kv_uint(e, "spawnBurst",
	    c->spawn_burst != 0 ? c->spawn_burst : c->spawn_rate);
	enc_kv_str(e, "action", actions[c->admission]);
	if (c->memory_some_avg10 != 0) {
		put_percent(e, "memorySomeAvg10Max", c->memory_some_avg10);
		enc_kv_str(e, "pressureAction", actions[c->pressure_action]);
	}
	if (c->memory_some_avg10 != 0 && m->gate.psi_error == 0)
		put_percent(e, "memorySomeAvg10", m->gate.psi_centi);
	put_scopes(m, e);
	enc_end(e);
}

void
gate_unavailable(struct master *m, struct enc *e)
{
	char reason[400];
	uint32_t centi;
	int r = psi_read(psi_path(m), &centi);

	if (r == 0)
		return;
	snprintf(reason, sizeof(reason), "%.300s: %s: no bound on memory "
	    "pressure is in force", psi_path(m),
	    r == -EBADMSG ? "it does not say it" : strerror(-r));
	enc_map(e);
	enc_kv_str(e, "feature", "memory-pressure");
	enc_kv_str(e, "reason", reason);
	enc_end(e);
}
