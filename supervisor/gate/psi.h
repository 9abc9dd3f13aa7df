/* SPDX-License-Identifier: MIT */
/* Pressure stall information: /proc/pressure/memory, or a control group's
 * memory.pressure, which has the same form. */
#ifndef PSUP_SUPERVISOR_GATE_PSI_H
#define PSUP_SUPERVISOR_GATE_PSI_H

#include <stdint.h>

#define PSI_DEFAULT_PATH "/proc/pressure/memory"

/* The share of the last 10 s in which some task stood still for want of
 * memory, in hundredths of a percent. -EBADMSG: no such line. */
int psi_parse(const char *text, uint32_t *ret_centi);
/* The same of a file. -errno; -EOPNOTSUPP: switched off in this kernel. */
int psi_read(const char *path, uint32_t *ret_centi);

#endif
