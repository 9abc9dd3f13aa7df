/* SPDX-License-Identifier: MIT */
/*
 * Tool calls as models make them: one flat object, in which they also fill what
 * an action does not use, leave null where they mean nothing, and write numbers
 * as text. From the rows of common/proto.def come the call that the wire takes,
 * and the schema that a model is shown. Does no I/O; the wire stays strict: what
 * cannot be bent is passed on as it is, and refused there with field, value and
 * expectation.
 */
#ifndef PSUP_TOOLS_CALL_H
#define PSUP_TOOLS_CALL_H

#include <jansson.h>

#include "common/proto.h"

struct toolcall {
	const char *tool;    /* "exec" or "process", static; NULL: neither */
	enum proto_method method; /* PROTO_METHOD_COUNT: none was found */
	json_t *params;      /* names and types of the wire */
	json_t *ignored;     /* names that nobody knows, fit to be shown */
};

/* What the method is called. */
#define toolcall_method(c) proto_method_name((c)->method)

/*
 * Reads a call of the tool: `args` is its object, without the tool's name, and
 * with `action` for process. 0; or -EINVAL, and *ret_why says what is wrong.
 * *ret is filled either way: end it with toolcall_fini().
 */
int toolcall_take(const char *tool, const json_t *args, struct toolcall *ret,
    struct proto_problem *ret_why);
void toolcall_fini(struct toolcall *c);

/* {text, details, isError}: the answer of the method, with what was ignored as
 * details.ignored and a last line of text. Takes the reference. */
json_t *toolcall_answer(const struct toolcall *c, json_t *answer);
/* The same of a call that the server did not answer, or not with a result:
 * details.error is the text, details.code ours. One of exec has what exec's
 * answers have; cwd: where it would have run ("" is unknown) unless it said. */
json_t *toolcall_failure(const struct toolcall *c, const char *cwd,
    const char *code, const char *field, const char *message);

/* JSON schemas: of the tool's arguments, flat; and of what `details` of its
 * answers may hold. A new reference. */
json_t *toolcall_schema(const char *tool);

/* ------------------------------------------------------------------ bend.c */

/* The value as the row wants it, a new reference; NULL: it counts as absent.
 * What cannot be bent comes back as it is. */
json_t *toolcall_bend(const struct proto_param *row, const json_t *v);
/* Is that action meant? sendKeys and send_keys are send-keys. */
bool toolcall_is_action(const char *said, const char *name);

#endif
