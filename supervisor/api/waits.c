/* SPDX-License-Identifier: MIT */
/*
 * Looks whether what a wait waits for is there. Called by wait.c at the
 * beginning and at every wake, and by timers. Answers by wait_answer() alone.
 * What stands in the output is waits_scan.c's.
 */
#include "supervisor/api/waits.h"

#include <event2/event.h>
#include <stdlib.h>

#include "common/clock.h"
#include "supervisor/turn.h"
#include "supervisor/words/result.h"

#define QUIET_MS      20u     /* who wrote just now does not read yet */
#define PROBE_MAX_MS  1000u

static void settle(struct waits *ws);
static void look_round(struct waits *ws);
static void arm(struct waits *ws, uint64_t due, uint64_t now);
static uint64_t look(struct waited *w, uint64_t now);

void
waits_met(struct waited *w, enum met met)
{
	if (w->met != MET_NOT)
		return;
	w->met = met;
	w->of->met_count++;
	waits_dequeue(w);
	match_free(&w->match);
	w->behind = false;
}

bool
waits_enough(const struct waits *ws)
{
	return ws->met_count > 0 && (ws->any || ws->met_count == ws->count);
}

/* Sessions in turn, until all were looked through or the unit is over. */
static void
scan(struct waits *ws)
{
	struct waited *w;
	uint64_t now;

	while ((w = TAILQ_FIRST(&ws->scans)) != NULL) {
		waits_dequeue(w);
		waits_scan_one(w);
		if (!w->scanning) {
			now = clock_wall_ms();
			arm(ws, look(w, now), now);
			settle(ws);
		}
		if (clock_boot_ns() >= ws->r->m->unit_until_ns)
			break;
	}
	if (!TAILQ_EMPTY(&ws->scans))
		req_wake(ws->r, WAKE_MORE);
}

/* ---------------------------------------------------------- the conditions */

/* The end of an unfinished line, once the output has paused. */
static uint64_t
look_pause(struct waited *w, uint64_t base, uint64_t now)
{
	if (w->match == NULL || w->behind || w->paused_at == w->pos ||
	    !match_cares_for_end(w->match))
		return UINT64_MAX;
	if (now < base + WAITS_PAUSE_MS)
		return base + WAITS_PAUSE_MS;
	w->paused_at = w->pos;
	match_at_end(w->match, w->pos);
	(void)waits_take_found(w, readers_get(w->of->r->m, w->s->id.sid), true);
	return UINT64_MAX;
}

/* Does a process of it read? Asked again and again, ever more rarely. */
static uint64_t
look_input(struct waited *w, uint64_t base, uint64_t now)
{
	struct input_state i;

	if (!w->of->input)
		return UINT64_MAX;
	if (w->probe_at < base + QUIET_MS) {
		w->probe_at = base + QUIET_MS; /* it wrote, or was written to */
		w->probe_ms = QUIET_MS;
	}
	if (now < w->probe_at)
		return w->probe_at;
	if (w->of->probes == 0)
		return now + WAITS_PROBE_MS;
	w->of->probes--;
	i = result_input_state(w->of->r->m, w->s, 0, true);
	if (i.waits != INPUT_WAIT_NONE) {
		waits_met(w, MET_INPUT);
		return UINT64_MAX;
	}
	w->probe_ms = w->probe_ms * 2 < PROBE_MAX_MS ? w->probe_ms * 2
						     : PROBE_MAX_MS;
	w->probe_at = now + w->probe_ms;
	return w->probe_at;
}

/* Looks at one session, its output aside. When to look again (wall). */
static uint64_t
look(struct waited *w, uint64_t now)
{
	struct waits *ws = w->of;
	struct master *m = ws->r->m;
	struct session *s = w->s;
	struct ring_glance g = {0};
	struct ring_reader *rd;
	uint64_t base, due = UINT64_MAX, next;

	if (w->met != MET_NOT)
		return UINT64_MAX;
	if (!session_live(s) && w->match == NULL) {
		rd = ws->bytes > 0 ? readers_get(m, s->id.sid) : NULL;
		if (rd != NULL)
			(void)ring_glance(rd, &g);
		waits_met(w, waits_ended_how(w, g.head));
		return UINT64_MAX;
	}
	if (!session_live(s) || s->state == STATE_QUEUED ||
	    (ws->bytes == 0 && ws->idle_ms == 0 && !ws->input &&
		w->match == NULL))
		return UINT64_MAX;
	rd = readers_get(m, s->id.sid);
	if (rd != NULL)
		(void)ring_glance(rd, &g);
	if (ws->bytes > 0 && g.head >= w->since + ws->bytes) {
		waits_met(w, MET_BYTES);
		return UINT64_MAX;
	}
	if (ws->bytes > 0)
		output_watch(m, s, w->since + ws->bytes - 1);
	if (s->facts.started_ms == 0)
		return UINT64_MAX;
	base = s->facts.started_ms > s->input.fed_ms ? s->facts.started_ms
						     : s->input.fed_ms;
	if (g.last_output_ms > base)
		base = g.last_output_ms;
	due = look_pause(w, base, now);
	if (w->met == MET_NOT && ws->idle_ms > 0 && !w->behind) {
		if (now >= base + ws->idle_ms)
			waits_met(w, MET_IDLE);
		else if (base + ws->idle_ms < due)
			due = base + ws->idle_ms;
	}
	if (w->met == MET_NOT) {
		next = look_input(w, base, now);
		due = next < due ? next : due;
	}
	return w->met == MET_NOT ? due : UINT64_MAX;
}

static void on_tick(int fd, short what, void *arg);

/* Has the wait look again at a time. */
static void
arm(struct waits *ws, uint64_t due, uint64_t now)
{
	if (due >= ws->tick_at)
		return;
	ws->tick_at = due;
	timer_in(ws->r->m, &ws->tick, on_tick, ws, due > now ? due - now : 0);
}

/* The first look: where does its output end? */
static void
take_end(struct waited *w)
{
	struct ring_reader *rd = readers_of(w->of->r->m, w->s);
	struct ring_glance g;

	w->from_end = false;
	if (rd != NULL && ring_glance(rd, &g) == RING_OK)
		w->since = w->pos = g.head;
}

/* Looks at some more of them. 1: there are more. */
static int
look_step(struct req *r, uint64_t until)
{
	struct waits *ws = r->state;
	uint64_t now = clock_wall_ms(), next;
	uint32_t at;

	for (uint32_t i = 0; ws->looked < ws->count; i++, ws->looked++) {
		struct waited *w;

		if (i == WAITS_UNIT || (i > 0 && clock_boot_ns() >= until))
			return 1;
		at = (ws->first + ws->looked) % ws->count;
		w = &ws->v[at];
		if (w->s == NULL)
			continue;
		if (w->from_end)
			take_end(w);
		if (ws->begins)
			waits_enqueue(w);
		if (ws->probes > 0)
			ws->next_first = at + 1;
		next = look(w, now);
		ws->due = next < ws->due ? next : ws->due;
	}
	ws->looks = ws->begins = false;
	arm(ws, ws->due, now);
	if (ws->again)
		look_round(ws);
	else
		settle(ws);
	return ws->looks;
}

/* A look at all of them begins; where the last one has used up its probes. */
static void
round_begin(struct waits *ws)
{
	ws->looks = true;
	ws->again = false;
	ws->looked = 0;
	ws->first = ws->next_first % ws->count;
	ws->due = UINT64_MAX;
	ws->probes = RESULT_PROBES;
}

/* Looks at all, now or after the look that is under way. */
static void
look_round(struct waits *ws)
{
	ws->again = ws->looks;
	if (ws->looks)
		return;
	round_begin(ws);
	req_step(ws->r, look_step);
}

/* It may be time. */
static void
on_tick(int, short, void *arg)
{
	struct waits *ws = arg;

	turn_begin(ws->r->m);
	ws->tick_at = UINT64_MAX;
	if (!ws->answers)
		look_round(ws);
}

/* Is there output to look at before a wait whose time is up may say so? */
static bool
owes_a_look(const struct waits *ws)
{
	for (uint32_t i = 0; i < ws->count; i++)
		if (ws->v[i].behind && ws->v[i].s != NULL)
			return true;
	return false;
}

/* Does output that was met lie before an end that may follow at once? Who was
 * woken by a job's last line is told its end in the same answer, if that comes
 * within a moment. */
static bool
awaits_end(struct waits *ws)
{
	uint64_t now = clock_boot_ns(), wall = clock_wall_ms();
	bool live = false;

	for (uint32_t i = 0; i < ws->count && !live; i++)
		live = ws->v[i].s != NULL && session_live(ws->v[i].s) &&
		    (ws->v[i].met == MET_TEXT || ws->v[i].met == MET_REGEX ||
			ws->v[i].met == MET_BYTES);
	if (!live || !ws->woken || ws->timed_out)
		return false;
	if (ws->moment_ns == 0)
		ws->moment_ns = now + WAITS_MOMENT_MS * NSEC_PER_MSEC;
	if (now >= ws->moment_ns)
		return false;
	arm(ws, wall + (ws->moment_ns - now) / NSEC_PER_MSEC + 1, wall);
	return true;
}

/* Answers where that can be done. */
static void
settle(struct waits *ws)
{
	if (ws->begins || ws->answers ||
	    !(waits_enough(ws) || ws->late ||
		(ws->timed_out && !owes_a_look(ws))))
		return;
	if (awaits_end(ws))
		return;
	for (uint32_t i = 0; i < ws->count; i++)
		waits_dequeue(&ws->v[i]);
	wait_answer(ws);
}

void
waits_begin(struct waits *ws)
{
	ws->begins = true;
	round_begin(ws);
	if (look_step(ws->r, clock_boot_ns() + TURN_SLICE_MAX_NS) > 0)
		req_step(ws->r, look_step);
}

/* Time is up: what is there now is still looked at, for a while. */
static void
time_is_up(struct waits *ws)
{
	struct ring_reader *rd;
	struct ring_glance g;

	ws->late = ws->timed_out;
	ws->timed_out = true;
	req_timer(ws->r, WAITS_LATE_MS);
	for (uint32_t i = 0; i < ws->count; i++) {
		struct waited *w = &ws->v[i];

		rd = w->behind && w->s != NULL
		    ? readers_get(ws->r->m, w->s->id.sid)
		    : NULL;
		w->goal = rd != NULL && ring_glance(rd, &g) == RING_OK ? g.head
								      : 0;
	}
}

/* Something has happened to one of them. */
static void
wake_one(struct waited *w, unsigned wake)
{
	struct waits *ws = w->of;
	uint64_t now = clock_wall_ms();

	if (wake & WAKE_GONE) {
		waits_dequeue(w);
		if (!ws->answers)
			waits_met(w, MET_EXIT);
		w->s = NULL;
	} else if ((wake & (WAKE_OUTPUT | WAKE_STATE)) != 0 &&
	    w->met == MET_NOT && !w->from_end && !ws->answers) {
		ws->woken = ws->woken || (wake & WAKE_OUTPUT) != 0;
		waits_enqueue(w);
		arm(ws, look(w, now), now);
	}
}

void
waits_wake(struct waits *ws, struct session *s, unsigned wake)
{
	struct waited *w = NULL;

	if ((wake & WAKE_TIMER) && !ws->answers)
		time_is_up(ws);
	for (uint32_t i = 0; s != NULL && wake != WAKE_MORE &&
	     i < ws->count && w == NULL; i++)
		if (ws->v[i].s == s)
			w = &ws->v[i];
	if (w != NULL)
		wake_one(w, wake);
	if (wake & WAKE_MORE)
		scan(ws);
	settle(ws);
}

void
waits_fini(struct waits *ws)
{
	for (uint32_t i = 0; i < ws->count; i++) {
		waits_dequeue(&ws->v[i]);
		match_free(&ws->v[i].match);
		free(ws->v[i].matched);
	}
	timer_free(&ws->tick);
	match_spec_free(&ws->spec);
	sbuf_fini(&ws->text);
	enc_fini(&ws->e);
	free(ws->v);
}
