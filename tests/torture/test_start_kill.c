/* SPDX-License-Identifier: MIT */
/*
 * Sessions start while workers, or the master, are killed with SIGKILL again
 * and again. Each command appends one line to a file of its own, so a session
 * that was lost has no line and one that was started twice has two. Every
 * session also owes exactly one exit event.
 *
 * PSUP_TORTURE_STARTS=N for long campaigns, PSUP_SEED=N to repeat one.
 */
#include "../scenario/lib_scn.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS       6
#define STARTS_MAX    100000
#define ID_BYTES      48
#define PATIENCE_MS   240000
#define PROGRESS_MS   10000

TestSuite(start_kill);

/* What the threads share. */
static struct story {
	const char *dir, *lines; /* runtime directory; where the files are */
	bool master;             /* the victim; else a worker */
	long pause_ms;           /* between two kills */
	int starts;
	unsigned seed;
	_Atomic int next;        /* number of the next start */
	_Atomic bool stop;
	_Atomic int kills, repeats;
	_Atomic int answered;    /* starts that got their answer */
	_Atomic int trouble;     /* a client gave up */
	char (*ids)[ID_BYTES];
} story;

static void
nap(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

/* One process of the kind that is to die, by the board; 0: none is up. */
static pid_t
pick_victim(psup_view *v)
{
	struct psup_view_process p;
	pid_t found[64];
	size_t cursor = 0, n = 0;

	while (psup_view_next_process(v, &cursor, &p) == 1) {
		bool wanted = story.master
		    ? strcmp(p.role, "master") == 0
		    : p.slot >= 0 && strcmp(p.role, "standby") != 0;

		if (wanted && p.pid > 1 && n < 64)
			found[n++] = p.pid;
	}
	return n > 0 ? found[(unsigned)rand_r(&story.seed) % n] : 0;
}

/* A machine so busy that no master gets through its start before it is killed
 * again proves nothing: the next kill waits for an answer, not for ever, since
 * a master that is killed while it recovers is part of the story. */
static void
await_progress(int answered)
{
	for (int i = 0; i < PROGRESS_MS && !atomic_load(&story.stop) &&
	     atomic_load(&story.answered) == answered;
	     i++)
		nap(1);
}

/* Kills until told to stop. */
static void *
killer(void *arg)
{
	psup_view *v = NULL;

	(void)arg;
	if (psup_view_open(story.dir, &v, NULL, 0) != 0)
		return NULL;
	while (!atomic_load(&story.stop)) {
		pid_t pid = pick_victim(v);
		int answered = atomic_load(&story.answered);

		if (pid > 1 && kill(pid, SIGKILL) == 0)
			atomic_fetch_add(&story.kills, 1);
		nap(story.pause_ms);
		await_progress(answered);
	}
	psup_view_close(&v);
	return NULL;
}

/* The exec of number i: always the same key. */
static psup_args *
exec_args(int i)
{
	psup_args *a = psup_args_new();
	char text[400];

	snprintf(text, sizeof(text), "echo %d >>%s/%d; echo done", i,
	    story.lines, i);
	psup_args_str(a, "command", text);
	snprintf(text, sizeof(text), "start-%d", i);
	psup_args_str(a, "requestKey", text);
	psup_args_bool(a, "background", true);
	return a;
}

/* Starts one session, asking again with its key until it is answered. */
static bool
start_one(psup *p, int i)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	psup_args *a = exec_args(i);
	int64_t until = now_ms() + PATIENCE_MS;
	psup_reply *reply = NULL;
	int status = PSUP_ERR_LOST;

	o.runtime_dir = story.dir;
	while (status != PSUP_OK && now_ms() < until) {
		if (!psup_is_connected(p) && psup_connect(p, &o) != PSUP_OK) {
			nap(1);
			continue;
		}
		status = psup_call(p, "exec", a, PATIENCE_MS, &reply);
		if (status != PSUP_OK)
			atomic_fetch_add(&story.repeats, 1);
		if (status == PSUP_ERR_REFUSED)
			break;
	}
	if (status == PSUP_OK)
		psup_get_copy(psup_reply_details(reply), "sessionId",
		    story.ids[i], ID_BYTES);
	else
		fprintf(stderr, "start %d: %s\n", i, psup_error_message(p));
	atomic_fetch_add(&story.answered, 1);
	psup_reply_free(&reply);
	psup_args_free(&a);
	return status == PSUP_OK;
}

/* Takes numbers until there are no more. */
static void *
client(void *arg)
{
	psup *p = NULL;
	int i;

	(void)arg;
	if (psup_new(&p) != PSUP_OK)
		abort();
	while ((i = atomic_fetch_add(&story.next, 1)) < story.starts)
		if (!start_one(p, i))
			atomic_fetch_add(&story.trouble, 1);
	psup_free(&p);
	return NULL;
}

/* Size of the file of number i: -1 where there is none. */
static long
size_of_file(int i)
{
	char path[400];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%d", story.lines, i);
	return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

/* Exactly one line, and an end that says so. */
static void
expect_ran_once(int i)
{
	char want[24];
	long size;
	const psup_value *row = await_end(story.ids[i]);

	expect(psup_get_is(row, "exitReason", "exit") &&
	        psup_get_int(row, "exitCode", -1) == 0,
	    "start %d (%s) did not end well", i, story.ids[i]);
	size = size_of_file(i);
	expect(size == snprintf(want, sizeof(want), "%d\n", i),
	    "start %d (%s): %ld bytes", i, story.ids[i], size);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Every session has exactly one exit event. Forgets which start was whose. */
static void
expect_events_once(void)
{
	int *seen = scn_alloc((size_t)story.starts * sizeof(*seen));
	int64_t since = 0;
	char id[ID_BYTES], (*at)[ID_BYTES];

	qsort(story.ids, (size_t)story.starts, ID_BYTES, by_name);
	for (;;) {
		struct answer *a = ask("events", INT("since", since),
		    INT("limit", 500));
		const psup_value *v = psup_value_get(details(a), "events");

		if (psup_value_count(v) == 0)
			break;
		for (size_t k = 0; k < psup_value_count(v); k++) {
			const psup_value *e = psup_value_at(v, k);

			expect(psup_get_int(e, "seq", 0) > since,
			    "out of order");
			since = psup_get_int(e, "seq", 0);
			psup_get_copy(e, "sessionId", id, sizeof(id));
			at = bsearch(id, story.ids, (size_t)story.starts,
			    ID_BYTES, by_name);
			expect(at != NULL, "an event of %s", id);
			seen[at - story.ids]++;
		}
	}
	for (int i = 0; i < story.starts; i++)
		expect(seen[i] == 1, "%s: %d events", story.ids[i], seen[i]);
}

/* A number of the environment. */
static int
number(const char *name, int otherwise)
{
	const char *s = getenv(name);
	int n = s != NULL ? atoi(s) : otherwise;

	return n > 0 && n <= STARTS_MAX ? n : otherwise;
}

/* Starts, kills, and looks what became of all. */
static void
tell(bool master, long pause_ms, int starts)
{
	pthread_t t[CLIENTS + 1];

	psupd(.workers = 2, .conf = "[retain]\nevents = 100000\n");
	expect_ok(ask("list"));
	story.dir = runtime_dir();
	story.lines = file_in_scenario("lines");
	story.master = master;
	story.pause_ms = pause_ms;
	story.starts = number("PSUP_TORTURE_STARTS", starts);
	story.seed = (unsigned)number("PSUP_SEED", (int)time(NULL) % STARTS_MAX);
	story.ids = scn_alloc((size_t)story.starts * ID_BYTES);
	fprintf(stderr, "PSUP_SEED=%u\n", story.seed);
	expect(mkdir(story.lines, 0700) == 0);
	pthread_create(&t[CLIENTS], NULL, killer, NULL);
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&t[i], NULL, client, NULL);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(t[i], NULL);
	atomic_store(&story.stop, true);
	pthread_join(t[CLIENTS], NULL);
	fprintf(stderr, "%d starts, %d kills, %d repeated\n", story.starts,
	    story.kills, story.repeats);
	expect(story.trouble == 0, "%d clients gave up", story.trouble);
	ask("list"); /* its connection may have died with a master */
	for (int i = 0; i < story.starts; i++)
		expect_ran_once(i);
	expect_events_once();
}

/* Between two kills of the master: some are to find it at work and not all of
 * them reading its index, which takes the sanitizers' one longer. */
#ifdef __SANITIZE_ADDRESS__
#define MASTER_PAUSE_MS 200
#define MASTER_STARTS   400
#else
#define MASTER_PAUSE_MS 100
#define MASTER_STARTS   1000
#endif

Test(start_kill, workers_die_while_sessions_start, .timeout = 3600)
{
	scn_begin("start_kill/workers");
	tell(false, 20, 300);
	scn_end();
}

Test(start_kill, the_master_dies_while_sessions_start, .timeout = 3600)
{
	scn_begin("start_kill/master");
	tell(true, MASTER_PAUSE_MS, MASTER_STARTS);
	scn_end();
}
