/* SPDX-License-Identifier: MIT */
/* A value of the index as bytes and back. Used by whoever keeps something there. */
#ifndef PSUP_KEPT_H
#define PSUP_KEPT_H

#include "common/codec.h"
#include "shm/index.h"

/* Begins a map with the index's version. */
void kept_map(struct enc *e);
/* Puts what `e` holds; `last`: it has to go in. 0, -ENOMEM or as index_put(). */
int kept_put_of(struct index *ix, enum index_db db, struct index_bytes key,
    const struct enc *e, bool last);
/* The same, and frees it. */
int kept_put(struct index *ix, enum index_db db, struct index_bytes key,
    struct enc *e, bool last);
/* Any value; the caller frees the arena. 0, -ENOMEM, -EBADMSG. */
int kept_value(struct index_bytes val, struct codec_arena **ret_arena,
    const struct val **ret);
/* A map; -EBADMSG also for a version that is not ours. */
int kept_read(struct index_bytes val, struct codec_arena **ret_arena,
    const struct val **ret);

#endif
