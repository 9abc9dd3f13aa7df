/* SPDX-License-Identifier: MIT */
/*
 * --upgrade: other programs take over again and again, while everything else
 * goes on and others are killed. The programs are those that lie where the
 * server's own were found, and those of a directory in turn. An upgrade may be
 * undone where somebody is killed in its middle; it comes to an end, and the
 * one that is asked for when nobody is killed any more is done.
 */
#include "chaos.h"

#include <inttypes.h>
#include <stdlib.h>

#define LOOK_MS  20
#define KNOWN_MS 3000 /* a new master hears of the last one right after its
                       * start; then nobody has heard of this one */
#define PAUSE_MS 300  /* at most, between two */
#define LAST_TRIES 3  /* what was killed last may take part */

enum outcome { NEVER_ASKED, OVER_DONE, OVER_UNDONE, OVER_REFUSED };

/* One that was asked for. */
struct wish {
	char id[17];
	char why[512];
	enum outcome outcome;
	bool known; /* the server has heard of it */
};

/* Does the server know it, and is it over? */
static bool
look(psup *p, struct wish *w)
{
	static const struct {
		const char *phase;
		enum outcome outcome;
	} ends[] = {{"done", OVER_DONE}, {"undone", OVER_UNDONE},
	    {"refused", OVER_REFUSED}};
	const psup_value *u;
	psup_reply *r = NULL;

	if (!reach(p) || psup_status(p, &r) != PSUP_OK)
		return false;
	u = psup_value_get(psup_reply_value(r), "upgrade");
	if (u != NULL && psup_get_is(u, "id", w->id)) {
		w->known = true;
		for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
			if (psup_get_is(u, "phase", ends[i].phase))
				w->outcome = ends[i].outcome;
		psup_get_copy(u, "why", w->why, sizeof(w->why));
	}
	psup_reply_free(&r);
	return w->outcome != NEVER_ASKED;
}

/* Asks for it; the answer may be lost with the master that was to give it. */
static void
ask_for(psup *p, const char *dir, struct wish *w)
{
	psup_args *a = psup_args_new();
	psup_reply *r = NULL;

	snprintf(w->id, sizeof(w->id), "%016" PRIx64, clock_boot_ns());
	psup_args_str(a, "id", w->id);
	psup_args_str(a, "binaryDir", dir);
	if (reach(p))
		w->known = psup_call(p, "upgrade", a, PATIENCE_MS, &r) ==
		    PSUP_OK;
	psup_reply_free(&r);
	psup_args_free(&a);
}

/* One upgrade, to its end or its keeper's. */
static struct wish
upgrade(psup *p, const char *dir)
{
	long keepers = atomic_load(&chaos.kills_keeper);
	uint64_t began = clock_boot_ns(), waited = 0;
	struct wish w = {.why = ""};

	ask_for(p, dir, &w);
	while (!look(p, &w) && waited < (w.known ? PATIENCE_MS : KNOWN_MS)) {
		if (keeper_died_since(keepers) ||
		    atomic_load(&chaos.interrupted))
			return (struct wish){.why = ""};
		nap_ms(LOOK_MS);
		waited = (clock_boot_ns() - began) / 1000000;
	}
	if (w.outcome == NEVER_ASKED && w.known)
		lost(LOSS_STUCK, "upgrade %s does not come to an end", w.id);
	return w;
}

/* Counts how it went. */
static void
count(const struct wish *w)
{
	if (w->outcome == OVER_DONE)
		atomic_fetch_add(&chaos.upgrades_done, 1);
	else if (w->outcome != NEVER_ASKED)
		atomic_fetch_add(&chaos.upgrades_undone, 1);
	if (w->outcome != NEVER_ASKED)
		stepped();
}

void *
upgrade_thread(void *)
{
	const char *dir[2] = {NULL, chaos.o.upgrade_dir};
	uint32_t random = chaos.o.seed + 31;
	struct wish w;
	psup *p = client_new();

	for (unsigned n = 1; !atomic_load(&chaos.stop_killing); n++) {
		w = upgrade(p, dir[n % 2]);
		count(&w);
		nap_ms(rnd(&random) % PAUSE_MS);
	}
	psup_free(&p);
	return NULL;
}

void
upgrade_last(void)
{
	struct wish w = {.why = ""};
	psup *p = client_new();

	for (int i = 0; i < LAST_TRIES && w.outcome != OVER_DONE &&
	     !atomic_load(&chaos.interrupted); i++) {
		w = upgrade(p, NULL);
		count(&w);
	}
	if (w.outcome != OVER_DONE && !atomic_load(&chaos.interrupted))
		lost(LOSS_ANSWER, "an upgrade is not done though nobody is "
		    "killed: %s", w.why[0] != '\0' ? w.why : "not answered");
	psup_free(&p);
}
