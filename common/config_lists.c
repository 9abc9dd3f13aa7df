/* SPDX-License-Identifier: MIT */
/* Values that are text, or lists of which each line of the file adds one.
 * Called by config_value.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "config_options.h"
#include "envpolicy.h"
#include "text.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS	"0123456789"

int
config_add_line(char *to, size_t size, const char *line, size_t name,
    char why[CONFIG_WHY])
{
	size_t len = strlen(line), used;

	for (char *at = to; name > 0 && *at != '\0';) {
		char *next = at + strcspn(at, "\n") + 1;

		if (strncmp(at, line, name) == 0)
			memmove(at, next, strlen(next) + 1);
		else
			at = next;
	}
	used = strlen(to);
	if (used + len + 2 > size)
		return config_refuse(why, "%zu bytes with those before; "
		    "expected at most %zu for all", used + len + 1, size - 1);
	(void)snprintf(to + used, size - used, "%s\n", line);
	return 0;
}

static int
set_text(char *to, size_t size, const char *value, char why[CONFIG_WHY])
{
	size_t len = strlen(value);

	if (len >= size)
		return config_refuse(why, "%zu bytes; expected at most %zu",
		    len, size - 1);
	if (!text_is_printable(value, len))
		return config_refuse(why, "\"%.80s\" has a control character, "
		    "or is no UTF-8; expected printable text", value);
	memcpy(to, value, len + 1);
	return 0;
}

static int
set_name(char *to, size_t size, const char *value, char why[CONFIG_WHY])
{
	if (value[strspn(value, LETTERS DIGITS "_.-")] != '\0' ||
	    value[0] == '.' || value[0] == '-' || strlen(value) >= size)
		return config_refuse(why, "\"%.80s\" is no name; expected at "
		    "most %zu letters, digits, _, . and -, the last two not at "
		    "its beginning", value, size - 1);
	memcpy(to, value, strlen(value) + 1);
	return 0;
}

int
config_set_home(
    char *to, size_t size, const char *value, char why[CONFIG_WHY])
{
	const char *path = strncmp(value, "~/", 2) == 0 ? value + 1 : value;

	if (!box_path_plain(path) || path[strspn(path, "/")] == '\0')
		return config_refuse(why, "\"%.80s\"; expected an absolute "
		    "path or ~/..., without . and .., and not / itself", value);
	return set_text(to, size, value, why);
}

static int
set_bind(char *to, size_t size, const char *value, char why[CONFIG_WHY])
{
	struct box_bind bind;
	size_t n = 0;

	if (value[0] == '\0')
		return 0;
	if (box_bind_parse(value, &bind, why, CONFIG_WHY) < 0)
		return -EINVAL;
	for (const char *s = to; *s != '\0'; s++)
		n += *s == '\n';
	if (n == BOX_BINDS)
		return config_refuse(why, "there are %zu already; expected at "
		    "most %d", n, BOX_BINDS);
	return config_add_line(to, size, value, 0, why);
}

static int
set_variable(
    char *to, size_t size, const char *value, char why[CONFIG_WHY])
{
	const char *is = strchr(value, '=');

	if (value[0] == '\0')
		return 0;
	if (is == NULL || !text_is_printable(value, strlen(value)))
		return config_refuse(why, "\"%.80s\"; expected NAME=value in "
		    "printable text", value);
	/* PATH is refused to callers, not to who writes the file */
	if (((size_t)(is - value) != 4 || memcmp(value, "PATH", 4) != 0) &&
	    env_may_set(value, (size_t)(is - value), why, CONFIG_WHY) < 0)
		return -EINVAL;
	return config_add_line(
	    to, size, value, (size_t)(is - value) + 1, why);
}

/* All of them in one value, which goes before an earlier one. */
static int
set_scopes(char *to, size_t size, const char *value, char why[CONFIG_WHY])
{
	char name[48];

	to[0] = '\0';
	for (const char *s = value; *s != '\0';) {
		size_t len, n = strcspn(s, ",");

		for (len = n; len > 0 && s[len - 1] == ' ';)
			len--;
		if (len == 0 || len >= sizeof(name) ||
		    memchr(s, '"', len) != NULL || !text_is_printable(s, len))
			return config_refuse(why, "\"%.*s\" is no scope; "
			    "expected names of 1 to 47 bytes without control "
			    "characters and quotes, commas between them",
			    n < 80 ? (int)n : 80, s);
		memcpy(name, s, len);
		name[len] = '\0';
		if (config_add_line(to, size, name, 0, why) < 0)
			return -EINVAL;
		s += n + (s[n] == ',');
		s += strspn(s, " ");
	}
	return 0;
}

int
config_set_list(struct config *c, const struct config_option *o,
    const char *value, char why[CONFIG_WHY])
{
	char *to = (char *)c + o->offset;

	switch (o->type) {
	case OPT_TEXT:
		return set_text(to, o->size, value, why);
	case OPT_NAME:
		return set_name(to, o->size, value, why);
	case OPT_HOME:
		if (value[0] == '\0' && o->min == 0)
			return set_text(to, o->size, value, why);
		return config_set_home(to, o->size, value, why);
	case OPT_BIND:
		return set_bind(to, o->size, value, why);
	case OPT_VARIABLE:
		return set_variable(to, o->size, value, why);
	case OPT_SCOPES:
		return set_scopes(to, o->size, value, why);
	default:
		UNREACHABLE();
	}
}
