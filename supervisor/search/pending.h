/* SPDX-License-Identifier: MIT */
/* What a poll delivers of more than it may: the newest of each stream. */
#ifndef PSUP_SUPERVISOR_SEARCH_PENDING_H
#define PSUP_SUPERVISOR_SEARCH_PENDING_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/search/lines.h"

/* Takes the oldest bytes of each stream that has more than `max` out of
 * k->data, so that a flood on one leaves the other alone; `text`: no more than
 * whole characters and sequences begin it. Returns how many went; k->from and
 * k->to stay what they were, k->runs is of no more use. Bytes whose stream is
 * not known any more count as stdout's. */
size_t pending_cut(struct retained *k, size_t max, bool text);

#endif
