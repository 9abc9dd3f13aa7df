/* SPDX-License-Identifier: MIT */
/* Requests and questions: see actions.h. Called by keys.c and client.c. */
#include <stdio.h>
#include <string.h>

#include "actions.h"

#define SHOWN_MAX 60 /* bytes of a command in a question */

/* One row a kind: what it is called, and what comes of it. */
static const struct {
	const char *verb, *method, *after;
} kinds[] = {
    [ACTION_NONE] = {"", "", ""},
    [ACTION_KILL] = {"kill", "kill", "TERM, in 5 s KILL"},
    [ACTION_KILL_NOW] = {"kill at once", "kill", "KILL, without warning"},
    [ACTION_REMOVE] = {"remove", "remove", "it and its output are forgotten"},
    [ACTION_KILL_SCOPE] = {"kill all of scope", "killScope",
        "TERM, in 5 s KILL"},
    [ACTION_SEND] = {"send to", "send-keys", ""},
    [ACTION_PAUSE] = {"pause lane", "lanes", "who waits goes on waiting"},
    [ACTION_RESUME] = {"resume lane", "lanes", "who waits may start"},
};

void
action_name(const struct action *a, char *dst, size_t size)
{
	snprintf(dst, size, "%s %s", kinds[a->kind].verb, a->id);
}

void
action_refusal(const struct top_model *m, const struct action *a, char *dst,
    size_t size)
{
	const struct top_process *master = facts_process(m, "master");
	int pid = master != NULL ? master->p.pid : 0;
	char what[96];

	action_name(a, what, sizeof(what));
	dst[0] = '\0';
	switch (m->state) {
	case SERVER_RUNS:
	case SERVER_MASTER_SILENT: /* it may be slow: it is asked */
		return;
	case SERVER_MASTER_STOPPED:
		snprintf(dst, size,
		    "cannot %s: the master is stopped (kill -CONT %d)", what,
		    pid);
		return;
	case SERVER_MASTER_DOWN:
		snprintf(dst, size,
		    "cannot %s: the master is down, until the keeper has "
		    "started it again",
		    what);
		return;
	case SERVER_NONE:
	case SERVER_OTHER_VERSION:
	case SERVER_DOWN:
		snprintf(dst, size,
		    "cannot %s: the server is down (psupd starts one)", what);
		return;
	}
}

void
action_question(const struct top_model *m, const struct action *a, char *dst,
    size_t size)
{
	const struct top_row *r = facts_find(m, a->instance);
	const char *after = kinds[a->kind].after;
	size_t room, len = r != NULL ? strlen(r->s.command) : 0;
	char what[96], which[SHOWN_MAX + 8] = "";

	action_name(a, what, sizeof(what));
	if (a->kind == ACTION_SEND) {
		snprintf(dst, size, "%s: %s", what, a->keys);
		return;
	}
	if (a->kind == ACTION_KILL_SCOPE && a->now)
		after = kinds[ACTION_KILL_NOW].after;
	/* of the command goes what is too long, not what will be done */
	room = strlen(what) + strlen(after) + sizeof(" (...)? ");
	room = size > room ? size - room : 0;
	if (len > SHOWN_MAX || len > room + strlen("...")) {
		len = room < SHOWN_MAX ? room : SHOWN_MAX;
		len -= psup_open_tail(r->s.command, len);
	}
	if (len > 0 && a->instance != 0)
		snprintf(which, sizeof(which), " (%.*s%s)", (int)len,
		    r->s.command, r->s.command[len] != '\0' ? "..." : "");
	snprintf(dst, size, "%s%s? %s", what, which, after);
}

bool
action_next_key(const char **p, char *dst, size_t size)
{
	size_t len = 0;
	bool quoted = false, any = false;

	while (**p == ' ')
		(*p)++;
	for (; **p != '\0' && (quoted || **p != ' '); (*p)++) {
		any = true;
		if (**p == '"') {
			quoted = !quoted;
			continue;
		}
		if (**p == '\\' && ((*p)[1] == '"' || (*p)[1] == '\\'))
			(*p)++;
		if (len + 1 < size)
			dst[len++] = **p;
	}
	dst[len] = '\0';
	return any;
}

/* The words as the parameter keys. */
static void
add_keys(psup_args *args, const char *keys)
{
	char word[ACTION_KEYS];

	psup_args_list_begin(args, "keys");
	while (action_next_key(&keys, word, sizeof(word)))
		if (word[0] != '\0')
			psup_args_str(args, NULL, word);
	psup_args_list_end(args);
}

psup_args *
action_request(const struct action *a, uint64_t incarnation,
    const char **ret_method)
{
	psup_args *args = psup_args_new();
	char instance[40];

	if (args == NULL)
		return NULL;
	/* the very session that was asked about, not one of the same name */
	snprintf(instance, sizeof(instance), "%016llx.%016llx",
	    (unsigned long long)incarnation, (unsigned long long)a->instance);
	if (a->instance != 0)
		psup_args_str(args, "sessionId", instance);
	if (a->kind == ACTION_KILL_SCOPE)
		psup_args_str(args, "scope", a->id);
	if (strncmp(kinds[a->kind].method, "kill", 4) == 0)
		psup_args_bool(args, "wait", false);
	if (a->now)
		psup_args_int(args, "graceMs", 0);
	if (a->kind == ACTION_SEND)
		add_keys(args, a->keys);
	if (a->kind == ACTION_PAUSE || a->kind == ACTION_RESUME) {
		psup_args_str(args, "op",
		    a->kind == ACTION_PAUSE ? "pause" : "resume");
		psup_args_str(args, "lane", a->id);
	}
	*ret_method = kinds[a->kind].method;
	return args;
}
