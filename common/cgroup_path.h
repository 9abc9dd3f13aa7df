/* SPDX-License-Identifier: MIT */
/* Where a process's control group lies in the file system. Pure. */
#ifndef PSUP_CGROUP_PATH_H
#define PSUP_CGROUP_PATH_H

#include <stddef.h>

/* From /proc/PID/cgroup and /proc/PID/mountinfo, which are cut into pieces: in
 * the hierarchy of version 1 that has the controller; NULL: in version 2.
 * Errors: -ENOENT (there is none, or it is out of sight), -ENAMETOOLONG. */
int cgroup_path_of(char *groups, char *mounts, const char *controller,
    char *ret, size_t size);

#endif
