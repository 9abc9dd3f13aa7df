/* SPDX-License-Identifier: MIT */
/* From a tool's answer to what a client gets. */
#include <criterion/criterion.h>
#include <psup/psup.h>
#include <string.h>

#include "tools/mcp/result.h"

/* Wherever it is cut: the counted bytes are those that are missing, and no
 * character is halved. */
Test(result, a_cut_counts_what_it_leaves_out, .timeout = 20)
{
	char text[300] = "", mark[] = "\n[... ";
	size_t len;

	for (int i = 0; i < 40; i++)
		strcat(text, "a\xc3\xa9\xe2\x82\xac");
	len = strlen(text);
	for (size_t max = 10; max <= len + 1; max++) {
		json_t *v = result_cut(text, len, max, TOOLS_SPLIT, NULL);
		const char *s = json_string_value(v), *at = strstr(s, mark);
		const char *past = at != NULL ? strstr(at, "...]\n") : NULL;

		cr_assert(psup_is_utf8(s, strlen(s)));
		if (max >= len) {
			cr_assert_str_eq(s, text);
		} else {
			cr_assert(past != NULL);
			past += strlen("...]\n");
			cr_assert_eq(strncmp(s, text, (size_t)(at - s)), 0);
			cr_assert_str_eq(past, text + len - strlen(past));
			cr_assert_eq((size_t)(at - s) + strlen(past) +
			        strtoul(at + strlen(mark), NULL, 10),
			    len);
			cr_assert_leq((size_t)(at - s) + strlen(past), max);
		}
		json_decref(v);
	}
}

static json_t *
answer(void)
{
	return json_pack("{s:s, s:{s:s, s:s, s:s, s:[s,s]}, s:b}", "text",
	    "Command still running. Use process (wait, kill) to follow it.",
	    "details", "status", "running", "sessionId", "mild-kelp", "tail",
	    "secret", "followUp", "wait", "kill", "isError", 0);
}

Test(result, names_our_own_tools_and_links_to_the_output, .timeout = 20)
{
	struct result_rules rules = {
		.max_output = 1000, .links = true, .exec = true};
	json_t *r = result_make(&rules, answer(), json_string("Meanwhile:\nx"));
	json_t *want = json_loads(
	    "{\"content\": [{\"type\": \"text\", \"text\": \"Command still "
	    "running. Use process_read (wait), process_end (kill) to follow "
	    "it.\"}, {\"type\": \"resource_link\", \"uri\": "
	    "\"psup://session/mild-kelp/log\", \"name\": \"output\", "
	    "\"mimeType\": \"text/plain\"}, {\"type\": \"text\", \"text\": "
	    "\"Meanwhile:\\nx\"}], \"isError\": false, \"_meta\": "
	    "{\"psup/details\": {\"status\": \"running\", \"sessionId\": "
	    "\"mild-kelp\", \"followUp\": [\"wait\", \"kill\"]}}}", 0, NULL);

	cr_assert(json_equal(r, want), "%s", json_dumps(r, 0));
	json_decref(want);
	json_decref(r);
}

Test(result, names_our_own_tools_to_who_waits_for_input, .timeout = 20)
{
	static const char *const wants[] = {
	    [TOOLS_SPLIT] = "It seems to wait for input: process_input (write, "
			    "submit or send-keys) to answer, write with eof to "
			    "end its input, process_end (kill) to stop. Use "
			    "process_read (wait).",
	    [TOOLS_CLASSIC] = "It seems to wait for input: process write, "
			      "submit or send-keys to answer, write with eof "
			      "to end its input, kill to stop. Use process "
			      "(wait)."};

	for (unsigned set = 0; set < 2; set++) {
		struct result_rules rules = {
			.max_output = 1000, .exec = true, .set = set};
		json_t *a = json_pack("{s:s, s:{s:s, s:b, s:[s]}, s:b}",
		    "text", wants[TOOLS_CLASSIC], "details", "status",
		    "running", "waitingForInput", 1, "followUp", "wait",
		    "isError", 0);
		json_t *r = result_make(&rules, a, NULL);
		const json_t *block = json_array_get(
		    json_object_get(r, "content"), 0);

		cr_expect_str_eq(json_string_value(
		    json_object_get(block, "text")), wants[set]);
		json_decref(r);
	}
}

/* What the command wrote stays as it is. */
Test(result, names_our_own_tools_to_who_follows_it, .timeout = 20)
{
	static const char theirs[] = "Use process write, send-keys, submit, or "
	    "paste to provide input.";
	static const char *const wrote[] = {theirs,
		"input: process write, submit or send-keys to answer, write with "
		"eof to end its input, kill to stop"};
	struct result_rules rules = {.max_output = 1000, .set = TOOLS_SPLIT};

	for (size_t i = 0; i < sizeof(wrote) / sizeof(wrote[0]); i++) {
		json_t *r = result_make(&rules, json_pack(
		    "{s:o, s:{s:s, s:b}, s:b}", "text", json_sprintf("%s\n\n%s",
		    wrote[i], theirs), "details", "status", "running",
		    "waitingForInput", 1, "isError", 0), NULL);
		const json_t *block = json_array_get(
		    json_object_get(r, "content"), 0);
		json_t *want = json_sprintf("%s\n\nUse process_input (write, "
		    "send-keys, submit or paste) to provide input.", wrote[i]);

		cr_expect(json_equal(json_object_get(block, "text"), want));
		json_decref(want);
		json_decref(r);
	}
}

Test(result, is_for_programs_where_they_ask, .timeout = 20)
{
	struct result_rules rules = {
		.max_output = 1000, .structured = true, .set = TOOLS_CLASSIC};
	json_t *r = result_make(&rules, answer(), NULL);
	const json_t *s = json_object_get(r, "structuredContent");

	cr_assert_null(json_object_get(r, "_meta"));
	cr_assert_eq(json_array_size(json_object_get(r, "content")), 1);
	cr_assert_str_eq(json_string_value(json_object_get(s, "text")),
	    "Command still running. Use process (wait, kill) to follow it.");
	cr_assert_null(json_object_get(s, "tail"));
	json_decref(r);
}
