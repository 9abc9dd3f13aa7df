/* SPDX-License-Identifier: MIT */
/*
 * What the display asks of the server: which request, whether it can be asked
 * now, what is asked of the person first. Pure; client.c carries it out.
 */
#ifndef TOP_ACTIONS_H
#define TOP_ACTIONS_H

#include "model.h"

#define ACTION_KEYS 256 /* bytes of keys that are typed */

enum action_kind { ACTION_NONE, ACTION_KILL, ACTION_KILL_NOW, ACTION_REMOVE,
	ACTION_KILL_SCOPE, ACTION_SEND, ACTION_PAUSE, ACTION_RESUME };

struct action {
	enum action_kind kind;
	uint64_t instance;     /* of a session; 0: a scope or a lane */
	bool now;              /* KILL without grace */
	bool marked;           /* of all that are marked */
	char id[48];           /* as it is shown: session, scope or lane */
	char keys[ACTION_KEYS]; /* of SEND */
};

/* Why the server cannot do it now, or "" where it can. */
void action_refusal(const struct top_model *m, const struct action *a,
    char *dst, size_t size);
/* "kill nova-gulf (sleep 600)? TERM, in 5 s KILL"; what is too long for `size`
 * goes from the command. */
void action_question(const struct top_model *m, const struct action *a,
    char *dst, size_t size);
/* "kill nova-gulf" */
void action_name(const struct action *a, char *dst, size_t size);
/* The request. NULL: no memory. */
psup_args *action_request(const struct action *a, uint64_t incarnation,
    const char **ret_method);

/* The next word of typed keys: up to a blank, quotes keep blanks, \" and \\
 * stand for themselves. False: there is none. */
bool action_next_key(const char **p, char *dst, size_t size);

/* client.c: asks the server and says what came of it; two seconds at most.
 * True: it was done. */
bool client_do(const char *runtime_dir, uint64_t incarnation,
    const struct action *a, char *ret_message, size_t size);

#endif
