/* SPDX-License-Identifier: MIT */
/* See box_policy.h. */
#include "box_policy.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "config_options.h"
#include "format.h"

static const char *const host_words[BOX_HOSTS] = {
    "auto", "gateway", "sandbox", "node"};
static const char *const ask_words[BOX_ASKS] = {
    "", "off", "on-miss", "always"};
static const char *const security_words[BOX_SECURITIES] = {
    "", "full", "allowlist", "deny"};

/* Of the hosts that exec may ask for. */
static const char *const granted_words[] = {
    [HOST_GATEWAY] = "gateway", [HOST_SANDBOX] = "sandbox"};

const char *
box_granted_word(const struct box_answer *a)
{
	return a->verdict == BOX_GRANTED ? granted_words[a->host] : "none";
}

static int
find(const char *const *words, size_t n, const char *word, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(words[i]) == len && len > 0 &&
		    strncasecmp(words[i], word, len) == 0)
			return (int)i;
	return -1;
}

int
box_host_of(const char *word, size_t len)
{
	return find(host_words, BOX_HOSTS, word, len);
}

int
box_ask_of(const char *word, size_t len)
{
	return find(ask_words, BOX_ASKS, word, len);
}

int
box_security_of(const char *word, size_t len)
{
	return find(security_words, BOX_SECURITIES, word, len);
}

__attribute__((format(printf, 4, 5))) static void
refuse(struct box_answer *ret, enum box_verdict verdict, const char *field,
    const char *fmt, ...)
{
	ret->verdict = verdict;
	ret->field = field;
	(void)FORMATTED(ret->text, sizeof(ret->text), fmt);
}

/* Who calls, for a sentence. */
static const char *
caller(const struct box_call *call, char ret[64])
{
	if (call->scope[0] == '\0')
		return "a call without scope";
	(void)snprintf(ret, 64, "scope %s", call->scope);
	return ret;
}

/* Adds one more gate that is shut. */
__attribute__((format(printf, 3, 4))) static void
shut(char *text, size_t size, const char *fmt, ...)
{
	size_t n = strlen(text);

	(void)strlcpy(text + n, n > 0 ? "; " : "", size - n);
	n = strlen(text);
	(void)FORMATTED(text + n, size - n, fmt);
}

/* All gates that are shut at once: nobody is to find them one by one. */
static bool
gates_open(const struct config *c, const struct box_call *call,
    struct box_answer *ret)
{
	char text[400] = "", who[64];

	if (!c->elevated.enabled)
		shut(text, sizeof(text), "[elevated] enabled = no");
	if (!config_elevated_has(&c->elevated, call->scope))
		shut(text, sizeof(text), "%s is not in [elevated] scopes",
		    caller(call, who));
	if (config_scope_box(c, call->scope) == CONFIG_SCOPE_BOX_REQUIRED)
		shut(text, sizeof(text), "[scope \"%s\"] sandbox = required",
		    call->scope);
	if (text[0] != '\0')
		refuse(ret, BOX_FORBIDDEN, "elevated",
		    "elevated is not available: %s", text);
	return text[0] == '\0';
}

/* Does the call itself let nothing out, or only what a list allows that nobody
 * can write yet? */
static bool
denies_itself(const struct box_call *call, struct box_answer *ret)
{
	if (call->security == BOX_SECURITY_DENY)
		refuse(ret, BOX_FORBIDDEN, "security",
		    "elevated is refused by the call itself (security = deny)");
	else if (call->security == BOX_SECURITY_ALLOWLIST)
		refuse(ret, BOX_UNSUPPORTED, "security",
		    "elevated needs a list of what is allowed (security = "
		    "allowlist), and approvals are not built yet");
	return call->security >= BOX_SECURITY_ALLOWLIST;
}

/* Would a person have to be asked, whom nobody can ask yet? Without a list of
 * what is allowed everything is a miss. */
static bool
needs_person(const struct config *c, const struct box_call *call,
    struct box_answer *ret)
{
	if (call->ask >= BOX_ASK_ON_MISS) {
		refuse(ret, BOX_UNSUPPORTED, "ask",
		    "elevated needs an approval (ask = %s), and approvals are "
		    "not built yet",
		    ask_words[call->ask]);
		return true;
	}
	if (c->elevated.ask == CONFIG_ASK_POLICY)
		return false;
	refuse(ret, BOX_UNSUPPORTED, "elevated",
	    "elevated needs an approval ([elevated] ask = %s), and approvals "
	    "are not built yet",
	    config_word(OPT_ASK, c->elevated.ask));
	return true;
}

static void
elevate(const struct config *c, const struct box_call *call, bool boxed,
    struct box_answer *ret)
{
	char who[64];

	if (!boxed) {
		(void)snprintf(ret->text, sizeof(ret->text),
		    "elevated changes nothing: %s has no sandbox",
		    caller(call, who));
		return;
	}
	if (!gates_open(c, call, ret) || denies_itself(call, ret) ||
	    needs_person(c, call, ret))
		return;
	ret->left = true;
}

void
box_policy(const struct config *c, const char *unavailable,
    const struct box_call *call, struct box_answer *ret)
{
	bool covered = config_sandbox_covers(c, call->scope);
	bool boxed = covered || call->host == BOX_HOST_SANDBOX;
	char who[64], directory[CONFIG_DIRECTORY];

	memset(ret, 0, sizeof(*ret));
	if (call->host == BOX_HOST_NODE)
		refuse(ret, BOX_UNSUPPORTED, "host",
		    "host node is not built yet; use auto");
	else if (c->sandbox.mode == CONFIG_SANDBOX_UNKNOWN)
		refuse(ret, BOX_UNSUPPORTED, "host",
		    "no sandbox: psup.conf was refused, and it may have put "
		    "this scope into one; mend it (psupd --check says where) "
		    "and send psupd SIGHUP");
	else if (call->elevated)
		elevate(c, call, boxed, ret);
	else if (call->host == BOX_HOST_GATEWAY && covered)
		refuse(ret, BOX_FORBIDDEN, "host",
		    "host gateway: %s is in a sandbox ([sandbox] mode = %s); "
		    "expected auto or sandbox, or elevated where that is "
		    "allowed",
		    caller(call, who),
		    config_word(OPT_BOX_MODE, c->sandbox.mode));
	else if (boxed && c->sandbox.mode == CONFIG_SANDBOX_OFF)
		refuse(ret, BOX_UNSUPPORTED, "host",
		    "no sandbox: [sandbox] mode = off");
	else if (boxed && !config_directory(c, call->scope, directory))
		refuse(ret, BOX_UNSUPPORTED, "host",
		    "no sandbox: [sandbox] access = %s, and no directory is "
		    "named for %s; expected directory = PATH in [scope "
		    "\"NAME\"] or [sandbox]",
		    config_word(OPT_BOX_ACCESS, c->sandbox.access),
		    caller(call, who));
	else if (boxed && unavailable[0] != '\0')
		refuse(ret, BOX_UNSUPPORTED, "host", "%s", unavailable);
	else if (boxed)
		ret->host = HOST_SANDBOX;
}
