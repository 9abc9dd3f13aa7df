/* SPDX-License-Identifier: MIT */
/*
 * The only requests psup-top sends: kill and remove, each on a connection of
 * its own and with an end to its patience, so that a stopped master does not
 * stop the display. Called by ui.c after a confirmation.
 */
#include <string.h>

#include "top.h"

#define WAIT_MS 1500

void
admin_do(const char *runtime_dir, const char *method, const char *id,
    char *ret_message, size_t size)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	psup_reply *reply = NULL;
	psup_args *args = psup_args_new();
	psup *p = NULL;
	const char *text;
	size_t len;

	o.runtime_dir = runtime_dir;
	o.client = "psup-top";
	o.timeout_ms = WAIT_MS;
	if (args == NULL || psup_new(&p) != PSUP_OK) {
		psup_args_free(&args);
		snprintf(ret_message, size, "%s: no memory", method);
		return;
	}
	psup_args_str(args, "sessionId", id);
	if (strcmp(method, "kill") == 0)
		psup_args_bool(args, "wait", false);
	if (psup_connect(p, &o) == PSUP_OK &&
	    psup_call(p, method, args, WAIT_MS, &reply) == PSUP_OK) {
		text = psup_reply_text(reply, &len);
		snprintf(ret_message, size, "%.*s", (int)len, text);
	} else
		snprintf(ret_message, size, "%s %s: %s", method, id,
		    psup_error_message(p));
	psup_reply_free(&reply);
	psup_args_free(&args);
	psup_free(&p);
}
