/* SPDX-License-Identifier: MIT */
/* host, elevated and ask of an exec: what common/box_policy.h makes of them. */
#include "supervisor/api/exec_host.h"

#include <errno.h>

/* A param that is one of some words; `absent` where it is not given. -1, and
 * *why. */
static int
word_of(const struct val *params, const char *name,
    int (*find)(const char *word, size_t len), int absent,
    const char *expected, struct proto_problem *why)
{
	const struct val *v = val_get(params, name);
	struct val_str word = val_str(params, name);
	int n = word.ptr != NULL ? find(word.ptr, word.len) : absent;

	if (n < 0)
		proto_problem_value(why, PROTO_E_INVALID_PARAMS, name, v,
		    expected);
	return n;
}

int
exec_host(const struct config *cfg, const char *unavailable,
    const struct val *params, const char *scope, struct box_answer *ret,
    struct proto_problem *why)
{
	int host = word_of(params, "host", box_host_of, BOX_HOST_AUTO,
	    BOX_HOST_WORDS, why);
	bool elevated = val_bool(params, "elevated", false);
	/* without elevated these have no meaning yet, whatever they are */
	int ask = elevated ? word_of(params, "ask", box_ask_of, BOX_ASK_UNSAID,
				 BOX_ASK_WORDS, why) :
			     BOX_ASK_UNSAID;
	int security = elevated ? word_of(params, "security", box_security_of,
				      BOX_SECURITY_UNSAID, BOX_SECURITY_WORDS,
				      why) :
				  BOX_SECURITY_UNSAID;
	struct box_call call = {.host = (enum box_host)host,
	    .ask = (enum box_ask)ask,
	    .security = (enum box_security)security,
	    .elevated = elevated,
	    .scope = scope};

	if (host < 0 || ask < 0 || security < 0)
		return -EINVAL;
	box_policy(cfg, unavailable, &call, ret);
	if (ret->field == NULL)
		return 0;
	proto_problem_set(why,
	    ret->verdict == BOX_FORBIDDEN ? PROTO_E_FORBIDDEN :
					    PROTO_E_UNSUPPORTED,
	    ret->field, "%s", ret->text);
	return -ENOTSUP; /* which psup sandbox explain explains */
}
