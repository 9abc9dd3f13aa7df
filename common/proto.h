/* SPDX-License-Identifier: MIT */
/*
 * The wire, from one table (proto.def): methods, their parameters with types
 * and ranges, result fields, notifications, error codes. The server's checks,
 * libpsup's checks before sending and docs/protocol.md all come from its rows.
 *
 * MessagePack-RPC on a Unix stream socket. A request is [0, msgid, method,
 * params], an answer [1, msgid, error, result], a notification [2, method,
 * params]. params is a map, or an array that holds one map (what existing
 * clients send), or an empty array. psup's own notifications carry an array
 * with one map.
 */
#ifndef PSUP_PROTO_H
#define PSUP_PROTO_H

#include "codec.h"

#define PROTO_VERSION 1

enum proto_method {
#define METHOD(id, name, kind, repeat, doc) PROTO_##id,
#include "proto.def"
	PROTO_METHOD_COUNT
};

/* Who may call: anybody after the socket's uid check, or admins only. */
enum proto_kind { PROTO_TOOL, PROTO_ACTION, PROTO_SYSTEM, PROTO_ADMIN };

enum proto_error {
#define ERRCODE(id, name, doc) PROTO_E_##id,
#include "proto.def"
	PROTO_ERROR_COUNT
};

enum proto_type {
	PT_STR,     /* UTF-8, no NUL; min..max: bytes */
	PT_DATA,    /* str or bin, any bytes; min..max: bytes */
	PT_INT,     /* integer, min..max (a double with no fraction is taken) */
	PT_NUM,     /* seconds: integer or double, min..max */
	PT_BOOL,
	PT_STRMAP,  /* map of str to str without NUL; min..max: pairs */
	PT_STRLIST, /* array of str without NUL; min..max: items */
	PT_OBJECT,  /* map; its handler looks closer */
	PT_STDIN,   /* "open", "closed" or {text: str} */
	PT_STREAM,  /* a boolean, or "tail" */
	PT_SIGNAL   /* a signal's name (str), or its number, min..max */
};

struct proto_param {
	enum proto_method method;
	const char *name;
	enum proto_type type;
	bool required;
	bool nullable;     /* nil is taken as a value of its own */
	bool clamp;        /* out of range: moved into it, not refused */
	bool any_bytes;    /* STRMAP: values need not be UTF-8, bin is taken */
	bool secret;       /* no complaint shows the value */
	bool printable;    /* STR, STRMAP: no control characters */
	bool program;      /* a program sets it, not a model */
	double min, max;
	const char *dflt;  /* as text, for the docs */
	const char *doc;
};
extern const struct proto_param proto_params[];
extern const size_t proto_param_count;
/* The words that a parameter is one of, "a|b|c", or NULL; and as a sentence has
 * them: "a, b or c". */
const char *proto_words(const struct proto_param *row);
void proto_words_list(const char *words, char *dst, size_t size);

struct proto_field {
	enum proto_method method;
	const char *name, *type, *doc;
};
extern const struct proto_field proto_fields[];
extern const size_t proto_field_count;

/* Fields of `details`: what answers of a method, and rows of list, may have. */
struct proto_detail {
	const char *group, *name, *type, *doc;
};
extern const struct proto_detail proto_details[];
extern const size_t proto_detail_count;
/* Is it among those of the method's answers; of a row? */
bool proto_detail_of(const struct proto_detail *d, enum proto_method m);
bool proto_detail_of_row(const struct proto_detail *d);

/* How models call: rows of tools (tools/calls). */
struct proto_action {
	const char *tool;
	enum proto_method method;
};
extern const struct proto_action proto_actions[];
extern const size_t proto_action_count;

struct proto_extra {
	const char *tool, *name;
	enum proto_type type;
	const char *as; /* the parameter it stands for, or "" */
	const char *doc;
};
extern const struct proto_extra proto_extras[];
extern const size_t proto_extra_count;

/* A parameter's name among those of a tool: its own, or another (RENAMED). */
const char *proto_tool_name(const struct proto_param *row);
/* The parameter of the method that somebody who wrote `name` may have meant,
 * or NULL. *ret_wrong (may be NULL): whoever ignored it would do the wrong
 * thing. */
const struct proto_param *proto_hint(enum proto_method m, const char *name,
    bool *ret_wrong);

const char *proto_method_name(enum proto_method m);
const char *proto_method_doc(enum proto_method m);
enum proto_kind proto_method_kind(enum proto_method m);
/* The rule of the table, as it stands there; and what it says of a call: may a
 * client whose answer was lost ask again? */
const char *proto_method_repeat(enum proto_method m);
bool proto_may_repeat(enum proto_method m, const struct val *params);
/* PROTO_METHOD_COUNT where there is none of that name. */
enum proto_method proto_method_find(const char *name, size_t len);
const char *proto_error_name(enum proto_error e);
const char *proto_error_doc(enum proto_error e);

/* Of a scope that uses up its share: of what, ... */
struct proto_share {
	const char *resource; /* static; NULL: it is about something else */
	uint64_t used, fair, limit;
};

/* What is wrong with a request, in words that name field, value and
 * expectation. */
struct proto_problem {
	enum proto_error code;
	char field[64];
	char value[80];    /* shown escaped and cut */
	char expected[160];
	char message[640]; /* the whole sentence */
	struct proto_share share;
};

/* execve's own limit of one argument or "KEY=value", its NUL not counted. */
#define PROTO_ARG_MAX 131071

/* The map within params, which is one or an array around one; an empty map
 * for nil or an empty array; NULL where it is anything else. */
const struct val *proto_params_map(const struct val *params);

/*
 * Checks params (as received, or its map) against the method's rows:
 * unknown name (with a hint for the usual slips: cwd, timeoutMs), missing,
 * wrong type, out of range, NUL or invalid UTF-8 in a PT_STR, more than 64
 * keys. A clamp is not applied here: read with proto_int(). Returns 0, or
 * -EINVAL with *ret filled.
 */
int proto_check(enum proto_method m, const struct val *params,
    struct proto_problem *ret);

/* The parameter as an integer, clamped where its row says so; `dflt` where
 * absent or nil. */
int64_t proto_int(enum proto_method m, const struct val *params,
    const char *name, int64_t dflt);

/* Appends the error object {code, message, field, value, expected, details}.
 * details of a share: {resource, used, fair, limit}. */
void proto_encode_problem(struct enc *e, const struct proto_problem *p);
/* Those four, into an open map. */
void proto_encode_share(struct enc *e, const struct proto_share *share);

/* Fills a problem for a method that is none: the message names all. */
void proto_problem_method(struct proto_problem *p, const char *name,
    size_t len);

/* Fills a problem for a value that is wrong in itself: names the field, the
 * value and what would be right. Returns -EINVAL. */
int proto_problem_value(struct proto_problem *p, enum proto_error code,
    const char *field, const struct val *v, const char *expected);

/* Fills a problem: message as printf. Returns -EINVAL. */
int proto_problem_set(struct proto_problem *p, enum proto_error code,
    const char *field, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
