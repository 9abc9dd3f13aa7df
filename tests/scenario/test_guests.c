/* SPDX-License-Identifier: MIT */
/* Who connects and says nothing, or too much, keeps nobody out; and who is an
 * admin. */
#include "lib_wire.h"

#include <sha2.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(guests);

/* ----------------------------------------------------------- before hello */

#define BY_GROUP "[server]\ngroup = 65534\n"
#define FEW      64 /* connections of another user before its hello */

/* Closed, without a word? Waits for it. */
static bool
is_closed(struct wire *w)
{
	char c;

	return recv(w->fd, &c, 1, 0) <= 0;
}

SCENARIO(guests, that_say_nothing_are_few_and_go)
{
	struct wire *w[FEW + 20], *late;
	const char *token;

	if (geteuid() != 0)
		skip_scenario("needs root, to be somebody else");
	psupd(.conf = BY_GROUP);
	token = text_of(ask("mintToken", STR("scope", "gw")), "token");
	for (int i = 0; i < FEW + 20; i++)
		w[i] = wire_open_as_guest();
	for (int i = FEW; i < FEW + 20; i++)
		expect(is_closed(w[i]), "%d", i);
	expect_ok(ask("list"));
	expect(share_in_status("connections", "refused") >= 20);
	/* who says hello is no stranger, and leaves its place to another */
	expect(wire_hello(w[0], NULL, token));
	late = wire_open_as_guest();
	expect(wire_hello(late, NULL, token));
	for (int i = 1; i < FEW; i++)
		expect(is_closed(w[i]), "no hello, and %d is not closed", i);
	for (int i = 0; i < FEW + 20; i++)
		wire_close(w[i]);
	expect_ok(ask("list"));
}

SCENARIO(guests, that_say_much_are_cut_short)
{
	static char much[8192];
	struct enc e = ENC_INIT;
	char answer[4096];
	struct wire *w;
	size_t n;

	if (geteuid() != 0)
		skip_scenario("needs root, to be somebody else");
	psupd(.conf = BY_GROUP);
	w = wire_open_as_guest();
	memset(much, 'x', sizeof(much) - 1);
	enc_map(&e);
	enc_kv_str(&e, "token", much);
	enc_end(&e);
	wire_send(w, "hello", &e);
	n = wire_answer(w, answer, sizeof(answer));
	expect(memmem(answer, n, "frame-too-large", 15) != NULL, "%.*s",
	    (int)n, answer);
	expect(is_closed(w));
	wire_close(w);
	/* the owner may say as much before its hello */
	w = wire_open();
	wire_send(w, "hello", &e);
	n = wire_answer(w, answer, sizeof(answer));
	expect(memmem(answer, n, "frame-too-large", 15) == NULL);
	wire_close(w);
	enc_fini(&e);
}

/* ------------------------------------------------------------ connections */

#define MANY 400

SCENARIO(guests, one_scope_does_not_have_all_connections)
{
	struct wire *hog[MANY], *quiet;
	struct enc e = ENC_INIT;
	char answer[4096];
	int64_t most;

	psupd(.wrap = {"prlimit", "--nofile=400:400"});
	most = share_in_status("connections", "limit");
	expect(most > 100 && most < MANY - 50, "%lld", (long long)most);
	quiet = wire_open();
	expect(wire_hello(quiet, "quiet", NULL));
	/* idle ones: the oldest of its own make room */
	for (int i = 0; i < MANY; i++) {
		hog[i] = wire_open();
		expect(wire_hello(hog[i], "hog", NULL), "%d", i);
	}
	expect(is_closed(hog[0]));
	expect(share_in_status("connections", "used") <= most);
	enc_map(&e);
	enc_end(&e);
	wire_send(quiet, "list", &e);
	expect(wire_answer(quiet, answer, sizeof(answer)) > 0, "it was closed");
	/* another of the quiet one, and of the owner's */
	wire_close(quiet);
	quiet = wire_open();
	expect(wire_hello(quiet, "quiet", NULL));
	wire_close(quiet);
	expect_exit(cli("list"), 0);
	for (int i = 0; i < MANY; i++)
		wire_close(hog[i]);
	enc_fini(&e);
}

/* With a request under way none is closed: the next hello is refused. */
SCENARIO(guests, busy_connections_are_not_closed)
{
	static struct wire *hog[MANY + 2];
	struct enc hello = ENC_INIT, wait = ENC_INIT;
	char answer[4096];
	const char *id;
	int n = 0;
	size_t len;

	psupd(.wrap = {"prlimit", "--nofile=400:400"});
	id = background(PUPPET("hang"), STR("scope", "hog"));
	enc_map(&hello);
	enc_kv_str(&hello, "scope", "hog");
	enc_end(&hello);
	enc_map(&wait);
	enc_kv_str(&wait, "sessionId", id);
	enc_kv_uint(&wait, "timeout", 60000);
	enc_end(&wait);
	do {
		hog[n] = wire_open();
		wire_send(hog[n], "hello", &hello);
		len = wire_answer(hog[n], answer, sizeof(answer));
		expect(len > 0, "%d: closed without a word", n);
		if (memmem(answer, len, "share-used-up", 13) != NULL)
			break;
		wire_send(hog[n], "wait", &wait);
	} while (++n < MANY);
	expect(n > 50 && n < MANY, "%d", n);
	expect(memmem(answer, len, "connections", 11) != NULL);
	expect_exit(cli("list"), 0);
	hog[n + 1] = wire_open();
	expect(wire_hello(hog[n + 1], "quiet", NULL));
	for (int i = 0; i <= n + 1; i++)
		wire_close(hog[i]);
	enc_fini(&hello);
	enc_fini(&wait);
}

/* ------------------------------------------------------------------ admin */

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

SCENARIO(guests, an_admin_may_have_to_show_a_token)
{
	static const char *const methods[] = {"list", "status", "shutdown",
	    "exec", "mintToken", "events", "lanes", "write"};
	char conf[200], hash[SHA256_DIGEST_STRING_LENGTH], answer[4096];
	struct enc e = ENC_INIT;
	struct wire *w;
	size_t n;
	FILE *f;

	SHA256Data((const uint8_t *)TOKEN, strlen(TOKEN), hash);
	snprintf(conf, sizeof(conf), "[server]\nadmin = token\n"
	    "admin_token = %s\n", hash);
	psupd();
	write_conf(conf);
	kill_now(keeper_pid(), SIGHUP);
	await_log("config-read");
	enc_map(&e);
	enc_end(&e);
	w = wire_open();
	wire_expect_forbidden(w, methods, sizeof(methods) / sizeof(methods[0]));
	wire_close(w);
	w = wire_open();
	expect(!wire_hello(w, NULL, NULL));
	wire_close(w);
	w = wire_open();
	expect(!wire_hello(w, NULL, "0" TOKEN));
	wire_close(w);
	w = wire_open(); /* its own scope is anybody's */
	expect(wire_hello(w, "gw", NULL));
	wire_send(w, "mintToken", &e);
	n = wire_answer(w, answer, sizeof(answer));
	expect(memmem(answer, n, "forbidden", 9) != NULL);
	wire_close(w);
	w = wire_open();
	expect(wire_hello(w, NULL, TOKEN));
	wire_send(w, "listTokens", &e);
	n = wire_answer(w, answer, sizeof(answer));
	expect(memmem(answer, n, "tokens", 6) != NULL);
	wire_close(w);
	enc_fini(&e);
	/* the tools show it from a file */
	expect(cli("status")->code != 0);
	f = fopen(file_in_scenario("admin"), "we");
	expect(f != NULL && fputs(TOKEN "\n", f) >= 0 && fclose(f) == 0 &&
	    chmod(file_in_scenario("admin"), 0600) == 0);
	expect_exit(cli("status", "--token-file", file_in_scenario("admin")),
	    0);
	expect_exit(cli("token", "mint", "gw", "--token-file",
			file_in_scenario("admin")), 0);
	write_conf(""); /* and back, for the scenario's own end */
	kill_now(keeper_pid(), SIGHUP);
	while (cli("status")->code != 0)
		;
}

SCENARIO(guests, an_admin_by_token_needs_one_in_the_file)
{
	struct run *r;

	write_conf("[server]\nadmin = token\n");
	r = scn_run(NULL, 0, (const char *const[]){"psupd", NULL});
	expect(r->code == 78 && strstr(r->err, "admin_token") != NULL,
	    "%d: %s", r->code, r->err);
	write_conf("[server]\nadmin_token = abc\n");
	r = scn_run(NULL, 0, (const char *const[]){"psupd", NULL});
	expect(r->code == 78 && strstr(r->err, "64 hex digits") != NULL,
	    "%d: %s", r->code, r->err);
}
