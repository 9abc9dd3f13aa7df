/* SPDX-License-Identifier: MIT */
/* See progress.h. Called by call.c. */
#include "progress.h"

#include <string.h>

#include "common/clock.h"
#include "rpc.h"

void
progress_begin(struct progress *p, json_t *token)
{
	*p = (struct progress){.token = json_incref(token),
		.began_ms = clock_boot_ms()};
	p->said_ms = p->began_ms;
}

void
progress_end(struct progress *p)
{
	json_decref(p->token);
	p->token = NULL;
}

void
progress_note(struct progress *p, const char *name, const psup_value *params)
{
	const char *line;
	size_t len;

	if (strcmp(name, "session") == 0)
		psup_get_copy(params, "sessionId", p->session,
		    sizeof(p->session));
	if (strcmp(name, "tail") != 0)
		return;
	p->bytes = (uint64_t)psup_get_int(params, "bytes", 0);
	line = psup_get_str(params, "line", &len);
	if (line != NULL)
		psup_escape(line, len, false, p->line, sizeof(p->line));
}

int
progress_wait_ms(const struct progress *p, uint64_t now_ms)
{
	uint64_t due = p->said_ms + PROGRESS_MS;

	return now_ms >= due ? 0 : (int)(due - now_ms);
}

/* "mild-kelp 2s, 28 bytes: last line" */
void
progress_say(struct progress *p, uint64_t now_ms)
{
	double seconds = (double)(now_ms - p->began_ms) / 1000;
	json_t *text = p->session[0] == '\0'
	    ? json_sprintf("%.0fs", seconds)
	    : json_sprintf("%s %.0fs, %llu bytes%s%s", p->session, seconds,
	          (unsigned long long)p->bytes,
	          p->line[0] != '\0' ? ": " : "", p->line);

	p->said_ms = now_ms;
	rpc_notify("notifications/progress",
	    json_pack("{s:O, s:f, s:o}", "progressToken", p->token,
	        "progress", seconds, "message", text));
}
