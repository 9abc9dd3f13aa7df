/* SPDX-License-Identifier: MIT */
/* Names of the enums that people and clients see; one table each. */
#ifndef PSUP_ERR_H
#define PSUP_ERR_H

/* "ENOENT" for 2 or -2; "E?" where it has no name. */
const char *err_name(int errnum);

#endif
