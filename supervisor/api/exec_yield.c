/* SPDX-License-Identifier: MIT */
/*
 * When an exec that waits in the foreground is answered though its command goes
 * on: at its yield, or before, where the command is seen to go on by input
 * alone. The worker looks when it is asked (input_wait_ask), of a call at a
 * time and never more often than input_yield.h says; who has ended by the first
 * look costs nothing.
 */
#include "common/clock.h"
#include "supervisor/api/exec.h"
#include "supervisor/session/input_wait.h"
#include "supervisor/words/result.h"

/* How long a repeat waits for a look, which takes a millisecond; a new master
 * may not have heard yet who has the session. */
#define ASK_MS	    2000u
#define ASK_STEP_MS 20u
#define PID_MS	    1000u /* a start takes a millisecond */

/* Sets the timer to the yield, or to the next look where that comes before. */
static void
arm(struct req *r, uint64_t now)
{
	const struct exec *x = r->state;
	uint64_t left = (x->yield_ns - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
	uint64_t pause = input_yield_pause_ms(&x->input, x->began_ns, now,
	    r->m->cfg.input_yield_ms * NSEC_PER_MSEC);

	req_timer(r, x->looks && pause < left ? pause : left);
}

void
exec_yield_begin(struct req *r, uint64_t ms, bool looks)
{
	struct exec *x = r->state;

	x->looks = looks && r->m->cfg.input_yield_ms > 0;
	x->began_ns = clock_boot_ns();
	x->yield_ns = x->began_ns + ms * NSEC_PER_MSEC;
	arm(r, x->began_ns);
}

/* Not for one whose start hangs. */
void
exec_yield_pid(struct req *r)
{
	struct exec *x = r->state;

	if (x->bg)
		return;
	x->bg = true;
	exec_yield_begin(r, PID_MS, false);
}

bool
exec_yield_timer(struct req *r, struct session *s)
{
	const struct exec *x = r->state;
	uint64_t now = clock_boot_ns();

	if (now >= x->yield_ns) {
		if (x->bg || s->state != STATE_STARTING)
			return true;
		exec_yield_pid(r);
		return false;
	}
	if (x->looks && !x->bg && s->state == STATE_RUNNING &&
	    result_stdin_writable(s))
		input_wait_ask(r->m, s);
	arm(r, now);
	return false;
}

bool
exec_yield_input(struct req *r, const struct session *s)
{
	struct exec *x = r->state;

	return x->looks && !x->bg && s->state == STATE_RUNNING &&
	       input_yield_seen(&x->input,
		   s->input_wait.told != INPUT_WAIT_NONE, s->input_wait.stamp,
		   clock_boot_ns(), r->m->cfg.input_yield_ms * NSEC_PER_MSEC);
}

bool
exec_yield_ask(struct req *r, struct session *s)
{
	struct exec *x = r->state;

	if (r->m->cfg.input_yield_ms == 0 || s->state != STATE_RUNNING ||
	    !result_stdin_writable(s) || req_watch(r, s) < 0)
		return false;
	x->asks = true;
	x->yield_ns = clock_boot_ns() + ASK_MS * NSEC_PER_MSEC;
	input_wait_ask(r->m, s);
	req_timer(r, ASK_STEP_MS);
	return true;
}

bool
exec_yield_told(struct req *r, struct session *s, unsigned wake)
{
	const struct exec *x = r->state;

	if (wake & WAKE_INPUT)
		return true;
	if ((wake & WAKE_TIMER) == 0)
		return false;
	if (input_wait_known(s) != INPUT_WAIT_NONE ||
	    clock_boot_ns() >= x->yield_ns)
		return true;
	input_wait_ask(r->m, s);
	req_timer(r, ASK_STEP_MS);
	return false;
}
