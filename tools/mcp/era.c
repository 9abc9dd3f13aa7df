/* SPDX-License-Identifier: MIT */
/* See era.h. Called by rpc.c for every request and answer. */
#include "era.h"

#include <psup/psup.h>
#include <string.h>

#include "tools.h"

#define META "io.modelcontextprotocol/"
#define MODERN "2026-07-28"
#define LINKS_SINCE "2025-06-18"
#define CACHE_MS 3600000

/* Newest first. They compare as text. */
static const char *const legacy[] = {
	"2025-11-25", LINKS_SINCE, "2025-03-26", "2024-11-05"};
#define LEGACY_COUNT (sizeof(legacy) / sizeof(legacy[0]))

/* What initialize agreed on. */
static const char *agreed = "2025-11-25";

static json_t *
server_info(void)
{
	return json_pack("{s:s, s:s, s:s}", "name", "psup", "title",
	    "psup: commands that outlive their client", "version",
	    psup_version());
}

static json_t *
capabilities(void)
{
	return json_pack("{s:{}, s:{s:b}}", "tools", "resources", "subscribe",
	    1);
}

/* A version that we do not speak. */
static void
refuse_version(const struct rpc_request *r, json_t *asked)
{
	json_t *all = json_pack("[s]", MODERN);

	for (size_t i = 0; i < LEGACY_COUNT; i++)
		json_array_append_new(all, json_string(legacy[i]));
	rpc_fail(&r->to, RPC_VERSION,
	    json_pack("{s:o, s:O}", "supported", all, "requested", asked),
	    "Unsupported protocol version");
}

bool
era_take(struct rpc_request *r)
{
	json_t *version = json_object_get(r->meta, META "protocolVersion");
	const json_t *token = json_object_get(r->meta, "progressToken");

	r->to.modern = version != NULL;
	if (r->meta != NULL && !json_is_object(r->meta)) {
		rpc_fail(&r->to, RPC_INVALID_PARAMS, NULL,
		    "Invalid params: _meta: expected an object");
		return false;
	}
	if (token != NULL && !rpc_is_id(token)) {
		rpc_fail(&r->to, RPC_INVALID_PARAMS, NULL,
		    "Invalid params: _meta.progressToken: expected a string or "
		    "an integer");
		return false;
	}
	if (version == NULL)
		return true;
	if (!json_is_string(version)) {
		rpc_fail(&r->to, RPC_INVALID_PARAMS, NULL,
		    "Invalid params: _meta[\"" META "protocolVersion\"]: "
		    "expected a string");
		return false;
	}
	if (strcmp(json_string_value(version), MODERN) != 0) {
		refuse_version(r, version);
		return false;
	}
	if (json_is_object(json_object_get(r->meta, META "clientCapabilities")))
		return true;
	rpc_fail(&r->to, RPC_INVALID_PARAMS, NULL,
	    "Invalid params: _meta[\"" META "clientCapabilities\"]: expected "
	    "an object");
	return false;
}

void
era_complete(json_t *result)
{
	json_t *meta = json_object_get(result, "_meta");

	if (meta == NULL) {
		meta = json_object();
		json_object_set_new(result, "_meta", meta);
	}
	json_object_set_new(meta, META "serverInfo", server_info());
	json_object_set_new(result, "resultType", json_string("complete"));
}

bool
rpc_knows_links(const struct rpc_to *to)
{
	return to->modern || strcmp(agreed, LINKS_SINCE) >= 0;
}

void
rpc_cacheable(const struct rpc_to *to, json_t *result, bool for_all)
{
	if (!to->modern)
		return;
	json_object_set_new(result, "ttlMs",
	    json_integer(for_all ? CACHE_MS : 0));
	json_object_set_new(result, "cacheScope",
	    json_string(for_all ? "public" : "private"));
}

void
era_initialize(const struct rpc_request *r)
{
	const char *asked = rpc_text(r, "protocolVersion");

	if (asked == NULL) {
		rpc_fail(&r->to, RPC_INVALID_PARAMS, NULL,
		    "Invalid params: protocolVersion: expected a string");
		return;
	}
	agreed = legacy[0];
	for (size_t i = 0; i < LEGACY_COUNT; i++)
		if (strcmp(asked, legacy[i]) == 0)
			agreed = legacy[i];
	rpc_reply(&r->to,
	    json_pack("{s:s, s:o, s:o, s:s}", "protocolVersion", agreed,
	        "capabilities", capabilities(), "serverInfo", server_info(),
	        "instructions", tools_instructions));
}

void
era_discover(const struct rpc_request *r)
{
	json_t *result = json_pack("{s:[s], s:o, s:s}", "supportedVersions",
	    MODERN, "capabilities", capabilities(), "instructions",
	    tools_instructions);

	rpc_cacheable(&r->to, result, true);
	rpc_reply(&r->to, result);
}
