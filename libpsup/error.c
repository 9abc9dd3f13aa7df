/* SPDX-License-Identifier: MIT */
/*
 * The last failure of a handle, in words. Called by every other file of
 * libpsup; does no I/O.
 */
#include <stdio.h>
#include <string.h>

#include "common/format.h"
#include "internal.h"

/* Sets code, field and message, and returns rc. */
int
error_set(struct psup *p, int rc, const char *code, const char *field,
    const char *fmt, ...)
{
	snprintf(p->error.code_text, sizeof(p->error.code_text), "%s", code);
	snprintf(p->error.field, sizeof(p->error.field), "%s", field);
	(void)FORMATTED(p->error.message, sizeof(p->error.message), fmt);
	return rc;
}

/* A system call that failed. */
int
error_errno(struct psup *p, int errnum, const char *what)
{
	return error_set(p, PSUP_ERR_SYSTEM, "system", "", "%s: %s", what,
	    strerror(errnum));
}

/* What the check before sending found. */
int
error_problem(struct psup *p, const struct proto_problem *problem)
{
	return error_set(p, PSUP_ERR_REFUSED, proto_error_name(problem->code),
	    problem->field, "%s", problem->message);
}

/* The error slot of an answer: {code, message, field}, or a bare string. */
int
error_remote(struct psup *p, const struct val *error)
{
	char code[40], field[64], message[512];

	if (error->type == VAL_STR)
		return error_set(p, PSUP_ERR_REFUSED, "refused", "", "%.*s",
		    (int)(error->s.len > 500 ? 500 : error->s.len),
		    error->s.ptr);
	if (error->type != VAL_MAP)
		return error_set(p, PSUP_ERR_PROTOCOL, "bad-answer", "",
		    "the server's error is neither a map nor a string");
	val_copy(error, "code", code, sizeof(code));
	val_copy(error, "field", field, sizeof(field));
	val_copy(error, "message", message, sizeof(message));
	return error_set(p, PSUP_ERR_REFUSED, code[0] != '\0' ? code : "refused",
	    field, "%s", message[0] != '\0' ? message : "refused");
}

const char *
psup_error_code(const struct psup *p)
{
	return p->error.code_text;
}

const char *
psup_error_message(const struct psup *p)
{
	return p->error.message;
}

const char *
psup_error_field(const struct psup *p)
{
	return p->error.field;
}
