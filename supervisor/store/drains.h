/* SPDX-License-Identifier: MIT */
/*
 * Which scopes take no new sessions (drainScope), kept in the index so that it
 * survives the master. Written in the index's open transaction.
 */
#ifndef PSUP_SUPERVISOR_STORE_DRAINS_H
#define PSUP_SUPERVISOR_STORE_DRAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/index.h"

#define DRAINS_MAX 16384u

struct drains;

/* Errors: -ENOMEM, what index_scan gives. */
int drains_open(struct index *ix, struct drains **ret);
void drains_close(struct drains **d);
/* The transaction failed: what the index holds is true again. */
int drains_reload(struct drains *d);

bool drains_has(const struct drains *d, const char *scope);
/* 0, also where it is so already; -ENOSPC, -ENOMEM, -errno. */
int drains_set(struct drains *d, const char *scope, bool on);

size_t drains_count(const struct drains *d);
/* i < drains_count(), in order of name. */
const char *drains_name(const struct drains *d, size_t i);

#endif
