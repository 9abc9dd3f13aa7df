/* SPDX-License-Identifier: MIT */
/*
 * The only requests psup-top sends, each on a connection of its own and with
 * an end to its patience, so that a master that does not answer does not stop
 * the display. Called by display.c once a person has said yes.
 */
#include <stdio.h>

#include "actions.h"

#define WAIT_MS 1000

bool
client_do(const char *runtime_dir, uint64_t incarnation,
    const struct action *a, char *ret_message, size_t size)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	const char *method, *text;
	psup_reply *reply = NULL;
	psup_args *args = action_request(a, incarnation, &method);
	psup *p = NULL;
	char what[96];
	bool done = false;
	size_t len;

	action_name(a, what, sizeof(what));
	o.runtime_dir = runtime_dir;
	o.client = "psup-top";
	o.timeout_ms = WAIT_MS;
	if (args == NULL || psup_new(&p) != PSUP_OK) {
		psup_args_free(&args);
		snprintf(ret_message, size, "%s: no memory", what);
		return false;
	}
	if (psup_connect(p, &o) == PSUP_OK &&
	    psup_call(p, method, args, WAIT_MS, &reply) == PSUP_OK) {
		text = psup_reply_text(reply, &len);
		snprintf(ret_message, size, "%.*s", (int)len, text);
		done = !psup_reply_is_error(reply);
	} else
		snprintf(ret_message, size, "%s: %s", what,
		    psup_error_message(p));
	psup_reply_free(&reply);
	psup_args_free(&args);
	psup_free(&p);
	return done;
}
