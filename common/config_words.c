/* SPDX-License-Identifier: MIT */
/* Settings whose value is one of some words. Called by config_value.c and by
 * who says them. */
#include <string.h>

#include "check.h"
#include "config_options.h"
#include "log.h"

/* Types whose value is one of some words. */
static const struct words {
	const char *words[5]; /* in order of their numbers */
	const char *expected;
} word_types[] = {
	[OPT_CGROUP - OPT_WORDS] = { { [CONFIG_CGROUP_AUTO] = "auto",
	    [CONFIG_CGROUP_V2] = "v2", [CONFIG_CGROUP_V1] = "v1",
	    [CONFIG_CGROUP_OFF] = "off" }, "auto, v2, v1 or off" },
	[OPT_ACTION - OPT_WORDS] = { { [CONFIG_QUEUE] = "queue", [CONFIG_REFUSE] = "refuse" },
	    "queue or refuse" },
	[OPT_STDIN - OPT_WORDS] = { { [CONFIG_STDIN_OPEN] = "open",
	    [CONFIG_STDIN_CLOSED] = "closed" }, "open or closed" },
	[OPT_ADMIN - OPT_WORDS] = { { [CONFIG_ADMIN_UID] = "uid",
	    [CONFIG_ADMIN_TOKEN] = "token" }, "uid or token" },
	[OPT_LOG_LEVEL - OPT_WORDS] = { { [LOG_ERROR] = "error", [LOG_WARN] = "warn",
	    [LOG_NOTE] = "note", [LOG_DEBUG] = "debug" }, LOG_LEVEL_NAMES },
	[OPT_LOG_FORMAT - OPT_WORDS] = { { [LOG_LOGFMT] = "logfmt", [LOG_JSON] = "json" },
	    LOG_FORMAT_NAMES },
	[OPT_BOX_MODE - OPT_WORDS] = { { [CONFIG_SANDBOX_OFF] = "off",
	    [CONFIG_SANDBOX_ALL] = "all", [CONFIG_SANDBOX_NAMED] = "named" },
	    "off, all or named" },
	[OPT_BOX_OF - OPT_WORDS] = { { [CONFIG_BOX_AGENT] = "agent",
	    [CONFIG_BOX_SESSION] = "session", [CONFIG_BOX_SHARED] = "shared" },
	    "agent, session or shared" },
	[OPT_BOX_ACCESS - OPT_WORDS] = { { [CONFIG_ACCESS_NONE] = "none",
	    [CONFIG_ACCESS_RO] = "ro", [CONFIG_ACCESS_RW] = "rw" },
	    "none, ro or rw" },
	[OPT_BOX_NETWORK - OPT_WORDS] = { { [CONFIG_NETWORK_NONE] = "none",
	    [CONFIG_NETWORK_HOST] = "host" }, "none or host" },
	[OPT_BOX_BACKEND - OPT_WORDS] = { { [CONFIG_BACKEND_BWRAP] = "bwrap",
	    [CONFIG_BACKEND_CONTAINER] = "container" }, "bwrap or container" },
	[OPT_BOX_ENGINE - OPT_WORDS] = { { [CONFIG_ENGINE_DOCKER] = "docker",
	    [CONFIG_ENGINE_PODMAN] = "podman" }, "docker or podman" },
	[OPT_ASK - OPT_WORDS] = { { [CONFIG_ASK_POLICY] = "policy",
	    [CONFIG_ASK_ON_MISS] = "on-miss", [CONFIG_ASK_ALWAYS] = "always" },
	    "policy, on-miss or always" },
};

const char *
config_word(enum config_type type, uint64_t v)
{
	return type >= OPT_WORDS && v < NELEMS(word_types[0].words)
	    ? word_types[type - OPT_WORDS].words[v] : NULL;
}

int
config_set_word(struct config *c, const struct config_option *o,
    const char *value, char why[CONFIG_WHY])
{
	const struct words *w = &word_types[o->type - OPT_WORDS];
	uint64_t v;

	CHECK(o->type >= OPT_WORDS && o->size == sizeof(v));
	for (v = 0; w->words[v] != NULL; v++)
		if (strcasecmp(w->words[v], value) == 0) {
			memcpy((char *)c + o->offset, &v, sizeof(v));
			return 0;
		}
	return config_refuse(why, "\"%.80s\" is no choice; expected %s", value,
	    w->expected);
}
