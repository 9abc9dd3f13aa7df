/* SPDX-License-Identifier: MIT */
/* Log lines never block and never lie; fault points hit when told. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

/* The same with the time and our pid taken out, where they must stand. */
static const char *
without_time(const char *text)
{
	static char out[1 << 16];
	char pid[32];
	size_t n = 0;

	snprintf(pid, sizeof(pid), " pid=%ld", (long)getpid());
	while (*text != '\0') {
		const char *end = strchr(text, '\n') + 1;
		const char *at = memmem(text, (size_t)(end - text), pid,
		    strlen(pid));

		/* time=2026-11-21T22:28:00.000Z */
		cr_assert_eq(strncmp(text, "time=2", 6), 0, "%s", text);
		cr_assert_eq(strncmp(text + 28, "Z level=", 8), 0, "%s", text);
		cr_assert_not_null(at, "%s", text);
		text += 30;
		memcpy(out + n, text, (size_t)(at - text));
		n += (size_t)(at - text);
		at += strlen(pid);
		memcpy(out + n, at, (size_t)(end - at));
		n += (size_t)(end - at);
		text = end;
	}
	out[n] = '\0';
	return out;
}

/* Writes until a line is dropped, then makes room; checks what is said. */
static void
fill_and_recover(int writer, int reader)
{
	_Atomic uint64_t lines = 0, dropped = 0;
	int flags = fcntl(writer, F_GETFL);
	unsigned n;

	log_open("worker", writer, LOG_DEBUG);
	log_set_worker(0, 1);
	log_count_into(&lines, &dropped, NULL);
	for (n = 0; log_dropped() < 3 && n < 100000; n++)
		log_event(LOG_DEBUG, "session-state", KV("session", n));
	cr_assert_eq(log_dropped(), 3);
	cr_assert_eq(dropped, 3);
	cr_assert_eq(lines, n - 3);
	cr_assert_eq(fcntl(writer, F_GETFL), flags);
	(void)drain(reader);
	log_event(LOG_NOTE, "room-again");
	cr_assert_str_eq(without_time(drain(reader)), "level=note process=worker"
	    " slot=0 generation=1 event=room-again dropped=3\n");
	log_event(LOG_NOTE, "next");
	cr_assert_str_eq(without_time(drain(reader)), "level=note process=worker"
	    " slot=0 generation=1 event=next\n");
	log_count_into(NULL, NULL, NULL);
	log_open("none", -1, LOG_NOTE);
	log_event(LOG_NOTE, "to-nobody");
}

/* A pipe that is the log. */
static int
open_pipe(int ret[2], enum log_level level)
{
	cr_assert_eq(pipe2(ret, O_CLOEXEC), 0);
	log_open("keeper", ret[1], level);
	return ret[0];
}

static void
close_pipe(int p[2])
{
	log_open("none", -1, LOG_NOTE);
	close(p[0]);
	close(p[1]);
}

Test(log, lines, .timeout = 20)
{
	int p[2];
	int out = open_pipe(p, LOG_NOTE);

	errno = 42;
	log_event(LOG_DEBUG, "not-this");
	log_event(LOG_ERROR, "odd", KV("cmd", "a\nb\x1b[0m \"c\\"));
	cr_assert_eq(errno, 42);
	cr_assert_str_eq(without_time(drain(out)), "level=error process=keeper "
	    "event=odd cmd=\"a\\\\x0ab\\\\x1b[0m \\\"c\\\\\"\n");
	memset(buf, '\n', 5000);
	buf[5000] = '\0';
	log_event(LOG_WARN, "long", KV("text", buf));
	cr_assert_leq(strlen(drain(out)), 2048);
	cr_assert_str_eq(buf + strlen(buf) - 2, "\"\n");
	close(p[0]);
	log_event(LOG_NOTE, "reader-is-gone"); /* and no SIGPIPE */
	cr_assert_eq(log_dropped(), 1);
	log_open("none", -1, LOG_NOTE);
	close(p[1]);
}

Test(log, values_of_every_kind, .timeout = 20)
{
	uint64_t big = UINT64_MAX;
	const char *none = NULL;
	int p[2];
	int out = open_pipe(p, LOG_NOTE);

	log_event(LOG_DEBUG, "not-this", KV("a", 1));
	log_event(LOG_WARN, "kinds", KV("int", -7), KV("big", big),
	    KV("yes", p[0] >= 0), KV("text", "plain"), KV("odd", "a b=\"c\""),
	    KV("empty", ""), KV("hostile", "x\ny\xff\xe2\x80\xae"),
	    KV("none", none), KV("after", (unsigned short)3));
	cr_assert_str_eq(without_time(drain(out)), "level=warn process=keeper "
	    "event=kinds int=-7 big=18446744073709551615 yes=1 text=plain "
	    "odd=\"a b=\\\"c\\\"\" empty=\"\" "
	    "hostile=\"x\\\\x0ay\\\\xff\\\\xe2\\\\x80\\\\xae\" after=3\n");
	log_event(LOG_NOTE, "bare");
	cr_assert_str_eq(without_time(drain(out)),
	    "level=note process=keeper event=bare\n");
	close_pipe(p);
}

Test(log, json, .timeout = 20)
{
	bool yes = true;
	char want[200];
	int p[2];
	int out = open_pipe(p, LOG_NOTE);

	log_set_format(LOG_JSON);
	log_event(LOG_WARN, "a", KV("n", 5), KV("yes", yes),
	    KV("text", "q\"\\\n\x01"));
	(void)drain(out);
	cr_assert_eq(strncmp(buf, "{\"time\":\"2", 10), 0, "%s", buf);
	snprintf(want, sizeof(want), "\"level\":\"warn\",\"process\":\"keeper\","
	    "\"pid\":%ld,\"event\":\"a\",\"n\":5,\"yes\":true,"
	    "\"text\":\"q\\\"\\\\\\\\x0a\\\\x01\"}\n", (long)getpid());
	cr_assert_str_eq(strstr(buf, "\"level\""), want);
	memset(buf, 'x', 5000);
	buf[5000] = '\0';
	log_event(LOG_WARN, "b", KV("cut", buf), KV("rest", buf), KV("n", 5));
	(void)drain(out);
	cr_assert_str_eq(buf + strlen(buf) - 3, "\"}\n");
	log_set_format(LOG_LOGFMT);
	close_pipe(p);
}

Test(log, the_journal_has_the_time, .timeout = 20)
{
	struct stat st;
	char stream[64];
	int p[2];
	int out;

	cr_assert_eq(pipe2(p, O_CLOEXEC), 0);
	cr_assert_eq(fstat(p[1], &st), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu",
	    (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_open("keeper", p[1], LOG_DEBUG);
	out = p[0];
	log_event(LOG_ERROR, "a");
	log_event(LOG_WARN, "b");
	log_event(LOG_NOTE, "c");
	log_event(LOG_DEBUG, "d");
	(void)drain(out);
	cr_assert_eq(strncmp(buf, "<3>level=error process=keeper", 29), 0);
	cr_assert_not_null(strstr(buf, "\n<4>level=warn "));
	cr_assert_not_null(strstr(buf, "\n<5>level=note "));
	cr_assert_not_null(strstr(buf, "\n<7>level=debug "));
	cr_assert_null(strstr(buf, "time="));
	/* another stream is not the journal's */
	setenv("JOURNAL_STREAM", "1:1", 1);
	log_open("keeper", p[1], LOG_NOTE);
	log_event(LOG_NOTE, "e");
	cr_assert_eq(strncmp(drain(out), "time=", 5), 0);
	setenv("JOURNAL_STREAM", "nonsense", 1);
	log_open("keeper", p[1], LOG_NOTE);
	log_event(LOG_NOTE, "f");
	cr_assert_eq(strncmp(drain(out), "time=", 5), 0);
	unsetenv("JOURNAL_STREAM");
	close_pipe(p);
}

/* How many lines there are, and the sum of what they say was suppressed. */
static unsigned
lines_of(const char *text, unsigned long *ret_suppressed)
{
	static const char key[] = " suppressed=";
	unsigned n = 0;

	*ret_suppressed = 0;
	for (const char *s = text; (s = strstr(s, key)) != NULL; s++)
		*ret_suppressed += strtoul(s + strlen(key), NULL, 10);
	for (; *text != '\0'; text++)
		n += *text == '\n';
	return n;
}

Test(log, what_comes_too_often_is_counted, .timeout = 20)
{
	_Atomic uint64_t lines = 0, suppressed = 0;
	unsigned long said;
	unsigned n;
	int p[2];
	int out = open_pipe(p, LOG_NOTE);

	log_count_into(&lines, NULL, &suppressed);
	for (int i = 0; i < 1000; i++)
		log_event(LOG_WARN, "flood", KV("i", i));
	log_event(LOG_WARN, "another");
	n = lines_of(drain(out), &said);
	cr_assert_geq(n, LOG_BURST + 1);
	cr_assert_lt(n, 100u);
	cr_assert_eq(lines, n);
	cr_assert_not_null(strstr(buf, "event=another"));
	cr_assert_eq(suppressed + n, 1001u);
	/* in the end all are accounted for, though none comes any more */
	for (unsigned long sum = said; sum < suppressed; sum += said) {
		usleep(20000);
		log_tick();
		(void)lines_of(drain(out), &said);
		if (said > 0)
			cr_assert_not_null(strstr(buf, "level=warn "));
	}
	cr_assert_not_null(strstr(buf, "event=suppressed of=flood"));
	log_count_into(NULL, NULL, NULL);
	close_pipe(p);
}

Test(log, debug_is_never_suppressed, .timeout = 20)
{
	unsigned long said;
	int p[2];
	int out = open_pipe(p, LOG_DEBUG);

	for (int i = 0; i < 300; i++)
		log_event(LOG_DEBUG, "line", KV("n", i));
	cr_assert_eq(lines_of(drain(out), &said), 300u);
	cr_assert_eq(said, 0u);
	close_pipe(p);
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

/* Worker and keeper lay what they hand on over the first numbers. */
Test(log, no_low_descriptor_is_taken, .timeout = 20)
{
	uint32_t before = 0, after = 0;
	int p[2];

	cr_assert_eq(pipe2(p, O_CLOEXEC), 0);
	for (int fd = 0; fd < 16; fd++)
		before |= (uint32_t)(fcntl(fd, F_GETFD) >= 0) << fd;
	cr_assert_neq(before, 0xffffu, "none is free");
	log_open("test", p[1], LOG_NOTE);
	for (int fd = 0; fd < 16; fd++)
		after |= (uint32_t)(fcntl(fd, F_GETFD) >= 0) << fd;
	cr_assert_eq(before, after);
	log_open("test", -1, LOG_NOTE);
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
