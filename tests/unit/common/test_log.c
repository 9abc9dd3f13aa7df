/* SPDX-License-Identifier: MIT */
/* Log lines never block and never lie; fault points hit when told. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fault.h"
#include "common/log.h"

static char buf[1 << 17];

/* What is in a pipe, NUL-terminated. */
static const char *
drain(int fd)
{
	ssize_t n;
	size_t len = 0;

	cr_assert_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	while ((n = read(fd, buf + len, sizeof(buf) - 1 - len)) > 0)
		len += (size_t)n;
	buf[len] = '\0';
	return buf;
}

/* Writes until a line is dropped, then makes room; checks what is said. */
static void
fill_and_recover(int writer, int reader)
{
	int n, flags = fcntl(writer, F_GETFL);

	log_open("worker 0.1", writer, LOG_NOTE);
	for (n = 0; log_dropped() < 3 && n < 100000; n++)
		log_note("session %d queued -> running: admitted", n);
	cr_assert_eq(log_dropped(), 3);
	cr_assert_eq(fcntl(writer, F_GETFL), flags);
	(void)drain(reader);
	log_note("room again");
	cr_assert_str_eq(drain(reader),
	    "note worker 0.1: room again dropped-before=3\n");
	log_note("next");
	cr_assert_str_eq(drain(reader), "note worker 0.1: next\n");
	log_open("none", -1, LOG_NOTE);
	log_note("to nobody");
}

Test(log, lines, .timeout = 20)
{
	int p[2];

	cr_assert_eq(pipe2(p, O_CLOEXEC), 0);
	log_open("keeper", p[1], LOG_NOTE);
	errno = 42;
	log_debug("not this");
	log_error("session %d cmd=%s", 7, "a\nb\x1b[0m");
	cr_assert_eq(errno, 42);
	cr_assert_str_eq(drain(p[0]),
	    "error keeper: session 7 cmd=a\\x0ab\\x1b[0m\n");
	memset(buf, '\n', 5000);
	buf[5000] = '\0';
	log_warn("%s", buf);
	cr_assert_leq(strlen(drain(p[0])), 2048);
	cr_assert_eq(buf[strlen(buf) - 1], '\n');
	close(p[0]);
	log_note("to a reader that is gone"); /* and no SIGPIPE */
	cr_assert_eq(log_dropped(), 1);
	log_open("none", -1, LOG_NOTE);
	close(p[1]);
}

Test(log, a_full_pipe_does_not_block, .timeout = 20)
{
	int p[2];

	cr_assert_eq(pipe2(p, O_CLOEXEC), 0);
	fill_and_recover(p[1], p[0]);
	close(p[0]);
	close(p[1]);
}

Test(log, a_full_socket_does_not_block, .timeout = 20)
{
	int p[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p),
	    0);
	fill_and_recover(p[1], p[0]);
	close(p[0]);
	close(p[1]);
}

#ifdef PSUP_FAULTS
Test(fault, kills_at_the_third_pass, .signal = SIGKILL, .timeout = 20)
{
	(void)setenv("PSUP_FAULTS", "a.b=kill@3,c=abort", 1);
	FAULT("a.b");
	FAULT("x");
	FAULT("a.b");
	FAULT("a.b");
	cr_assert_fail("alive");
}

Test(fault, aborts_at_once, .signal = SIGABRT, .timeout = 20)
{
	(void)setenv("PSUP_FAULTS", "a.b=kill@3,c=abort", 1);
	FAULT("a.b");
	FAULT("c");
}

Test(fault, nonsense_is_loud, .signal = SIGABRT, .timeout = 20)
{
	(void)setenv("PSUP_FAULTS", "a.b=kil", 1);
	FAULT("x");
}

Test(fault, does_nothing_unasked, .timeout = 20)
{
	(void)unsetenv("PSUP_FAULTS");
	FAULT("x");
}
#endif
