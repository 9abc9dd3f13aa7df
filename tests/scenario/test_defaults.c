/* SPDX-License-Identifier: MIT */
/* What a connection says once for all of its execs: environment, directory and
 * mask, by hello or by defaults. */
#include "lib_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(defaults);

#define SHOW "echo \"$MARK,$OTHER,$LD_PRELOAD,$(pwd),$(umask)\""

SCENARIO(defaults, are_what_an_exec_begins_with)
{
	struct peer *p;

	psupd();
	p = peer("gw");
	expect_int(ask_as(p, "defaults",
		       MAP("baseEnv", "PATH", "/usr/bin:/bin", "MARK", "one",
			   "LD_PRELOAD", "/nowhere.so")),
	    "bytes", sizeof("PATH=/usr/bin:/bin") + sizeof("MARK=one"));
	expect_ok(ask_as(p, "defaults", STR("baseDir", "/usr"),
	    STR("umask", "027")));
	expect_text(ask_as(p, "exec", STR("command", SHOW)),
	    "one,,,/usr,0027");
	/* a call says what it likes */
	expect_text(ask_as(p, "exec", STR("command", SHOW),
	    MAP("env", "OTHER", "two"), STR("workdir", "lib"),
	    STR("umask", "077")), "one,two,,/usr/lib,0077");
	expect_text(ask_as(p, "exec", STR("command", SHOW),
	    MAP("baseEnv", "OTHER", "two"), STR("baseDir", "/")),
	    ",two,,/,0027");
	/* what is given takes the place of what was; the rest stays */
	expect_ok(ask_as(p, "defaults", MAP("baseEnv", "OTHER", "three")));
	expect_text(ask_as(p, "exec", STR("command", SHOW)),
	    ",three,,/usr,0027");
}

SCENARIO(defaults, are_their_connections_alone)
{
	struct peer *p, *other;

	psupd();
	p = peer("gw");
	other = peer("gw");
	expect_ok(ask_as(p, "defaults", MAP("baseEnv", "MARK", "one"),
	    STR("umask", "077")));
	expect_text(ask_as(other, "exec", STR("command", "echo \"<$MARK>\"; "
	    "umask")), "<>\n0022");
	hang_up(p);
	p = peer("gw");
	expect_text(ask_as(p, "exec", STR("command", "echo \"<$MARK>\"")),
	    "<>");
}

/* Who waits in a lane has what its connection said then, also from the next
 * master. */
SCENARIO(defaults, go_with_what_waits)
{
	struct peer *p;
	const char *id;

	psupd();
	p = peer("gw");
	holder("narrow", "gate");
	expect_ok(ask_as(p, "defaults", MAP("baseEnv", "MARK", "one")));
	id = id_of(ask_as(p, "exec", STR("command", "echo \"<$MARK>\""),
	    STR("lane", "narrow"), YES("background")));
	hang_up(p);
	kill_master();
	open_gate("gate");
	await_end(id);
	expect(strcmp(read_retained(id).bytes, "<one>\n") == 0);
}

/* ------------------------------------------------------------------ hello */

static void
put_base(struct enc *e, const char *mark, const char *umask)
{
	enc_key(e, "baseEnv");
	enc_map(e);
	enc_kv_str(e, "MARK", mark);
	enc_end(e);
	enc_kv_str(e, "baseDir", "/usr");
	enc_kv_str(e, "umask", umask);
}

/* Sends, and has the answer: is this text in it? */
static bool
answers(struct wire *w, const char *method, const struct enc *params,
    const char *text)
{
	static char answer[65536];
	size_t n;

	wire_send(w, method, params);
	n = wire_answer(w, answer, sizeof(answer));
	return memmem(answer, n, text, strlen(text)) != NULL;
}

SCENARIO(defaults, may_come_with_hello)
{
	struct enc hello = ENC_INIT, show = ENC_INIT, bad = ENC_INIT;
	struct wire *w;
	char c;

	psupd();
	enc_map(&hello);
	enc_kv_str(&hello, "scope", "gw");
	put_base(&hello, "one", "027");
	enc_end(&hello);
	enc_map(&show);
	enc_kv_str(&show, "command", SHOW);
	enc_end(&show);
	enc_map(&bad);
	enc_kv_str(&bad, "scope", "gw");
	put_base(&bad, "one", "8");
	enc_end(&bad);
	w = wire_open();
	expect(answers(w, "hello", &hello, "incarnation"));
	expect(answers(w, "exec", &show, "one,,,/usr,0027"));
	wire_close(w);
	/* a hello with a mistake is none */
	w = wire_open();
	expect(answers(w, "hello", &bad, "umask"));
	expect(read(w->fd, &c, 1) == 0, "not closed");
	wire_close(w);
	enc_fini(&hello);
	enc_fini(&show);
	enc_fini(&bad);
}

/* Another user's hello is short; what is long goes behind it. */
SCENARIO(defaults, of_a_guest_go_behind_its_hello)
{
	static char much[100000];
	struct enc long_ones = ENC_INIT, show = ENC_INIT;
	const char *token;
	struct wire *w;

	if (geteuid() != 0)
		skip_scenario("needs root, to be somebody else");
	psupd(.conf = "[server]\ngroup = 65534\n");
	token = text_of(ask("mintToken", STR("scope", "gw")), "token");
	memset(much, 'x', sizeof(much) - 1);
	enc_map(&long_ones);
	put_base(&long_ones, much, "022");
	enc_end(&long_ones);
	enc_map(&show);
	enc_kv_str(&show, "command", "echo ${#MARK}");
	enc_end(&show);
	w = wire_open_as_guest();
	expect(answers(w, "defaults", &show, "forbidden"));
	wire_close(w);
	w = wire_open_as_guest();
	expect(answers(w, "defaults", &long_ones, "frame-too-large"));
	wire_close(w);
	w = wire_open_as_guest();
	expect(wire_hello(w, NULL, token));
	expect(answers(w, "defaults", &long_ones, "bytes"));
	expect(answers(w, "exec", &show, "99999"));
	wire_close(w);
	enc_fini(&long_ones);
	enc_fini(&show);
}

/* ------------------------------------------------------------ bad, much */

SCENARIO(defaults, with_a_mistake_change_nothing)
{
	static char much[140000];
	struct answer *a;
	struct peer *p;

	psupd();
	p = peer("gw");
	memset(much, 'x', sizeof(much) - 1);
	expect_ok(ask_as(p, "defaults", MAP("baseEnv", "MARK", "one"),
	    STR("baseDir", "/usr")));
	a = ask_as(p, "defaults", MAP("baseEnv", "MARK", "two"),
	    STR("baseDir", "usr"));
	expect_refused_for(a, "invalid-params", "baseDir");
	expect(strstr(a->message, "absolute") != NULL, "%s", a->message);
	expect_refused_for(ask_as(p, "defaults", MAP("baseEnv", "MARK", "two"),
	    STR("umask", "1000")), "invalid-params", "umask");
	expect_refused(ask_as(p, "defaults", MAP("baseEnv", "MARK", much)),
	    "too-big");
	expect_refused_for(ask_as(p, "defaults", STR("baseEnv", "MARK=two")),
	    "invalid-params", "baseEnv");
	expect_refused_for(ask_as(p, "defaults", STR("command", "true")),
	    "invalid-params", "command");
	expect_text(ask_as(p, "exec", STR("command", "echo $MARK; pwd")),
	    "one\n/usr");
}

/* They count with their scope's memory, and what is refused is not kept. */
SCENARIO(defaults, are_counted_with_their_scope)
{
	static char much[100000];
	struct arg base = MAP("baseEnv", "A", much, "B", much, "C", much, "D",
	    much, "E", much, "F", much, "G", much, "H", much, "I", much);
	struct answer *a = NULL;
	struct peer *hog[64], *quiet;
	int64_t before;
	const char *id;
	int n = 0;

	psupd(.conf = "[server]\nclient_memory = 16777216\n");
	memset(much, 'x', sizeof(much) - 1);
	quiet = peer("quiet");
	expect_ok(ask_as(quiet, "defaults", MAP("baseEnv", "MARK", "one")));
	id = background(PUPPET("hang"), STR("scope", "hog"));
	before = share_in_status("memory", "used");
	for (; n < 64; n++) {
		hog[n] = peer("hog");
		/* an idle one would be closed for the next */
		(void)ask_later(hog[n], "wait", STR("sessionId", id),
		    INT("timeout", 600000));
		a = ask_as(hog[n], "defaults", base);
		if (a->status != PSUP_OK)
			break;
		expect(share_in_status("memory", "used") >= before + n *
		    900000);
	}
	expect_refused(a, "share-used-up");
	expect(n > 4 && n < 20, "%d", n);
	expect(is_connected(hog[n]));
	expect_text(ask_as(hog[n], "exec", STR("command", "echo \"<$A>\"")),
	    "<>");
	/* another scope has its part, and what it had */
	expect_text(ask_as(quiet, "exec", STR("command", "echo $MARK")),
	    "one");
	expect_ok(ask_as(quiet, "defaults", base));
	for (int i = 0; i <= n; i++)
		hang_up(hog[i]);
	expect_ok(ask_as(quiet, "defaults", MAP("baseEnv", "MARK", "one")));
	while (share_in_status("memory", "used") > before + 200000)
		;
}

/* --------------------------------------------------------------- libpsup */

static const char *
output_of(psup *p, const char *command)
{
	struct psup_exec x = PSUP_EXEC_INIT;
	char *text = scn_alloc(200);
	psup_reply *r = NULL;

	x.command = command;
	x.request_key = command;
	expect(psup_exec(p, &x, &r) == PSUP_OK, "%s", psup_error_message(p));
	psup_get_copy(psup_reply_details(r), "aggregated", text, 200);
	psup_reply_free(&r);
	return text;
}

/* A client's go along with every connection that it takes up again. */
SCENARIO(defaults, outlive_a_master_in_libpsup)
{
	static const char *const env[] = {"PATH=/usr/bin:/bin", "MARK=one",
	    NULL};
	struct psup_options o = PSUP_OPTIONS_INIT;
	struct psup_exec x = PSUP_EXEC_INIT;
	const char *said;
	psup_args *a;
	psup *p;

	psupd();
	expect(psup_new(&p) == PSUP_OK);
	x.base_env = env;
	x.base_dir = "/usr";
	x.umask = 027;
	a = psup_exec_args(&x);
	o.runtime_dir = runtime_dir();
	o.scope = "gw";
	o.defaults = a;
	expect(psup_connect(p, &o) == PSUP_OK, "%s", psup_error_message(p));
	psup_args_free(&a);
	expect(psup_has_defaults(p));
	for (int i = 0; i < 5; i++) {
		char command[64];

		snprintf(command, sizeof(command), "echo %d; " SHOW, i);
		said = output_of(p, command);
		expect(strstr(said, "one,,,/usr,0027") != NULL, "%d: %s", i,
		    said);
		kill_master();
	}
	expect(psup_resumed(p) >= 4);
	psup_free(&p);
}
