/* SPDX-License-Identifier: MIT */
/* Those who fill what others need: memory, connections, sessions, the queue,
 * the output budget; and one whose command writes over the shared files. */
#include "hostile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS 100
#define WAITS       60
#define SESSIONS    1000
#define WAITED_FOR  300
#define GUESTS      9000
#define FRAMES      100
#define SPEC_BYTES  100000

/* As many descriptors as there may be. */
static void
raise_descriptors(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

/* Asks for logs and takes none of them. */
void
hostile_unread(const struct hostile *h)
{
	char id[ID_BYTES] = "";
	struct crowd c;
	psup *p = hostile_connect(h);

	while (!hostile_start(p, hostile_exec("head -c 190000 /dev/zero | "
	    "tr '\\0' x"), id))
		nap_ms(100);
	crowd_init(&c, h, CONNECTIONS);
	for (;;) {
		crowd_turn(&c, 0);
		for (size_t i = 0; i < c.n; i++) {
			psup_pause(c.p[i], true);
			while (psup_is_connected(c.p[i]) &&
			       c.under_way[i] < WAITS) {
				psup_args *a = psup_args_new();

				psup_args_str(a, "sessionId", id);
				crowd_send(&c, i, "log", a);
			}
		}
		nap_ms(100);
	}
}

/* What is not taken now is sent later, or never: only that it lies there. */
static void
put_some(int fd, const char *buf, size_t size)
{
	while (size > 0) {
		ssize_t n = send(fd, buf, size, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN) {
			nap_ms(1);
			if (send(fd, buf, size > 1 ? size / 2 : 1,
			        MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
				return;
		}
		if (n <= 0)
			return;
		buf += n;
		size -= (size_t)n;
	}
}

/* hello of this scope, then an exec whose environment never ends. */
static int
begin_frame(const char *big, size_t size)
{
	static const char hello[] = "\x94\x00\x01\xa5hello\x82\xa5scope\xb2"
	    "hostile-unfinished\xa8protocol\x01";
	static const char exec[] = "\x94\x00\x02\xa4" "exec\x81\xa3" "env\x84";
	int fd = hostile_socket();

	if (fd < 0)
		return -1;
	put_some(fd, hello, sizeof(hello) - 1);
	put_some(fd, exec, sizeof(exec) - 1);
	for (int i = 0; i < 4; i++) {
		char key[] = {(char)0xa1, (char)('A' + i), (char)0xdb, 0, 0x0f,
		    (char)0xff, (char)0xff};

		put_some(fd, key, sizeof(key));
		put_some(fd, big, i < 3 ? 0x0fffff : size);
	}
	return fd;
}

void
hostile_unfinished(const struct hostile *)
{
	size_t size = 0x0fff00;
	char *big = malloc(0x100000);
	int fds[FRAMES];

	if (big == NULL)
		exit(1);
	memset(big, 'x', 0x100000);
	for (;;) {
		for (size_t i = 0; i < FRAMES; i++)
			fds[i] = begin_frame(big, size);
		nap_ms(1000);
		for (size_t i = 0; i < FRAMES; i++)
			if (fds[i] >= 0)
				close(fds[i]);
	}
}

/* Each waits for text in all of many sessions. */
void
hostile_waits(const struct hostile *h)
{
	static char ids[WAITED_FOR][ID_BYTES];
	struct crowd c;
	size_t n = 0;

	crowd_init(&c, h, 5);
	crowd_turn(&c, 0);
	for (; n < WAITED_FOR && hostile_start(c.p[0],
	           hostile_exec("echo waiting; sleep 100000"), ids[n]); n++)
		;
	for (;;) {
		crowd_turn(&c, 100);
		for (size_t i = 0; i < c.n; i++)
			while (psup_is_connected(c.p[i]) &&
			       c.under_way[i] < WAITS) {
				psup_args *a = psup_args_new();

				psup_args_list_begin(a, "sessionIds");
				for (size_t k = 0; k < n; k++)
					psup_args_str(a, NULL, ids[k]);
				psup_args_list_end(a);
				psup_args_str(a, "regex", "(a|b)*c.*never");
				psup_args_int(a, "timeout", 60000);
				crowd_send(&c, i, "wait", a);
			}
	}
}

/* Connections of its scope, as many as it is given, kept. */
void
hostile_connections(const struct hostile *h)
{
	psup **p = calloc(GUESTS, sizeof(psup *));
	size_t n = 0;

	raise_descriptors();
	while (p != NULL) {
		if (n < GUESTS)
			p[n++] = hostile_connect(h);
		else
			nap_ms(100);
	}
	exit(1);
}

/* The same without a word. */
void
hostile_guests(const struct hostile *)
{
	raise_descriptors();
	for (;;) {
		static int fds[GUESTS];
		int n = 0;

		while (n < GUESTS && (fds[n] = hostile_socket()) >= 0)
			n++;
		nap_ms(2000);
		while (n > 0)
			close(fds[--n]);
	}
}

void
hostile_sessions(const struct hostile *h)
{
	psup *p = hostile_connect(h);
	int n = 0;

	for (;;) {
		hostile_again(h, &p);
		if (n < SESSIONS &&
		    hostile_start(p, hostile_exec("exec sleep 100000"), NULL))
			n++;
		else
			nap_ms(200);
	}
}

/* Long specs behind one that never ends. */
void
hostile_queue(const struct hostile *h)
{
	psup *p = hostile_connect(h);
	char *value = malloc(SPEC_BYTES + 1);

	if (value == NULL)
		exit(1);
	memset(value, 'v', SPEC_BYTES);
	value[SPEC_BYTES] = '\0';
	for (;;) {
		psup_args *a = hostile_exec("exec sleep 100000");

		hostile_again(h, &p);
		psup_args_str(a, "lane", "hostile");
		psup_args_map_begin(a, "env");
		for (int i = 0; i < 4; i++)
			psup_args_str(a, (const char *[]){"W", "X", "Y",
			    "Z"}[i], value);
		psup_args_map_end(a);
		if (!hostile_start(p, a, NULL))
			nap_ms(50);
	}
}

/* Ends with as much output as is kept, and nobody reads it. */
void
hostile_output(const struct hostile *h)
{
	psup *p = hostile_connect(h);

	for (;;) {
		psup_args *a = hostile_exec("head -c 33554432 /dev/zero");

		hostile_again(h, &p);
		psup_args_map_begin(a, "retain");
		psup_args_int(a, "headBytes", 16777216);
		psup_args_int(a, "tailBytes", 16777216);
		psup_args_map_end(a);
		nap_ms(hostile_start(p, a, NULL) ? 100 : 500);
	}
}

/* Its own server's files, but for what is a session's: what is written over
 * there is gone, and only there. */
void
hostile_scribble(const struct hostile *h)
{
	static const char *const names[] = {"stats", "board", "cgroups",
	    "incarnation", "lock", "log"};
	psup *p = hostile_connect(h);
	char command[1024];

	for (unsigned i = 0;; i++) {
		const char *name = names[i / 2 % 6];

		hostile_again(h, &p);
		/* one that is not there would be a file too many */
		snprintf(command, sizeof(command), "cd %.200s && [ -e %s ] && "
		    "%s %s", chaos.dir, name, i % 2 == 0
		    ? ": >"
		    : "head -c 100000 /dev/urandom 1<>", name);
		hostile_start(p, hostile_exec(command), NULL);
		nap_ms(700);
	}
}
