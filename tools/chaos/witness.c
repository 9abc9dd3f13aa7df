/* SPDX-License-Identifier: MIT */
/*
 * One who asks little, in a scope of its own, beside hostile clients: how long
 * its requests take, and how late the lines of its session come, first on the
 * idle server, then among them. A session writes its clock every 5 ms.
 */
#include "chaos.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define IDLE_MS   5000
#define BEAT_NS   5000000
#define PAUSE_MS  10
#define LATE_LINE_NS UINT64_C(1000000000)

enum { IDLE, AMONG, PHASES };

static struct {
	_Atomic int phase;
	_Atomic bool stop;
	pthread_t asking, following;
	/* each one thread's alone */
	struct times asked[PHASES], ran[PHASES], lines[PHASES];
} witness;

/* Who was there before the hostile, by pidfd: what the shared memory says of their
 * deaths is theirs to write over. */
static struct {
	const char *name, *role[2];
	int pidfd[2 * PROCESSES_MAX], count;
} watched[] = {{.name = "masters", .role = {"master"}},
    {.name = "workers", .role = {"worker", "standby"}}};
#define WATCHED (sizeof(watched) / sizeof(watched[0]))

/* As the session's command. */
int __attribute__((noreturn))
beat_main(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	for (;;) {
		t.tv_nsec += BEAT_NS;
		if (t.tv_nsec >= 1000000000) {
			t.tv_nsec -= 1000000000;
			t.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		if (dprintf(STDOUT_FILENO, "%llu\n",
		        (unsigned long long)clock_boot_ns()) < 0)
			_exit(1);
	}
}

static bool
connected(psup *p)
{
	struct psup_options o = PSUP_OPTIONS_INIT;

	if (psup_is_connected(p))
		return true;
	o.runtime_dir = chaos.dir;
	o.client = o.scope = WITNESS_SCOPE;
	return psup_connect(p, &o) == PSUP_OK;
}

/* One request, and how long it took from the wish to the answer. A refusal is
 * wrong: this scope is far within its share. */
static void
timed(psup *p, const char *method, psup_args *a, struct times *to,
    char ret_id[ID_BYTES])
{
	uint64_t began = clock_boot_ns();
	psup_reply *r = NULL;
	int rc = PSUP_ERR_LOST;

	while (!atomic_load(&witness.stop)) {
		rc = connected(p) ? psup_call(p, method, a, PATIENCE_MS, &r)
		                  : PSUP_ERR_LOST;
		if (rc == PSUP_OK || rc == PSUP_ERR_REFUSED)
			break;
		if (clock_boot_ns() - began > PATIENCE_MS * UINT64_C(1000000)) {
			lost(LOSS_STUCK, "witness: %s: %s", method,
			    psup_error_message(p));
			break;
		}
		nap_ms(1);
	}
	if (rc == PSUP_ERR_REFUSED ||
	    (rc == PSUP_OK && psup_reply_is_error(r)))
		lost(LOSS_ANSWER, "witness: %s: %s", method, said(p, r));
	if (rc == PSUP_OK && to != NULL)
		times_add(to, clock_boot_ns() - began);
	if (rc == PSUP_OK && ret_id != NULL)
		psup_get_copy(psup_reply_details(r), "sessionId", ret_id,
		    ID_BYTES);
	psup_reply_free(&r);
	psup_args_free(&a);
}

static psup_args *
exec_args(const char *arg)
{
	psup_args *a = psup_args_new();
	char key[48];

	psup_args_list_begin(a, "argv");
	psup_args_str(a, NULL, arg != NULL ? chaos.self : "/bin/true");
	if (arg != NULL)
		psup_args_str(a, NULL, "--child");
	psup_args_str(a, NULL, arg);
	psup_args_list_end(a);
	snprintf(key, sizeof(key), "witness-%llu",
	    (unsigned long long)clock_boot_ns());
	psup_args_str(a, "requestKey", key);
	psup_args_str(a, "workdir", "/");
	psup_args_str(a, "stdin", "closed");
	psup_args_int(a, "timeout", 0);
	psup_args_bool(a, "background", arg != NULL);
	return a;
}

static void *
ask_thread(void *)
{
	psup *p = client_new();
	char id[ID_BYTES] = "";

	timed(p, "exec", exec_args("beat"), NULL, id);
	while (!atomic_load(&witness.stop)) {
		int phase = atomic_load(&witness.phase);

		timed(p, "list", NULL, &witness.asked[phase], NULL);
		timed(p, "poll", of_session(id), &witness.asked[phase], NULL);
		timed(p, "log", of_session(id), &witness.asked[phase], NULL);
		timed(p, "exec", exec_args(NULL), &witness.ran[phase], NULL);
		nap_ms(PAUSE_MS);
	}
	psup_free(&p);
	return NULL;
}

/* The lines of one answer; a cut one waits for its rest. Returns the bytes of
 * whole lines. */
static size_t
take_lines(const char *text, size_t size)
{
	const char *at = text, *end;

	while ((end = memchr(at, '\n', size - (size_t)(at - text))) != NULL) {
		uint64_t wrote = strtoull(at, NULL, 10), is = clock_boot_ns();

		at = end + 1;
		if (wrote == 0 || wrote > is)
			continue;
		times_add(&witness.lines[atomic_load(&witness.phase)],
		    is - wrote);
		if (is - wrote > LATE_LINE_NS && chaos.o.late_ms > 0)
			lost(LOSS_LATE, "witness: a line came %.0f ms late",
			    (double)(is - wrote) / 1e6);
	}
	return (size_t)(at - text);
}

static void *
follow_thread(void *)
{
	psup *p = client_new();
	char id[ID_BYTES] = "";
	int64_t since = 0;

	timed(p, "exec", exec_args("beat"), NULL, id);
	while (!atomic_load(&witness.stop)) {
		psup_reply *r = NULL;
		const char *text;
		size_t size = 0;

		if (!connected(p) ||
		    psup_poll(p, id, 1000, since, NULL, &r) != PSUP_OK) {
			nap_ms(1);
			continue;
		}
		text = psup_get_str(psup_reply_details(r), "output", &size);
		if (text != NULL)
			since += (int64_t)take_lines(text, size);
		if (psup_get_int(psup_reply_details(r), "dropped", 0) > 0)
			since = psup_get_int(psup_reply_details(r), "next",
			    since);
		psup_reply_free(&r);
	}
	psup_free(&p);
	return NULL;
}

static void
watch_all(void)
{
	struct process p[PROCESSES_MAX];
	psup_view *v = NULL;

	if (psup_view_open(chaos.dir, &v, NULL, 0) != 0)
		die("the server's processes cannot be seen");
	for (size_t i = 0; i < WATCHED; i++)
		for (size_t r = 0; r < 2 && watched[i].role[r] != NULL; r++)
			for (int n = server_processes(v, watched[i].role[r], p);
			     n > 0; n--)
				watched[i].pidfd[watched[i].count++] =
				    (int)syscall(SYS_pidfd_open, p[n - 1].pid, 0);
	psup_view_close(&v);
}

void
witness_start(void)
{
	if (chaos.o.hostile == NULL)
		return;
	watch_all();
	if (pthread_create(&witness.asking, NULL, ask_thread, NULL) != 0 ||
	    pthread_create(&witness.following, NULL, follow_thread, NULL) != 0)
		die("pthread_create");
	for (int i = 0; i < IDLE_MS / 20 && !atomic_load(&chaos.interrupted);
	     i++)
		nap_ms(20);
	atomic_store(&witness.phase, AMONG);
}

/* Who died though nobody was killed. */
static void
count_the_dead(void)
{
	if (chaos.o.victims != 0 || chaos.o.fault != NULL || chaos.o.upgrade)
		return;
	for (size_t i = 0; i < WATCHED; i++) {
		int dead = 0;

		for (int n = 0; n < watched[i].count; n++) {
			struct pollfd p = {watched[i].pidfd[n], POLLIN, 0};

			dead += p.fd < 0 || poll(&p, 1, 0) != 0;
			(void)close(p.fd);
		}
		if (dead > 0)
			lost(LOSS_SERVER, "%d of %d %s died", dead,
			    watched[i].count, watched[i].name);
	}
	if (server_is_dead())
		lost(LOSS_SERVER, "the keeper died");
}

void
witness_stop(void)
{
	double idle, among;

	if (chaos.o.hostile == NULL)
		return;
	atomic_store(&witness.stop, true);
	pthread_join(witness.asking, NULL);
	pthread_join(witness.following, NULL);
	count_the_dead();
	idle = times_percentile_ms(&witness.asked[IDLE], 0.99);
	among = times_percentile_ms(&witness.asked[AMONG], 0.99);
	if (chaos.o.late_ms > 0 && among > idle + chaos.o.late_ms)
		lost(LOSS_LATE, "witness: answers p99 %.1f ms, %.1f on the "
		    "idle server", among, idle);
}

struct times *
witness_times(int i, const char **ret_name, const char **ret_key)
{
	static const struct {
		const char *name, *key;
		struct times *t;
	} all[] = {
	    {"answers on the idle server", "answersIdle", &witness.asked[IDLE]},
	    {"answers among the hostile", "answers", &witness.asked[AMONG]},
	    {"true on the idle server", "startsIdle", &witness.ran[IDLE]},
	    {"true among the hostile", "starts", &witness.ran[AMONG]},
	    {"lines on the idle server", "linesIdle", &witness.lines[IDLE]},
	    {"lines among the hostile", "lines", &witness.lines[AMONG]},
	};

	if (i >= (int)(sizeof(all) / sizeof(all[0])))
		return NULL;
	*ret_name = all[i].name;
	*ret_key = all[i].key;
	return all[i].t;
}
