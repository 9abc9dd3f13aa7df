/* SPDX-License-Identifier: MIT */
/*
 * What the rows of proto.def say of types, for clients in other languages: one
 * walker, and a printer for each language that hears of it in this order.
 *
 *   shapes   the groups of details, the row of list and wait; of each method
 *            its parameters and its answer; the notifications of the server
 *   tables   methods, errors
 */
#ifndef PSUP_GENDOC_TYPES_H
#define PSUP_GENDOC_TYPES_H

#include "common/proto.h"

enum types_shape {
	TYPES_GROUP,  /* fields of details; all of them may be absent */
	TYPES_ROW,    /* of list and wait: groups, as `type` of its fields */
	TYPES_PARAMS, /* of a method */
	TYPES_ANSWER, /* of a method */
	TYPES_NOTE    /* a notification */
};

struct types_field {
	const char *name;
	/*
	 * Words of the table, alternatives apart by |: str, int, number, bool,
	 * bin, nil, map, "map of str", "array of int", ... and of this walker:
	 * data (str or bin), "map of data", stream, signal, stdin, "array of
	 * rows", "array of events", details (of the method).
	 */
	const char *type;
	bool optional;
	const char *doc; /* its first sentence, without the full stop */
	/* NULL but in TYPES_PARAMS */
	const struct proto_param *param;
};

/* A member that is NULL is not told. */
struct types_printer {
	const char *language;
	void (*begin)(void);
	/* method: of params and answers; name: of groups and notifications */
	void (*shape)(enum types_shape shape, enum proto_method m,
	    const char *name, const char *doc);
	void (*field)(const struct types_field *f);
	/* A group that the shape's details may have, or that the row has. */
	void (*group)(const char *name);
	void (*shape_end)(void);
	void (*end)(void);
};
extern const struct types_printer types_ts, types_js, types_py;

/* The words of a language for a type, {the walker's, its own}; with `between`
 * among alternatives. */
void types_print(const char *const (*words)[2], size_t count,
    const char *type, const char *between);
/* A parameter's type, but for nil, in words of the walker. */
const char *types_of_param(const struct proto_param *row);
/* Does a model that gives an empty list or 0 mean nothing by it? */
bool types_need_more(const struct proto_param *row);
/* What was said and what was meant, where to ignore it would do the wrong
 * thing: from *at on. False: there are no more. */
bool types_slip(size_t *at, const char **ret_said, const char **ret_meant);

/* "send-keys" as SendKeys. */
const char *types_camel(const char *name);

#endif
