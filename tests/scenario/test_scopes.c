/* SPDX-License-Identifier: MIT */
/* Scopes: nobody in one can tell another scope's session from one that is not
 * there; and a scope that is drained. */
#include "lib_wire.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/proto.h"

TestSuite(scopes);

/* ------------------------------------------------------------- isolation */

/* A stranger's sessions in every state, and how many there are. */
#define VICTIMS 6
struct victims {
	char id[VICTIMS][64];
	char instance[VICTIMS][64];
	size_t count;
};

static void
add_victim(struct victims *v, const struct answer *a)
{
	psup_get_copy(details(a), "sessionId", v->id[v->count], 64);
	psup_get_copy(details(a), "instanceId", v->instance[v->count], 64);
	expect(v->id[v->count][0] != '\0' && v->instance[v->count][0] != '\0');
	v->count++;
}

/* Running, reading, finished, queued, on a terminal. */
static void
make_victims(struct peer *alice, struct victims *v)
{
	struct answer *a;

	add_victim(v, ask_as(alice, "exec", PUPPET("print secret; hang"),
			  YES("background")));
	add_victim(v, ask_as(alice, "exec", STR("command", "cat"),
			  YES("background")));
	a = ask_as(alice, "exec", STR("command", "echo done; exit 3"),
	    YES("background"));
	add_victim(v, a);
	add_victim(v, ask_as(alice, "exec", PUPPET("hang"), YES("background"),
			  STR("lane", "narrow")));
	add_victim(v, ask_as(alice, "exec", PUPPET("hang"), YES("background"),
			  STR("lane", "narrow")));
	add_victim(v, ask_as(alice, "exec", PUPPET("hang"), YES("background"),
			  YES("pty")));
	await_end(v->id[2]);
}

/* As long as `id`, and nobody's: the same dashes and dots, other letters. */
static void
invent(const char *id, const char *incarnation, char *ret)
{
	size_t n = strlen(id), i = 0;

	if (strchr(id, '.') != NULL) { /* an instance id of this server */
		memcpy(ret, incarnation, 17);
		i = 17;
	}
	for (; i < n; i++)
		ret[i] = id[i] == '-' || id[i] == '.' ? id[i]
		    : strchr(id, '.') != NULL
		    ? "89abcdef"[rand() % 8]
		    : "bcdfghjkqxz"[rand() % 11];
	ret[n] = '\0';
}

/* Some value that the row would take, or none at all. */
static void
random_param(const struct proto_param *p, struct enc *e)
{
	if (strcmp(p->name, "timeout") == 0 || strcmp(p->name, "scope") == 0 ||
	    (!p->required && rand() % 3 != 0))
		return;
	switch (p->type) {
	case PT_STR:
		enc_kv_strn(e, p->name, "explicit-stdout-TERM-anything-else",
		    p->min > 1 ? (size_t)p->min : 1u + (unsigned)rand() % 4);
		break;
	case PT_DATA:
		enc_kv_str(e, p->name, "y\n");
		break;
	case PT_INT:
	case PT_NUM:
		enc_kv_int(e, p->name, (int64_t)p->min + rand() % 2);
		break;
	case PT_BOOL:
	case PT_STREAM:
		enc_kv_bool(e, p->name, rand() % 2 != 0);
		break;
	case PT_STRLIST:
		enc_key(e, p->name);
		enc_array(e);
		enc_str(e, "a");
		enc_end(e);
		break;
	case PT_STRMAP:
	case PT_OBJECT:
	case PT_SIGNAL:
		enc_kv_int(e, p->name, 15);
		break;
	case PT_STDIN:
		break;
	}
}

/* The params of a method about a session, all but the id from one seed. */
static void
params_about(enum proto_method m, unsigned seed, const char *id, struct enc *e)
{
	srand(seed);
	enc_map(e);
	if (m == PROTO_WAIT && rand() % 2 != 0) {
		enc_key(e, "sessionIds");
		enc_array(e);
		enc_str(e, id);
		enc_end(e);
	} else {
		enc_kv_str(e, "sessionId", id);
	}
	for (size_t i = 0; i < proto_param_count; i++) {
		const struct proto_param *p = &proto_params[i];

		if (p->method == m && strncmp(p->name, "sessionId", 9) != 0)
			random_param(p, e);
	}
	enc_end(e);
}

/* The methods that name a session, from the table itself. */
static size_t
methods_about_sessions(enum proto_method *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < proto_param_count; i++)
		if (strcmp(proto_params[i].name, "sessionId") == 0)
			ret[n++] = proto_params[i].method;
	return n;
}

/* Every place of `from` in the answer becomes `to`, of the same length. */
static void
rename_in(char *answer, size_t n, const char *from, const char *to)
{
	size_t len = strlen(from);
	char *p = answer;

	while ((p = memmem(p, n - (size_t)(p - answer), from, len)) != NULL) {
		memcpy(p, to, len);
		p += len;
	}
}

/* One attempt: about a stranger's session and about none. */
static void
compare(struct wire *w, enum proto_method m, unsigned seed, const char *theirs,
    const char *nobodys)
{
	static char a[65536], b[65536];
	struct enc e = ENC_INIT;
	size_t n, k;

	params_about(m, seed, theirs, &e);
	wire_send(w, proto_method_name(m), &e);
	enc_reset(&e);
	n = wire_answer(w, a, sizeof(a));
	params_about(m, seed, nobodys, &e);
	wire_send(w, proto_method_name(m), &e);
	k = wire_answer(w, b, sizeof(b));
	enc_fini(&e);
	rename_in(b, k, nobodys, theirs);
	expect(n > 0 && n == k && memcmp(a, b, n) == 0,
	    "%s (seed %u): %zu and %zu bytes differ: %.*s | %.*s",
	    proto_method_name(m), seed, n, k, (int)(n < 300 ? n : 300), a,
	    (int)(k < 300 ? k : 300), b);
}

/* How many attempts in all; reliability.md wants 10 000 per method. */
static unsigned
attempts(void)
{
	const char *s = getenv("PSUP_TEST_ATTEMPTS");
	long n = s != NULL ? strtol(s, NULL, 10) : 0;

	return n > 0 ? (unsigned)n : 10000u;
}

/* Nothing that bob tried has reached alice's sessions. */
static void
expect_untouched(struct peer *alice, const struct victims *v)
{
	struct answer *a = ask_as(alice, "list");
	const psup_value *rows = psup_value_get(details(a), "sessions");

	expect(psup_value_count(rows) == v->count, "%zu sessions",
	    psup_value_count(rows));
	for (size_t i = 0; i < v->count; i++)
		expect(i == 2 || is_listed(alice, v->id[i]));
	a = ask_as(alice, "poll", STR("sessionId", v->id[0]));
	expect(strcmp(text_of(a, "output"), "secret\n") == 0, "%s",
	    text_of(a, "output"));
	a = ask_as(alice, "poll", STR("sessionId", v->id[1]));
	expect_str(a, "status", "running");
	expect(*text_of(a, "output") == '\0', "%s", text_of(a, "output"));
	a = ask_as(alice, "poll", STR("sessionId", v->id[2]));
	expect_str(a, "status", "completed");
}

SCENARIO(scopes, not_yours_and_not_there_are_the_same_bytes)
{
	enum proto_method methods[PROTO_METHOD_COUNT];
	size_t count = methods_about_sessions(methods);
	unsigned n = attempts();
	struct victims v = {.count = 0};
	char fake[80];
	struct peer *alice;
	struct wire *bob;

	psupd();
	alice = peer("alice");
	make_victims(alice, &v);
	await_output(v.id[0], "secret\n");
	bob = wire_open();
	expect(wire_hello(bob, "bob", NULL));
	for (unsigned i = 0; i < n / 2; i++) {
		unsigned seed = 2166136261u * (i + 1);
		const char *theirs;

		srand(seed);
		theirs = rand() % 3 != 0 ? v.id[(unsigned)rand() % v.count]
					 : v.instance[(unsigned)rand() %
					       v.count];
		invent(theirs, v.instance[0], fake);
		compare(bob, methods[i % count], seed, theirs, fake);
	}
	wire_close(bob);
	expect_untouched(alice, &v);
}

/* Methods that name a scope, or a subscriber: alice, who is there, and alicf,
 * who is not. */
SCENARIO(scopes, another_scope_is_as_good_as_none)
{
	static const struct {
		const char *method, *key;
	} asked[] = {
	    {"killScope", "scope"}, {"exec", "scope"}, {"hello", "scope"},
	    {"events", "subscriber"}, {"subscribe", "subscriber"},
	    {"drainScope", "scope"}, {"mintToken", "scope"},
	    {"explainSandbox", "scope"},
	    {"listTokens", "scope"}, {"revokeToken", "scope"},
	};
	static const char *const names[2] = {"alice", "alicf"};
	struct peer *alice;
	struct wire *bob;

	psupd();
	alice = peer("alice");
	ask_as(alice, "exec", PUPPET("print x"), YES("background"));
	listen_to_events(alice, "alice");
	await_events(alice, 1);
	bob = wire_open();
	expect(wire_hello(bob, "bob", NULL));
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		static char answer[2][65536];
		size_t n[2];

		for (size_t k = 0; k < 2; k++) {
			struct enc e = ENC_INIT;

			enc_map(&e);
			enc_kv_str(&e, asked[i].key, names[k]);
			if (strcmp(asked[i].method, "exec") == 0)
				enc_kv_str(&e, "command", "true");
			enc_end(&e);
			wire_send(bob, asked[i].method, &e);
			enc_fini(&e);
			n[k] = wire_answer(bob, answer[k], 65536);
			rename_in(answer[k], n[k], names[1], names[0]);
		}
		expect(n[0] > 0 && n[0] == n[1] &&
		        memcmp(answer[0], answer[1], n[0]) == 0,
		    "%s", asked[i].method);
	}
	wire_close(bob);
}

/* The same request key in two scopes is two sessions. */
SCENARIO(scopes, a_request_key_is_its_scopes_own)
{
	struct answer *a, *b;

	psupd();
	a = ask_as(peer("alice"), "exec", STR("command", "echo alice"),
	    STR("requestKey", "k"));
	b = ask_as(peer("bob"), "exec", STR("command", "echo bob"),
	    STR("requestKey", "k"));
	expect_text(a, "alice\n");
	expect_text(b, "bob\n");
}

SCENARIO(scopes, status_tells_a_scope_nothing_of_others)
{
	struct peer *bob;
	struct answer *a;
	const psup_value *counts;

	psupd();
	ask_as(peer("alice"), "exec", PUPPET("hang"), YES("background"),
	    STR("lane", "alices-lane"));
	bob = peer("bob");
	ask_as(bob, "exec", PUPPET("print x"));
	a = ask_as(bob, "status");
	counts = psup_value_get(details(a), "sessions");
	expect(psup_get_int(counts, "running", -1) == 0);
	expect(psup_get_int(counts, "ended", -1) == 1);
	expect_str(a, "scope", "bob");
	expect_absent(a, "lanes");
	expect_absent(a, "workers");
	expect_absent(a, "master");
	expect_absent(a, "output");
}

/* ----------------------------------------------------------------- drain */

SCENARIO(scopes, a_drained_scope_takes_nothing_new_and_empties)
{
	struct peer *gw;
	struct answer *a;
	struct question *q;
	const char *id;

	psupd();
	gw = peer("gw");
	id = id_of(ask_as(gw, "exec", PUPPET("print up; hang"),
	    YES("background")));
	q = ask_later(peer(NULL), "drainScope", STR("scope", "gw"));
	/* the mark is there before the wait is over */
	await_output(id, "up\n");
	expect_refused(ask_as(gw, "exec", STR("command", "true")),
	    "scope-draining");
	expect_refused_for(ask("exec", STR("command", "true"),
	    STR("scope", "gw")), "scope-draining", "scope");
	expect_ok(ask_as(peer("other"), "exec", STR("command", "true")));
	expect(!is_answered(q));
	ask_as(gw, "kill", STR("sessionId", id));
	a = answer_of(q);
	expect_ok(a);
	expect_flag(a, "drained", true);
	expect_int(a, "sessions", 1);
	kill_master();
	expect_refused(ask("exec", STR("command", "true"), STR("scope", "gw")),
	    "scope-draining");
	a = ask("status");
	expect(psup_value_count(psup_value_get(details(a), "draining")) == 1);
	expect_flag(ask("undrainScope", STR("scope", "gw")), "wasDrained",
	    true);
	expect_ok(ask("exec", STR("command", "true"), STR("scope", "gw")));
	kill_master();
	expect_ok(ask("exec", STR("command", "true"), STR("scope", "gw")));
}

SCENARIO(scopes, a_drain_says_who_is_left_or_ends_them)
{
	const char *id, *queued, *other;
	const psup_value *left;
	struct answer *a;
	char name[64] = "";
	pid_t pid;

	psupd();
	id = background(PUPPET("ignore 15; print up; hang"),
	    STR("scope", "gw"), STR("lane", "one"));
	queued = background(PUPPET("hang"), STR("scope", "gw"),
	    STR("lane", "one"));
	other = background(PUPPET("print up; hang"), STR("scope", "other"));
	await_output(id, "up\n");
	await_output(other, "up\n");
	pid = pid_of(id);
	a = ask("drainScope", STR("scope", "gw"), INT("timeout", 50));
	expect(psup_reply_is_error(a->reply));
	expect_flag(a, "drained", false);
	expect_int(a, "left", 2);
	left = psup_value_get(details(a), "survivors");
	expect(psup_value_count(left) == 2);
	{
		size_t len;
		const char *s = psup_value_str(psup_value_at(left, 0), &len);

		snprintf(name, sizeof(name), "%.*s", (int)len, s);
	}
	expect(strcmp(name, id) == 0 || strcmp(name, queued) == 0, "%s", name);
	expect(is_alive(pid));
	a = ask("drainScope", STR("scope", "gw"), INT("timeout", 0),
	    YES("kill"), INT("graceMs", 50));
	expect_ok(a);
	expect_flag(a, "drained", true);
	expect_int(a, "sessions", 2);
	await_gone(pid);
	expect(is_alive(pid_of(other)));
}

SCENARIO(scopes, the_cli_drains)
{
	struct run *r;

	psupd();
	background(PUPPET("hang"), STR("scope", "gw"));
	r = cli("drain-scope", "gw", "--timeout", "0.05");
	expect_exit(r, 1);
	expect(strstr(r->err, "1 sessions are left") != NULL, "%s", r->err);
	r = cli("status", "--verbose");
	expect(strstr(r->out, "\ndraining: gw\n") != NULL, "%s", r->out);
	expect_exit(cli("drain-scope", "gw", "--timeout", "0", "--kill",
	    "--grace", "100"), 0);
	r = cli("exec", "--scope", "gw", "--", "true");
	expect(r->code != 0 && strstr(r->err, "drained") != NULL, "%s", r->err);
	expect_exit(cli("drain-scope", "gw", "--undo"), 0);
	expect_exit(cli("exec", "--scope", "gw", "--", "true"), 0);
}
