/* SPDX-License-Identifier: MIT */
/* The filter of list_filter.h. Called by cmd_list.c and cmd_clear.c. */
#include "list_filter.h"

#include <fnmatch.h>
#include <string.h>

static bool
has_status(const json_t *row, const char *wanted)
{
	const char *status = json_text(row, "status");

	if (strcmp(wanted, "queued") == 0)
		return strcmp(json_text(row, "state"), "queued") == 0;
	if (strcmp(wanted, "finished") == 0)
		return strcmp(status, "running") != 0;
	/* one that waits is running only to programs */
	return strcmp(status, wanted) == 0 &&
	    strcmp(json_text(row, "state"), "queued") != 0;
}

static bool
has_id(const json_t *row, const struct list_filter *f)
{
	for (size_t i = 0; i < f->id_count; i++)
		if (strcmp(json_text(row, "sessionId"), f->ids[i]) == 0)
			return true;
	return f->id_count == 0;
}

static bool
is_meant(const struct list_filter *f, const json_t *row)
{
	int64_t ended = json_number(row, "endedAt");
	int64_t started = json_number(row, "startedAt");

	return f->tag_count == 0 && has_id(row, f) &&
	    (f->status == NULL || has_status(row, f->status)) &&
	    (f->lane == NULL || strcmp(json_text(row, "lane"), f->lane) == 0) &&
	    (f->scope == NULL ||
	        strcmp(json_text(row, "scopeKey"), f->scope) == 0) &&
	    (f->label == NULL ||
	        fnmatch(f->label, json_text(row, "label"), 0) == 0) &&
	    (f->since_ms == 0 || started >= f->since_ms) &&
	    (f->before_ms == 0 ||
	        (ended > 0 ? ended : started) <= f->before_ms);
}

/* A list of texts; none where there are none. */
static void
add_texts(psup_args *a, const char *key, const char *const *texts,
    size_t count)
{
	if (count == 0)
		return;
	psup_args_list_begin(a, key);
	for (size_t i = 0; i < count; i++)
		psup_args_str(a, NULL, texts[i]);
	psup_args_list_end(a);
}

void
list_filter_args(const struct list_filter *f, psup_args *a)
{
	const struct {
		const char *key, *text;
	} texts[] = {{"status", f->status}, {"lane", f->lane},
	    {"label", f->label}, {"scope", f->scope}};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		psup_args_str(a, texts[i].key, texts[i].text);
	if (f->since_ms != 0)
		psup_args_int(a, "sinceMs", f->since_ms);
	if (f->before_ms != 0)
		psup_args_int(a, "beforeMs", f->before_ms);
	add_texts(a, "tags", f->tags, f->tag_count);
	add_texts(a, "sessionIds", f->ids, f->id_count);
}

void
list_filter(const struct list_filter *f, json_t *answer)
{
	json_t *details = json_object_get(answer, "details");
	json_t *rows = json_object_get(details, "sessions");
	json_t *meant = json_array();
	size_t i;
	json_t *row;

	json_array_foreach(rows, i, row)
	{
		if (is_meant(f, row))
			json_array_append(meant, row);
	}
	if (json_array_size(meant) < json_array_size(rows))
		json_object_set_new(answer, "text",
		    json_string("No such session."));
	json_object_set_new(details, "sessions", meant);
}
