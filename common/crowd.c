/* SPDX-License-Identifier: MIT */
#include "common/crowd.h"

#include <time.h>

#include "common/clock.h"

#define SLOT_SHIFT 23u
#define FEW        2u     /* so many wait for nobody */
#define EACH_NS    32000u /* of pause for each of the others */

/* Slots that have become old count no more. */
static void
advance(struct crowd *c, uint64_t now_ns)
{
	uint64_t slot = (now_ns >> SLOT_SHIFT) + 1;
	uint32_t *n;

	for (unsigned i = 0; i < CROWD_SLOTS && c->slot < slot; i++) {
		n = &c->in_slot[++c->slot % CROWD_SLOTS];
		c->count -= *n;
		*n = 0;
	}
	if (c->slot < slot)
		c->slot = slot;
}

void
crowd_enter(struct crowd *c, uint64_t now_ns, uint64_t *slot)
{
	crowd_leave(c, slot);
	advance(c, now_ns);
	c->in_slot[c->slot % CROWD_SLOTS]++;
	c->count++;
	*slot = c->slot;
}

void
crowd_leave(struct crowd *c, uint64_t *slot)
{
	uint64_t entered = *slot;

	*slot = 0;
	if (entered == 0 || entered + CROWD_SLOTS <= c->slot)
		return;
	c->in_slot[entered % CROWD_SLOTS]--;
	c->count--;
}

uint64_t
crowd_pause_ns(struct crowd *c, uint64_t now_ns)
{
	uint64_t ns;

	if (c->count <= FEW)
		return 0;
	advance(c, now_ns);
	ns = c->count > FEW ? (uint64_t)(c->count - FEW) * EACH_NS : 0;
	return ns < CROWD_PAUSE_NS ? ns : CROWD_PAUSE_NS;
}

void
crowd_pause(struct crowd *c)
{
	struct timespec ts = {0};

	if (c->count > FEW)
		ts.tv_nsec = (long)crowd_pause_ns(c, clock_boot_ns());
	if (ts.tv_nsec > 0)
		(void)nanosleep(&ts, NULL);
}
