/* SPDX-License-Identifier: MIT */
/* Settings whose value is one of some words. Called by config_value.c and by
 * who says them. */
#include <string.h>

#include "check.h"
#include "config_options.h"
#include "log.h"

/* Types whose value is one of some words. */
static const struct words {
	enum config_type type;
	const char *words[5]; /* in order of their numbers */
	const char *expected;
} word_types[] = {
	{ OPT_CGROUP, { [CONFIG_CGROUP_AUTO] = "auto",
	    [CONFIG_CGROUP_V2] = "v2", [CONFIG_CGROUP_V1] = "v1",
	    [CONFIG_CGROUP_OFF] = "off" }, "auto, v2, v1 or off" },
	{ OPT_ACTION, { [CONFIG_QUEUE] = "queue", [CONFIG_REFUSE] = "refuse" },
	    "queue or refuse" },
	{ OPT_STDIN, { [CONFIG_STDIN_OPEN] = "open",
	    [CONFIG_STDIN_CLOSED] = "closed" }, "open or closed" },
	{ OPT_ADMIN, { [CONFIG_ADMIN_UID] = "uid",
	    [CONFIG_ADMIN_TOKEN] = "token" }, "uid or token" },
	{ OPT_LOG_LEVEL, { [LOG_ERROR] = "error", [LOG_WARN] = "warn",
	    [LOG_NOTE] = "note", [LOG_DEBUG] = "debug" }, LOG_LEVEL_NAMES },
	{ OPT_LOG_FORMAT, { [LOG_LOGFMT] = "logfmt", [LOG_JSON] = "json" },
	    LOG_FORMAT_NAMES },
	{ OPT_BOX_MODE, { [CONFIG_SANDBOX_OFF] = "off",
	    [CONFIG_SANDBOX_ALL] = "all", [CONFIG_SANDBOX_NAMED] = "named" },
	    "off, all or named" },
	{ OPT_BOX_OF, { [CONFIG_BOX_AGENT] = "agent",
	    [CONFIG_BOX_SESSION] = "session", [CONFIG_BOX_SHARED] = "shared" },
	    "agent, session or shared" },
	{ OPT_BOX_ACCESS, { [CONFIG_ACCESS_NONE] = "none",
	    [CONFIG_ACCESS_RO] = "ro", [CONFIG_ACCESS_RW] = "rw" },
	    "none, ro or rw" },
	{ OPT_BOX_NETWORK, { [CONFIG_NETWORK_NONE] = "none",
	    [CONFIG_NETWORK_HOST] = "host" }, "none or host" },
	{ OPT_BOX_BACKEND, { [CONFIG_BACKEND_BWRAP] = "bwrap",
	    [CONFIG_BACKEND_CONTAINER] = "container" }, "bwrap or container" },
	{ OPT_BOX_ENGINE, { [CONFIG_ENGINE_DOCKER] = "docker",
	    [CONFIG_ENGINE_PODMAN] = "podman" }, "docker or podman" },
	{ OPT_ASK, { [CONFIG_ASK_POLICY] = "policy",
	    [CONFIG_ASK_ON_MISS] = "on-miss", [CONFIG_ASK_ALWAYS] = "always" },
	    "policy, on-miss or always" },
};

static const struct words *
words_of(enum config_type type)
{
	for (size_t i = 0; i < NELEMS(word_types); i++)
		if (word_types[i].type == type)
			return &word_types[i];
	return NULL;
}

const char *
config_word(enum config_type type, uint64_t v)
{
	const struct words *w = words_of(type);

	return w != NULL && v < NELEMS(w->words) ? w->words[v] : NULL;
}

int
config_set_word(struct config *c, const struct config_option *o,
    const char *value, char *why, size_t why_size)
{
	const struct words *w = words_of(o->type);
	uint64_t v;

	CHECK(w != NULL && o->size == sizeof(v));
	for (v = 0; w->words[v] != NULL; v++)
		if (strcasecmp(w->words[v], value) == 0) {
			memcpy((char *)c + o->offset, &v, sizeof(v));
			return 0;
		}
	return config_refuse(why, why_size,
	    "\"%.80s\" is no choice; expected %s", value, w->expected);
}
