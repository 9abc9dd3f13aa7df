/* SPDX-License-Identifier: MIT */
/*
 * The threads of a campaign, each with a connection of its own: stories one
 * after the other, a queue, sessions that tick, a subscriber.
 */
#include "story.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_BATCH 8

static char tick_ids[TICKS_MAX][ID_BYTES];
static size_t tick_count;
static pthread_mutex_t tick_lock = PTHREAD_MUTEX_INITIALIZER;

/* Which kind next; by their share. */
static enum kind
draw_kind(uint32_t *random)
{
	static const enum kind draws[] = {KIND_STREAM, KIND_STREAM,
	    KIND_STREAM, KIND_STREAM, KIND_EXIT, KIND_EXIT, KIND_EXIT,
	    KIND_ECHO, KIND_ECHO, KIND_TERMINAL, KIND_TERMINAL, KIND_FRONT,
	    KIND_FRONT, KIND_BURST, KIND_KEYS, KIND_HIDE,
	    KIND_TIMEOUT, KIND_FAIL, KIND_SPILL};

	return draws[rnd(random) % (sizeof(draws) / sizeof(draws[0]))];
}

void *
story_thread(void *arg)
{
	uint32_t random = chaos.o.seed + 7919u * (uint32_t)(uintptr_t)arg + 1;
	psup *p = client_new();

	while (!atomic_load(&chaos.stop_starting))
		story_run(p, draw_kind(&random), &random);
	psup_free(&p);
	return NULL;
}

/* ------------------------------------------------------------------ queue */

/* Starts one that waits its turn. */
static bool
enqueue(struct story *s, const char *file)
{
	const char *rest[] = {file, NULL};
	psup_args *a;

	s->n = ledger_new(KIND_QUEUE);
	a = story_args(s, "order", rest);
	psup_args_str(a, "lane", "chaos");
	psup_args_str(a, "stdin", "closed");
	return story_start(s, a);
}

void *
queue_thread(void *)
{
	psup *p = client_new();
	char file[128];

	snprintf(file, sizeof(file), "%s/order", chaos.work);
	while (!atomic_load(&chaos.stop_starting)) {
		struct story s[QUEUE_BATCH];
		int n = 0;

		memset(s, 0, sizeof(s));
		for (; n < QUEUE_BATCH; n++) {
			s[n] = (struct story){.p = p, .kind = KIND_QUEUE,
			    .reason = "exit",
			    .keepers = atomic_load(&chaos.keepers_dead)};
			if (!enqueue(&s[n], file))
				break;
		}
		for (int i = 0; i < n; i++)
			story_finish(&s[i]);
	}
	psup_free(&p);
	return NULL;
}

/* ------------------------------------------------------------------ ticks */

size_t
ticks(char (*ret_ids)[ID_BYTES])
{
	size_t n;

	pthread_mutex_lock(&tick_lock);
	n = tick_count;
	memcpy(ret_ids, tick_ids, n * sizeof(tick_ids[0]));
	pthread_mutex_unlock(&tick_lock);
	return n;
}

/* A session that is killed before its command could note that it ran would
 * look like one that never did. */
static void
await_beginning(struct story *s)
{
	uint64_t until = clock_boot_ns() + PATIENCE_MS * UINT64_C(1000000);

	while (!s->over && s->seen == 0 && clock_boot_ns() < until &&
	    story_look(s, 500))
		;
}

/* Writes on until it is ended. False: given up. */
static bool
tick(psup *p, size_t place)
{
	struct story s = {.p = p, .kind = KIND_TICK, .bytes = UINT64_MAX,
	    .code = -1, .may_drop = true, .signal = "SIGKILL",
	    .reason = "manual-cancel",
	    .keepers = atomic_load(&chaos.keepers_dead)};
	psup_args *a;

	s.n = ledger_new(KIND_TICK);
	a = story_args(&s, "tick", NULL);
	psup_args_str(a, "stdin", "closed");
	if (!story_start(&s, a))
		return false;
	pthread_mutex_lock(&tick_lock);
	memcpy(tick_ids[place], s.id, sizeof(s.id));
	pthread_mutex_unlock(&tick_lock);
	while (!atomic_load(&chaos.stop_starting) && story_look(&s, 500) &&
	       !s.over)
		nap_ms(20);
	await_beginning(&s);
	if (!s.over) {
		story_kill(&s, 0);
		story_finish(&s);
	} else if (atomic_load(&chaos.kills_keeper) == s.keepers) {
		lost(LOSS_STATUS, "session %u (%s) ended by itself", s.n,
		    s.id);
		return false;
	} else {
		story_clear(&s);
	}
	return true;
}

void *
tick_thread(void *)
{
	psup *p = client_new();
	size_t place;

	pthread_mutex_lock(&tick_lock);
	place = tick_count++;
	pthread_mutex_unlock(&tick_lock);
	if (place < TICKS_MAX)
		while (!atomic_load(&chaos.stop_starting) && tick(p, place))
			;
	psup_free(&p);
	return NULL;
}

/* ------------------------------------------------------------- subscriber */

#define SUBSCRIBER "psup-chaos"

void
subscriber_known(psup *p)
{
	psup_args *a = psup_args_new();
	psup_reply *r = NULL;

	psup_args_str(a, "subscriber", SUBSCRIBER);
	if (ask(p, "events", a, &r) == PSUP_ERR_REFUSED)
		lost(LOSS_ANSWER, "events: %s", said(p, r));
	psup_reply_free(&r);
}

/* The place up to which events were taken, and what the server was told. */
struct place {
	int64_t taken, told;
};

static void
on_note(void *arg, const char *name, const psup_value *params)
{
	struct place *place = arg;
	int64_t seq = psup_get_int(params, "seq", 0);
	char key[64] = "";

	if (strcmp(name, "event") != 0)
		return;
	/* What was taken but not acknowledged before a kill comes again. */
	if (seq <= place->taken) {
		if (seq <= place->told)
			lost(LOSS_EVENT_TWICE,
			    "event %lld came again after it was acknowledged",
			    (long long)seq);
		return;
	}
	place->taken = seq;
	if (!psup_get_is(params, "kind", "exited") &&
	    !psup_get_is(params, "kind", "lost"))
		return;
	psup_get_copy(params, "sessionKey", key, sizeof(key));
	ledger_event(key);
}

/* Subscribes again after a loss. */
static bool
subscribe(psup *p)
{
	psup_args *a = psup_args_new();
	psup_reply *r = NULL;
	bool was = psup_is_connected(p);
	int rc = PSUP_OK;

	psup_args_str(a, "subscriber", SUBSCRIBER);
	if (!was && reach(p))
		rc = psup_call(p, "subscribe", a, PATIENCE_MS, &r);
	psup_reply_free(&r);
	psup_args_free(&a);
	return psup_is_connected(p) && rc == PSUP_OK;
}

static void
acknowledge(psup *p, struct place *place)
{
	psup_args *a;
	psup_reply *r = NULL;

	if (place->told == place->taken)
		return;
	a = psup_args_new();
	psup_args_str(a, "subscriber", SUBSCRIBER);
	psup_args_int(a, "seq", place->taken);
	if (psup_call(p, "ack", a, PATIENCE_MS, &r) == PSUP_OK)
		place->told = psup_get_int(psup_reply_value(r),
		    "acknowledged", place->told);
	psup_reply_free(&r);
	psup_args_free(&a);
}

/* Until everything that is owed has come, or nothing came for a while. */
void *
subscriber_thread(void *arg)
{
	_Atomic bool *finish = arg;
	struct place place = {0};
	psup *p = client_new();
	uint64_t since = clock_boot_ns();
	int64_t before = 0;

	psup_on_note(p, on_note, &place);
	while (!atomic_load(finish) ||
	       (ledger_events_owed() > 0 && !atomic_load(&chaos.interrupted) &&
	           clock_boot_ns() - since < 10 * UINT64_C(1000000000))) {
		if (!subscribe(p)) {
			nap_ms(2);
			continue;
		}
		atomic_store(&chaos.subscribed, true);
		if (psup_turn(p, 50) != PSUP_OK)
			continue;
		acknowledge(p, &place);
		if (place.taken != before || !atomic_load(finish))
			since = clock_boot_ns();
		before = place.taken;
	}
	psup_free(&p);
	return NULL;
}
