/* SPDX-License-Identifier: MIT */
/* Bad input: an error that names field, value and expectation; the connection
 * and everybody else go on. What libpsup would not even send is written to the
 * socket byte by byte. */
#include "lib_scn.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define FRAME(text) (text), sizeof(text) - 1

TestSuite(bad_input);

/* ------------------------------------------------------------- parameters */

SCENARIO(bad_input, names_field_value_and_expectation)
{
	const struct {
		const char *method, *code, *field, *word;
		struct arg args[3];
	} rows[] = {
	    {"exec", "invalid-params", "command", "command", {{0}}},
	    {"exec", "invalid-params", "command", "text",
	        {INT("command", 7), {0}}},
	    {"exec", "invalid-params", "command", "1 to", {STR("command", ""),
	        {0}}},
	    {"exec", "invalid-params", "cwd", "workdir",
	        {STR("command", "true"), STR("cwd", "/"), {0}}},
	    {"exec", "invalid-params", "timeout", "-1",
	        {STR("command", "true"), INT("timeout", -1), {0}}},
	    {"exec", "invalid-params", "priority", "5",
	        {STR("command", "true"), INT("priority", 5), {0}}},
	    {"exec", "invalid-params", "nonsense", "nonsense",
	        {STR("command", "true"), INT("nonsense", 1), {0}}},
	    {"exec", "invalid-params", NULL, "argv",
	        {STR("command", "true"), LIST("argv", "true"), {0}}},
	    {"exec", "bad-workdir", NULL, "/no/such/dir",
	        {STR("command", "true"), STR("workdir", "/no/such/dir"),
	            {0}}},
	    {"exec", "bad-workdir", NULL, "/etc/passwd",
	        {STR("command", "true"), STR("workdir", "/etc/passwd"), {0}}},
	    {"poll", "invalid-params", "sessionId", "sessionId", {{0}}},
	    {"poll", "not-found", NULL, "nobody",
	        {STR("sessionId", "nobody"), {0}}},
	    {"poll", "invalid-params", "since", "-5",
	        {STR("sessionId", "nobody"), INT("since", -5), {0}}},
	    {"kill", "not-found", NULL, "nobody",
	        {STR("sessionId", "nobody"), {0}}},
	    {"write", "not-found", NULL, "nobody",
	        {STR("sessionId", "nobody"), STR("data", "x"), {0}}},
	    {"clear", "not-found", NULL, "nobody",
	        {STR("sessionId", "nobody"), {0}}},
	    {"remove", "not-found", NULL, "nobody",
	        {STR("sessionId", "nobody"), {0}}},
	    {"frobnicate", "unknown-method", NULL, "frobnicate", {{0}}},
	};

	psupd();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct answer *a = scn_ask(NULL, rows[i].method,
		    rows[i].args);

		scn_refused(__FILE__, (int)i, a, rows[i].code, rows[i].field);
		expect(strstr(words_of(a), rows[i].word) != NULL,
		    "row %zu does not say %s: %s", i, rows[i].word,
		    words_of(a));
	}
	expect_str(ask("exec", STR("command", "echo on")), "status",
	    "completed");
}

SCENARIO(bad_input, an_argument_that_execve_would_not_take)
{
	size_t size = 3 << 20;
	char *huge;
	struct answer *a;

	psupd();
	huge = scn_alloc(size + 1);
	memset(huge, 'x', size);
	a = ask("exec", LIST("argv", "echo", huge));
	expect_refused(a, "too-big");
	expect(strstr(words_of(a), "argv") != NULL, "%s", words_of(a));
	huge[131072] = '\0';
	a = ask("exec", LIST("argv", "echo", huge));
	expect_refused(a, "too-big");
	huge[131071] = '\0';
	expect_str(ask("exec", LIST("argv", "true", huge)), "status",
	    "completed");
	expect_str(ask("exec", STR("command", "true")), "status",
	    "completed");
}

/* --------------------------------------------------------------- the wire */

/* Sends; a server that closed meanwhile is none of our business. */
static void
raw_send(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		bytes += n;
		len -= (size_t)n;
	}
}

/* What comes back within the deadline; 0: it was closed. */
static size_t
raw_receive(int fd, char *buf, size_t size)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	ssize_t n;

	expect(poll(&p, 1, SCN_DEADLINE_MS) == 1, "no answer");
	n = recv(fd, buf, size, 0);
	return n > 0 ? (size_t)n : 0;
}

/* [0, 1, "status", {}] */
static const char status_frame[] = "\x94\x00\x01\xa6status\x80";

static bool
contains(const char *buf, size_t len, const char *word)
{
	return memmem(buf, len, word, strlen(word)) != NULL;
}

SCENARIO(bad_input, frames_that_lie_are_answered_and_harm_nobody)
{
	static const struct {
		const char *what, *bytes;
		size_t len;
		const char *code; /* NULL: an answer or the end, as it likes */
		bool goes_on;     /* the connection takes the next request */
	} rows[] = {
	    {"an unknown method", FRAME("\x94\x00\x07\xa4nope\x80"),
	        "unknown-method", true},
	    {"params that are a number", FRAME("\x94\x00\x07\xa4list\x05"),
	        NULL, true},
	    {"a key twice",
	        FRAME("\x94\x00\x07\xa4list\x82\xa3""all\xc3\xa3""all\xc3"),
	        NULL, true},
	    {"NUL in a command",
	        FRAME("\x94\x00\x07\xa4""exec\x81\xa7""command\xa3""a\0b"),
	        "invalid-params", true},
	    {"invalid UTF-8 in a command",
	        FRAME("\x94\x00\x07\xa4""exec\x81\xa7""command\xa2""a\xff"),
	        "invalid-params", true},
	    {"an ext type",
	        FRAME("\x94\x00\x07\xa4list\x81\xa3""all\xd4\x01\x01"), NULL,
	        true},
	    {"a map where a request should be", FRAME("\x81\xa1x\x01"), NULL,
	        false},
	    {"an array header of 4 thousand million items",
	        FRAME("\x94\x00\x07\xa4list\x81\xa3""all\xdd\xff\xff\xff\xff"),
	        NULL, false},
	    {"a string header of 4 GiB",
	        FRAME("\x94\x00\x07\xdb\xff\xff\xff\xff"), NULL, false},
	    {"a map header of 4 thousand million pairs",
	        FRAME("\x94\x00\x07\xa4list\xdf\xff\xff\xff\xff"), NULL,
	        false},
	    {"a byte that is no MessagePack", FRAME("\xc1\xc1\xc1"), NULL,
	        false},
	};
	static char buf[65536];

	psupd();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = raw_connect();
		size_t n;

		raw_send(fd, rows[i].bytes, rows[i].len);
		n = raw_receive(fd, buf, sizeof(buf));
		if (rows[i].code != NULL)
			expect(contains(buf, n, rows[i].code), "%s: %.*s",
			    rows[i].what, (int)n, buf);
		if (rows[i].goes_on) {
			expect(n > 0, "%s: closed", rows[i].what);
			raw_send(fd, FRAME(status_frame));
			n = raw_receive(fd, buf, sizeof(buf));
			expect(contains(buf, n, "keeper"), "%s: then %.*s",
			    rows[i].what, (int)n, buf);
		}
		close(fd);
	}
	expect_ok(ask("list"));
}

/* Not only that it is wrong: what is, and what would be right. */
SCENARIO(bad_input, a_wrong_request_is_told_what_is_wrong)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *code, *says, *expects;
	} rows[] = {
	    {FRAME("\x94\x00\x07\xa4nope\x80"), "unknown-method", "\"nope\"",
	        "subscribe"},
	    {FRAME("\x94\x00\x07\x05\x80"), "bad-request", "method is 5",
	        "name"},
	    {FRAME("\x94\x00\x07\xa4list\x05"), "bad-request", "params is 5",
	        "a map"},
	    {FRAME("\x94\x00\xff\xa4list\x80"), "bad-request", "msgid is -1",
	        "4294967295"},
	    {FRAME("\x91\x05"), "bad-request", "1 item", "[0, msgid"},
	    {FRAME("\x94\x00\x07\xa4list\x82\xa2\xff\x1b\x01\xa2\xff\x1b"
	           "\x01"), "bad-request", "\\xff\\x1b", "twice"},
	    {FRAME("\x94\x00\x07\xa4""exec\x82\xa7""command\xa4true\xa4host"
	           "\xa4mars"), "invalid-params", "mars", "gateway"},
	    {FRAME("\x94\x00\x07\xa4wait\x82\xa9sessionId\xa1x\xa4mode\xa3"
	           "xyz"), "invalid-params", "xyz", "any or all"},
	};
	static char buf[65536];
	int fd;

	psupd();
	fd = raw_connect();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n;

		raw_send(fd, rows[i].bytes, rows[i].len);
		n = raw_receive(fd, buf, sizeof(buf));
		expect(contains(buf, n, rows[i].code) &&
		        contains(buf, n, rows[i].says) &&
		        contains(buf, n, rows[i].expects),
		    "row %zu: %.*s", i, (int)n, buf);
	}
	close(fd);
}

/* A header that promises more than is allowed is answered where it stands,
 * not when the promise is kept; what is skipped afterwards is answered no
 * second time. */
SCENARIO(bad_input, a_header_that_lies_is_answered_at_once)
{
	static const char lie[] = "\x94\x00\x07\xa4list\x81\xa3""all\xdc"
	                          "\x20\x00";
	static char rest[8192], buf[65536];
	int fd;
	size_t n;

	psupd();
	fd = raw_connect();
	raw_send(fd, FRAME(lie));
	n = raw_receive(fd, buf, sizeof(buf));
	expect(contains(buf, n, "limit-exceeded"), "%.*s", (int)n, buf);
	raw_send(fd, rest, sizeof(rest));
	raw_send(fd, FRAME(status_frame));
	n = raw_receive(fd, buf, sizeof(buf));
	expect(contains(buf, n, "keeper") &&
	        !contains(buf, n, "limit-exceeded"),
	    "then %.*s", (int)n, buf);
	close(fd);
}

SCENARIO(bad_input, deep_nesting_is_refused)
{
	static char frame[2000], buf[65536];
	int fd;
	size_t n;

	psupd();
	memcpy(frame, "\x94\x00\x07\xa4list", 8);
	memset(frame + 8, '\x91', sizeof(frame) - 9);
	frame[sizeof(frame) - 1] = '\xc0';
	fd = raw_connect();
	raw_send(fd, frame, sizeof(frame));
	n = raw_receive(fd, buf, sizeof(buf));
	expect(contains(buf, n, "limit-exceeded"), "%.*s", (int)n, buf);
	raw_send(fd, FRAME(status_frame));
	n = raw_receive(fd, buf, sizeof(buf));
	expect(contains(buf, n, "keeper"), "then %.*s", (int)n, buf);
	close(fd);
	expect_ok(ask("list"));
}

/* A frame without end: named, then closed; never kept in memory. */
SCENARIO(bad_input, an_endless_frame_is_refused)
{
	static char block[1 << 16], buf[65536];
	size_t n, sent = 0;
	int fd;

	psupd();
	memset(block, 'x', sizeof(block));
	fd = raw_connect();
	raw_send(fd, FRAME("\x94\x00\x07\xa4""exec\x81\xa7""command\xdb\x7f"
	                   "\xff\xff\xff"));
	for (; sent < (8 << 20); sent += sizeof(block)) {
		struct pollfd p = {.fd = fd, .events = POLLIN | POLLOUT};

		expect(poll(&p, 1, SCN_DEADLINE_MS) == 1);
		if (p.revents & (POLLIN | POLLHUP | POLLERR))
			break;
		raw_send(fd, block, sizeof(block));
	}
	expect(sent < (8 << 20), "eight megabytes were swallowed");
	n = raw_receive(fd, buf, sizeof(buf));
	expect(n == 0 || contains(buf, n, "frame-too-large") ||
	        contains(buf, n, "limit-exceeded"),
	    "%.*s", (int)n, buf);
	close(fd);
	expect_ok(ask("list"));
}

/* Cut at every byte, then hung up: nobody notices. */
SCENARIO(bad_input, a_client_that_dies_within_a_request)
{
	static const char frame[] =
	    "\x94\x00\x07\xa4""exec\x81\xa7""command\xa4true";

	psupd();
	for (size_t len = 0; len < sizeof(frame); len++) {
		int fd = raw_connect();

		raw_send(fd, frame, len);
		close(fd);
	}
	expect_str(ask("exec", STR("command", "echo on")), "status",
	    "completed");
}

/* --------------------------------------------------- the runtime directory */

/* psupd does not start there, says why, and touches nothing. */
static void
expect_no_start(const char *word)
{
	struct run *r = scn_run(NULL, 0,
	    (const char *const[]){"psupd", NULL});

	expect(r->code != 0 && r->code < 124, "exit %d", r->code);
	expect(strstr(r->err, word) != NULL || strstr(r->out, word) != NULL,
	    "it says %s%s", r->err, r->out);
}

SCENARIO(bad_input, a_runtime_directory_that_others_can_enter)
{
	expect(chmod(runtime_dir(), 0755) == 0);
	expect_no_start(runtime_dir());
}

SCENARIO(bad_input, a_runtime_directory_that_is_a_link)
{
	const char *elsewhere = file_in_scenario("elsewhere");

	expect(rmdir(runtime_dir()) == 0 && mkdir(elsewhere, 0700) == 0 &&
	    symlink(elsewhere, runtime_dir()) == 0);
	expect_no_start(runtime_dir());
}

SCENARIO(bad_input, a_runtime_directory_of_somebody_else)
{
	if (geteuid() != 0)
		skip_scenario("only root can give a directory away");
	expect(chown(runtime_dir(), 12345, 12345) == 0);
	expect_no_start(runtime_dir());
}

SCENARIO(bad_input, a_runtime_directory_in_use)
{
	char pid[32];

	psupd();
	snprintf(pid, sizeof(pid), "%d", keeper_pid());
	expect_no_start(pid);
	expect_ok(ask("list"));
}

/* ------------------------------------------------------------- tmpfs full */

SCENARIO(bad_input, a_full_tmpfs_refuses_the_new_and_keeps_the_running)
{
	const char *ids[40], *up;
	struct answer *a = NULL;
	int n = 0;

	if (geteuid() != 0)
		skip_scenario("only root has a tmpfs of its own");
	/* a budget that promises what the tmpfs does not have */
	psupd(.tmpfs_bytes = 24 << 20,
	    .conf = "[server]\noutput_budget = 100000000\n");
	up = background(PUPPET("print up; cat"));
	await_output(up, "up\n");
	/* Sessions that hang keep their output: nothing can be evicted. */
	for (; n < 40; n++) {
		a = ask("exec", PUPPET("bytes 1000000; hang"),
		    YES("background"));
		if (a->status != PSUP_OK || psup_reply_is_error(a->reply))
			break;
		ids[n] = id_of(a);
	}
	if (n < 40) {
		expect_refused(a, "no-space");
	}
	expect(n > 2, "only %d sessions fit", n);
	expect_ok(ask("write", STR("sessionId", up), STR("data", "still\n")));
	await_output(up, "still\n");
	for (int i = 0; i < n; i++)
		expect(is_alive(pid_of(ids[i])), "%s", ids[i]);
	/* Room again: new ones start again. */
	for (int i = 0; i < n; i++)
		expect_ok(ask("remove", STR("sessionId", ids[i])));
	expect_str(ask("exec", STR("command", "echo on")), "status",
	    "completed");
}

/* What is removed counts no more, though it takes its grace to die. */
SCENARIO(bad_input, a_full_budget_has_room_as_soon_as_one_is_removed)
{
	const char *first, *second;
	struct answer *a;

	psupd(.conf = "[server]\noutput_budget = 600000\n");
	first = background(PUPPET("ignore 15; bytes 1000000; print up; hang"));
	await_output(first, "up");
	second = background(PUPPET("bytes 1000000; print up; hang"));
	await_output(second, "up");
	a = ask("exec", STR("command", "true"));
	expect_refused(a, "share-used-up");
	expect_ok(ask("remove", STR("sessionId", first)));
	expect_str(ask("exec", STR("command", "echo on")), "status",
	    "completed");
}
