/* SPDX-License-Identifier: MIT */
/* See input_rule.h. Called by input_look.c; knows neither /proc nor sessions.
 */
#include "worker/input_rule.h"

#include <stddef.h>

/* FNV-1a, of 8 bytes. */
static void
stamp_add(uint64_t *stamp, uint64_t v)
{
	for (size_t i = 0; i < sizeof(v); i++, v >>= 8)
		*stamp = (*stamp ^ (v & 0xff)) * UINT64_C(0x100000001b3);
}

void
input_look_begin(struct input_look *l, uint64_t out, uint64_t fed)
{
	*l = (struct input_look){.stamp = UINT64_C(0xcbf29ce484222325)};
	stamp_add(&l->stamp, out);
	stamp_add(&l->stamp, fed);
}

/* Does it wait for the session's input, and for that alone? */
static bool
task_reads(const struct input_task *t)
{
	if (!t->first || t->state != 'S')
		return false;
	if (t->sleep.kind == SLEEP_READ)
		return t->source == INPUT_FROM_STDIN;
	return t->sleep.kind == SLEEP_POLL && t->drives && !t->sleep.timed;
}

/* Does it wait for somebody of the session? */
static bool
task_rests(const struct input_task *t)
{
	if (t->state == 'T' || t->state == 't')
		return true;
	if (t->state != 'S')
		return false;
	switch (t->sleep.kind) {
	case SLEEP_CHILD:
	case SLEEP_SIGNAL:
		return true;
	case SLEEP_READ:
		return t->source == INPUT_FROM_PIPE;
	case SLEEP_FUTEX: /* the threads of a pool that has nothing to do */
	case SLEEP_POLL:
		return !t->first;
	default:
		return false;
	}
}

bool
input_look_task(struct input_look *l, const struct input_task *t)
{
	if (t->state == 'Z' || t->state == 'X')
		return true; /* it is over */
	stamp_add(&l->stamp, (uint64_t)t->tid);
	stamp_add(&l->stamp, t->start);
	stamp_add(&l->stamp, t->ticks);
	if (task_reads(t)) {
		l->reads = true;
		stamp_add(&l->stamp, t->ran_ns);
	} else if (!task_rests(t)) {
		l->works = true;
	}
	return !l->works;
}

bool
input_look_waits(const struct input_look *l)
{
	return l->reads && !l->works;
}
