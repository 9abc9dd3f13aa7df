/* SPDX-License-Identifier: MIT */
/*
 * The clocks. Timers and deadlines use CLOCK_BOOTTIME, which no operator can set
 * and which goes on while the machine sleeps; the wall clock is only ever shown.
 */
#ifndef PSUP_CLOCK_H
#define PSUP_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NSEC_PER_USEC 1000ull
#define NSEC_PER_MSEC 1000000ull
#define NSEC_PER_SEC  1000000000ull

/* Nanoseconds since boot, sleep included. */
static inline uint64_t
clock_boot_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* The same in milliseconds. */
static inline uint64_t
clock_boot_ms(void)
{
	return clock_boot_ns() / NSEC_PER_MSEC;
}

/* Milliseconds since 1970. */
static inline uint64_t
clock_wall_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000u +
	    (uint64_t)ts.tv_nsec / NSEC_PER_MSEC;
}

/* So long, or until a signal. */
static inline void
clock_nap(uint64_t ns)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / NSEC_PER_SEC),
	    .tv_nsec = (long)(ns % NSEC_PER_SEC)};

	nanosleep(&ts, NULL);
}

/* Nanoseconds that this process has computed so far. */
static inline uint64_t
clock_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

#endif
