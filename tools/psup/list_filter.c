/* SPDX-License-Identifier: MIT */
/*
 * The filter of list_filter.h. It works on rows that are here: the server would
 * have to look at each one as well, in its own time. Called by cmd_list.c.
 */
#include "list_filter.h"

#include <fnmatch.h>
#include <string.h>

static const char *
text_of(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text != NULL ? text : "";
}

static int64_t
number_of(const json_t *row, const char *key)
{
	return json_integer_value(json_object_get(row, key));
}

static bool
has_status(const json_t *row, const char *wanted)
{
	const char *status = text_of(row, "status");

	if (strcmp(wanted, "queued") == 0)
		return strcmp(text_of(row, "state"), "queued") == 0;
	if (strcmp(wanted, "finished") == 0)
		return strcmp(status, "running") != 0;
	/* one that waits is running only to programs */
	return strcmp(status, wanted) == 0 &&
	    strcmp(text_of(row, "state"), "queued") != 0;
}

/* key, or key=value */
static bool
has_tag(const json_t *row, const char *tag)
{
	const json_t *tags = json_object_get(row, "tags"), *v;
	const char *eq = strchr(tag, '=');
	char key[1100];
	size_t len = eq != NULL ? (size_t)(eq - tag) : strlen(tag);

	if (len >= sizeof(key))
		return false;
	memcpy(key, tag, len);
	key[len] = '\0';
	v = json_object_get(tags, key);
	return v != NULL &&
	    (eq == NULL || strcmp(json_string_value(v), eq + 1) == 0);
}

static bool
has_id(const json_t *row, const struct list_filter *f)
{
	for (size_t i = 0; i < f->id_count; i++)
		if (strcmp(text_of(row, "sessionId"), f->ids[i]) == 0)
			return true;
	return f->id_count == 0;
}

static bool
is_meant(const struct list_filter *f, const json_t *row)
{
	int64_t ended = number_of(row, "endedAt");
	int64_t started = number_of(row, "startedAt");

	for (size_t i = 0; i < f->tag_count; i++)
		if (!has_tag(row, f->tags[i]))
			return false;
	return has_id(row, f) &&
	    (f->status == NULL || has_status(row, f->status)) &&
	    (f->lane == NULL || strcmp(text_of(row, "lane"), f->lane) == 0) &&
	    (f->scope == NULL ||
	        strcmp(text_of(row, "scopeKey"), f->scope) == 0) &&
	    (f->label == NULL ||
	        fnmatch(f->label, text_of(row, "label"), 0) == 0) &&
	    (f->since_ms == 0 || started >= f->since_ms) &&
	    (f->before_ms == 0 ||
	        (ended > 0 ? ended : started) <= f->before_ms);
}

bool
list_filters(const struct list_filter *f)
{
	return f->status != NULL || f->lane != NULL || f->scope != NULL ||
	    f->label != NULL || f->tag_count > 0 ||
	    f->id_count > 0 || f->since_ms != 0 || f->before_ms != 0;
}

void
list_filter(const struct list_filter *f, json_t *answer)
{
	json_t *details = json_object_get(answer, "details");
	json_t *rows = json_object_get(details, "sessions");
	json_t *meant = json_array();
	size_t i;
	json_t *row;

	if (!list_filters(f)) {
		json_decref(meant);
		return;
	}
	json_array_foreach(rows, i, row)
	{
		if (is_meant(f, row))
			json_array_append(meant, row);
	}
	/* the server's text has a line for each row that there was */
	json_object_set_new(answer, "text",
	    json_sprintf("%zu of %zu sessions.", json_array_size(meant),
	        json_array_size(rows)));
	json_object_set_new(details, "sessions", meant);
}
