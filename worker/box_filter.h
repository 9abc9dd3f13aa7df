/* SPDX-License-Identifier: MIT */
/*
 * The seccomp filter of a box's commands, made when it is first asked for: before
 * a clone, so that a child before its exec can install it. It keeps them from
 * making namespaces, mounts and keys, from typing into a terminal that is not
 * theirs (TIOCSTI), and from the corners of the kernel that none of them needs.
 */
#ifndef PSUP_WORKER_BOX_FILTER_H
#define PSUP_WORKER_BOX_FILTER_H

#include <linux/filter.h>
#include <stdint.h>

/* That of this machine; NULL on an architecture that has none, where no command
 * may run in a box. */
const struct sock_fprog *box_filter(void);

/* That of an AUDIT_ARCH_*, or NULL. */
const struct sock_fprog *box_filter_of(uint32_t arch);

#endif
