/* SPDX-License-Identifier: MIT */
/*
 * explainSandbox: which host a call would get and why, and what its box would
 * be made of. Nothing is made or run.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/config_options.h"
#include "supervisor/api/exec_host.h"
#include "supervisor/api/method.h"
#include "supervisor/api/sandbox_made.h"
#include "supervisor/session/limits.h"
#include "supervisor/words/result.h"
#include "supervisor/words/sbuf.h"

/* A bound as people write it; 0 is none. */
static void
add_bound(struct sbuf *b, const char *name, uint64_t v, uint64_t unit,
    const char *of)
{
	if (v == 0)
		sbuf_addf(b, "%s: no bound\n", name);
	else if (v % unit == 0)
		sbuf_addf(b, "%s: %llu %s\n", name,
		    (unsigned long long)(v / unit), of);
	else
		sbuf_addf(b, "%s: %.2f %s\n", name, (double)v / (double)unit,
		    of);
}

static void
add_binds(struct sbuf *b, const struct config_sandbox *s)
{
	const char *at = s->binds;
	struct box_bind bind;

	while (config_next_bind(&at, &bind))
		sbuf_addf(b, "shows %s as %s, %s\n", bind.host, bind.inside,
		    bind.writable ? "which it may write" : "read-only");
}

/* Where it may write, and the directory of its scope. */
static void
add_workspace(struct sbuf *b, const struct config_sandbox *s,
    const char *directory)
{
	if (s->access == CONFIG_ACCESS_RW)
		sbuf_addf(b, "workspace: %s, its scope's directory, as "
			     "/workspace\n", directory);
	else
		sbuf_addf(b, "workspace: a directory in %s, as /workspace\n",
		    s->workspace);
	if (s->access == CONFIG_ACCESS_RO)
		sbuf_addf(b, "shows %s, its scope's directory, as " BOX_AGENT
			     ", read-only\n", directory);
}

/* What bubblewrap is to show. */
static void
add_shown(struct sbuf *b, const struct config_sandbox *s,
    const char *directory)
{
	add_workspace(b, s, directory);
	sbuf_addf(b, "network: %s\n", s->network == CONFIG_NETWORK_HOST ?
	    "the machine's" : "its own loopback alone");
	sbuf_add(b, "shows /usr and /etc, read-only\n");
	add_binds(b, s);
}

static void
add_bounds(struct sbuf *b, const struct heritage *h,
    const struct config_sandbox *s)
{
	add_bound(b, "memory", s->memory, 1u << 20,
	    limits_box_by_group(h, CTL_LIMIT_MEMORY) ?
		"MiB" :
		"MiB of addresses for each process: no control group can bound "
		"the box as a whole");
	add_bound(b, "processes", s->pids, 1, "at most");
	add_bound(b, "processors", s->cpus, 100,
	    (h->flags & HERITAGE_TREE_LIMIT_CPU) != 0 ?
		"at most" :
		"wanted, and not held to: that takes a control group of "
		"version 2 with the controller cpu");
}

/* When it ends. */
static void
add_life(struct sbuf *b, const struct config_sandbox *s)
{
	add_bound(b, "ends when empty for", s->idle_min, 1, "minutes");
	add_bound(b, "ends when empty and older than", s->max_age_min, 1,
	    "minutes");
}

/* What a box of these settings is, a line each. */
static void
add_box(struct sbuf *b, const struct heritage *h,
    const struct config_sandbox *s, const char *directory)
{
	sbuf_addf(b, "box: one for each %s\n",
	    s->scope == CONFIG_BOX_AGENT     ? "scope" :
		s->scope == CONFIG_BOX_SHARED ? "server" :
						"session");
	sbuf_addf(b, "runs as: uid %u, gid %u\n", (unsigned)s->uid,
	    (unsigned)s->gid);
	if (s->backend == CONFIG_BACKEND_CONTAINER)
		sbuf_addf(b, "it is the container %s of %s, which is entered, "
			     "and neither made nor ended\nfiles and network: "
			     "the container's\nbounds of what we run in it, "
			     "beside those the container has for the rest:\n",
		    s->container, config_word(OPT_BOX_ENGINE, s->engine));
	else
		add_shown(b, s, directory);
	if (s->setup[0] != '\0')
		sbuf_addf(b, "setup: %s\n", s->setup);
	add_bounds(b, h, s);
	add_life(b, s);
}

/* One word as a shell would read it. */
static void
add_word(struct sbuf *b, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-+=./:,@%";

	if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
		sbuf_add(b, word);
		return;
	}
	sbuf_add(b, "'");
	for (; *word != '\0'; word++)
		if (*word == '\'')
			sbuf_add(b, "'\\''");
		else
			sbuf_addn(b, word, 1);
	sbuf_add(b, "'");
}

/* How it would be made, as a command line, an option a line; and in details. */
static void
put_maker(struct enc *e, struct sbuf *b, struct master *m, const char *scope)
{
	char key[BOXES_KEY_MAX], why[BOX_WHY_MAX];
	const char *const *argv;

	boxes_key(&m->cfg.sandbox, scope, 0, key);
	argv = maker_show(m, key, scope, why);
	if (argv == NULL) {
		sbuf_addf(b, "%s\n", why);
		enc_kv_str(e, "why", why);
		return;
	}
	sbuf_add(b, "made by:");
	enc_kv_array(e, "argv");
	for (; *argv != NULL; argv++) {
		sbuf_add(b, strncmp(*argv, "--", 2) == 0 ? " \\\n    " : " ");
		add_word(b, *argv);
		enc_str(e, *argv);
	}
	enc_end(e);
	sbuf_add(b, "\n");
}

static void
put_box(struct enc *e, struct sbuf *b, struct master *m, const char *scope,
    const char *directory)
{
	const struct config_sandbox *s = &m->cfg.sandbox;

	enc_kv_map(e, "box");
	enc_kv_str(e, "of", config_word(OPT_BOX_OF, s->scope));
	sandbox_put_made(e, s, directory);
	enc_kv_uint(e, "memoryBytes", s->memory);
	enc_kv_uint(e, "pids", s->pids);
	enc_kv_uint(e, "cpusPercent", s->cpus);
	if (s->backend == CONFIG_BACKEND_BWRAP)
		put_maker(e, b, m, scope);
	enc_end(e);
}

/* Why the host is what it is, in a clause. */
static void
reason_of(const struct config *cfg, const char *scope,
    const struct box_answer *a, char *ret, size_t size)
{
	const char *mode = config_word(OPT_BOX_MODE, cfg->sandbox.mode);
	bool covered = config_sandbox_covers(cfg, scope);

	if (a->field != NULL)
		(void)snprintf(ret, size, "%s", a->text);
	else if (a->left)
		(void)snprintf(ret, size, "elevated is allowed");
	else if (a->text[0] != '\0')
		(void)snprintf(ret, size, "[sandbox] mode = %s; %s", mode,
		    a->text);
	else if (a->host == HOST_SANDBOX && !covered)
		(void)snprintf(ret, size, "the call asks for it");
	else
		(void)snprintf(ret, size, "[sandbox] mode = %s%s", mode,
		    cfg->sandbox.mode != CONFIG_SANDBOX_NAMED ? "" :
			covered ? ", and its section says so" :
				  ", and no section names it");
}

/* The scope it is about: that of the connection, or any of an admin's. */
static bool
take_scope(struct api_call *c, char ret[48])
{
	const char *own = conn_scope(c->conn);

	ret[0] = '\0';
	(void)val_copy(c->params, "scope", ret, 48);
	if (own == NULL)
		return true;
	if (ret[0] != '\0' && strcmp(ret, own) != 0) {
		req_failf(c->req, PROTO_E_FORBIDDEN, "scope",
		    "this connection belongs to another scope");
		return false;
	}
	(void)strlcpy(ret, own, 48);
	return true;
}

/* explainSandbox */
static void
explain_sandbox_call(struct api_call *c)
{
	const struct config *cfg = &c->m->cfg;
	struct sbuf text = SBUF_INIT;
	struct box_answer a = {.field = NULL};
	struct enc e = ENC_INIT;
	struct proto_problem why;
	char scope[48], reason[600], directory[CONFIG_DIRECTORY];
	bool whole = conn_scope(c->conn) == NULL;

	if (!take_scope(c, scope))
		return;
	if (exec_host(cfg, c->m->sandbox_why, c->params, scope, &a, &why) ==
	    -EINVAL) {
		req_fail(c->req, &why);
		return;
	}
	(void)config_directory(cfg, scope, directory);
	reason_of(cfg, scope, &a, reason, sizeof(reason));
	sbuf_addf(&text, "%s%s: %s%s: %s\n",
	    scope[0] != '\0' ? "scope " : "no scope", scope,
	    a.field == NULL ? "host " : "",
	    a.field == NULL ? box_granted_word(&a) : "refused", reason);
	if (whole && a.host == HOST_SANDBOX)
		add_box(&text, &c->m->h, &cfg->sandbox, directory);
	result_open_details(&e);
	enc_kv_str(&e, "status", "completed");
	enc_kv_str(&e, "scope", scope);
	enc_kv_bool(&e, "covered", config_sandbox_covers(cfg, scope));
	enc_kv_str(&e, "host", box_granted_word(&a));
	enc_kv_str(&e, "reason", reason);
	if (whole && a.host == HOST_SANDBOX)
		put_box(&e, &text, c->m, scope, directory);
	result_close_text(&e, &text);
	sbuf_fini(&text);
	req_done(c->req, &e);
}

const struct method method_EXPLAIN_SANDBOX = {.call = explain_sandbox_call};
