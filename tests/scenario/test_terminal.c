/* SPDX-License-Identifier: MIT */
/* Terminals, with the programs that people use on them. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib_scn.h"

/* The end of an interactive command, its output with it. */
static struct output
over(const char *id)
{
	return poll_to_the_end(id, "end");
}

static void
type(const char *id, const char *text)
{
	expect_ok(ask("write", STR("sessionId", id), STR("data", text)));
}

#define on_terminal(...) background(YES("pty"), __VA_ARGS__)

SCENARIO(terminal, has_a_size_a_name_and_a_type)
{
	struct answer *a;

	psupd();
	a = ask("exec",
	    STR("command", "stty size; tty; test -t 0 -a -t 1 -a -t 2 && "
			   "echo all; echo $TERM"),
	    YES("pty"), INT("cols", 90), INT("rows", 33),
	    MAP("baseEnv", "PATH", "/usr/bin:/bin"));
	expect_str(a, "status", "completed");
	expect_flag(a, "pty", true);
	expect_int(a, "cols", 90);
	expect_int(a, "rows", 33);
	expect_text(a, "33 90");
	expect_text(a, "/dev/pts/");
	expect_text(a, "all");
	expect_text(a, "xterm-256color");
	/* a gateway's environment does not come into a box */
	a = ask("exec", STR("command", "stty size; echo $TERM"), YES("pty"),
	    MAP("baseEnv", "PATH", "/usr/bin:/bin", "TERM", "vt100"));
	expect_text(a, "30 120");
	expect_text(a, is_boxed() ? "xterm-256color" : "vt100");
}

SCENARIO(terminal, text_then_end_of_file)
{
	struct answer *a;

	psupd();
	a = ask("exec", STR("command", "stty -echo; cat; echo over"),
	    YES("pty"), STDIN_TEXT("whole line\n"));
	expect_str(a, "status", "completed");
	expect_text(a, "whole line");
	expect_text(a, "over");
	a = ask("exec", STR("command", "stty -echo; cat; echo over"),
	    YES("pty"), STDIN_TEXT("half a line"));
	expect_text(a, "half a lineover");
	a = ask("exec", STR("command", "cat; echo over"), YES("pty"),
	    STR("stdin", "closed"));
	expect_text(a, "over");
	expect_str(a, "status", "completed");
}

/* What is typed before is lost to who empties its terminal first, and data to who
 * takes single bytes by then. */
SCENARIO(terminal, an_end_of_file_waits_for_who_reads_it)
{
	struct answer *a;

	psupd();
	a = ask("exec", STR("command", "stty raw; sleep 0.3; stty cooked; cat; "
	    "echo over"), YES("pty"), STR("stdin", "closed"));
	expect_str(a, "status", "completed");
	expect_text(a, "over");
	if (access("/usr/bin/python3", X_OK) != 0)
		skip_scenario("there is no python3");
	a = ask("exec", STR("command", "exec /usr/bin/python3 -c 'import "
	    "termios,time,sys; time.sleep(0.3); termios.tcflush(0, "
	    "termios.TCIFLUSH); print(len(sys.stdin.read()))'"), YES("pty"),
	    STDIN_TEXT("lost\n"));
	expect_str(a, "status", "completed");
	expect_text(a, "0");
}

/* Who reads it is not among the first that are looked at. */
SCENARIO(terminal, an_end_of_file_finds_who_reads_it_in_a_crowd)
{
	struct answer *a;

	psupd();
	a = ask("exec", STR("command", "i=0; while [ $((i += 1)) -lt 150 ]; do "
	    "sleep 1000 & all=\"$all $!\"; done; cat; kill $all; echo over"),
	    YES("pty"), STR("stdin", "closed"));
	expect_str(a, "status", "completed");
	expect_text(a, "over");
}

SCENARIO(terminal, bash_has_job_control)
{
	const char *id;

	if (access("/bin/bash", X_OK) != 0)
		skip_scenario("there is no bash");
	psupd();
	id = on_terminal(LIST("argv", "/bin/bash", "--norc", "--noprofile",
	    "-i"), MAP("env", "PS1", "PS> "));
	await_output(id, "PS> ");
	type(id, "sleep 100 & jobs\n");
	await_output(id, "Running");
	type(id, "kill %1; wait\n");
	/* what it prints says that it has the terminal */
	type(id, "sh -c 'trap \"echo a\"\"gain\" CONT; echo u\"\"p; "
		 "while :; do read x; done'\n");
	await_output(id, "up\r\n");
	type(id, "\032");
	await_output(id, "Stopped");
	type(id, "fg\n");
	await_output(id, "again\r\n");
	type(id, "\003");
	await_output(id, "^C\r\n\033[?2004hPS> ");
	type(id, "echo code=$?; exit 5\n");
	await_output(id, "code=130");
	expect_int(over(id).last, "exitCode", 5);
}

SCENARIO(terminal, python_answers)
{
	const char *id;
	struct answer *a;

	if (access("/usr/bin/python3", X_OK) != 0)
		skip_scenario("there is no python3");
	psupd();
	id = on_terminal(LIST("argv", "/usr/bin/python3", "-q"));
	await_output(id, ">>> ");
	type(id, "print(6 * 7)\r");
	await_output(id, "\n42\r\n");
	type(id, "import sys; sys.ps1 = 'what' ' now '\r");
	await_output(id, "what now "); /* else ^D comes in another mode */
	a = ask("write", STR("sessionId", id), STR("data", ""), YES("eof"));
	expect_ok(a);
	expect_flag(a, "stdinWritable", true);
	expect_int(over(id).last, "exitCode", 0);
}

SCENARIO(terminal, a_password_is_not_echoed)
{
	const char *id;
	struct output o;

	if (access("/bin/bash", X_OK) != 0)
		skip_scenario("there is no bash");
	psupd();
	id = on_terminal(LIST("argv", "/bin/bash", "-c",
	    "read -rsp 'Password: ' p; echo; echo ${#p} characters"));
	await_output(id, "Password: ");
	type(id, "s3cret\n");
	o = over(id);
	expect(memmem(o.bytes, o.len, "6 characters", 12) != NULL);
	expect(memmem(o.bytes, o.len, "s3cret", 6) == NULL);
}

SCENARIO(terminal, follows_a_resize)
{
	const char *id;
	struct answer *a;

	psupd();
	id = on_terminal(STR("command",
	    "echo ready; while read x; do stty size; done"));
	await_output(id, "ready");
	a = ask("resize", STR("sessionId", id), INT("cols", 71),
	    INT("rows", 22));
	expect_ok(a);
	expect_int(a, "cols", 71);
	type(id, "on\n");
	await_output(id, "22 71");
	expect_exit(cli("resize", id, "66x44"), 0);
	type(id, "on\n");
	await_output(id, "44 66");
	expect_exit(cli("resize", id, "66"), 2);
	expect_exit(cli("resize", id, "66x0"), 2);
	kill_master();
	expect_int(ask("resize", STR("sessionId", id), INT("cols", 99),
	    INT("rows", 11)), "rows", 11);
	type(id, "on\n");
	await_output(id, "11 99");
	ask("kill", STR("sessionId", id), INT("graceMs", 0));
	expect_refused(ask("resize", STR("sessionId", id), INT("cols", 71),
	    INT("rows", 22)), "not-running");
	id = background(STR("command", "sleep 100"));
	expect_refused(ask("resize", STR("sessionId", id), INT("cols", 71),
	    INT("rows", 22)), "no-terminal");
	ask("kill", STR("sessionId", id), INT("graceMs", 0));
}

/* Refused whole where the kernel would cut it, taken where it would not. */
SCENARIO(terminal, long_lines_are_refused_or_whole)
{
	static char line[6002];
	const char *id;
	struct answer *a;

	psupd();
	memset(line, 'y', 6000);
	line[6000] = '\n';
	id = on_terminal(STR("command",
	    "stty -echo; echo ready; read -r x; echo ${#x}; stty raw; "
	    "head -c 4 >/dev/null; head -c 6001 | wc -c; stty sane"));
	await_output(id, "ready");
	a = ask("write", STR("sessionId", id), STR("data", line));
	expect_refused(a, "line-too-long");
	expect_int(a, "accepted", 0);
	line[4095] = '\0';
	type(id, line);
	a = ask("write", STR("sessionId", id), STR("data", "z"));
	expect_refused(a, "line-too-long");
	type(id, "\n");
	await_output(id, "4095");
	/* no output says that the mode is another one now */
	type(id, "now\n");
	line[4095] = 'y';
	for (;;) {
		a = ask("write", STR("sessionId", id), STR("data", line));
		if (strcmp(code_of(a), "line-too-long") != 0)
			break;
	}
	expect_ok(a);
	await_output(id, "6001");
	expect_int(over(id).last, "exitCode", 0);
}

SCENARIO(terminal, outlives_worker_and_master)
{
	const char *id;
	struct output o;

	psupd();
	id = on_terminal(STR("command",
	    "stty -echo; n=0; while read x; do n=$((n+1)); echo $n:$x; done; "
	    "echo end $n"));
	type(id, "one\n");
	await_output(id, "1:one");
	kill_worker_of(id);
	type(id, "two\n");
	await_output(id, "2:two");
	kill_master();
	type(id, "three\n");
	await_output(id, "3:three");
	kill_worker_of(id);
	expect_ok(ask("write", STR("sessionId", id), STR("data", ""),
	    YES("eof")));
	o = over(id);
	expect_int(o.last, "exitCode", 0);
	expect(memmem(o.bytes, o.len, "end 3", 5) != NULL);
}

SCENARIO(terminal, is_shown_by_list)
{
	const char *id;
	struct answer *a;
	const psup_value *rows;

	psupd();
	id = on_terminal(STR("command", "read x"));
	a = ask("list");
	rows = psup_value_get(details(a), "sessions");
	expect(psup_get_bool(psup_value_at(rows, 0), "pty", false));
	expect(psup_get_int(psup_value_at(rows, 0), "cols", 0) == 120);
	ask("kill", STR("sessionId", id), INT("graceMs", 0));
}

/* A client's own terminal, its keys and its size; as it was afterwards. */
SCENARIO(terminal, psup_exec_hands_keys_through)
{
	char command[1000];
	const char *id;

	not_in_a_box("psup does not run there");
	psupd();
	snprintf(command, sizeof(command),
	    "cd '%s'; stty -echo; stty -g >before; stty size; "
	    "'%s/psup' exec --runtime-dir '%s' --pty -- "
	    "sh -c 'stty size; echo inner; "
	    "while read x; do echo got:$x; stty size; done; exit 9'; "
	    "echo code $?; stty -g | cmp - before && echo restored",
	    file_in_scenario("."), scn_bin_dir(), runtime_dir());
	id = on_terminal(STR("command", command), INT("cols", 77),
	    INT("rows", 21));
	await_output(id, "inner");
	type(id, "hello\r");
	await_output(id, "got:hello");
	expect_ok(ask("resize", STR("sessionId", id), INT("cols", 55),
	    INT("rows", 19)));
	type(id, "x\r");
	await_output(id, "19 55");
	type(id, "\004");
	await_output(id, "code 9");
	await_output(id, "restored");
}

/* psup exec --pty on a terminal of its own. */
static const char *
in_the_foreground(const char *options, const char *sh)
{
	char command[1500];

	not_in_a_box("psup does not run there");
	snprintf(command, sizeof(command),
	    "stty -echo; was=$(stty -g); '%s/psup' exec --runtime-dir '%s' "
	    "--pty %s -- sh -c '%s'; echo code=$?; "
	    "[ \"$was\" = \"$(stty -g)\" ] && echo restored",
	    scn_bin_dir(), runtime_dir(), options, sh);
	return on_terminal(STR("command", command));
}

SCENARIO(terminal, signal_keys_reach_the_command_alone)
{
	const char *id;

	psupd();
	id = in_the_foreground("", "trap \"echo int\" INT; "
	    "trap \"echo quit\" QUIT; trap \"echo tstp\" TSTP; echo up; "
	    "while [ $((n += 1)) -lt 400 ]; do sleep 0.05; done");
	await_output(id, "up");
	type(id, "\003");
	await_output(id, "int");
	type(id, "\034");
	await_output(id, "quit");
	type(id, "\032");
	await_output(id, "tstp");
	type(id, "\003");
	ask("kill", STR("sessionId", id), INT("graceMs", 0));
}

/* A question is answered once, by the worker, and the terminal is put back
 * though the command is killed while it fills the screen. */
SCENARIO(terminal, the_foreground_leaves_its_terminal_as_it_was)
{
	const char *id;
	struct output o;

	psupd();
	id = in_the_foreground("", "printf \"\\033[?1049h\\033[?25l\\033[6n\"; "
	    "stty raw -echo; head -c 6 | od -An -c; kill -9 $$");
	o = over(id);
	expect(memmem(o.bytes, o.len, "code=137", 8) != NULL);
	expect(memmem(o.bytes, o.len, "\033[?1049l\033[?25h", 14) != NULL);
	expect(memmem(o.bytes, o.len, "\033[6n", 4) == NULL);
	expect(memmem(o.bytes, o.len, "restored", 8) != NULL);
}

SCENARIO(terminal, the_foreground_becomes_the_background)
{
	const char *id;
	char inner[64];
	struct answer *a;
	struct output o;
	const psup_value *row;

	psupd();
	id = in_the_foreground("--detach-key ^]",
	    "stty -echo; echo up; while read x; do echo got:$x; done; exit 4");
	await_output(id, "up");
	type(id, "before\r\035after\r");
	o = over(id);
	expect(memmem(o.bytes, o.len, "goes on in the background as", 28) !=
	    NULL);
	expect(memmem(o.bytes, o.len, "code=0", 6) != NULL);
	expect(memmem(o.bytes, o.len, "restored", 8) != NULL);
	a = ask("list");
	row = psup_value_at(psup_value_get(details(a), "sessions"), 0);
	psup_get_copy(row, "sessionId", inner, sizeof(inner));
	await_output(inner, "got:before");
	ask("write", STR("sessionId", inner), STR("data", ""), YES("eof"));
	o = over(inner);
	expect_int(o.last, "exitCode", 4);
	expect(memmem(o.bytes, o.len, "after", 5) == NULL);
}

SCENARIO(terminal, another_client_sends_it_to_the_background)
{
	struct question *q;
	struct answer *a;
	const psup_value *rows;
	char id[64];

	psupd();
	q = ask_later(peer(NULL), "exec", STR("command", "read x; exit 6"),
	    NIL("yieldMs"), STR("stdin", "open"));
	do {
		a = ask("list", YES("all"));
		rows = psup_value_get(details(a), "sessions");
	} while (psup_value_count(rows) == 0);
	psup_get_copy(psup_value_at(rows, 0), "sessionId", id, sizeof(id));
	expect_exit(cli("background", id), 0);
	a = answer_of(q);
	expect_str(a, "status", "running");
	expect(number_of(a, "pid") > 1);
	expect(is_listed(NULL, id));
	expect_ok(ask("background", STR("sessionId", id)));
	ask("write", STR("sessionId", id), STR("data", "\n"));
	expect_int(over(id).last, "exitCode", 6);
	expect_refused(ask("background", STR("sessionId", id)), "not-running");
	expect_exit(cli("background", "no-such"), 4);
	expect_exit(cli("exec", "--detach-key", "^]", "true"), 2);
}

/* The end of the leader is a hang-up only for who does not ignore it; one that
 * does may hold the terminal, but not the answer. */
SCENARIO(terminal, a_grandchild_with_the_terminal_does_not_hold_the_end)
{
	struct answer *a;
	struct output o;
	char line[32];
	int64_t until;
	pid_t left;

	psupd();
	a = ask("exec", STR("command", "trap '' HUP; sleep 1000 & "
	    "echo left=$!; exit 3"), YES("pty"));
	expect_int(a, "exitCode", 3);
	expect_int(a, "holders", 1);
	/* a terminal's output comes by a worker of the kernel's, at its leisure */
	until = now_ms() + SCN_DEADLINE_MS;
	while ((o = read_retained(id_of(a))).len == 0 ||
	    strstr(o.bytes, "left=") == NULL) {
		expect(now_ms() < until, "its output is lost");
		poll(NULL, 0, 5);
	}
	left = atoi(strstr(o.bytes, "left=") + 5);
	expect(left > 1, "%s", text_of(a, "aggregated"));
	/* in a box the number is the box's: another command there asks */
	(void)snprintf(line, sizeof(line), "kill -9 %d", left);
	a = ask("exec", STR("command", line));
	expect_int(a, "exitCode", 0);
}

/* An interactive shell with a job, and with one that hid from its terminal
 * (if it stays behind, the scenario fails at its end). */
static const char *
shell_with_jobs(pid_t *ret_job)
{
	const char *id, *file = file_in_scenario("job");
	char line[500];
	FILE *f;

	id = on_terminal(LIST("argv", "/bin/bash", "--norc", "--noprofile",
	    "-i"), MAP("env", "PS1", "PS> "));
	await_output(id, "PS> ");
	snprintf(line, sizeof(line), "sleep 1000 & echo $! >'%s'; "
	    "setsid sleep 1000 & echo o\"\"ver\n", file);
	type(id, line);
	await_output(id, "over\r\n");
	f = fopen(file, "re");
	expect(f != NULL && fgets(line, sizeof(line), f) != NULL);
	fclose(f);
	*ret_job = atoi(line);
	expect(is_alive(*ret_job));
	return id;
}

SCENARIO(terminal, kill_remove_and_shutdown_end_a_shell_with_its_jobs)
{
	struct answer *a;
	const char *id;
	pid_t job;

	if (access("/bin/bash", X_OK) != 0)
		skip_scenario("there is no bash");
	not_in_a_box("a number that it prints is the box's");
	psupd();
	id = shell_with_jobs(&job);
	a = ask("kill", STR("sessionId", id), STR("signal", "HUP"));
	expect_ok(a);
	expect_int(a, "remaining", 0);
	await_gone(job);
	id = shell_with_jobs(&job);
	expect_ok(ask("remove", STR("sessionId", id)));
	await_gone(job);
	shell_with_jobs(&job);
	expect_exit(cli("shutdown", "--grace", "100"), 0);
	await_gone(job);
	server_is_gone();
}

#ifdef PSUP_FAULTS /* only test builds have fault points */
/* A kernel that cannot splice a terminal, and each worker dies with the first
 * input in its hand: nothing is given twice, and how much is in doubt is in
 * every answer, also when it is over and after a restart. */
SCENARIO(terminal, input_in_doubt_is_said)
{
	const char *id;
	struct answer *a;
	struct output o;

	psupd(.env = {"PSUP_FAULTS=pty.splice=fail,pty.in-hand=kill"});
	id = on_terminal(STR("command", "stty -echo; echo ready; read x; "
	    "echo got:$x"));
	await_output(id, "ready");
	a = ask("write", STR("sessionId", id), STR("data", "abc\n"));
	expect_ok(a);
	expect_absent(a, "stdinUncertain");
	do
		a = ask("poll", STR("sessionId", id), INT("timeout", 10));
	while (!psup_get_bool(details(a), "stdinUncertain", false));
	expect_int(a, "stdinUncertainBytes", 4);
	a = ask("submit", STR("sessionId", id), STR("data", "d"));
	expect_flag(a, "stdinUncertain", true);
	while (number_of(a, "stdinUncertainBytes") < 6)
		a = ask("poll", STR("sessionId", id), INT("timeout", 10));
	kill_master();
	a = ask("list");
	expect(psup_get_int(psup_value_at(psup_value_get(details(a),
	    "sessions"), 0), "stdinUncertainBytes", 0) == 6);
	ask("kill", STR("sessionId", id), INT("graceMs", 0));
	o = over(id);
	expect(memmem(o.bytes, o.len, "got:", 4) == NULL);
	expect_int(o.last, "stdinUncertainBytes", 6);
}

SCENARIO(terminal, none_to_be_had_is_a_warning)
{
	struct answer *a;
	struct run *r;

	psupd(.env = {"PSUP_FAULTS=pty.open=fail"});
	a = ask("exec", STR("command", "test -t 1 || echo pipes"), YES("pty"));
	expect_str(a, "status", "completed");
	expect_absent(a, "pty");
	expect_text(a, "no terminal could be had (ENOSPC); the command ran "
	    "with pipes");
	expect_text(a, "pipes\n");
	expect(psup_value_count(psup_value_get(details(a), "warnings")) == 1);
	r = cli("exec", "--pty", "--", "sh", "-c", "test -t 1 || echo pipes");
	expect_exit(r, 0);
	expect_out(r, "pipes\n");
	expect(strstr(r->err, "runs with pipes") != NULL, "%s", r->err);
}
#endif
