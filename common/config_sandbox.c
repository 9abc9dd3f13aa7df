/* SPDX-License-Identifier: MIT */
/* See config_sandbox.h. Single values are read by config_value.c; what the
 * machine has to say, config_resolve.c asks. */
#include "config_sandbox.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "config_options.h"

bool
config_next_line(const char **at, char *ret, size_t size)
{
	while (**at != '\0') {
		size_t n = strcspn(*at, "\n");
		const char *line = *at;

		*at += n + (line[n] == '\n');
		if (n >= size)
			continue;
		memcpy(ret, line, n);
		ret[n] = '\0';
		return true;
	}
	return false;
}

bool
config_next_bind(const char **at, struct box_bind *ret)
{
	char line[2 * BOX_PATH_MAX + 4], why[256];

	while (config_next_line(at, line, sizeof(line)))
		if (box_bind_parse(line, ret, why, sizeof(why)) == 0)
			return true;
	return false;
}

enum config_scope_box
config_scope_box(const struct config *c, const char *scope)
{
	for (uint32_t i = 0; i < c->scope_count; i++)
		if (strcmp(c->scopes[i].name, scope) == 0)
			return (enum config_scope_box)c->scopes[i].box;
	return CONFIG_SCOPE_BOX_UNSAID;
}

bool
config_sandbox_covers(const struct config *c, const char *scope)
{
	switch ((enum config_sandbox_mode)c->sandbox.mode) {
	case CONFIG_SANDBOX_OFF:
		return false;
	case CONFIG_SANDBOX_NAMED:
		return config_scope_box(c, scope) >= CONFIG_SCOPE_BOX_YES;
	case CONFIG_SANDBOX_ALL:
	case CONFIG_SANDBOX_UNKNOWN:
		return true;
	}
	UNREACHABLE();
}

bool
config_elevated_has(const struct config_elevated *e, const char *scope)
{
	const char *at = e->scopes;
	char name[48];

	while (config_next_line(&at, name, sizeof(name)))
		if (strcmp(name, scope) == 0)
			return true;
	return false;
}

bool
config_next_directory(const char **at, struct config_directory *ret)
{
	char line[sizeof(*ret)];
	size_t n;

	if (!config_next_line(at, line, sizeof(line)))
		return false;
	n = strcspn(line, "\"");
	(void)snprintf(ret->scope, sizeof(ret->scope), "%.*s", (int)n, line);
	(void)strlcpy(ret->path, line + n + 1, sizeof(ret->path));
	return true;
}

bool
config_directory(const struct config *c, const char *scope,
    char ret[CONFIG_DIRECTORY])
{
	const struct config_sandbox *s = &c->sandbox;
	const char *at = c->directories;
	struct config_directory d;

	(void)strlcpy(ret, s->directory, CONFIG_DIRECTORY);
	while (s->scope != CONFIG_BOX_SHARED && config_next_directory(&at, &d))
		if (strcmp(d.scope, scope) == 0)
			(void)strlcpy(ret, d.path, CONFIG_DIRECTORY);
	return s->access == CONFIG_ACCESS_NONE || ret[0] != '\0';
}

/* FNV-1a, with the end of what is added, so that two texts are not one. */
static uint64_t
sum_add(uint64_t sum, const void *p, size_t n)
{
	for (const unsigned char *c = p; n > 0; n--, c++)
		sum = (sum ^ *c) * UINT64_C(0x100000001b3);
	return (sum ^ 0x1ff) * UINT64_C(0x100000001b3);
}

uint64_t
config_sandbox_sum(const struct config *config, const char *scope)
{
	const struct config_sandbox *c = &config->sandbox;
	char directory[CONFIG_DIRECTORY];
	const uint64_t numbers[] = {c->scope, c->access, c->network, c->backend,
	    c->engine, c->uid, c->gid, c->memory, c->pids, c->cpus};
	const char *const texts[] = {
	    c->workspace, c->binds, c->setup, c->container, directory};
	uint64_t sum = sum_add(
	    UINT64_C(0xcbf29ce484222325), numbers, sizeof(numbers));

	(void)config_directory(config, scope, directory);
	for (size_t i = 0; i < NELEMS(texts); i++)
		sum = sum_add(sum, texts[i], strlen(texts[i]));
	return sum;
}

/* Scopes that say something which mode makes untrue. */
static int
check_scopes(const struct config *c, char why[CONFIG_WHY])
{
	for (uint32_t i = 0; i < c->scope_count; i++) {
		enum config_scope_box box =
		    (enum config_scope_box)c->scopes[i].box;
		const char *name = c->scopes[i].name;

		if (c->sandbox.mode == CONFIG_SANDBOX_ALL &&
		    box == CONFIG_SCOPE_BOX_NO)
			return config_refuse(why, "all covers every scope, but "
			    "[scope \"%s\"] says sandbox = no; expected mode = "
			    "named", name);
		if (c->sandbox.mode == CONFIG_SANDBOX_OFF &&
		    box >= CONFIG_SCOPE_BOX_YES)
			return config_refuse(why, "off, but [scope \"%s\"] "
			    "says sandbox = %s; expected mode = named or all",
			    name,
			    box == CONFIG_SCOPE_BOX_YES ? "yes" : "required");
	}
	return 0;
}

/* Two binds at one place: one of them would not be seen. */
static int
check_binds(const struct config_sandbox *s, char why[CONFIG_WHY])
{
	const char *at = s->binds, *other;
	struct box_bind a, b;

	while (config_next_bind(&at, &a)) {
		if (s->access == CONFIG_ACCESS_RO &&
		    (box_path_above(a.inside, BOX_AGENT) ||
			box_path_above(BOX_AGENT, a.inside)))
			return config_refuse(why, "%.80s would hide " BOX_AGENT
			    ", which access = ro shows; expected another place "
			    "in the box", a.inside);
		for (other = at; config_next_bind(&other, &b);)
			if (box_path_above(a.inside, b.inside) &&
			    box_path_above(b.inside, a.inside))
				return config_refuse(why, "%.80s and %.80s are "
				    "both to be %.80s in the box; expected one "
				    "for each place", a.host, b.host, a.inside);
	}
	return 0;
}

/* Is there one for each scope that is known to have a box? */
static int
check_directories(const struct config *c, char why[CONFIG_WHY])
{
	const struct config_sandbox *s = &c->sandbox;
	const char *word = config_word(OPT_BOX_ACCESS, s->access);
	const char *at = c->directories;
	struct config_directory d;

	if (s->access != CONFIG_ACCESS_NONE && s->directory[0] == '\0' &&
	    (at[0] == '\0' || s->scope == CONFIG_BOX_SHARED))
		return config_refuse(why, "none, but access = %s; expected a "
		    "directory%s", word, s->scope == CONFIG_BOX_SHARED ? "" :
		    ", here or in a [scope \"NAME\"]");
	for (uint32_t i = 0; i < c->scope_count; i++)
		if (c->scopes[i].box >= CONFIG_SCOPE_BOX_YES &&
		    !config_directory(c, c->scopes[i].name, d.path))
			return config_refuse(why, "none, but access = %s, and "
			    "[scope \"%s\"] has no directory of its own; "
			    "expected one here or there", word,
			    c->scopes[i].name);
	if (!config_next_directory(&at, &d))
		(void)strlcpy(d.path, s->directory, sizeof(d.path));
	else if (s->scope == CONFIG_BOX_SHARED)
		return config_refuse(why, "[scope \"%s\"] names %.80s, but "
		    "scope = shared has one box for all; expected it in "
		    "[sandbox] alone", d.scope, d.path);
	if (s->access == CONFIG_ACCESS_NONE && d.path[0] != '\0')
		return config_refuse(why, "%.80s, but access = none shows it "
		    "to no box; expected access = ro or rw", d.path);
	return 0;
}

/* A container is there already, and is one box. */
static int
check_container(const struct config_sandbox *s, const char **ret_name,
    char why[CONFIG_WHY])
{
	*ret_name = "container";
	if ((s->backend == CONFIG_BACKEND_CONTAINER) !=
	    (s->container[0] != '\0'))
		return config_refuse(why, s->container[0] == '\0' ?
		    "backend = container, but no container is named; expected "
		    "container = NAME" : "\"%.80s\", but backend = bwrap; "
		    "expected backend = container, or no container", s->container);
	if (s->backend == CONFIG_BACKEND_BWRAP)
		return 0;
	*ret_name = "scope";
	if (s->scope != CONFIG_BOX_SHARED)
		return config_refuse(why, "%s, but the container %.60s is one "
		    "box for all; expected scope = shared",
		    config_word(OPT_BOX_OF, s->scope), s->container);
	*ret_name = s->binds[0] != '\0'	       ? "bind" :
	    s->access != CONFIG_ACCESS_NONE	       ? "access" :
	    s->network != CONFIG_NETWORK_NONE ? "network" :
						       NULL;
	return *ret_name == NULL ? 0 :
				   config_refuse(why, "the container %.60s "
				       "shows what it was made with, and has "
				       "that network; expected none with "
				       "backend = container", s->container);
}

int
config_check_sandbox(const struct config *c, const char **ret_name,
    char why[CONFIG_WHY])
{
	const struct config_sandbox *s = &c->sandbox;

	*ret_name = "mode";
	if (check_scopes(c, why) < 0)
		return -EINVAL;
	*ret_name = "network";
	if (s->network == CONFIG_NETWORK_HOST && !s->allow_host_network)
		return config_refuse(why, "host shares the machine's network, "
		    "its loopback and abstract sockets with boxes; expected "
		    "none, or allow_host_network = yes beside it");
	*ret_name = "directory";
	if (check_directories(c, why) < 0)
		return -EINVAL;
	if (check_container(s, ret_name, why) < 0)
		return -EINVAL;
	*ret_name = "bind";
	return check_binds(s, why);
}
