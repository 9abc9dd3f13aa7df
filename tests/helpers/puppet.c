/* SPDX-License-Identifier: MIT */
/*
 * puppet "VERB ARG; VERB ARG; ...": a child that behaves as a test tells it,
 * so that odd behaviour is written in the test and not in a shell string.
 *
 *     print TEXT       one line to stdout       stderr TEXT   to stderr
 *     bytes N          N bytes of a counted pattern to stdout
 *     stream PATH      that pattern, 26 bytes each 8 ms, until PATH exists, then
 *                      a line with how many bytes these were
 *     lines N          lines "line 0" .. "line N-1" to stdout
 *     sleep MS         hang                     exit CODE
 *     raise SIGNAL     a number, to itself      ignore SIGNAL
 *     cat              stdin to stdout till EOF
 *     close-out        close stdout and stderr
 *     touch PATH       create a file            await PATH    until it exists
 *     fork-away        a grandchild holding stdout, in its own sid, hangs
 *     pid              print the pid
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATTERN_BYTES 65536

/* Writes all of it, or ends: a puppet without its strings does nothing. */
static void
put(int fd, const char *buf, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, buf, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			_exit(99);
		buf += n;
		len -= (size_t)n;
	}
}

/* A line in one write: a reader sees all of it or nothing. */
static void
put_line(int fd, const char *text)
{
	char line[PATTERN_BYTES];
	int len = snprintf(line, sizeof(line), "%s\n", text);

	put(fd, line, (size_t)len);
}

static void
do_print(const char *arg)
{
	put_line(STDOUT_FILENO, arg);
}

static void
do_stderr(const char *arg)
{
	put_line(STDERR_FILENO, arg);
}

/* Byte i is the letter 'a' + i % 26, so that a reader can check a place. */
static void
do_bytes(const char *arg)
{
	static char block[PATTERN_BYTES];
	unsigned long long left = strtoull(arg, NULL, 10), at = 0;

	while (left > 0) {
		size_t n = left < sizeof(block) ? (size_t)left : sizeof(block);

		for (size_t i = 0; i < n; i++)
			block[i] = (char)('a' + (int)((at + i) % 26));
		put(STDOUT_FILENO, block, n);
		at += n;
		left -= n;
	}
}

/* What a reader gets can be checked to the last byte, wherever it ends. */
static void
do_stream(const char *arg)
{
	unsigned long long n = 0;
	char line[32];

	for (; access(arg, F_OK) != 0; n += 26) {
		put(STDOUT_FILENO, "abcdefghijklmnopqrstuvwxyz", 26);
		poll(NULL, 0, n < 100000 ? 8 : 100);
	}
	snprintf(line, sizeof(line), "\n%llu", n);
	put_line(STDOUT_FILENO, line);
}

static void
do_lines(const char *arg)
{
	long n = atol(arg);

	for (long i = 0; i < n; i++) {
		char line[32];
		int len = snprintf(line, sizeof(line), "line %ld\n", i);

		put(STDOUT_FILENO, line, (size_t)len);
	}
}

static void
do_sleep(const char *arg)
{
	poll(NULL, 0, atoi(arg));
}

static void
do_hang(const char *arg)
{
	(void)arg;
	for (;;)
		pause();
}

static void
do_exit(const char *arg)
{
	_exit(atoi(arg));
}

static void
do_raise(const char *arg)
{
	raise(atoi(arg));
}

static void
do_ignore(const char *arg)
{
	signal(atoi(arg), SIG_IGN);
}

static void
do_cat(const char *arg)
{
	static char block[PATTERN_BYTES];
	ssize_t n;

	(void)arg;
	while ((n = read(STDIN_FILENO, block, sizeof(block))) > 0)
		put(STDOUT_FILENO, block, (size_t)n);
}

static void
do_close_out(const char *arg)
{
	(void)arg;
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
}

static void
do_touch(const char *arg)
{
	int fd = open(arg, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
}

static void
do_await(const char *arg)
{
	while (access(arg, F_OK) != 0)
		poll(NULL, 0, 1);
}

static void
do_fork_away(const char *arg)
{
	if (fork() != 0)
		return;
	setsid();
	if (fork() == 0)
		do_hang(arg);
	_exit(0);
}

static void
do_pid(const char *arg)
{
	char line[32];
	int len = snprintf(line, sizeof(line), "%d\n", getpid());

	(void)arg;
	put(STDOUT_FILENO, line, (size_t)len);
}

static const struct verb {
	const char *name;
	void (*run)(const char *arg);
} verbs[] = {
    {"print", do_print},
    {"stderr", do_stderr},
    {"bytes", do_bytes},
    {"stream", do_stream},
    {"lines", do_lines},
    {"sleep", do_sleep},
    {"hang", do_hang},
    {"exit", do_exit},
    {"raise", do_raise},
    {"ignore", do_ignore},
    {"cat", do_cat},
    {"close-out", do_close_out},
    {"touch", do_touch},
    {"await", do_await},
    {"fork-away", do_fork_away},
    {"pid", do_pid},
};

/* One "VERB ARG"; an unknown verb ends the puppet with 98. */
static void
play(char *step)
{
	char *name, *arg;

	step += strspn(step, " ");
	if (*step == '\0')
		return;
	name = strsep(&step, " ");
	arg = step == NULL ? name + strlen(name) : step;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(verbs[i].name, name) == 0) {
			verbs[i].run(arg);
			return;
		}
	}
	fprintf(stderr, "puppet: what is %s?\n", name);
	_exit(98);
}

int
main(int argc, char **argv)
{
	char *rest, *step;

	if (argc != 2)
		return 2;
	rest = argv[1];
	while ((step = strsep(&rest, ";")) != NULL)
		play(step);
	return 0;
}
