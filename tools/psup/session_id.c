/* SPDX-License-Identifier: MIT */
/*
 * Ids by their beginning, and by the label that --name gave. Called by psup.c for
 * every operand that is a session's id by its command's row, so that no command
 * knows of it.
 *
 * An id that is there as it stands is that one; then comes a label: of several
 * sessions with the same one that which runs. What may be seen decides: with
 * a scope of our own the server is asked, else shared memory, and the server
 * only to be sure that it does not know the word itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "common/grow.h"

#define LISTED_MAX 8 /* candidates that an ambiguous one names */

/* One that there is. */
struct known {
	char id[64], label[48];
	bool runs;
};

struct ids {
	struct known *v;
	size_t count, room;
};

/* A slot to fill, empty; NULL: no memory. */
static struct known *
add(struct ids *ids)
{
	if (!GROW(ids->v, ids->room, ids->count + 1, 64))
		return NULL;
	return memset(&ids->v[ids->count++], 0, sizeof(*ids->v));
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

	if (psup_list(c->p, true, &reply) != PSUP_OK)
		return;
	rows = psup_value_get(psup_reply_details(reply), "sessions");
	for (size_t i = 0; i < psup_value_count(rows); i++) {
		const psup_value *row = psup_value_at(rows, i);
		struct known *one = add(ids);

		if (one == NULL)
			break;
		psup_get_copy(row, "sessionId", one->id, sizeof(one->id));
		psup_get_copy(row, "label", one->label, sizeof(one->label));
		one->runs = psup_get_is(row, "status", "running");
	}
	psup_reply_free(&reply);
}

/* All of them; true: the word is one as it stands. */
static bool
see_ids(struct cli *c, const char *word, struct ids *ids)
{
	struct psup_view_session s;
	struct known *one;
	size_t cursor = 0;
	psup_view *v;
	bool found;

	if (psup_view_open(c->runtime_dir, &v, NULL, 0) < 0)
		return true; /* the command will say why */
	found = psup_view_find(v, word, &s) == 0;
	while (!found && psup_view_next_session(v, &cursor, &s) == 1 &&
	    (one = add(ids)) != NULL) {
		snprintf(one->id, sizeof(one->id), "%s", s.id);
		snprintf(one->label, sizeof(one->label), "%s", s.label);
		one->runs = strcmp(s.status, "running") == 0;
	}
	psup_view_close(&v);
	return found;
}

/* How a word may mean a session, what goes before what. */
enum { RUNS_BY_LABEL, BY_LABEL, BY_BEGINNING, WAYS };

static bool
means(const struct known *one, const char *word, int way)
{
	if (way == BY_BEGINNING)
		return strncmp(one->id, word, strlen(word)) == 0;
	/* labels are cut to what a page of memory has room for */
	return (way == BY_LABEL || one->runs) &&
	    strncmp(one->label, word, sizeof(one->label) - 1) == 0;
}

/* "may be a, b, c". The exit code. */
static int
ambiguous(struct cli *c, const char *word, int way, const struct ids *ids)
{
	char text[640];
	size_t n = 0, used;

	used = (size_t)snprintf(text, sizeof(text), "%.64s may be", word);
	for (size_t i = 0; i < ids->count; i++) {
		if (!means(&ids->v[i], word, way) || n++ >= LISTED_MAX)
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used,
		    "%s %s", n > 1 ? "," : "", ids->v[i].id);
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

	for (int way = 0; way < WAYS && n == 0; way++) {
		for (size_t i = 0; i < ids->count; i++)
			if (means(&ids->v[i], word, way)) {
				found = ids->v[i].id;
				n++;
			}
		if (n > 1)
			return ambiguous(c, word, way, ids);
	}
	if (n == 1) {
		*ret = found;
		return EXIT_OK;
	}
	/* none: the server says so, and we what it may have been */
	all = calloc(ids->count + 1, sizeof(*all));
	for (size_t i = 0; all != NULL && i < ids->count; i++)
		all[i] = ids->v[i].id;
	if (all != NULL)
		option_meant(psup_nearest(word, all), c->meant_id);
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
	free(ids.v);
	return code;
}
