/* SPDX-License-Identifier: MIT */
/* The psup command as a shell user and a script meet it. */
#include "lib_scn.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(cli);

SCENARIO(cli, exec_exits_as_the_command_does)
{
	struct run *r;

	psupd();
	expect_exit(cli("exec", "--", "sh", "-c", "exit 7"), 7);
	expect_exit(cli("exec", "exit 9"), 9);
	expect_exit(cli("exec", "--", "true"), 0);
	expect_exit(cli("exec", "kill -9 $$"), 137);
	expect_exit(cli("exec", "--timeout", "0.3", "sleep 100"), 124);
	r = cli("exec", "echo out; echo err >&2");
	expect_exit(r, 0);
	expect_out(r, "out\n");
	expect(strcmp(r->err, "err\n") == 0, "%s", r->err);
}

SCENARIO(cli, exec_loses_no_byte)
{
	struct run *r;

	psupd();
	r = cli("exec", "--", "head", "-c", "20M", "/dev/zero");
	expect_exit(r, 0);
	expect(r->out_len == 20 << 20, "%zu", r->out_len);
}

SCENARIO(cli, exec_passes_stdin_on)
{
	size_t size = 300000;
	char *text;
	struct run *r;

	psupd();
	text = scn_alloc(size);
	for (size_t i = 0; i < size; i++)
		text[i] = (char)('a' + (int)(i % 26));
	r = cli_fed(text, size, "exec", "--", "cat");
	expect_exit(r, 0);
	expect(r->out_len == size && memcmp(r->out, text, size) == 0, "%zu",
	    r->out_len);
}

SCENARIO(cli, interrupt_reaches_the_command)
{
	struct running *r;
	struct run *done;

	psupd();
	r = cli_start("exec",
	    "trap 'echo caught; exit 3' INT; echo up; "
	    "while :; do sleep 0.05; done");
	await_run_output(r, "up\n");
	kill_now(pid_of_run(r), SIGINT);
	done = await_run(r);
	expect_exit(done, 3);
	expect_out(done, "up\ncaught\n");
}

SCENARIO(cli, the_day_of_a_background_session)
{
	struct run *r;
	char *id;

	psupd();
	r = cli("exec", "--background", "read x; echo got $x; exit 4");
	expect_exit(r, 0);
	id = strtok(r->out, "\n");
	expect(id != NULL && *id != '\0');
	r = cli("list");
	expect_exit(r, 0);
	expect(strstr(r->out, id) != NULL, "%s", r->out);
	expect_exit(cli("write", id, "word\n"), 0);
	expect_exit(cli("wait", id), 0);
	r = cli("log", id);
	expect_exit(r, 0);
	expect(strstr(r->out, "got word\n") != NULL, "%s", r->out);
	r = cli("log", "--raw", id);
	expect_out(r, "got word\n");
	r = cli("poll", id);
	expect(strstr(r->out, "got word") != NULL, "%s", r->out);
	expect_exit(cli("clear", id), 0);
	expect(cli("log", id)->code != 0);
}

SCENARIO(cli, kill_and_remove)
{
	struct run *r;
	char *id;

	psupd();
	r = cli("exec", "--background", "sleep 1000");
	id = strtok(r->out, "\n");
	expect_exit(cli("kill", id), 0);
	expect(cli("kill", id)->code != 0, "killed twice");
	r = cli("exec", "--background", "sleep 1000");
	id = strtok(r->out, "\n");
	expect_exit(cli("remove", id), 0);
	expect(strstr(cli("list")->out, id) == NULL);
}

SCENARIO(cli, status_as_json_has_what_scripts_need)
{
	struct run *r;
	char want[64];

	psupd();
	r = cli("status", "--json");
	expect_exit(r, 0);
	snprintf(want, sizeof(want), "%d", keeper_pid());
	expect(strstr(r->out, want) != NULL, "%s", r->out);
	snprintf(want, sizeof(want), "%d", master_pid());
	expect(strstr(r->out, want) != NULL, "%s", r->out);
	expect(strstr(r->out, "\"workers\"") != NULL &&
	        strstr(r->out, "\"generation\"") != NULL &&
	        strstr(r->out, "\"budgetBytes\"") != NULL &&
	        strstr(r->out, "\"unavailable\"") != NULL,
	    "%s", r->out);
	/* for people, too, what is inside */
	r = cli("status", "--verbose");
	expect(strstr(r->out, "cgroup.limits: memoryBytes ") != NULL, "%s",
	    r->out);
}

SCENARIO(cli, every_command_has_help)
{
	static const char *const commands[] = {"exec", "list", "poll", "log",
	    "write", "kill", "clear", "remove", "wait", "events", "status",
	    "shutdown", "tool"};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct run *r = cli(commands[i], "--help");

		expect_exit(r, 0);
		expect(strstr(r->out, commands[i]) != NULL, "%s: %s",
		    commands[i], r->out);
	}
	expect_exit(cli("--help"), 0);
	expect_exit(cli("--version"), 0);
	expect(cli("no-such-command")->code == 2);
}

/* With no server running, exec starts one; it keeps nothing of its starter. */
SCENARIO(cli, exec_starts_a_server)
{
	struct running *keep;
	struct run *r;
	char link[64], target[256];
	pid_t keeper;
	ssize_t n;

	r = cli("exec", "--no-start", "true");
	expect(r->code != 0 && r->out_len == 0, "exit %d", r->code);
	/* The guard of this one holds the server while we look at it. */
	keep = cli_start("exec", "echo up; sleep 1000");
	await_run_output(keep, "up\n");
	keeper = keeper_pid();
	snprintf(link, sizeof(link), "/proc/%d/cwd", keeper);
	n = readlink(link, target, sizeof(target));
	/* psup's processes are not dumpable: only root may look */
	expect((n == 1 && target[0] == '/') || (n < 0 && geteuid() != 0),
	    "cwd %.*s", (int)n, target);
	for (int fd = 0; fd < 3 && geteuid() == 0; fd++) {
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", keeper, fd);
		n = readlink(link, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		/* stderr may be its own log. */
		expect(strcmp(target, "/dev/null") == 0 ||
		        strncmp(target, runtime_dir(),
		            strlen(runtime_dir())) == 0,
		    "fd %d is %s", fd, target);
	}
	expect(getsid(keeper) != getsid(0), "it is in our sid");
	expect_exit(cli("shutdown", "--no-start"), 0);
	await_gone(keeper);
	await_run(keep);
}

/* A master that stands still: list, log and status answer from shared memory,
 * sooner than a person wonders. */
/* Again where this machine is so slow that the keeper took the master for
 * hung: it was another one that answered. */
static struct run *
while_stopped(const char *command, const char *id)
{
	struct run *r;
	pid_t master;

	do {
		master = master_pid();
		kill_now(master, SIGSTOP);
		r = id != NULL ? cli(command, id) : cli(command);
		(void)kill(master, SIGCONT);
	} while (master_pid() != master);
	return r;
}

SCENARIO(cli, reads_shared_memory_while_the_master_is_stopped)
{
	static const char *const commands[][2] = {
		{"list", NULL}, {"log", "ID"}, {"status", NULL}};
	const char *id;

	psupd();
	id = background(PUPPET("print seen; hang"));
	await_output(id, "seen\n");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct run *r = while_stopped(commands[i][0],
		    commands[i][1] != NULL ? id : NULL);

		expect_exit(r, 0);
		expect(strstr(r->err, "shared memory") != NULL, "%s", r->err);
		expect(strstr(r->out, commands[i][1] != NULL ? "seen"
		               : i == 0                      ? id
		                                             : "master") != NULL,
		    "%s", r->out);
	}
	expect_ok(ask("list"));
}

/* What was printed before the master died is not reported as missing after,
 * though the ring has let go of it. */
SCENARIO(cli, exec_counts_nothing_twice_after_the_master_died)
{
	struct running *r;
	struct run *done;
	char command[500];
	const char *gate, *exit_gate;

	psupd();
	gate = file_in_scenario("gate");
	exit_gate = file_in_scenario("exit");
	snprintf(command, sizeof(command),
	    "seq 1 100000; until test -e %s; do sleep 0.05; done; echo more; "
	    "until test -e %s; do sleep 0.05; done",
	    gate, exit_gate);
	r = cli_start("exec", command);
	await_run_output(r, "\n100000\n");
	kill_master();
	fclose(fopen(gate, "we"));
	await_run_output(r, "\nmore\n"); /* it streams again */
	fclose(fopen(exit_gate, "we"));
	done = await_run(r);
	expect_exit(done, 0);
	expect(done->out_len == 588895 + 5, "%zu bytes", done->out_len);
	expect(done->err_len == 0, "%s", done->err);
}

/* The same key again, this time with a stream: all of it, live or over. */
SCENARIO(cli, exec_shows_what_its_key_ran)
{
	struct running *r;
	struct run *done;
	struct question *q;
	char script[300];
	const char *gate;

	psupd();
	gate = file_in_scenario("gate");
	snprintf(script, sizeof(script), "print one; await %s; print two",
	    gate);
	q = ask_later(NULL, "exec", PUPPET(script), NIL("yieldMs"),
	    STR("requestKey", "k"));
	r = cli_start("exec", "--key", "k", "--stdin", "closed", "other");
	await_run_output(r, "one\n");
	fclose(fopen(gate, "we"));
	done = await_run(r);
	expect_exit(done, 0);
	expect_out(done, "one\ntwo\n");
	expect_text(answer_of(q), "one\ntwo\n");
	done = cli("exec", "--key", "k", "other");
	expect_exit(done, 0);
	expect_out(done, "one\ntwo\n");
}
