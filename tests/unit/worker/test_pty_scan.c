/* SPDX-License-Identifier: MIT */
/* What the scanner finds must not depend on where output is cut. */
#include <criterion/criterion.h>
#include <string.h>

#include "shm/layout.h"
#include "worker/pty_scan.h"

TestSuite(pty_scan, .timeout = 20);

static struct pty_scan scan;
static char answer[256];
static size_t len;

/* The answers to a text, given in pieces of `piece` bytes. */
static const char *
answers(const char *text, size_t piece)
{
	size_t size = strlen(text), at, n;

	memset(&scan, 0, sizeof(scan));
	len = 0;
	for (at = 0; at < size; at += n) {
		n = size - at < piece ? size - at : piece;
		pty_scan(&scan, text + at, n, answer, sizeof(answer) - 1,
		    &len);
	}
	answer[len] = '\0';
	return answer;
}

static const struct {
	const char *output, *answer;
} cases[] = {
    {"\033[6n", "\033[1;1R"},
    {"\033[?6n", "\033[1;1R"},
    {"\033[5n", "\033[0n"},
    {"\033[7n\033[n", ""},
    {"\033[c", "\033[?62;22c"},
    {"\033[0c", "\033[?62;22c"},
    {"\033[1c", ""},
    {"\033[>c", "\033[>1;10;0c"},
    {"\033[?1$p", "\033[?1;2$y"},
    {"\033[?1h\033[?1$p", "\033[?1;1$y"},
    {"\033[?2004$p", "\033[?2004;2$y"},
    {"\033[?25;2004h\033[?2004$p", "\033[?2004;1$y"},
    {"\033[?2026$p", "\033[?2026;0$y"},
    {"\033[4$p", "\033[4;0$y"},
    {"plain \033[31mred\033[0m \033]0;title\007 6n", ""},
    {"\033\033[6n", "\033[1;1R"},
    {"\033[6\030n", ""},
    {"\033[\r6n", "\033[1;1R"},
    {"a\033[6nb\033[6nc", "\033[1;1R\033[1;1R"},
    {"\033[1;2$;p\033[$$p\033[", ""},
};

Test(pty_scan, answers_queries_wherever_they_are_cut)
{
	size_t i, piece;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (piece = 1; piece < 9; piece++)
			cr_expect_str_eq(answers(cases[i].output, piece),
			    cases[i].answer, "case %zu in pieces of %zu", i,
			    piece);
}

static const struct {
	const char *output;
	uint32_t modes;
} modes[] = {
    {"hello", 0},
    {"\033[?1h", PTY_CURSOR_APP},
    {"\033[?1h\033[?1l", PTY_CURSOR_NORMAL},
    {"\033[?1049;1;2004h", PTY_CURSOR_APP | PTY_PASTE},
    {"\033[?2004h", PTY_PASTE},
    {"\033[?1;2004h\033c", PTY_CURSOR_NORMAL},
    {"\033[?1h\033[!p", PTY_CURSOR_NORMAL},
    {"\033[1h", 0},
    {"\033[?12h\033[?11h\033[?;1x", 0},
    {"\033[?;1h", PTY_CURSOR_APP},
};

Test(pty_scan, follows_modes_wherever_they_are_cut)
{
	size_t i, piece;

	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		for (piece = 1; piece < 9; piece++) {
			answers(modes[i].output, piece);
			cr_expect_eq(scan.modes, modes[i].modes,
			    "case %zu in pieces of %zu", i, piece);
		}
}

Test(pty_scan, noise_is_bounded)
{
	static char noise[100000];
	uint32_t x = 1;
	size_t i;

	for (i = 0; i < sizeof(noise) - 1; i++) {
		x = x * 1664525u + 1013904223u;
		noise[i] = "\033[?0123456789;$pnhlc> \030\177\200"[x >> 16 & 15];
		if (noise[i] == '\0')
			noise[i] = '[';
	}
	answers(noise, 4095);
	cr_expect_lt(len, sizeof(answer));
	cr_expect_leq(scan.len, PTY_SEQ_MAX);
	memset(noise, '1', 1000);
	memcpy(noise, "\033[", 2);
	memcpy(noise + 1000, "n\033[6n", 6);
	cr_expect_str_eq(answers(noise, 100), "\033[1;1R",
	    "a sequence without end is none");
}

Test(pty_scan, a_full_answer_buffer_takes_no_half)
{
	size_t i;

	memset(&scan, 0, sizeof(scan));
	len = 0;
	for (i = 0; i < 10; i++)
		pty_scan(&scan, "\033[6n", 4, answer, 20, &len);
	cr_expect_eq(len, 18);
}
