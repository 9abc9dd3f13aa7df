/* SPDX-License-Identifier: MIT */
/* The session that an exec asks for, from its parameters. */
#include <errno.h>
#include <string.h>

#include "common/clock.h"
#include "common/text.h"
#include "supervisor/api/exec_host.h"
#include "supervisor/api/exec_spec.h"
#include "supervisor/api/method.h"
#include "supervisor/session/limits.h"
#include "supervisor/session/retain.h"

/* Seconds as milliseconds. */
static uint64_t
seconds_ms(double v)
{
	return v > 0 ? (uint64_t)(v * 1000 + 0.5) : 0;
}

/* A copy of a param; "" where absent. */
static char *
param_dup(const struct val *params, const char *name)
{
	struct val_str v = val_str(params, name);

	return strndup(v.ptr != NULL ? v.ptr : "", v.len);
}

/* Who it is. */
static void
identify(struct api_call *c, const char *name, struct session_id *id)
{
	const char *scope = conn_scope(c->conn);

	id->sid.v = c->m->next_sid++;
	registry_slug(c->m, id->sid, id->slug);
	id->incarnation = c->m->h.incarnation;
	id->parent = kin_of_call(c);
	id->created_ms = clock_wall_ms();
	id->scope = scope != NULL ? strdup(scope)
				  : param_dup(c->params, "scope");
	id->name = strdup(name);
	id->label = param_dup(c->params, "label");
	id->session_key = param_dup(c->params, "sessionKey");
	id->request_key = param_dup(c->params, "requestKey");
}

/* The numbers and switches of what is asked for. */
static void
take_numbers(const struct config *cfg, const struct val *p,
    struct session_wish *w)
{
	double timeout = val_num(p, "timeout",
	    val_num(p, "timeoutSeconds", (double)cfg->timeout_sec));

	w->timeout_ms = seconds_ms(timeout);
	w->no_output_timeout_ms = seconds_ms(val_num(p, "noOutputTimeout", 0));
	w->ttl_ms = cfg->cleanup_ms;
	w->head_bytes = (uint32_t)cfg->head_output_chars;
	w->tail_bytes = cfg->max_output_chars > 4096
	    ? (uint32_t)cfg->max_output_chars
	    : 4096;
	w->grace_ms = (uint32_t)cfg->grace_ms;
	w->notify = val_bool(p, "notifyOnExit", cfg->notify_on_exit);
	w->notify_asked = val_bool(p, "notifyOnExit", false);
	w->notify_empty = cfg->notify_on_exit_empty_success;
	w->stream = val_bool(p, "stream", false);
}

/* Is there a pipe that feeds it, or a terminal? Where the call does not say only
 * if somebody could answer: who waits until it has ended cannot. */
static bool
takes_input(const struct api_call *c)
{
	const struct val *in = val_get(c->params, "stdin");
	const struct val *yield = val_get(c->params, "yieldMs");
	bool stays = yield != NULL && yield->type == VAL_NIL &&
	    !val_bool(c->params, "background", false);

	if (in != NULL)
		return val_is_str(in, "open") ||
		    val_str(in, "text").ptr != NULL;
	return conn_process(c->conn) && !stays &&
	    c->m->cfg.stdin_default == CONFIG_STDIN_OPEN;
}

/* What a lane has in store for those that do not say: priority, limits. */
static int
take_lane(struct master *m, const struct val *p, struct session_wish *w,
    struct proto_problem *why)
{
	const struct config_lane *lane = w->lane[0] != '\0'
	    ? config_lane_for(&m->cfg, w->lane)
	    : NULL;
	int r = limits_take(&m->h, p, &w->limits, why);

	if (r == 0 && w->host == HOST_SANDBOX)
		r = limits_check_box(&m->cfg.sandbox, &w->limits, why);
	w->priority = (int)val_int(p, "priority",
	    lane != NULL ? lane->priority : 0);
	if (r == 0 && lane != NULL)
		r = limits_take_config(&m->h, &lane->limits, &w->limits, why);
	if (r == 0)
		r = limits_take_config(&m->h, &m->cfg.limits, &w->limits, why);
	if (r == 0 && w->host == HOST_SANDBOX)
		limits_take_box(&m->h, &m->cfg.sandbox, &w->limits);
	return r;
}

/* A session of what the params say, in no tree yet. NULL: *why. */
static struct session *
make(struct api_call *c, const char *cwd, uint32_t host,
    struct proto_problem *why)
{
	struct session_id id = {0};
	struct session_wish wish = {0};
	struct sbuf shown = SBUF_INIT;
	char name[160];
	int r = -ENOMEM;

	exec_shown(c->params, &shown);
	text_derive_name(shown.p != NULL ? shown.p : "", shown.len, name,
	    sizeof(name));
	identify(c, name, &id);
	take_numbers(&c->m->cfg, c->params, &wish);
	wish.stdin_pipe = takes_input(c);
	wish.command = shown.p;
	wish.host = host;
	wish.cwd = strdup(cwd);
	wish.lane = param_dup(c->params, "lane");
	if (wish.cwd != NULL && wish.lane != NULL)
		r = fields_map(val_get(c->params, "tags"), &id.tags);
	if (r == 0)
		r = take_lane(c->m, c->params, &wish, why);
	if (r == 0)
		r = retain_take(c->m, c->params, &id, &wish, why);
	if (r == 0)
		return session_make(&id, &wish);
	session_unmake(&id, &wish);
	return NULL;
}

/* stdin: a pipe, nothing, or a text that is spooled before the start. */
static int
session_stdin(struct session *s, struct master *m, const struct val *params,
    struct proto_problem *why)
{
	struct val_str text = val_str(val_get(params, "stdin"), "text");
	int r;

	if (s->wish.stdin_pipe && text.ptr == NULL)
		return 0; /* open */
	stdin_eof(s);
	if (!s->wish.stdin_pipe)
		stdin_closed(s);
	if (text.len > 0 &&
	    room_ask(s->share.room, SHARE_WAITING, text.len, why) < 0)
		return -EDQUOT;
	r = stdin_append(m, s, text.ptr, text.len);
	if (r == 0 && s->terminal.pty)
		r = terminal_eof(m, s);
	if (r < 0)
		proto_problem_set(why, PROTO_E_NO_SPACE, "stdin",
		    "no space for stdin: %s", strerror(-r));
	return r;
}

/* The spec of a session. */
static int
session_spec(struct session *s, const struct api_call *c, bool no_links,
    struct proto_problem *why)
{
	struct exec_base b = exec_base_of(c);
	char instance[SESSION_INSTANCE_MAX];
	struct spec *spec = NULL;
	int r;
	struct exec_ids ids = {.slug = s->id.slug, .scope = s->id.scope,
	    .instance = instance, .pty = s->terminal.pty};

	b.boxed = s->wish.host == HOST_SANDBOX;
	b.no_links = no_links;
	session_instance(s, instance);
	r = exec_spec_make(&b, c->params, s->wish.cwd, &ids, &spec, why);
	if (r == 0)
		record_spec(s, spec);
	return r;
}

struct session *
exec_session(struct api_call *c, const char *cwd, uint32_t host, bool no_links,
    struct proto_problem *why)
{
	struct master *m = c->m;
	const struct val *p = c->params;
	struct session *s;
	int r;

	proto_problem_set(why, PROTO_E_BUSY, "", "out of memory");
	s = make(c, cwd, host, why);
	if (s == NULL)
		return NULL;
	r = room_join(m, s);
	if (r == 0)
		r = room_for(s, STATE_FREE, why);
	if (r == 0)
		r = registry_add(m, s);
	if (r < 0) {
		session_free(s);
		return NULL;
	}
	record_new(m, s);
	terminal_begin(s, val_bool(p, "pty", false),
	    (uint32_t)proto_int(PROTO_EXEC, p, "cols", 120),
	    (uint32_t)proto_int(PROTO_EXEC, p, "rows", 30));
	r = session_stdin(s, m, p, why);
	if (r == 0)
		r = session_spec(s, c, no_links, why);
	if (r < 0) {
		registry_forget(m, s);
		return NULL;
	}
	return s;
}
