/* SPDX-License-Identifier: MIT */
/*
 * One thing asked of many sessions (bulk.h): the requests go out without
 * waiting for each other's answers, a window of them, so that ten that take
 * their grace to end take it together.
 */
#include "bulk.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"

#define WINDOW  64 /* requests under way */
#define LIST_MS 30000

/* One session's answer. */
struct asked {
	psup_reply *reply; /* NULL with done: it failed, and that was said */
	bool done;
};

struct bulk {
	struct cli *c;
	const char *method;
	const char *const *ids;
	bulk_fill_fn *fill;
	struct asked *v;
	size_t count, sent, shown;
	bool failed;
};

/* What an answer is for: the place of its session. */
struct place {
	struct bulk *b;
	size_t at;
};

static psup_args *
args_of(const char *id, bulk_fill_fn *fill)
{
	psup_args *a = psup_args_new();

	if (a == NULL)
		return NULL;
	psup_args_str(a, "sessionId", id);
	if (fill != NULL)
		fill(a);
	return a;
}

/* Says why there is no answer for one. */
static void
say_failed(struct bulk *b, size_t at)
{
	const char *message = psup_error_message(b->c->p);

	b->failed = true;
	if (b->c->json)
		cli_print_json(cli_error_object(psup_error_code(b->c->p),
		    psup_error_field(b->c->p), message));
	cli_say("%s: %s", b->ids[at], message);
}

static void
on_answer(void *arg, int status, psup_reply *reply)
{
	struct place *p = arg;
	struct asked *one = &p->b->v[p->at];

	one->done = true;
	one->reply = reply;
	if (status != PSUP_OK)
		say_failed(p->b, p->at);
	free(p);
}

/* Sends what the window has room for. */
static void
send_more(struct bulk *b)
{
	while (b->sent < b->count && psup_pending(b->c->p) < WINDOW) {
		psup_args *a = args_of(b->ids[b->sent], b->fill);
		struct place *p = malloc(sizeof(*p));

		if (p != NULL)
			*p = (struct place){b, b->sent};
		if (p == NULL || a == NULL ||
		    psup_send(b->c->p, b->method, a, on_answer, p, NULL) !=
		        PSUP_OK) {
			b->v[b->sent].done = true;
			say_failed(b, b->sent);
			free(p);
		}
		psup_args_free(&a);
		b->sent++;
	}
}

/* Prints what has its turn. */
static void
show_done(struct bulk *b)
{
	for (; b->shown < b->sent && b->v[b->shown].done; b->shown++)
		if (b->v[b->shown].reply != NULL &&
		    cli_answer(b->c, &b->v[b->shown].reply) != EXIT_OK)
			b->failed = true;
}

/* Until each is answered, or none has been for wait_ms. */
static void
ask_all(struct bulk *b, int wait_ms)
{
	int64_t left = wait_ms, since = (int64_t)clock_boot_ms();
	size_t before;

	while (b->shown < b->count && left > 0) {
		send_more(b);
		before = psup_pending(b->c->p);
		/* where it fails every request has its answer */
		if (before > 0)
			(void)psup_turn(b->c->p, (int)left);
		if (psup_pending(b->c->p) < before)
			since = (int64_t)clock_boot_ms();
		left = since + wait_ms - (int64_t)clock_boot_ms();
		show_done(b);
	}
	psup_close(b->c->p); /* what is not answered is given up */
	show_done(b);
}

int
bulk_call(struct cli *c, const char *method, const char *const *ids,
    size_t count, bulk_fill_fn *fill, int wait_ms)
{
	struct bulk b = {.c = c, .method = method, .ids = ids, .fill = fill,
	    .count = count};
	int rc;

	if (count == 1)
		return cli_simple(c, method, args_of(ids[0], fill), wait_ms);
	c->meant_id[0] = '\0'; /* it was near to one of them */
	b.v = calloc(count + 1, sizeof(*b.v));
	rc = b.v != NULL ? cli_connect(c, CLI_NEVER_START, 0) : PSUP_OK;
	if (b.v == NULL || rc != PSUP_OK) {
		free(b.v);
		return rc != PSUP_OK ? cli_fail(c, rc) : EXIT_INTERNAL;
	}
	ask_all(&b, wait_ms);
	for (size_t i = 0; i < count; i++)
		psup_reply_free(&b.v[i].reply);
	free(b.v);
	return b.failed ? EXIT_FAILED : EXIT_OK;
}

static bool
has_row(const psup_value *rows, const char *id)
{
	for (size_t i = 0; i < psup_value_count(rows); i++)
		if (psup_get_is(psup_value_at(rows, i), "sessionId", id))
			return true;
	return false;
}

/* As the server says it of one. */
static void
say_unknown(struct cli *c, const char *id)
{
	char text[160];

	snprintf(text, sizeof(text), "No session found for %.80s", id);
	if (c->json)
		cli_print_json(cli_error_object("not-found", "sessionId", text));
	cli_say("%s", text);
}

size_t
bulk_known(struct cli *c, char **ids, size_t count)
{
	psup_args *a = psup_args_new();
	const psup_value *rows;
	psup_reply *reply;
	size_t left = 0;
	int rc;

	if (a == NULL)
		return count;
	psup_args_bool(a, "all", true);
	psup_args_list_begin(a, "sessionIds");
	for (size_t i = 0; i < count; i++)
		psup_args_str(a, NULL, ids[i]);
	psup_args_list_end(a);
	rc = psup_call(c->p, "list", a, LIST_MS, &reply);
	psup_args_free(&a);
	if (rc != PSUP_OK)
		return count;
	rows = psup_value_get(psup_reply_details(reply), "sessions");
	for (size_t i = 0; i < count; i++)
		if (rows == NULL || has_row(rows, ids[i]))
			ids[left++] = ids[i];
		else
			say_unknown(c, ids[i]);
	psup_reply_free(&reply);
	return left;
}

int
bulk_ask(struct cli *c, char **ids, size_t *count, bulk_ask_fn *ask,
    psup_reply **ret)
{
	const char *const *asked = (const char *const *)ids;
	int rc = ask(c, asked, *count, ret);

	if (rc != PSUP_OK || *count == 1 ||
	    cli_exit_code(*ret) != EXIT_NOT_FOUND)
		return rc;
	psup_reply_free(ret);
	*count = bulk_known(c, ids, *count);
	return *count > 0 ? ask(c, asked, *count, ret) : PSUP_OK;
}
