/* SPDX-License-Identifier: MIT */
/*
 * psup tool: tool calls of a gateway, one JSON object a line on stdin, one
 * JSON object a line on stdout. Calls with an id run side by side; calls
 * without one are answered in order, one after the other.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/grow.h"
#include "tool.h"
#include "tools/calls/call.h"

#define LINE_BYTES   4194304u  /* what a line may have */
#define PARSE_BYTES  16777216u /* up to here its mistake can be named */
#define READ_BYTES   65536u
#define CALLS_MAX    4096u     /* under way or waiting; then stdin waits */

/* ------------------------------------------------------------------- lines */

/* The first member whose text holds U+FFFD, after a repair. */
static const char *
damaged_field(const json_t *request)
{
	json_t *v, *r = json_incref((json_t *)(uintptr_t)request);
	const char *key, *found = "";

	json_object_foreach(r, key, v)
		if (found[0] == '\0' && json_is_string(v) &&
		    strstr(json_string_value(v), "\xef\xbf\xbd") != NULL)
			found = key;
	json_decref(r);
	return found;
}

/* The line is no UTF-8: names the byte, and the field where it can. */
static void
answer_bad_utf8(struct tool *t)
{
	char text[200], *repaired = malloc(3 * t->len + 1);
	json_t *request = NULL;
	const json_t *id;
	size_t bad = 0, n;

	/* the longest valid beginning, by halving */
	for (n = t->len; n > 0; n /= 2)
		while (bad + n <= t->len) {
			size_t end = bad + n;

			/* a border may lie inside a sequence */
			while (end > bad && end < t->len &&
			    ((unsigned char)t->line[end] & 0xc0) == 0x80)
				end--;
			if (end == bad ||
			    !psup_is_utf8(t->line + bad, end - bad))
				break;
			bad = end;
		}
	if (repaired != NULL)
		request = json_loadb(repaired,
		    psup_repair(t->line, t->len, repaired), JSON_ALLOW_NUL,
		    NULL);
	id = json_object_get(request, "id");
	snprintf(text, sizeof(text), "%s%sinvalid UTF-8: byte %zu of the line "
	                             "is 0x%02x",
	    json_is_object(request) ? damaged_field(request) : "",
	    json_is_object(request) && damaged_field(request)[0] != '\0' ? ": "
	                                                                 : "",
	    bad, bad < t->len ? (unsigned char)t->line[bad] : 0u);
	tool_refuse_line(t, id, "bad-request",
	    json_is_object(request) ? damaged_field(request) : "", text);
	json_decref(request);
	free(repaired);
}

/* A line over the limit: names the longest text in it where it parses. */
static void
answer_too_long(struct tool *t, json_t *request)
{
	const char *key, *longest = "";
	char text[200];
	size_t most = 0;
	json_t *v;

	json_object_foreach(request, key, v)
		if (json_is_string(v) && json_string_length(v) > most) {
			most = json_string_length(v);
			longest = key;
		}
	snprintf(text, sizeof(text), "%.64s%sthe line is over %u bytes "
	                             "(E2BIG); nothing was run",
	    longest, longest[0] != '\0' ? ": " : "", LINE_BYTES);
	tool_refuse_line(t, json_object_get(request, "id"), "too-big", longest,
	    text);
	json_decref(request);
}

/* A whole line is there. */
static void
take_line(struct tool *t)
{
	json_error_t error;
	json_t *request;
	char text[300];

	if (t->overlong) {
		answer_too_long(t, NULL);
		return;
	}
	if (t->len > 0 && t->line[t->len - 1] == '\r')
		t->len--;
	if (strspn(t->line, " \t") >= t->len)
		return; /* an empty line */
	if (!psup_is_utf8(t->line, t->len)) {
		answer_bad_utf8(t);
		return;
	}
	request = json_loadb(t->line, t->len,
	    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
	if (request == NULL) {
		snprintf(text, sizeof(text), "not JSON: %s (byte %d)",
		    error.text, error.position);
		tool_refuse_line(t, NULL, "bad-request", "", text);
	} else if (!json_is_object(request)) {
		tool_refuse_line(t, NULL, "bad-request", "",
		    "a call is a JSON object: {\"tool\": \"exec\", ...}");
		json_decref(request);
	} else if (t->len > LINE_BYTES) {
		answer_too_long(t, request);
	} else {
		tool_take_request(t, request);
	}
}

/* Appends to the line, up to where nobody looks any more. 0 or -ENOMEM. */
static int
extend_line(struct tool *t, const char *data, size_t len)
{
	if (t->overlong || t->len + len > PARSE_BYTES) {
		t->overlong = true;
		t->len = 0;
		return 0;
	}
	if (!GROW(t->line, t->cap, t->len + len + 1, READ_BYTES))
		return -ENOMEM;
	memcpy(t->line + t->len, data, len);
	t->len += len;
	t->line[t->len] = '\0';
	return 0;
}

/* The line is over; the next begins. */
static void
end_line(struct tool *t)
{
	if (t->len > 0 || t->overlong)
		take_line(t);
	t->len = 0;
	t->overlong = false;
}

/* Reads what stdin has. 0 or -errno. */
static int
read_lines(struct tool *t)
{
	static char buf[READ_BYTES];
	const char *at = buf, *newline;
	ssize_t n = read(STDIN_FILENO, buf, sizeof(buf));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -errno;
	if (n == 0) {
		end_line(t);
		t->end_of_input = true;
		return 0;
	}
	while ((newline = memchr(at, '\n', (size_t)(buf + n - at))) != NULL) {
		if (extend_line(t, at, (size_t)(newline - at)) < 0)
			return -ENOMEM;
		end_line(t);
		at = newline + 1;
	}
	return extend_line(t, at, (size_t)(buf + n - at));
}

/* -------------------------------------------------------------------- loop */

/* Until stdin has ended and everything is answered; or nobody is there to read
 * the answers: whoever called has died, and what it waited for ends with it. */
static int
loop(struct tool *t)
{
	struct pollfd pfd[3];
	int rc = 0;

	while (rc == 0 && !t->out_broken &&
	    (!t->end_of_input || t->calls > 0)) {
		pfd[0] = (struct pollfd){
			.fd = !t->end_of_input && t->calls < CALLS_MAX
			    ? STDIN_FILENO
			    : -1,
			.events = POLLIN};
		pfd[1] = (struct pollfd){.fd = psup_fd(t->c->p),
			.events = psup_fd_events(t->c->p)};
		pfd[2] = (struct pollfd){.fd = STDOUT_FILENO};
		if (poll(pfd, 3, -1) < 0)
			continue; /* EINTR */
		if ((pfd[2].revents & (POLLERR | POLLHUP)) != 0)
			t->out_broken = true;
		if (pfd[1].revents != 0)
			psup_dispatch(t->c->p);
		if (pfd[0].revents != 0)
			rc = read_lines(t);
		tool_start_queued(t);
	}
	if (rc < 0) {
		cli_say("stdin: %s", strerror(-rc));
		return EXIT_INTERNAL;
	}
	return t->out_broken ? EXIT_INTERNAL : EXIT_OK;
}

static struct tool the_tool;

/* What the tools take. */
static int
print_schemas(void)
{
	cli_print_json(json_pack("{s:o, s:o}", "exec", toolcall_schema("exec"),
	    "process", toolcall_schema("process")));
	return EXIT_OK;
}

static int
run(struct cli *c, int, char **)
{
	int code;

	if (the_tool.schema)
		return print_schemas();
	the_tool.c = c;
	the_tool.last = &the_tool.first;
	if (getcwd(the_tool.cwd, sizeof(the_tool.cwd)) == NULL ||
	    !psup_is_utf8(the_tool.cwd, strlen(the_tool.cwd)))
		the_tool.cwd[0] = '\0';
	code = loop(&the_tool);
	free(the_tool.line);
	return code;
}

static const struct opt options[] = {
	TEXT("scope", 0, "NAME", "@scope", the_tool.scope,
	    "see and start sessions of this scope only"),
	FLAG("schema", 0, the_tool.schema,
	    "print the JSON schemas of the tools' arguments, and end"),
	OPT_END};

const struct command cmd_tool = {
	.name = "tool",
	.summary = "Answer tool calls: a JSON object a line, in and out",
	.about =
	    "  {\"tool\":\"exec\",\"command\":\"make\",\"yieldMs\":1000}\n"
	    "  {\"tool\":\"process\",\"action\":\"poll\",\"sessionId\":"
	    "\"...\"}\n\n"
	    "Actions: "
#define ACTION(name) name ", "
#include "tool_actions.def"
	    "each with the parameters of that method. Each line is answered by {\"text\":..., \"details\":{...}, "
	    "\"isError\":...}. A call with an \"id\" (echoed) runs beside the "
	    "others; calls without one are answered in order. A mistake is an "
	    "answer too; the next line goes on.\n\n"
	    "Arguments are flat: what another action of the tool knows is taken "
	    "and has no meaning, null and \"\" are absent, \"10\" is a number, "
	    "\"true\" is true, lists and maps may be the text of their JSON, one "
	    "word is a list, 0 is absent where it is too little; a name that "
	    "nobody knows is ignored and named in "
	    "the answer. How output is shown is \"display\", the rows of a "
	    "list are \"rows\".\n\n"
	    "  {\"cancel\":ID}\n\n"
	    "gives up the call of that id, which is answered by that: the "
	    "command of an exec in the foreground is ended. Without --scope, a "
	    "token or $PSUP_SCOPE the calls are an administrator's, who sees "
	    "every scope: give each agent its own.",
	.options = options,
	.run = run,
};
