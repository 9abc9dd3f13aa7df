/* SPDX-License-Identifier: MIT */
/*
 * See result.h. Called by call.c. Clients give a model structuredContent in
 * place of the text where both are there (anthropics/claude-code#79944), so
 * details go into _meta unless a program asks for them.
 */
#include "result.h"

#include <psup/psup.h>
#include <string.h>

/* A border of characters at or before, at or behind `at`. */
static size_t
border_back(const char *s, size_t at)
{
	while (at > 0 && ((unsigned char)s[at] & 0xc0) == 0x80)
		at--;
	return at;
}

static size_t
border_on(const char *s, size_t at, size_t len)
{
	while (at < len && ((unsigned char)s[at] & 0xc0) == 0x80)
		at++;
	return at;
}

json_t *
result_cut(const char *text, size_t len, size_t max, enum tool_set set,
    const char *session)
{
	size_t head, from;

	if (len <= max)
		return json_stringn(text, len);
	head = border_back(text, max / 3);
	from = border_on(text, len - (max - max / 3), len);
	return json_sprintf("%.*s\n[... %zu bytes are left out here; %s with "
	                    "action log%s%s, and grep, or offset and limit, "
	                    "shows them ...]\n%s",
	    (int)head, text, from - head,
	    set == TOOLS_CLASSIC ? "process" : "process_read",
	    session != NULL ? " of session " : "",
	    session != NULL ? session : "", text + from);
}

static json_t *
text_block(json_t *text)
{
	return json_pack("{s:s, s:o}", "type", "text", "text", text);
}

/* Where all of the output is to be had. */
static json_t *
link_block(const char *session)
{
	return json_pack("{s:s, s:o, s:s, s:s}", "type", "resource_link",
	    "uri", json_sprintf("psup://session/%s/log", session), "name",
	    "output", "mimeType", "text/plain");
}

/* Where it was written, and how much of it. NULL: nowhere. */
static json_t *
spill_block(const json_t *details)
{
	const json_t *spill = json_object_get(details, "spill");
	const char *path = json_string_value(json_object_get(spill, "path"));
	const char *state = json_string_value(json_object_get(spill, "state"));

	if (path == NULL)
		return NULL;
	return text_block(json_sprintf("Output file: %s (%lld bytes, %s)", path,
	    (long long)json_integer_value(json_object_get(spill, "bytes")),
	    state != NULL ? state : "open"));
}

static bool
is(const json_t *details, const char *key, const char *value)
{
	const char *s = json_string_value(json_object_get(details, key));

	return s != NULL && strcmp(s, value) == 0;
}

/* Does the answer leave output out, or come before the end? */
static bool
wants_link(const struct result_rules *rules, const json_t *details, bool cut)
{
	return rules->links && rules->exec &&
	    json_string_value(json_object_get(details, "sessionId")) != NULL &&
	    (cut || is(details, "status", "running") ||
	        json_is_true(json_object_get(details, "truncated")));
}

/* What the text has already. */
static void
drop_output(json_t *details)
{
	static const char *const names[] = {"aggregated", "tail", "output"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		json_object_del(details, names[i]);
}

/* The last one of a phrase: before it there may be a command's output. NULL. */
static const char *
last_of(const char *all, const char *phrase)
{
	const char *found = NULL, *at = all;

	while ((at = strstr(at, phrase)) != NULL)
		found = at++;
	return found;
}

/* The same of how to carry on what waits for input. A new reference. */
static json_t *
with_own_input(const struct result_rules *rules, json_t *text,
    const json_t *details)
{
	static const char *const words[][2] = {
	    {"input: process write, submit or send-keys to answer, write with "
	     "eof to end its input, kill to stop",
		"input: process_input (write, submit or send-keys) to answer, "
		"write with eof to end its input, process_end (kill) to stop"},
	    {"Use process write, send-keys, submit, or paste to",
		"Use process_input (write, send-keys, submit or paste) to"}};
	const char *all = json_string_value(text), *from = NULL, *at;
	size_t which = 0;

	if (rules->set != TOOLS_SPLIT || all == NULL ||
	    !json_is_true(json_object_get(details, "waitingForInput")))
		return json_incref(text);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		at = last_of(all, words[i][0]);
		if (at != NULL && (from == NULL || at > from)) {
			from = at;
			which = i;
		}
	}
	return from == NULL ? json_incref(text)
	                    : json_sprintf("%.*s%s%s", (int)(from - all), all,
	                          words[which][1],
	                          from + strlen(words[which][0]));
}

/* The server tells how to follow a session in words of the one tool that
 * gateways have; ours are others. A new reference. */
static json_t *
with_own_tools(const struct result_rules *rules, json_t *text,
    const json_t *details)
{
	static const char theirs[] = "process (";
	const char *all = json_string_value(text), *from = NULL, *past = NULL;
	json_t *ours = NULL, *said;

	if (rules->set == TOOLS_SPLIT)
		ours = tools_of_actions(rules->set,
		    json_object_get(details, "followUp"));
	if (ours != NULL && all != NULL)
		from = strstr(all, theirs);
	if (from != NULL)
		past = strchr(from, ')');
	said = past == NULL
	    ? json_incref(text)
	    : json_sprintf("%.*s%s%s", (int)(from - all), all,
	          json_string_value(ours), past + 1);
	json_decref(ours);
	return said;
}

json_t *
result_make(const struct result_rules *rules, json_t *answer, json_t *news)
{
	json_t *details = json_object_get(answer, "details");
	json_t *followed =
	    with_own_tools(rules, json_object_get(answer, "text"), details);
	json_t *text = with_own_input(rules, followed, details);
	json_t *content = json_array(), *shown, *result;
	size_t len = json_string_length(text);

	shown = result_cut(json_is_string(text) ? json_string_value(text) : "",
	    len, rules->max_output, rules->set,
	    json_string_value(json_object_get(details, "sessionId")));
	json_array_append_new(content, text_block(json_incref(shown)));
	if (wants_link(rules, details, len > rules->max_output))
		json_array_append_new(content,
		    link_block(json_string_value(
		        json_object_get(details, "sessionId"))));
	if (rules->exec && json_object_get(details, "spill") != NULL)
		json_array_append_new(content, spill_block(details));
	if (news != NULL)
		json_array_append_new(content, text_block(news));
	drop_output(details);
	result = json_pack("{s:o, s:b}", "content", content, "isError",
	    json_is_true(json_object_get(answer, "isError")));
	if (rules->structured && json_is_object(details)) {
		json_object_set(details, "text", shown);
		json_object_set(result, "structuredContent", details);
	} else if (json_is_object(details)) {
		json_object_set_new(result, "_meta",
		    json_pack("{s:O}", "psup/details", details));
	}
	json_decref(followed);
	json_decref(text);
	json_decref(shown);
	json_decref(answer);
	return result;
}
