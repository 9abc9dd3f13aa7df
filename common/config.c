/* SPDX-License-Identifier: MIT */
/*
 * Settings from psup.conf and the environment, by one table of options
 * (config_options.c). Read at start and at SIGHUP by keeper, master and
 * workers alike. A file is taken whole or not at all.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "config_lane.h"
#include "config_options.h"
#include "text.h"

#define FILE_MAX_BYTES (1u << 20)
#define LINE_MAX_BYTES 8192

/* A file being read: inih asks for lines and hands back what it found. */
struct reading {
	struct config config;
	const char *text, *end;
	unsigned line;
	bool failed;
	const char *path;
	char *why;
	size_t why_size;
};

void
config_defaults(struct config *ret)
{
	size_t i;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < config_option_count; i++) {
		const struct config_option *o = &config_options[i];
		bool on = o->dflt != 0;

		if (o->size == sizeof(o->dflt))
			memcpy((char *)ret + o->offset, &o->dflt,
			    sizeof(o->dflt));
		else if (o->type == OPT_BOOL || o->type == OPT_OPT_OUT)
			memcpy((char *)ret + o->offset, &on, sizeof(on));
	}
	(void)strcpy(ret->sandbox.workspace, "~/.local/share/psup/boxes");
	(void)strcpy(ret->sandbox.env, "LANG=C.UTF-8\n");
	config_get_lane(ret, "main", 4)->width = 1;
	config_get_lane(ret, "subagent", 8)->width = 8;
}

/* Notes the first thing wrong in a file: "path:line: section.key: reason". */
static void
fail(struct reading *r, const char *section, const char *name,
    const char *reason)
{
	char raw[CONFIG_WHY + 400];

	if (r->failed)
		return;
	r->failed = true;
	(void)snprintf(raw, sizeof(raw), "%.200s:%u: %.60s%s%.60s%s%s",
	    r->path, r->line, section, section[0] != '\0' ? "." : "", name,
	    name[0] != '\0' ? ": " : "", reason);
	(void)text_escape(raw, strlen(raw), false, r->why, r->why_size);
}

/* inih's handler: one name and value. */
static int
handle(void *arg, const char *section, const char *name, const char *value)
{
	struct reading *r = arg;
	char why[CONFIG_WHY] = "no such setting";
	bool known = false;
	size_t i;
	int error = -EINVAL;

	if (r->failed)
		return 0;
	for (i = 0; i < config_option_count; i++) {
		if (strcmp(config_options[i].section, section) != 0)
			continue;
		known = strcmp(section, "limits") != 0; /* has others */
		if (strcmp(config_options[i].name, name) == 0)
			break;
	}
	if (i < config_option_count)
		error = config_set(&r->config, &config_options[i], value, false,
		    why);
	else if (config_is_scope(section))
		error = config_set_scope(&r->config, section, name, value, why);
	else if (!known)
		error = config_set_lane(&r->config, section, name, value,
		    r->line, why);
	if (error < 0)
		fail(r, section, name, why);
	return error == 0;
}

/* inih's reader: the next line, whole or not at all. inih would cut a long one
 * into two, and end one at a NUL. */
static char *
next_line(char *str, int num, void *stream)
{
	struct reading *r = stream;
	const char *newline;
	size_t len;

	if (r->failed || r->text == r->end)
		return NULL;
	r->line++;
	newline = memchr(r->text, '\n', (size_t)(r->end - r->text));
	len = (size_t)((newline != NULL ? newline + 1 : r->end) - r->text);
	if (len + 1 > (size_t)num || memchr(r->text, 0, len) != NULL) {
		fail(r, "", "", len + 1 > (size_t)num ?
		    "a line of more than 8000 bytes" : "a NUL byte");
		return NULL;
	}
	memcpy(str, r->text, len);
	str[len] = '\0';
	r->text += len;
	return str;
}

/* The whole file, NUL-terminated; the caller frees it. */
static int
read_text(const char *path, char **ret_text, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char *text;
	size_t len = 0;
	ssize_t n = 0;
	int error;

	if (fd < 0)
		return -errno;
	text = malloc(FILE_MAX_BYTES + 1);
	while (text != NULL && len <= FILE_MAX_BYTES) {
		n = read(fd, text + len, FILE_MAX_BYTES + 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	error = text == NULL ? -ENOMEM : n < 0 ? -errno :
	    len > FILE_MAX_BYTES ? -EFBIG : 0;
	close(fd);
	if (error < 0) {
		free(text);
		return error;
	}
	*ret_text = text;
	*ret_len = len;
	return 0;
}

int
config_read_file(struct config *c, const char *path, char *why, size_t why_size)
{
	struct reading *r = calloc(1, sizeof(*r));
	struct config_place at = { 0 };
	char reason[CONFIG_WHY], *text = NULL;
	const char *name;
	size_t len = 0;
	int error = r == NULL ? -ENOMEM : read_text(path, &text, &len);

	if (error < 0) {
		(void)snprintf(why, why_size, "%s: %s", path, strerror(-error));
		free(r);
		return error;
	}
	r->config = *c;
	r->text = text;
	r->end = text + len;
	r->path = path;
	r->why = why;
	r->why_size = why_size;
	ini_use_stack = false;
	ini_initial_alloc = LINE_MAX_BYTES;
	ini_max_line = LINE_MAX_BYTES;
	ini_allow_multiline = false;
	ini_stop_on_first_error = true;
	error = ini_parse_stream(next_line, r, handle, r);
	if (error == -2) {
		(void)snprintf(why, why_size, "%s: out of memory", path);
		error = -ENOMEM;
	} else if (error != 0 || r->failed) {
		fail(r, "", "", "expected [section], name = value, or a "
		    "comment after ;");
		error = -EINVAL;
	}
	if (error == 0 && config_check_lanes(&r->config, &at, reason) < 0) {
		r->line = at.line;
		fail(r, at.section, at.name, reason);
		error = -EINVAL;
	}
	if (error == 0 && r->config.admin == CONFIG_ADMIN_TOKEN &&
	    r->config.admin_token[0] == '\0') {
		fail(r, "server", "admin", "token, but there is no "
		    "server.admin_token: nobody would be an admin");
		error = -EINVAL;
	}
	if (error == 0 && config_check_sandbox(&r->config, &name, reason) < 0) {
		fail(r, "sandbox", name, reason);
		error = -EINVAL;
	}
	if (error == 0)
		*c = r->config;
	free(text);
	free(r);
	return error;
}

/* Appends "NAME: reason". */
static void
add_reason(const char *name, const char *reason, char *why, size_t why_size)
{
	size_t n = strlen(why);
	char raw[CONFIG_WHY + 100];

	(void)snprintf(raw, sizeof(raw), "%s%s: %s", n > 0 ? "; " : "", name,
	    reason);
	(void)text_escape(raw, strlen(raw), false, why + n, why_size - n);
}

bool
config_may_sandbox(const char *path)
{
	char *text = NULL;
	size_t len = 0;
	bool may = true;

	if (path[0] == '\0')
		return false;
	if (read_text(path, &text, &len) == 0)
		may = memmem(text, len, "sandbox", 7) != NULL;
	free(text);
	return may;
}

int
config_read_env(struct config *c, char *why, size_t why_size)
{
	struct config copy = *c;
	const char *value;
	char reason[CONFIG_WHY];
	size_t i, k;

	CHECK(why_size > 0);
	why[0] = '\0';
	for (i = 0; i < config_option_count; i++) {
		for (k = 0; k < NELEMS(config_options[i].env); k++) {
			const char *name = config_options[i].env[k];

			value = name != NULL ? getenv(name) : NULL;
			if (value == NULL || value[0] == '\0')
				continue;
			if (config_set(&copy, &config_options[i], value, true,
			    reason) == 0)
				break; /* the first family that is set */
			if (strncmp(name, "PSUP_", 5) == 0)
				why[0] = '\0'; /* what is wrong, alone */
			add_reason(name, reason, why, why_size);
			if (strncmp(name, "PSUP_", 5) == 0)
				return -EINVAL;
		}
	}
	*c = copy;
	return 0;
}

void
config_default_path(char *ret_path, size_t size)
{
	static const struct {
		const char *env, *suffix;
	} places[] = {
		{ "PSUP_CONFIG", "" },
		{ "XDG_CONFIG_HOME", "/psup/psup.conf" },
		{ "HOME", "/.config/psup/psup.conf" },
		{ NULL, "/etc/psup/psup.conf" },
	};
	char path[1024];
	size_t i;
	int n;

	CHECK(size > 0);
	ret_path[0] = '\0';
	for (i = 0; i < NELEMS(places); i++) {
		const char *base =
		    places[i].env != NULL ? getenv(places[i].env) : "";

		if (base == NULL || (places[i].env != NULL && base[0] == 0))
			continue;
		n = snprintf(path, sizeof(path), "%s%s", base,
		    places[i].suffix);
		if (n < 0 || (size_t)n >= sizeof(path) || (size_t)n >= size)
			continue;
		/* A file that somebody named is taken even where it is not
		 * there: reading it then says so. */
		if (i > 0 && access(path, R_OK) != 0)
			continue;
		memcpy(ret_path, path, (size_t)n + 1);
		return;
	}
}
