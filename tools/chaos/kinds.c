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
#define OVER        SIZE_MAX
#define KEYS_BYTES  20000
#define IDLE_BYTES  16

static const char *const names[KIND_COUNT] = {
    [KIND_STREAM] = "stream", [KIND_BURST] = "burst", [KIND_EXIT] = "exit",
    [KIND_ECHO] = "echo", [KIND_TERMINAL] = "terminal",
    [KIND_FRONT] = "foreground", [KIND_KEYS] = "keys",
    [KIND_HIDE] = "hide", [KIND_TIMEOUT] = "timeout",
    [KIND_FAIL] = "fail", [KIND_SPILL] = "spill", [KIND_QUEUE] = "queue", [KIND_TICK] = "tick",
    [KIND_IDLE] = "idle"};

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

/* From its start to its end. */
static void
story_whole(struct story *s, psup_args *a)
{
	if (story_start(s, a))
		story_finish(s);
}

/* The same, up to when its command is ready. False: it went no further. */
static bool
story_ready(struct story *s, psup_args *a)
{
	bool ok = story_start(s, a);

	while (ok && s->seen < READY_BYTES && !s->over)
		ok = story_step(s, 1000);
	return ok;
}

static void
run_stream(struct story *s, uint32_t *random)
{
	psup_args *a;

	s->bytes = 1 + rnd(random) % KEPT_BYTES;
	s->code = (int)(rnd(random) % 100);
	a = writer_args(s, "write", rnd(random) % 20000);
	psup_args_str(a, "stdin", "closed");
	story_whole(s, a);
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
	story_whole(s, a);
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
		story_whole(s, story_args(s, "signal", rest));
		return;
	}
	s->bytes = rnd(random) % 64;
	s->code = (int)(rnd(random) % 256);
	story_whole(s, writer_args(s, "write", 0));
}

/* n bytes of input at their place; `last`: it may end by them. False: given
 * up. What of them was taken; OVER: nothing more will be, by the keeper's
 * death, or its box's, or because it came to its end before a repeat. */
static bool
feed_bytes(struct story *s, uint64_t pos, const char *data, size_t n, bool eof,
    bool last, size_t *ret_taken)
{
	psup_args *a = of_session(s->id);
	psup_reply *r = NULL;
	int rc;

	psup_args_bytes(a, "data", data, n);
	psup_args_int(a, "position", (int64_t)pos);
	psup_args_int(a, "timeout", 1000);
	if (eof)
		psup_args_bool(a, "eof", true);
	rc = ask(s->p, "write", a, &r);
	*ret_taken = n;
	if (rc == PSUP_OK && psup_reply_is_error(r) &&
	    !answer_is(psup_reply_details(r), "stdin-full")) {
		/* A repeat of the last piece may come after the end: then it
		 * was not taken, and what follows it has no place either. */
		if (last || story_may_be_lost(s))
			*ret_taken = OVER;
		else
			rc = PSUP_ERR_REFUSED;
		if (rc != PSUP_OK)
			lost(LOSS_ANSWER, "write to session %u (%s): %s",
			    s->n, s->id, said(s->p, r));
	} else if (rc == PSUP_ERR_REFUSED) {
		lost(LOSS_ANSWER, "write to session %u (%s) at %llu: %s",
		    s->n, s->id, (unsigned long long)pos, said(s->p, r));
	} else if (rc == PSUP_OK) {
		*ret_taken = (size_t)psup_get_int(psup_reply_details(r),
		    "accepted", (int64_t)n);
		if (*ret_taken > 0)
			s->moved_ns = clock_boot_ns();
	}
	psup_reply_free(&r);
	return rc == PSUP_OK;
}

/* The next piece of `end` bytes of pattern whose first one is byte `from` of
 * the output. */
static bool
feed(struct story *s, uint64_t from, uint64_t end, bool eof, uint64_t *pos)
{
	char data[INPUT_PIECE];
	size_t n = end - *pos < INPUT_PIECE ? (size_t)(end - *pos)
	                                    : INPUT_PIECE;
	bool last = eof && *pos + n == end, ok;

	pattern_fill(s->n, from + *pos, data, n);
	ok = feed_bytes(s, *pos, data, n, last, last, &n);
	if (n == OVER) {
		/* its command is dead; that it is over may be told later */
		story_follow(s);
		return s->over;
	}
	*pos += n;
	return ok;
}

static void
run_echo(struct story *s, uint32_t *random)
{
	uint64_t pos = 0;

	s->bytes = 1 + rnd(random) % KEPT_BYTES;
	s->code = 0;
	if (!story_start(s, story_args(s, "echo", NULL)))
		return;
	while (pos < s->bytes && !s->over)
		if (!feed(s, 0, s->bytes, true, &pos) || !story_step(s, 0))
			return;
	story_finish(s);
}

/* After READY_BYTES of its own, a raw terminal's program gives back what is
 * typed, up to a line's end. Where input may be in doubt that may be, too, so
 * it is typed again. */
static void
run_keys(struct story *s, uint32_t *random)
{
	uint64_t typed = rnd(random) % KEYS_BYTES, pos = 0, since;
	size_t one;
	psup_args *a;

	s->bytes = READY_BYTES + typed;
	s->code = 0;
	a = story_args(s, "keys", NULL);
	psup_args_bool(a, "pty", true);
	if (!story_ready(s, a))
		return;
	while (pos < typed && !s->over)
		if (!feed(s, READY_BYTES, typed, false, &pos) ||
		    !story_step(s, 0))
			return;
	for (; !s->over; pos++) {
		if (!feed_bytes(s, pos, "\n", 1, false, true, &one))
			return;
		if (one == OVER) {
			story_follow(s);
			break;
		}
		for (since = clock_boot_ns(); !s->over; ) {
			if (!story_step(s, 500))
				return;
			if (chaos.in_hand &&
			    clock_boot_ns() - since > 500 * UINT64_C(1000000))
				break;
		}
	}
	story_clear(s);
}

/* A tree of three, two of them hidden, ended by kill. */
static void
run_hide(struct story *s, uint32_t *random)
{
	s->bytes = UINT64_MAX;
	s->signal = "SIGKILL";
	s->reason = "manual-cancel";
	if (!story_ready(s, story_args(s, "hide", NULL)))
		return;
	nap_ms(rnd(random) % 20);
	if (rnd(random) % 2 == 0)
		s->signal = "SIGTERM";
	story_kill(s, strcmp(s->signal, "SIGTERM") == 0 ? 60000 : 0);
	story_finish(s);
}

/* It writes on and on; a time-out ends it. */
static void
run_timeout(struct story *s, uint32_t *random)
{
	psup_args *a;

	s->bytes = UINT64_MAX;
	s->may_drop = true;
	s->timeout_s = (50 + rnd(random) % 1000) / 1000.0;
	s->signal = "SIGTERM";
	s->reason = "overall-timeout";
	a = story_args(s, "tick", NULL);
	psup_args_str(a, "stdin", "closed");
	story_whole(s, a);
}

static void
run_fail(struct story *s, uint32_t *)
{
	s->reason = "spawn-error";
	story_whole(s, story_args(s, NULL, NULL));
}

static void
run_spill(struct story *s, uint32_t *random)
{
	psup_args *a;

	s->bytes = KEPT_BYTES + rnd(random) % (BURST_BYTES / 4);
	s->may_drop = true;
	s->code = 0;
	snprintf(s->spill, sizeof(s->spill), "%s/spill-%u", chaos.work, s->n);
	a = writer_args(s, "write", rnd(random) % 2000);
	psup_args_map_begin(a, "spill");
	psup_args_str(a, "path", s->spill);
	psup_args_map_end(a);
	story_whole(s, a);
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
	story_whole(s, a);
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
	    [KIND_TERMINAL] = run_terminal, [KIND_FRONT] = run_front,
	    [KIND_KEYS] = run_keys, [KIND_HIDE] = run_hide,
	    [KIND_TIMEOUT] = run_timeout, [KIND_FAIL] = run_fail,
	    [KIND_SPILL] = run_spill};
	struct story s = {.p = p, .code = -1, .reason = "exit",
	    .keepers = atomic_load(&chaos.keepers_dead)};

	/* neither answer nor file says where output was dropped */
	s.kind = (kind == KIND_FRONT || kind == KIND_SPILL) && chaos.full
	    ? KIND_STREAM
	    : kind;
	s.n = ledger_new(s.kind);
	runs[s.kind](&s, random);
}

/* --------------------------------------------------------- that do nothing */

static struct story *idlers;
static psup *idle_client;

void
idle_start(void)
{
	idlers = calloc((size_t)chaos.o.idle + 1, sizeof(*idlers));
	if (idlers == NULL || psup_new(&idle_client) != PSUP_OK)
		die("no memory");
	for (int i = 0; i < chaos.o.idle; i++) {
		struct story *s = &idlers[i];

		*s = (struct story){.p = idle_client, .kind = KIND_IDLE,
		    .bytes = IDLE_BYTES, .reason = "exit",
		    .keepers = atomic_load(&chaos.keepers_dead),
		    .n = ledger_new(KIND_IDLE)};
		if (!story_start(s, story_args(s, "echo", NULL)))
			s->over = true;
	}
}

/* Their input comes and ends, and so do they. */
void
idle_end(void)
{
	for (int i = 0; i < chaos.o.idle; i++) {
		struct story *s = &idlers[i];
		uint64_t pos = 0;
		bool ok = !s->over;

		while (ok && !s->over && pos < IDLE_BYTES)
			ok = feed(s, 0, IDLE_BYTES, true, &pos);
		if (ok)
			story_finish(s);
	}
	psup_free(&idle_client);
	free(idlers);
	idlers = NULL;
}
