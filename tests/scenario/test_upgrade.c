/* SPDX-License-Identifier: MIT */
/*
 * Another build takes over, with everything under way: to the next one and
 * back, again and again, and what is refused. The next build's structures are
 * larger than ours (PSUP_LAYOUT_BUMP).
 */
#include "lib_inner.h"
#include "lib_upgrade.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(upgrade);

/* What psup's processes are worth to the scheduler, and that commands are not. */
static void
expect_nice(int keepers)
{
	int own = getpriority(PRIO_PROCESS, 0);

	expect(getpriority(PRIO_PROCESS, (id_t)keeper_pid()) == keepers);
	expect(getpriority(PRIO_PROCESS, (id_t)master_pid()) == keepers);
	expect_str(ask("exec", STR("command", "nice")), "aggregated",
	    scn_format("%d\n", own));
}

/* Output, a terminal, stdin, a queue, a foreground command, events. */
SCENARIO(upgrade, everything_goes_on_to_the_next_build_and_back)
{
	const char *cat, *term, *first, *second, *third, *go, *also;
	struct running *fg;
	struct run *r;
	struct peer *gateway;
	struct output o;
	char script[3][600];
	int fds, nice;
	pid_t keeper;

	psupd(.workers = 2);
	nice = getpriority(PRIO_PROCESS, (id_t)keeper_pid());
	expect_nice(nice);
	go = file_in_scenario("go");
	also = file_in_scenario("also");
	keeper = keeper_pid();
	begin_streams(3);
	cat = background(PUPPET("cat"), STR("stdin", "open"));
	term = background(STR("command", "stty -echo; echo up; cat"),
	    YES("pty"));
	await_output(term, "up");
	snprintf(script[0], sizeof(script[0]), "await %s; print one", go);
	snprintf(script[1], sizeof(script[1]), "print two");
	snprintf(script[2], sizeof(script[2]),
	    "stream %s; exit 3", also);
	first = background(PUPPET(script[0]), STR("lane", "main"));
	second = background(PUPPET(script[1]), STR("lane", "main"));
	third = background(PUPPET("print three"), STR("lane", "main"));
	fg = cli_start("exec", "--", scn_puppet(), script[2]);
	await_run_output(fg, "xyz");
	expect_ok(ask("write", STR("sessionId", cat), STR("data", "before ")));
	expect_ok(ask("write", STR("sessionId", term), STR("data", "a\n")));
	fds = keeper_fds(2);

	upgrade_to(build_dir("next"));
	expect_build("+next");
	expect(keeper_pid() == keeper);
	expect_nice(nice);
	await_keeper_fds(fds);
	expect_ok(ask("write", STR("sessionId", cat), STR("data", "between ")));
	expect_ok(ask("write", STR("sessionId", term), STR("data", "b\n")));

	upgrade_to(build_dir(NULL));
	expect_build("");
	expect(keeper_pid() == keeper);
	expect_nice(nice);
	await_keeper_fds(fds);
	gateway = peer(NULL);
	listen_to_events(gateway, "gateway");
	expect_ok(ask("write", STR("sessionId", cat), STR("data", "after"),
	    YES("eof")));
	expect_ok(ask("write", STR("sessionId", term), STR("data", "c\n\004")));
	end_streams();
	o = poll_to_the_end(cat, "r");
	expect(strcmp(o.bytes, "before between after") == 0, "%s", o.bytes);
	o = poll_to_the_end(term, "r");
	expect(strstr(o.bytes, "a\r\nb\r\nc") != NULL, "%s", o.bytes);
	expect_absent(o.last, "stdinUncertain");
	fclose(fopen(go, "we"));
	expect(strcmp(poll_to_the_end(first, "r").bytes, "one\n") == 0);
	expect(strcmp(poll_to_the_end(second, "r").bytes, "two\n") == 0);
	expect(strcmp(poll_to_the_end(third, "r").bytes, "three\n") == 0);
	fclose(fopen(also, "we"));
	r = await_run(fg);
	expect(r->code == 3, "%d %s", r->code, r->err);
	expect(strspn(r->out, "abcdefghijklmnopqrstuvwxyz") ==
	    strtoull(strchr(r->out, '\n'), NULL, 10), "%s", r->out);
}

SCENARIO(upgrade, a_layout_that_does_not_fit_is_refused)
{
	pid_t before[16], after[16];
	struct answer *a;
	struct run *r;

	psupd(.workers = 1);
	begin_streams(1);
	note_pids(before);
	r = cli("upgrade", build_dir("foreign"));
	expect(r->code == 1, "%s", r->out);
	expect(strstr(r->err, "ring: 4 is in use, psup ") != NULL &&
	    strstr(r->err, "+foreign reads 5 to 5") != NULL, "%s", r->err);
	a = ask("upgrade", STR("binaryDir", "relative"));
	expect_refused_for(a, "invalid-params", "binaryDir");
	a = ask("upgrade", STR("binaryDir", runtime_dir()));
	expect_refused(a, "upgrade-refused");
	a = ask_as(peer("somebody"), "upgrade");
	expect_refused(a, "forbidden");
	note_pids(after);
	expect(memcmp(before, after, sizeof(before)) == 0);
	expect_build("");
	end_streams();
}

/* Until the last upgrade is over. */
static void
await_done(void)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	struct answer *a;

	do {
		expect(now_ms() < until, "it does not end");
		poll(NULL, 0, 20);
		connect_again(); /* the master is another one by now */
		a = ask("status");
	} while (a->status != PSUP_OK ||
	    !psup_get_is(psup_value_get(psup_reply_value(a->reply), "upgrade"),
	        "phase", "done"));
}

/* Whoever did not hear the answer asks again, by the same id. */
SCENARIO(upgrade, a_repeat_begins_nothing)
{
	static const char id[] = "00000000000000a1";
	pid_t before[16], after[16];
	struct answer *a;

	psupd(.workers = 1);
	begin_streams(1);
	a = ask("upgrade", STR("id", id));
	expect(a->status == PSUP_OK, "%s", a->message);
	await_done();
	note_pids(before);
	a = ask("upgrade", STR("id", id));
	expect(a->status == PSUP_OK, "%s", a->message);
	expect(psup_get_is(psup_reply_value(a->reply), "phase", "done"));
	note_pids(after);
	expect(memcmp(before, after, sizeof(before)) == 0);
	a = ask("upgrade"); /* another one */
	expect(a->status == PSUP_OK, "%s", a->message);
	expect(!psup_get_is(psup_reply_value(a->reply), "id", id));
	await_done();
	note_pids(after);
	expect(before[1] != after[1], "the master is the same");
	end_streams();
}

SCENARIO(upgrade, the_programs_must_be_of_one_build)
{
	const char *mixed = file_in_scenario("mixed");
	struct run *r;

	psupd(.workers = 1);
	expect(mkdir(mixed, 0700) == 0);
	install_program(build_dir("next"), "psupd", mixed);
	install_program(build_dir("next"), "psup-master", mixed);
	install_program(build_dir(NULL), "psup-worker", mixed);
	r = cli("upgrade", mixed);
	expect(r->code == 1 && strstr(r->err, "psup-worker: it is psup ") !=
	    NULL, "%s", r->err);
	expect_build("");
}

SCENARIO(upgrade, twenty_in_a_row_lose_nothing)
{
	pid_t keeper;
	int fds;

	psupd(.workers = 2);
	keeper = keeper_pid();
	begin_streams(8);
	fds = keeper_fds(2);
	for (int i = 0; i < 20; i++)
		upgrade_to(build_dir(i % 2 == 0 ? "next" : NULL));
	expect_build("");
	expect(keeper_pid() == keeper);
	await_keeper_fds(fds);
	end_streams();
}

/* A package replaces the files: nobody minds before `psup upgrade`. */
SCENARIO(upgrade, replaced_files_wait_for_their_upgrade)
{
	static char option[600];
	const char *dir = file_in_scenario("libexec");
	struct run *r;

	expect(mkdir(dir, 0700) == 0);
	install_program(build_dir(NULL), "psup-master", dir);
	install_program(build_dir(NULL), "psup-worker", dir);
	snprintf(option, sizeof(option), "--libexec=%s", dir);
	psupd(.workers = 1, .option = option);
	begin_streams(1);
	install_program(build_dir("foreign"), "psup-master", dir);
	install_program(build_dir("foreign"), "psup-worker", dir);
	kill_worker_of(id_of(ask("exec", PUPPET("hang"), YES("background"))));
	kill_master();
	expect_build("");
	/* psupd itself was not replaced: they do not go together */
	r = cli("upgrade");
	expect(r->code == 1 && strstr(r->err, "+foreign") != NULL, "%s",
	    r->err);
	expect_build("");
	install_program(build_dir(NULL), "psup-master", dir);
	install_program(build_dir(NULL), "psup-worker", dir);
	r = cli("upgrade", "--json");
	expect(r->code == 0 && strstr(r->out, "\"phase\":\"done\"") != NULL,
	    "%s%s", r->out, r->err);
	connect_again();
	end_streams();
}
