/* SPDX-License-Identifier: MIT */
/* What psup attach shows, keeps back and undoes. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tools/psup/term_out.h"

static char shown[8192];
static size_t shown_len;

static int
put(void *arg, const char *data, size_t len)
{
	(void)arg;
	cr_assert_lt(shown_len + len, sizeof(shown));
	memcpy(shown + shown_len, data, len);
	shown_len += len;
	shown[shown_len] = '\0';
	return 0;
}

/* All at once, then byte for byte: the same comes out. */
static void
shows(bool replay, const char *in, const char *want)
{
	struct term_out t = {.replay = replay};
	size_t i;

	shown_len = 0;
	shown[0] = '\0';
	cr_assert_eq(term_out(&t, in, strlen(in), put, NULL), 0);
	cr_assert_str_eq(shown, want);
	t = (struct term_out){.replay = replay};
	shown_len = 0;
	shown[0] = '\0';
	for (i = 0; i < strlen(in); i++)
		term_out(&t, in + i, 1, put, NULL);
	cr_assert_str_eq(shown, want);
}

static const char *
undo_of(const char *in)
{
	static char text[512];
	struct term_out t = {0};

	shown_len = 0;
	term_out(&t, in, strlen(in), put, NULL);
	term_out_undo(&t, text, sizeof(text));
	return text;
}

#define NONE "\357\277\275" /* U+FFFD */

TestSuite(term_out, .timeout = 10);

Test(term_out, text_and_colours_pass)
{
	shows(false, "plain \033[1;31mred\033[0m\r\n\a\033(B\033[2J\033[5;6H",
	    "plain \033[1;31mred\033[0m\r\n\a\033(B\033[2J\033[5;6H");
}

Test(term_out, what_the_worker_answers_is_left_out)
{
	shows(false, "a\033[6nb\033[5n\033[?6nc\033[c\033[0c\033[>c\033[=cd"
	             "\033[?2004$p\033[4$pe\033Zf\005g",
	    "abcdefg");
}

Test(term_out, other_questions_are_asked_once)
{
	shows(false, "\033]11;?\a\033[>q", "\033]11;?\a\033[>q");
	shows(true, "\033]11;?\a\033[>q\033[18t\033P$qm\033\\\033P+q544e\033\\"
	            "\033]4;1;?\033\\x", "x");
}

Test(term_out, old_output_has_no_effect_outside)
{
	shows(true, "\aa\033]52;c;Zm9v\ab\033]9;hi\ac\033]10;red\a",
	    "abc\033]10;red\a");
}

/* What another's session may not do to the person who looks at it. */
static const char *const beyond[] = {
	"\033]52;c;Zm9v\a", "\033]52;c;?\033\\", "\033]0052;c;Zm9v\a",
	"\033]5522;type=write\033\\", "\033]1337;CopyToClipboard=\a",
	"\033]1337;Copy=:Zm9v\a", "\033Ptmux;\033\033]52;c;Zm9v\a\033\\",
	"\033P\033]52;c;Zm9v\a", "\033]0;x\033]52;c;Zm9v\a",
	"\033]0;title\a", "\033]1;icon\033\\", "\033]2;title\a", "\033]l;t\a",
	"\033ktitle\033\\", "\033]7;file://h/\a", "\033]9;hi\a",
	"\033]777;notify;a;b\a", "\033]50;font\a", "\033]\a",
	"\033Pq#0;2;0;0;0#0~~\033\\", "\033P$qm\033\\", "\033_Ga=T;AAAA\033\\",
	"\033]1337;File=inline=1:AAAA\a", "\033^private\033\\", "\033Xs\033\\",
	"\033[18t", "\033[22;0t", "\033[8;50;100t", "\033[>2t",
	"\033[21t", "\033[20t", "\033[021;0t", "\033[5i", "\033[4i", "\033[i",
	"\033[?5i", "\033[?4i", "\033[?1i",
	/* links: what is shown says nothing of where one goes */
	"\033]8;;file:x\a", "\033]8;;\033\\",
	/* bytes would be read in another way */
	"\033%@", "\033%G", "\033%/G", "\033%/1", "\033 G", "\033 F",
	"\033$B", "\033$(C", "\033[?2l", "\033[62;1\"p",
	/* lines above the window, its size, the keyboard, a log, the pointer */
	"\033[3J", "\033[2;3J", "\033[?3J", "\033[?3h", "\033[?25;3l",
	"\033[?40h", "\033[80$|", "\033[50*|", "\033[2h", "\033[12l",
	"\033[?46h", "\033[?38h", "\033[?1043h", "\033[1;2'z", "\033[>3p",
	"\033l", "\033m", "\033V", "\033[2?1t", "\033[2 3t",
};

Test(term_out, anothers_session_has_no_effect_outside)
{
	char in[128], want[128];
	size_t i;

	for (i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
		snprintf(in, sizeof(in), "a%sz", beyond[i]);
		/* what tmux would hand on ends with the inner string */
		snprintf(want, sizeof(want), "a%sz",
		    strstr(beyond[i], "tmux") != NULL ? "\033\\" : "");
		shows(false, in, want);
		shows(true, in, want);
	}
	/* controls act at once and are no part of it */
	shows(false, "a\033[2\r1tz", "a\rz");
	shows(false, "a\033[2\177" "1tz", "a\177z");
	/* U+009D is an OSC to some, U+009B a CSI, U+009C ends a string */
	shows(false, "\302\2351\302\2332\302\251\303\251\346\227\245",
	    "12\302\251\303\251\346\227\245");
	/* and so are these to one that reads bytes, or is lax */
	shows(false, "\2331t\235" "52;c;x\a\300\2331\340\202\2331\342\200.",
	    NONE "1t" NONE "52;c;x\a" NONE NONE "1" NONE
	    "1" NONE ".");
}

/* It forgets the lines above the window, too. */
Test(term_out, a_reset_is_one_of_the_window)
{
	shows(false, "a\033[?1049h\033cz", "a\033[?1049h\030\033\\\033[m\033(B"
	    "\017\033[?1049l\033[H\033[2Jz");
}

Test(term_out, ones_own_session_does_as_it_likes)
{
	struct term_out t = {.own = true};
	const char c1[] = "\302\23552;c;Zm9v\302\234";
	size_t i;

	for (i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
		t.state = 0;
		shown_len = 0;
		term_out(&t, beyond[i], strlen(beyond[i]), put, NULL);
		cr_expect_str_eq(shown, beyond[i]);
	}
	shown_len = 0;
	term_out(&t, c1, strlen(c1), put, NULL);
	cr_expect_str_eq(shown, c1);
}

Test(term_out, a_long_sequence_hides_nothing)
{
	static char in[4000], want[4000];

	/* a CSI of many digits is shown as what it is: text */
	memset(in, '0', 2000);
	memcpy(in, "\033[", 2);
	strcpy(in + 2000, "21t");
	memset(want, '0', 2000 - TERM_SEQ_MAX);
	strcpy(want + 2000 - TERM_SEQ_MAX, "21t");
	shows(false, in, want);
	/* a string that is not ended, whose beginning was shown already */
	memset(in, 'y', 2000);
	memcpy(in, "\033]4;", 4);
	strcpy(in + 2000, "\033]52;c;Zm9v\aend");
	memcpy(want, in, 2000);
	strcpy(want + 2000, "end");
	shows(false, in, want);
	strcpy(in + 2000, "\033\\end");
	shows(false, in, in);
	/* the ESC is the last byte that fits */
	in[0] = '\033';
	memset(in + 4, 'y', sizeof(in) - 5);
	strcpy(in + TERM_SEQ_MAX - 1, "\033\\end");
	shows(false, in, in);
}

Test(term_out, a_long_string_passes_or_is_left_out_whole)
{
	static char in[3000], want[3000];

	memset(in, 'y', sizeof(in) - 1);
	memcpy(in, "\033]52;c;", 7);
	memcpy(in + 2900, "\aend", 5);
	shows(false, in, "end");
	shows(true, in, "end");
	memcpy(in, "\033]4;012", 7);
	strcpy(want, in);
	shows(false, in, want);
	shows(true, in, "end");
}

Test(term_out, an_escape_within_a_sequence_begins_anew)
{
	shows(false, "\033[3\033[6n\033[1mx\033\033[6ny",
	    "\033[1mxy");
}

/* What is cut off is left out: the text behind what is left out would be its
 * end. */
Test(term_out, nothing_is_put_together_of_pieces)
{
	shows(false, "a\033\033]52;c;Zm9v\a]52;c;Zm9v\az",
	    "a]52;c;Zm9v\az");
	shows(false, "a\033[2\033]52;c;Zm9v\a1tz", "a1tz");
	shows(false, "a\302\033]52;c;Zm9v\a\2331tz", "a" NONE NONE "1tz");
	shows(false, "a\302\302\2331tz\302", "a" NONE "1tz");
	shows(false, "a\033%\030Gz\033[2\0321tz", "aGz1tz");
}

Test(term_out, modes_are_undone_and_only_those)
{
	cr_assert_str_eq(undo_of("text\033[1m"), "\030\033\\\033[m\033(B\017");
	cr_assert_str_eq(undo_of("\033[?1049h\033[?25l\033[?2004h\033="),
	    "\030\033\\\033[m\033(B\017\033[?1049l\033[?25h\033[?2004l\033>");
	cr_assert_str_eq(
	    undo_of("\033[?1049h\033[?1000;1006h\033[?1000l\033[?1049l"),
	    "\030\033\\\033[m\033(B\017\033[?1006l");
	cr_assert_not_null(strstr(undo_of("\033[3;9r"), "\0337\033[r\0338"));
	cr_assert_not_null(strstr(undo_of("\033[5 q"), "\033[0 q"));
	cr_assert_not_null(strstr(undo_of("\033[>1u\033[>4;2m"), "\033[<1u"));
	cr_assert_null(strstr(undo_of("\033[?1049h\033c"), "1049"));
	cr_assert_not_null(strstr(undo_of("\033[4h\033[20h\033[=5u"),
	    "\033[4l\033[20l\033[=0u"));
	cr_assert_not_null(strstr(undo_of("\033[?2048h"), "\033[?2048l"));
	cr_assert_not_null(strstr(undo_of("\033]4;1;red\a\033]11;blue\a"),
	    "\033]104\a\033]111\a"));
	cr_assert_null(strstr(undo_of("\033]11;blue\a\033]111\a"), "111"));
}
