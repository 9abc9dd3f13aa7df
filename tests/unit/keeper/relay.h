/* SPDX-License-Identifier: MIT */
/* What a test may ask of relay.c: run the text behind a struct ctl_start. No
 * keeper is ever sent a START, so its type is free for this. */
#ifndef PSUP_TEST_RELAY_H
#define PSUP_TEST_RELAY_H

#include "ctl.h"

#define RELAY_SPAWN CTL_START
#define RELAY_UNTOLD 1u /* its flag: no SPAWNED is sent */

#endif
