/* SPDX-License-Identifier: MIT */
/*
 * --command: a program of the user's, as sessions that are killed with
 * everything they started, at a time of their life, at a text they write, or
 * at random; started again; and for each run how it ended and what it left:
 * processes, files in the temporary directory that was made for it, objects
 * of shared memory.
 */
#include "chaos.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLICE_MS 1000 /* an interrupt is looked for so often */

struct run {
	int slot, number;
	char id[ID_BYTES];
	char tmp[128];
	bool killed;       /* by us */
	char status[16], reason[32], signal[24];
	int64_t code, duration_ms, bytes, remaining;
	int files, shm;
};

static json_t *rows;
static pthread_mutex_t rows_lock = PTHREAD_MUTEX_INITIALIZER;

static int
entries_of(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	if (d == NULL)
		return 0;
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n - 2;
}

static bool
program_start(psup *p, struct run *u)
{
	psup_args *a = psup_args_new();
	psup_reply *r = NULL;
	char cwd[4096], key[64];
	int rc;

	psup_args_str(a, "command", chaos.o.command);
	if (getcwd(cwd, sizeof(cwd)) != NULL)
		psup_args_str(a, "workdir", cwd);
	psup_args_map_begin(a, "env");
	psup_args_str(a, "TMPDIR", u->tmp);
	psup_args_map_end(a);
	snprintf(key, sizeof(key), "chaos-%d-%d-%d", getpid(), u->slot,
	    u->number);
	psup_args_str(a, "requestKey", key);
	psup_args_bool(a, "background", true);
	psup_args_num(a, "timeout", 0);
	rc = ask(p, "exec", a, &r);
	if (rc == PSUP_OK)
		psup_get_copy(psup_reply_details(r), "sessionId", u->id,
		    sizeof(u->id));
	else
		lost(LOSS_ANSWER, "exec: %s", psup_error_message(p));
	psup_reply_free(&r);
	atomic_fetch_add(&chaos.started, rc == PSUP_OK);
	return rc == PSUP_OK && u->id[0] != '\0';
}

/* One poll of its output from *pos on. False: it has ended. */
static bool
look(psup *p, struct run *u, int64_t *pos, int wait_ms, psup_reply **ret)
{
	psup_args *a = of_session(u->id);
	const psup_value *d;
	int rc;

	psup_args_int(a, "since", *pos);
	psup_args_int(a, "timeout", wait_ms);
	psup_args_bool(a, "raw", true);
	rc = ask(p, "poll", a, ret);
	if (rc != PSUP_OK)
		return false;
	d = psup_reply_details(*ret);
	*pos = psup_get_int(d, "next", *pos);
	return psup_get_is(d, "status", "running");
}

/* Waits up to `ms` for its end, or for a text where one is given. Returns the
 * word for what was met: "exit", "text", "timeout"; "" : no answer. */
static void
await(psup *p, struct run *u, const char *text, int64_t ms, char met[16])
{
	psup_args *a = psup_args_new();
	psup_reply *r = NULL;

	met[0] = '\0';
	psup_args_str(a, "sessionId", u->id);
	psup_args_str(a, "text", text);
	psup_args_int(a, "timeout", ms < SLICE_MS ? ms : SLICE_MS);
	if (ask(p, "wait", a, &r) == PSUP_OK)
		psup_get_copy(psup_reply_details(r), "met", met, 16);
	psup_reply_free(&r);
}

/* Until it is time to kill it. False: it ended before. */
static bool
await_moment(psup *p, struct run *u, uint32_t *random)
{
	double share = (rnd(random) % 10000 + 1) / 10001.0;
	double ms = chaos.o.after_ms >= 0 ? chaos.o.after_ms
	    : chaos.o.on_text != NULL     ? 0
	    : -log(share) / chaos.o.rate * 1000 * chaos.o.sessions;
	char met[16] = "timeout";
	uint64_t until;

	while (chaos.o.on_text != NULL && strcmp(met, "timeout") == 0)
		await(p, u, chaos.o.on_text, SLICE_MS, met);
	if (chaos.o.on_text != NULL && strcmp(met, "text") != 0)
		return false;
	until = clock_boot_ns() + (uint64_t)(ms * 1e6);
	for (uint64_t now; (now = clock_boot_ns()) < until;) {
		await(p, u, NULL, (int64_t)((until - now) / 1000000) + 1, met);
		if (strcmp(met, "timeout") != 0)
			return false;
	}
	return true;
}

static void
program_kill(psup *p, struct run *u)
{
	psup_args *a = of_session(u->id);
	psup_reply *r = NULL;

	psup_args_int(a, "graceMs", 0);
	if (ask(p, "kill", a, &r) == PSUP_OK && !psup_reply_is_error(r)) {
		u->killed = true;
		u->remaining = psup_get_int(psup_reply_details(r),
		    "remaining", 0);
		atomic_fetch_add(&chaos.kills_command, 1);
	}
	psup_reply_free(&r);
}

/* How it ended, and then it is forgotten. */
static void
program_end(psup *p, struct run *u, int shm_before)
{
	psup_reply *r = NULL;
	int64_t pos = 0;
	psup_args *a;

	while (look(p, u, &pos, 5000, &r) &&
	       !atomic_load(&chaos.interrupted))
		psup_reply_free(&r);
	if (r != NULL) {
		const psup_value *d = psup_reply_details(r);

		psup_get_copy(d, "status", u->status, sizeof(u->status));
		psup_get_copy(d, "exitReason", u->reason, sizeof(u->reason));
		psup_get_copy(d, "exitSignal", u->signal, sizeof(u->signal));
		u->code = psup_get_int(d, "exitCode", -1);
		u->bytes = pos;
		if (!u->killed)
			u->remaining = (int64_t)psup_value_count(
			    psup_value_get(d, "holders"));
	}
	psup_reply_free(&r);
	a = of_session(u->id);
	ask(p, "remove", a, &r);
	psup_reply_free(&r);
	u->files = entries_of(u->tmp);
	u->shm = entries_of("/dev/shm") - shm_before;
	atomic_fetch_add(&chaos.ended, 1);
}

static void
note_run(const struct run *u)
{
	json_t *row = json_pack(
	    "{s:i,s:i,s:b,s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:i,s:i}", "slot",
	    u->slot, "run", u->number, "killed", u->killed, "status",
	    u->status, "exitReason", u->reason, "exitSignal", u->signal,
	    "exitCode", (json_int_t)u->code, "durationMs",
	    (json_int_t)u->duration_ms, "outputBytes", (json_int_t)u->bytes,
	    "processesLeft", (json_int_t)u->remaining, "filesLeft", u->files,
	    "sharedMemoryDelta", u->shm);

	if (u->remaining > 0)
		lost(LOSS_PROCESS, "run %d of slot %d: %lld processes left",
		    u->number, u->slot, (long long)u->remaining);
	pthread_mutex_lock(&rows_lock);
	json_array_append_new(rows, row);
	if (!chaos.o.quiet)
		fprintf(stderr, "slot %d run %d: %s %s%s%s code %lld, %lld ms, "
		    "%lld bytes, left: %lld processes, %d files\n", u->slot,
		    u->number, u->killed ? "killed," : "ended,", u->reason,
		    u->signal[0] != '\0' ? " " : "", u->signal,
		    (long long)u->code, (long long)u->duration_ms,
		    (long long)u->bytes, (long long)u->remaining, u->files);
	pthread_mutex_unlock(&rows_lock);
}

static bool
enough(int number)
{
	return atomic_load(&chaos.interrupted) ||
	    (chaos.o.restarts >= 0 && number > chaos.o.restarts) ||
	    (chaos.o.kills > 0 &&
	        atomic_load(&chaos.kills_command) >= chaos.o.kills) ||
	    (chaos.o.seconds > 0 &&
	        (double)(clock_boot_ns() - chaos.began_ns) / 1e9 >=
	            chaos.o.seconds);
}

/* One after the other on one slot. */
static void *
slot_thread(void *arg)
{
	int slot = (int)(uintptr_t)arg;
	uint32_t random = chaos.o.seed + 7919u * (uint32_t)slot + 1;
	psup *p = client_new();

	for (int number = 0; !enough(number); number++) {
		struct run u = {.slot = slot, .number = number, .code = -1};
		int shm = entries_of("/dev/shm");
		uint64_t began = clock_boot_ns();

		snprintf(u.tmp, sizeof(u.tmp), "%s/tmp-%d-%d", chaos.work,
		    slot, number);
		if (mkdir(u.tmp, 0700) < 0 || !program_start(p, &u))
			break;
		if (await_moment(p, &u, &random))
			program_kill(p, &u);
		program_end(p, &u, shm);
		u.duration_ms = (int64_t)((clock_boot_ns() - began) / 1000000);
		note_run(&u);
	}
	psup_free(&p);
	return NULL;
}

/* How many runs ended in each way. */
static void
print_endings(void)
{
	json_t *ways = json_object(), *row, *n;
	const char *way;
	size_t i;

	json_array_foreach(rows, i, row) {
		char text[128];
		const char *sig = json_string_value(
		    json_object_get(row, "exitSignal"));

		snprintf(text, sizeof(text), "%s%s, %s %s",
		    json_is_true(json_object_get(row, "killed"))
		        ? "killed by psup-chaos"
		        : "ended by itself",
		    json_integer_value(json_object_get(row,
		        "processesLeft")) > 0 ? ", processes left" : "",
		    json_string_value(json_object_get(row, "exitReason")),
		    sig != NULL ? sig : "");
		n = json_object_get(ways, text);
		json_object_set_new(ways, text,
		    json_integer(json_integer_value(n) + 1));
	}
	json_object_foreach(ways, way, n)
		printf("%6lld  %s\n",
		    (long long)json_integer_value(n), way);
	json_decref(ways);
}

int
program_run(void)
{
	pthread_t t[512];
	int n = chaos.o.sessions < 512 ? chaos.o.sessions : 512;

	rows = json_array();
	chaos.began_ns = clock_boot_ns();
	for (int i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, slot_thread,
		        (void *)(uintptr_t)(i + 1)) != 0)
			die("pthread_create: %s", strerror(errno));
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	if (chaos.o.json == NULL || strcmp(chaos.o.json, "-") != 0)
		print_endings();
	return 0;
}

json_t *
program_rows(void)
{
	return rows;
}
