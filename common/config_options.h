/* SPDX-License-Identifier: MIT */
/* The table of options (config_options.c), and how a value gets into its place
 * (config_value.c, config_words.c, config_lists.c); for config.c. */
#ifndef PSUP_CONFIG_OPTIONS_H
#define PSUP_CONFIG_OPTIONS_H

#include "config.h"

#define CONFIG_ANY (UINT64_C(1) << 50) /* beyond what any setting may be */

enum config_type {
	OPT_UINT,
	OPT_SECONDS, /* as UINT; 0 and less mean the default */
	OPT_BOOL,
	OPT_OPT_OUT, /* as BOOL; from the environment only a no counts */
	OPT_DIR,     /* absolute path or empty */
	OPT_NAMES,   /* names of variables, space-separated, * at an end */
	OPT_PATHS,   /* absolute paths, colon-separated, or empty */
	OPT_KINDS,   /* names of event kinds, or all, or none */
	OPT_GROUP,   /* name or number of a group, or empty */
	OPT_HASH,    /* 64 hex digits, or empty */
	OPT_PERCENT, /* 0 to 100, up to two digits behind a point: hundredths */
	OPT_SIZE,    /* bytes, perhaps with k, m, g or t behind */
	OPT_TEXT,    /* printable, or empty */
	OPT_NAME,    /* letters, digits, and _ . - behind the first, or empty */
	OPT_HOME,    /* as DIR; ~/... is one, too; min 1: not empty */
	OPT_BIND,    /* a line more: HOST:INSIDE:ro or HOST:INSIDE:rw */
	OPT_VARIABLE, /* a line more: NAME=value */
	OPT_SCOPES,  /* names of scopes between commas */
	OPT_WORDS, /* from here on: a word of an enum */
	OPT_ACTION = OPT_WORDS,
	OPT_STDIN,
	OPT_ADMIN,
	OPT_CGROUP,
	OPT_LOG_LEVEL,
	OPT_LOG_FORMAT,
	OPT_BOX_MODE, /* these are in config_sandbox.h */
	OPT_BOX_OF,
	OPT_BOX_ACCESS,
	OPT_BOX_NETWORK,
	OPT_BOX_BACKEND,
	OPT_BOX_ENGINE,
	OPT_ASK
};

struct config_option {
	const char *section, *name;
	enum config_type type;
	size_t offset, size;
	uint64_t dflt, min, max;
	uint64_t env_max; /* 0: max */
	const char *env[3]; /* the first that is set counts */
};
extern const struct config_option config_options[];
extern const size_t config_option_count;

/* One value into its place; from the environment it is clamped. 0, or -EINVAL
 * and the reason. */
int config_set(struct config *c, const struct config_option *o,
    const char *value, bool from_env, char why[CONFIG_WHY]);

/* Of a type whose values are words: the word of this value; NULL: no such
 * type or value. */
const char *config_word(enum config_type type, uint64_t v);
/* One of them into its place. */
int config_set_word(struct config *c, const struct config_option *o,
    const char *value, char why[CONFIG_WHY]);

/* The words for yes and no. */
bool config_parse_bool(const char *s, bool *ret);
/* Digits with an optional sign and nothing else. What is too large for an
 * int64 becomes a very large one. */
bool config_parse_number(const char *s, int64_t *ret);
/* The same, or with a unit, where its name ends by one: what ends by Ms, Sec
 * and the like is a duration, Bytes and the like a size. */
bool config_parse_amount(const char *name, const char *s, int64_t *ret);

/* config_scope.c: is it a section `scope "NAME"`, and a value in it. */
bool config_is_scope(const char *section);
int config_set_scope(struct config *c, const char *section, const char *name,
    const char *value, char why[CONFIG_WHY]);

/* config_lists.c: values of the types that hold several, or text. */
int config_set_list(struct config *c, const struct config_option *o,
    const char *value, char why[CONFIG_WHY]);

/* One line more. `name` bytes of it are what it is called: an earlier line of
 * that name goes. 0 bytes: every line is another. */
int config_add_line(char *to, size_t size, const char *line, size_t name,
    char why[CONFIG_WHY]);
/* A path of HOME's type. */
int config_set_home(
    char *to, size_t size, const char *value, char why[CONFIG_WHY]);

/* Writes a sentence; -EINVAL, for callers that return it. */
int config_refuse(char why[CONFIG_WHY], const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
