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

#include "cli.h"

#define LINE_BYTES   4194304u  /* what a line may have */
#define PARSE_BYTES  16777216u /* up to here its mistake can be named */
#define READ_BYTES   65536u
#define CALLS_MAX    4096u     /* under way or waiting; then stdin waits */
#define FIELD_MAX    64

/* A call without an id whose turn has not come, or the answer to a line that
 * was none. */
struct queued {
	struct queued *next;
	json_t *request, *answer;
};

struct tool {
	struct cli *c;
	const char *scope;
	bool end_of_input, out_broken;
	size_t calls; /* under way or waiting */
	/* calls without an id */
	bool busy;
	struct queued *first, **last;
	/* the line being read */
	char *line;
	size_t len, cap;
	bool overlong; /* beyond PARSE_BYTES: thrown away to its end */
	char cwd[4096];
};

/* One call under way. */
struct call {
	struct tool *t;
	json_t *id; /* NULL: none */
};

/* The actions of the process tool, and the method of each. */
static const struct action {
	const char *name, *method;
} actions[] = {
	{"list", "list"}, {"poll", "poll"}, {"log", "log"}, {"write", "write"},
	{"kill", "kill"}, {"clear", "clear"}, {"remove", "remove"},
	{"wait", "wait"},
};
/* Actions that gateways know and this build does not have. */
static const char *const not_built[] = {"send-keys", "submit", "paste",
	"screen", "resize", "killScope"};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ----------------------------------------------------------------- answers */

/* Prints one answer line; takes the reference of `answer`. */
static void
answer(struct tool *t, const json_t *id, json_t *object)
{
	json_t *line = json_object();

	if (id != NULL)
		json_object_set(line, "id", (json_t *)(uintptr_t)id);
	json_object_update(line, object);
	json_decref(object);
	cli_print_json(line);
	if (ferror(stdout))
		t->out_broken = true;
}

/* A call that failed before it reached a tool. */
static void
answer_error(struct tool *t, const json_t *id, const char *code,
    const char *field, const char *message)
{
	answer(t, id, cli_error_object(code, field, message));
}

static void start_queued(struct tool *t);

/* Puts a call or an answer behind the calls that came before it. */
static void
enqueue(struct tool *t, json_t *request, json_t *ready)
{
	struct queued *q = calloc(1, sizeof(*q));

	if (q == NULL) {
		json_decref(request);
		json_decref(ready);
		answer_error(t, NULL, "no-memory", "", "no memory");
		return;
	}
	q->request = request;
	q->answer = ready;
	*t->last = q;
	t->last = &q->next;
	t->calls++;
	start_queued(t);
}

/* A line that is no call: answered at once by its id, else in its turn. */
static void
refuse_line(struct tool *t, const json_t *id, const char *code,
    const char *field, const char *message)
{
	json_t *object = cli_error_object(code, field, message);

	if (id != NULL && !json_is_null(id))
		answer(t, id, object);
	else
		enqueue(t, NULL, object);
}

/* What libpsup says of the last failure. */
static void
answer_failure(struct tool *t, const json_t *id)
{
	answer_error(t, id, psup_error_code(t->c->p),
	    psup_error_field(t->c->p), psup_error_message(t->c->p));
}

/* The answer of a call. */
static void
on_answer(void *arg, int status, psup_reply *reply)
{
	struct call *call = arg;
	struct tool *t = call->t;

	if (status == PSUP_OK)
		answer(t, call->id, json_of_value(psup_reply_value(reply)));
	else
		answer_failure(t, call->id);
	psup_reply_free(&reply);
	if (call->id == NULL)
		t->busy = false;
	t->calls--;
	json_decref(call->id);
	free(call);
}

/* ---------------------------------------------------------------- requests */

/* The method of a process action; NULL: `text` says why not. */
static const char *
process_method(const json_t *request, const char **ret_code, char *text,
    size_t size)
{
	const json_t *action = json_object_get(request, "action");
	const char *name = json_string_value(action);

	for (size_t i = 0; name != NULL && i < COUNT(actions); i++)
		if (strcmp(name, actions[i].name) == 0)
			return actions[i].method;
	*ret_code = "invalid-params";
	for (size_t i = 0; name != NULL && i < COUNT(not_built); i++)
		if (strcmp(name, not_built[i]) == 0) {
			*ret_code = "unsupported";
			snprintf(text, size, "process action \"%s\" is not "
			                     "built yet.", name);
			return NULL;
		}
	snprintf(text, size, "%s process action. Expected one of: list, poll, "
	                     "log, write, kill, clear, remove, wait.",
	    action == NULL ? "Missing" : "Invalid");
	return NULL;
}

/* The method that a line asks for; NULL: it was answered with an error. */
static const char *
method_of(struct tool *t, const json_t *request)
{
	const json_t *id = json_object_get(request, "id");
	const json_t *tool = json_object_get(request, "tool");
	const char *name = json_string_value(tool);
	const char *method, *code = "";
	char text[300];

	if (name != NULL && strcmp(name, "exec") == 0)
		return "exec";
	if (name != NULL && strcmp(name, "process") == 0) {
		method = process_method(request, &code, text, sizeof(text));
		if (method == NULL)
			answer_error(t, id, code, "action", text);
		return method;
	}
	snprintf(text, sizeof(text), "%s tool%s%.60s%s: expected exec or "
	                             "process.",
	    tool == NULL ? "Missing" : "Unknown", name != NULL ? " \"" : "",
	    name != NULL ? name : "", name != NULL ? "\"" : "");
	answer_error(t, id, "invalid-params", "tool", text);
	return NULL;
}

/* poll's timeout may be an integer in a string; what is none counts as 0. */
static bool
add_poll_timeout(psup_args *a, const char *method, const char *key,
    const json_t *v)
{
	const char *text = json_string_value(v);
	long long ms;

	if (strcmp(method, "poll") != 0 || strcmp(key, "timeout") != 0 ||
	    text == NULL)
		return false;
	ms = strtoll(text, NULL, 10);
	psup_args_int(a, key, ms > 0 ? ms : 0);
	return true;
}

/* Our own environment and directory, where the call names none. */
static void
add_surroundings(const struct tool *t, psup_args *a, const json_t *request)
{
	char name[256];

	if (json_object_get(request, "baseDir") == NULL && t->cwd[0] != '\0')
		psup_args_str(a, "baseDir", t->cwd);
	if (json_object_get(request, "baseEnv") != NULL)
		return;
	psup_args_map_begin(a, "baseEnv");
	for (char **v = environ; v != NULL && *v != NULL; v++) {
		size_t len = strcspn(*v, "=");

		/* What cannot be sent as text is left out. */
		if (len == 0 || len >= sizeof(name) || (*v)[len] == '\0' ||
		    !psup_is_utf8(*v, strlen(*v)))
			continue;
		memcpy(name, *v, len);
		name[len] = '\0';
		psup_args_str(a, name, *v + len + 1);
	}
	psup_args_map_end(a);
}

/* The members of a line that are parameters. */
static psup_args *
args_of(const struct tool *t, const char *method, const json_t *request)
{
	psup_args *a = psup_args_new();
	json_t *v, *r = json_incref((json_t *)(uintptr_t)request);
	bool exec = strcmp(method, "exec") == 0;
	const char *key;

	json_object_foreach(r, key, v)
	{
		if (strcmp(key, "id") == 0 || strcmp(key, "tool") == 0 ||
		    (!exec && strcmp(key, "action") == 0) ||
		    add_poll_timeout(a, method, key, v))
			continue;
		args_add_json(a, key, v);
	}
	json_decref(r);
	if (exec)
		add_surroundings(t, a, request);
	return a;
}

/* Connects where we are not. */
static int
ensure_connected(struct tool *t)
{
	struct psup_options o = PSUP_OPTIONS_INIT;

	if (psup_is_connected(t->c->p))
		return PSUP_OK;
	o.runtime_dir = t->c->runtime_dir;
	o.start = !t->c->no_start;
	o.client = "psup tool";
	o.scope = t->scope;
	return psup_connect(t->c->p, &o);
}

/* Sends one call; takes the reference. It is answered in any case. */
static void
start_call(struct tool *t, json_t *request)
{
	const json_t *id = json_object_get(request, "id");
	const char *method = method_of(t, request);
	struct call *call = calloc(1, sizeof(*call));
	psup_args *a;

	if (method == NULL || call == NULL) {
		if (method != NULL)
			answer_error(t, id, "no-memory", "", "no memory");
		free(call);
		json_decref(request);
		return;
	}
	call->t = t;
	call->id = json_incref((json_t *)(uintptr_t)id);
	t->calls++;
	t->busy = t->busy || id == NULL;
	a = args_of(t, method, request);
	if (ensure_connected(t) != PSUP_OK ||
	    psup_send(t->c->p, method, a, on_answer, call, NULL) != PSUP_OK)
		on_answer(call, PSUP_ERR_SYSTEM, NULL);
	psup_args_free(&a);
	json_decref(request);
}

/* Calls without an id whose turn has come. */
static void
start_queued(struct tool *t)
{
	struct queued *q;

	while (!t->busy && (q = t->first) != NULL) {
		t->first = q->next;
		if (t->first == NULL)
			t->last = &t->first;
		t->calls--;
		if (q->answer != NULL)
			answer(t, NULL, q->answer);
		else
			start_call(t, q->request);
		free(q);
	}
}

/* A valid object: runs now, or waits for those before it. */
static void
take_request(struct tool *t, json_t *request)
{
	const json_t *id = json_object_get(request, "id");

	if (id != NULL && json_is_null(id)) {
		json_object_del(request, "id");
		id = NULL;
	}
	if (id != NULL) {
		start_call(t, request);
		return;
	}
	enqueue(t, request, NULL);
}

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
	refuse_line(t, id, "bad-request",
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
	refuse_line(t, json_object_get(request, "id"), "too-big", longest,
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
		refuse_line(t, NULL, "bad-request", "", text);
	} else if (!json_is_object(request)) {
		refuse_line(t, NULL, "bad-request", "",
		    "a call is a JSON object: {\"tool\": \"exec\", ...}");
		json_decref(request);
	} else if (t->len > LINE_BYTES) {
		answer_too_long(t, request);
	} else {
		take_request(t, request);
	}
}

/* Appends to the line, up to where nobody looks any more. 0 or -ENOMEM. */
static int
extend_line(struct tool *t, const char *data, size_t len)
{
	char *grown;
	size_t cap;

	if (t->overlong || t->len + len > PARSE_BYTES) {
		t->overlong = true;
		t->len = 0;
		return 0;
	}
	if (t->cap < t->len + len + 1) {
		cap = t->cap > 0 ? t->cap : READ_BYTES;
		while (cap < t->len + len + 1)
			cap *= 2;
		grown = realloc(t->line, cap);
		if (grown == NULL)
			return -ENOMEM;
		t->line = grown;
		t->cap = cap;
	}
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

/* Until stdin has ended and everything is answered. */
static int
loop(struct tool *t)
{
	struct pollfd pfd[2];
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
		if (poll(pfd, 2, -1) < 0)
			continue; /* EINTR */
		if (pfd[1].revents != 0)
			psup_dispatch(t->c->p);
		if (pfd[0].revents != 0)
			rc = read_lines(t);
		start_queued(t);
	}
	if (rc < 0) {
		cli_say("stdin: %s", strerror(-rc));
		return EXIT_INTERNAL;
	}
	return t->out_broken ? EXIT_INTERNAL : EXIT_OK;
}

static int
run(struct cli *c, int argc, char **argv)
{
	static const struct option own[] = {
		{"scope", required_argument, NULL, 's'}, {0}};
	static struct tool t;
	int code;

	t.c = c;
	t.last = &t.first;
	while (cli_option(c, argc, argv, own) != -1)
		t.scope = optarg;
	if (c->usage_error)
		return EXIT_USAGE;
	if (optind != argc)
		return cli_usage(c, "it takes no argument");
	if (getcwd(t.cwd, sizeof(t.cwd)) == NULL ||
	    !psup_is_utf8(t.cwd, strlen(t.cwd)))
		t.cwd[0] = '\0';
	code = loop(&t);
	free(t.line);
	return code;
}

const struct command cmd_tool = {
	.name = "tool",
	.usage = "[--scope NAME] [--no-start]",
	.summary = "Answer tool calls: a JSON object a line, in and out",
	.help =
	    "  {\"tool\":\"exec\",\"command\":\"make\",\"yieldMs\":1000}\n"
	    "  {\"tool\":\"process\",\"action\":\"poll\",\"sessionId\":\"...\"}\n"
	    "Actions: list, poll, log, write, kill, clear, remove, wait.\n"
	    "Each line is answered by {\"text\":...,\"details\":{...},"
	    "\"isError\":...}.\n"
	    "A call with an \"id\" (echoed) runs beside the others; calls "
	    "without one are\nanswered in order. A mistake is an answer too; "
	    "the next line goes on.\n\n"
	    "  --scope NAME       see and start sessions of this scope only\n"
	    "  --no-start         start no server\n",
	.run = run,
};
