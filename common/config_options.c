/* SPDX-License-Identifier: MIT */
/*
 * Every setting: where it stands in psup.conf, what the environment calls it,
 * its default and range. In a file a value out of range is refused, because
 * somebody can mend the line; from the environment, which may be made for
 * another program, it is clamped.
 */
#include "config_options.h"

#include <errno.h>
#include <grp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "envpolicy.h"
#include "event_kind.h"
#include "log.h"
#include "option.h"

#define AT(field)                                                              \
	offsetof(struct config, field), sizeof(((struct config *)NULL)->field)
#define ANY (UINT64_C(1) << 50)

const struct config_option config_options[] = {
	{ "exec", "background_ms", OPT_UINT, AT(background_ms), 10000, 10,
	    120000, 0, { "PSUP_YIELD_MS", "OPENCLAW_BASH_YIELD_MS",
	    "PI_BASH_YIELD_MS" } },
	{ "exec", "timeout_sec", OPT_SECONDS, AT(timeout_sec), 1800, 1,
	    31536000, 0, { NULL } },
	{ "exec", "cleanup_ms", OPT_UINT, AT(cleanup_ms), 1800000, 60000,
	    10800000, 0, { "PSUP_JOB_TTL_MS", "OPENCLAW_BASH_JOB_TTL_MS",
	    "PI_BASH_JOB_TTL_MS" } },
	{ "exec", "max_output_chars", OPT_UINT, AT(max_output_chars), 200000,
	    1000, 1u << 30, 200000, { "PSUP_MAX_OUTPUT_CHARS",
	    "OPENCLAW_BASH_MAX_OUTPUT_CHARS", "PI_BASH_MAX_OUTPUT_CHARS" } },
	{ "exec", "pending_max_output_chars", OPT_UINT,
	    AT(pending_max_output_chars), 200000, 1000, 200000, 0,
	    { "PSUP_PENDING_MAX_OUTPUT_CHARS",
	    "OPENCLAW_BASH_PENDING_MAX_OUTPUT_CHARS",
	    "CLAWDBOT_BASH_PENDING_MAX_OUTPUT_CHARS" } },
	{ "exec", "head_output_chars", OPT_UINT, AT(head_output_chars), 20000,
	    0, 1u << 30, 0, { NULL } },
	{ "exec", "input_wait_idle_ms", OPT_UINT, AT(input_wait_idle_ms),
	    15000, 1000, 600000, 0, { "PSUP_INPUT_WAIT_IDLE_MS",
	    "OPENCLAW_PROCESS_INPUT_WAIT_IDLE_MS" } },
	{ "exec", "input_yield_ms", OPT_UINT, AT(input_yield_ms), 2000, 0,
	    60000, 0, { NULL } },
	{ "exec", "stdin", OPT_STDIN, AT(stdin_default), CONFIG_STDIN_OPEN, 0,
	    CONFIG_STDIN_CLOSED, 0, { NULL } },
	{ "exec", "timeout_warning_sec", OPT_UINT, AT(timeout_warning_sec),
	    10, 0, 3600, 0, { NULL } },
	{ "exec", "grace_ms", OPT_UINT, AT(grace_ms), 5000, 0, 60000, 0,
	    { NULL } },
	{ "exec", "notify_on_exit", OPT_BOOL, AT(notify_on_exit), 1, 0, 1, 0,
	    { NULL } },
	{ "exec", "notify_on_exit_empty_success", OPT_BOOL,
	    AT(notify_on_exit_empty_success), 0, 0, 1, 0, { NULL } },
	{ "exec", "path_prepend", OPT_PATHS, AT(path_prepend), 0, 0, 0, 0,
	    { NULL } },
	{ "exec", "shell", OPT_DIR, AT(shell), 0, 0, 0, 0, { NULL } },
	{ "exec", "direct", OPT_BOOL, AT(direct), 1, 0, 1, 0, { NULL } },
	{ "exec", "no_new_privs", OPT_BOOL, AT(no_new_privs), 0, 0, 1, 0,
	    { NULL } },
	{ "exec", "workdir", OPT_DIR, AT(workdir), 0, 0, 0, 0, { NULL } },
	{ "exec", "child_oom_score_adj", OPT_OPT_OUT, AT(child_oom_score_adj),
	    1, 0, 1, 0, { "OPENCLAW_CHILD_OOM_SCORE_ADJ" } },
	{ "env", "block", OPT_NAMES, AT(env_block), 0, 0, 0, 0, { NULL } },
	{ "retain", "finished", OPT_UINT, AT(finished), 0, 0, ANY, 0,
	    { "PSUP_FINISHED_MAX" } },
	{ "retain", "finished_bytes", OPT_UINT, AT(finished_bytes), 0, 0, ANY,
	    0, { "PSUP_FINISHED_BYTES" } },
	{ "retain", "events", OPT_UINT, AT(events), 10000, 1, 10000000, 0,
	    { NULL } },
	{ "retain", "event_kinds", OPT_KINDS, AT(event_kinds), EVENT_USUAL, 0,
	    0, 0, { NULL } },
	{ "spill", "dir", OPT_DIR, AT(spill_dir), 0, 0, 0, 0, { NULL } },
	{ "spill", "max_bytes", OPT_UINT, AT(spill_max_bytes), 1u << 30, 1,
	    ANY, 0, { NULL } },
	{ "server", "workers", OPT_UINT, AT(workers), 0, 0, 32, 0,
	    { "PSUP_WORKERS" } },
	{ "server", "output_budget", OPT_UINT, AT(output_budget), 0, 0, ANY,
	    0, { NULL } },
	{ "server", "client_memory", OPT_UINT, AT(client_memory), 256u << 20,
	    16u << 20, ANY, 0, { NULL } },
	{ "server", "frame_bytes", OPT_UINT, AT(frame_bytes), 4u << 20,
	    64u << 10, 64u << 20, 0, { NULL } },
	{ "server", "stdin_queue", OPT_UINT, AT(stdin_queue), 1u << 20, 4096,
	    1u << 30, 0, { NULL } },
	{ "server", "any_fs", OPT_BOOL, AT(any_fs), 0, 0, 1, 0, { NULL } },
	{ "server", "cgroup", OPT_CGROUP, AT(cgroup), CONFIG_CGROUP_AUTO, 0,
	    CONFIG_CGROUP_OFF, 0, { "PSUP_CGROUP" } },
	{ "server", "require_token", OPT_BOOL, AT(require_token), 0, 0, 1, 0,
	    { NULL } },
	{ "server", "admin", OPT_ADMIN, AT(admin), CONFIG_ADMIN_UID, 0,
	    CONFIG_ADMIN_TOKEN, 0, { NULL } },
	{ "server", "admin_token", OPT_HASH, AT(admin_token), 0, 0, 0, 0,
	    { NULL } },
	{ "server", "group", OPT_GROUP, AT(group), 0, 0, 0, 0, { NULL } },
	{ "server", "max_running", OPT_UINT, AT(max_running), 0, 0, 1000000,
	    0, { "PSUP_MAX_RUNNING" } },
	{ "server", "spawn_rate", OPT_UINT, AT(spawn_rate), 0, 0, 100000, 0,
	    { NULL } },
	{ "server", "spawn_burst", OPT_UINT, AT(spawn_burst), 0, 0, 100000, 0,
	    { NULL } },
	{ "server", "admission", OPT_ACTION, AT(admission), CONFIG_QUEUE, 0,
	    CONFIG_REFUSE, 0, { NULL } },
	{ "scope", "max_running", OPT_UINT, AT(scope_max_running), 0, 0,
	    1000000, 0, { NULL } },
	{ "limits", "start_ms", OPT_UINT, AT(start_ms), 10000, 100, 600000, 0,
	    { NULL } },
	{ "pressure", "memory_some_avg10", OPT_PERCENT, AT(memory_some_avg10),
	    0, 0, 10000, 0, { NULL } },
	{ "pressure", "action", OPT_ACTION, AT(pressure_action), CONFIG_QUEUE,
	    0, CONFIG_REFUSE, 0, { NULL } },
	{ "pressure", "path", OPT_DIR, AT(psi_path), 0, 0, 0, 0,
	    { "PSUP_PSI_PATH" } },
	{ "server", "log_level", OPT_LOG_LEVEL, AT(log_level), LOG_NOTE, 0,
	    LOG_DEBUG, 0, { "PSUP_LOG_LEVEL" } },
	{ "server", "log_format", OPT_LOG_FORMAT, AT(log_format), LOG_LOGFMT,
	    0, LOG_JSON, 0, { "PSUP_LOG_FORMAT" } },
	{ "sandbox", "mode", OPT_BOX_MODE, AT(sandbox.mode),
	    CONFIG_SANDBOX_OFF, 0, 0, 0, { NULL } },
	{ "sandbox", "scope", OPT_BOX_OF, AT(sandbox.scope), CONFIG_BOX_AGENT,
	    0, 0, 0, { NULL } },
	{ "sandbox", "user", OPT_NAME, AT(sandbox.user), 0, 0, 0, 0,
	    { NULL } },
	{ "sandbox", "workspace", OPT_HOME, AT(sandbox.workspace), 0, 0, 0, 0,
	    { NULL } },
	{ "sandbox", "access", OPT_BOX_ACCESS, AT(sandbox.access),
	    CONFIG_ACCESS_NONE, 0, 0, 0, { NULL } },
	{ "sandbox", "bind", OPT_BIND, AT(sandbox.binds), 0, 0, 0, 0,
	    { NULL } },
	{ "sandbox", "network", OPT_BOX_NETWORK, AT(sandbox.network),
	    CONFIG_NETWORK_NONE, 0, 0, 0, { NULL } },
	{ "sandbox", "allow_host_network", OPT_BOOL,
	    AT(sandbox.allow_host_network), 0, 0, 1, 0, { NULL } },
	{ "sandbox", "env", OPT_VARIABLE, AT(sandbox.env), 0, 0, 0, 0,
	    { NULL } },
	{ "sandbox", "setup", OPT_TEXT, AT(sandbox.setup), 0, 0, 0, 0,
	    { NULL } },
	{ "sandbox", "setup_sec", OPT_UINT, AT(sandbox.setup_sec), 600, 1,
	    86400, 0, { NULL } },
	{ "sandbox", "memory", OPT_SIZE, AT(sandbox.memory), 1u << 30,
	    16u << 20, ANY, 0, { NULL } },
	{ "sandbox", "pids", OPT_UINT, AT(sandbox.pids), 256, 8, 1000000, 0,
	    { NULL } },
	{ "sandbox", "cpus", OPT_PERCENT, AT(sandbox.cpus), 100, 0, 102400, 0,
	    { NULL } },
	{ "sandbox", "idle_min", OPT_UINT, AT(sandbox.idle_min), 1440, 0,
	    5256000, 0, { NULL } },
	{ "sandbox", "max_age_min", OPT_UINT, AT(sandbox.max_age_min), 10080,
	    0, 5256000, 0, { NULL } },
	{ "sandbox", "backend", OPT_BOX_BACKEND, AT(sandbox.backend),
	    CONFIG_BACKEND_BWRAP, 0, 0, 0, { NULL } },
	{ "sandbox", "container", OPT_NAME, AT(sandbox.container), 0, 0, 0, 0,
	    { NULL } },
	{ "sandbox", "engine", OPT_BOX_ENGINE, AT(sandbox.engine),
	    CONFIG_ENGINE_DOCKER, 0, 0, 0, { NULL } },
	{ "elevated", "enabled", OPT_BOOL, AT(elevated.enabled), 0, 0, 1, 0,
	    { NULL } },
	{ "elevated", "scopes", OPT_SCOPES, AT(elevated.scopes), 0, 0, 0, 0,
	    { NULL } },
	{ "elevated", "ask", OPT_ASK, AT(elevated.ask), CONFIG_ASK_POLICY, 0,
	    0, 0, { NULL } },
	{ "server", "lane_warn_ms", OPT_UINT, AT(lane_warn_ms), 2000, 0,
	    86400000, 0, { NULL } },
};
const size_t config_option_count = NELEMS(config_options);

int
config_refuse(char *why, size_t why_size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (why_size > 0)
		(void)vsnprintf(why, why_size, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

bool
config_parse_number(const char *s, int64_t *ret)
{
	bool minus = *s == '-';
	int64_t v = 0;

	s += *s == '-' || *s == '+';
	if (*s == '\0')
		return false;
	for (; *s != '\0'; s++) {
		if (*s < '0' || *s > '9')
			return false;
		if (v > (INT64_MAX - 9) / 10)
			v = (INT64_MAX - 9) / 10;
		v = v * 10 + (*s - '0');
	}
	*ret = minus ? -v : v;
	return true;
}

/* What the end of a setting's name says of it. */
static const struct {
	const char *end;
	int ms; /* its unit; 0: bytes */
} ends[] = {{"_ms", 1}, {"_sec", 1000}, {"_min", 60000}, {"Seconds", 1000},
	{"Bytes", 0}, {"_bytes", 0}, {"_chars", 0}, {"_budget", 0},
	{"_memory", 0}, {"_queue", 0}};

bool
config_parse_amount(const char *name, const char *s, int64_t *ret)
{
	size_t len = strlen(name), n;
	double v = -1;

	if (config_parse_number(s, ret))
		return true;
	for (size_t i = 0; i < NELEMS(ends) && v < 0; i++) {
		n = strlen(ends[i].end);
		if (len >= n && strcmp(name + len - n, ends[i].end) == 0)
			v = ends[i].ms == 0 ? size_parse(s)
			    : duration_parse(s, ends[i].ms) / ends[i].ms;
	}
	if (v < 0 || v > (double)ANY || v - (double)(int64_t)v > 0)
		return false;
	*ret = (int64_t)v;
	return true;
}

bool
config_parse_bool(const char *s, bool *ret)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {
		{ "true", true }, { "yes", true }, { "on", true },
		{ "1", true }, { "false", false }, { "no", false },
		{ "off", false }, { "0", false },
	};
	size_t i;

	for (i = 0; i < NELEMS(words); i++) {
		if (strcasecmp(words[i].word, s) == 0) {
			*ret = words[i].value;
			return true;
		}
	}
	return false;
}

/* Puts a value of the right type in its place. */
static int
store(struct config *c, const struct config_option *o, const void *v,
    size_t size)
{
	CHECK(o->size == size);
	memcpy((char *)c + o->offset, v, size);
	return 0;
}

/* UINT and SECONDS. */
static int
set_number(struct config *c, const struct config_option *o, const char *value,
    bool clamp, char *why, size_t why_size)
{
	int64_t max = (int64_t)(clamp && o->env_max > 0 ? o->env_max : o->max);
	int64_t min = (int64_t)o->min, v;
	uint64_t stored;

	/* the environment may be made for another program */
	if (clamp ? !config_parse_number(value, &v)
		  : !config_parse_amount(o->name, value, &v))
		return config_refuse(why, why_size,
		    "\"%.80s\" is no number; expected "
		    "%lld to %lld", value, (long long)min, (long long)max);
	if (o->type == OPT_SECONDS && v <= 0)
		v = (int64_t)o->dflt;
	if (!clamp && (v < min || v > max))
		return config_refuse(why, why_size,
		    "%lld is out of range; expected "
		    "%lld to %lld", (long long)v, (long long)min,
		    (long long)max);
	v = v < min ? min : v > max ? max : v;
	stored = (uint64_t)v;
	return store(c, o, &stored, sizeof(stored));
}

/* BOOL and OPT_OUT. */
static int
set_bool(struct config *c, const struct config_option *o, const char *value,
    bool from_env, char *why, size_t why_size)
{
	bool v;

	if (!config_parse_bool(value, &v)) {
		if (from_env && o->type == OPT_OPT_OUT)
			return 0;
		return config_refuse(why, why_size,
		    "\"%.80s\" is neither yes nor no; "
		    "expected true, false, yes, no, on, off, 1 or 0", value);
	}
	if (v && from_env && o->type == OPT_OPT_OUT)
		return 0;
	return store(c, o, &v, sizeof(v));
}

/* DIR and PATHS. */
static int
set_path(struct config *c, const struct config_option *o, const char *value,
    char *why, size_t why_size)
{
	size_t len = strlen(value);
	const char *s;

	if (len >= o->size)
		return config_refuse(why, why_size,
		    "%zu bytes; expected at most %zu",
		    len, o->size - 1);
	for (s = value; *s != '\0'; s++) {
		bool first = s == value ||
		    (o->type == OPT_PATHS && s[-1] == ':');

		if ((unsigned char)*s < 0x20 || *s == 0x7f ||
		    (first && *s != '/'))
			return config_refuse(why, why_size,
			    "\"%.80s\" is no absolute "
			    "path; expected a / at its beginning and no "
			    "control characters", value);
	}
	if (o->type == OPT_PATHS && len > 0 && value[len - 1] == ':')
		return config_refuse(why, why_size,
		    "\"%.80s\" ends in an empty path",
		    value);
	memcpy((char *)c + o->offset, value, len + 1);
	return 0;
}

/* NAMES. */
static int
set_names(struct config *c, const struct config_option *o, const char *value,
    char *why, size_t why_size)
{
	const char *s = value;
	size_t n, k, len = strlen(value);

	if (len >= o->size)
		return config_refuse(why, why_size,
		    "%zu bytes; expected at most %zu", len, o->size - 1);
	for (s += strspn(s, " "); *s != '\0'; s += n, s += strspn(s, " ")) {
		n = strcspn(s, " ");
		k = s[n - 1] == '*' ? n - 1 : n;
		if (!env_is_portable(s, k))
			return config_refuse(why, why_size,
			    "\"%.*s\" is no variable's name; expected letters, "
			    "digits and _, perhaps * at the end, and spaces "
			    "between names", (int)(n < 80 ? n : 80), s);
	}
	memcpy((char *)c + o->offset, value, len + 1);
	return 0;
}

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

/* One of some words. */
static int
set_word(struct config *c, const struct config_option *o, const char *value,
    char *why, size_t why_size)
{
	const struct words *w = words_of(o->type);
	uint64_t v;

	CHECK(w != NULL);
	for (v = 0; w->words[v] != NULL; v++) {
		if (strcasecmp(w->words[v], value) == 0)
			return store(c, o, &v, sizeof(v));
	}
	return config_refuse(why, why_size,
	    "\"%.80s\" is no choice; expected %s", value, w->expected);
}

/* HASH. */
static int
set_hash(struct config *c, const struct config_option *o, const char *value,
    char *why, size_t why_size)
{
	size_t len = strlen(value);

	if (len != 0 && (len != o->size - 1 ||
	    strspn(value, "0123456789abcdef") != len))
		return config_refuse(why, why_size,
		    "\"%.80s\" is no SHA-256; expected 64 hex digits, as "
		    "sha256sum prints them", value);
	memcpy((char *)c + o->offset, value, len + 1);
	return 0;
}

/* GROUP. */
static int
set_group(struct config *c, const struct config_option *o, const char *value,
    char *why, size_t why_size)
{
	const struct group *g;
	uint64_t gid = 0;
	int64_t v;

	if (config_parse_number(value, &v) && v > 0 && v < UINT32_MAX) {
		gid = (uint64_t)v;
	} else if (value[0] != '\0') {
		g = getgrnam(value);
		if (g == NULL || g->gr_gid == 0)
			return config_refuse(why, why_size,
			    "\"%.80s\" is no group; expected a name or number "
			    "that is not root's", value);
		gid = g->gr_gid;
	}
	return store(c, o, &gid, sizeof(gid));
}

/* PERCENT. */
static int
set_percent(struct config *c, const struct config_option *o, const char *value,
    char *why, size_t why_size)
{
	unsigned whole = 0, part = 0, digits = 0, unit = 100;
	const char *s = value;
	uint64_t v;

	for (; *s >= '0' && *s <= '9' && whole <= o->max; s++, digits++)
		whole = whole * 10 + (unsigned)(*s - '0');
	if (*s == '.')
		for (s++; *s >= '0' && *s <= '9' && unit > 1; s++, digits++) {
			unit /= 10;
			part += (unsigned)(*s - '0') * unit;
		}
	v = whole * 100u + part;
	if (*s != '\0' || digits == 0 || v > o->max)
		return config_refuse(why, why_size,
		    "\"%.80s\" is no %s; expected 0 to %u, with up to two "
		    "digits behind a point", value,
		    o->max == 10000 ? "percentage" : "number", (unsigned)(o->max / 100));
	return store(c, o, &v, sizeof(v));
}

/* SIZE. */
static int
set_size(struct config *c, const struct config_option *o, const char *value,
    char *why, size_t why_size)
{
	static const char units[] = "kmgt";
	size_t len = strlen(value);
	const char *unit = len > 1 ? strchr(units, value[len - 1] | 0x20) :
	    NULL;
	char digits[24] = "";
	uint64_t v;
	int64_t n;

	len -= unit != NULL;
	memcpy(digits, value, len < sizeof(digits) ? len : 0);
	if (!config_parse_number(digits, &n) || n < 0)
		return config_refuse(why, why_size,
		    "\"%.80s\" is no size; expected bytes, or a number with "
		    "k, m, g or t", value);
	v = (uint64_t)n;
	for (const char *u = units; unit != NULL && u <= unit; u++)
		v = v > o->max ? v : v * 1024;
	if (v != 0 && (v < o->min || v > o->max))
		return config_refuse(why, why_size,
		    "%s is out of range; expected %llu to %llu bytes, or 0 for "
		    "no bound", value, (unsigned long long)o->min,
		    (unsigned long long)o->max);
	return store(c, o, &v, sizeof(v));
}

/* KINDS: words between blanks or commas. */
static int
set_kinds(struct config *c, const struct config_option *o, const char *value,
    char *why, size_t why_size)
{
	uint64_t kinds = EVENT_ENDS;
	size_t n;

	for (const char *s = value; *s != '\0'; s += n) {
		n = strspn(s, " ,");
		if (n > 0)
			continue;
		n = strcspn(s, " ,");
		if (n == 3 && strncasecmp(s, "all", 3) == 0)
			kinds = EVENT_ALL;
		else if (event_kind_of(s, n) >= 0)
			kinds |= EVENT_BIT(event_kind_of(s, n));
		else if (n != 4 || strncasecmp(s, "none", 4) != 0)
			return config_refuse(why, why_size,
			    "\"%.*s\" is no kind of event; expected all, none "
			    "or some of " EVENT_KIND_NAMES,
			    n < 80 ? (int)n : 80, s);
	}
	return store(c, o, &kinds, sizeof(kinds));
}

int
config_set(struct config *c, const struct config_option *o, const char *value,
    bool from_env, char *why, size_t why_size)
{
	switch (o->type) {
	case OPT_UINT:
	case OPT_SECONDS:
		return set_number(c, o, value, from_env, why, why_size);
	case OPT_BOOL:
	case OPT_OPT_OUT:
		return set_bool(c, o, value, from_env, why, why_size);
	case OPT_DIR:
	case OPT_PATHS:
		return set_path(c, o, value, why, why_size);
	case OPT_KINDS:
		return set_kinds(c, o, value, why, why_size);
	case OPT_NAMES:
		return set_names(c, o, value, why, why_size);
	case OPT_CGROUP:
	case OPT_ACTION:
	case OPT_STDIN:
	case OPT_ADMIN:
	case OPT_LOG_LEVEL:
	case OPT_LOG_FORMAT:
	case OPT_BOX_MODE:
	case OPT_BOX_OF:
	case OPT_BOX_ACCESS:
	case OPT_BOX_NETWORK:
	case OPT_BOX_BACKEND:
	case OPT_BOX_ENGINE:
	case OPT_ASK:
		return set_word(c, o, value, why, why_size);
	case OPT_SIZE:
		return set_size(c, o, value, why, why_size);
	case OPT_TEXT:
	case OPT_NAME:
	case OPT_HOME:
	case OPT_BIND:
	case OPT_VARIABLE:
	case OPT_SCOPES:
		return config_set_list(c, o, value, why, why_size);
	case OPT_HASH:
		return set_hash(c, o, value, why, why_size);
	case OPT_GROUP:
		return set_group(c, o, value, why, why_size);
	case OPT_PERCENT:
		return set_percent(c, o, value, why, why_size);
	}
	UNREACHABLE();
}
