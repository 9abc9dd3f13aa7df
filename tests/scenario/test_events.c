/* SPDX-License-Identifier: MIT */
/* Exit events: exactly one for each backgrounded session that ended, in
 * order, kept until acknowledged. Compatibility point 12, as far as built. */
#include "lib_inner.h"
#include "lib_scn.h"

#include "common/check.h"

#include <poll.h>
#include <signal.h>
#include <string.h>

TestSuite(events);

/* The events a subscriber has not acknowledged. */
static struct answer *
unacknowledged(const char *subscriber)
{
	struct answer *a = ask("events", STR("subscriber", subscriber));

	expect(a->status == PSUP_OK, "%s", a->message);
	return a;
}

/* How many of them are about this session. */
static int
count_of(const struct answer *a, const char *id)
{
	const psup_value *events = psup_value_get(details(a), "events");
	int n = 0;

	for (size_t i = 0; i < psup_value_count(events); i++)
		n += psup_get_is(psup_value_at(events, i), "sessionId", id);
	return n;
}

SCENARIO(events, one_for_a_background_session)
{
	const char *id;
	struct answer *a;
	const psup_value *e, *row;
	char text[256], instance[64];

	psupd();
	id = background(STR("command", "echo built; exit 2"));
	row = await_end(id);
	psup_get_copy(row, "instanceId", instance, sizeof(instance));
	a = unacknowledged("gw");
	expect(count_of(a, id) == 1, "%d", count_of(a, id));
	e = psup_value_at(psup_value_get(details(a), "events"), 0);
	expect(psup_get_is(e, "kind", "exited"));
	expect(psup_get_int(e, "exitCode", -1) == 2);
	psup_get_copy(e, "text", text, sizeof(text));
	expect(strstr(text, id) != NULL && strstr(text, "code 2") != NULL &&
	        strstr(text, ":: built") != NULL,
	    "%s", text);
	expect(psup_get_int(e, "seq", 0) > 0);
	expect(psup_get_is(e, "instanceId", instance), "not %s", instance);
}

SCENARIO(events, none_for_a_foreground_session)
{
	psupd();
	ask("exec", STR("command", "echo done"));
	expect(psup_value_count(psup_value_get(details(
	           unacknowledged("gw")), "events")) == 0);
}

/* Why this session's end is quiet, or "told", or how many events it has. */
static const char *
quiet_of(const struct answer *a, const char *id)
{
	const psup_value *events = psup_value_get(details(a), "events"), *e;
	char reason[32] = "";

	if (count_of(a, id) != 1)
		return scn_format("%d events", count_of(a, id));
	for (size_t i = 0; i < psup_value_count(events); i++) {
		e = psup_value_at(events, i);
		if (!psup_get_is(e, "sessionId", id))
			continue;
		psup_get_copy(e, "quietReason", reason, sizeof(reason));
		expect(psup_get_bool(e, "quiet", false) == (reason[0] != '\0'));
	}
	return scn_format("%s", reason[0] != '\0' ? reason : "told");
}

/* One that runs until it is ended. */
static const char *
hanging(struct peer *p, bool asked)
{
	return id_of(
	    asked ? ask_as(p, "exec", PUPPET("hang"), YES("background"),
			YES("notifyOnExit"))
		  : ask_as(p, "exec", PUPPET("hang"), YES("background")));
}

SCENARIO(events, every_end_has_one_and_some_are_quiet)
{
	static const struct {
		const char *command, *reason;
		bool off, on;
	} cases[] = {
	    {"true", "empty-success", false, false},
	    {"true", "told", false, true},
	    {"echo out", "told", false, false},
	    {"echo out", "not-asked", true, false},
	    {"exit 1", "told", false, false},
	    {"exit 1", "not-asked", true, false},
	    {"kill -9 $$", "told", false, false},
	};
	const char *id[NELEMS(cases)];
	struct answer *a;

	psupd();
	for (size_t i = 0; i < NELEMS(cases); i++) {
		id[i] = cases[i].off
			    ? background(STR("command", cases[i].command),
				  NO("notifyOnExit"))
			: cases[i].on
			    ? background(STR("command", cases[i].command),
				  YES("notifyOnExit"))
			    : background(STR("command", cases[i].command));
		await_end(id[i]);
	}
	a = unacknowledged("gw");
	for (size_t i = 0; i < NELEMS(cases); i++)
		expect(strcmp(quiet_of(a, id[i]), cases[i].reason) == 0,
		    "%s: %s", cases[i].command, quiet_of(a, id[i]));
}

/* Who subscribes never waits for an end that somebody else has made. */
SCENARIO(events, an_end_by_hand_is_quiet_to_its_own_scope_alone)
{
	struct peer *own;
	const char *of_own, *of_other, *asked, *removed, *removed_by_other,
	    *with_all;
	struct answer *a;

	psupd();
	own = peer("a");
	of_own = hanging(own, false);
	of_other = hanging(own, false);
	asked = hanging(own, true);
	removed = hanging(own, false);
	removed_by_other = hanging(own, false);
	expect_ok(
	    ask_as(own, "kill", STR("sessionId", of_own), INT("graceMs", 0)));
	expect_ok(ask("kill", STR("sessionId", of_other), INT("graceMs", 0)));
	expect_ok(
	    ask_as(own, "kill", STR("sessionId", asked), INT("graceMs", 0)));
	expect_ok(ask_as(own, "remove", STR("sessionId", removed)));
	expect_ok(ask("remove", STR("sessionId", removed_by_other)));
	with_all = hanging(own, false);
	expect_ok(ask_as(own, "killScope", INT("graceMs", 0)));
	do {
		a = ask_as(own, "events", STR("subscriber", "gw"));
		poll(NULL, 0, 1);
	} while (count_of(a, removed) + count_of(a, removed_by_other) < 2);
	expect(strcmp(quiet_of(a, of_own), "own-kill") == 0);
	expect(strcmp(quiet_of(a, of_other), "told") == 0);
	expect(strcmp(quiet_of(a, asked), "told") == 0);
	expect(strcmp(quiet_of(a, removed), "own-kill") == 0);
	expect(strcmp(quiet_of(a, removed_by_other), "told") == 0);
	expect(strcmp(quiet_of(a, with_all), "own-kill") == 0);
}

SCENARIO(events, an_empty_success_where_it_is_wanted)
{
	const char *id;

	psupd(.conf = "[exec]\nnotify_on_exit_empty_success = true\n");
	id = background(STR("command", "true"));
	await_end(id);
	expect(strcmp(quiet_of(unacknowledged("gw"), id), "told") == 0);
}

SCENARIO(events, are_kept_until_acknowledged)
{
	const char *id;
	struct answer *a;
	int64_t seq;

	psupd();
	id = background(STR("command", "echo x"));
	await_end(id);
	/* A subscriber is known from when it first asked. */
	expect(count_of(unacknowledged("other"), id) == 1);
	for (int i = 0; i < 3; i++)
		expect(count_of(unacknowledged("gw"), id) == 1);
	a = unacknowledged("gw");
	seq = psup_get_int(psup_value_at(psup_value_get(details(a),
	                       "events"), 0),
	    "seq", 0);
	expect_int(ask("ack", STR("subscriber", "gw"), INT("seq", seq)),
	    "acknowledged", seq);
	expect(count_of(unacknowledged("gw"), id) == 0);
	/* Another subscriber's place is its own. */
	expect(count_of(unacknowledged("other"), id) == 1);
}

SCENARIO(events, stay_within_their_scope)
{
	struct peer *a, *b;
	const char *id;

	psupd();
	a = peer("a");
	b = peer("b");
	id = id_of(ask_as(a, "exec", STR("command", "echo x"),
	    YES("background")));
	expect_ok(ask_as(a, "wait", STR("sessionId", id)));
	expect(count_of(ask_as(a, "events"), id) == 1);
	expect(count_of(ask_as(b, "events"), id) == 0);
}

SCENARIO(events, survive_the_master)
{
	const char *id;
	struct answer *a;
	int64_t seq;

	psupd();
	id = background(STR("command", "echo x"));
	await_end(id);
	seq = psup_get_int(psup_value_at(psup_value_get(details(
	                       unacknowledged("gw")), "events"), 0),
	    "seq", 0);
	kill_master();
	a = unacknowledged("gw");
	expect(count_of(a, id) == 1);
	expect(psup_get_int(psup_value_at(psup_value_get(details(a),
	                        "events"), 0),
	           "seq", -1) == seq);
}

/* Events that a scope's own subscriber has not acknowledged. */
static int
owed_to(struct peer *p, const char *id)
{
	return count_of(ask_as(p, "events"), id);
}

SCENARIO(events, a_poll_that_told_the_end_acknowledges)
{
	struct peer *a;
	const char *id, *other;

	psupd();
	a = peer("a");
	expect(owed_to(a, "") == 0);
	id = id_of(ask_as(a, "exec", STR("command", "echo x"),
	    YES("background")));
	expect_ok(ask_as(a, "wait", STR("sessionId", id)));
	expect(count_of(ask_as(a, "events", STR("subscriber", "log")), id)
	    == 1);
	expect(owed_to(a, id) == 1);
	expect_str(ask_as(a, "poll", STR("sessionId", id)), "status",
	    "completed");
	expect(owed_to(a, id) == 0, "told twice");
	expect(count_of(ask_as(a, "events", STR("subscriber", "log")), id)
	    == 1, "another name's event is gone");
	/* An administrator's own subscriber is no other. */
	other = background(STR("command", "echo y"));
	await_end(other);
	expect(owed_to(NULL, other) == 1);
	expect_str(ask("poll", STR("sessionId", other)), "status",
	    "completed");
	expect(owed_to(NULL, other) == 0, "told twice");
}

SCENARIO(events, a_poll_that_was_not_acknowledged_keeps_the_event)
{
	struct answer *a;
	const char *id;

	psupd();
	id = background(STR("command", "echo x"));
	await_end(id);
	a = ask("poll", STR("sessionId", id), STR("ack", "explicit"));
	expect_str(a, "status", "completed");
	expect(owed_to(NULL, id) == 1, "gone before it was acknowledged");
	expect_str(ask("poll", STR("sessionId", id),
	               STR("ack", text_of(a, "ack"))),
	    "output", "");
	expect(owed_to(NULL, id) == 0);
}

SCENARIO(events, wait_for_a_gateway_that_is_away)
{
	enum { KEPT = 5, ENDED = 8 };
	const char *ids[ENDED];
	struct peer *gateway;
	struct answer *a;
	int64_t last = 0;

	psupd(.conf = "[retain]\nevents = 5\n");
	gateway = peer(NULL);
	listen_to_events(gateway, "gw");
	hang_up(gateway);
	for (int i = 0; i < ENDED; i++) {
		ids[i] = background(STR("command", "echo x"));
		await_end(ids[i]);
	}
	kill_master();
	gateway = peer(NULL);
	listen_to_events(gateway, "gw");
	expect(await_events(gateway, KEPT) == KEPT);
	for (size_t k = 0; k < KEPT; k++) {
		const struct event *e = event_at(gateway, k);

		expect(strcmp(e->id, ids[ENDED - KEPT + k]) == 0, "%s",
		    e->id);
		expect(e->seq > last, "out of order");
		last = e->seq;
	}
	a = ask("events", STR("subscriber", "gw"));
	expect_int(a, "overflowed", ENDED - KEPT);
}

/* More than its connection takes at once: the rest follows as it reads. */
SCENARIO(events, all_reach_a_subscriber_that_was_away_for_long)
{
	enum { MANY = 4000, AT_ONCE = 50 };
	struct question *q[AT_ONCE];
	struct peer *gateway;
	char key[128];

	psupd();
	memset(key, 'k', sizeof(key) - 1);
	key[sizeof(key) - 1] = '\0';
	for (int i = 0; i < MANY; i += AT_ONCE) {
		for (int k = 0; k < AT_ONCE; k++)
			q[k] = ask_later(NULL, "exec",
			    PUPPET("bytes 300; exit 1"), YES("background"),
			    STR("sessionKey", key));
		for (int k = 0; k < AT_ONCE; k++)
			await_end(id_of(answer_of(q[k])));
	}
	gateway = peer(NULL);
	listen_to_events(gateway, "late");
	expect(await_events(gateway, MANY) == MANY);
	for (size_t k = 1; k < MANY; k++)
		expect(event_at(gateway, k)->seq >
		    event_at(gateway, k - 1)->seq);
}

/* ------------------------------------------------------------------- kinds */

/* Events of one kind, acknowledged or not. */
static const psup_value *
of_kind(const char *kind)
{
	struct answer *a = ask("events", INT("since", 0), LIST("kinds", kind));

	expect(a->status == PSUP_OK, "%s", a->message);
	return psup_value_get(details(a), "events");
}

/* Waits until there is one of that kind. */
static const psup_value *
await_kind(const char *kind)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	const psup_value *v;

	do
		v = of_kind(kind);
	while (psup_value_count(v) == 0 && now_ms() < until);
	expect(psup_value_count(v) > 0, "no %s event", kind);
	return psup_value_at(v, 0);
}

SCENARIO(events, starts_are_told_to_those_who_ask)
{
	struct peer *curious;
	const psup_value *e;
	const char *before, *id;

	psupd();
	before = background(PUPPET("print one; exit 1"));
	await_end(before);
	expect(psup_value_count(of_kind("started")) == 0, "nobody asked");
	curious = peer(NULL);
	listen_to_kinds(curious, "curious", "started");
	id = background(PUPPET("print one; exit 1"));
	await_end(id);
	e = await_kind("started");
	expect(psup_get_is(e, "sessionId", id));
	expect(psup_get_int(e, "pid", 0) > 1);
	expect(psup_value_get(e, "exitCode") == NULL, "it has not ended");
	/* who did not ask for kinds hears of ends alone */
	expect(count_of(unacknowledged("gw"), id) == 1);
	expect(await_events(curious, 1) == 1);
	expect(strcmp(event_at(curious, 0)->kind, "started") == 0);
}

SCENARIO(events, an_unknown_kind_is_refused)
{
	struct answer *a;

	psupd();
	a = ask("events", LIST("kinds", "exited", "ended"));
	expect_refused_for(a, "invalid-params", "kinds");
	expect(strstr(a->message, "timeout-warning") != NULL, "%s", a->message);
	a = ask("subscribe", LIST("kinds", ""));
	expect_refused_for(a, "invalid-params", "kinds");
}

SCENARIO(events, a_warning_comes_before_a_timeout)
{
	const psup_value *e;
	const char *id, *short_one;
	int64_t at, deadline;

	psupd(.conf = "[exec]\ntimeout_warning_sec = 1\n");
	id = background(PUPPET("print up; hang"), NUM("timeout", 10));
	short_one = background(PUPPET("hang"), NUM("timeout", 3));
	await_end(short_one);
	e = await_kind("timeout-warning");
	expect(psup_get_is(e, "sessionId", short_one));
	await_end(id);
	e = psup_value_at(of_kind("timeout-warning"), 1);
	expect(psup_get_is(e, "sessionId", id));
	at = psup_get_int(e, "at", 0);
	deadline = psup_get_int(e, "deadlineAt", 0);
	expect(deadline > at, "too late");
	expect(deadline - at <= 1010, "a tenth of the time-out: %lld",
	    (long long)(deadline - at));
	expect(psup_value_count(of_kind("timeout-warning")) == 2);
	/* one end each, whatever else there is */
	expect(count_of(unacknowledged("gw"), id) == 1);
	expect(count_of(unacknowledged("gw"), short_one) == 1);
}

SCENARIO(events, no_warning_where_none_is_wanted)
{
	const char *id;

	psupd(.conf = "[retain]\nevent_kinds = none\n");
	id = background(PUPPET("hang"), NUM("timeout", 1));
	await_end(id);
	expect(psup_value_count(of_kind("timeout-warning")) == 0);
	expect(count_of(unacknowledged("gw"), id) == 1);
}

SCENARIO(events, a_replaced_worker_is_told)
{
	const psup_value *e;
	const char *id;
	char text[256];

	psupd();
	id = background(PUPPET("print up; hang"));
	await_output(id, "up\n");
	kill_worker_of(id);
	e = await_kind("worker-restarted");
	psup_get_copy(e, "text", text, sizeof(text));
	expect(strstr(text, "signal 9") != NULL, "%s", text);
	expect(strstr(text, "1 running session") != NULL, "%s", text);
	expect(psup_get_int(e, "worker", -1) >= 0);
}

SCENARIO(events, a_lost_session_is_told_as_lost)
{
	const psup_value *e;
	const char *id;

	psupd(.first = true);
	id = background(PUPPET("print up; hang"));
	await_output(id, "up\n");
	kill_now(psupd_pid(), SIGKILL);
	server_was_killed();
	await_former_server();
	psupd();
	e = await_kind("lost");
	expect(psup_get_is(e, "sessionId", id));
	expect(psup_get_is(e, "status", "lost"));
	expect(psup_value_count(of_kind("exited")) == 0);
	/* it is the session's end: told to those who ask for no kinds, once */
	expect(count_of(unacknowledged("gw"), id) == 1);
	expect_str(ask("poll", STR("sessionId", id)), "exitReason", "lost");
	expect(owed_to(NULL, id) == 0);
}

/* News have a bound of their own. */
SCENARIO(events, news_push_out_no_end)
{
	const char *ids[3];

	psupd(.conf = "[retain]\nevents = 3\nevent_kinds = all\n");
	for (int i = 0; i < 3; i++) {
		ids[i] = background(STR("command", "exit 1"));
		await_end(ids[i]);
	}
	for (int i = 0; i < 8; i++)
		ask("exec", STR("command", "true"));
	expect(psup_value_count(of_kind("started")) == 3);
	for (int i = 0; i < 3; i++)
		expect(count_of(unacknowledged("gw"), ids[i]) == 1);
	expect_int(ask("events"), "overflowed", 0);
	kill_master();
	expect(psup_value_count(of_kind("started")) == 3);
	expect(count_of(unacknowledged("gw"), ids[0]) == 1);
}

SCENARIO(events, the_cli_shows_kinds)
{
	struct run *r;
	const char *id;

	psupd(.conf = "[retain]\nevent_kinds = all\n");
	id = background(STR("command", "exit 1"));
	await_end(id);
	r = cli("events");
	expect_exit(r, 0);
	expect(strstr(r->out, "Exec started") != NULL &&
	        strstr(r->out, "code 1") != NULL, "%s", r->out);
	r = cli("events", "--kind", "started");
	expect(strstr(r->out, "Exec started") != NULL &&
	        strstr(r->out, "code 1") == NULL, "%s", r->out);
	r = cli("events", "--kind", "nonsense");
	expect(r->code != 0 && strstr(r->err, "lane-wait") != NULL, "%s",
	    r->err);
}
