/* SPDX-License-Identifier: MIT */
/* Terminals: as a program sees them, and whoever dies on the way. */
#include "lib_puppet.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/ring.h"

static struct puppet p;

static void
begin(void)
{
	puppet_init(&p);
}

static void
finish(void)
{
	puppet_fini(&p);
}

TestSuite(pty, .init = begin, .fini = finish, .timeout = 60);

/* A shell command on a terminal of 100 x 40. */
static struct psession *
start(const char *sh)
{
	return puppet_start(&p, &(struct order){.sh = sh,
	    .flags = CTL_START_PTY | CTL_START_STDIN_OPEN,
	    .cols = 100, .rows = 40});
}

static void
say(struct psession *s, const char *text)
{
	puppet_write(&p, s, text, strlen(text));
}

static bool
shows(struct psession *s, const char *text)
{
	return s->running && strstr(puppet_output(&p, s), text) != NULL;
}

static bool
has_flag(struct psession *s, uint32_t flag)
{
	return s->running && (puppet_header(&p, s)->pty_flags & flag) != 0;
}

/* A successor that has taken the session over, or died of it. A message of the
 * master's would overtake the keeper's GIVE. */
static void
next_worker(struct psession *s, const char *faults)
{
	unsigned before = s->running_count;

	puppet_worker(&p, faults);
	puppet_give(&p, s);
	UNTIL(&p, s->running_count > before || p.keeper_fd < 0);
}

Test(pty, is_a_controlling_terminal_that_echoes)
{
	struct psession *s;

	puppet_worker(&p, NULL);
	s = start("[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && stty size </dev/tty;"
	          "read line; echo got $line >&2; exit 3");
	UNTIL(&p, shows(s, "40 100\r\n"));
	cr_assert_eq(s->run.pty, 1);
	say(s, "hello\n");
	UNTIL(&p, s->closed);
	cr_assert_eq(s->end.exit.status, 3);
	cr_assert_eq(s->end.holders, 0);
	cr_assert_str_eq(puppet_output(&p, s),
	    "40 100\r\nhello\r\ngot hello\r\n");
}

Test(pty, interrupt_reaches_the_foreground_alone)
{
	struct psession *s;

	puppet_worker(&p, NULL);
	s = start("trap 'echo int; exit 7' INT; echo ready; "
	          "while :; do sleep 0.05; done");
	UNTIL(&p, shows(s, "ready"));
	say(s, "\003");
	UNTIL(&p, s->closed);
	cr_assert_eq(s->end.exit.status, 7);
	cr_assert_not_null(strstr(puppet_output(&p, s), "int\r\n"));
}

Test(pty, resize_is_seen_and_signalled)
{
	struct psession *s;

	puppet_worker(&p, NULL);
	s = start("trap 'stty size; exit 0' WINCH; echo ready; "
	          "while :; do sleep 0.05; done");
	UNTIL(&p, shows(s, "ready\r\n"));
	puppet_resize(&p, s, 81, 25);
	UNTIL(&p, s->closed);
	cr_assert_not_null(strstr(puppet_output(&p, s), "25 81\r\n"));
	cr_assert_eq(puppet_header(&p, s)->pty_size, 81u << 16 | 25);
	/* noted where the next byte was to come */
	cr_assert_eq(puppet_header(&p, s)->size_count, 2);
	cr_assert_eq(puppet_header(&p, s)->sizes[1].pos, strlen("ready\r\n"));
}

Test(pty, end_of_file_is_a_character)
{
	struct psession *s;

	puppet_worker(&p, NULL);
	s = start("cat; echo over; read x; echo $x");
	say(s, "abc\n\004");
	UNTIL(&p, shows(s, "over"));
	say(s, "again\n");
	UNTIL(&p, s->closed);
	cr_assert_str_eq(puppet_output(&p, s),
	    "abc\r\nabc\r\nover\r\nagain\r\nagain\r\n");
}

Test(pty, queries_are_answered)
{
	struct psession *s;

	puppet_worker(&p, NULL);
	s = start("stty raw -echo; printf '\\033[?1h\\033'; sleep 0.05; "
	          "printf '[6n'; head -c 6 | od -An -tx1; printf '\\033[?1$p';"
	          "head -c 8 | od -An -c; stty sane");
	UNTIL(&p, s->closed);
	cr_assert_not_null(strstr(puppet_output(&p, s), "1b 5b 31 3b 31 52"));
	cr_assert_not_null(strstr(puppet_output(&p, s), "?   1   ;   1   $"));
	cr_assert(has_flag(s, PTY_CURSOR_APP));
}

/* Canonical lines beyond what the kernel keeps are held, not cut; as soon as
 * the program takes bytes, they go on. */
Test(pty, a_line_too_long_is_held_and_not_cut)
{
	static char line[10001];
	struct psession *s;

	puppet_worker(&p, NULL);
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 2] = '\n';
	s = start("stty -echo; echo ready; read go; stty raw; echo raw; "
	          "head -c 10000 | tr -d '\\n' | wc -c; stty sane");
	UNTIL(&p, shows(s, "ready"));
	say(s, "go"); /* an unfinished line counts, too */
	say(s, line);
	UNTIL(&p, has_flag(s, PTY_HELD));
	cr_assert_eq(puppet_header(&p, s)->spool_off, 4095);
	cr_assert_not(shows(s, "raw"));
	puppet_kill(&p, s, SIGKILL, 0, END_MANUAL_CANCEL, CTL_KILL_ESCALATE);
	UNTIL(&p, s->closed);

	s = start("stty -echo raw; echo raw; head -c 9999 | wc -c");
	UNTIL(&p, shows(s, "raw"));
	say(s, line);
	UNTIL(&p, s->closed);
	cr_assert_not_null(strstr(puppet_output(&p, s), "9999"));
	cr_assert_not(has_flag(s, PTY_HELD));
}

Test(pty, many_lines_are_no_long_line)
{
	char *text = malloc(300001);
	struct psession *s;
	int i;

	for (i = 0; i < 300000; i++)
		text[i] = (char)(i % 3000 == 2999 ? '\n' : 'a' + i % 26);
	text[300000] = '\0';
	puppet_worker(&p, NULL);
	s = start("stty -echo; echo ready; head -c 300000 | cksum");
	UNTIL(&p, shows(s, "ready"));
	say(s, text);
	UNTIL(&p, s->closed);
	cr_assert_not_null(strstr(puppet_output(&p, s), "300000\r\n"));
	free(text);
}

/* Who closes everything still has a terminal. */
Test(pty, no_hang_up_while_the_leader_lives)
{
	struct psession *s;

	puppet_worker(&p, NULL);
	s = start("exec 3<&0 <&- >&- 2>&- 3<&-; sleep 0.4; echo back >/dev/tty;"
	          "exit 4");
	UNTIL(&p, s->closed);
	cr_assert_eq(s->end.exit.status, 4);
	cr_assert_str_eq(puppet_output(&p, s), "back\r\n");
}

Test(pty, what_it_leaves_behind_is_hung_up)
{
	struct psession *s;

	puppet_worker(&p, NULL);
	s = start("(sleep 1000 & sleep 1000 & wait) & echo done");
	UNTIL(&p, s->closed);
	cr_assert_eq(s->end.exit.status, 0);
	kill(-s->pid, SIGKILL);
}

/* A terminal is hung up when nobody holds ptmx any more: the worker's death
 * alone is no hang-up, the keeper's copy prevents it. */
Test(pty, a_hang_up_takes_both_holders)
{
	struct psession *s;
	siginfo_t si;
	size_t i;

	puppet_worker(&p, NULL);
	s = start("trap 'exit 11' HUP; echo ready; read x; echo got:$x; "
	          "while :; do sleep 0.02; done");
	UNTIL(&p, shows(s, "ready"));
	puppet_kill_worker(&p);
	next_worker(s, NULL);
	say(s, "alive\n");
	UNTIL(&p, shows(s, "got:alive"));
	puppet_kill_worker(&p);
	for (i = 0; i < 4; i++)
		if (s->fds[i] >= 0) {
			close(s->fds[i]);
			s->fds[i] = -1;
		}
	cr_assert_eq(waitid(P_PID, (id_t)s->pid, &si, WEXITED | WNOWAIT), 0);
	cr_assert_eq(si.si_code, CLD_EXITED);
	cr_assert_eq(si.si_status, 11);
}

/* Bytes in ptmx, in the pipe, in the ring: once each, whenever it dies. */
Test(pty, killed_workers_lose_no_byte)
{
	struct psession *s;
	unsigned kills;

	puppet_worker(&p, NULL);
	s = start("stty -opost; i=0; while [ $i -lt 300 ]; do "
	          "head -c 5000 /dev/zero; printf .; i=$((i+1)); done");
	UNTIL(&p, s->running);
	for (kills = 0; kills < 15 && !s->ended; kills++) {
		s->output_told = false;
		puppet_pos(&p, s, CTL_WATCH,
		    puppet_header(&p, s)->head + 20000);
		UNTIL(&p, s->output_told || s->ended);
		puppet_kill_worker(&p);
		puppet_worker(&p, NULL);
		if (!s->closed)
			puppet_give(&p, s);
	}
	UNTIL(&p, s->closed);
	cr_assert_gt(kills, 5);
	cr_assert_eq(s->end.total, 300u * 5001);
	cr_assert_eq(s->end.exit.status, 0);
}

Test(pty, without_one_there_are_pipes_and_a_reason)
{
	struct psession *s;

	if (getuid() != 0) {
		finish(); /* a test that is skipped has no end of its own */
		cr_skip_test("only root may hide /dev/pts");
	}
	p.no_devpts = true;
	puppet_worker(&p, NULL);
	s = puppet_start(&p, &(struct order){
	    .sh = "cat; test -t 1 || echo pipes; echo err >&2",
	    .flags = CTL_START_PTY, .cols = 80, .rows = 24,
	    .text = "text\004\004", .pty_eof = 2});
	UNTIL(&p, s->closed);
	cr_assert_eq(s->run.pty, 0);
	cr_assert_neq(s->run.pty_error, 0);
	cr_assert_eq(s->end.exit.status, 0);
	cr_assert_str_eq(puppet_output(&p, s), "textpipes\nerr\n");
}

Test(pty, no_descriptor_is_left)
{
	struct psession *s;
	int before;

	puppet_worker(&p, NULL);
	before = puppet_worker_fds(&p);
	s = start("read x");
	UNTIL(&p, s->running);
	say(s, "\n");
	UNTIL(&p, s->closed);
	s = start("nosuchcommand");
	UNTIL(&p, s->closed);
	cr_assert_eq(s->end.exit.status, 127);
	puppet_pos(&p, s, CTL_WATCH, 0); /* a turn later it is freed */
	puppet_master(&p);
	/* the ring is kept open for others, for some seconds */
	UNTIL(&p, before < 0 || puppet_worker_fds(&p) == before);
}

Test(pty, the_mode_survives_a_worker)
{
	struct psession *s;

	puppet_worker(&p, NULL);
	s = start("stty raw -echo; printf '\\033[?1h\\033[?1'; head -c 1 >/dev/null; "
	          "printf 'l\\033[6n'; head -c 6 >/dev/null; printf ok;"
	          "head -c 1");
	UNTIL(&p, has_flag(s, PTY_CURSOR_APP) && shows(s, "[?1h\033[?1"));
	puppet_kill_worker(&p);
	next_worker(s, NULL);
	say(s, "x");
	UNTIL(&p, shows(s, "ok"));
	cr_assert(has_flag(s, PTY_CURSOR_NORMAL));
	cr_assert_not(has_flag(s, PTY_CURSOR_APP));
	say(s, "x");
	UNTIL(&p, s->closed);
}

#ifdef PSUP_FAULTS /* only test builds have fault points */
Test(pty, what_is_in_the_pipe_survives_a_worker)
{
	struct psession *s;

	puppet_worker(&p, "pty.after-fetch=kill@2");
	s = start("stty -opost; printf one; read x; printf two; read x");
	puppet_bury_worker(&p); /* "one", or the EAGAIN after it */
	next_worker(s, "pty.after-fetch=kill@1");
	puppet_write(&p, s, "\n", 1);
	puppet_bury_worker(&p);
	next_worker(s, NULL);
	UNTIL(&p, shows(s, "two"));
	say(s, "\n");
	UNTIL(&p, s->closed);
	cr_assert_str_eq(puppet_output(&p, s), "one\ntwo\n");
}

/* All of it lies in the pipe, and the terminal will never say so. */
Test(pty, a_successor_empties_the_pipe_unasked)
{
	struct psession *s;

	puppet_worker(&p, "pty.after-fetch=kill");
	s = start("printf all; read x");
	puppet_bury_worker(&p);
	next_worker(s, NULL);
	UNTIL(&p, shows(s, "all"));
	say(s, "\n");
	UNTIL(&p, s->closed);
	cr_assert_str_eq(puppet_output(&p, s), "all\r\n");
}

/* The same where the leader has exited meanwhile. */
Test(pty, a_successor_empties_the_pipe_of_the_dead)
{
	struct psession *s;

	puppet_worker(&p, "pty.after-fetch=kill");
	s = start("printf all");
	puppet_bury_worker(&p);
	next_worker(s, NULL);
	UNTIL(&p, s->closed);
	cr_assert_str_eq(puppet_output(&p, s), "all");
}

static bool
is_whole(struct psession *s)
{
	return s->running && puppet_header(&p, s)->head >= 480000;
}

/* Bytes are where they were, and once, at whichever step a worker dies. */
static void
keeps_output(const char *point)
{
	static const char *const sh = "stty -opost -echo; i=0; "
	    "while [ $i -lt 160 ]; do "
	    "head -c 3000 /dev/zero | tr '\\0' x; i=$((i+1)); done; read x";
	struct psession *s;
	char faults[64];
	unsigned at;

	snprintf(faults, sizeof(faults), "%s=kill@2", point);
	puppet_worker(&p, faults);
	s = puppet_start(&p, &(struct order){.sh = sh,
	    .flags = CTL_START_PTY | CTL_START_STDIN_OPEN, .cols = 80,
	    .rows = 24, .head_bytes = 4096, .tail_bytes = 16384});
	for (at = 1; at <= 4; at++) {
		UNTIL(&p, p.keeper_fd < 0 || is_whole(s));
		if (p.keeper_fd >= 0)
			break;
		puppet_bury_worker(&p);
		snprintf(faults, sizeof(faults), "%s=kill@%u", point, at);
		next_worker(s, at < 4 ? faults : NULL);
	}
	UNTIL(&p, is_whole(s));
	say(s, "\n");
	UNTIL(&p, s->closed);
	cr_assert_gt(at, 2, "%s: too few deaths", point);
	cr_assert_eq(s->end.total, 480000, "%s: %llu", point,
	    (unsigned long long)s->end.total);
	cr_assert_eq(s->end.exit.status, 0);
}

#define KEEPS_OUTPUT(name, point)                                             \
	Test(pty, keeps_output_##name) { keeps_output(point); }
KEEPS_OUTPUT(before_the_terminal, "pty.before-fetch")
KEEPS_OUTPUT(in_the_pipe, "pty.after-fetch")
KEEPS_OUTPUT(before_the_ring, "ring.before-splice")
KEEPS_OUTPUT(in_the_ring, "ring.after-splice")
KEEPS_OUTPUT(in_a_segment, "ring.after-segment")
KEEPS_OUTPUT(in_a_wrap, "ring.in-wrap")
KEEPS_OUTPUT(before_it_is_noted, "pump.after-splice")
KEEPS_OUTPUT(before_it_is_looked_at, "pty.before-look")

/* Input is given once, whichever step the worker dies after. */
static void
gives_once(const char *fault)
{
	char *text = malloc(60001);
	struct psession *s;
	int i;

	for (i = 0; i < 60000; i++)
		text[i] = (char)(i % 2000 == 1999 ? '\n' : 'a' + i % 23);
	text[60000] = '\0';
	puppet_worker(&p, fault);
	s = start("stty -echo; echo ready; head -c 60000 | cksum; echo end");
	UNTIL(&p, shows(s, "ready"));
	puppet_write(&p, s, text, 60000);
	puppet_bury_worker(&p);
	next_worker(s, fault);
	puppet_bury_worker(&p);
	next_worker(s, NULL);
	UNTIL(&p, s->closed);
	cr_assert_not_null(strstr(puppet_output(&p, s), " 60000\r\nend"));
	cr_assert_not(has_flag(s, PTY_UNCERTAIN));
	free(text);
}

Test(pty, input_is_given_once_after_the_spool)
{
	gives_once("stdin.after-splice=kill@3");
}

Test(pty, input_is_given_once_after_the_terminal)
{
	gives_once("pty.after-give=kill@3");
}

/* Where the kernel cannot splice a terminal and a worker dies with input in
 * its hand: it is not given twice, and what may be missing is counted. */
static struct psession *
dies_with_input(const char *faults)
{
	struct psession *s;

	puppet_worker(&p, faults);
	s = start("stty -echo; echo ready; read x; echo got:$x; read y; "
	          "echo got:$y");
	UNTIL(&p, shows(s, "ready"));
	say(s, "abc\n");
	puppet_bury_worker(&p);
	next_worker(s, "pty.splice=fail");
	return s;
}

Test(pty, input_in_a_dead_hand_is_said)
{
	struct psession *s;

	s = dies_with_input("pty.splice=fail,pty.in-hand=kill");
	cr_assert(has_flag(s, PTY_UNCERTAIN));
	cr_assert_eq(puppet_header(&p, s)->pty_uncertain, 4);
	cr_assert_not(has_flag(s, PTY_IN_HAND));
	say(s, "one\n");
	UNTIL(&p, shows(s, "got:one"));
	say(s, "two\n");
	UNTIL(&p, s->closed);
	cr_assert_str_eq(puppet_output(&p, s),
	    "ready\r\ngot:one\r\ngot:two\r\n");
}

Test(pty, input_that_was_just_given_is_not_given_twice)
{
	struct psession *s;

	s = dies_with_input("pty.splice=fail,pty.after-write=kill");
	UNTIL(&p, shows(s, "got:abc"));
	cr_assert_eq(puppet_header(&p, s)->pty_uncertain, 4);
	say(s, "two\n");
	UNTIL(&p, s->closed);
	cr_assert_str_eq(puppet_output(&p, s),
	    "ready\r\ngot:abc\r\ngot:two\r\n");
}

Test(pty, no_terminal_to_be_had_is_pipes)
{
	struct psession *s;

	puppet_worker(&p, "pty.open=fail");
	s = start("test -t 1 || echo pipes");
	UNTIL(&p, s->closed);
	cr_assert_eq(s->run.pty, 0);
	cr_assert_eq(s->run.pty_error, ENOSPC);
	cr_assert_str_eq(puppet_output(&p, s), "pipes\n");
}
#endif
