/* SPDX-License-Identifier: MIT */
/*
 * Who may see what: hello, which binds a connection to a scope, and the admin
 * methods for scope tokens. What a bound connection sees is decided by
 * session_find() alone.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/abi.h"
#include "common/clock.h"
#include "common/log.h"
#include "supervisor/api/exec_spec.h"
#include "supervisor/api/method.h"

/* A hello as it came, and whom its token stands for. */
struct greeting {
	char scope[48], client[72];
	bool has_scope, has_token, admin;
	struct token_view token;
};

/* Refuses a hello: the connection must not go on as somebody else. */
static void
hello_refuse(struct api_call *c, const char *field, const char *why)
{
	conn_deny(c->conn);
	req_failf(c->req, PROTO_E_FORBIDDEN, field, "hello: %s", why);
}

/* Is what it says enough? The answer is the same for a token that never was,
 * one that was revoked and one of another scope. */
static bool
hello_allowed(struct api_call *c, struct greeting *g)
{
	struct val_str text = val_str(c->params, "token");

	g->has_scope = val_copy(c->params, "scope", g->scope,
			   sizeof(g->scope)) > 0;
	g->has_token = text.ptr != NULL;
	val_copy(c->params, "client", g->client, sizeof(g->client));
	g->admin = g->has_token && tokens_is(text.ptr, text.len,
	    c->m->cfg.admin_token);
	if (g->admin)
		return true; /* it may name a scope to act for, or none */
	if (g->has_token) {
		if (!tokens_find(c->m->tokens, text.ptr, text.len, &g->token) ||
		    (g->has_scope && strcmp(g->scope, g->token.scope) != 0)) {
			log_event(LOG_NOTE, "token-refused");
			hello_refuse(c, "token", "the token is not valid");
			return false;
		}
		memcpy(g->scope, g->token.scope, sizeof(g->scope));
		g->has_scope = true;
		return true;
	}
	if (!g->has_scope && c->m->cfg.admin == CONFIG_ADMIN_TOKEN) {
		hello_refuse(c, "token",
		    "a token is required of an admin (admin = token)");
		return false;
	}
	if (conn_is_guest(c->conn)) {
		hello_refuse(c, "token",
		    "a token is required of another user");
		return false;
	}
	if (g->has_scope && c->m->cfg.require_token) {
		hello_refuse(c, "token",
		    "a token is required to name a scope (require_token)");
		return false;
	}
	return true;
}

/* hello: scope and rights of the connection. */
static void
hello_call(struct api_call *c)
{
	struct greeting g = {0};
	struct hello h = {.client = g.client,
	    .process = val_bool(c->params, "process", true)};
	struct exec_defaults d;
	struct proto_problem why;
	struct enc e = ENC_INIT;
	char inc[24];

	if (!hello_allowed(c, &g))
		return;
	if (defaults_make(c->params, &d, &why) < 0) {
		conn_deny(c->conn);
		req_fail(c->req, &why);
		return;
	}
	h.defaults = &d;
	h.scope = g.has_scope ? g.scope : NULL;
	h.token_id = g.has_token && !g.admin ? g.token.id : NULL;
	h.admin = g.admin;
	if (conn_set_hello(c->conn, &h, &why) < 0) {
		req_fail(c->req, &why);
		return;
	}
	snprintf(inc, sizeof(inc), "%016" PRIx64, c->m->h.incarnation);
	enc_map(&e);
	enc_kv_str(&e, "server", abi_build());
	enc_kv_int(&e, "protocol", PROTO_VERSION);
	enc_kv_str(&e, "incarnation", inc);
	enc_key(&e, "scope");
	if (g.has_scope)
		enc_str(&e, g.scope);
	else
		enc_nil(&e);
	enc_kv_int(&e, "pid", getpid());
	enc_end(&e);
	req_done(c->req, &e);
}

const struct method method_HELLO = {.call = hello_call};

/* Says why the index took no token. */
static void
token_fail(struct req *r, int error)
{
	if (error == -ENOSPC)
		req_failf(r, PROTO_E_NO_SPACE, "",
		    "no space for a token (there may be %u): revoke some",
		    TOKENS_MAX);
	else
		req_failf(r, PROTO_E_BUSY, "", "the token was not written: %s",
		    strerror(-error));
}

/* mintToken */
static void
mint_token_call(struct api_call *c)
{
	char scope[48], label[48], text[TOKEN_DIGITS + 1];
	struct token_view v;
	struct enc e = ENC_INIT;
	int r;

	val_copy(c->params, "scope", scope, sizeof(scope));
	val_copy(c->params, "label", label, sizeof(label));
	r = tokens_mint(c->m->tokens, scope, label, clock_wall_ms(), text, &v);
	if (r < 0) {
		token_fail(c->req, r);
		return;
	}
	log_event(LOG_NOTE, "token-minted", KV("token", v.id));
	enc_map(&e);
	enc_kv_str(&e, "token", text);
	enc_kv_str(&e, "id", v.id);
	enc_kv_str(&e, "scope", v.scope);
	enc_kv_uint(&e, "createdAt", v.created_ms);
	enc_end(&e);
	req_answer(c->req, &e);
	explicit_bzero(text, sizeof(text));
	if (e.buf != NULL)
		explicit_bzero(e.buf, e.len);
	enc_fini(&e);
}

const struct method method_MINT_TOKEN = {.call = mint_token_call};

/* listTokens */
static void
list_tokens_call(struct api_call *c)
{
	char scope[48];
	bool one = val_copy(c->params, "scope", scope, sizeof(scope)) > 0;
	struct token_view v;
	struct enc e = ENC_INIT;

	enc_map(&e);
	enc_kv_array(&e, "tokens");
	for (size_t i = 0; i < tokens_count(c->m->tokens); i++) {
		tokens_view(c->m->tokens, i, &v);
		if (one && strcmp(v.scope, scope) != 0)
			continue;
		enc_map(&e);
		enc_kv_str(&e, "id", v.id);
		enc_kv_str(&e, "scope", v.scope);
		enc_kv_str(&e, "label", v.label);
		enc_kv_uint(&e, "createdAt", v.created_ms);
		enc_end(&e);
	}
	enc_end(&e);
	enc_end(&e);
	req_done(c->req, &e);
}

const struct method method_LIST_TOKENS = {.call = list_tokens_call};

/* revokeToken */
static void
revoke_token_call(struct api_call *c)
{
	char id[24], scope[48];
	bool by_id = val_copy(c->params, "id", id, sizeof(id)) > 0;
	bool by_scope = val_copy(c->params, "scope", scope, sizeof(scope)) > 0;
	struct master *m = c->m;
	struct enc e = ENC_INIT;
	struct token_view v;
	int n;

	if (by_id == by_scope) {
		req_failf(c->req, PROTO_E_INVALID_PARAMS, "id",
		    "revokeToken: give either id or scope");
		return;
	}
	for (size_t i = 0; i < tokens_count(m->tokens); i++) {
		tokens_view(m->tokens, i, &v);
		if (by_id ? strcmp(v.id, id) == 0 : strcmp(v.scope, scope) == 0)
			conn_drop_token(m, v.id);
	}
	n = tokens_revoke(m->tokens, by_id ? id : NULL, scope);
	if (n < 0) {
		token_fail(c->req, n);
		return;
	}
	log_event(LOG_NOTE, "tokens-revoked", KV("tokens", n));
	enc_map(&e);
	enc_kv_int(&e, "revoked", n);
	enc_end(&e);
	req_done(c->req, &e);
}

const struct method method_REVOKE_TOKEN = {.call = revoke_token_call};
