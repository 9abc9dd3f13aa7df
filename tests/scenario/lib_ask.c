/* SPDX-License-Identifier: MIT */
/*
 * Asking the server, and what is expected of its answers. Everything goes
 * through libpsup, as a gateway would.
 */
#include "lib_scn.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/proto.h"
#include "lib_inner.h"

#define PEERS_MAX  1100
#define EVENTS_MAX 4096
#define SHOWN      12

struct peer {
	psup *handle;
	struct event *events; /* room for EVENTS_MAX, once it listens */
	size_t event_count;
};

struct question {
	struct peer *peer;
	struct answer answer;
	uint32_t id;
	bool answered;
};

static struct answer *last_answer;
static struct peer *peers[PEERS_MAX];
static size_t peer_count;

/* ------------------------------------------------------------ connections */

static struct peer *
connect_as(const char *scope, const char *token)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	struct peer *p = scn_alloc(sizeof(*p));
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	int status;

	o.runtime_dir = scn.run;
	o.client = "scenario";
	o.scope = scope;
	o.token = token;
	if (psup_new(&p->handle) != PSUP_OK || peer_count == PEERS_MAX)
		abort();
	peers[peer_count++] = p;
	/* The socket appears when the keeper has made it, and a master may die
	 * before it has answered: its heir does. A refusal is final, and that
	 * there is no server any more. */
	while ((status = psup_connect(p->handle, &o)) != PSUP_OK) {
		expect(status != PSUP_ERR_REFUSED && now_ms() < until &&
		    !scn_guard_is_over(&scn.guard), "connect: %s",
		    psup_error_message(p->handle));
		poll(NULL, 0, 1);
	}
	return p;
}

void
scn_connect(void)
{
	scn.admin = connect_as(NULL, NULL);
}

struct peer *
peer(const char *scope)
{
	return connect_as(scope, NULL);
}

struct peer *
peer_by_token(const char *token)
{
	return connect_as(NULL, token);
}

void
hang_up(struct peer *p)
{
	psup_free(&p->handle);
}

bool
is_connected(struct peer *p)
{
	return psup_is_connected(p->handle);
}

/* The peer's handle; NULL means the scenario's own, connected again where a
 * scenario killed what was at the other end. */
static psup *
handle_of(struct peer **p)
{
	if (*p == NULL) {
		if (scn.admin == NULL || !psup_is_connected(scn.admin->handle))
			scn_connect();
		*p = scn.admin;
	}
	return (*p)->handle;
}

/* ------------------------------------------------------------------ events */

/* Called by libpsup: psup's notifications carry one map. */
static void
on_note(void *arg, const char *name, const psup_value *params)
{
	struct peer *p = arg;
	struct event *e;

	if (strcmp(name, "event") != 0 || p->event_count == EVENTS_MAX)
		return;
	if (psup_value_type(params) == PSUP_ARRAY)
		params = psup_value_at(params, 0);
	e = &p->events[p->event_count++];
	e->seq = psup_get_int(params, "seq", -1);
	psup_get_copy(params, "sessionId", e->id, sizeof(e->id));
	psup_get_copy(params, "kind", e->kind, sizeof(e->kind));
	psup_get_copy(params, "text", e->text, sizeof(e->text));
}

void
scn_listen(struct peer *p, const char *subscriber, const char *const *kinds)
{
	struct arg args[] = {STR("subscriber", subscriber),
		{.key = "kinds", .type = 'l', .list = kinds}, {0}};
	struct answer *a;

	if (kinds == NULL)
		args[1] = (struct arg){0};
	p->events = scn_alloc(EVENTS_MAX * sizeof(*p->events));
	psup_on_note(p->handle, on_note, p);
	a = scn_ask(p, "subscribe", args);
	expect(a->status == PSUP_OK, "%s", a->message);
}

size_t
await_events(struct peer *p, size_t n)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	while (p->event_count < n) {
		expect(now_ms() < until, "%zu events of %zu", p->event_count,
		    n);
		expect(psup_turn(p->handle, 100) == PSUP_OK ||
		    psup_is_connected(p->handle), "connection lost");
	}
	return p->event_count;
}

const struct event *
event_at(struct peer *p, size_t i)
{
	expect(i < p->event_count, "no event %zu", i);
	return &p->events[i];
}

void
scn_ask_again(void)
{
	if (scn.admin != NULL)
		hang_up(scn.admin);
	scn.admin = NULL;
}

void
scn_ask_to_stop(void)
{
	struct arg args[] = {INT("graceMs", 0), {0}};

	scn_ask(NULL, "shutdown", args);
	scn_ask_again();
}

/* All but the connection that still has to say shutdown. */
void
scn_hang_up(void)
{
	for (size_t i = 0; i < peer_count; i++)
		if (peers[i] != scn.admin)
			psup_free(&peers[i]->handle);
}

/* ----------------------------------------------------------------- asking */

/* One argument into the params. */
static void
add_arg(psup_args *to, const struct arg *a)
{
	switch (a->type) {
	case 's':
		psup_args_str(to, a->key, a->s);
		break;
	case 'i':
		psup_args_int(to, a->key, a->i);
		break;
	case 'd':
		psup_args_num(to, a->key, a->d);
		break;
	case 'b':
		psup_args_bool(to, a->key, a->i != 0);
		break;
	case 'n':
		psup_args_nil(to, a->key);
		break;
	case 'z':
		psup_args_bytes(to, a->key, a->s, a->len);
		break;
	case 'l':
		psup_args_list_begin(to, a->key);
		for (size_t i = 0; a->list[i] != NULL; i++)
			psup_args_str(to, NULL, a->list[i]);
		psup_args_list_end(to);
		break;
	case 'm':
		psup_args_map_begin(to, a->key);
		for (size_t i = 0; a->list[i] != NULL; i += 2)
			psup_args_str(to, a->list[i], a->list[i + 1]);
		psup_args_map_end(to);
		break;
	case 'M':
		psup_args_map_begin(to, a->key);
		psup_args_int(to, a->s, a->i);
		psup_args_map_end(to);
		break;
	case 't':
		psup_args_map_begin(to, a->key);
		psup_args_str(to, "text", a->s);
		psup_args_map_end(to);
		break;
	default:
		abort();
	}
}

static psup_args *
args_from(const struct arg *args)
{
	psup_args *to = psup_args_new();

	if (to == NULL)
		abort();
	for (; args->key != NULL; args++)
		add_arg(to, args);
	return to;
}

/* Is the value of one of the row's types, "str|nil"? */
static bool
is_of_type(const psup_value *v, const char *types)
{
	static const struct {
		enum psup_type type;
		const char *word;
	} words[] = {
		{PSUP_NIL, "nil"}, {PSUP_BOOL, "bool"}, {PSUP_INT, "int"},
		{PSUP_STR, "str"}, {PSUP_BYTES, "bin"}, {PSUP_MAP, "map"},
		{PSUP_ARRAY, "array"},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].type == psup_value_type(v)) {
			const char *at = strstr(types, words[i].word);

			/* of "array of maps" the first word counts */
			return at != NULL && (at == types || at[-1] == '|');
		}
	return false;
}

/* Every field of details, or of a row of them, has its row in the table; exec
 * alone says nil where there is no exit. */
static void
check_fields(const char *method, const psup_value *map, bool row)
{
	enum proto_method m = proto_method_find(method, strlen(method));

	for (size_t i = 0; i < psup_value_count(map); i++) {
		const psup_value *v = psup_value_at(map, i);
		size_t len;
		const char *key = psup_value_key(map, i, &len);
		bool known = false;

		for (size_t k = 0; k < proto_detail_count && !known; k++) {
			const struct proto_detail *d = &proto_details[k];

			known = strlen(d->name) == len &&
			    memcmp(d->name, key, len) == 0 &&
			    (row ? proto_detail_of_row(d)
				 : proto_detail_of(d, m)) &&
			    (is_of_type(v, d->type) ||
				(m == PROTO_EXEC &&
				    strcmp(d->group, "exit") == 0));
		}
		expect(known, "%s: %.*s has no row, or another type", method,
		    (int)len, key);
	}
}

/* The same of a whole answer of a tool's method. */
static void
check_details(const char *method, const psup_reply *reply)
{
	const psup_value *d = psup_reply_details(reply), *rows;

	for (size_t i = 0; i < proto_action_count; i++)
		if (strcmp(proto_method_name(proto_actions[i].method),
			method) == 0) {
			check_fields(method, d, false);
			rows = psup_value_get(d, "sessions");
			if (psup_value_type(rows) != PSUP_ARRAY)
				return;
			for (size_t k = 0; k < psup_value_count(rows); k++)
				check_fields(method, psup_value_at(rows, k),
				    true);
		}
}

/* Remembers an answer, so that it can be shown and freed. */
static struct answer *
keep_answer(const char *method, psup *handle, int status, psup_reply *reply,
    struct answer *a)
{
	a->status = status;
	a->reply = reply;
	if (status != PSUP_OK) {
		snprintf(a->code, sizeof(a->code), "%s",
		    psup_error_code(handle));
		snprintf(a->field, sizeof(a->field), "%s",
		    psup_error_field(handle));
		snprintf(a->message, sizeof(a->message), "%s",
		    psup_error_message(handle));
	}
	if (status == PSUP_OK)
		check_details(method, reply);
	a->method = method;
	a->before = last_answer;
	last_answer = a;
	return a;
}

struct answer *
scn_ask(struct peer *p, const char *method, const struct arg *args)
{
	psup *handle = handle_of(&p);
	psup_args *params = args_from(args);
	psup_reply *reply = NULL;
	int status = psup_call(handle, method, params, SCN_DEADLINE_MS,
	    &reply);

	psup_args_free(&params);
	return keep_answer(method, handle, status, reply,
	    scn_alloc(sizeof(struct answer)));
}

/* Called by libpsup when a question asked later is answered. */
static void
on_answer(void *arg, int status, psup_reply *reply)
{
	struct question *q = arg;

	keep_answer("(later)", q->peer->handle, status, reply, &q->answer);
	q->answered = true;
}

struct question *
scn_ask_later(struct peer *p, const char *method, const struct arg *args)
{
	psup *handle = handle_of(&p);
	struct question *q = scn_alloc(sizeof(*q));
	psup_args *params = args_from(args);

	q->peer = p;
	expect(psup_send(handle, method, params, on_answer, q, &q->id) ==
	        PSUP_OK,
	    "%s: %s", method, psup_error_message(handle));
	psup_args_free(&params);
	/* Out with it: the scenario may go on to something else. */
	while (psup_unsent(handle) > 0 && psup_is_connected(handle))
		psup_turn(handle, 10);
	return q;
}

bool
is_answered(struct question *q)
{
	if (!q->answered && psup_is_connected(q->peer->handle))
		psup_turn(q->peer->handle, 0);
	return q->answered;
}

struct answer *
answer_of(struct question *q)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	while (!q->answered) {
		expect(now_ms() < until, "no answer in time");
		psup_turn(q->peer->handle, 100);
	}
	return &q->answer;
}

void
give_up(struct question *q)
{
	psup_cancel(q->peer->handle, q->id);
	while (psup_unsent(q->peer->handle) > 0)
		psup_turn(q->peer->handle, 10);
}

/* The last answers, for the timeline. */
void
scn_show_asked(void)
{
	const struct answer *a, *last[SHOWN];
	size_t n = 0;

	for (a = last_answer; a != NULL && n < SHOWN; a = a->before)
		last[n++] = a;
	fprintf(stderr, "--- the last answers\n");
	while (n-- > 0) {
		size_t len = 0;
		const char *text;
		char shown[512];

		a = last[n];
		text = a->reply == NULL ? NULL
		                        : psup_reply_text(a->reply, &len);
		psup_escape(text == NULL ? "" : text, len < 120 ? len : 120,
		    false, shown, sizeof(shown));
		fprintf(stderr, "%s: status %d %s %s %s | %s\n", a->method,
		    a->status, a->code, a->field, a->message, shown);
	}
}

void
scn_free_asked(void)
{
	for (; last_answer != NULL; last_answer = last_answer->before)
		psup_reply_free(&last_answer->reply);
	for (size_t i = 0; i < peer_count; i++)
		psup_free(&peers[i]->handle);
	peer_count = 0;
}

/* ------------------------------------------------------------ expectations */

const psup_value *
details(const struct answer *a)
{
	const psup_value *d;

	if (a->reply == NULL)
		return NULL;
	d = psup_reply_details(a->reply);
	return psup_value_type(d) == PSUP_MAP ? d : psup_reply_value(a->reply);
}

const char *
text_of(const struct answer *a, const char *key)
{
	size_t len;
	const char *found = psup_get_str(details(a), key, &len);
	char *s = scn_alloc(len + 1);

	if (found != NULL)
		memcpy(s, found, len);
	return s;
}

int64_t
number_of(const struct answer *a, const char *key)
{
	return psup_get_int(details(a), key, INT64_MIN);
}

const char *
id_of(const struct answer *a)
{
	const char *id = text_of(a, "sessionId");

	expect(*id != '\0', "no sessionId: %s %s", a->code, a->message);
	return id;
}

void
scn_ok(const char *file, int line, const struct answer *a)
{
	if (a->status != PSUP_OK)
		scn_fail(file, line, "an answer", "%s: %s", a->code,
		    a->message);
	if (psup_reply_is_error(a->reply))
		scn_fail(file, line, "no error", "%s", words_of(a));
}

/* An answer at all: of a call that was not refused. */
static void
need_reply(const char *file, int line, const struct answer *a,
    const char *key)
{
	if (a->status != PSUP_OK)
		scn_fail(file, line, key, "refused: %s: %s", a->code,
		    a->message);
}

void
scn_str(const char *file, int line, const struct answer *a, const char *key,
    const char *want)
{
	need_reply(file, line, a, key);
	if (!psup_get_is(details(a), key, want))
		scn_fail(file, line, key, "want '%.200s', is '%.200s'", want,
		    text_of(a, key));
}

void
scn_int(const char *file, int line, const struct answer *a, const char *key,
    int64_t want)
{
	need_reply(file, line, a, key);
	if (number_of(a, key) != want)
		scn_fail(file, line, key, "want %lld, is %lld",
		    (long long)want, (long long)number_of(a, key));
}

void
scn_flag(const char *file, int line, const struct answer *a, const char *key,
    bool want)
{
	need_reply(file, line, a, key);
	if (psup_value_type(psup_value_get(details(a), key)) != PSUP_BOOL ||
	    psup_get_bool(details(a), key, !want) != want)
		scn_fail(file, line, key, "want %s", want ? "true" : "false");
}

void
scn_absent(const char *file, int line, const struct answer *a,
    const char *key)
{
	need_reply(file, line, a, key);
	if (psup_value_type(psup_value_get(details(a), key)) != PSUP_NIL)
		scn_fail(file, line, key, "is there");
}

void
scn_text(const char *file, int line, const struct answer *a,
    const char *part)
{
	size_t len;
	const char *text;

	need_reply(file, line, a, part);
	text = psup_reply_text(a->reply, &len);
	if (text == NULL || memmem(text, len, part, strlen(part)) == NULL)
		scn_fail(file, line, part, "not in the text: %.*s",
		    (int)(len < 2000 ? len : 2000), text == NULL ? "" : text);
}

/*
 * A tool's refusal is an answer with isError and the code in details.error;
 * everything else is an error of the request, with the field it is about.
 */
void
scn_refused(const char *file, int line, const struct answer *a,
    const char *code, const char *field)
{
	if (a->status == PSUP_OK) {
		if (!psup_reply_is_error(a->reply) ||
		    !psup_get_is(details(a), "status", "failed"))
			scn_fail(file, line, code, "not refused: %s",
			    words_of(a));
	} else if (a->status != PSUP_ERR_REFUSED) {
		scn_fail(file, line, code, "the call failed: %s %s", a->code,
		    a->message);
	}
	if (strcmp(code_of(a), code) != 0)
		scn_fail(file, line, code, "refused with %s: %s", code_of(a),
		    words_of(a));
	if (field != NULL && strcmp(a->field, field) != 0)
		scn_fail(file, line, field, "the error names '%s': %s",
		    a->field, words_of(a));
	if (*words_of(a) == '\0')
		scn_fail(file, line, code, "an error without words");
}

const char *
code_of(const struct answer *a)
{
	return a->status == PSUP_OK ? text_of(a, "code") : a->code;
}

const char *
words_of(const struct answer *a)
{
	const char *text;
	size_t len;
	char *s;

	if (a->status != PSUP_OK)
		return a->message;
	text = psup_reply_text(a->reply, &len);
	s = scn_alloc(len + 1);
	if (text != NULL)
		memcpy(s, text, len);
	return s;
}

int64_t
share_in_status_of(struct peer *p, const char *resource, const char *key)
{
	struct answer *a = ask_as(p, "status");
	const psup_value *list = psup_value_get(psup_reply_value(a->reply),
	    "shares");

	for (size_t i = 0; i < psup_value_count(list); i++) {
		const psup_value *v = psup_value_at(list, i);

		if (psup_get_is(v, "resource", resource))
			return psup_get_int(v, key, -1);
	}
	scn_fail(__FILE__, __LINE__, "the resource", "%s", resource);
	return -1;
}
