/* SPDX-License-Identifier: MIT */
/*
 * What this machine and this process have to do with boxes, before one is made:
 * the first reason why none can be, as clients, status and doctor are told.
 * What only bubblewrap's own attempt shows is supervisor/box/why.h's.
 */
#ifndef PSUP_BOX_FACTS_H
#define PSUP_BOX_FACTS_H

#include <stdbool.h>

struct config_sandbox;

#define BOX_FACTS_WHY 256

struct box_facts {
	bool root;	/* the server is */
	bool has_maker; /* bwrap, or the container's engine, is installed */
	/* of bwrap: what came with 0.8 */
	bool knows_userns, knows_size;
	char group[33]; /* of the server: whose members are as good as root */
	long suid_dumpable;    /* fs.suid_dumpable */
	long max_user_ns;      /* user.max_user_namespaces; -1: not known */
	bool user_ns_for_root; /* kernel.unprivileged_userns_clone is 0 */
};

/* Asks files of /proc, PATH and the names of groups: at a start or a reload. */
void box_facts_look(const struct config_sandbox *s, struct box_facts *ret);

/* Pure. False: nothing is known against it, and `ret` is "". */
bool box_facts_why(const struct config_sandbox *s,
    const struct box_facts *facts, char ret[BOX_FACTS_WHY]);

#endif
