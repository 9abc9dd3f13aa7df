/* SPDX-License-Identifier: MIT */
/*
 * What psupd says to whoever runs it as a service: sd_notify(3)'s datagrams
 * to $NOTIFY_SOCKET, with a watchdog ($WATCHDOG_USEC), and a newline on a
 * descriptor (--ready-fd) once it is ready, as s6 wants it. Where neither is
 * there, all of this does nothing.
 */
#ifndef PSUP_SUPERVISOR_KEEPER_NOTIFY_H
#define PSUP_SUPERVISOR_KEEPER_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

struct keeper;

/* Reads the environment, which stays as it is: a keeper that executes itself
 * again finds it there. What is wrong there is logged and left alone. */
void notify_open(const struct keeper *k);
void notify_ready(struct keeper *k);
void notify_reloading(struct keeper *k);
void notify_stopping(struct keeper *k);
/* Once a turn, before everybody is sent to: the watchdog, which is fed only
 * while master and workers are well. */
void notify_watch(struct keeper *k, uint64_t now);
/* And after that: the end of a reload. */
void notify_sent(struct keeper *k);
/* When notify_watch() has something to do. */
uint64_t notify_next_ns(void);

/* The environment without what is the keeper's alone. Lives as long as the
 * process. */
char *const *notify_environ_for_others(void);
/* Is it one of these variables ("NAME=value")? */
bool notify_is_own(const char *var);

#endif
