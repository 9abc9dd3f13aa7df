/* SPDX-License-Identifier: MIT */
/* What stands in a command's environment is in no file of the server once the
 * command has ended, whoever died on the way. */
#include "lib_scn.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "lib_inner.h"

#define SECRET "s3cr3t-of-a-command"

/* Files of the runtime directory that hold it. */
static int
files_with_secret(void)
{
	FILE *p = popen(scn_format("grep -rla -- %s %s 2>/dev/null", SECRET,
	    runtime_dir()), "re");
	char line[300];
	int n = 0;

	expect(p != NULL);
	while (fgets(line, sizeof(line), p) != NULL)
		n++;
	pclose(p);
	return n;
}

/* After the turn that the end is told in. */
static void
await_no_secret(void)
{
	int64_t until = now_ms() + 30000;

	while (files_with_secret() > 0) {
		expect(now_ms() < until, "%d files hold the secret",
		    files_with_secret());
		poll(NULL, 0, 20);
	}
}

SCENARIO(secrets, of_a_command_that_ended_are_nowhere)
{
	psupd();
	for (int i = 0; i < 30; i++)
		expect_ok(ask("exec", STR("command", "true"),
		    MAP("env", "TOKEN", SECRET)));
	expect_ok(ask("exec", STR("command", "test ${#TOKEN} = 19"),
	    MAP("env", "TOKEN", SECRET)));
	await_no_secret();
}

/* They wait in the index, over a death, and nowhere else. */
SCENARIO(secrets, of_those_that_waited_are_gone_after_them)
{
	const char *waits[20];

	psupd();
	await_output(holder("narrow", "gate"), "up\n");
	for (size_t i = 0; i < 20; i++)
		waits[i] = background(STR("command", "test ${#TOKEN} = 19"),
		    STR("lane", "narrow"), MAP("env", "TOKEN", SECRET));
	expect(files_with_secret() == 1);
	kill_master();
	expect(files_with_secret() == 1);
	open_gate("gate");
	for (size_t i = 0; i < 20; i++) {
		await_end(waits[i]);
		expect_int(ask("poll", STR("sessionId", waits[i])),
		    "exitCode", 0);
	}
	await_no_secret();
}

/* A session that is ended before it began. */
SCENARIO(secrets, of_those_that_never_ran_are_gone)
{
	const char *id;

	psupd();
	await_output(holder("narrow", "gate"), "up\n");
	id = background(STR("command", "true"), STR("lane", "narrow"),
	    MAP("env", "TOKEN", SECRET));
	expect(files_with_secret() == 1);
	expect_ok(ask("kill", STR("sessionId", id)));
	await_no_secret();
}
