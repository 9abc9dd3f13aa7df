/* SPDX-License-Identifier: MIT */
/* Words about lanes: who holds a place, and who is told of a wait. */
#include "lib_scn.h"

#include <stdio.h>

const char *
holder(const char *lane, const char *gate)
{
	char script[300];

	snprintf(script, sizeof(script), "print up; await %s",
	    file_in_scenario(gate));
	return background(PUPPET(script), STR("lane", lane));
}

void
open_gate(const char *gate)
{
	fclose(fopen(file_in_scenario(gate), "we"));
}

const psup_value *
newest_wait(struct peer *p)
{
	const psup_value *all = psup_value_get(details(ask_as(p, "events",
	                                           INT("since", 0),
	                                           LIST("kinds", "lane-wait"))),
	    "events");

	expect(psup_value_count(all) > 0);
	return psup_value_at(all, psup_value_count(all) - 1);
}
