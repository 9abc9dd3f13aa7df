/* SPDX-License-Identifier: MIT */
/* What can be said of exec's params by themselves: rules, and the command line
 * as people see it. */
#include "supervisor/api/exec_spec.h"

#include <errno.h>
#include <string.h>

#include "common/text.h"

/* timeout and timeoutSeconds are one parameter: they cannot differ. */
static bool
timeouts_differ(const struct val *params)
{
	double t = val_num(params, "timeout", -1);
	double sec = val_num(params, "timeoutSeconds", -1);

	return t >= 0 && sec >= 0 && (t < sec || t > sec);
}

/* A lane's name is shown to people and stands in psup.conf: no control bytes,
 * and none of those that UTF-8 has in two bytes. */
int
exec_check_lane(struct val_str name, struct proto_problem *why)
{
	for (size_t i = 0; i < name.len; i++) {
		unsigned char b = (unsigned char)name.ptr[i];
		bool two = b == 0xc2 && i + 1 < name.len &&
		    (unsigned char)name.ptr[i + 1] < 0xa0;

		if (b >= 0x20 && b != 0x7f && !two)
			continue;
		return proto_problem_set(why, PROTO_E_INVALID_PARAMS, "lane",
		    "lane: byte %zu is 0x%02x%s, a control character; "
		    "expected printable text of 1 to 31 bytes", i + 1, b,
		    two ? " and what follows it" : "");
	}
	return 0;
}

/* Rules about params alone. */
int
exec_check(const struct val *params, struct proto_problem *why)
{
	const struct val *cmd = val_get(params, "command");
	const struct val *argv = val_get(params, "argv");

	if (cmd != NULL && argv != NULL)
		return proto_problem_set(why, PROTO_E_INVALID_PARAMS, "command",
		    "command and argv exclude each other: give one");
	if (cmd == NULL && argv == NULL)
		return proto_problem_set(why, PROTO_E_INVALID_PARAMS, "command",
		    "command is required (or argv)");
	if (argv != NULL && argv->a.items[0].s.len == 0)
		return proto_problem_set(why, PROTO_E_INVALID_PARAMS, "argv",
		    "argv[0], the program, is empty");
	if (timeouts_differ(params))
		return proto_problem_set(why, PROTO_E_INVALID_PARAMS,
		    "timeoutSeconds",
		    "timeout and timeoutSeconds are the same parameter and "
		    "differ: give one");
	return exec_check_lane(val_str(params, "lane"), why);
}

/* The command line as shown, cut to 4096 bytes. */
void
exec_shown(const struct val *params, struct sbuf *b)
{
	struct val_str cmd = val_str(params, "command");
	const struct val *argv = val_get(params, "argv");

	if (cmd.ptr != NULL)
		sbuf_addn(b, cmd.ptr, text_cut_back(cmd.ptr, cmd.len, 4096));
	for (size_t i = 0; argv != NULL && i < argv->a.count; i++) {
		const struct val *a = &argv->a.items[i];
		bool quote = a->s.len == 0 ||
		    memchr(a->s.ptr, ' ', a->s.len) != NULL;

		if (i > 0)
			sbuf_add(b, " ");
		if (quote)
			sbuf_add(b, "'");
		sbuf_addn(b, a->s.ptr, text_cut_back(a->s.ptr, a->s.len, 1024));
		if (quote)
			sbuf_add(b, "'");
		if (b->len > 4000)
			break;
	}
}
