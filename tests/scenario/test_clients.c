/* SPDX-License-Identifier: MIT */
/*
 * Clients that do not read, read a byte a second, flood, or die at any byte:
 * what is kept for them is bounded, nobody is refused, others are served.
 * $PSUP_TEST_CLIENTS says how many (40).
 */
#include "lib_scn.h"

#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib_inner.h"

TestSuite(clients);

#define OUT_MAX (1 << 20) /* unread answers of one connection */
#define CLIENTS_MAX 1000

static int
clients(void)
{
	const char *n = getenv("PSUP_TEST_CLIENTS");

	return n == NULL ? 40 : atoi(n) < CLIENTS_MAX ? atoi(n) : CLIENTS_MAX;
}

/* [0, n, method, {"sessionId": id}] */
static size_t
frame_of(unsigned char *p, unsigned n, const char *method, const char *id)
{
	size_t len = 0;

	memcpy(p, "\x94\x00\xcd", 3);
	p[3] = (unsigned char)(n >> 8);
	p[4] = (unsigned char)n;
	p[5] = (unsigned char)(0xa0 + strlen(method));
	len = 6 + strlen(method);
	memcpy(p + 6, method, strlen(method));
	memcpy(p + len, "\x81\xa9sessionId\xd9", 12);
	len += 12;
	p[len++] = (unsigned char)strlen(id);
	memcpy(p + len, id, strlen(id));
	return len + strlen(id);
}

/* As many requests as the socket takes, up to `max`; how many. */
static unsigned
send_requests(int fd, const char *method, const char *id, unsigned max)
{
	unsigned char frame[200];
	unsigned n;

	for (n = 0; n < max; n++) {
		size_t len = frame_of(frame, n, method, id);
		ssize_t sent = send(fd, frame, len, MSG_NOSIGNAL |
		    MSG_DONTWAIT);

		if (sent < 0 && errno == EAGAIN)
			break;
		expect(sent == (ssize_t)len, "%zd", sent);
	}
	return n;
}

/* Resident memory in bytes. */
static int64_t
memory_of(pid_t pid)
{
	long long pages = 0;
	FILE *f = fopen(scn_format("/proc/%d/statm", (int)pid), "re");

	expect(f != NULL && fscanf(f, "%*s %lld", &pages) == 1);
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

/* The longest of a few requests, in ms. */
static int64_t
longest_request(void)
{
	int64_t longest = 0;

	for (int i = 0; i < 20; i++) {
		int64_t t = now_ms();

		expect_str(ask("exec", LIST("argv", "/bin/echo", "on")),
		    "aggregated", "on\n");
		t = now_ms() - t;
		longest = t > longest ? t : longest;
	}
	return longest;
}

static int64_t
connections(void)
{
	return psup_get_int(psup_value_get(psup_reply_value(
	    ask("status")->reply), "master"), "connections", -1);
}

static void
await_connections(int64_t want)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	while (connections() != want) {
		expect(now_ms() < until, "%lld", (long long)connections());
		poll(NULL, 0, 2);
	}
}

SCENARIO(clients, that_do_not_read_cost_a_bounded_amount)
{
	int n = clients(), fds[CLIENTS_MAX];
	__attribute__((unused)) int64_t grown;
	int64_t before, open = 1;
	const char *id;
	char byte;

	psupd(.workers = 1);
	id = background(PUPPET("bytes 100000; print end; exit 0"));
	await_end(id);
	open = connections();
	before = memory_of(master_pid());
	for (int i = 0; i < n; i++) {
		fds[i] = raw_connect();
		send_requests(fds[i], "log", id, 200);
	}
	expect(longest_request() < 1000 + busy_ms());
	grown = memory_of(master_pid()) - before;
	/* one answer may stand above the bound, and buffers grow by doubling */
#ifndef __SANITIZE_ADDRESS__ /* which keeps what was freed */
	expect(grown < n * (int64_t)(OUT_MAX + 400000), "%lld bytes for %d",
	    (long long)grown, n);
#endif
	/* a byte now and then: still nobody is closed, nobody else waits */
	for (int round = 0; round < 10; round++)
		for (int i = 0; i < n; i++)
			expect(recv(fds[i], &byte, 1, 0) == 1);
	expect(longest_request() < 1000 + busy_ms());
	expect(connections() == open + n);
	for (int i = 0; i < n; i++)
		close(fds[i]);
	await_connections(open);
}

/* All of it comes, however slowly it is taken. */
SCENARIO(clients, that_read_slowly_get_everything)
{
	unsigned char buf[65536];
	const char *id;
	unsigned asked, seen = 0;
	struct pollfd p = {.events = POLLIN};
	size_t tail = 0;
	ssize_t got;

	psupd(.workers = 1);
	id = background(PUPPET("bytes 20000; print the-end; exit 0"));
	await_end(id);
	p.fd = raw_connect();
	asked = send_requests(p.fd, "log", id, 150);
	expect(asked == 150, "%u", asked);
	for (int i = 0; i < 30; i++) {
		expect(recv(p.fd, buf, 1, 0) == 1);
		expect_ok(ask("list"));
	}
	while (seen < asked) {
		expect(poll(&p, 1, SCN_DEADLINE_MS) == 1, "%u of %u", seen,
		    asked);
		got = recv(p.fd, buf + tail, sizeof(buf) - tail, 0);
		expect(got > 0, "closed after %u of %u", seen, asked);
		got += (ssize_t)tail;
		/* each answer ends with isError, false */
		for (ssize_t i = 0; i + 9 <= got; i++)
			seen += memcmp(buf + i, "\xa7isError\xc2", 9) == 0;
		tail = got < 8 ? (size_t)got : 8;
		memmove(buf, buf + got - tail, tail);
	}
	close(p.fd);
}

/* 64 requests wait; the next one is not looked at before one of them ends. */
SCENARIO(clients, that_flood_wait_and_are_not_refused)
{
	struct peer *p;
	struct question *polls[64], *next;
	const char *id;

	psupd(.workers = 1);
	id = background(PUPPET("cat; exit 3"));
	p = peer(NULL);
	for (int i = 0; i < 64; i++)
		polls[i] = ask_later(p, "poll", STR("sessionId", id),
		    INT("timeout", 30000),
		    STR("reader", scn_format("r%d", i)));
	next = ask_later(p, "status");
	for (int i = 0; i < 20; i++) {
		expect_ok(ask("list"));
		expect(!is_answered(next), "the 65th was not held back");
	}
	expect_ok(ask("write", STR("sessionId", id), YES("eof")));
	for (int i = 0; i < 64; i++)
		expect(answer_of(polls[i])->status == PSUP_OK);
	expect(answer_of(next)->status == PSUP_OK);
}

/* Ten that never stop asking: everybody else has his turn. */
SCENARIO(clients, that_flood_take_turns_with_others)
{
	unsigned char buf[65536];
	int fds[10];
	int64_t until = now_ms() + 1500, longest = 0;
	const char *id;

	psupd(.workers = 1);
	id = background(LIST("argv", "/bin/true"));
	await_end(id);
	for (int i = 0; i < 10; i++)
		fds[i] = raw_connect();
	while (now_ms() < until) {
		int64_t t;

		for (int i = 0; i < 10; i++) {
			while (recv(fds[i], buf, sizeof(buf), MSG_DONTWAIT) >
			    0)
				;
			send_requests(fds[i], "poll", id, 300);
		}
		t = now_ms();
		expect_ok(ask("list"));
		t = now_ms() - t;
		longest = t > longest ? t : longest;
	}
	expect(longest < 500 + busy_ms(), "%lld ms", (long long)longest);
	for (int i = 0; i < 10; i++)
		close(fds[i]);
}

/* How many descriptors a process has; -1: nobody may know. */
static int
descriptors_of(pid_t pid)
{
	DIR *d = opendir(scn_format("/proc/%d/fd", (int)pid));
	int n = -2;

	if (d == NULL)
		return -1;
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

/* Killed at each byte of a request: nothing of it stays but the session that
 * had begun, ended and kept. */
SCENARIO(clients, that_die_at_any_byte_leave_nothing)
{
	static const char frame[] = "\x94\x00\x07\xa4""exec\x82\xa7""command"
	                            "\xaasleep 1000\xa7yieldMs\xc0";
	const psup_value *rows;
	int64_t until, open;
	size_t n, live;
	int fds;

	psupd(.workers = 1);
	expect_ok(ask("exec", LIST("argv", "/bin/true")));
	open = connections();
	fds = descriptors_of(master_pid());
	for (size_t len = 0; len < sizeof(frame); len++) {
		int fd = raw_connect();

		expect(send(fd, frame, len, MSG_NOSIGNAL) == (ssize_t)len);
		if (len == sizeof(frame) - 1)
			while (psup_value_count(psup_value_get(details(
			    ask("list", YES("all"))), "sessions")) < 2)
				;
		close(fd);
	}
	await_connections(open);
	until = now_ms() + SCN_DEADLINE_MS;
	do {
		expect(now_ms() < until, "the command goes on");
		rows = psup_value_get(details(ask("list", YES("all"))),
		    "sessions");
		n = psup_value_count(rows);
		live = 0;
		for (size_t i = 0; i < n; i++)
			live += psup_get_is(psup_value_at(rows, i), "status",
			    "running");
	} while (live > 0);
	expect(n == 2, "%zu sessions", n);
	/* a reader of the kept ring or two may stay open */
	expect(descriptors_of(master_pid()) <= fds + 2, "%d, then %d", fds,
	    descriptors_of(master_pid()));
}
