/* SPDX-License-Identifier: MIT */
/* A server whose connections break at every stage, and who may be spoken to. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lib_fake.h"

TestSuite(resume, .timeout = 30);

static void
begin(struct fake *f, fake_handler *handler, psup **ret)
{
	fake_start(f, handler);
	f->incarnation = "00000000000000aa";
	*ret = fake_connect(f);
}

static void
end(struct fake *f, psup **p)
{
	psup_free(p);
	fake_stop(f);
}

/* Hangs up on the first two requests: at once, then in the middle of the
 * answer. */
static bool
third_time(struct fake *f, uint64_t id, const char *method,
    const struct val *params)
{
	const unsigned char half[] = {0x94, 0x01, (unsigned char)id, 0xc0,
	    0x83};

	(void)params;
	if (f->asked == 1)
		fake_send(f, half, sizeof(half));
	if (f->asked++ < 2) {
		f->hangs_up = f->asked; /* and on hellos */
		return false;
	}
	fake_answer_text(f, id, method);
	return true;
}

Test(resume, a_lost_answer_is_asked_for_again)
{
	struct psup_exec x = PSUP_EXEC_INIT;
	psup_reply *r = NULL;
	struct fake f;
	psup *p;

	begin(&f, third_time, &p);
	x.command = "true";
	x.request_key = "k";
#define AGAIN(name, call)                                                      \
	do {                                                                   \
		f.asked = 0;                                                   \
		cr_assert_eq((call), PSUP_OK, "%s", psup_error_message(p));    \
		cr_expect(psup_get_is(psup_reply_value(r), "text", name));     \
		cr_expect_eq(f.asked, 3, "%s: %u", name, f.asked);             \
		psup_reply_free(&r);                                           \
	} while (0)
	AGAIN("list", psup_list(p, false, &r));
	cr_expect_eq(psup_resumed(p), 2);
	AGAIN("exec", psup_exec(p, &x, &r));
	AGAIN("write", psup_write_at(p, "a", "x", 1, true, 7, 0, &r));
	AGAIN("kill", psup_kill(p, "a", "INT", 0, 0, &r));
	AGAIN("poll", psup_poll(p, "a", 0, -1, NULL, &r));
	AGAIN("lanes", psup_lanes(p,
	    &(struct psup_lane_op)PSUP_LANE_OP_INIT, &r));
	end(&f, &p);
}

/* A server that is short of memory says so, and is asked again. */
Test(resume, a_busy_server_is_waited_for)
{
	psup_reply *r = NULL;
	struct fake f;
	psup *p;

	memset(&f, 0, sizeof(f));
	begin(&f, third_time, &p);
	f.busy = 3;
	cr_assert_eq(psup_list(p, false, &r), PSUP_OK, "%s",
	    psup_error_message(p));
	cr_expect_eq(f.busy, 0);
	psup_reply_free(&r);
	psup_close(p);
	f.busy = 2;
	cr_expect_eq(psup_connect(p, &(struct psup_options){
	    .size = sizeof(struct psup_options), .runtime_dir = f.dir}),
	    PSUP_OK, "%s", psup_error_message(p));
	cr_expect_eq(f.busy, 0);
	end(&f, &p);
}

/* The master dies while nobody waits for anything. */
Test(resume, what_broke_while_idle_is_taken_up_by_the_next_call)
{
	psup_reply *r = NULL;
	struct fake f;
	psup *p;

	begin(&f, third_time, &p);
	f.asked = 2; /* it hangs up on nobody of itself */
	shutdown(f.conn, SHUT_RDWR);
	while (psup_turn(p, 10000) == PSUP_OK)
		;
	cr_expect_not(psup_is_connected(p));
	cr_assert_eq(psup_list(p, false, &r), PSUP_OK, "%s",
	    psup_error_message(p));
	cr_expect(psup_get_is(psup_reply_value(r), "text", "list"));
	cr_expect_eq(psup_resumed(p), 1);
	psup_reply_free(&r);
	/* what its caller has closed stays closed */
	psup_close(p);
	cr_expect_eq(psup_list(p, false, &r), PSUP_ERR_LOST);
	end(&f, &p);
}

/* Answers all but what may not be asked for again. */
static bool
no_submit(struct fake *f, uint64_t id, const char *method,
    const struct val *params)
{
	(void)params;
	f->asked++;
	if (strcmp(method, "submit") == 0)
		return false;
	fake_answer_text(f, id, method);
	return true;
}

/* Nobody was to be asked again, and the caller was told so: what it asks next
 * is for the next master. */
Test(resume, what_broke_with_nothing_to_repeat_is_taken_up_by_the_next_call)
{
	psup_args *a = psup_args_new();
	psup_reply *r = NULL;
	struct fake f;
	psup *p;

	begin(&f, no_submit, &p);
	psup_args_str(a, "sessionId", "a");
	cr_assert_eq(psup_call(p, "submit", a, 5000, &r), PSUP_ERR_LOST);
	cr_expect_not(psup_is_connected(p));
	cr_assert_eq(psup_list(p, false, &r), PSUP_OK, "%s",
	    psup_error_message(p));
	cr_expect_eq(psup_resumed(p), 1);
	psup_reply_free(&r);
	psup_args_free(&a);
	end(&f, &p);
}

/* What a subscriber missed is its own to ask for: by the next call. */
Test(resume, a_subscriber_is_told_and_its_next_call_takes_it_up)
{
	psup_reply *r = NULL;
	struct fake f;
	psup *p;

	begin(&f, no_submit, &p);
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(psup_subscribe(p, NULL, -1, &r), PSUP_OK, "%s",
		    psup_error_message(p));
		psup_reply_free(&r);
		cr_expect_eq(psup_resumed(p), i);
		shutdown(f.conn, SHUT_RDWR);
		cr_expect_eq(psup_turn(p, 10000), PSUP_ERR_LOST);
	}
	end(&f, &p);
}

/* Masters die one after the other before they have said hello: as long as
 * somebody listens there will be another one. */
Test(resume, masters_may_die_as_often_as_they_like)
{
	psup_reply *r = NULL;
	struct fake f;
	psup *p;

	begin(&f, third_time, &p);
	f.asked = 2;
	f.hangs_up = 55;
	shutdown(f.conn, SHUT_RDWR);
	cr_assert_eq(psup_list(p, false, &r), PSUP_OK, "%s",
	    psup_error_message(p));
	cr_expect_eq(f.hangs_up, 0);
	psup_reply_free(&r);
	end(&f, &p);
}

/* The master dies with the answer to hello just sent: both arrive at once. */
Test(resume, an_end_that_comes_with_the_hello_is_no_connection)
{
	psup_reply *r = NULL;
	struct fake f;
	psup *p;

	fake_start(&f, third_time);
	f.incarnation = "00000000000000aa";
	f.asked = 2;
	f.ends_after_hello = 1;
	p = fake_connect(&f);
	cr_assert_eq(psup_list(p, false, &r), PSUP_OK, "%s",
	    psup_error_message(p));
	cr_expect_eq(f.hellos, 2);
	psup_reply_free(&r);
	end(&f, &p);
}

static const struct {
	const char *method, *param; /* with which it would be asked again */
} twice[] = {
	{"send-keys", ""}, {"submit", ""}, {"paste", ""}, {"clear", ""},
	{"remove", ""}, {"write", "position"}, {"exec", "requestKey"},
};

Test(resume, what_may_not_be_done_twice_is_said)
{
	psup_reply *r = NULL;
	psup_args *a;
	struct fake f;
	psup *p;

	for (size_t i = 0; i < sizeof(twice) / sizeof(twice[0]); i++) {
		const char *m = twice[i].method;

		begin(&f, third_time, &p);
		a = psup_args_new();
		psup_args_str(a, strcmp(m, "exec") == 0 ? "command"
		                                        : "sessionId", "a");
		if (strcmp(m, "paste") == 0)
			psup_args_str(a, "text", "x");
		cr_expect_eq(psup_call(p, m, a, 5000, &r), PSUP_ERR_LOST, "%s",
		    m);
		cr_expect_eq(f.asked, 1, "%s", m);
		cr_expect_str_eq(psup_error_code(p), "connection-lost");
		cr_expect_str_eq(psup_error_field(p), twice[i].param);
		cr_expect_eq(strncmp(psup_error_message(p), m, strlen(m)), 0,
		    "%s", psup_error_message(p));
		psup_args_free(&a);
		end(&f, &p);
	}
}

/* Another server than before: nothing of what was asked is for it. */
static bool
replaced(struct fake *f, uint64_t id, const char *method,
    const struct val *params)
{
	(void)id, (void)method, (void)params;
	f->asked++;
	f->incarnation = "00000000000000bb";
	return false;
}

Test(resume, another_server_is_not_asked)
{
	psup_reply *r = NULL;
	struct fake f;
	psup *p;

	begin(&f, replaced, &p);
	cr_assert_eq(psup_list(p, false, &r), PSUP_ERR_LOST);
	cr_expect_not_null(strstr(psup_error_message(p), "another one"), "%s",
	    psup_error_message(p));
	cr_expect_str_eq(psup_error_code(p), "no-server");
	cr_expect_eq(f.asked, 1);
	cr_expect_not(psup_is_connected(p));
	end(&f, &p);
}

/* Ends for good at the second request; at the first it only hangs up. */
static bool
gone(struct fake *f, uint64_t id, const char *method, const struct val *params)
{
	char path[80];

	(void)id, (void)method, (void)params;
	snprintf(path, sizeof(path), "%s/sock", f->dir);
	if (f->asked++ == 1)
		unlink(path);
	return false;
}

Test(resume, a_server_that_is_gone_is_not_waited_for)
{
	psup_reply *r = NULL;
	struct fake f;
	psup *p;

	begin(&f, gone, &p);
	cr_assert_eq(psup_status(p, &r), PSUP_ERR_LOST);
	cr_expect_eq(f.asked, 2);
	cr_expect_not_null(strstr(psup_error_message(p), "no server"), "%s",
	    psup_error_message(p));
	cr_expect_str_eq(psup_error_code(p), "no-server");
	/* and nobody tries again */
	cr_expect_eq(psup_status(p, &r), PSUP_ERR_LOST);
	cr_expect_eq(f.asked, 2);
	end(&f, &p);
}

/* Who hangs up on every request is not asked for ever. */
static bool
poisoned(struct fake *f, uint64_t id, const char *method,
    const struct val *params)
{
	(void)id, (void)method, (void)params;
	f->asked++;
	return false;
}

Test(resume, what_always_breaks_the_connection_is_given_up)
{
	psup_reply *r = NULL;
	struct fake f;
	psup *p;

	begin(&f, poisoned, &p);
	cr_assert_eq(psup_list(p, false, &r), PSUP_ERR_LOST);
	cr_expect_gt(f.asked, 10);
	end(&f, &p);
}

/* Keeps what the first connection begins with, and nobody else's: the scope's
 * memory is used up by then. */
static bool
full_scope(struct fake *f, uint64_t id, const char *method,
    const struct val *params)
{
	(void)params;
	if (strcmp(method, "defaults") != 0)
		return false;
	if (f->asked++ == 0)
		fake_answer_text(f, id, "");
	else
		fake_answer_error(f, id, "share-used-up",
		    "memory: this scope uses 140 MiB, its share is 128", "");
	return true;
}

/* Nobody else's end gives it room again: it is told, not kept waiting. */
Test(resume, a_scope_without_room_is_given_up)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	psup_args *defaults = psup_args_new();
	psup_reply *r = NULL;
	struct fake f;
	psup *p;

	fake_start(&f, full_scope);
	f.incarnation = "00000000000000aa";
	psup_args_str(defaults, "baseDir", "/");
	o.runtime_dir = f.dir;
	o.defaults = defaults;
	cr_assert_eq(psup_new(&p), PSUP_OK);
	cr_assert_eq(psup_connect(p, &o), PSUP_OK, "%s", psup_error_message(p));
	cr_assert_eq(psup_list(p, false, &r), PSUP_ERR_LOST);
	cr_expect_gt(f.asked, 10);
	cr_expect(strstr(psup_error_message(p), "its share is 128") != NULL,
	    "%s", psup_error_message(p));
	psup_args_free(&defaults);
	end(&f, &p);
}

/* Another scope needed what it keeps for execs: it says so until it has it again,
 * each time. */
static bool
takes_back(struct fake *f, uint64_t id, const char *method,
    const struct val *params)
{
	(void)params;
	if (strcmp(method, "defaults") == 0) {
		fake_answer_text(f, id, "");
		f->remembered++;
	} else if (f->remembered < f->asked) {
		fake_answer_error(f, id, "share-used-up",
		    "memory: another scope needed it", "baseEnv");
	} else {
		fake_answer_text(f, id, method);
	}
	return true;
}

Test(resume, what_a_server_has_taken_back_is_sent_again)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	struct psup_exec x = PSUP_EXEC_INIT;
	psup_args *defaults = psup_args_new();
	psup_reply *r = NULL;
	struct fake f;
	psup *p;

	fake_start(&f, takes_back);
	f.incarnation = "00000000000000aa";
	f.remembered = 0;
	psup_args_str(defaults, "baseDir", "/");
	o.runtime_dir = f.dir;
	o.defaults = defaults;
	cr_assert_eq(psup_new(&p), PSUP_OK);
	cr_assert_eq(psup_connect(p, &o), PSUP_OK, "%s", psup_error_message(p));
	x.command = "true";
	x.request_key = "k";
	f.asked = 2; /* the first is lost: so many it is to have had */
	cr_assert_eq(psup_exec(p, &x, &r), PSUP_OK, "%s",
	    psup_error_message(p));
	cr_expect(psup_get_is(psup_reply_value(r), "text", "exec"));
	cr_expect_eq(f.remembered, 2);
	psup_reply_free(&r);
	/* one that may not be asked twice is told, and the next has them */
	x.request_key = NULL;
	f.asked = 3;
	cr_expect_eq(psup_exec(p, &x, &r), PSUP_ERR_REFUSED);
	cr_expect_str_eq(psup_error_code(p), "share-used-up");
	cr_assert_eq(psup_exec(p, &x, &r), PSUP_OK, "%s",
	    psup_error_message(p));
	psup_reply_free(&r);
	/* nor is a scope without room asked for ever */
	x.request_key = "k";
	f.asked = 100;
	cr_expect_eq(psup_exec(p, &x, &r), PSUP_ERR_REFUSED);
	cr_expect_eq(f.connections, 1);
	psup_args_free(&defaults);
	end(&f, &p);
}

/* One more piece at each connection; the last one answers. */
static bool
stream(struct fake *f, uint64_t id, const char *method,
    const struct val *params)
{
	static const char *const pieces[] = {"one ", "two ", "three"};
	uint64_t pos = 0;

	(void)method, (void)params;
	for (unsigned i = 0; i <= f->asked; i++) {
		fake_note_output(f, id, pos, pieces[i]);
		pos += strlen(pieces[i]);
	}
	if (f->asked == 1)
		fake_note_output(f, id, pos, "th");
	if (f->asked++ < 2)
		return false;
	fake_answer_text(f, id, "done");
	return true;
}

static void
on_note(void *arg, const char *name, const psup_value *params)
{
	char *text = arg;
	size_t len;
	const char *data = psup_get_str(params, "data", &len);

	cr_expect_str_eq(name, "output");
	cr_expect_eq((size_t)psup_get_int(params, "pos", -1), strlen(text));
	strncat(text, data, len);
}

/* Of requests sent without waiting; the one that may not be repeated is
 * answered while the other goes on. */
struct seen {
	int status;
	char message[200];
	psup *p;
};

static void
on_answer(void *arg, int status, psup_reply *reply)
{
	struct seen *s = arg;

	s->status = status;
	snprintf(s->message, sizeof(s->message), "%s",
	    psup_error_message(s->p));
	psup_reply_free(&reply);
}

Test(resume, a_stream_goes_on_where_it_stopped)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	struct seen exec = {.status = 1}, keys = {.status = 1};
	psup_args *a = psup_args_new(), *b = psup_args_new();
	char text[64] = "";
	struct fake f;
	psup *p;

	begin(&f, stream, &p);
	o.runtime_dir = f.dir;
	o.resume = true;
	cr_assert_eq(psup_connect(p, &o), PSUP_OK);
	exec.p = keys.p = p;
	psup_on_note(p, on_note, text);
	psup_args_str(a, "command", "true");
	psup_args_str(a, "requestKey", "k");
	psup_args_str(b, "sessionId", "a");
	cr_assert_eq(psup_send(p, "exec", a, on_answer, &exec, NULL), 0);
	cr_assert_eq(psup_send(p, "submit", b, on_answer, &keys, NULL), 0);
	while (psup_pending(p) > 0)
		cr_assert_eq(psup_turn(p, 5000), PSUP_OK);
	cr_expect_str_eq(text, "one two three");
	cr_expect_eq(exec.status, PSUP_OK);
	cr_expect_eq(keys.status, PSUP_ERR_LOST);
	cr_expect_eq(strncmp(keys.message, "submit: ", 8), 0, "%s",
	    keys.message);
	psup_args_free(&a);
	psup_args_free(&b);
	end(&f, &p);
}

/* ------------------------------------------------------------------- trust */

/* What connecting to it says. */
static void
expect_silent(struct fake *f, const char *server_user, const char *words)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	psup *p;

	o.runtime_dir = f->dir;
	o.server_user = server_user;
	o.token = "0123456789abcdef0123456789abcdef"
	          "0123456789abcdef0123456789abcdef";
	cr_assert_eq(psup_new(&p), PSUP_OK);
	cr_expect_neq(psup_connect(p, &o), PSUP_OK);
	cr_expect_not_null(strstr(psup_error_message(p), words), "%s",
	    psup_error_message(p));
	psup_free(&p);
	cr_expect_eq(f->hellos, 0);
}

Test(resume, a_strangers_server_hears_nothing)
{
	struct fake f;

	if (geteuid() != 0)
		cr_skip_test("needs root, to make another user's directory");
	fake_start(&f, third_time);
	cr_assert_eq(chown(f.dir, 65534, 65534), 0);
	expect_silent(&f, NULL, "belongs to uid 65534; expected uid 0");
	expect_silent(&f, "1", "or 1, the server_user");
	/* the directory's user is believed, and is not who serves */
	expect_silent(&f, "65534", "runs as uid 0; expected uid 65534");
	expect_silent(&f, "nobody-of-that-name", "is no user");
	fake_stop(&f);
}

Test(resume, an_access_control_list_is_a_stranger)
{
	/* version 2; user::rwx, user:65534:--x, group::---, mask::--x,
	 * other::--- */
	static const unsigned char acl[] = {2, 0, 0, 0,
	    1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 1, 0, 254, 255, 0, 0,
	    4, 0, 0, 0, 255, 255, 255, 255, 16, 0, 1, 0, 255, 255, 255, 255,
	    32, 0, 0, 0, 255, 255, 255, 255};
	char path[80];
	struct fake f;

	fake_start(&f, third_time);
	snprintf(path, sizeof(path), "%s/sock", f.dir);
	if (setxattr(path, "system.posix_acl_access", acl, sizeof(acl), 0) < 0) {
		fake_stop(&f);
		cr_skip_test("no access control lists here");
	}
	expect_silent(&f, NULL, "access control list");
	cr_assert_eq(removexattr(path, "system.posix_acl_access"), 0);
	cr_assert_eq(setxattr(f.dir, "system.posix_acl_access", acl,
	                 sizeof(acl), 0), 0);
	expect_silent(&f, NULL, "access control list");
	fake_stop(&f);
}
