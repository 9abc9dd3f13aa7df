/* SPDX-License-Identifier: MIT */
/*
 * When a foreground call is answered before its time, since its command goes on
 * by input alone. Pure: looks go in, each with the time, and when to look and
 * whether that was enough comes out. Who looks is the worker
 * (worker/input_look.h).
 */
#ifndef PSUP_SUPERVISOR_SESSION_INPUT_YIELD_H
#define PSUP_SUPERVISOR_SESSION_INPUT_YIELD_H

#include <stdbool.h>
#include <stdint.h>

/* One session is looked at no more often, whoever asks. */
#define INPUT_YIELD_LEAST_MS 400u

/* One call: all 0 at first. */
struct input_yield {
	uint64_t since_ns; /* it waits since then; 0: it does not */
	uint64_t stamp;
};

/* A look: it waits, and with what stamp. True: it has done so, and nothing
 * else, for `need_ns`. */
bool input_yield_seen(struct input_yield *y, bool waits, uint64_t stamp,
    uint64_t now_ns, uint64_t need_ns);
/* When to look again at one that began at `began_ns`: from now, never 0. One
 * that waits already is looked at when that has been enough. */
uint64_t input_yield_pause_ms(const struct input_yield *y, uint64_t began_ns,
    uint64_t now_ns, uint64_t need_ns);

#endif
