/* SPDX-License-Identifier: MIT */
/*
 * Settings from psup.conf and the environment, by one table of options. Read
 * at start and at SIGHUP by keeper, master and workers alike. A file is taken
 * whole or not at all. In a file a value out of range is refused, because
 * somebody can mend the line; from the environment, which may be made for
 * another program, it is clamped.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "text.h"

#define FILE_MAX_BYTES (1u << 20)
#define LINE_MAX_BYTES 8192

enum option_type {
	OPT_UINT,
	OPT_SECONDS, /* as UINT; 0 and less mean the default */
	OPT_BOOL,
	OPT_OPT_OUT, /* as BOOL; from the environment only a no counts */
	OPT_DIR,     /* absolute path or empty */
	OPT_PATHS    /* absolute paths, colon-separated, or empty */
};

struct option {
	const char *section, *name;
	enum option_type type;
	size_t offset, size;
	uint64_t dflt, min, max;
	uint64_t env_max; /* 0: max */
	const char *env[3];
};

#define AT(field)                                                              \
	offsetof(struct config, field), sizeof(((struct config *)NULL)->field)
#define ANY (UINT64_C(1) << 50)

static const struct option options[] = {
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
	{ "exec", "grace_ms", OPT_UINT, AT(grace_ms), 5000, 0, 60000, 0,
	    { NULL } },
	{ "exec", "notify_on_exit", OPT_BOOL, AT(notify_on_exit), 1, 0, 1, 0,
	    { NULL } },
	{ "exec", "notify_on_exit_empty_success", OPT_BOOL,
	    AT(notify_on_exit_empty_success), 0, 0, 1, 0, { NULL } },
	{ "exec", "path_prepend", OPT_PATHS, AT(path_prepend), 0, 0, 0, 0,
	    { NULL } },
	{ "exec", "shell", OPT_DIR, AT(shell), 0, 0, 0, 0, { NULL } },
	{ "exec", "workdir", OPT_DIR, AT(workdir), 0, 0, 0, 0, { NULL } },
	{ "exec", "child_oom_score_adj", OPT_OPT_OUT, AT(child_oom_score_adj),
	    1, 0, 1, 0, { "OPENCLAW_CHILD_OOM_SCORE_ADJ" } },
	{ "retain", "finished", OPT_UINT, AT(finished), 0, 0, ANY, 0,
	    { "PSUP_FINISHED_MAX" } },
	{ "retain", "finished_bytes", OPT_UINT, AT(finished_bytes), 0, 0, ANY,
	    0, { "PSUP_FINISHED_BYTES" } },
	{ "retain", "events", OPT_UINT, AT(events), 10000, 1, 10000000, 0,
	    { NULL } },
	{ "server", "workers", OPT_UINT, AT(workers), 0, 0, 32, 0, { NULL } },
	{ "server", "output_budget", OPT_UINT, AT(output_budget), 0, 0, ANY,
	    0, { NULL } },
	{ "server", "frame_bytes", OPT_UINT, AT(frame_bytes), 4u << 20,
	    64u << 10, 64u << 20, 0, { NULL } },
	{ "server", "stdin_queue", OPT_UINT, AT(stdin_queue), 1u << 20, 4096,
	    1u << 30, 0, { NULL } },
	{ "server", "any_fs", OPT_BOOL, AT(any_fs), 0, 0, 1, 0, { NULL } },
};

/* A file being read: inih asks for lines and hands back what it found. */
struct reading {
	struct config config;
	const char *text, *end;
	unsigned line;
	bool failed;
	const char *path;
	char *why;
	size_t why_size;
};

/* Writes a sentence; -EINVAL, for callers that return it. */
__attribute__((format(printf, 3, 4))) static int
refuse(char *why, size_t why_size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (why_size > 0)
		(void)vsnprintf(why, why_size, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Digits with an optional sign, nothing else. What is too large for an int64
 * becomes the largest. */
static bool
parse_number(const char *s, int64_t *ret)
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

/* The words for yes and no. */
static bool
parse_bool(const char *s, bool *ret)
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

/* UINT and SECONDS. */
static int
set_number(struct config *c, const struct option *o, const char *value,
    bool clamp, char *why, size_t why_size)
{
	int64_t max = (int64_t)(clamp && o->env_max > 0 ? o->env_max : o->max);
	int64_t min = (int64_t)o->min, v;
	uint64_t stored;

	if (!parse_number(value, &v))
		return refuse(why, why_size, "\"%.80s\" is no number; expected "
		    "%lld to %lld", value, (long long)min, (long long)max);
	if (o->type == OPT_SECONDS && v <= 0)
		v = (int64_t)o->dflt;
	if (!clamp && (v < min || v > max))
		return refuse(why, why_size, "%lld is out of range; expected "
		    "%lld to %lld", (long long)v, (long long)min,
		    (long long)max);
	v = v < min ? min : v > max ? max : v;
	stored = (uint64_t)v;
	CHECK(o->size == sizeof(stored));
	memcpy((char *)c + o->offset, &stored, sizeof(stored));
	return 0;
}

/* BOOL and OPT_OUT. */
static int
set_bool(struct config *c, const struct option *o, const char *value,
    bool from_env, char *why, size_t why_size)
{
	bool v;

	CHECK(o->size == sizeof(v));
	if (!parse_bool(value, &v)) {
		if (from_env && o->type == OPT_OPT_OUT)
			return 0;
		return refuse(why, why_size, "\"%.80s\" is neither yes nor no; "
		    "expected true, false, yes, no, on, off, 1 or 0", value);
	}
	if (v && from_env && o->type == OPT_OPT_OUT)
		return 0;
	memcpy((char *)c + o->offset, &v, sizeof(v));
	return 0;
}

/* DIR and PATHS. */
static int
set_path(struct config *c, const struct option *o, const char *value,
    char *why, size_t why_size)
{
	size_t len = strlen(value);
	const char *s;

	if (len >= o->size)
		return refuse(why, why_size, "%zu bytes; expected at most %zu",
		    len, o->size - 1);
	for (s = value; *s != '\0'; s++) {
		bool first = s == value ||
		    (o->type == OPT_PATHS && s[-1] == ':');

		if ((unsigned char)*s < 0x20 || *s == 0x7f ||
		    (first && *s != '/'))
			return refuse(why, why_size, "\"%.80s\" is no absolute "
			    "path; expected a / at its beginning and no "
			    "control characters", value);
	}
	if (o->type == OPT_PATHS && len > 0 && value[len - 1] == ':')
		return refuse(why, why_size, "\"%.80s\" ends in an empty path",
		    value);
	memcpy((char *)c + o->offset, value, len + 1);
	return 0;
}

/* One value into its place. */
static int
set_option(struct config *c, const struct option *o, const char *value,
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
	}
	UNREACHABLE();
}

/* The lane of that name, made where there is none; NULL: no room. */
static struct config_lane *
get_lane(struct config *c, const char *name, size_t len)
{
	struct config_lane *lane;
	uint32_t i;

	for (i = 0; i < c->lane_count; i++) {
		if (strlen(c->lanes[i].name) == len &&
		    memcmp(c->lanes[i].name, name, len) == 0)
			return &c->lanes[i];
	}
	if (c->lane_count == CONFIG_LANES)
		return NULL;
	lane = &c->lanes[c->lane_count++];
	memset(lane, 0, sizeof(*lane));
	memcpy(lane->name, name, len);
	lane->width = 1;
	lane->queue = 100000;
	return lane;
}

void
config_defaults(struct config *ret)
{
	size_t i;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < NELEMS(options); i++) {
		const struct option *o = &options[i];
		bool on = o->dflt != 0;

		if (o->type == OPT_UINT || o->type == OPT_SECONDS)
			memcpy((char *)ret + o->offset, &o->dflt,
			    sizeof(o->dflt));
		else if (o->type == OPT_BOOL || o->type == OPT_OPT_OUT)
			memcpy((char *)ret + o->offset, &on, sizeof(on));
	}
	get_lane(ret, "main", 4)->width = 1;
	get_lane(ret, "subagent", 8)->width = 8;
}

/* The name within `lane "name"`; NULL where it is no lane's section. */
static const char *
lane_name(const char *section, size_t *ret_len)
{
	size_t len = strlen(section), i;
	const char *name = section + 6;

	if (len < 8 || strncmp(section, "lane \"", 6) != 0 ||
	    section[len - 1] != '"')
		return NULL;
	len -= 7;
	for (i = 0; i < len; i++) {
		if (name[i] <= ' ' || name[i] > '~' || name[i] == '"')
			return NULL;
	}
	if (len == 0 || len >= sizeof(((struct config_lane *)NULL)->name))
		return NULL;
	*ret_len = len;
	return name;
}

/* width or queue of a lane. */
static int
set_lane(struct config *c, const char *section, const char *name,
    const char *value, char *why, size_t why_size)
{
	static const struct {
		const char *name;
		int64_t min, max;
	} keys[] = { { "width", 1, 100000 }, { "queue", 0, 10000000 } };
	struct config_lane *lane;
	const char *text;
	size_t len, i;
	int64_t v;

	text = lane_name(section, &len);
	if (text == NULL)
		return refuse(why, why_size, "no such section; expected exec, "
		    "retain, server, or lane \"NAME\" with a name of 1 to 31 "
		    "printable characters without blanks and quotes");
	for (i = 0; i < NELEMS(keys) && strcmp(keys[i].name, name) != 0; i++)
		;
	if (i == NELEMS(keys))
		return refuse(why, why_size,
		    "no such setting; expected width or queue");
	if (!parse_number(value, &v) || v < keys[i].min || v > keys[i].max)
		return refuse(why, why_size, "\"%.80s\" is no number from %lld "
		    "to %lld", value, (long long)keys[i].min,
		    (long long)keys[i].max);
	lane = get_lane(c, text, len);
	if (lane == NULL)
		return refuse(why, why_size, "more than %d lanes",
		    CONFIG_LANES);
	if (i == 0)
		lane->width = (uint32_t)v;
	else
		lane->queue = (uint32_t)v;
	return 0;
}

/* Notes the first thing wrong in a file: "path:line: section.key: reason". */
static void
fail(struct reading *r, const char *section, const char *name,
    const char *reason)
{
	char raw[600];

	if (r->failed)
		return;
	r->failed = true;
	(void)snprintf(raw, sizeof(raw), "%.200s:%u: %.60s%s%.60s%s%s",
	    r->path, r->line, section, section[0] != '\0' ? "." : "", name,
	    name[0] != '\0' ? ": " : "", reason);
	(void)text_escape(raw, strlen(raw), false, r->why, r->why_size);
}

/* inih's handler: one name and value. */
static int
handle(void *arg, const char *section, const char *name, const char *value)
{
	struct reading *r = arg;
	char reason[300] = "no such setting";
	bool known = false;
	size_t i;
	int error = -EINVAL;

	if (r->failed)
		return 0;
	for (i = 0; i < NELEMS(options); i++) {
		if (strcmp(options[i].section, section) != 0)
			continue;
		known = true;
		if (strcmp(options[i].name, name) == 0)
			break;
	}
	if (i < NELEMS(options))
		error = set_option(&r->config, &options[i], value, false,
		    reason, sizeof(reason));
	else if (!known)
		error = set_lane(&r->config, section, name, value, reason,
		    sizeof(reason));
	if (error < 0)
		fail(r, section, name, reason);
	return error == 0;
}

/* inih's reader: the next line, whole or not at all. inih would cut a long one
 * into two, and end one at a NUL. */
static char *
next_line(char *str, int num, void *stream)
{
	struct reading *r = stream;
	const char *newline;
	size_t len;

	if (r->failed || r->text == r->end)
		return NULL;
	r->line++;
	newline = memchr(r->text, '\n', (size_t)(r->end - r->text));
	len = (size_t)((newline != NULL ? newline + 1 : r->end) - r->text);
	if (len + 1 > (size_t)num || memchr(r->text, 0, len) != NULL) {
		fail(r, "", "", len + 1 > (size_t)num ?
		    "a line of more than 8000 bytes" : "a NUL byte");
		return NULL;
	}
	memcpy(str, r->text, len);
	str[len] = '\0';
	r->text += len;
	return str;
}

/* The whole file, NUL-terminated; the caller frees it. */
static int
read_text(const char *path, char **ret_text, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char *text;
	size_t len = 0;
	ssize_t n = 0;
	int error;

	if (fd < 0)
		return -errno;
	text = malloc(FILE_MAX_BYTES + 1);
	while (text != NULL && len <= FILE_MAX_BYTES) {
		n = read(fd, text + len, FILE_MAX_BYTES + 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	error = text == NULL ? -ENOMEM : n < 0 ? -errno :
	    len > FILE_MAX_BYTES ? -EFBIG : 0;
	close(fd);
	if (error < 0) {
		free(text);
		return error;
	}
	*ret_text = text;
	*ret_len = len;
	return 0;
}

int
config_read_file(struct config *c, const char *path, char *why,
    size_t why_size)
{
	struct reading *r = calloc(1, sizeof(*r));
	char *text = NULL;
	size_t len = 0;
	int error = r == NULL ? -ENOMEM : read_text(path, &text, &len);

	if (error < 0) {
		(void)refuse(why, why_size, "%s: %s", path, strerror(-error));
		free(r);
		return error;
	}
	r->config = *c;
	r->text = text;
	r->end = text + len;
	r->path = path;
	r->why = why;
	r->why_size = why_size;
	ini_use_stack = false;
	ini_initial_alloc = LINE_MAX_BYTES;
	ini_max_line = LINE_MAX_BYTES;
	ini_allow_multiline = false;
	ini_stop_on_first_error = true;
	error = ini_parse_stream(next_line, r, handle, r);
	if (error == -2) {
		(void)refuse(why, why_size, "%s: out of memory", path);
		error = -ENOMEM;
	} else if (error != 0 || r->failed) {
		fail(r, "", "", "expected [section], name = value, or a "
		    "comment after ;");
		error = -EINVAL;
	}
	if (error == 0)
		*c = r->config;
	free(text);
	free(r);
	return error;
}

int
config_read_env(struct config *c, char *why, size_t why_size)
{
	char reason[300], raw[400];
	struct config copy = *c;
	const char *value;
	size_t i, k;

	for (i = 0; i < NELEMS(options); i++) {
		for (k = 0; k < NELEMS(options[i].env); k++) {
			const char *name = options[i].env[k];

			value = name != NULL ? getenv(name) : NULL;
			if (value == NULL || value[0] == '\0')
				continue;
			if (set_option(&copy, &options[i], value, true, reason,
			    sizeof(reason)) == 0)
				break; /* the first family that is set */
			(void)snprintf(raw, sizeof(raw), "%s: %s", name,
			    reason);
			(void)text_escape(raw, strlen(raw), false, why,
			    why_size);
			return -EINVAL;
		}
	}
	*c = copy;
	return 0;
}

void
config_default_path(char *ret_path, size_t size)
{
	static const struct {
		const char *env, *suffix;
	} places[] = {
		{ "PSUP_CONFIG", "" },
		{ "XDG_CONFIG_HOME", "/psup/psup.conf" },
		{ "HOME", "/.config/psup/psup.conf" },
		{ NULL, "/etc/psup/psup.conf" },
	};
	char path[1024];
	size_t i;
	int n;

	CHECK(size > 0);
	ret_path[0] = '\0';
	for (i = 0; i < NELEMS(places); i++) {
		const char *base =
		    places[i].env != NULL ? getenv(places[i].env) : "";

		if (base == NULL || (places[i].env != NULL && base[0] == 0))
			continue;
		n = snprintf(path, sizeof(path), "%s%s", base,
		    places[i].suffix);
		if (n < 0 || (size_t)n >= sizeof(path) || (size_t)n >= size)
			continue;
		/* A file that somebody named is taken even where it is not
		 * there: reading it then says so. */
		if (i > 0 && access(path, R_OK) != 0)
			continue;
		memcpy(ret_path, path, (size_t)n + 1);
		return;
	}
}
