/* SPDX-License-Identifier: MIT */
/* The sections [lane "NAME"] and [group "NAME"] of psup.conf. Between
 * config_lane.c and config.c. */
#ifndef PSUP_CONFIG_LANE_H
#define PSUP_CONFIG_LANE_H

#include "config.h"

/* The row of that name in a table whose rows begin with theirs, made where there
 * is none; NULL: no room. */
void *config_row(void *rows, size_t size, uint32_t *count, uint32_t most,
    const char *name, size_t len);
/* The lane of that name, in the same way. */
struct config_lane *config_get_lane(struct config *c, const char *name,
    size_t len);
/* One setting of such a section, or of one that is none. 0, or -EINVAL and
 * the reason. */
int config_set_lane(struct config *c, const char *section, const char *name,
    const char *value, unsigned line, char why[CONFIG_WHY]);
/* What only the whole file tells: do groups and reservations fit? 0, or
 * -EINVAL, the reason, and where. */
struct config_place {
	unsigned line;
	char section[64];
	const char *name;
};
int config_check_lanes(const struct config *c, struct config_place *ret,
    char why[CONFIG_WHY]);

#endif
