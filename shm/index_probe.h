/* SPDX-License-Identifier: MIT */
/*
 * Is an index on disk good? Asked before the master opens it: LMDB trusts its
 * file, and a damaged one would take the master down at every start.
 */
#ifndef PSUP_SHM_INDEX_PROBE_H
#define PSUP_SHM_INDEX_PROBE_H

#include <stdint.h>

/* For whoever includes lmdb.h itself. */
#define INDEX_ENV_FLAGS (MDB_NOSYNC | MDB_NOTLS | MDB_NORDAHEAD | MDB_NOLOCK)

/* Walks every record in a child that may crash. 0: good, or there is none.
 * Errors: -EBADMSG (damaged), -errno (could not be asked). */
int index_probe(const char *dir, uint64_t map_bytes);

/* Removes what was set aside earlier, so that a master that meets bad files
 * again and again does not fill the tmpfs. */
void index_forget_bad(const char *runtime_dir);

#endif
