/* SPDX-License-Identifier: MIT */
/*
 * Is an index on disk good? Asked before the master opens it: LMDB trusts its
 * file, and a damaged one would take the master down at every start.
 */
#ifndef PSUP_SHM_INDEX_PROBE_H
#define PSUP_SHM_INDEX_PROBE_H

#include <stdint.h>

struct index_names;

/* Follows every page: index_walk.h. 0: good, or there is none.
 * Errors: -EBADMSG (damaged), -errno (could not be asked). */
int index_probe(const char *dir, uint64_t map_max,
    const struct index_names *names);

/* Removes what was set aside earlier, so that a master that meets bad files
 * again and again does not fill the tmpfs. */
void index_forget_bad(const char *runtime_dir);

#endif
