/* SPDX-License-Identifier: MIT */
/*
 * Candidates that no row holds: sessions, lanes, scopes, signals, keys. Without
 * a scope of our own they come from shared memory, which asks nobody; else from
 * the server. A server is never started, and nothing is said where there is
 * none.
 */
#include <stdio.h>
#include <string.h>

#include "complete.h"

#define ANSWER_MS 1000
#define OFFERED   4096 /* candidates at most */

void
complete_offer(const char *begun, const char *word, const char *about)
{
	char safe[600];

	if (strncmp(word, begun, strlen(begun)) != 0)
		return;
	psup_escape(about, strlen(about), false, safe, sizeof(safe));
	printf("%s\t%s\n", word, safe);
}

/* "running make test" of a session */
static void
offer_session(const char *begun, const char *id, const char *status,
    const char *name)
{
	char about[200];

	snprintf(about, sizeof(about), "%.20s %.150s", status, name);
	complete_offer(begun, id, about);
}

/* Asks the server for a list; NULL: there is none. */
static psup_reply *
ask(struct cli *c, const char *method, bool all)
{
	psup_reply *reply = NULL;
	psup_args *a = psup_args_new();

	if (a != NULL && all)
		psup_args_bool(a, "all", true);
	if (cli_connect(c, CLI_NEVER_START, ANSWER_MS) != PSUP_OK ||
	    psup_call(c->p, method, a, ANSWER_MS, &reply) != PSUP_OK)
		reply = NULL;
	psup_args_free(&a);
	return reply;
}

static void
ask_sessions(struct cli *c, const char *begun)
{
	psup_reply *reply = ask(c, "list", true);
	const psup_value *rows =
	    psup_value_get(psup_reply_details(reply), "sessions");

	for (size_t i = 0; i < psup_value_count(rows) && i < OFFERED; i++) {
		const psup_value *row = psup_value_at(rows, i);
		char id[64], status[24], name[160];

		psup_get_copy(row, "sessionId", id, sizeof(id));
		psup_get_copy(row, "status", status, sizeof(status));
		psup_get_copy(row, "name", name, sizeof(name));
		offer_session(begun, id, status, name);
	}
	psup_reply_free(&reply);
}

static void
ask_lanes(struct cli *c, const char *begun)
{
	psup_reply *reply = ask(c, "lanes", false);
	const psup_value *rows =
	    psup_value_get(psup_reply_details(reply), "lanes");

	for (size_t i = 0; i < psup_value_count(rows) && i < OFFERED; i++) {
		char name[64];

		psup_get_copy(psup_value_at(rows, i), "name", name,
		    sizeof(name));
		complete_offer(begun, name, "");
	}
	psup_reply_free(&reply);
}

static void
see_sessions(psup_view *v, const char *begun)
{
	struct psup_view_session s;
	size_t cursor = 0, n = 0;

	while (n++ < OFFERED && psup_view_next_session(v, &cursor, &s) == 1)
		offer_session(begun, s.id, s.status,
		    s.name[0] != '\0' ? s.name : s.command);
}

static void
see_lanes(psup_view *v, const char *begun)
{
	struct psup_view_lane lane;
	size_t cursor = 0;
	char about[80];

	while (psup_view_next_lane(v, &cursor, &lane) == 1) {
		snprintf(about, sizeof(about), "%u of %u running, %u waiting",
		    lane.active, lane.width, lane.queued);
		complete_offer(begun, lane.name, about);
	}
}

/* The scopes that sessions have; each once. */
static void
see_scopes(psup_view *v, const char *begun)
{
	static char seen[64][48];
	struct psup_view_session s;
	size_t cursor = 0, n = 0, i;

	while (n < 64 && psup_view_next_session(v, &cursor, &s) == 1) {
		for (i = 0; i < n && strcmp(seen[i], s.scope) != 0; i++)
			;
		if (i < n || s.scope[0] == '\0')
			continue;
		memcpy(seen[n++], s.scope, sizeof(s.scope));
		complete_offer(begun, s.scope, "");
	}
}

static void
offer_signals(struct cli *, const char *begun)
{
	for (int sig = 1; sig < 32; sig++) {
		const char *name = psup_signal_name(sig);

		if (strncmp(name, "SIG", 3) == 0)
			complete_offer(begun, name + 3, "");
	}
}

static void
offer_keys(struct cli *, const char *begun)
{
	const char *name;

	for (size_t i = 0; (name = psup_key_name(i)) != NULL; i++)
		complete_offer(begun, name, "");
}

static void
offer_commands(struct cli *, const char *begun)
{
	for (size_t i = 0; commands[i] != NULL; i++)
		complete_offer(begun, commands[i]->name, commands[i]->summary);
}

static const struct kind {
	const char *name;
	void (*offer)(struct cli *c, const char *begun);
	void (*see)(psup_view *v, const char *begun);
} kinds[] = {
	{"@session", ask_sessions, see_sessions},
	{"@lane", ask_lanes, see_lanes},
	{"@scope", NULL, see_scopes},
	{"@signal", offer_signals, NULL},
	{"@key", offer_keys, NULL},
	{"@command", offer_commands, NULL},
};

void
complete_kind(struct cli *c, const char *kind, size_t kind_len,
    const char *begun)
{
	psup_view *v;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct kind *k = &kinds[i];

		if (strlen(k->name) != kind_len ||
		    memcmp(k->name, kind, kind_len) != 0)
			continue;
		if (k->see == NULL || cli_is_scoped(c)) {
			if (k->offer != NULL)
				k->offer(c, begun);
		} else if (psup_view_open(c->runtime_dir, &v, NULL, 0) == 0) {
			k->see(v, begun);
			psup_view_close(&v);
		}
		return;
	}
	printf(":%.*s\t\n", (int)kind_len - 1, kind + 1);
}
