/* SPDX-License-Identifier: MIT */
/* Requests, answers, notifications and what can go wrong with them. */
#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib_fake.h"

TestSuite(client, .timeout = 20);

/* Answers every method with its name. */
static bool
echo(struct fake *f, uint64_t id, const char *method, const struct val *params)
{
	(void)params;
	if (id != 0)
		fake_answer_text(f, id, method);
	return true;
}

Test(client, a_call_gets_its_answer)
{
	struct fake f;
	psup_reply *r = NULL;
	psup *p;

	fake_start(&f, echo);
	p = fake_connect(&f);
	cr_assert_eq(psup_list(p, false, &r), PSUP_OK);
	cr_expect_str_eq(f.dir, psup_runtime_dir(p));
	cr_expect(psup_get_is(psup_reply_value(r), "text", "list"));
	cr_expect(psup_get_is(psup_reply_details(r), "status", "completed"));
	cr_expect_not(psup_reply_is_error(r));
	psup_reply_free(&r);
	cr_expect_null(r);
	psup_free(&p);
	fake_stop(&f);
}

/* Does the heap hold these bytes? They are given changed, so as not to be found
 * themselves. */
static bool
heap_has(const char *changed, size_t n)
{
	unsigned long at = 0, end = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	size_t same = 0;

	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
		if (strstr(line, "[heap]") != NULL)
			(void)sscanf(line, "%lx-%lx", &at, &end);
	if (maps != NULL)
		fclose(maps);
	for (; at < end && same < n; at++) {
		char byte = *(const volatile char *)at;

		same = (byte ^ 0x5a) == changed[same] ? same + 1 : 0;
	}
	return same == n;
}

/* Asks in a process that has nothing of its server's; the handle stays. */
static int
ask_with_secret(struct fake *f)
{
	static const char changed[] = "\x09\x1f\x19\x08\x1f\x0e\x67\x32"
				      "\x2f\x34\x2e\x3f\x28\x68";
	char secret[sizeof(changed)];
	const char *env[] = {secret, NULL};
	struct psup_exec x = PSUP_EXEC_INIT;
	psup_reply *r = NULL;
	psup *p = fake_connect(f);
	char *kept = malloc(sizeof(secret));

	for (size_t i = 0; i < sizeof(secret) - 1; i++)
		kept[i] = secret[i] = (char)(changed[i] ^ 0x5a);
	kept[sizeof(secret) - 1] = secret[sizeof(secret) - 1] = '\0';
	if (!heap_has(changed, sizeof(changed) - 1))
		return 2; /* a heap of another kind: that of a sanitizer */
	explicit_bzero(kept, sizeof(secret));
	x.command = "true";
	x.env = env;
	if (psup_exec(p, &x, &r) != PSUP_OK)
		return 3;
	psup_reply_free(&r);
	/* the KEY of its "KEY=value" may be anywhere */
	return heap_has(changed + 7, sizeof(changed) - 8) ? 1 : 0;
}

Test(client, leaves_no_copy_of_an_environment)
{
	struct fake f;
	int status;
	pid_t pid;

	fake_start(&f, echo);
	pid = fork();
	if (pid == 0)
		_exit(ask_with_secret(&f));
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) != 3);
	cr_expect_neq(WEXITSTATUS(status), 1, "it is in memory still");
	fake_stop(&f);
}

/* Every typed call passes the checks of the wire. */
Test(client, every_typed_call_reaches_the_server)
{
	static const char *const argv[] = {"a", "b", NULL};
	static const char *const env[] = {"A=1", "B=", NULL};
	static const char *const base[] = {"OK=1", "\xff=2", "noequals", NULL};
	const char *ids[] = {"amber-fox", "calm-owl"};
	struct psup_exec x = PSUP_EXEC_INIT;
	psup_reply *r = NULL;
	struct fake f;
	psup *p;

	fake_start(&f, echo);
	p = fake_connect(&f);
#define REACHES(name, call)                                                    \
	do {                                                                   \
		cr_assert_eq((call), PSUP_OK, "%s", psup_error_message(p));    \
		cr_expect(psup_get_is(psup_reply_value(r), "text", name));     \
		psup_reply_free(&r);                                           \
	} while (0)
	x.argv = argv;
	x.env = env;
	x.base_env = base;
	x.yield_ms = -2;
	x.timeout_sec = 1.5;
	x.stdin_text = "hello";
	REACHES("exec", psup_exec(p, &x, &r));
	REACHES("poll", psup_poll(p, "amber-fox", 1000, 5, "me", &r));
	REACHES("log", psup_log(p, "amber-fox", 0, 10, "stdout", &r));
	REACHES("write", psup_write(p, "amber-fox", "x", 1, true, 100, &r));
	REACHES("kill", psup_kill(p, "amber-fox", "INT", 0,
	                    PSUP_KILL_NO_WAIT | PSUP_KILL_SIGNAL_ONLY, &r));
	REACHES("background", psup_background(p, "amber-fox", &r));
	REACHES("clear", psup_clear(p, "amber-fox", &r));
	REACHES("remove", psup_remove(p, "amber-fox", &r));
	REACHES("wait", psup_wait(p, ids, 2, true, 1000, &r));
	REACHES("events", psup_events(p, "me", 0, 10, &r));
	REACHES("subscribe", psup_subscribe(p, NULL, -1, &r));
	REACHES("ack", psup_ack(p, "me", 7, &r));
	REACHES("lanes",
	    psup_lanes(p, &(struct psup_lane_op)PSUP_LANE_OP_INIT, &r));
	REACHES("status", psup_status(p, &r));
	REACHES("shutdown", psup_shutdown(p, 100, &r));
	psup_free(&p);
	fake_stop(&f);
}

/* Keeps the first answer back until the second request is there. */
static bool
swapped(struct fake *f, uint64_t id, const char *method,
    const struct val *params)
{
	(void)params;
	if (strcmp(method, "list") == 0) {
		f->remembered = id;
		return true;
	}
	fake_answer_text(f, id, "second");
	fake_answer_text(f, f->remembered, "first");
	return true;
}

struct seen {
	int status;
	char text[32];
	unsigned order;
};
static unsigned answers;

static void
on_answer(void *arg, int status, psup_reply *reply)
{
	struct seen *s = arg;

	s->status = status;
	s->order = ++answers;
	psup_get_copy(psup_reply_value(reply), "text", s->text,
	    sizeof(s->text));
	psup_reply_free(&reply);
}

Test(client, requests_under_way_are_told_apart)
{
	struct seen first = {.status = 1}, second = {.status = 1};
	struct fake f;
	psup *p;

	fake_start(&f, swapped);
	p = fake_connect(&f);
	cr_assert_eq(psup_send(p, "list", NULL, on_answer, &first, NULL), 0);
	cr_assert_eq(psup_send(p, "status", NULL, on_answer, &second, NULL), 0);
	cr_expect_eq(psup_pending(p), 2);
	while (psup_pending(p) > 0)
		cr_assert_eq(psup_turn(p, 60000), PSUP_OK);
	cr_expect_eq(first.status, PSUP_OK);
	cr_expect_str_eq(first.text, "first");
	cr_expect_str_eq(second.text, "second");
	cr_expect_eq(second.order, 1);
	psup_free(&p);
	fake_stop(&f);
}

/* Streams three notes, then answers. */
static bool
stream(struct fake *f, uint64_t id, const char *method,
    const struct val *params)
{
	(void)params;
	if (strcmp(method, "exec") != 0)
		return true;
	fake_note_output(f, id, 0, "one ");
	fake_note_output(f, id, 4, "two ");
	fake_note_output(f, id, 8, "three");
	fake_answer_text(f, id, "done");
	return true;
}

struct collected {
	psup *p;
	char text[64];
	bool pause;
	unsigned notes;
};

static void
on_note(void *arg, const char *name, const psup_value *params)
{
	struct collected *c = arg;
	size_t len, at = strlen(c->text);
	const char *data = psup_get_str(params, "data", &len);

	cr_expect_str_eq(name, "output");
	cr_expect_eq(psup_get_int(params, "pos", -1), (int64_t)at);
	memcpy(c->text + at, data, len);
	c->text[at + len] = '\0';
	c->notes++;
	if (c->pause)
		psup_pause(c->p, true);
}

Test(client, notes_come_before_the_answer_and_in_order)
{
	struct psup_exec x = PSUP_EXEC_INIT;
	struct collected c = {0};
	psup_reply *r = NULL;
	struct fake f;

	fake_start(&f, stream);
	c.p = fake_connect(&f);
	psup_on_note(c.p, on_note, &c);
	x.command = "true";
	cr_assert_eq(psup_exec(c.p, &x, &r), PSUP_OK);
	cr_expect_str_eq(c.text, "one two three");
	psup_reply_free(&r);
	psup_free(&c.p);
	fake_stop(&f);
}

Test(client, a_pause_holds_messages_back)
{
	struct seen s = {.status = 1};
	struct collected c = {.pause = true};
	psup_args *a = psup_args_new();
	struct fake f;

	fake_start(&f, stream);
	c.p = fake_connect(&f);
	psup_on_note(c.p, on_note, &c);
	psup_args_str(a, "command", "true");
	cr_assert_eq(psup_send(c.p, "exec", a, on_answer, &s, NULL), PSUP_OK);
	for (unsigned i = 1; i <= 3; i++) {
		psup_pause(c.p, false);
		while (c.notes < i)
			cr_assert_eq(psup_turn(c.p, 60000), PSUP_OK);
		cr_expect_eq(c.notes, i);
		cr_expect_eq(psup_fd_events(c.p) & POLLIN, 0);
		cr_expect_eq(psup_pending(c.p), 1);
	}
	psup_pause(c.p, false);
	while (psup_pending(c.p) > 0)
		cr_assert_eq(psup_turn(c.p, 60000), PSUP_OK);
	cr_expect_eq(s.status, PSUP_OK);
	psup_args_free(&a);
	psup_free(&c.p);
	fake_stop(&f);
}

/* Refuses everything. */
static bool
refuse(struct fake *f, uint64_t id, const char *method,
    const struct val *params)
{
	(void)method, (void)params;
	fake_answer_error(f, id, "not-found", "No session found for x",
	    "sessionId");
	return true;
}

Test(client, a_refusal_keeps_code_message_and_field)
{
	psup_reply *r = NULL;
	struct fake f;
	psup *p;

	fake_start(&f, refuse);
	p = fake_connect(&f);
	cr_assert_eq(psup_clear(p, "x", &r), PSUP_ERR_REFUSED);
	cr_expect_null(r);
	cr_expect_str_eq(psup_error_code(p), "not-found");
	cr_expect_str_eq(psup_error_field(p), "sessionId");
	cr_expect_str_eq(psup_error_message(p), "No session found for x");
	cr_expect(psup_is_connected(p));
	psup_free(&p);
	fake_stop(&f);
}

Test(client, mistakes_are_refused_before_sending)
{
	psup_args *a = psup_args_new();
	psup_reply *r = NULL;
	char *big = malloc(5 << 20);
	struct fake f;
	psup *p;

	fake_start(&f, refuse);
	p = fake_connect(&f);
	cr_assert_eq(psup_call(p, "no-such", NULL, 60000, &r), PSUP_ERR_REFUSED);
	cr_expect_str_eq(psup_error_code(p), "unknown-method");

	psup_args_str(a, "cwd", "/");
	cr_assert_eq(psup_call(p, "exec", a, 60000, &r), PSUP_ERR_REFUSED);
	cr_expect_str_eq(psup_error_code(p), "invalid-params");
	cr_expect_str_eq(psup_error_field(p), "cwd");
	psup_args_free(&a);

	a = psup_args_new();
	memset(big, 'x', 5 << 20);
	psup_args_strn(a, "command", big, 5 << 20);
	cr_assert_eq(psup_call(p, "exec", a, 60000, &r), PSUP_ERR_REFUSED);
	cr_expect_str_eq(psup_error_code(p), "too-big");
	cr_expect_str_eq(psup_error_field(p), "command");
	psup_args_free(&a);

	a = psup_args_new();
	psup_args_strn(a, "command", big, 131072);
	cr_assert_eq(psup_call(p, "exec", a, 60000, &r), PSUP_ERR_REFUSED);
	cr_expect_str_eq(psup_error_code(p), "too-big");
	psup_args_free(&a);

	a = psup_args_new();
	psup_args_list_begin(a, "argv");
	psup_args_str(a, NULL, "echo");
	psup_args_strn(a, NULL, big, 5 << 20);
	psup_args_list_end(a);
	cr_assert_eq(psup_call(p, "exec", a, 60000, &r), PSUP_ERR_REFUSED);
	cr_expect_str_eq(psup_error_field(p), "argv[1]");
	psup_args_free(&a);

	a = psup_args_new();
	psup_args_str(a, NULL, "no key");
	cr_assert_eq(psup_call(p, "exec", a, 60000, &r), PSUP_ERR_USAGE);
	psup_args_free(&a);

	a = psup_args_new();
	for (int i = 0; i < 40; i++)
		psup_args_map_begin(a, "deeper");
	cr_assert_eq(psup_call(p, "exec", a, 60000, &r), PSUP_ERR_REFUSED);
	cr_expect_str_eq(psup_error_code(p), "limit-exceeded");
	psup_args_free(&a);

	cr_expect_null(r);
	cr_expect(psup_is_connected(p));
	free(big);
	psup_free(&p);
	fake_stop(&f);
}

/* Hangs up on the request. */
static bool
hang_up(struct fake *f, uint64_t id, const char *method,
    const struct val *params)
{
	(void)f, (void)id, (void)method, (void)params;
	return false;
}

Test(client, a_server_that_dies_answers_every_request_with_lost)
{
	struct seen s = {.status = 1};
	psup_reply *r = NULL;
	struct fake f;
	psup *p;

	fake_start(&f, hang_up);
	p = fake_connect(&f);
	cr_assert_eq(psup_send(p, "status", NULL, on_answer, &s, NULL), 0);
	cr_assert_eq(psup_list(p, false, &r), PSUP_ERR_LOST);
	cr_expect_str_eq(psup_error_code(p), "connection-lost");
	cr_expect_eq(s.status, PSUP_ERR_LOST);
	cr_expect_eq(psup_pending(p), 0);
	cr_expect_not(psup_is_connected(p));
	cr_expect_eq(psup_fd(p), -1);
	psup_free(&p);
	fake_stop(&f);
}

/* The first half of an answer, then the end. */
static bool
truncated(struct fake *f, uint64_t id, const char *method,
    const struct val *params)
{
	unsigned char half[] = {0x94, 0x01, (unsigned char)id, 0xc0, 0x83};

	(void)method, (void)params;
	fake_send(f, half, sizeof(half));
	return false;
}

Test(client, half_an_answer_is_none)
{
	psup_reply *r = NULL;
	struct fake f;
	psup *p;

	fake_start(&f, truncated);
	p = fake_connect(&f);
	cr_assert_eq(psup_list(p, false, &r), PSUP_ERR_LOST);
	cr_expect_null(r);
	psup_free(&p);
	fake_stop(&f);
}

/* What is no message at all. */
static bool
nonsense(struct fake *f, uint64_t id, const char *method,
    const struct val *params)
{
	(void)id, (void)method, (void)params;
	fake_send(f, "\xc1\xc1\xc1", 3);
	return true;
}

Test(client, nonsense_closes_the_connection)
{
	psup_reply *r = NULL;
	struct fake f;
	psup *p;

	fake_start(&f, nonsense);
	p = fake_connect(&f);
	cr_assert_eq(psup_list(p, false, &r), PSUP_ERR_PROTOCOL);
	cr_expect_str_eq(psup_error_code(p), "bad-answer");
	cr_expect_not(psup_is_connected(p));
	psup_free(&p);
	fake_stop(&f);
}

/* Answers late: only when the cancel came. */
static bool
late(struct fake *f, uint64_t id, const char *method, const struct val *params)
{
	(void)params;
	if (strcmp(method, "cancel") == 0)
		fake_answer_text(f, f->remembered, "too late");
	else if (strcmp(method, "list") == 0)
		f->remembered = id;
	else
		fake_answer_text(f, id, method);
	return true;
}

Test(client, a_call_that_timed_out_is_cancelled_and_forgotten)
{
	psup_reply *r = NULL;
	struct fake f;
	psup *p;

	fake_start(&f, late);
	p = fake_connect(&f);
	cr_assert_eq(psup_call(p, "list", NULL, 30, &r), PSUP_ERR_TIMEOUT);
	cr_expect_eq(psup_pending(p), 0);
	cr_assert_eq(psup_status(p, &r), PSUP_OK, "%s", psup_error_message(p));
	cr_expect(psup_get_is(psup_reply_value(r), "text", "status"));
	psup_reply_free(&r);
	psup_free(&p);
	fake_stop(&f);
}

Test(client, nobody_there_is_told_from_nobody_answering)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	struct fake f;
	psup *p;

	cr_assert_eq(psup_new(&p), PSUP_OK);
	o.runtime_dir = "/dev/shm/psup-test-there-is-no-such-directory";
	cr_expect_eq(psup_connect(p, &o), PSUP_ERR_NO_SERVER);
	cr_expect_str_eq(psup_error_code(p), "no-server");
	fake_start(&f, echo);
	f.mute = 1;
	o.runtime_dir = f.dir;
	o.timeout_ms = 50;
	cr_expect_eq(psup_connect(p, &o), PSUP_ERR_TIMEOUT);
	cr_expect_not(psup_is_connected(p));
	f.mute = 0;
	o.timeout_ms = 0;
	cr_expect_eq(psup_connect(p, &o), PSUP_OK, "%s", psup_error_message(p));
	psup_free(&p);
	fake_stop(&f);
}

/* It is a child of ours, which nobody has asked how it ended: as where psupd's
 * parent reaps late. A client that believed in it would wait for its socket. */
Test(client, a_dead_keeper_that_nobody_reaped_is_none)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	char dir[] = "/dev/shm/psup-test-XXXXXX", path[64];
	siginfo_t si;
	pid_t keeper;
	FILE *lock;
	psup *p;

	cr_assert_not_null(mkdtemp(dir));
	keeper = fork();
	if (keeper == 0)
		_exit(0);
	cr_assert_eq(waitid(P_PID, (id_t)keeper, &si, WEXITED | WNOWAIT), 0);
	snprintf(path, sizeof(path), "%s/lock", dir);
	lock = fopen(path, "w");
	fprintf(lock, "%d\n", (int)keeper);
	fclose(lock);
	cr_assert_eq(psup_new(&p), PSUP_OK);
	o.runtime_dir = dir;
	o.timeout_ms = 3600000;
	cr_expect_eq(psup_connect(p, &o), PSUP_ERR_NO_SERVER);
	psup_free(&p);
	waitpid(keeper, NULL, 0);
	unlink(path);
	rmdir(dir);
}

Test(client, a_starter_that_fails_is_quoted)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	char dir[] = "/dev/shm/psup-test-XXXXXX", path[64];
	FILE *script;
	psup *p;

	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/psupd", dir);
	script = fopen(path, "w");
	fprintf(script, "#!/bin/sh\necho \"cannot start: $SECRET$PSUP_RUNTIME_DIR\""
	                " >&2\nexit 71\n");
	fclose(script);
	cr_assert_eq(chmod(path, 0700), 0);
	setenv("SECRET", "leaked", 1);
	cr_assert_eq(psup_new(&p), PSUP_OK);
	o.runtime_dir = dir;
	o.psupd = path;
	o.start = true;
	cr_expect_eq(psup_connect(p, &o), PSUP_ERR_SYSTEM);
	cr_expect_not_null(strstr(psup_error_message(p), "cannot start: /dev/"),
	    "%s", psup_error_message(p));
	cr_expect_not_null(strstr(psup_error_message(p), "exit code 71"));
	psup_free(&p);
	unlink(path);
	rmdir(dir);
}
