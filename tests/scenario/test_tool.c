/* SPDX-License-Identifier: MIT */
/* psup tool: the tool calls that gateways make, one JSON object a line. */
#include "lib_scn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(tool);

/* The lines of an output, each a string of its own; returns how many. */
static int
lines_of(struct run *r, char **ret, int room)
{
	char *rest = r->out, *line;
	int n = 0;

	while (n < room && (line = strsep(&rest, "\n")) != NULL)
		if (*line != '\0')
			ret[n++] = line;
	return n;
}

static struct run *
tool(const char *lines)
{
	return cli_fed(lines, strlen(lines), "tool");
}

#define has(line, part) \
	expect(strstr(line, part) != NULL, "%s is not in %s", part, line)

SCENARIO(tool, the_lines_of_the_seeds)
{
	char *line[8], id[64], more[1024];
	struct run *r;
	const char *at;

	psupd();
	r = tool("{\"tool\":\"exec\",\"command\":\"sleep 1 && echo done\","
	         "\"yieldMs\":100}\n"
	         "{\"tool\":\"exec\",\"command\":\"read a; echo got $a\","
	         "\"background\":true}\n"
	         "{\"tool\":\"process\",\"action\":\"list\"}\n");
	expect_exit(r, 0);
	expect(lines_of(r, line, 8) == 3, "%s", r->out);
	has(line[0], "\"status\":\"running\"");
	has(line[0], "\"isError\":false");
	has(line[1], "\"sessionId\":\"");
	has(line[2], "\"sessions\":[");
	at = strstr(line[1], "\"sessionId\":\"") + 13;
	snprintf(id, sizeof(id), "%.*s", (int)strcspn(at, "\""), at);
	snprintf(more, sizeof(more),
	    "{\"tool\":\"process\",\"action\":\"write\",\"sessionId\":\"%s\","
	    "\"data\":\"y\\n\"}\n"
	    "{\"tool\":\"process\",\"action\":\"poll\",\"sessionId\":\"%s\","
	    "\"timeout\":10000}\n"
	    "{\"tool\":\"process\",\"action\":\"log\",\"sessionId\":\"%s\","
	    "\"offset\":0,\"limit\":5}\n"
	    "{\"tool\":\"process\",\"action\":\"remove\",\"sessionId\":\"%s\"}"
	    "\n", id, id, id, id);
	r = tool(more);
	expect_exit(r, 0);
	expect(lines_of(r, line, 8) == 4, "%s", r->out);
	has(line[1], "got y");
	has(line[2], "got y");
	has(line[3], "\"isError\":false");
}

SCENARIO(tool, keys_submit_and_paste)
{
	char *line[8], more[1024];
	const char *id;
	struct run *r;

	psupd();
	id = background(STR("command", "cat -v"));
	snprintf(more, sizeof(more),
	    "{\"tool\":\"process\",\"action\":\"send-keys\","
	    "\"sessionId\":\"%s\",\"keys\":[\"up\",\"C-oops\"],"
	    "\"hex\":[\"1b\"],\"literal\":\"l\"}\n"
	    "{\"tool\":\"process\",\"action\":\"submit\","
	    "\"sessionId\":\"%s\",\"data\":\"y\"}\n"
	    "{\"tool\":\"process\",\"action\":\"paste\","
	    "\"sessionId\":\"%s\",\"text\":\"\\u001b[201~p\\n\"}\n"
	    "{\"tool\":\"process\",\"action\":\"paste\","
	    "\"sessionId\":\"%s\",\"data\":\"p\"}\n", id, id, id, id);
	r = tool(more);
	expect(lines_of(r, line, 8) == 4, "%s", r->out);
	has(line[0], "\"accepted\":9");
	has(line[0], "\"warnings\":[\"Unknown key");
	has(line[1], "\"accepted\":2");
	has(line[2], "\"isError\":false");
	has(line[3], "did you mean \\\"text\\\"");
	await_output(id, "l^[^[[Aoopsy^M^[[200~M-bM-^PM-^[[201~p\n");
	expect_ok(ask("kill", STR("sessionId", id)));
}

SCENARIO(tool, errors_are_answers)
{
	char *line[8];
	struct run *r;

	psupd();
	r = tool("{\"tool\":\"frobnicate\"}\n"
	         "{\"tool\":\"process\",\"action\":\"dance\"}\n"
	         "{\"tool\":\"process\",\"action\":\"poll\","
	         "\"sessionId\":\"nobody\"}\n"
	         "{\"tool\":\"exec\"}\n"
	         "this is no JSON\n"
	         "{\"tool\":\"exec\",\"command\":\"echo on\"}\n");
	expect(lines_of(r, line, 8) == 6, "%s", r->out);
	for (int i = 0; i < 5; i++) {
		has(line[i], "\"isError\":true");
		has(line[i], "\"status\":\"failed\"");
	}
	has(line[1], "poll");
	has(line[2], "nobody");
	has(line[5], "\"isError\":false");
}

SCENARIO(tool, ids_are_echoed_and_several_run_at_once)
{
	/* the first two end when each has seen the other, and the third */
	static const char wait[] =
	    "{\"id\":%s,\"tool\":\"exec\",\"command\":\"touch %s%s; "
	    "until test -e %s%s -a -e %s3; do sleep 0.01; done\"}\n";
	const char *at = file_in_scenario("is");
	char *line[8], lines[2000];
	struct run *r;
	int n;

	psupd();
	n = snprintf(lines, sizeof(lines), wait, "1", at, "1", at, "2", at);
	n += snprintf(lines + n, sizeof(lines) - (size_t)n, wait, "\"b\"", at,
	    "2", at, "1", at);
	snprintf(lines + n, sizeof(lines) - (size_t)n,
	    "{\"id\":3,\"tool\":\"exec\",\"command\":\"echo quick; "
	    "(sleep 0.2; touch %s3) >&- 2>&- &\"}\n", at);
	r = tool(lines);
	expect(lines_of(r, line, 8) == 3, "%s", r->out);
	has(line[0], "\"id\":3");
	has(r->out, "quick");
	has(strstr(line[1], "\"id\":1") != NULL ? line[2] : line[1],
	    "\"id\":\"b\"");
}

SCENARIO(tool, a_call_under_way_is_given_up)
{
	char *line[8];
	struct run *r;

	psupd();
	r = tool("{\"id\":[1],\"tool\":\"exec\",\"command\":\"sleep 1000\","
	         "\"yieldMs\":null}\n"
	         "{\"id\":2,\"tool\":\"process\",\"action\":\"wait\","
	         "\"sessionIds\":[],\"timeout\":\"1\",\"sessionId\":\"x\"}\n"
	         "{\"cancel\":\"nobody\"}\n"
	         "{\"cancel\":[1]}\n");
	expect_exit(r, 0);
	expect(lines_of(r, line, 8) == 2, "%s", r->out);
	if (strstr(line[0], "\"id\":2") != NULL)
		line[0] = line[1];
	has(line[0], "\"id\":[1]");
	has(line[0], "\"code\":\"cancelled\"");
	has(line[0], "\"failureKind\":\"aborted\"");
	has(line[0], "\"isError\":true");
}

/* What a kill has ended is said whatever the command made of it; meanwhile all
 * that gateways' schemas name is there. */
SCENARIO(tool, says_what_stopped_it)
{
	const struct answer *a;
	const char *id;

	psupd();
	id = background(STR("command", "trap 'exit 7' TERM; echo up; "
				       "while :; do read x; done"));
	await_output(id, "up\n");
	a = ask("poll", STR("sessionId", id));
	expect_str(a, "aggregated", "up\n");
	expect(number_of(a, "lastOutputAt") > 0, "none");
	a = ask("log", STR("sessionId", id));
	expect_str(a, "output", "up");
	expect_int(a, "totalChars", 3);
	expect(psup_get_bool(details(a), "stdinWritable", false), "closed");
	ask("kill", STR("sessionId", id));
	a = ask("poll", STR("sessionId", id));
	expect(strstr(words_of(a), "Process stopped by request (signal "
	    "SIGTERM). It exited with code 7.") != NULL, "%s", words_of(a));
	expect_str(a, "exitReason", "manual-cancel");
	expect(psup_value_get(details(a), "exitSignal") == NULL, "a signal");
	a = ask("log", STR("sessionId", id));
	expect_text(a, "up\n\nProcess stopped by request (signal SIGTERM). It "
	    "exited with code 7.");
	expect_str(a, "output", "up");
}
