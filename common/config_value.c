/* SPDX-License-Identifier: MIT */
/*
 * How the text of a setting becomes its value, by the type of its row
 * (config_options.c). In a file a value out of range is refused, because
 * somebody can mend the line; from the environment, which may be made for
 * another program, it is clamped.
 */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "config_options.h"
#include "envpolicy.h"
#include "event_kind.h"
#include "format.h"
#include "option.h"

int
config_refuse(char why[CONFIG_WHY], const char *fmt, ...)
{
	(void)FORMATTED(why, CONFIG_WHY, fmt);
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
	if (v < 0 || v > (double)CONFIG_ANY || v - (double)(int64_t)v > 0)
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
    bool clamp, char why[CONFIG_WHY])
{
	int64_t max = (int64_t)(clamp && o->env_max > 0 ? o->env_max : o->max);
	int64_t min = (int64_t)o->min, v;
	uint64_t stored;

	/* the environment may be made for another program */
	if (clamp ? !config_parse_number(value, &v)
		  : !config_parse_amount(o->name, value, &v))
		return config_refuse(why, "\"%.80s\" is no number; expected "
		    "%lld to %lld", value, (long long)min, (long long)max);
	if (o->type == OPT_SECONDS && v <= 0)
		v = (int64_t)o->dflt;
	if (!clamp && (v < min || v > max))
		return config_refuse(why, "%lld is out of range; expected %lld "
		    "to %lld", (long long)v, (long long)min, (long long)max);
	v = v < min ? min : v > max ? max : v;
	stored = (uint64_t)v;
	return store(c, o, &stored, sizeof(stored));
}

/* BOOL and OPT_OUT. */
static int
set_bool(struct config *c, const struct config_option *o, const char *value,
    bool from_env, char why[CONFIG_WHY])
{
	bool v;

	if (!config_parse_bool(value, &v)) {
		if (from_env && o->type == OPT_OPT_OUT)
			return 0;
		return config_refuse(why, "\"%.80s\" is neither yes nor no; "
		    "expected true, false, yes, no, on, off, 1 or 0", value);
	}
	if (v && from_env && o->type == OPT_OPT_OUT)
		return 0;
	return store(c, o, &v, sizeof(v));
}

/* DIR and PATHS. */
static int
set_path(struct config *c, const struct config_option *o, const char *value,
    char why[CONFIG_WHY])
{
	size_t len = strlen(value);
	const char *s;

	if (len >= o->size)
		return config_refuse(why, "%zu bytes; expected at most %zu",
		    len, o->size - 1);
	for (s = value; *s != '\0'; s++) {
		bool first = s == value ||
		    (o->type == OPT_PATHS && s[-1] == ':');

		if ((unsigned char)*s < 0x20 || *s == 0x7f ||
		    (first && *s != '/'))
			return config_refuse(why, "\"%.80s\" is no absolute "
			    "path; expected a / at its beginning and no "
			    "control characters", value);
	}
	if (o->type == OPT_PATHS && len > 0 && value[len - 1] == ':')
		return config_refuse(why, "\"%.80s\" ends in an empty path",
		    value);
	memcpy((char *)c + o->offset, value, len + 1);
	return 0;
}

/* NAMES. */
static int
set_names(struct config *c, const struct config_option *o, const char *value,
    char why[CONFIG_WHY])
{
	const char *s = value;
	size_t n, k, len = strlen(value);

	if (len >= o->size)
		return config_refuse(why, "%zu bytes; expected at most %zu",
		    len, o->size - 1);
	for (s += strspn(s, " "); *s != '\0'; s += n, s += strspn(s, " ")) {
		n = strcspn(s, " ");
		k = s[n - 1] == '*' ? n - 1 : n;
		if (!env_is_portable(s, k))
			return config_refuse(why, "\"%.*s\" is no variable's "
			    "name; expected letters, digits and _, perhaps * "
			    "at the end, and spaces between names",
			    n < 80 ? (int)n : 80, s);
	}
	memcpy((char *)c + o->offset, value, len + 1);
	return 0;
}

/* HASH. */
static int
set_hash(struct config *c, const struct config_option *o, const char *value,
    char why[CONFIG_WHY])
{
	size_t len = strlen(value);

	if (len != 0 && (len != o->size - 1 ||
	    strspn(value, "0123456789abcdef") != len))
		return config_refuse(why, "\"%.80s\" is no SHA-256; expected "
		    "64 hex digits, as sha256sum prints them", value);
	memcpy((char *)c + o->offset, value, len + 1);
	return 0;
}

/* GROUP. */
static int
set_group(struct config *c, const struct config_option *o, const char *value,
    char why[CONFIG_WHY])
{
	const struct group *g;
	uint64_t gid = 0;
	int64_t v;

	if (config_parse_number(value, &v) && v > 0 && v < UINT32_MAX) {
		gid = (uint64_t)v;
	} else if (value[0] != '\0') {
		g = getgrnam(value);
		if (g == NULL || g->gr_gid == 0)
			return config_refuse(why, "\"%.80s\" is no group; "
			    "expected a name or number that is not root's",
			    value);
		gid = g->gr_gid;
	}
	return store(c, o, &gid, sizeof(gid));
}

/* PERCENT. */
static int
set_percent(struct config *c, const struct config_option *o, const char *value,
    char why[CONFIG_WHY])
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
		return config_refuse(why, "\"%.80s\" is no %s; expected 0 to "
		    "%u, with up to two digits behind a point", value,
		    o->max == 10000 ? "percentage" : "number", (unsigned)(o->max / 100));
	return store(c, o, &v, sizeof(v));
}

/* SIZE. */
static int
set_size(struct config *c, const struct config_option *o, const char *value,
    char why[CONFIG_WHY])
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
		return config_refuse(why, "\"%.80s\" is no size; expected "
		    "bytes, or a number with k, m, g or t", value);
	v = (uint64_t)n;
	for (const char *u = units; unit != NULL && u <= unit; u++)
		v = v > o->max ? v : v * 1024;
	if (v != 0 && (v < o->min || v > o->max))
		return config_refuse(why, "%s is out of range; expected %llu "
		    "to %llu bytes, or 0 for no bound", value,
		    (unsigned long long)o->min, (unsigned long long)o->max);
	return store(c, o, &v, sizeof(v));
}

/* KINDS: words between blanks or commas. */
static int
set_kinds(struct config *c, const struct config_option *o, const char *value,
    char why[CONFIG_WHY])
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
			return config_refuse(why, "\"%.*s\" is no kind of "
			    "event; expected all, none or some of "
			    EVENT_KIND_NAMES, n < 80 ? (int)n : 80, s);
	}
	return store(c, o, &kinds, sizeof(kinds));
}

int
config_set(struct config *c, const struct config_option *o, const char *value,
    bool from_env, char why[CONFIG_WHY])
{
	if (o->type >= OPT_WORDS)
		return config_set_word(c, o, value, why);
	switch (o->type) {
	case OPT_UINT:
	case OPT_SECONDS:
		return set_number(c, o, value, from_env, why);
	case OPT_BOOL:
	case OPT_OPT_OUT:
		return set_bool(c, o, value, from_env, why);
	case OPT_DIR:
	case OPT_PATHS:
		return set_path(c, o, value, why);
	case OPT_KINDS:
		return set_kinds(c, o, value, why);
	case OPT_NAMES:
		return set_names(c, o, value, why);
	case OPT_SIZE:
		return set_size(c, o, value, why);
	case OPT_HASH:
		return set_hash(c, o, value, why);
	case OPT_GROUP:
		return set_group(c, o, value, why);
	case OPT_PERCENT:
		return set_percent(c, o, value, why);
	default:
		return config_set_list(c, o, value, why);
	}
}
