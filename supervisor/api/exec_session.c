/* SPDX-License-Identifier: MIT */
/* The session that an exec asks for, from its parameters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/text.h"
#include "supervisor/api/exec.h"
#include "supervisor/api/exec_spec.h"
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

/* The texts of a session. */
static int
session_texts(struct session *s, struct api_call *c, const char *cwd)
{
	const char *scope = conn_scope(c->conn);
	struct sbuf shown = SBUF_INIT;
	char name[160];

	exec_shown(c->params, &shown);
	text_derive_name(shown.p != NULL ? shown.p : "", shown.len, name,
	    sizeof(name));
	s->wish.command = shown.p;
	s->id.scope = scope != NULL ? strdup(scope)
				    : param_dup(c->params, "scope");
	s->id.name = strdup(name);
	s->wish.cwd = strdup(cwd);
	s->id.label = param_dup(c->params, "label");
	s->id.session_key = param_dup(c->params, "sessionKey");
	s->id.request_key = param_dup(c->params, "requestKey");
	s->wish.lane = param_dup(c->params, "lane");
	if (s->wish.command == NULL || s->id.scope == NULL ||
	    s->id.name == NULL || s->wish.cwd == NULL || s->id.label == NULL ||
	    s->id.session_key == NULL || s->id.request_key == NULL ||
	    s->wish.lane == NULL)
		return -ENOMEM;
	return 0;
}

/* The tags of a session, as encoded. */
static int
session_tags(struct session *s, const struct val *params)
{
	const struct val *tags = val_get(params, "tags");
	struct enc e = ENC_INIT;

	if (tags == NULL || tags->a.count == 0)
		return 0;
	enc_val(&e, tags);
	if (e.failed) {
		enc_fini(&e);
		return -ENOMEM;
	}
	s->id.tags = e.buf;
	s->id.tags_bytes = e.len;
	return 0;
}

/* The numbers and switches of a session. */
static void
session_numbers(struct session *s, struct master *m, const struct val *p)
{
	const struct config *cfg = &m->cfg;
	double timeout = val_num(p, "timeout",
	    val_num(p, "timeoutSeconds", (double)cfg->timeout_sec));

	s->id.created_ms = clock_wall_ms();
	s->wish.timeout_ms = seconds_ms(timeout);
	s->wish.no_output_timeout_ms = seconds_ms(
	    val_num(p, "noOutputTimeout", 0));
	s->wish.ttl_ms = cfg->cleanup_ms;
	s->wish.head_bytes = (uint32_t)cfg->head_output_chars;
	s->wish.tail_bytes = (uint32_t)cfg->max_output_chars;
	if (s->wish.tail_bytes < 4096)
		s->wish.tail_bytes = 4096;
	s->wish.grace_ms = (uint32_t)cfg->grace_ms;
	terminal_begin(s, val_bool(p, "pty", false),
	    (uint32_t)proto_int(PROTO_EXEC, p, "cols", 120),
	    (uint32_t)proto_int(PROTO_EXEC, p, "rows", 30));
	s->wish.priority = (int)val_int(p, "priority", 0);
	s->wish.notify = val_bool(p, "notifyOnExit", cfg->notify_on_exit);
	s->wish.notify_empty = cfg->notify_on_exit_empty_success;
}

/* stdin: a pipe, nothing, or a text that is spooled before the start. */
static int
session_stdin(struct session *s, struct master *m, const struct val *params,
    struct proto_problem *why)
{
	const struct val *in = val_get(params, "stdin");
	struct val_str text = val_str(in, "text");
	int r;

	s->wish.stdin_pipe = true;
	if (in == NULL || val_is_str(in, "open"))
		return 0;
	stdin_eof(s);
	if (text.ptr == NULL) {
		s->wish.stdin_pipe = false;
		stdin_closed(s);
	}
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
session_spec(struct session *s, struct master *m, const struct val *params,
    struct proto_problem *why)
{
	struct exec_base b = {.cfg = &m->cfg, .base_env = m->base_env,
	    .base_env_bytes = m->base_env_bytes, .home = m->home,
	    .user_shell = m->user_shell, .path = m->server_path};
	char instance[SESSION_INSTANCE_MAX];
	struct spec *spec = NULL;
	int r;
	struct exec_ids ids = {.slug = s->id.slug, .scope = s->id.scope,
	    .instance = instance, .pty = s->terminal.pty};

	session_instance(s, instance);
	r = exec_spec_make(&b, params, s->wish.cwd, &ids, &spec, why);
	if (r == 0)
		record_spec(s, spec);
	return r;
}

struct session *
exec_session(struct api_call *c, const char *cwd, struct proto_problem *why)
{
	struct master *m = c->m;
	struct session *s = session_new();
	const struct config_lane *lane;
	int r = -ENOMEM;

	proto_problem_set(why, PROTO_E_BUSY, "", "out of memory");
	if (s == NULL)
		return NULL;
	session_numbers(s, m, c->params);
	s->id.sid.v = m->next_sid++;
	s->id.incarnation = m->h.incarnation;
	m->next_dirty = true;
	if (session_texts(s, c, cwd) == 0 && session_tags(s, c->params) == 0)
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
	s->id.parent = kin_of_call(c);
	lane = s->wish.lane[0] != '\0' ? config_lane_for(&m->cfg, s->wish.lane)
				       : NULL;
	if (lane != NULL && val_get(c->params, "priority") == NULL)
		s->wish.priority = lane->priority;
	r = limits_take(&m->h, c->params, &s->wish.limits, why);
	if (r == 0 && lane != NULL)
		r = limits_take_config(&m->h, &lane->limits, &s->wish.limits,
		    why);
	if (r == 0)
		r = limits_take_config(&m->h, &m->cfg.limits, &s->wish.limits,
		    why);
	if (r == 0)
		r = retain_take(m, c->params, s, why);
	if (r == 0)
		r = session_stdin(s, m, c->params, why);
	if (r == 0)
		r = session_spec(s, m, c->params, why);
	if (r < 0) {
		registry_forget(m, s);
		return NULL;
	}
	return s;
}
