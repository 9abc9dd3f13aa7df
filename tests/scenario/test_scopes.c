/* SPDX-License-Identifier: MIT */
/* Scopes and tokens: who is bound to a scope, and that nobody who is can tell
 * another scope's session from one that is not there. */
#include "lib_scn.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/codec.h"
#include "common/proto.h"

TestSuite(scopes);

/* ------------------------------------------------------------- the wire */

/* A connection without libpsup: the very bytes of each answer. */
struct wire {
	int fd;
	size_t len;
	char buf[1 << 16];
};

static struct wire *
wire_open(void)
{
	struct wire *w = scn_alloc(sizeof(*w));
	struct timeval limit = {SCN_DEADLINE_MS / 1000, 0};

	w->fd = raw_connect();
	setsockopt(w->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return w;
}

static void
wire_close(struct wire *w)
{
	close(w->fd);
}

/* [0, 7, method, params]. */
static void
request(struct enc *e, const char *method, const struct enc *params)
{
	enc_array(e);
	enc_uint(e, 0);
	enc_uint(e, 7);
	enc_str(e, method);
	enc_raw(e, params->buf, params->len);
	enc_end(e);
}

static void
wire_put(struct wire *w, const struct enc *e)
{
	expect(!e->failed &&
	    send(w->fd, e->buf, e->len, MSG_NOSIGNAL) == (ssize_t)e->len);
}

static void
wire_send(struct wire *w, const char *method, const struct enc *params)
{
	struct enc e = ENC_INIT;

	request(&e, method, params);
	wire_put(w, &e);
	enc_fini(&e);
}

/* The next answer, as it came; its length, 0 at the end. */
static size_t
wire_answer(struct wire *w, char *ret, size_t size)
{
	for (;;) {
		struct codec_arena *arena = NULL;
		const struct val *f;
		char why[100];
		size_t used = 0;
		bool answer;
		ssize_t n;

		if (codec_decode(w->buf, w->len, &codec_limits_trusted, &used,
			&arena, &f, why, sizeof(why)) == CODEC_OK) {
			answer = f->a.items[0].u == 1;
			codec_arena_free(&arena);
			expect(used <= size);
			memcpy(ret, w->buf, used);
			memmove(w->buf, w->buf + used, w->len - used);
			w->len -= used;
			if (answer)
				return used;
			continue; /* a notification */
		}
		n = recv(w->fd, w->buf + w->len, sizeof(w->buf) - w->len, 0);
		expect(n >= 0, "no answer in time");
		if (n == 0)
			return 0;
		w->len += (size_t)n;
	}
}

/* Says hello; is it refused with the connection closed behind it? */
static bool
wire_hello(struct wire *w, const char *scope, const char *token)
{
	char answer[4096];
	struct enc e = ENC_INIT;
	size_t n;

	enc_map(&e);
	if (scope != NULL)
		enc_kv_str(&e, "scope", scope);
	if (token != NULL)
		enc_kv_str(&e, "token", token);
	enc_end(&e);
	wire_send(w, "hello", &e);
	enc_fini(&e);
	n = wire_answer(w, answer, sizeof(answer));
	expect(n > 0);
	if (memmem(answer, n, "incarnation", 11) != NULL)
		return true;
	expect(memmem(answer, n, "forbidden", 9) != NULL ||
	    memmem(answer, n, "invalid-params", 14) != NULL);
	expect(token == NULL || memmem(answer, n, token, strlen(token)) == NULL,
	    "the token is in the answer");
	expect(wire_answer(w, answer, sizeof(answer)) == 0, "not closed");
	return false;
}

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

/* ---------------------------------------------------------------- tokens */

/* Mints one; its text. */
static const char *
mint(const char *scope)
{
	struct answer *a = ask("mintToken", STR("scope", scope));
	const char *token = text_of(a, "token");

	expect(strlen(token) == 64 &&
	    strspn(token, "0123456789abcdef") == 64, "%s", a->message);
	return token;
}

SCENARIO(scopes, a_token_binds_to_its_scope_for_good)
{
	const char *mine, *theirs, *token;
	struct peer *p;

	psupd();
	token = mint("gw");
	mine = id_of(ask_as(peer("gw"), "exec", PUPPET("hang"),
	    YES("background")));
	theirs = background(PUPPET("hang"));
	p = peer_by_token(token);
	expect(is_listed(p, mine) && !is_listed(p, theirs));
	expect_refused(ask_as(p, "hello", STR("scope", "other")), "forbidden");
	expect_refused(ask_as(p, "mintToken", STR("scope", "gw")),
	    "forbidden");
	expect_refused(ask_as(p, "shutdown"), "forbidden");
	expect(is_listed(p, mine) && !is_listed(p, theirs));
}

SCENARIO(scopes, a_wrong_token_opens_nothing)
{
	char wrong[65];
	const char *token;
	struct wire *w;

	psupd();
	token = mint("gw");
	snprintf(wrong, sizeof(wrong), "%s", token);
	wrong[63] = wrong[63] == '0' ? '1' : '0';
	w = wire_open();
	expect(!wire_hello(w, NULL, wrong));
	wire_close(w);
	w = wire_open();
	expect(!wire_hello(w, "gw", wrong));
	wire_close(w);
	w = wire_open();
	expect(!wire_hello(w, "other", token));
	wire_close(w);
	w = wire_open();
	expect(!wire_hello(w, NULL, "short"));
	wire_close(w);
	w = wire_open();
	expect(wire_hello(w, "gw", token));
	wire_close(w);
}

/* One that says a bad hello must not go on as an admin. */
SCENARIO(scopes, a_refused_hello_leaves_no_admin)
{
	struct enc e = ENC_INIT, both = ENC_INIT;
	char answer[4096];
	struct wire *w;
	size_t n;

	psupd();
	w = wire_open();
	enc_map(&e);
	enc_kv_str(&e, "scope", "a\x1b[31m");
	enc_end(&e);
	request(&both, "hello", &e);
	enc_reset(&e);
	enc_map(&e);
	enc_end(&e);
	request(&both, "list", &e);
	/* in one piece: a refused hello ends the connection at once */
	wire_put(w, &both);
	enc_fini(&e);
	enc_fini(&both);
	n = wire_answer(w, answer, sizeof(answer));
	expect(memmem(answer, n, "control characters", 18) != NULL, "%.*s",
	    (int)n, answer);
	expect(wire_answer(w, answer, sizeof(answer)) == 0);
	wire_close(w);
}

SCENARIO(scopes, tokens_survive_the_master_and_end_when_revoked)
{
	const char *token, *other;
	struct answer *a;
	struct peer *p;

	psupd();
	token = mint("gw");
	other = mint("gw");
	kill_master();
	a = ask("listTokens", STR("scope", "gw"));
	expect(psup_value_count(psup_value_get(details(a), "tokens")) == 2);
	p = peer_by_token(token);
	a = ask_as(p, "list");
	expect(a->status == PSUP_OK);
	a = ask("listTokens");
	a = ask("revokeToken", STR("id", text_of(
	    ask("mintToken", STR("scope", "third")), "id")));
	expect_int(a, "revoked", 1);
	expect_int(ask("revokeToken", STR("scope", "gw")), "revoked", 2);
	a = ask_as(p, "list");
	expect(a->status == PSUP_ERR_LOST, "%d", a->status);
	kill_master();
	for (int i = 0; i < 2; i++) {
		struct wire *w = wire_open();

		expect(!wire_hello(w, NULL, i == 0 ? token : other));
		wire_close(w);
	}
}

/* Looks for a text in every file of a directory. */
static bool
is_in_files(const char *dir, const char *text)
{
	const char *const argv[] = {"grep", "-r", "-a", "-F", "-q", "-e", text,
	    dir, NULL};
	char cmd[400] = "";

	for (size_t i = 0; argv[i] != NULL; i++) {
		strcat(cmd, argv[i]);
		strcat(cmd, " ");
	}
	return system(cmd) == 0;
}

SCENARIO(scopes, a_token_is_kept_nowhere)
{
	const char *token;
	struct peer *p;

	psupd(.option = "--log-level=debug");
	token = mint("gw");
	p = peer_by_token(token);
	ask_as(p, "exec", PUPPET("print hello"), YES("background"));
	expect(!is_in_files(runtime_dir(), token));
	expect(!is_in_files(file_in_scenario(""), token));
	expect(is_in_files(runtime_dir(), "hello"));
}

SCENARIO(scopes, tokens_may_be_required)
{
	struct wire *w;

	psupd(.conf = "[server]\nrequire_token = yes\n");
	w = wire_open();
	expect(!wire_hello(w, "gw", NULL));
	wire_close(w);
	w = wire_open();
	expect(wire_hello(w, "gw", mint("gw")));
	wire_close(w);
	w = wire_open();
	expect(wire_hello(w, NULL, NULL), "an admin needs none");
	wire_close(w);
}

/* ----------------------------------------------------------------- group */

#define SETPRIV "../../../../../../../../../../usr/bin/setpriv"
#define GUEST   65534 /* nobody, and nogroup */

/* psup ARG as another user, of groups that setpriv's option names. */
#define as_guest(groups, ...)                                        \
	scn_run(NULL, 0, (const char *const[]){SETPRIV,              \
			     "--reuid=65534", "--regid=65533", groups, \
			     scn_path("psup"), __VA_ARGS__, NULL})

static const char *
scn_path(const char *program)
{
	char *path = scn_alloc(400);

	snprintf(path, 400, "%s/%s", scn_bin_dir(), program);
	return path;
}

SCENARIO(scopes, a_groups_members_come_in_by_token_alone)
{
	const char *path, *mine, *theirs;
	char base[300];
	struct stat st;
	struct run *r;

	if (geteuid() != 0 || access("/usr/bin/setpriv", X_OK) != 0)
		skip_scenario("needs root, to be somebody else");
	path = file_in_scenario("token");
	psupd(.conf = "[server]\ngroup = 65534\n");
	expect(stat(runtime_dir(), &st) == 0 && (st.st_mode & 07777) == 0710 &&
	    st.st_gid == GUEST);
	snprintf(base, sizeof(base), "%s/..", runtime_dir());
	expect(chmod(base, 0711) == 0);
	expect_exit(cli("token", "mint", "gw", "--out", path), 0);
	expect(chown(path, GUEST, GUEST) == 0);
	mine = background(PUPPET("hang"), STR("scope", "gw"));
	theirs = background(PUPPET("hang"));
	r = as_guest("--groups=65534", "list", "--token-file", path);
	expect(r->code == 0 && strstr(r->out, mine) != NULL &&
	        strstr(r->out, theirs) == NULL,
	    "%d: %s%s", r->code, r->out, r->err);
	expect_exit(as_guest("--groups=65534", "shutdown", "--token-file",
			path), 1);
	/* without a token: not even the directory is believed; */
	r = as_guest("--groups=65534", "list");
	expect(r->code == 125, "%d: %s", r->code, r->err);
	/* and who is in no such group does not get through */
	r = as_guest("--clear-groups", "list", "--token-file", path);
	expect(r->code == 125, "%d: %s", r->code, r->err);
}

/* A connection of somebody else's. */
static struct wire *
wire_open_as_guest(void)
{
	struct wire *w;

	expect(setegid(GUEST) == 0 && seteuid(GUEST) == 0);
	w = wire_open();
	expect(seteuid(0) == 0 && setegid(0) == 0);
	return w;
}

/* The server itself answers a guest nothing but a hello with a token. */
SCENARIO(scopes, a_guest_is_nobody_before_it_shows_a_token)
{
	static const char *const methods[] = {"list", "status", "shutdown",
	    "exec", "mintToken", "events"};
	struct enc e = ENC_INIT;
	char base[300], answer[4096];
	const char *token;
	struct wire *w;
	size_t n;

	if (geteuid() != 0)
		skip_scenario("needs root, to be somebody else");
	psupd(.conf = "[server]\ngroup = 65534\n");
	token = mint("gw");
	snprintf(base, sizeof(base), "%s/..", runtime_dir());
	expect(chmod(base, 0711) == 0);
	enc_map(&e);
	enc_end(&e);
	w = wire_open_as_guest();
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		wire_send(w, methods[i], &e);
		n = wire_answer(w, answer, sizeof(answer));
		expect(memmem(answer, n, "forbidden", 9) != NULL, "%s",
		    methods[i]);
	}
	wire_close(w);
	enc_fini(&e);
	w = wire_open_as_guest();
	expect(!wire_hello(w, NULL, NULL));
	wire_close(w);
	w = wire_open_as_guest();
	expect(!wire_hello(w, "gw", NULL));
	wire_close(w);
	w = wire_open_as_guest();
	expect(wire_hello(w, "gw", token));
	wire_close(w);
}

/* ------------------------------------------------------------------- CLI */

SCENARIO(scopes, the_cli_shows_tokens_from_files)
{
	const char *path = file_in_scenario("token");
	const char *mine, *theirs;
	struct run *r;

	psupd();
	r = cli("token", "mint", "gw", "--label", "a gateway", "--out", path);
	expect_exit(r, 0);
	expect(strlen(r->out) == 17, "%s", r->out);
	/* where it cannot be written, none is left behind */
	expect_exit(cli("token", "mint", "lost", "--out", path), 1);
	expect(strstr(cli("token", "list")->out, "lost") == NULL);
	mine = id_of(ask_as(peer("gw"), "exec", PUPPET("hang"),
	    YES("background")));
	theirs = background(PUPPET("hang"));
	r = cli("list", "--token-file", path);
	expect(strstr(r->out, mine) != NULL && strstr(r->out, theirs) == NULL,
	    "%s", r->out);
	expect_exit(cli("poll", theirs, "--token-file", path), 4);
	expect_exit(cli("shutdown", "--token-file", path), 1);
	r = cli("token", "list");
	expect(strstr(r->out, "gw :: a gateway") != NULL, "%s", r->out);
	chmod(path, 0644);
	r = cli("list", "--token-file", path);
	expect(r->code == 125 && strstr(r->err, "mode 0644") != NULL, "%s",
	    r->err);
	chmod(path, 0600);
	expect_exit(cli("token", "revoke", "--scope", "gw"), 0);
	r = cli("list", "--token-file", path);
	expect(r->code == 1 && strstr(r->err, "not valid") != NULL, "%s",
	    r->err);
}

SCENARIO(scopes, a_token_may_come_by_a_descriptor)
{
	const char *mine, *theirs;
	char token[70];
	struct run *r;

	psupd();
	snprintf(token, sizeof(token), "%s\n", mint("gw"));
	mine = background(PUPPET("hang"), STR("scope", "gw"));
	theirs = background(PUPPET("hang"));
	r = cli_fed(token, strlen(token), "list", "--token-fd", "0");
	expect(r->code == 0 && strstr(r->out, mine) != NULL &&
	        strstr(r->out, theirs) == NULL,
	    "%s%s", r->out, r->err);
	token[10] = 'x';
	r = cli_fed(token, strlen(token), "list", "--token-fd", "0");
	expect(r->code == 2 && strstr(r->err, "no token") != NULL &&
	        strstr(r->err, "x") != NULL, "%s", r->err);
	token[10] = '\0';
	expect(strstr(r->err, token) == NULL, "it is shown: %s", r->err);
}

SCENARIO(scopes, a_scopes_name_is_judged)
{
	static const char *const wrong[] = {"", "a\nb", "\x1b[2J", "\x7f",
	    "\xc2\x9b", "\xe2\x80\xae",
	    "123456789012345678901234567890123456789012345678"};
	struct enc e = ENC_INIT;
	char answer[4096];
	struct wire *w;
	size_t n;

	psupd();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		w = wire_open();
		expect(!wire_hello(w, wrong[i], NULL), "%zu", i);
		wire_close(w);
		w = wire_open();
		enc_reset(&e);
		enc_map(&e);
		enc_kv_str(&e, "command", "true");
		enc_kv_str(&e, "scope", wrong[i]);
		enc_end(&e);
		wire_send(w, "exec", &e);
		n = wire_answer(w, answer, sizeof(answer));
		expect(memmem(answer, n, "invalid-params", 14) != NULL &&
		    memmem(answer, n, "scope", 5) != NULL, "%zu", i);
		wire_close(w);
	}
	enc_fini(&e);
	w = wire_open();
	expect(wire_hello(w, "agent \xc3\xa9 47 bytes: 5678901234567890123456789012",
	    NULL));
	wire_close(w);
}

SCENARIO(scopes, psup_tool_is_bound_by_a_token)
{
	static const char call[] =
	    "{\"tool\":\"process\",\"action\":\"list\"}\n";
	const char *path = file_in_scenario("token");
	const char *theirs;
	struct run *r;

	psupd();
	expect_exit(cli("token", "mint", "gw", "--out", path), 0);
	theirs = background(PUPPET("hang"));
	r = cli_fed(call, sizeof(call) - 1, "tool");
	expect(strstr(r->out, theirs) != NULL, "%s", r->out);
	setenv("PSUP_TOKEN_FILE", path, 1);
	r = cli_fed(call, sizeof(call) - 1, "tool");
	unsetenv("PSUP_TOKEN_FILE");
	expect(strstr(r->out, "No running or recent sessions") != NULL, "%s",
	    r->out);
	setenv("PSUP_SCOPE", "elsewhere", 1);
	r = cli_fed(call, sizeof(call) - 1, "tool");
	unsetenv("PSUP_SCOPE");
	expect(strstr(r->out, "No running or recent sessions") != NULL, "%s",
	    r->out);
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
	r = cli("status");
	expect(strstr(r->out, "\ndraining: gw\n") != NULL, "%s", r->out);
	expect_exit(cli("drain-scope", "gw", "--timeout", "0", "--kill",
	    "--grace", "100"), 0);
	r = cli("exec", "--scope", "gw", "--", "true");
	expect(r->code != 0 && strstr(r->err, "drained") != NULL, "%s", r->err);
	expect_exit(cli("drain-scope", "gw", "--undo"), 0);
	expect_exit(cli("exec", "--scope", "gw", "--", "true"), 0);
}
