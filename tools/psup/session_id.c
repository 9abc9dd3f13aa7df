/* SPDX-License-Identifier: MIT */
/*
 * Ids by their beginning. Called by psup.c for every operand that is a
 * session's id by its command's row, so that no command knows of it.
 *
 * An id that is there as it stands is that one. What may be seen decides: with
 * a scope of our own the server is asked, else shared memory, and the server
 * only to be sure that it does not know the word itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "common/grow.h"

#define LISTED_MAX 8 /* candidates that an ambiguous one names */

/* The ids there are. */
struct ids {
	char (*names)[64];
	size_t count, room;
};

static void
add_id(struct ids *ids, const char *id)
{
	if (!GROW(ids->names, ids->room, ids->count + 1, 64))
		return;
	snprintf(ids->names[ids->count++], sizeof(*ids->names), "%s", id);
}

/* Does the server know it as it stands? A wait that does not wait says. */
static bool
server_knows(struct cli *c, const char *id)
{
	struct psup_until u = PSUP_UNTIL_INIT;
	psup_reply *reply;
	bool known;

	/* a master that is stopped is not waited for */
	if (!psup_is_connected(c->p) && cli_connect_briefly(c) != PSUP_OK)
		return false;
	if (psup_wait_until(c->p, &id, 1, &u, 0, &reply) != PSUP_OK)
		return false;
	known = !psup_reply_is_error(reply);
	psup_reply_free(&reply);
	return known;
}

/* The ids of our scope. */
static void
ask_ids(struct cli *c, struct ids *ids)
{
	psup_reply *reply;
	const psup_value *rows;
	char id[64];

	if (psup_list(c->p, true, &reply) != PSUP_OK)
		return;
	rows = psup_value_get(psup_reply_details(reply), "sessions");
	for (size_t i = 0; i < psup_value_count(rows); i++) {
		psup_get_copy(psup_value_at(rows, i), "sessionId", id,
		    sizeof(id));
		add_id(ids, id);
	}
	psup_reply_free(&reply);
}

/* All of them; true: the word is one as it stands. */
static bool
see_ids(struct cli *c, const char *word, struct ids *ids)
{
	struct psup_view_session s;
	size_t cursor = 0;
	psup_view *v;
	bool found;

	if (psup_view_open(c->runtime_dir, &v, NULL, 0) < 0)
		return true; /* the command will say why */
	found = psup_view_find(v, word, &s) == 0;
	while (!found && psup_view_next_session(v, &cursor, &s) == 1)
		add_id(ids, s.id);
	psup_view_close(&v);
	return found;
}

/* "may be a, b, c". The exit code. */
static int
ambiguous(struct cli *c, const char *word, const struct ids *ids)
{
	char text[640];
	size_t n = 0, used;

	used = (size_t)snprintf(text, sizeof(text), "%.64s may be", word);
	for (size_t i = 0; i < ids->count; i++) {
		if (strncmp(ids->names[i], word, strlen(word)) != 0)
			continue;
		if (n++ >= LISTED_MAX)
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used,
		    "%s %s", n > 1 ? "," : "", ids->names[i]);
	}
	if (n > LISTED_MAX)
		snprintf(text + used, sizeof(text) - used, " or one of %zu more",
		    n - LISTED_MAX);
	if (c->json)
		cli_print_json(cli_error_object("ambiguous", "sessionId",
		    text));
	cli_say("%s", text);
	return EXIT_NOT_FOUND;
}

/* Which id a word means; *ret is it. The exit code. */
static int
resolve(struct cli *c, const char *word, const struct ids *ids,
    const char **ret)
{
	const char *found = NULL;
	const char **all;
	size_t n = 0;

	for (size_t i = 0; i < ids->count; i++)
		if (strncmp(ids->names[i], word, strlen(word)) == 0) {
			found = ids->names[i];
			n++;
		}
	if (n > 1)
		return ambiguous(c, word, ids);
	if (n == 1) {
		*ret = found;
		return EXIT_OK;
	}
	/* none: the server says so, and we what it may have been */
	all = calloc(ids->count + 1, sizeof(*all));
	for (size_t i = 0; all != NULL && i < ids->count; i++)
		all[i] = ids->names[i];
	found = all != NULL ? psup_nearest(word, all) : NULL;
	snprintf(c->nearest_id, sizeof(c->nearest_id), "%s",
	    found != NULL ? found : "");
	free(all);
	*ret = word;
	return EXIT_OK;
}

int
session_id_resolve(struct cli *c, char **word)
{
	struct ids ids = {0};
	const char *id = *word;
	int code = EXIT_OK;
	bool known;

	if (id[0] == '\0')
		return EXIT_OK;
	if (cli_is_scoped(c)) {
		known = server_knows(c, id);
		if (!known && psup_is_connected(c->p))
			ask_ids(c, &ids);
	} else {
		known = see_ids(c, id, &ids) || server_knows(c, id);
	}
	if (!known)
		code = resolve(c, *word, &ids, &id);
	if (id != *word) {
		snprintf(c->ids[c->id_count], sizeof(c->ids[0]), "%s", id);
		*word = c->ids[c->id_count++];
	}
	free(ids.names);
	return code;
}
