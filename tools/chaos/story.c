/* SPDX-License-Identifier: MIT */
/*
 * The mechanics of one session: asked for until it is answered, followed, then
 * forgotten; what it gave is compared by story_check.c. Every request here may be
 * repeated: an exec by its key, a poll by its position, a write by its position.
 */
#include "story.h"

#include <string.h>

bool
reach(psup *p)
{
	struct psup_options o = PSUP_OPTIONS_INIT;

	if (psup_is_connected(p))
		return true;
	o.runtime_dir = chaos.dir;
	o.client = "psup-chaos";
	return psup_connect(p, &o) == PSUP_OK;
}

bool
answer_is(const psup_value *d, const char *code)
{
	return psup_get_is(d, "code", code) || psup_get_is(d, "error", code);
}

/* Answers that ask for patience: too many sessions for the memory, or a turn
 * that, by --fault, could not be written. */
static bool
is_full(const psup *p, int rc, const psup_reply *r)
{
	const psup_value *d = rc == PSUP_OK ? psup_reply_details(r) : NULL;

	if (rc == PSUP_ERR_REFUSED)
		return chaos.no_index &&
		    strcmp(psup_error_code(p), "no-space") == 0;
	return answer_is(d, "no-space") || answer_is(d, "busy");
}

const char *
said(const psup *p, const psup_reply *r)
{
	static _Thread_local char text[200]; /* an answer's has no NUL */
	size_t len = 0;
	const char *words = r != NULL ? psup_reply_text(r, &len) : NULL;

	if (r == NULL)
		return psup_error_message(p);
	snprintf(text, sizeof(text), "%.*s", (int)(len < sizeof(text) ? len
	    : sizeof(text) - 1), words != NULL ? words : "");
	return text;
}

bool
is_patience_over(uint64_t since_ns)
{
	uint64_t dead_ns = atomic_load(&chaos.keeper_dead_ns);

	return clock_boot_ns() > (dead_ns > since_ns ? dead_ns : since_ns) +
	    PATIENCE_MS * UINT64_C(1000000);
}

int
ask(psup *p, const char *method, psup_args *a, psup_reply **ret)
{
	uint64_t began = clock_boot_ns();
	int rc = PSUP_ERR_LOST;

	while (!is_patience_over(began) && !atomic_load(&chaos.interrupted)) {
		if (!reach(p)) {
			nap_ms(1);
			continue;
		}
		rc = psup_call(p, method, a, PATIENCE_MS, ret);
		if (is_full(p, rc, *ret)) {
			psup_reply_free(ret);
			nap_ms(20);
			rc = PSUP_ERR_LOST;
			continue;
		}
		if (rc == PSUP_OK || rc == PSUP_ERR_REFUSED)
			break;
		atomic_fetch_add(&chaos.repeats, 1);
		rc = PSUP_ERR_LOST;
	}
	if (rc != PSUP_ERR_LOST)
		stepped();
	else if (!atomic_load(&chaos.interrupted))
		lost(LOSS_STUCK, "%s: %s", method, psup_error_message(p));
	psup_args_free(&a);
	return rc;
}

psup *
client_new(void)
{
	psup *p;

	if (psup_new(&p) != PSUP_OK)
		die("no memory");
	return p;
}

psup_args *
of_session(const char *id)
{
	psup_args *a = psup_args_new();

	psup_args_str(a, "sessionId", id);
	return a;
}

psup_args *
story_args(struct story *s, const char *word, const char *const *rest)
{
	bool boxed = boxed_has(s->kind, s->n);
	psup_args *a = psup_args_new();
	char text[160], inside[64], scope[ID_BYTES];

	snprintf(inside, sizeof(inside), "%s%s", BOXED_SELF,
	    strrchr(chaos.self, '/') + 1);
	psup_args_list_begin(a, "argv");
	psup_args_str(a, NULL, word == NULL ? "/proc/1/nothing"
		: boxed			    ? inside
					    : chaos.self);
	psup_args_str(a, NULL, "--child");
	psup_args_str(a, NULL, word != NULL ? word : "");
	snprintf(text, sizeof(text), "%s/starts",
	    boxed ? BOXED_WORK : chaos.work);
	psup_args_str(a, NULL, text);
	snprintf(text, sizeof(text), "%u", s->n);
	psup_args_str(a, NULL, text);
	while (rest != NULL && *rest != NULL)
		psup_args_str(a, NULL, *rest++);
	psup_args_list_end(a);
	ledger_key(s->n, text, sizeof(text));
	psup_args_str(a, "requestKey", text);
	psup_args_str(a, "sessionKey", text);
	psup_args_num(a, "timeout", s->timeout_s);
	if (boxed) {
		s->boxes = boxed_dead(boxed_place(s->n));
		boxed_scope(boxed_place(s->n), scope);
		psup_args_str(a, "scope", scope);
		psup_args_str(a, "host", "sandbox");
	} else {
		psup_args_str(a, "workdir", "/");
	}
	return a;
}

bool
story_start(struct story *s, psup_args *a)
{
	psup_reply *r = NULL;
	int rc;

	psup_args_bool(a, "background", true);
	psup_args_bool(a, "notifyOnExit", true);
	rc = ask(s->p, "exec", a, &r);
	if (rc == PSUP_OK) {
		const psup_value *d = psup_reply_details(r);

		psup_get_copy(d, "sessionId", s->id, sizeof(s->id));
		atomic_fetch_add(&chaos.started, 1);
		s->moved_ns = clock_boot_ns();
		/* A repeat may hear of the end at once. */
		if (psup_reply_is_error(r) && s->id[0] == '\0')
			rc = PSUP_ERR_REFUSED;
	}
	if (rc == PSUP_ERR_REFUSED)
		lost(LOSS_ANSWER, "exec of session %u: %s", s->n,
		    said(s->p, r));
	psup_reply_free(&r);
	return rc == PSUP_OK;
}

bool
story_look(struct story *s, int wait_ms)
{
	psup_args *a = of_session(s->id);
	psup_reply *r = NULL;
	const psup_value *d;
	size_t size;
	int rc;

	psup_args_int(a, "since", (int64_t)s->seen);
	psup_args_int(a, "timeout", wait_ms);
	psup_args_int(a, "maxBytes", STORY_PIECE);
	psup_args_bool(a, "raw", true);
	rc = ask(s->p, "poll", a, &r);
	d = rc == PSUP_OK ? psup_reply_details(r) : NULL;
	if (rc == PSUP_ERR_REFUSED ||
	    (rc == PSUP_OK && psup_value_get(d, "next") == NULL)) {
		lost(LOSS_ANSWER, "poll of session %u (%s, %s): %s", s->n,
		    s->id, kind_name(s->kind), said(s->p, r));
		psup_reply_free(&r);
		return false;
	}
	if (rc != PSUP_OK)
		return false;
	size = story_take(s, d);
	if (size == 0 && !psup_get_is(d, "status", "running"))
		story_check_end(s, d);
	psup_reply_free(&r);
	return true;
}

void
story_clear(struct story *s)
{
	psup_args *a = of_session(s->id);
	psup_reply *r = NULL;

	if (ask(s->p, "clear", a, &r) == PSUP_OK && psup_reply_is_error(r) &&
	    !answer_is(psup_reply_details(r), "not-found") &&
	    !answer_is(psup_reply_details(r), "not-finished"))
		lost(LOSS_ANSWER, "clear of session %u (%s, %s): %s", s->n,
		    s->id, kind_name(s->kind), said(s->p, r));
	psup_reply_free(&r);
}

void
story_kill(struct story *s, int grace_ms)
{
	psup_args *a = of_session(s->id);
	psup_reply *r = NULL;

	psup_args_int(a, "graceMs", grace_ms);
	if (ask(s->p, "kill", a, &r) == PSUP_OK && !psup_reply_is_error(r) &&
	    psup_get_int(psup_reply_details(r), "remaining", 0) > 0)
		lost(LOSS_PROCESS, "session %u (%s, %s): kill left %lld", s->n,
		    s->id, kind_name(s->kind),
		    (long long)psup_get_int(psup_reply_details(r),
		        "remaining", 0));
	psup_reply_free(&r);
}

/* Has nothing come or gone for a minute? Then it is counted. */
static bool
is_stuck(struct story *s)
{
	if (s->over || !is_patience_over(s->moved_ns))
		return false;
	lost(LOSS_STUCK, "session %u (%s, %s) at %llu", s->n, s->id,
	    kind_name(s->kind), (unsigned long long)s->seen);
	return true;
}

bool
story_step(struct story *s, int wait_ms)
{
	return s->over || (story_look(s, wait_ms) && !is_stuck(s));
}

void
story_follow(struct story *s)
{
	s->moved_ns = clock_boot_ns();
	while (!s->over && story_step(s, 5000))
		;
}

void
story_finish(struct story *s)
{
	story_follow(s);
	if (s->over)
		story_clear(s);
}
