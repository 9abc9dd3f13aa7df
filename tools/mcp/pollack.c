/* SPDX-License-Identifier: MIT */
/* See pollack.h. Called by call.c. */
#include "pollack.h"

#include <string.h>

#include "out.h"

#define KEPT_MAX 64u /* sessions; the oldest is delivered again */

static struct kept {
	char session[64], ack[32];
	json_t *id;
} kept[KEPT_MAX];
static size_t next;

static struct kept *
find(const char *session)
{
	for (size_t i = 0; i < KEPT_MAX; i++)
		if (kept[i].ack[0] != '\0' &&
		    strcmp(kept[i].session, session) == 0)
			return &kept[i];
	return NULL;
}

static void
drop(struct kept *k)
{
	json_decref(k->id);
	*k = (struct kept){.id = NULL};
}

void
pollack_add(psup_args *a, const json_t *session)
{
	const char *s = json_string_value(session);
	const struct kept *k = s != NULL ? find(s) : NULL;

	/* what was queued before is written in order: with nothing left of it
	 * the answer is out */
	psup_args_str(a, "ack",
	    k != NULL && out_queued() == 0 ? k->ack : "explicit");
}

void
pollack_keep(const json_t *id, const psup_value *details)
{
	char session[64], ack[32];
	struct kept *k;

	psup_get_copy(details, "sessionId", session, sizeof(session));
	psup_get_copy(details, "ack", ack, sizeof(ack));
	k = find(session);
	if (k == NULL)
		k = &kept[next++ % KEPT_MAX];
	drop(k);
	if (ack[0] == '\0')
		return;
	strcpy(k->session, session);
	strcpy(k->ack, ack);
	k->id = json_incref((json_t *)(uintptr_t)id);
}

void
pollack_forget(const json_t *id)
{
	for (size_t i = 0; i < KEPT_MAX; i++)
		if (kept[i].id != NULL &&
		    json_equal(kept[i].id, (json_t *)(uintptr_t)id))
			drop(&kept[i]);
}
