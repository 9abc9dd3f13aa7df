/* SPDX-License-Identifier: MIT */
/*
 * The rules of envpolicy.def, looked up by name. A deny-list is never
 * complete: the server's own environment passes an allow-list, this one is
 * the second net.
 */
#include "envpolicy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "check.h"
#include "text.h"

#define NAME_MAX_BYTES 64 /* longer than any row */

static const char *const blocked[] = {
#define ENV_BLOCKED(name) name,
#include "envpolicy.def"
};
static const char *const stripped[] = {
#define ENV_STRIPPED(name) name,
#include "envpolicy.def"
};
static const char *const inherited[] = {
#define ENV_INHERITED(name) name,
#include "envpolicy.def"
};
static const char *const blocked_prefixes[] = {
#define ENV_BLOCKED_PREFIX(prefix) prefix,
#include "envpolicy.def"
};
static const char *const inherited_prefixes[] = {
#define ENV_INHERITED_PREFIX(prefix) prefix,
#include "envpolicy.def"
};

static const char *const basic[] = { "HOME", "LANG", "LOGNAME", "PATH",
	"SHELL", "TERM", "TMPDIR", "TZ", "USER", "XDG_RUNTIME_DIR" };
static const char *const basic_prefixes[] = { "LC_" };

/* bsearch's comparison of a name with a row. */
static int
compare_row(const void *key, const void *row)
{
	return strcmp(key, *(const char *const *)row);
}

/* Is it in a sorted list? */
static bool
is_listed(const char *name, const char *const *list, size_t count)
{
	return bsearch(name, list, count, sizeof(*list), compare_row) != NULL;
}

/* Does it begin as one of these? */
static bool
has_prefix(const char *name, const char *const *list, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (strncmp(name, list[i], strlen(list[i])) == 0)
			return true;
	}
	return false;
}

#define LISTED(name, list)   is_listed(name, list, NELEMS(list))
#define PREFIXED(name, list) has_prefix(name, list, NELEMS(list))

/* In upper case, cut to what any row could match. */
static void
normalise(const char *key, size_t len, char ret_name[NAME_MAX_BYTES])
{
	size_t i;

	for (i = 0; i < len && i < NAME_MAX_BYTES - 1; i++)
		ret_name[i] = (char)(key[i] >= 'a' && key[i] <= 'z' ?
		    key[i] - 'a' + 'A' : key[i]);
	ret_name[i] = '\0';
}

/* [A-Za-z_][A-Za-z0-9_]* */
bool
env_is_portable(const char *key, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		char c = key[i];

		if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		    c == '_' || (i > 0 && c >= '0' && c <= '9')))
			return false;
	}
	return len > 0;
}

bool
env_is_named(const char *key, size_t len, const char *names)
{
	size_t n;

	for (names += strspn(names, " "); *names != '\0';
	     names += n, names += strspn(names, " ")) {
		n = strcspn(names, " ");
		if (names[n - 1] == '*' ? len >= n - 1 &&
			strncasecmp(key, names, n - 1) == 0 :
			len == n && strncasecmp(key, names, n) == 0)
			return true;
	}
	return false;
}

bool
env_may_inherit(const char *key, size_t len)
{
	char name[NAME_MAX_BYTES];

	if (len == 0 || memchr(key, '=', len) != NULL ||
	    memchr(key, 0, len) != NULL)
		return false;
	normalise(key, len, name);
	return !LISTED(name, blocked) && !LISTED(name, stripped) &&
	    !PREFIXED(name, blocked_prefixes);
}

int
env_may_set(const char *key, size_t len, char *why, size_t why_size)
{
	char name[NAME_MAX_BYTES], shown[100];

	(void)text_escape(key, len, false, shown, sizeof(shown));
	if (!env_is_portable(key, len)) {
		(void)snprintf(why, why_size, "Environment variable \"%s\" has "
		    "no portable name; expected letters, digits and _, no "
		    "digit first.", shown);
		return -EINVAL;
	}
	normalise(key, len, name);
	if (strcmp(name, "PATH") == 0) {
		(void)snprintf(why, why_size, "Security violation: a custom "
		    "\"%s\" is forbidden; path_prepend in psup.conf adds "
		    "directories.", shown);
		return -EPERM;
	}
	if (LISTED(name, blocked) || LISTED(name, stripped) ||
	    LISTED(name, inherited) || PREFIXED(name, blocked_prefixes) ||
	    PREFIXED(name, inherited_prefixes)) {
		(void)snprintf(why, why_size, "Security violation: environment "
		    "variable \"%s\" is forbidden, it changes what programs "
		    "do or where they connect.", shown);
		return -EPERM;
	}
	return 0;
}

bool
env_is_basic(const char *key, size_t len)
{
	char name[NAME_MAX_BYTES];

	if (len >= sizeof(name))
		return false;
	memcpy(name, key, len); /* case counts here */
	name[len] = '\0';
	return strlen(name) == len &&
	    (LISTED(name, basic) || PREFIXED(name, basic_prefixes));
}
