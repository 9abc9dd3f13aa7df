/* SPDX-License-Identifier: MIT */
/*
 * Where a command runs: what its call asks for, what psup.conf says of its
 * scope, and what this machine can do, in; a host or a refusal out. Pure. What
 * is to be in a box never gets another host instead: the way out is elevated,
 * which has gates of its own.
 */
#ifndef PSUP_BOX_POLICY_H
#define PSUP_BOX_POLICY_H

#include <stdbool.h>

#include "common/config.h"
#include "common/host.h"

/* Is a person to be asked first? The call may only tighten. */
enum box_ask {
	BOX_ASK_UNSAID,
	BOX_ASK_OFF,
	BOX_ASK_ON_MISS,
	BOX_ASK_ALWAYS,
	BOX_ASKS
};

/* What may run elevated? The call may only tighten. */
enum box_security {
	BOX_SECURITY_UNSAID,
	BOX_SECURITY_FULL,
	BOX_SECURITY_ALLOWLIST,
	BOX_SECURITY_DENY,
	BOX_SECURITIES
};

struct box_call {
	enum box_host host;
	enum box_ask ask;
	enum box_security security;
	bool elevated;
	const char *scope; /* "": none */
};

enum box_verdict {
	BOX_GRANTED,
	BOX_UNSUPPORTED, /* not here, or not built */
	BOX_FORBIDDEN	 /* psup.conf does not let it */
};

struct box_answer {
	enum box_verdict verdict;
	enum session_host host; /* where it is granted */
	bool left;	   /* to the gateway, by elevated alone */
	const char *field; /* of the call: which is refused */
	char text[512];	   /* the refusal; else what is to be said beside the
			    * result, or "" */
};

/* `unavailable`: why no box can be made (box_facts_why()), "": one can. */
void box_policy(const struct config *c, const char *unavailable,
    const struct box_call *call, struct box_answer *ret);

/* The word of a host that was granted; "none" where none was. */
const char *box_granted_word(const struct box_answer *a);
/* The value of a param; -1: no such word. */
int box_host_of(const char *word, size_t len);
int box_ask_of(const char *word, size_t len);
int box_security_of(const char *word, size_t len);

#endif
