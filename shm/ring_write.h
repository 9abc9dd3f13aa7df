/* SPDX-License-Identifier: MIT */
/*
 * What the files of the writing end share: ring_make.c, ring_writer.c,
 * ring_recover.c. Every field of the header has one writer, so its own loads
 * need no order.
 */
#ifndef PSUP_RING_WRITE_H
#define PSUP_RING_WRITE_H

#include "shm/ring.h"

/* This build writes from here on. A reader that has the header open looks at
 * the stamp in each of its copies. */
void ring_sign(struct ring_header *h);
/* Attributes everything up to `end` to `stream`. */
void ring_attribute(struct ring_header *h, uint64_t end, uint32_t stream,
    uint64_t wall_ms);
/* Counts from..to as dropped. Each step may be the last one before a kill, and
 * the whole may run again with the same arguments: dropped_nospace is written
 * last and always from the other three. */
void ring_hole(struct ring_writer *w, uint64_t from, uint64_t to);
/* Makes everything up to `pos` readable. */
void ring_publish(struct ring_header *h, uint64_t pos);

#endif
