/* SPDX-License-Identifier: MIT */
/* A session that waits is a session: foreground, yield and background, kill
 * and time-outs; thousands of them ($PSUP_TEST_CROWD: how many, 3000); and no
 * end of one loses a place. */
#include "lib_scn.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

TestSuite(lane_queue);

/* How many hold a place, and how many wait. */
static void
expect_lane(const char *lane, int64_t active, int64_t queued)
{
	struct answer *a = ask("lanes", STR("lane", lane));
	const psup_value *row = psup_value_at(psup_value_get(details(a),
	                                          "lanes"), 0);

	expect(psup_get_int(row, "active", 0) == active &&
	        psup_get_int(row, "queued", 0) == queued,
	    "%s", words_of(a));
}

SCENARIO(lane_queue, a_foreground_command_waits_its_turn)
{
	struct question *q;
	struct answer *a;

	psupd();
	await_output(holder("main", "gate"), "up\n");
	q = ask_later(NULL, "exec", STR("command", "echo ran"),
	    STR("lane", "main"), NIL("yieldMs"));
	expect_lane("main", 1, 1);
	expect(!is_answered(q));
	open_gate("gate");
	a = answer_of(q);
	expect_str(a, "status", "completed");
	expect_str(a, "aggregated", "ran\n");
}

SCENARIO(lane_queue, a_yield_tells_the_place)
{
	struct answer *a;
	const char *id;

	psupd();
	await_output(holder("main", "gate"), "up\n");
	holder("main", "gate");
	a = ask("exec", STR("command", "echo ran"), STR("lane", "main"),
	    INT("yieldMs", 10));
	expect_str(a, "status", "running");
	expect_str(a, "state", "queued");
	expect_int(a, "queuePosition", 2);
	expect_text(a, "lane main, place 2");
	id = id_of(a);
	a = ask("poll", STR("sessionId", id));
	expect_str(a, "status", "running");
	open_gate("gate");
	expect(psup_get_is(await_end(id), "status", "completed"));
	expect_text(ask("poll", STR("sessionId", id)), "ran");
}

SCENARIO(lane_queue, a_waiting_command_can_be_ended)
{
	struct question *q;
	const char *killed, *removed;
	struct answer *a;

	psupd();
	await_output(holder("main", "gate"), "up\n");
	killed = holder("main", "gate");
	removed = holder("main", "gate");
	q = ask_later(NULL, "exec", STR("command", "echo ran"),
	    STR("lane", "main"), NIL("yieldMs"));
	expect_lane("main", 1, 3);
	expect_ok(ask("kill", STR("sessionId", killed)));
	expect(psup_get_is(await_end(killed), "status", "killed"));
	expect_ok(ask("remove", STR("sessionId", removed)));
	expect(!is_listed(NULL, removed));
	give_up(q);
	answer_of(q);
	expect_lane("main", 1, 0);
	a = ask("poll", STR("sessionId", killed));
	expect_str(a, "exitReason", "manual-cancel");
	open_gate("gate");
}

/* Neither time-out counts what was spent in the queue. */
SCENARIO(lane_queue, timeouts_begin_with_the_command)
{
	struct question *q;
	struct answer *a;
	int64_t until;

	psupd();
	await_output(holder("main", "gate"), "up\n");
	q = ask_later(NULL, "exec", STR("command", "echo ran"),
	    STR("lane", "main"), NIL("yieldMs"), NUM("timeout", 3),
	    NUM("noOutputTimeout", 3));
	until = now_ms() + 3200;
	while (now_ms() < until) /* longer than both */
		expect_lane("main", 1, 1);
	open_gate("gate");
	a = answer_of(q);
	expect_str(a, "status", "completed");
	expect_str(a, "exitReason", "exit");
}

/* A lane of width 1 that everybody must give back. */
SCENARIO(lane_queue, no_end_keeps_a_place)
{
	const char *id, *next;

	psupd(.conf = "[exec]\ngrace_ms = 100\n");
#define LANE STR("lane", "main")
	id = background(PUPPET("print up; hang"), LANE);
	await_output(id, "up\n");
	kill_now(pid_of(id), SIGKILL);
	await_end(id);
	expect_lane("main", 0, 0);
	ask("exec", PUPPET("hang"), LANE, NUM("timeout", 0.05));
	ask("exec", LIST("argv", "/no/such/program"), LANE);
	ask("exec", STR("command", "true"), LANE,
	    ONE("limits", "openFiles", 8));
	expect_lane("main", 0, 0);
	/* its worker dies, and it goes on; then it dies */
	id = background(PUPPET("print up; hang"), LANE);
	await_output(id, "up\n");
	kill_worker_of(id);
	expect_lane("main", 1, 0);
	kill_now(pid_of(id), SIGKILL);
	await_end(id);
	expect_lane("main", 0, 0);
	/* removed, cleared, reset in whatever state it is: also starting */
	for (int i = 0; i < 20; i++) {
		id = background(PUPPET("hang"), LANE);
		next = background(PUPPET("hang"), LANE);
		if (i % 2 == 0)
			expect_ok(ask("lanes", STR("op", "clear"), LANE));
		expect_ok(ask("remove", STR("sessionId", id)));
		expect_ok(ask("lanes", STR("op", "clear"), LANE));
		ask("remove", STR("sessionId", next)); /* cleared, or not */
	}
	/* a removed one gives its place back when it is gone */
	expect_str(ask("exec", STR("command", "true"), LANE, NIL("yieldMs")),
	    "status", "completed");
	expect_lane("main", 0, 0);
#undef LANE
}

/* ---------------------------------------------------------------- thousands */

enum { CROWD_MAX = 10000, AT_ONCE = 50 };

/* Some of each tenth, AT_ONCE a time. */
static int
crowd_size(void)
{
	const char *env = getenv("PSUP_TEST_CROWD");
	int n = env == NULL ? 3000 : atoi(env);

	expect(n >= 10 * AT_ONCE && n <= CROWD_MAX && n % AT_ONCE == 0,
	    "PSUP_TEST_CROWD=%s", env);
	return n;
}

/* The quickest of a tenth: a busy machine slows some, hardly all. */
static double
quickest(const double *v, size_t n)
{
	double best = v[0];

	for (size_t i = 1; i < n; i++)
		if (v[i] < best)
			best = v[i];
	return best;
}

/* Each command appended its number. All before it have started, and seven of
 * them at most are still on the way to that. */
static void
expect_order(const char *path, int crowd)
{
	static bool wrote[CROWD_MAX];
	FILE *f = fopen(path, "re");
	int got, n = 0, oldest = 0;

	expect(f != NULL);
	while (fscanf(f, "%d", &got) == 1) {
		int before = 0;

		expect(got >= 0 && got < crowd && !wrote[got], "%d", got);
		wrote[got] = true;
		for (int i = oldest; i < got; i++)
			before += !wrote[i];
		expect(before <= 7, "%d ran before %d others", got, before);
		while (oldest < crowd && wrote[oldest])
			oldest++;
		n++;
	}
	fclose(f);
	expect(n == crowd, "%d of %d ran", n, crowd);
}

/* The processor time that a process has had, in us. */
static double
cpu_of(pid_t pid)
{
	char path[64];
	double ns = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	f = fopen(path, "re");
	expect(f != NULL && fscanf(f, "%lf", &ns) == 1, "%s", path);
	fclose(f);
	return ns / 1e3;
}

/* Queued on a lane of width 8, they run in order, over a master's death, and
 * the last costs the master as much as the first. */
SCENARIO(lane_queue, thousands_run_in_order)
{
	static double took[CROWD_MAX / AT_ONCE];
	const int crowd = crowd_size();
	struct question *q[AT_ONCE];
	const char *path;
	char script[400];
	double first, last;
	size_t tenth = (size_t)crowd / AT_ONCE / 10;
	struct answer *a;
	int64_t until;
	pid_t master;

	psupd(.conf = "[lane \"crowd\"]\nwidth = 8\n"
	              "[exec]\nnotify_on_exit = no\n");
	master = master_pid();
	path = file_in_scenario("order");
	expect_ok(ask("lanes", STR("op", "pause"), STR("lane", "crowd")));
	for (int i = 0; i < crowd; i += AT_ONCE) {
		double before = cpu_of(master);

		for (int k = 0; k < AT_ONCE; k++) {
			snprintf(script, sizeof(script), "echo %d >> %s",
			    i + k, path);
			q[k] = ask_later(NULL, "exec",
			    LIST("argv", "/bin/sh", "-c", script),
			    STR("lane", "crowd"), YES("background"));
		}
		for (int k = 0; k < AT_ONCE; k++)
			expect_str(answer_of(q[k]), "state", "queued");
		took[i / AT_ONCE] = cpu_of(master) - before;
	}
	first = quickest(took, tenth);
	last = quickest(took + crowd / AT_ONCE - tenth, tenth);
	fprintf(stderr,
	    "%d queued: %.0f us each for the first tenth, %.0f for the last, "
	    "ratio %.2f\n",
	    crowd, first / AT_ONCE, last / AT_ONCE, last / first);
	expect(last < 3 * first, "%.0f us, then %.0f", first, last);
	expect_lane("crowd", 0, crowd);
	kill_master();
	expect_lane("crowd", 0, crowd);
	expect_ok(ask("lanes", STR("op", "resume"), STR("lane", "crowd")));
	until = now_ms() + 4 * SCN_DEADLINE_MS;
	do {
		a = ask("lanes", STR("op", "drain"), STR("lane", "crowd"),
		    INT("timeout", 5000));
		expect_ok(a);
		expect(now_ms() < until, "%s", words_of(a));
	} while (!psup_get_bool(details(a), "drained", false));
	expect_order(path, crowd);
}
