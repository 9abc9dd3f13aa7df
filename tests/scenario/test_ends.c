/* SPDX-License-Identifier: MIT */
/* Sessions that end in the middle of the request that ends them, whoever else
 * waits for them: everybody is answered once, and by the same master. */
#include "lib_scn.h"

TestSuite(ends);

#define WAITERS 5

/* Sessions that wait in a lane, and requests that wait for these sessions. */
struct crowd {
	const char *a, *b;
	struct question *q[WAITERS];
	pid_t master;
};

/* A paused lane with two of scope gw. */
static struct crowd
crowd_waits(void)
{
	struct peer *p[WAITERS];
	struct crowd c;

	psupd();
	c.master = master_pid();
	expect_ok(ask("lanes", STR("op", "pause"), STR("lane", "one")));
	c.a = background(PUPPET("hang"), STR("scope", "gw"),
	    STR("lane", "one"));
	c.b = background(PUPPET("hang"), STR("scope", "gw"),
	    STR("lane", "one"));
	for (size_t i = 0; i < WAITERS; i++)
		p[i] = peer(NULL);
	c.q[0] = ask_later(p[0], "wait", LIST("sessionIds", c.a, c.b));
	c.q[1] = ask_later(p[1], "wait", LIST("sessionIds", c.b, c.a),
	    STR("mode", "any"));
	c.q[2] = ask_later(p[2], "poll", STR("sessionId", c.a),
	    INT("timeout", 60000));
	c.q[3] = ask_later(p[3], "exec", PUPPET("hang"),
	    STR("scope", "gw"), STR("lane", "one"), NIL("yieldMs"));
	/* what came before on its connection was read */
	for (size_t i = 0; i < WAITERS - 1; i++)
		expect_ok(ask_as(p[i], "status"));
	c.q[4] = ask_later(p[4], "drainScope", STR("scope", "gw"),
	    INT("timeout", 60000));
	expect_ok(ask_as(p[4], "status"));
	return c;
}

/* All were answered, and the master lives. */
static void
crowd_is_answered(struct crowd *c)
{
	for (size_t i = 0; i < WAITERS; i++)
		(void)answer_of(c->q[i]);
	expect_ok(ask("status"));
	expect(master_pid() == c->master, "the master died");
}

SCENARIO(ends, a_drain_ends_those_that_only_wait)
{
	struct crowd c = crowd_waits();
	struct answer *a = ask("drainScope", STR("scope", "gw"),
	    INT("timeout", 0), YES("kill"));

	expect_ok(a);
	expect_flag(a, "drained", true);
	expect_int(a, "left", 0);
	crowd_is_answered(&c);
}

SCENARIO(ends, a_killed_scope_ends_those_that_only_wait)
{
	struct crowd c = crowd_waits();
	struct answer *a = ask("killScope", STR("scope", "gw"));

	expect_ok(a);
	expect_int(a, "ended", 3);
	crowd_is_answered(&c);
}

SCENARIO(ends, what_is_removed_while_it_waits_is_gone)
{
	struct crowd c = crowd_waits();

	expect_ok(ask("remove", STR("sessionId", c.a)));
	expect_ok(ask("kill", STR("sessionId", c.b)));
	expect_refused(ask("poll", STR("sessionId", c.a)), "not-found");
	give_up(c.q[3]); /* and with it its command */
	crowd_is_answered(&c);
}

SCENARIO(ends, a_cleared_lane_answers_everybody)
{
	struct crowd c = crowd_waits();

	expect_ok(ask("lanes", STR("op", "clear"), STR("lane", "one")));
	crowd_is_answered(&c);
}
