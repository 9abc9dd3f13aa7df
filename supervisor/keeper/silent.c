/* SPDX-License-Identifier: MIT */
/* Master and workers that live and do not beat. Called by the loop, once a tick. */
#include <signal.h>
#include <string.h>

#include "supervisor/keeper/state.h"

#define HUNG_NS (5 * NSEC_PER_SEC)
#define PROD_NS (2 * NSEC_PER_SEC)

/* It is hung, whatever it does: one that is busy beats after each piece of
 * work. A master has said what the piece in hand is. */
static void
say_silent(const struct proc *p, uint64_t ms)
{
	char method[sizeof(p->page->unit_method)] = "";

	if (p->role == HERITAGE_MASTER &&
	    atomic_load(&p->page->unit_began_ns) != 0)
		memcpy(method, p->page->unit_method, sizeof(method));
	method[sizeof(method) - 1] = '\0';
	log_event(LOG_WARN, "worker-silent", KV_PROC(p), KV("silent_ms", ms),
	    KV("method", method));
}

/* Kills a process that has stopped beating. A worker that is merely idle answers
 * a prod by a turn of its loop, the master beats by itself; who was stopped with
 * all of us gets the time from the prod on. True: an answer is waited for. */
static bool
watch_one(struct proc *p, uint64_t now)
{
	uint64_t beat = atomic_load(&p->page->heartbeat_ns);

	/* a standby, too, is given sessions where no other worker is there */
	if (p->state != PROC_READY || beat == 0 || now < beat + PROD_NS) {
		p->probed_ns = 0;
		return false;
	}
	if (p->probed_ns == 0) {
		p->probed_ns = now;
		if (p->role != HERITAGE_MASTER)
			p->todo |= TODO_ROLE;
		return true;
	}
	if (beat >= p->probed_ns) {
		p->probed_ns = 0;
		return false;
	}
	if (now < beat + HUNG_NS || now < p->probed_ns + PROD_NS)
		return true;
	say_silent(p, (now - beat) / NSEC_PER_MSEC);
	p->probed_ns = 0;
	p->hung = true;
	procs_signal(p, SIGKILL);
	return false;
}

/* Once a tick. */
void
procs_watch(struct keeper *k, uint64_t now)
{
	uint32_t i;

	k->waiting = watch_one(&k->master, now);
	for (i = 0; i < k->slots; i++)
		k->waiting |= watch_one(&k->slot[i], now);
}
