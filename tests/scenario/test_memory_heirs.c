/* SPDX-License-Identifier: MIT */
/*
 * An allocation of a new master fails while it reads what the old one left: it
 * has all of it, or makes room for another one that has. Nothing is taken for
 * damaged, lost or forgotten because memory was short. $PSUP_TEST_EVERY=N tries
 * every allocation from the N-th on, not some; a minute's worth.
 */
#include "lib_fail.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "lib_inner.h"

#ifdef __SANITIZE_ADDRESS__
#define needs_malloc() skip_scenario("the sanitizer has an allocator of its own")
#else
#define needs_malloc() (void)0
#endif

TestSuite(memory_heirs);

static const char *runs, *waits, *ended;
static struct answer *token;

/* Something of everything that a master keeps. */
static void
fill(void)
{
	struct peer *p;

	failing_psupd(.workers = 1);
	p = peer(NULL);
	listen_to_events(p, "gateway");
	ended = background(STR("command", "echo kept; exit 3"),
	    STR("requestKey", "first"), MAP("tags", "a", "b"));
	await_end(ended);
	await_events(p, 1);
	hang_up(p);
	runs = background(STR("command", "cat"), STR("lane", "narrow"));
	waits = background(STR("command", "echo once"), STR("lane", "narrow"),
	    STR("label", "l"));
	token = ask("mintToken", STR("scope", "other"));
	expect_ok(ask("drainScope", STR("scope", "dry"), INT("timeout", 0)));
	expect_ok(ask("lanes", STR("op", "pause"), STR("lane", "quiet")));
	expect_ok(ask("poll", STR("sessionId", ended), STR("reader", "r")));
	expect_ok(ask("list")); /* its place is on record */
}

/* All of it is there. */
static void
expect_all(int n)
{
	struct answer *a;
	struct peer *p;

	scn_ask_again();
	a = ask("poll", STR("sessionId", runs));
	expect(a->status == PSUP_OK, "failure %d: %s", n, a->message);
	expect(psup_get_is(details(a), "status", "running"), "failure %d: %s",
	    n, words_of(a));
	a = ask("poll", STR("sessionId", waits));
	expect(a->status == PSUP_OK, "failure %d: %s", n, a->message);
	expect(pid_of(waits) == 0, "failure %d: it runs beside the other", n);
	a = ask("log", STR("sessionId", ended));
	expect(a->status == PSUP_OK && strstr(words_of(a), "kept") != NULL,
	    "failure %d: %s", n, words_of(a));
	expect_str(ask("poll", STR("sessionId", ended), STR("reader", "r")),
	    "output", "");
	expect(psup_value_count(psup_value_get(
	    psup_reply_value(ask("events", STR("subscriber", "gateway"),
	    INT("since", 0))->reply), "events")) == 1, "failure %d", n);
	expect(psup_value_count(psup_value_get(psup_reply_value(
	    ask("listTokens")->reply), "tokens")) == 1, "failure %d", n);
	expect_refused(ask("exec", STR("command", "true"),
	    STR("scope", "dry")), "scope-draining");
	a = ask("lanes", STR("lane", "quiet"));
	expect(psup_get_bool(psup_value_at(psup_value_get(details(a), "lanes"),
	    0), "paused", false), "failure %d: %s", n, words_of(a));
	p = peer(NULL);
	expect(strcmp(id_of(ask_as(p, "exec", STR("command", "true"),
	    STR("requestKey", "first"), YES("background"))), ended) == 0,
	    "failure %d: the key started another one", n);
	hang_up(p);
}

/* The next master has its n-th allocation fail. False: it made no so many. */
static bool
next_master(int n)
{
	uint32_t used = atomic_load(&fail_page()->used);
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	struct fail_process *heir = &fail_page()->process[used];

	fail_from_start(FAIL_MASTER, FAIL_MALLOC, n, 1, ENOMEM);
	kill_now(master_pid(), SIGKILL);
	while (atomic_load(&heir->pid) == 0) {
		expect(now_ms() < until, "no new master");
		poll(NULL, 0, 1);
	}
	fail_from_start(FAIL_MASTER, FAIL_MALLOC, 0, 0, 0);
	/* what fails in a request is another test's */
	scn_ask_again();
	ask("list");
	poll(NULL, 0, 10);
	atomic_store(&heir->order[FAIL_MALLOC].times, 0);
	expect_all(n);
	return atomic_load(&heir->failed[FAIL_MALLOC]) > 0;
}

SCENARIO(memory_heirs, a_new_master_loses_nothing)
{
	const char *every = getenv("PSUP_TEST_EVERY");
	int step = every != NULL ? 1 : 29, n;
	int64_t began;

	needs_malloc();
	began = now_ms();
	fill();
	for (n = every != NULL ? atoi(every) : 0; next_master(n); n += step) {
		/* one that died young is waited for longer and longer */
		if (step == 1)
			poll(NULL, 0, 1010);
		if (now_ms() - began > 60000)
			break;
	}
	expect(n > 40, "%d allocations", n);
}
