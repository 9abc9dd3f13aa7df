/* SPDX-License-Identifier: MIT */
/* What psup.conf says of single scopes. Called by config.c for
 * sections that begin with `scope "`. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "config_lane.h"
#include "config_options.h"
#include "text.h"

#define PREFIX "scope \""

bool
config_is_scope(const char *section)
{
	return strncmp(section, PREFIX, sizeof(PREFIX) - 1) == 0;
}

static int
set_box(struct config_scope *scope, const char *value, char why[CONFIG_WHY])
{
	bool yes;

	if (strcasecmp(value, "required") == 0)
		scope->box = CONFIG_SCOPE_BOX_REQUIRED;
	else if (config_parse_bool(value, &yes))
		scope->box = yes ? CONFIG_SCOPE_BOX_YES : CONFIG_SCOPE_BOX_NO;
	else
		return config_refuse(why, "\"%.80s\" is no choice; expected "
		    "yes, no or required", value);
	return 0;
}

static int
set_directory(struct config *c, const struct config_scope *scope,
    const char *value, char why[CONFIG_WHY])
{
	char path[sizeof(c->sandbox.directory)];
	char line[sizeof(scope->name) + sizeof(path)];

	if (config_set_home(path, sizeof(path), value, why) < 0)
		return -EINVAL;
	(void)snprintf(line, sizeof(line), "%s\"%s", scope->name, path);
	return config_add_line(c->directories, sizeof(c->directories), line,
	    strlen(scope->name) + 1, why);
}

int
config_set_scope(struct config *c, const char *section, const char *name,
    const char *value, char why[CONFIG_WHY])
{
	const char *text = section + sizeof(PREFIX) - 1;
	size_t len = strlen(text);
	struct config_scope *scope;
	int64_t v;

	if (len < 2 || text[len - 1] != '"' || len > sizeof(scope->name) ||
	    memchr(text, '"', len - 1) != NULL ||
	    !text_is_printable(text, len - 1))
		return config_refuse(why, "no such section; expected scope "
		    "\"NAME\" with a name of 1 to 47 bytes without control "
		    "characters and quotes");
	scope = config_row(c->scopes, sizeof(*scope), &c->scope_count,
	    CONFIG_SCOPES, text, len - 1);
	if (scope == NULL)
		return config_refuse(why, "more than %d scopes", CONFIG_SCOPES);
	if (strcmp(name, "sandbox") == 0)
		return set_box(scope, value, why);
	if (strcmp(name, "directory") == 0)
		return set_directory(c, scope, value, why);
	if (strcmp(name, "max_running") != 0)
		return config_refuse(why, "no such setting; expected "
		    "max_running, sandbox or directory");
	if (!config_parse_number(value, &v) || v < 0 || v > 1000000)
		return config_refuse(why, "\"%.80s\" is no number from 0 to "
		    "1000000", value);
	scope->bounded = true;
	scope->max_running = (uint64_t)v;
	return 0;
}
