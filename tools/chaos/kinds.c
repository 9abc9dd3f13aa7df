/* SPDX-License-Identifier: MIT */
/* What each kind of session is asked to do and must give. */
#include "story.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_BYTES  200000 /* less than head and tail together */
#define BURST_BYTES 4000000
#define FRONT_BYTES 20000
#define INPUT_PIECE 32768

static const char *const names[KIND_COUNT] = {
    [KIND_STREAM] = "stream", [KIND_BURST] = "burst", [KIND_EXIT] = "exit",
    [KIND_ECHO] = "echo", [KIND_TERMINAL] = "terminal",
    [KIND_FRONT] = "foreground", [KIND_QUEUE] = "queue",
    [KIND_TICK] = "tick"};

const char *
kind_name(enum kind kind)
{
	return names[kind];
}

/* `write` of so many bytes with pauses between its pieces. */
static psup_args *
writer_args(struct story *s, const char *word, unsigned pause_us)
{
	char bytes[24], pause[24], code[16];
	const char *rest[] = {bytes, pause, code, NULL};

	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)s->bytes);
	snprintf(pause, sizeof(pause), "%u", pause_us);
	snprintf(code, sizeof(code), "%d", s->code);
	return story_args(s, word, rest);
}

static void
run_stream(struct story *s, uint32_t *random)
{
	psup_args *a;

	s->bytes = 1 + rnd(random) % KEPT_BYTES;
	s->code = (int)(rnd(random) % 100);
	a = writer_args(s, "write", rnd(random) % 20000);
	psup_args_str(a, "stdin", "closed");
	if (story_start(s, a))
		story_finish(s);
}

static void
run_burst(struct story *s, uint32_t *random)
{
	psup_args *a;

	s->bytes = KEPT_BYTES + rnd(random) % BURST_BYTES;
	s->may_drop = true;
	s->code = 0;
	a = writer_args(s, "write", 0);
	psup_args_str(a, "stdin", "closed");
	if (story_start(s, a))
		story_finish(s);
}

static void
run_exit(struct story *s, uint32_t *random)
{
	static const struct {
		int signal;
		const char *name;
	} ends[] = {{SIGSEGV, "SIGSEGV"}, {SIGABRT, "SIGABRT"},
	    {SIGKILL, "SIGKILL"}, {SIGTERM, "SIGTERM"}};
	char number[16];
	const char *rest[] = {number, NULL};
	unsigned which = rnd(random) % 16;

	s->bytes = 0;
	if (which < 4) {
		s->signal = ends[which].name;
		s->reason = "signal";
		snprintf(number, sizeof(number), "%d", ends[which].signal);
		if (story_start(s, story_args(s, "signal", rest)))
			story_finish(s);
		return;
	}
	s->bytes = rnd(random) % 64;
	s->code = (int)(rnd(random) % 256);
	if (story_start(s, writer_args(s, "write", 0)))
		story_finish(s);
}

/* One piece of input, at its place. False: given up. */
static bool
feed(struct story *s, uint64_t pos, uint64_t *ret_pos)
{
	psup_args *a = psup_args_new();
	psup_reply *r = NULL;
	uint64_t n = s->bytes - pos < INPUT_PIECE ? s->bytes - pos
	                                          : INPUT_PIECE;
	char data[INPUT_PIECE];
	int rc;

	pattern_fill(s->n, pos, data, (size_t)n);
	psup_args_str(a, "sessionId", s->id);
	psup_args_bytes(a, "data", data, (size_t)n);
	psup_args_int(a, "position", (int64_t)pos);
	psup_args_int(a, "timeout", 1000);
	psup_args_bool(a, "eof", pos + n == s->bytes);
	rc = ask(s->p, "write", a, &r);
	psup_args_free(&a);
	if (rc == PSUP_OK && psup_reply_is_error(r) &&
	    !psup_get_is(psup_reply_details(r), "error", "stdin-full")) {
		/* A repeat of the last piece may come after the end. */
		rc = pos + n == s->bytes ? PSUP_OK : PSUP_ERR_REFUSED;
		if (rc != PSUP_OK)
			lost(LOSS_ANSWER, "write to session %u (%s): %.200s",
			    s->n, s->id, psup_reply_text(r, NULL));
		*ret_pos = s->bytes;
	} else if (rc == PSUP_OK) {
		*ret_pos = pos + (uint64_t)psup_get_int(psup_reply_details(r),
		    "accepted", (int64_t)n);
	}
	psup_reply_free(&r);
	return rc == PSUP_OK;
}

static void
run_echo(struct story *s, uint32_t *random)
{
	uint64_t pos = 0;

	s->bytes = 1 + rnd(random) % KEPT_BYTES;
	s->code = 0;
	if (!story_start(s, story_args(s, "echo", NULL)))
		return;
	while (pos < s->bytes)
		if (!feed(s, pos, &pos) || !story_look(s, 0))
			return;
	story_finish(s);
}

static void
run_terminal(struct story *s, uint32_t *random)
{
	char bytes[24], code[16];
	const char *rest[] = {bytes, code, NULL};
	psup_args *a;

	s->bytes = 1 + rnd(random) % KEPT_BYTES;
	s->code = (int)(rnd(random) % 100);
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)s->bytes);
	snprintf(code, sizeof(code), "%d", s->code);
	a = story_args(s, "terminal", rest);
	psup_args_bool(a, "pty", true);
	if (story_start(s, a))
		story_finish(s);
}

/* In the foreground: the answer is the end, however often it is asked for. */
static void
run_front(struct story *s, uint32_t *random)
{
	psup_reply *r = NULL;
	psup_args *a;
	int rc;

	s->bytes = rnd(random) % FRONT_BYTES;
	s->code = (int)(rnd(random) % 100);
	a = writer_args(s, "write", rnd(random) % 20000);
	psup_args_nil(a, "yieldMs");
	rc = ask(s->p, "exec", a, &r);
	psup_args_free(&a);
	if (rc == PSUP_ERR_REFUSED)
		lost(LOSS_ANSWER, "exec of session %u: %s", s->n,
		    psup_error_message(s->p));
	if (rc != PSUP_OK)
		return;
	atomic_fetch_add(&chaos.started, 1);
	psup_get_copy(psup_reply_details(r), "sessionId", s->id,
	    sizeof(s->id));
	if (psup_get_is(psup_reply_details(r), "status", "running"))
		story_finish(s); /* its key came back too late */
	else
		story_answered(s, psup_reply_details(r));
	story_clear(s);
	psup_reply_free(&r);
}

void
story_run(psup *p, enum kind kind, uint32_t *random)
{
	static void (*const runs[KIND_COUNT])(struct story *, uint32_t *) = {
	    [KIND_STREAM] = run_stream, [KIND_BURST] = run_burst,
	    [KIND_EXIT] = run_exit, [KIND_ECHO] = run_echo,
	    [KIND_TERMINAL] = run_terminal, [KIND_FRONT] = run_front};
	struct story s = {.p = p, .kind = kind, .code = -1, .reason = "exit"};

	s.n = ledger_new(kind);
	runs[kind](&s, random);
}
