/* SPDX-License-Identifier: MIT */
/* Tokens: what binds a connection to its scope, who needs one, and where it is
 * never to be found. */
#include "lib_wire.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(tokens);

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

SCENARIO(tokens, a_token_binds_to_its_scope_for_good)
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

SCENARIO(tokens, a_wrong_token_opens_nothing)
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
SCENARIO(tokens, a_refused_hello_leaves_no_admin)
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
	wire_request(&both, 7, "hello", &e);
	enc_reset(&e);
	enc_map(&e);
	enc_end(&e);
	wire_request(&both, 7, "list", &e);
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

SCENARIO(tokens, tokens_survive_the_master_and_end_when_revoked)
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

SCENARIO(tokens, a_token_is_kept_nowhere)
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

SCENARIO(tokens, tokens_may_be_required)
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
#define GUEST   WIRE_GUEST

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

SCENARIO(tokens, a_groups_members_come_in_by_token_alone)
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
	/* without a token nothing is shown; */
	r = as_guest("--groups=65534", "list");
	expect(r->code == 1 && strstr(r->err, "token is required") != NULL,
	    "%d: %s", r->code, r->err);
	/* and who is in no such group does not get through */
	r = as_guest("--clear-groups", "list", "--token-file", path);
	expect(r->code == 125, "%d: %s", r->code, r->err);
}

/* The server itself answers a guest nothing but a hello with a token. */
SCENARIO(tokens, a_guest_is_nobody_before_it_shows_a_token)
{
	static const char *const methods[] = {"list", "status", "shutdown",
	    "exec", "mintToken", "events"};
	const char *token;
	struct wire *w;

	if (geteuid() != 0)
		skip_scenario("needs root, to be somebody else");
	psupd(.conf = "[server]\ngroup = 65534\n");
	token = mint("gw");
	w = wire_open_as_guest();
	wire_expect_forbidden(w, methods, sizeof(methods) / sizeof(methods[0]));
	wire_close(w);
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

SCENARIO(tokens, the_cli_shows_tokens_from_files)
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

SCENARIO(tokens, a_token_may_come_by_a_descriptor)
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

SCENARIO(tokens, a_scopes_name_is_judged)
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

SCENARIO(tokens, psup_tool_is_bound_by_a_token)
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
