/* SPDX-License-Identifier: MIT */
/* The text of top.conf: see conf.h. Called by conf_file.c. */
#include <stdio.h>
#include <string.h>

#include "common/option.h"
#include "conf.h"

#define VALUE_MAX 512
#define ROWS      (sizeof(rows) / sizeof(rows[0]))

/* A setting. False: its value is wrong, and why. */
typedef bool take_fn(struct conf *c, const char *value, char *why, size_t size);

static bool
take_columns(struct conf *c, const char *value, char *why, size_t size)
{
	return list_columns_take(&c->list, value, why, size);
}

static bool
take_sort(struct conf *c, const char *value, char *why, size_t size)
{
	int at = column_find(value);

	snprintf(why, size, "\"%.40s\" is no column", value);
	c->has_sort = at >= 0;
	c->list.sort = at >= 0 ? (size_t)at : 0;
	return at >= 0;
}

/* `no`: what it says is the other way round of what is kept. */
static bool
take_yes(bool *into, bool no, const char *value, char *why, size_t size)
{
	bool yes = strcmp(value, "yes") == 0;

	*into = yes != no;
	snprintf(why, size, "\"%.40s\" is neither yes nor no", value);
	return yes || strcmp(value, "no") == 0;
}

static const struct {
	const char *name;
	take_fn *take; /* NULL: yes or no, into the bool at `at` */
	size_t at;
	bool no;
} rows[] = {{"columns", take_columns, 0, false}, {"sort", take_sort, 0, false},
    {"reverse", NULL, offsetof(struct conf, list.reverse), false},
    {"tree", NULL, offsetof(struct conf, list.tree), false},
    {"live", NULL, offsetof(struct conf, list.live_only), false},
    {"mouse", NULL, offsetof(struct conf, no_mouse), true},
    {"colours", NULL, offsetof(struct conf, monochrome), true}};

/* Without blanks at both ends. */
static char *
trim(char *s)
{
	size_t len;

	s += strspn(s, " \t\r");
	len = strlen(s);
	while (len > 0 && strchr(" \t\r", s[len - 1]) != NULL)
		s[--len] = '\0';
	return s;
}

/* One that is no setting. */
static void
unknown(const char *name, char *why, size_t size)
{
	const char *names[ROWS + 1] = {0};
	char meant[MEANT_SIZE];

	for (size_t i = 0; i < ROWS; i++)
		names[i] = rows[i].name;
	snprintf(why, size, "\"%.40s\" is no setting%s", name,
	    option_meant(psup_nearest(name, names), meant));
}

/* A line; `seen` has a bit for each setting before. */
static bool
take_line(struct conf *c, char *line, unsigned *seen, char *why, size_t size)
{
	char *name, *value = strchr(line, '=');

	name = trim(line);
	if (name[0] == '\0' || name[0] == '#')
		return true;
	if (value == NULL) {
		snprintf(why, size, "\"%.40s\": name = value is wanted", name);
		return false;
	}
	*value++ = '\0';
	name = trim(name);
	value = trim(value);
	for (size_t i = 0; i < ROWS; i++) {
		if (strcmp(rows[i].name, name) != 0)
			continue;
		if (*seen & 1u << i) {
			snprintf(why, size, "%s is there twice", name);
			return false;
		}
		*seen |= 1u << i;
		return rows[i].take != NULL
		    ? rows[i].take(c, value, why, size)
		    : take_yes((bool *)((char *)c + rows[i].at), rows[i].no,
		          value, why, size);
	}
	unknown(name, why, size);
	return false;
}

bool
conf_parse(const char *text, size_t len, struct conf *ret, char *ret_why,
    size_t size)
{
	const char *end = text + len, *stop;
	char line[VALUE_MAX], why[256] = "";
	struct conf c = {0};
	unsigned seen = 0, n = 1;

	for (; text < end; text = stop + 1, n++) {
		stop = memchr(text, '\n', (size_t)(end - text));
		if (stop == NULL)
			stop = end;
		len = (size_t)(stop - text);
		if (len >= sizeof(line) || memchr(text, '\0', len) != NULL) {
			snprintf(ret_why, size, "line %u: no line of text of up "
			                        "to %d bytes", n, VALUE_MAX - 1);
			return false;
		}
		memcpy(line, text, len);
		line[len] = '\0';
		if (!take_line(&c, line, &seen, why, sizeof(why))) {
			snprintf(ret_why, size, "line %u: %s", n, why);
			return false;
		}
	}
	*ret = c;
	return true;
}

/* Is it the line that says the columns? */
static bool
says_columns(const char *line, size_t len)
{
	const char *name = line;

	while (name < line + len && (*name == ' ' || *name == '\t'))
		name++;
	len -= (size_t)(name - line);
	if (len < 7 || memcmp(name, "columns", 7) != 0)
		return false;
	for (name += 7, len -= 7; len > 0 && (*name == ' ' || *name == '\t');
	     name++, len--)
		;
	return len > 0 && *name == '=';
}

bool
conf_with_columns(const char *text, const char *names, char *dst, size_t size)
{
	bool said = names[0] == '\0';
	size_t used = 0, len;
	int n;

	dst[0] = '\0';
	for (; *text != '\0'; text += len) {
		len = strcspn(text, "\n");
		if (says_columns(text, len)) {
			n = said ? 0
			         : snprintf(dst + used, size - used,
			               "columns = %s\n", names);
			said = true;
		} else
			n = snprintf(dst + used, size - used, "%.*s\n",
			    (int)len, text);
		used += (size_t)n;
		if (used >= size)
			return false;
		len += text[len] == '\n';
	}
	if (!said)
		used += (size_t)snprintf(dst + used, size - used,
		    "columns = %s\n", names);
	return used < size;
}
