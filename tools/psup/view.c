/* SPDX-License-Identifier: MIT */
/*
 * What list, log and status show when the socket does not answer: shared
 * memory, through libpsup's view. Nothing here talks to the server.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "common/clock.h"
#include "common/grow.h"
#include "list.h"

#define READ_BYTES 65536u
#define HELD_BYTES 8192u /* of a sequence that is not whole, at most */
#define BUSY_TRIES 50

/* Opens the view, or says why not. */
int
view_open(struct cli *c, psup_view **ret)
{
	char why[512] = "";
	int rc;

	if (cli_is_scoped(c)) {
		cli_say("shared memory shows every scope: it is not read on "
		        "behalf of one");
		return EXIT_FAILED;
	}
	rc = psup_view_open(c->runtime_dir, ret, why, sizeof(why));
	if (rc == 0)
		return EXIT_OK;
	cli_say("%s", why[0] != '\0' ? why : strerror(-rc));
	return rc == -ENOENT ? EXIT_NO_SERVER : EXIT_INTERNAL;
}

/* Newest start first. */
static int
newer_first(const void *a, const void *b)
{
	const struct psup_view_session *x = a, *y = b;

	if (x->created_ms != y->created_ms)
		return x->created_ms < y->created_ms ? 1 : -1;
	return x->instance < y->instance ? 1 : x->instance > y->instance ? -1 : 0;
}

/* The backgrounded sessions, or all of them, sorted. */
static int
collect(psup_view *v, bool all, struct psup_view_session **ret,
    size_t *ret_count)
{
	struct psup_view_session *rows = NULL;
	size_t count = 0, room = 0, cursor = 0;
	struct psup_view_session row;

	while (psup_view_next_session(v, &cursor, &row) == 1) {
		if (!all && !row.backgrounded)
			continue;
		if (!GROW(rows, room, count + 1, 64)) {
			free(rows);
			return -ENOMEM;
		}
		rows[count++] = row;
	}
	if (count > 1)
		qsort(rows, count, sizeof(*rows), newer_first);
	*ret = rows;
	*ret_count = count;
	return 0;
}

/* A text, and a number, of an object. */
static void
put_text(json_t *o, const char *key, const char *text)
{
	json_object_set_new(o, key, json_of_text(text, strlen(text)));
}

static void
put_number(json_t *o, const char *key, uint64_t v)
{
	json_object_set_new(o, key, json_integer((json_int_t)v));
}

/* One row under the server's names. */
static json_t *
json_of_row(const struct psup_view_session *s, uint64_t incarnation)
{
	bool running = strcmp(s->status, "running") == 0;
	char instance[40];
	json_t *row = json_object();
	uint64_t end = running ? clock_wall_ms() : s->ended_ms;
	uint64_t start = s->started_ms > 0 ? s->started_ms : s->created_ms;

	snprintf(instance, sizeof(instance), "%016llx.%016llx",
	    (unsigned long long)incarnation,
	    (unsigned long long)s->instance);
	put_text(row, "sessionId", s->id);
	put_text(row, "instanceId", instance);
	put_text(row, "status", s->status);
	put_text(row, "state", s->state);
	put_number(row, "startedAt", start);
	put_number(row, "runtimeMs", end > start ? end - start : 0);
	put_text(row, "command", s->command);
	put_text(row, "name", s->name);
	put_number(row, "totalOutputChars", s->total_bytes);
	if (s->lane[0] != '\0')
		put_text(row, "lane", s->lane);
	if (s->scope[0] != '\0')
		put_text(row, "scopeKey", s->scope);
	if (s->label[0] != '\0')
		put_text(row, "label", s->label);
	if (running && s->pid > 0)
		put_number(row, "pid", (uint64_t)s->pid);
	if (!running) {
		json_object_set_new(row, "exitCode",
		    s->exit_code >= 0 ? json_integer(s->exit_code)
		                      : json_null());
		json_object_set_new(row, "exitSignal",
		    s->exit_signal > 0
		        ? json_string(psup_signal_name(s->exit_signal))
		        : json_null());
		put_text(row, "exitReason", s->reason);
		put_number(row, "endedAt", s->ended_ms);
	}
	return row;
}

int
view_list(struct cli *c, bool all, json_t **ret)
{
	struct psup_view_session *rows = NULL;
	struct psup_view_totals totals;
	json_t *sessions;
	psup_view *v;
	size_t count = 0;
	int code;

	code = view_open(c, &v);
	if (code != EXIT_OK)
		return code;
	if (collect(v, all, &rows, &count) < 0) {
		psup_view_close(&v);
		return EXIT_INTERNAL;
	}
	cli_say("the server does not answer; this is from its shared memory");
	psup_view_totals(v, &totals);
	sessions = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(sessions, json_of_row(&rows[i],
		        totals.incarnation));
	*ret = json_pack("{s:s, s:{s:s, s:b, s:o}, s:b}", "text",
	    count == 0 ? "No running or recent sessions." : "", "details",
	    "status", "completed", "fromSharedMemory", 1, "sessions", sessions,
	    "isError", 0);
	free(rows);
	psup_view_close(&v);
	return EXIT_OK;
}

/* Is this stream wanted? */
static bool
stream_wanted(const char *wanted, enum psup_stream stream)
{
	static const char *const names[] = {
		[PSUP_STDOUT] = "stdout", [PSUP_STDERR] = "stderr",
		[PSUP_MIXED] = "mixed"};

	return wanted == NULL || strcmp(wanted, names[stream]) == 0;
}

/* Reads one stretch, trying again while a writer is in the way. */
static ssize_t
read_stretch(psup_view *v, uint64_t instance, uint64_t from, char *buf,
    struct psup_view_chunk *ret)
{
	ssize_t n;

	for (int i = 0; i < BUSY_TRIES; i++) {
		n = psup_view_read_output(v, instance, from, buf, READ_BYTES,
		    ret);
		if (n >= 0 || ret->verdict != PSUP_READ_BUSY)
			return n;
		clock_nap(NSEC_PER_MSEC);
	}
	return -1;
}

/* Output on its way to stdout by c->rule; what is not whole yet waits. */
struct showing {
	const struct cli *c;
	const char *rule; /* NULL: as it is */
	char held[READ_BYTES + HELD_BYTES];
	size_t held_len;
};

/* The next part, or with NULL the end. False: stdout takes no more. */
static bool
show_part(struct showing *sh, const char *data, size_t len)
{
	static char shown[4 * sizeof(sh->held)];
	size_t open = 0, n;

	if (sh->rule == NULL)
		return fwrite(data, 1, len, stdout) == len;
	if (data != NULL)
		memcpy(sh->held + sh->held_len, data, len);
	sh->held_len += len;
	if (data != NULL)
		open = psup_open_tail(sh->held, sh->held_len);
	n = psup_clean(sh->rule, sh->held, sh->held_len - open, false, shown);
	cli_put_output(sh->c, shown, n);
	memmove(sh->held, sh->held + sh->held_len - open, open);
	sh->held_len = open;
	return !ferror(stdout);
}

int
view_each_stretch(psup_view *v, const struct psup_view_session *s,
    view_stretch_fn *fn, void *arg)
{
	static char buf[READ_BYTES];
	struct psup_view_chunk chunk = {0};
	ssize_t n;

	/* A command that goes on writing does not keep us here for ever. */
	while (chunk.next < s->total_bytes || chunk.next == 0) {
		n = read_stretch(v, s->instance, chunk.next, buf, &chunk);
		if (n < 0 && chunk.verdict == PSUP_READ_GONE)
			break; /* it never had any output */
		if (n < 0) {
			cli_say("%s: the output %s", s->id,
			    chunk.verdict == PSUP_READ_BUSY
			        ? "changes too fast to be read"
			        : "is damaged");
			return EXIT_INTERNAL;
		}
		if (n > 0 || chunk.dropped > 0)
			fn(arg, &chunk, buf, (size_t)n);
		if (n == 0)
			break;
		if (ferror(stdout)) {
			cli_say("stdout: %s", strerror(errno));
			return EXIT_INTERNAL;
		}
	}
	return EXIT_OK;
}

int
view_open_session(struct cli *c, const char *id, psup_view **ret,
    struct psup_view_session *ret_session)
{
	int code = view_open(c, ret);

	if (code != EXIT_OK || psup_view_find(*ret, id, ret_session) == 0)
		return code;
	cli_say("No session found for %.64s%s", id, c->meant_id);
	psup_view_close(ret);
	return EXIT_NOT_FOUND;
}

/* Retained output on its way to stdout. */
struct copying {
	struct showing *showing;
	const char *stream;
	uint64_t dropped;
};

/* One stretch of it. */
static void
copy_stretch(void *arg, const struct psup_view_chunk *chunk, const char *data,
    size_t len)
{
	struct copying *k = arg;

	k->dropped += chunk->dropped;
	if (len > 0 && stream_wanted(k->stream, chunk->stream))
		(void)show_part(k->showing, data, len);
}

int
view_log(struct cli *c, const char *id, const char *stream,
    void (*begin)(const char *id))
{
	static struct showing sh;
	struct copying k = {.showing = &sh, .stream = stream};
	struct psup_view_session s;
	psup_view *v;
	int code;

	code = view_open_session(c, id, &v, &s);
	if (code != EXIT_OK)
		return code;
	begin(id);
	sh.c = c;
	sh.rule = c->rule == NULL ? "clean"
	    : strcmp(c->rule, "raw") != 0 ? c->rule : NULL;
	code = view_each_stretch(v, &s, copy_stretch, &k);
	psup_view_close(&v);
	if (code == EXIT_OK && sh.rule != NULL)
		show_part(&sh, NULL, 0);
	if (k.dropped > 0)
		cli_say("%s: %llu bytes in the middle are not retained", s.id,
		    (unsigned long long)k.dropped);
	return code;
}

/* A process in the words of the status method. */
static json_t *
json_of_process(const struct psup_view_process *p)
{
	json_t *o = json_pack("{s:i, s:i, s:i, s:I}", "pid", p->pid,
	    "generation", (int)p->generation, "restarts", (int)p->restarts,
	    "sessions", (json_int_t)p->sessions);

	if (p->slot >= 0) {
		put_number(o, "slot", (uint64_t)p->slot);
		put_text(o, "role", p->role);
	}
	if (p->heartbeat_age_ms != UINT64_MAX)
		put_number(o, "heartbeatAgeMs", p->heartbeat_age_ms);
	if (p->last_words[0] != '\0')
		put_text(o, "lastWords", p->last_words);
	return o;
}

uint64_t
view_master_silent_ms(const char *runtime_dir)
{
	struct psup_view_process process;
	uint64_t silent = UINT64_MAX;
	psup_view *v;
	size_t cursor = 0;

	if (psup_view_open(runtime_dir, &v, NULL, 0) < 0)
		return silent;
	while (psup_view_next_process(v, &cursor, &process) == 1)
		if (strcmp(process.role, "master") == 0)
			silent = process.heartbeat_age_ms;
	psup_view_close(&v);
	return silent;
}

json_t *
view_status(const char *runtime_dir)
{
	struct psup_view_process process;
	struct psup_view_totals t;
	json_t *status = json_object(), *workers = json_array();
	psup_view *v;
	size_t cursor = 0;

	if (psup_view_open(runtime_dir, &v, NULL, 0) < 0) {
		json_decref(status);
		json_decref(workers);
		return NULL;
	}
	while (psup_view_next_process(v, &cursor, &process) == 1) {
		if (process.slot >= 0)
			json_array_append_new(workers,
			    json_of_process(&process));
		else
			json_object_set_new(status, process.role,
			    json_of_process(&process));
	}
	json_object_set_new(status, "workers", workers);
	psup_view_totals(v, &t);
	json_object_set_new(status, "sessions",
	    json_pack("{s:I, s:I, s:I, s:I, s:I}", "queued",
	        (json_int_t)t.queued, "starting", (json_int_t)t.starting,
	        "running", (json_int_t)t.running, "exited",
	        (json_int_t)t.exited, "ended", (json_int_t)t.ended));
	json_object_set_new(status, "output",
	    json_pack("{s:I, s:I}", "budgetBytes", (json_int_t)t.budget_bytes,
	        "usedBytes", (json_int_t)t.budget_used));
	put_text(status, "runtimeDir", psup_view_dir(v));
	json_object_set_new(status, "fromSharedMemory", json_true());
	psup_view_close(&v);
	return status;
}
