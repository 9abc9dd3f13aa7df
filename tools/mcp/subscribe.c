/* SPDX-License-Identifier: MIT */
/*
 * See subscribe.h. Called by methods.c, and by events.c when a session ends.
 * What a client of the handshake subscribes to is one subscription without id.
 */
#include "subscribe.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "resource.h"

#define URIS_MAX 256u   /* of one subscription */
#define LISTENS_MAX 64u /* at once */
#define SUBSCRIPTION_ID "io.modelcontextprotocol/subscriptionId"

struct sub {
	LIST_ENTRY(sub) next;
	json_t *id;   /* of the request; NULL: the handshake's */
	json_t *uris;
};
static LIST_HEAD(, sub) subs = LIST_HEAD_INITIALIZER(subs);
static size_t count;

/* NULL: no memory. */
static struct sub *
sub_new(json_t *id)
{
	struct sub *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->id = json_incref(id);
	s->uris = json_array();
	LIST_INSERT_HEAD(&subs, s, next);
	count++;
	return s;
}

static void
sub_free(struct sub *s)
{
	LIST_REMOVE(s, next);
	count--;
	json_decref(s->id);
	json_decref(s->uris);
	free(s);
}

/* NULL: there is none of that id. */
static struct sub *
sub_find(const json_t *id)
{
	struct sub *s;

	LIST_FOREACH(s, &subs, next)
		if (id == NULL ? s->id == NULL
		               : s->id != NULL &&
			json_equal(s->id, (json_t *)(uintptr_t)id))
			return s;
	return NULL;
}

/* Where a URI is in the list; its length: nowhere. */
static size_t
place_of(const json_t *uris, const char *uri)
{
	size_t i, n = json_array_size(uris);

	for (i = 0; i < n; i++)
		if (strcmp(json_string_value(json_array_get(uris, i)), uri) ==
		    0)
			break;
	return i;
}

/* Adds a URI of ours; false: it is none, or one too many. */
static bool
add_uri(struct sub *s, const char *uri)
{
	char session[RESOURCE_SESSION_SIZE];

	if (uri == NULL || resource_parse(uri, session) == NULL)
		return false;
	if (place_of(s->uris, uri) < json_array_size(s->uris))
		return true;
	if (json_array_size(s->uris) >= URIS_MAX)
		return false;
	json_array_append_new(s->uris, json_string(uri));
	return true;
}

void
subscribe_uri(const struct rpc_request *r)
{
	const char *uri = rpc_text(r, "uri");
	struct sub *s = sub_find(NULL);

	if (s == NULL)
		s = sub_new(NULL);
	if (s == NULL || !add_uri(s, uri)) {
		rpc_fail(&r->to, RPC_NO_RESOURCE,
		    uri != NULL ? json_pack("{s:s}", "uri", uri) : NULL,
		    "Resource not found, or over %u subscriptions", URIS_MAX);
		return;
	}
	rpc_reply(&r->to, json_object());
}

void
subscribe_no_more(const struct rpc_request *r)
{
	const char *uri = rpc_text(r, "uri");
	struct sub *s = sub_find(NULL);

	if (s != NULL && uri != NULL)
		json_array_remove(s->uris, place_of(s->uris, uri));
	rpc_reply(&r->to, json_object());
}

/* ------------------------------------------------------------------ listen */

/* The params of what is said of a subscription; its id where it has one. */
static json_t *
params_of(const struct sub *s)
{
	json_t *params = json_object();

	if (s->id != NULL)
		json_object_set_new(params, "_meta",
		    json_pack("{s:O}", SUBSCRIPTION_ID, s->id));
	return params;
}

/* Says what is listened to: what we never have news of is left out. */
static void
acknowledge(const struct sub *s, bool resources)
{
	json_t *params = params_of(s), *filter = json_object();

	if (resources)
		json_object_set(filter, "resourceSubscriptions", s->uris);
	json_object_set_new(params, "notifications", filter);
	rpc_notify("notifications/subscriptions/acknowledged", params);
}

void
subscribe_listen(const struct rpc_request *r)
{
	const json_t *filter = json_object_get(r->params, "notifications");
	const json_t *uris = json_object_get(filter, "resourceSubscriptions");
	struct sub *s;

	if (!json_is_object(filter) ||
	    (uris != NULL && !json_is_array(uris))) {
		rpc_fail(&r->to, RPC_INVALID_PARAMS, NULL,
		    "Invalid params: notifications: expected an object, and its "
		    "resourceSubscriptions an array");
		return;
	}
	if (sub_find(r->to.id) != NULL || count >= LISTENS_MAX ||
	    (s = sub_new(r->to.id)) == NULL) {
		rpc_fail(&r->to, RPC_INVALID_REQUEST, NULL,
		    "Invalid request: that id listens already, or %u do",
		    LISTENS_MAX);
		return;
	}
	for (size_t i = 0; i < json_array_size(uris); i++)
		(void)add_uri(s, json_string_value(json_array_get(uris, i)));
	acknowledge(s, uris != NULL);
}

bool
subscribe_cancel(const json_t *id)
{
	struct sub *s = sub_find(id);

	if (s != NULL)
		sub_free(s);
	return s != NULL;
}

/* The result that closes it, and what clients on stdio wait for. */
static void
say_closed(const struct sub *s)
{
	const struct rpc_to to = {.id = s->id, .modern = true};

	rpc_reply(&to, params_of(s));
	rpc_notify("notifications/cancelled",
	    json_pack("{s:O, s:s}", "requestId", s->id, "reason",
	        "the server ends"));
}

void
subscribe_close(void)
{
	struct sub *s;

	while ((s = LIST_FIRST(&subs)) != NULL) {
		if (s->id != NULL)
			say_closed(s);
		sub_free(s);
	}
}

/* ------------------------------------------------------------------- news */

bool
subscribe_any(void)
{
	const struct sub *s;

	LIST_FOREACH(s, &subs, next)
		if (json_array_size(s->uris) > 0)
			return true;
	return false;
}

/* It has changed. */
static void
say_updated(const struct sub *s, json_t *uri)
{
	json_t *params = params_of(s);

	json_object_set(params, "uri", uri);
	rpc_notify("notifications/resources/updated", params);
}

void
subscribe_ended(const char *session)
{
	char of[RESOURCE_SESSION_SIZE];
	const struct sub *s;
	json_t *uri;
	size_t i;

	LIST_FOREACH(s, &subs, next)
		json_array_foreach(s->uris, i, uri)
		{
			if (resource_parse(json_string_value(uri), of) !=
			        NULL && strcmp(of, session) == 0)
				say_updated(s, uri);
		}
}
