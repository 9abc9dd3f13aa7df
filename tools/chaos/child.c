/* SPDX-License-Identifier: MIT */
/*
 * psup-chaos as the command of a session. Each first adds its number to a file
 * in one write, so that a session that never ran has no line there and one
 * that ran twice has two. Then:
 *
 *     write N BYTES PAUSE_US CODE   bytes of its pattern, in odd pieces
 *     signal N SIG                  ends by a signal
 *     echo N                        stdin to stdout until EOF
 *     terminal N BYTES CODE         the pattern on a raw terminal
 *     keys N                        pattern, then what is typed, to a line's end
 *     tick N                        64 bytes a millisecond, for ever
 *     hide N                        two more processes that hide, for ever
 *     order N FILE                  its number into FILE
 */
#include "chaos.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* Mixes number and position, eight bytes of pattern at a time. */
static uint64_t
mix(uint32_t n, uint64_t block)
{
	uint64_t x = block * 0x9e3779b97f4a7c15u + n;

	x ^= x >> 31;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 29;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 32;
}

char
pattern_byte(uint32_t n, uint64_t pos)
{
	static const char letters[65] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	return letters[mix(n, pos / 8) >> pos % 8 * 8 & 63];
}

void
pattern_fill(uint32_t n, uint64_t pos, char *buf, size_t size)
{
	for (size_t i = 0; i < size; i++)
		buf[i] = pattern_byte(n, pos + i);
}

/* All of it, or the end of this process. */
static void
put(int fd, const char *buf, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, buf, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(99);
		buf += n;
		size -= (size_t)n;
	}
}

/* One line into a file that many write to. */
static void
add_line(const char *path, const char *number)
{
	char line[32];
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	int len = snprintf(line, sizeof(line), "%s\n", number);

	if (fd < 0 || write(fd, line, (size_t)len) != len)
		_exit(98);
	close(fd);
}

static int
do_write(uint32_t n, char **args)
{
	uint64_t total = strtoull(args[0], NULL, 10), pos = 0;
	unsigned long us = strtoul(args[1], NULL, 10);
	char buf[8192];
	uint32_t state = n * 2654435761u | 1;

	while (pos < total) {
		size_t size = 1 + rnd(&state) % sizeof(buf);

		if (size > total - pos)
			size = (size_t)(total - pos);
		pattern_fill(n, pos, buf, size);
		put(STDOUT_FILENO, buf, size);
		pos += size;
		if (us > 0)
			clock_nap(us * NSEC_PER_USEC);
	}
	return atoi(args[2]);
}

static int
do_signal(uint32_t, char **args)
{
	signal(atoi(args[0]), SIG_DFL);
	kill(getpid(), atoi(args[0]));
	pause();
	return 97;
}

static int
do_echo(uint32_t, char **)
{
	char buf[65536];
	ssize_t got;

	for (;;) {
		got = read(STDIN_FILENO, buf, sizeof(buf));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0 ? 0 : 96;
		put(STDOUT_FILENO, buf, (size_t)got);
	}
}

/* Nothing is changed on its way; or the end of this process. */
static void
go_raw(void)
{
	struct termios t;

	if (tcgetattr(STDOUT_FILENO, &t) < 0)
		_exit(95); /* no terminal */
	cfmakeraw(&t);
	if (tcsetattr(STDOUT_FILENO, TCSANOW, &t) < 0)
		_exit(94);
}

static int
do_terminal(uint32_t n, char **args)
{
	char *rest[] = {args[0], (char[]){"200"}, args[1]};

	go_raw();
	return do_write(n, rest);
}

static void
put_ready(uint32_t n)
{
	char buf[READY_BYTES];

	pattern_fill(n, 0, buf, sizeof(buf));
	put(STDOUT_FILENO, buf, sizeof(buf));
}

static int
do_keys(uint32_t n, char **)
{
	char buf[4096], *end;
	ssize_t got;

	go_raw();
	put_ready(n);
	while ((got = read(STDIN_FILENO, buf, sizeof(buf))) > 0) {
		end = memchr(buf, '\n', (size_t)got);
		put(STDOUT_FILENO, buf,
		    end != NULL ? (size_t)(end - buf) : (size_t)got);
		if (end != NULL)
			return 0;
	}
	return 93;
}

/* In a session of its own, its parent dead, and nothing of ours open. */
static void
hide(bool twice)
{
	if (fork() != 0)
		return;
	setsid();
	if (twice && fork() != 0)
		_exit(0);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	for (;;)
		pause();
}

static int __attribute__((noreturn))
do_hide(uint32_t n, char **)
{
	hide(false);
	hide(true);
	put_ready(n);
	for (;;)
		pause();
}

static int __attribute__((noreturn))
do_tick(uint32_t n, char **)
{
	char buf[64];

	for (uint64_t pos = 0;; pos += sizeof(buf)) {
		pattern_fill(n, pos, buf, sizeof(buf));
		put(STDOUT_FILENO, buf, sizeof(buf));
		clock_nap(NSEC_PER_MSEC);
	}
}

static int
do_order(uint32_t n, char **args)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", n);
	add_line(args[0], number);
	return 0;
}

int
child_main(int argc, char **argv)
{
	static const struct {
		const char *word;
		int args;
		int (*run)(uint32_t n, char **args);
	} lives[] = {
	    {"write", 3, do_write}, {"signal", 1, do_signal},
	    {"echo", 0, do_echo}, {"terminal", 2, do_terminal},
	    {"tick", 0, do_tick}, {"order", 1, do_order},
	    {"keys", 0, do_keys}, {"hide", 0, do_hide},
	};

	if (argc >= 1 && strcmp(argv[0], "bystander") == 0)
		return bystander_main(argc - 1, argv + 1);
	if (argc >= 1 && strcmp(argv[0], "hostile") == 0)
		return hostile_main(argc - 1, argv + 1);
	if (argc == 1 && strcmp(argv[0], "beat") == 0)
		beat_main();
	/* WORD STARTS-FILE N ARGS... */
	for (size_t i = 0; argc >= 3 && i < sizeof(lives) / sizeof(lives[0]);
	     i++) {
		if (strcmp(argv[0], lives[i].word) != 0 ||
		    argc != 3 + lives[i].args)
			continue;
		add_line(argv[1], argv[2]);
		/* Nothing of a sanitizer's runs now: killed while it looks for
		 * leaks, it says so, in the output of this session. */
		_exit(lives[i].run((uint32_t)strtoul(argv[2], NULL, 10),
		    argv + 3));
	}
	return 2;
}
