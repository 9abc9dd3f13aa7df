/* SPDX-License-Identifier: MIT */
/* Who dies with whom, and what is there no more then (lib_custody.h). */
#include "lib_custody.h"

#include <string.h>

void
fate_worker(uint32_t n)
{
	SAY("KILL w%u.%u", n, W.w[n].gen);
	W.w[n].alive = false;
	W.w[n].link = 0;
	memset(W.w[n].of, 0, sizeof(W.w[n].of));
}

/* What was sent to workers before they can still read, until PEER comes. */
void
fate_master(void)
{
	SAY("KILL master");
	W.master_alive = false;
	W.phase = 0;
	for (uint32_t l = 1; l < W.links; l++) {
		W.cut[l] = true;
		W.say[l].head = W.say[l].tail;
	}
	for (uint32_t n = 0; n < SLOTS; n++) {
		W.mlink[n] = 0;
		W.present[n] = (struct wid){0};
		W.out[n].head = W.out[n].tail;
	}
	master_killed();
}

/* The index has lost records, and what was not committed is not there. */
void
fate_damage(void)
{
	for (uint32_t s = 0; s < SESSIONS; s++) {
		if (!W.of[s].rec.exists || sim_roll(2) == 0)
			continue;
		SAY("DAMAGE: %u", s);
		W.of[s].rec = (struct record){0};
		W.of[s].lost = true;
		W.of[s].kill_wish |= W.of[s].asked_kill; /* asks again */
		if (sim_roll(2) == 0)
			W.of[s].shown = LIFE_NONE;
	}
	W.damaged = true;
}

/* Everybody ends with the keeper, commands and those before their exec, too. */
void
fate_keeper(void)
{
	uint32_t n;

	SAY("KILL keeper");
	for (n = 0; n < SLOTS; n++)
		fate_worker(n);
	if (W.master_alive)
		fate_master();
	keeper_master_dead();
	for (n = 0; n < W.child_count; n++)
		W.children[n].step = 3;
	for (n = 0; n < SESSIONS; n++) {
		W.rows[n] = (struct row){0};
		W.of[n].shown = LIFE_NONE;
		if (W.of[n].program == 1)
			W.of[n].program = 2;
	}
	for (n = 0; n < SLOTS; n++) {
		W.w[n].state = PROC_NONE;
		W.w[n].page_pid = false;
		W.w[n].to_keeper.head = W.w[n].to_keeper.tail;
		W.w[n].to_worker.head = W.w[n].to_worker.tail;
	}
	W.standby = SLOTS - 1;
	W.stranger = true;
}
