/* SPDX-License-Identifier: MIT */
/* See box.h. */
#include "supervisor/box/box.h"

#include "common/check.h"

static void
go(struct box *b, enum box_state state, uint64_t now_ns)
{
	b->state = state;
	b->since_ns = now_ns;
}

static uint64_t
after(uint64_t since_ns, uint64_t ns)
{
	return ns == 0 || ns > UINT64_MAX - since_ns ? UINT64_MAX
						     : since_ns + ns;
}

/* Is nothing left of this box but to see it die? */
static bool
is_stopped(const struct box *b)
{
	return b->state == BOX_FAILED ||
	       (b->state == BOX_DRAINING && b->inside == 0);
}

uint64_t
box_due_ns(const struct box *b, const struct box_rules *rules)
{
	uint64_t idle, age;

	if (is_stopped(b))
		return after(b->since_ns, rules->stop_ns);
	if (b->state == BOX_MAKING)
		return after(b->since_ns, rules->make_ns);
	if (b->state == BOX_SETUP)
		return after(b->since_ns, rules->setup_ns);
	if (b->state != BOX_READY || b->inside > 0)
		return UINT64_MAX;
	idle = after(b->since_ns, rules->idle_ns);
	age = after(b->made_ns, rules->age_ns);
	return idle < age ? idle : age;
}

static unsigned
want(struct box *b, uint64_t now_ns)
{
	switch (b->state) {
	case BOX_ABSENT:
		go(b, BOX_MAKING, now_ns);
		b->made_ns = now_ns;
		return BOX_DO_MAKE;
	case BOX_READY:
		b->inside++;
		return BOX_DO_ENTER;
	case BOX_FAILED:
		return BOX_DO_REFUSE;
	case BOX_GONE:
		return BOX_DO_AGAIN;
	default:
		return 0;
	}
}

static unsigned
fail(struct box *b, uint64_t now_ns)
{
	go(b, BOX_FAILED, now_ns);
	return BOX_DO_REFUSE | BOX_DO_STOP;
}

/* Where somebody is inside, the last one who leaves has it stopped. */
static unsigned
drain(struct box *b, uint64_t now_ns)
{
	switch (b->state) {
	case BOX_ABSENT:
		go(b, BOX_GONE, now_ns);
		return 0;
	case BOX_MAKING:
	case BOX_SETUP:
	case BOX_READY:
		go(b, BOX_DRAINING, now_ns);
		return b->inside == 0 ? BOX_DO_STOP : 0;
	default:
		return 0;
	}
}

static unsigned
left(struct box *b, uint64_t now_ns)
{
	CHECK(b->inside > 0);
	b->inside--;
	if (b->inside > 0 || b->state == BOX_GONE)
		return 0;
	b->since_ns = now_ns;
	return b->state == BOX_DRAINING ? BOX_DO_STOP : 0;
}

static unsigned
died(struct box *b, uint64_t now_ns)
{
	enum box_state was = b->state;

	if (was == BOX_ABSENT || was == BOX_GONE)
		return 0;
	go(b, BOX_GONE, now_ns);
	if (was == BOX_MAKING || was == BOX_SETUP)
		return BOX_DO_REFUSE;
	/* who came while it was drained, or stopped after it had failed */
	return BOX_DO_AGAIN | (b->inside > 0 ? BOX_DO_LOST : 0);
}

static unsigned
time_has_come(struct box *b, const struct box_rules *rules, uint64_t now_ns)
{
	if (now_ns < box_due_ns(b, rules))
		return 0;
	if (b->state == BOX_MAKING || b->state == BOX_SETUP)
		return fail(b, now_ns);
	if (b->state == BOX_READY)
		return drain(b, now_ns);
	CHECK(is_stopped(b));
	b->since_ns = now_ns;
	return BOX_DO_STOP;
}

unsigned
box_tell(struct box *b, enum box_event event, const struct box_rules *rules,
    uint64_t now_ns)
{
	switch (event) {
	case BOX_WANT:
		return want(b, now_ns);
	case BOX_UP:
		if (b->state != BOX_MAKING)
			return 0;
		go(b, rules->setup ? BOX_SETUP : BOX_READY, now_ns);
		return rules->setup ? BOX_DO_SETUP : BOX_DO_AGAIN;
	case BOX_SETUP_DONE:
		if (b->state != BOX_SETUP)
			return 0;
		go(b, BOX_READY, now_ns);
		return BOX_DO_AGAIN;
	case BOX_BAD:
		return b->state == BOX_SETUP || b->state == BOX_MAKING ?
			   fail(b, now_ns) :
			   0;
	case BOX_LEFT:
		return left(b, now_ns);
	case BOX_DRAIN:
		return drain(b, now_ns);
	case BOX_DIED:
		return died(b, now_ns);
	case BOX_TIME:
		return time_has_come(b, rules, now_ns);
	case BOX_EVENTS:
		break;
	}
	UNREACHABLE();
}

const char *
box_state_name(enum box_state state)
{
	static const char *const names[BOX_STATES] = {
	    "absent", "making", "setup", "ready", "draining", "failed", "gone"};

	CHECK(state < BOX_STATES);
	return names[state];
}
