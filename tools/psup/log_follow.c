/* SPDX-License-Identifier: MIT */
/*
 * psup log --follow, of one session or of several: a long poll by position for
 * each, so that nothing is missed and a server that was away is asked for the
 * next byte. Called by cmd_log.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log.h"

#define WAIT_MS   20000
#define MAX_BYTES 262144
#define HELD_MAX  65536u /* of a sequence that does not end */

struct following;

/* One session. */
struct follower {
	struct following *f;
	const char *id;
	int64_t next; /* the position of what is to come */
	bool polling, over;
	/* with --timestamps */
	char *held; /* bytes of a sequence whose end is to come */
	size_t held_len;
	bool mid_line;
};

struct following {
	struct cli *c;
	const struct log_options *o;
	struct follower *v;
	size_t count, left;           /* left: are not over */
	const struct follower *shown; /* the last that wrote; NULL: none yet */
	bool mid_line;                /* so ends what we wrote */
	bool stopped;                 /* answers come too late now */
	int64_t dropped;              /* bytes, of all of them */
	int code;
};

/* Where another session goes on: its name. */
static void
begin(struct follower *one)
{
	struct following *f = one->f;

	if (f->shown == one)
		return;
	if (f->count > 1 && f->mid_line)
		putchar('\n');
	if (f->count > 1)
		log_title(one->id, f->shown == NULL);
	f->shown = one;
}

/* ------------------------------------------------------------------- times */

/* When the byte at a position came: by the poll's stretches, from *at on.
 * 0: nobody knows. */
static int64_t
time_of(const psup_value *times, size_t *at, int64_t pos)
{
	const psup_value *next;

	while ((next = psup_value_at(times, *at + 1)) != NULL &&
	    psup_value_int(psup_value_at(next, 0), INT64_MAX) <= pos)
		++*at;
	return psup_value_int(psup_value_at(psup_value_at(times, *at), 1), 0);
}

/* As the server has it: "2026-11-21T10:43:26.120Z ", or "- ". */
static void
put_time(int64_t ms)
{
	time_t sec = (time_t)(ms / 1000);
	char text[24];
	struct tm tm;

	if (ms <= 0 || gmtime_r(&sec, &tm) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		fputs("- ", stdout);
	else
		printf("%s.%03dZ ", text, (int)(ms % 1000));
}

/* Bytes from position `pos` on, each line after its time. */
static void
put_lines(struct follower *one, const psup_value *times, const char *data,
    size_t len, int64_t pos)
{
	const char *lf, *rule = one->f->o->page.text;
	char *shown = malloc(4 * len + 1);
	size_t n, at = 0;

	for (; shown != NULL && len > 0; data += n, len -= n, pos += (int64_t)n) {
		lf = memchr(data, '\n', len);
		n = lf != NULL ? (size_t)(lf - data) + 1 : len;
		if (!one->mid_line)
			put_time(time_of(times, &at, pos));
		one->mid_line = lf == NULL;
		cli_put_output(one->f->c, shown, psup_clean(rule, data, n, false, shown));
	}
	free(shown);
}

/* The same of a poll's bytes, and of those that were not whole before. */
static void
take_lines(struct follower *one, const psup_value *times, const char *data,
    size_t len, bool last)
{
	int64_t from = one->next - (int64_t)one->held_len;
	size_t all = one->held_len + len, open;
	char *joined = realloc(one->held, all + 1);

	if (joined == NULL)
		return;
	memcpy(joined + one->held_len, data, len);
	open = psup_open_tail(joined, all);
	if (last || open > HELD_MAX)
		open = 0;
	if (all > open)
		begin(one);
	put_lines(one, times, joined, all - open, from);
	memmove(joined, joined + all - open, open);
	one->held = joined;
	one->held_len = open;
	one->f->mid_line = one->mid_line;
}

/* ------------------------------------------------------------------- polls */

/* Nothing more comes of it. */
static void
end(struct follower *one, int code)
{
	one->over = true;
	one->f->left--;
	if (code != EXIT_OK)
		one->f->code = one->f->count > 1 ? EXIT_FAILED : code;
}

/* What came. */
static void
take(struct follower *one, const psup_value *details, const char *data,
    size_t len)
{
	struct following *f = one->f;
	int64_t dropped = psup_get_int(details, "dropped", 0);
	int64_t next = psup_get_int(details, "next", one->next + (int64_t)len);
	bool last = next == one->next &&
	    !psup_get_is(details, "status", "running");

	f->dropped += dropped;
	if (dropped > 0) {
		fflush(stdout);
		cli_say("%s%s%lld bytes are not retained",
		    f->count > 1 ? one->id : "", f->count > 1 ? ": " : "",
		    (long long)dropped);
	}
	if (f->o->page.timestamps) {
		one->next = next - (int64_t)len;
		take_lines(one, psup_value_get(details, "times"), data, len,
		    last || dropped > 0);
	} else if (len > 0) {
		begin(one);
		cli_put_output(f->c, data, len);
		f->mid_line = data[len - 1] != '\n';
	}
	fflush(stdout);
	one->next = next;
	if (last)
		end(one, EXIT_OK);
}

static void
on_polled(void *arg, int status, psup_reply *reply)
{
	struct follower *one = arg;
	struct following *f = one->f;
	const psup_value *details = psup_reply_details(reply);
	const char *data;
	size_t len;

	one->polling = false;
	data = psup_get_str(details, "output", &len);
	if (f->stopped || (status == PSUP_OK && data != NULL)) {
		if (!f->stopped)
			take(one, details, data, len);
		psup_reply_free(&reply);
	} else if (status == PSUP_OK) {
		end(one, cli_answer(f->c, &reply));
	} else {
		f->code = cli_fail(f->c, status);
		f->stopped = true;
	}
}

static int
ask(struct follower *one)
{
	const struct psup_log_page *page = &one->f->o->page;
	psup_args *a = psup_args_new();
	int rc;

	if (a == NULL)
		return PSUP_ERR_NO_MEMORY;
	psup_args_str(a, "sessionId", one->id);
	psup_args_int(a, "since", one->next);
	psup_args_int(a, "timeout", WAIT_MS);
	psup_args_int(a, "maxBytes", MAX_BYTES);
	psup_args_bool(a, "raw", page->raw || page->timestamps);
	psup_args_str(a, "text", page->text);
	if (page->timestamps)
		psup_args_bool(a, "times", true);
	rc = psup_send(one->f->c->p, "poll", a, on_polled, one, NULL);
	psup_args_free(&a);
	one->polling = rc == PSUP_OK;
	return rc;
}

/* Where the last lines begin that --limit or --since is for. */
static void
find_begin(struct follower *one)
{
	struct psup_log_page page = one->f->o->page;
	const psup_value *details;
	psup_reply *reply;
	size_t len;
	int rc;

	page.raw = true;
	page.timestamps = false;
	page.text = NULL;
	rc = psup_log_page(one->f->c->p, one->id, &page, &reply);
	if (rc != PSUP_OK) {
		end(one, cli_fail(one->f->c, rc));
		return;
	}
	details = psup_reply_details(reply);
	if (psup_get_str(details, "output", &len) == NULL) {
		end(one, cli_answer(one->f->c, &reply));
		return;
	}
	one->next = psup_get_int(details, "totalOutputChars", 0) - (int64_t)len;
	psup_reply_free(&reply);
}

/* Until all are over. */
static void
loop(struct following *f)
{
	int rc = PSUP_OK;

	while (f->left > 0 && !f->stopped && !ferror(stdout)) {
		for (size_t i = 0; i < f->count && rc == PSUP_OK; i++)
			if (!f->v[i].over && !f->v[i].polling)
				rc = ask(&f->v[i]);
		if (rc != PSUP_OK) {
			f->code = cli_fail(f->c, rc);
			break;
		}
		(void)psup_turn(f->c->p, -1);
	}
	f->stopped = true;
	psup_close(f->c->p);
}

int
log_follow(struct cli *c, const struct log_options *o, const char *const *ids,
    size_t count)
{
	struct following f = {.c = c, .o = o, .count = count, .left = count};

	f.v = calloc(count, sizeof(*f.v));
	if (f.v == NULL)
		return EXIT_INTERNAL;
	for (size_t i = 0; i < count; i++) {
		f.v[i] = (struct follower){.f = &f, .id = ids[i]};
		if (o->page.limit >= 0 || o->page.since_ms > 0)
			find_begin(&f.v[i]);
	}
	loop(&f);
	if (f.dropped > 0)
		cli_say("%lld bytes of output were not there any more; "
		        LOG_KEEP_MORE, (long long)f.dropped);
	for (size_t i = 0; i < count; i++)
		free(f.v[i].held);
	free(f.v);
	return ferror(stdout) ? EXIT_INTERNAL : f.code;
}
