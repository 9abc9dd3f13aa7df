/* SPDX-License-Identifier: MIT */
/*
 * One function per method of sessions and events: builds the params, calls, hands
 * the reply on. Called by programs; what administrators ask for is in
 * calls_admin.c.
 */
#include <stdlib.h>
#include <string.h>

#include "common/keys.h"
#include "internal.h"

/* What a call that waits on the server's side may take beyond that. */
#define CALL_MS 30000

int
call_args(struct psup *p, const char *method, psup_args *a, int64_t wait_ms,
    psup_reply **ret)
{
	int rc;

	if (a == NULL)
		return error_set(p, PSUP_ERR_NO_MEMORY, "no-memory", "",
		    "no memory for the arguments");
	if (wait_ms > 86400000)
		wait_ms = 86400000; /* the most that any method waits */
	rc = psup_call(p, method, a, wait_ms < 0 ? -1 : (int)wait_ms + CALL_MS,
	    ret);
	psup_args_free(&a);
	return rc;
}

psup_args *
text_args(const char *key, const char *text, const char *key2,
    const char *text2)
{
	psup_args *a = psup_args_new();

	psup_args_str(a, key, text);
	psup_args_str(a, key2, text2);
	return a;
}

psup_args *
session_args(const char *session)
{
	return text_args("sessionId", session, NULL, NULL);
}

int
psup_exec(struct psup *p, const struct psup_exec *x, psup_reply **ret)
{
	if (x->size != sizeof(*x))
		return error_set(p, PSUP_ERR_USAGE, "usage", "",
		    "psup_exec.size is wrong");
	/* It may wait in a lane for as long as it likes: no deadline here. */
	return call_args(p, "exec", psup_exec_args(x), -1, ret);
}

int
psup_list(struct psup *p, bool all, psup_reply **ret)
{
	psup_args *a = psup_args_new();

	args_add_flag(a, "all", all);
	return call_args(p, "list", a, 0, ret);
}

int
psup_poll(struct psup *p, const char *session, int wait_ms, int64_t since,
    const char *reader, psup_reply **ret)
{
	psup_args *a = session_args(session);

	if (wait_ms < 0)
		wait_ms = 0;
	args_add_int(a, "timeout", wait_ms, 0);
	args_add_int(a, "since", since, -1);
	psup_args_str(a, "reader", reader);
	return call_args(p, "poll", a, wait_ms, ret);
}

int
psup_log(struct psup *p, const char *session, int64_t offset, int64_t limit,
    const char *stream, psup_reply **ret)
{
	struct psup_log_page page = PSUP_LOG_PAGE_INIT;

	page.offset = offset;
	page.limit = limit;
	page.stream = stream;
	return psup_log_page(p, session, &page, ret);
}

int
psup_log_page(struct psup *p, const char *session,
    const struct psup_log_page *page, psup_reply **ret)
{
	psup_args *a;

	if (page->size != sizeof(*page))
		return error_set(p, PSUP_ERR_USAGE, "usage", "",
		    "psup_log_page.size is wrong");
	a = session_args(session);
	args_add_int(a, "offset", page->offset, -1);
	args_add_int(a, "limit", page->limit, -1);
	psup_args_str(a, "stream", page->stream);
	psup_args_str(a, "text", page->text);
	psup_args_str(a, "grep", page->grep);
	psup_args_str(a, "regex", page->regex);
	args_add_int(a, "context", page->context, 0);
	args_add_int(a, "sinceMs", page->since_ms, 0);
	args_add_flag(a, "timestamps", page->timestamps);
	args_add_flag(a, "raw", page->raw);
	return call_args(p, "log", a, 0, ret);
}

int
psup_resize(struct psup *p, const char *session, int cols, int rows,
    psup_reply **ret)
{
	psup_args *a = session_args(session);

	psup_args_int(a, "cols", cols);
	psup_args_int(a, "rows", rows);
	return call_args(p, "resize", a, 0, ret);
}

int
psup_screen(struct psup *p, const char *session, unsigned flags,
    psup_reply **ret)
{
	psup_args *a = session_args(session);

	if (flags & PSUP_SCREEN_WITH_CELLS)
		psup_args_bool(a, "cells", true);
	if (flags & PSUP_SCREEN_UNTRIMMED)
		psup_args_bool(a, "trim", false);
	return call_args(p, "screen", a, 0, ret);
}

int
psup_write(struct psup *p, const char *session, const void *data, size_t size,
    bool eof, int wait_ms, psup_reply **ret)
{
	return psup_write_at(p, session, data, size, eof, -1, wait_ms, ret);
}

int
psup_write_at(struct psup *p, const char *session, const void *data,
    size_t size, bool eof, int64_t position, int wait_ms, psup_reply **ret)
{
	psup_args *a = session_args(session);

	if (wait_ms < 0)
		wait_ms = 0;
	psup_args_bytes(a, "data", data, size);
	args_add_flag(a, "eof", eof);
	args_add_int(a, "position", position, -1);
	args_add_int(a, "timeout", wait_ms, 0);
	return call_args(p, "write", a, wait_ms, ret);
}

/* A list of texts that may be absent; returns how many. */
static size_t
add_list(psup_args *a, const char *key, const char *const *items)
{
	size_t n = 0;

	if (items == NULL)
		return 0;
	psup_args_list_begin(a, key);
	for (; items[n] != NULL; n++)
		psup_args_str(a, NULL, items[n]);
	psup_args_list_end(a);
	return n;
}

int
psup_send_keys(struct psup *p, const char *session, const struct psup_keys *k,
    psup_reply **ret)
{
	psup_args *a = session_args(session);
	size_t count = 1;

	if (k->size != sizeof(*k)) {
		psup_args_free(&a);
		return error_set(p, PSUP_ERR_USAGE, "usage", "",
		    "psup_keys.size is wrong");
	}
	if (k->literal != NULL)
		psup_args_bytes(a, "literal", k->literal,
		    strlen(k->literal));
	count += add_list(a, "hex", k->hex);
	count += add_list(a, "keys", k->keys);
	args_add_int(a, "delayMs", k->delay_ms, 0);
	args_add_flag(a, "force", k->force);
	return call_args(p, "send-keys", a,
	    k->delay_ms > 0 ? (int64_t)count * k->delay_ms : 0, ret);
}

const char *
psup_key_name(size_t i)
{
	const struct key *key = key_row(i);

	return key != NULL ? key->name : NULL;
}

int
psup_submit(struct psup *p, const char *session, const void *data, size_t size,
    psup_reply **ret)
{
	psup_args *a = session_args(session);

	if (a != NULL && data != NULL)
		psup_args_bytes(a, "data", data, size);
	return call_args(p, "submit", a, 0, ret);
}

int
psup_paste(struct psup *p, const char *session, const void *text, size_t size,
    bool bracketed, psup_reply **ret)
{
	psup_args *a = session_args(session);

	psup_args_bytes(a, "text", text, size);
	if (!bracketed)
		psup_args_bool(a, "bracketed", false);
	return call_args(p, "paste", a, 0, ret);
}

int
psup_kill(struct psup *p, const char *session, const char *signal,
    int grace_ms, unsigned flags, psup_reply **ret)
{
	psup_args *a = session_args(session);

	psup_args_str(a, "signal", signal);
	args_add_int(a, "graceMs", grace_ms, -1);
	if (flags & PSUP_KILL_NO_WAIT)
		psup_args_bool(a, "wait", false);
	if (flags & PSUP_KILL_SIGNAL_ONLY)
		psup_args_bool(a, "escalate", false);
	/* asked again where its answer is lost, done once */
	psup_args_int(a, "killId", 1 + (int64_t)arc4random_uniform(INT32_MAX));
	/* the longest grace, and what finalising takes, fit into a minute */
	return call_args(p, "kill", a, 60000, ret);
}

int
psup_background(struct psup *p, const char *session, psup_reply **ret)
{
	return call_args(p, "background", session_args(session), 0, ret);
}

int
psup_clear(struct psup *p, const char *session, psup_reply **ret)
{
	return call_args(p, "clear", session_args(session), 0, ret);
}

int
psup_remove(struct psup *p, const char *session, psup_reply **ret)
{
	return call_args(p, "remove", session_args(session), 60000, ret);
}

int
psup_wait(struct psup *p, const char *const *sessions, size_t count, bool any,
    int64_t wait_ms, psup_reply **ret)
{
	struct psup_until u = PSUP_UNTIL_INIT;

	u.any = any;
	return psup_wait_until(p, sessions, count, &u, wait_ms, ret);
}

int
psup_wait_until(struct psup *p, const char *const *sessions, size_t count,
    const struct psup_until *u, int64_t wait_ms, psup_reply **ret)
{
	psup_args *a;

	if (u == NULL || u->size < sizeof(*u))
		return error_set(p, PSUP_ERR_USAGE, "usage", "",
		    "struct psup_until is not initialised");
	a = psup_args_new();
	if (wait_ms < 0)
		wait_ms = 0;
	psup_args_list_begin(a, "sessionIds");
	for (size_t i = 0; i < count; i++)
		psup_args_str(a, NULL, sessions[i]);
	psup_args_list_end(a);
	psup_args_str(a, "mode", u->any ? "any" : "all");
	psup_args_int(a, "timeout", wait_ms);
	psup_args_str(a, "text", u->text);
	psup_args_str(a, "regex", u->regex);
	if (u->idle_ms != 0)
		psup_args_int(a, "idleMs", u->idle_ms);
	if (u->bytes != 0)
		psup_args_int(a, "bytes", u->bytes);
	if (u->since != 0)
		psup_args_int(a, "since", u->since);
	args_add_flag(a, "input", u->input);
	args_add_flag(a, "raw", u->raw);
	return call_args(p, "wait", a, wait_ms, ret);
}

/* events and subscribe: the same parameters but one. */
static psup_args *
event_args(const char *subscriber, int64_t since, const char *const *kinds)
{
	psup_args *a = psup_args_new();

	psup_args_str(a, "subscriber", subscriber);
	args_add_int(a, "since", since, -1);
	if (kinds != NULL)
		(void)add_list(a, "kinds", kinds);
	return a;
}

int
psup_events(struct psup *p, const char *subscriber, int64_t since,
    int64_t limit, psup_reply **ret)
{
	return psup_events_of(p, NULL, subscriber, since, limit, ret);
}

int
psup_events_of(struct psup *p, const char *const *kinds,
    const char *subscriber, int64_t since, int64_t limit, psup_reply **ret)
{
	psup_args *a = event_args(subscriber, since, kinds);

	args_add_int(a, "limit", limit, -1);
	return call_args(p, "events", a, 0, ret);
}

int
psup_subscribe(struct psup *p, const char *subscriber, int64_t since,
    psup_reply **ret)
{
	return psup_subscribe_to(p, NULL, subscriber, since, ret);
}

int
psup_subscribe_to(struct psup *p, const char *const *kinds,
    const char *subscriber, int64_t since, psup_reply **ret)
{
	return call_args(p, "subscribe", event_args(subscriber, since, kinds),
	    0, ret);
}

int
psup_ack(struct psup *p, const char *subscriber, int64_t seq, psup_reply **ret)
{
	psup_args *a = event_args(subscriber, -1, NULL);

	if (a != NULL)
		psup_args_int(a, "seq", seq);
	return call_args(p, "ack", a, 0, ret);
}
