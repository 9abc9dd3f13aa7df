/* SPDX-License-Identifier: MIT */
/* stream "tail": how an exec goes on, without its output. */
#include <fcntl.h>
#include <psup/psup.h>
#include <string.h>
#include <unistd.h>

#include "lib_scn.h"

static struct {
	psup *p;
	char session[64], line[256];
	int64_t bytes;
	int sessions, tails, others;
	bool answered;
} seen;

static void
on_note(void *arg, const char *name, const psup_value *params)
{
	(void)arg;
	if (strcmp(name, "session") == 0) {
		seen.sessions++;
		psup_get_copy(params, "sessionId", seen.session,
		    sizeof(seen.session));
	} else if (strcmp(name, "tail") == 0) {
		seen.tails++;
		expect(psup_get_int(params, "bytes", -1) > seen.bytes,
		    "no more than before");
		seen.bytes = psup_get_int(params, "bytes", -1);
		psup_get_copy(params, "line", seen.line, sizeof(seen.line));
	} else {
		seen.others++;
	}
}

static void
on_answer(void *arg, int status, psup_reply *reply)
{
	(void)arg;
	expect(status == PSUP_OK, "%s", psup_error_message(seen.p));
	psup_reply_free(&reply);
	seen.answered = true;
}

/* Begins it, on a connection of its own. */
static void
begin(const char *command)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	psup_args *a = psup_args_new();

	o.runtime_dir = runtime_dir();
	expect(psup_new(&seen.p) == PSUP_OK);
	psup_on_note(seen.p, on_note, NULL);
	expect(psup_connect(seen.p, &o) == PSUP_OK);
	psup_args_str(a, "command", command);
	psup_args_str(a, "stream", "tail");
	psup_args_nil(a, "yieldMs");
	expect(psup_send(seen.p, "exec", a, on_answer, NULL, NULL) == PSUP_OK);
	psup_args_free(&a);
}

static void
touch(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	expect(fd >= 0);
	close(fd);
}

#define until(cond)                                                            \
	do {                                                                   \
		int64_t end_ = now_ms() + SCN_DEADLINE_MS;                     \
		while (!(cond)) {                                              \
			expect(now_ms() < end_, "never: %s", #cond);           \
			expect(psup_turn(seen.p, 100) != PSUP_ERR_LOST,        \
			    "lost");                                           \
		}                                                              \
	} while (0)

SCENARIO(tail, says_the_session_and_then_the_last_line)
{
	const char *one, *two;
	char command[1024];

	psupd();
	one = file_in_scenario("one");
	two = file_in_scenario("two");
	snprintf(command, sizeof(command),
	    "echo one; printf 'two \\303\\251\\n\\n'; until [ -e %s ]; do sleep "
	    "0.01; done; echo three; until [ -e %s ]; do sleep 0.01; done",
	    one, two);
	begin(command);
	until(seen.sessions == 1 && seen.tails == 1);
	expect(strcmp(seen.line, "two \303\251") == 0, "%s", seen.line);
	expect(seen.bytes == 12, "%lld", (long long)seen.bytes);
	touch(one);
	until(seen.tails == 2);
	expect(strcmp(seen.line, "three") == 0, "%s", seen.line);
	touch(two);
	until(seen.answered);
	expect(seen.sessions == 1 && seen.others == 0);
	psup_free(&seen.p);
}

/* It is not read at all while megabytes come: the command waits for nobody,
 * which streamed output would make it do. */
SCENARIO(tail, slows_nobody)
{
	const char *done, *go;
	char command[1024];

	psupd();
	done = file_in_scenario("done");
	go = file_in_scenario("go");
	snprintf(command, sizeof(command),
	    "head -c 8000000 /dev/zero | tr '\\0' x; echo; echo end; touch %s; "
	    "until [ -e %s ]; do sleep 0.01; done",
	    done, go);
	begin(command);
	psup_turn(seen.p, 100); /* it is sent */
	await_file(done);
	until(seen.tails > 0 && seen.bytes == 8000005);
	expect(strcmp(seen.line, "end") == 0, "%s", seen.line);
	touch(go);
	until(seen.answered);
	expect(seen.others == 0);
	psup_free(&seen.p);
}

SCENARIO(tail, is_neither_a_number_nor_another_word)
{
	struct answer *a;

	psupd();
	a = ask("exec", STR("command", "true"), STR("stream", "head"));
	expect(a->status == PSUP_ERR_REFUSED &&
	        strstr(a->message, "true, false or \"tail\"") != NULL,
	    "%s", a->message);
	a = ask("exec", STR("command", "true"), INT("stream", 1));
	expect(a->status == PSUP_ERR_REFUSED, "%s", a->message);
}

/* It went to the background: nothing more is said. */
SCENARIO(tail, ends_at_the_background)
{
	psup_reply *r = NULL;

	psupd();
	begin("echo one; while sleep 0.1; do echo more; done");
	until(seen.tails > 0);
	expect_ok(ask("background", STR("sessionId", seen.session)));
	until(seen.answered);
	seen.tails = 0;
	/* three seconds of output later */
	expect_ok(ask("wait", STR("sessionId", seen.session),
	    INT("bytes", 150), INT("timeout", 86400000)));
	expect(psup_status(seen.p, &r) == PSUP_OK && seen.tails == 0);
	psup_reply_free(&r);
	psup_free(&seen.p);
}
