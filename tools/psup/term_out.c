/* SPDX-License-Identifier: MIT */
/*
 * The filter of term_out.h. Called by attach.c with all that the session
 * writes. It keeps no screen; it only knows where sequences begin and end.
 *
 * DSR, DA and DECRQM are answered by the session's worker: if our terminal saw
 * them it would answer a second time, and with several of us attached a third.
 * Of old output nothing may be answered at all. What another's session writes
 * does not reach beyond the window either: of strings only those of a short list
 * pass, so no clipboard, no title, no notice, no picture; no printer, and no word
 * about the window itself. An ESC begins anew wherever it stands, as terminals
 * have it, so that nothing hides in an unfinished string; what it cuts off is left
 * out, since text that follows would end it otherwise.
 */
#include "term_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ESC     '\033'
#define C1_LEAD '\xc2' /* begins U+0080 to U+00BF in UTF-8 */

/* PASS, DROP: within a string that is too long to be kept. */
enum term_state { GROUND, ESCAPE, CSI, STRING, STRING_ESC, PASS, PASS_ESC,
	DROP, DROP_ESC };

/* Private modes that change how a terminal behaves, and what they are in one
 * that nobody has touched. One bit of term_out.modes each. */
static const struct {
	int number;
	bool on;
} modes[] = {
	{1049, false}, {1047, false}, {47, false}, /* alternate screen: first */
	{1, false}, {5, false}, {6, false}, {7, true}, {9, false}, {25, true},
	{66, false}, {69, false}, {1000, false}, {1002, false}, {1003, false},
	{1004, false}, {1005, false}, {1006, false}, {1007, false},
	{1015, false}, {1016, false}, {2004, false}, {2026, false},
};
#define MODES (sizeof(modes) / sizeof(modes[0]))

/* One CSI sequence, taken apart. */
struct csi {
	char prefix, between, final; /* 0: none */
	const char *params;
	size_t params_len;
};

/* Takes seq apart. */
static struct csi
csi_of(const struct term_out *t)
{
	struct csi q = {.final = t->seq[t->len - 1]};
	size_t at = 2, end = t->len - 1;

	if (at < end && t->seq[at] >= '<' && t->seq[at] <= '?')
		q.prefix = t->seq[at++];
	if (end > at && t->seq[end - 1] >= ' ' && t->seq[end - 1] <= '/')
		q.between = t->seq[--end];
	q.params = t->seq + at;
	q.params_len = end - at;
	return q;
}

/* The first parameter. */
static int
first_of(const struct csi *q)
{
	return q->params_len > 0 ? atoi(q->params) : 0;
}

/* Questions, by their form. `always`: the worker answers. */
static const struct {
	char prefix, between, final;
	bool always;
} questions[] = {
	{0, 0, 'n', true}, {'?', 0, 'n', true}, {0, 0, 'c', true},
	{'>', 0, 'c', true}, {'=', 0, 'c', true}, {0, '$', 'p', true},
	{'?', '$', 'p', true}, {'>', 0, 'q', false}, {'?', 0, 'u', false},
	{0, 0, 'x', false}, {0, '*', 'y', false}, {0, '$', 'w', false},
	{0, '$', 'u', false}, {'?', 0, 'S', false}, {'?', 0, 'm', false},
};

/* Is it a question, or a word to the printer or of the window (its title, place,
 * size), that our terminal must not see? */
static bool
csi_is_kept(const struct term_out *t, const struct csi *q)
{
	bool printer = q->final == 'i' && (q->prefix == 0 || q->prefix == '?');
	bool window = q->final == 't' && q->between == 0;

	if (printer || window)
		return !t->own;
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
		if (questions[i].prefix == q->prefix &&
		    questions[i].between == q->between &&
		    questions[i].final == q->final)
			return questions[i].always || t->replay;
	return false;
}

/* DECSET and DECRST, one or several. */
static void
note_modes(struct term_out *t, const struct csi *q, bool on)
{
	const char *p = q->params, *end = p + q->params_len;

	while (p < end) {
		int number = atoi(p);

		for (size_t i = 0; i < MODES; i++)
			if (modes[i].number == number)
				t->modes = on != modes[i].on
				    ? t->modes | 1u << i
				    : t->modes & ~(1u << i);
		while (p < end && *p != ';')
			p++;
		p++;
	}
}

/* What has to be undone later. */
static void
csi_note(struct term_out *t, const struct csi *q)
{
	if (q->prefix == '?' && q->between == 0 &&
	    (q->final == 'h' || q->final == 'l'))
		note_modes(t, q, q->final == 'h');
	else if (q->prefix == 0 && q->between == 0 && q->final == 'r')
		t->margins = q->params_len > 0;
	else if (q->between == ' ' && q->final == 'q')
		t->cursor_shape = first_of(q) != 0;
	else if (q->prefix == '>' && q->final == 'm')
		t->modify_keys = q->params_len > 1;
	else if (q->prefix == '>' && q->final == 'u')
		t->keyboards++;
	else if (q->prefix == '<' && q->final == 'u' && t->keyboards > 0)
		t->keyboards--;
}

/* What acts at once within a sequence, and is no part of it. */
static bool
is_control(char c)
{
	return (c >= 0 && c < ' ' && c != ESC && c != 0x18 && c != 0x1a) ||
	    c == 0x7f;
}

/* Operating system commands that do not reach beyond the window: colours, links,
 * where prompts stand. */
static const struct {
	int from, to;
} within[] = {{4, 5}, {8, 8}, {10, 19}, {104, 105}, {110, 119}, {133, 133}};

/* OSC, DCS and the like: may our terminal see it? Of old output nothing that
 * it answers. The bytes between its number and its end are text. */
static bool
string_passes(const struct term_out *t)
{
	int number = 0;
	size_t at = 2;

	if (t->own)
		return true;
	for (size_t i = 2; i + 1 < t->len; i++)
		if (is_control(t->seq[i]))
			return false;
	for (; at < t->len && t->seq[at] >= '0' && t->seq[at] <= '9'; at++)
		number = number < 1000 ? 10 * number + t->seq[at] - '0' : 1000;
	if (t->seq[1] != ']' || at == 2 ||
	    (t->replay && memchr(t->seq, '?', t->len) != NULL))
		return false;
	for (size_t i = 0; i < sizeof(within) / sizeof(within[0]); i++)
		if (number >= within[i].from && number <= within[i].to)
			return true;
	return false;
}

/* Everything as after power on. */
static void
forget(struct term_out *t)
{
	t->modes = 0;
	t->keypad = t->margins = t->cursor_shape = t->modify_keys = false;
	t->keyboards = 0;
}

/* The second byte of a sequence, or the last one of a short one. */
static enum term_state
escape_byte(struct term_out *t, char c, bool *ret_show)
{
	if (t->len == 2) {
		if (c == '[')
			return CSI;
		/* of tmux and screen, ESC k is a title */
		if (strchr("]P_^X", c) != NULL || (c == 'k' && !t->own))
			return STRING;
		if (c == '=' || c == '>')
			t->keypad = c == '=';
		if (c == 'c')
			forget(t);
		if (c == 'Z') { /* DECID */
			t->len = 0;
			return GROUND;
		}
	}
	if (c >= ' ' && c <= '/')
		return ESCAPE; /* ESC ( B */
	*ret_show = true;
	return GROUND;
}

/* One byte of a CSI sequence. */
static enum term_state
csi_byte(struct term_out *t, char c, bool *ret_show)
{
	struct csi q;

	if (c < '@' || c > '~')
		return CSI;
	q = csi_of(t);
	if (csi_is_kept(t, &q)) {
		t->len = 0;
	} else {
		csi_note(t, &q);
		*ret_show = true;
	}
	return GROUND;
}

/* The end of a string. */
static enum term_state
string_end(struct term_out *t, bool *ret_show)
{
	if (string_passes(t))
		*ret_show = true;
	else
		t->len = 0;
	return GROUND;
}

/* One byte that is part of a sequence and was added to seq. *ret_show: seq is
 * to be shown now. */
static enum term_state
seq_byte(struct term_out *t, char c, bool *ret_show)
{
	if (t->state != STRING && t->state != STRING_ESC &&
	    (c == 0x18 || c == 0x1a)) {
		*ret_show = true;
		return GROUND;
	}
	switch ((enum term_state)t->state) {
	case ESCAPE:
		return escape_byte(t, c, ret_show);
	case CSI:
		return csi_byte(t, c, ret_show);
	case STRING:
		return c == '\a' ? string_end(t, ret_show)
		    : c == ESC   ? STRING_ESC
		                 : STRING;
	case STRING_ESC:
		return c == '\\' ? string_end(t, ret_show)
		    : c == ESC   ? STRING_ESC
		                 : STRING;
	default:
		return GROUND;
	}
}

/* Shows what was kept. */
static int
show_seq(struct term_out *t, term_put_fn *put, void *arg)
{
	size_t len = t->len;

	t->len = 0;
	return len > 0 ? put(arg, t->seq, len) : 0;
}

/* A string too long to be kept: it passes as it comes, or is left out. */
static int
long_byte(struct term_out *t, char c, term_put_fn *put, void *arg)
{
	bool pass = t->state == PASS || t->state == PASS_ESC;
	bool esc = t->state == PASS_ESC || t->state == DROP_ESC;
	const char both[2] = {ESC, c};

	if (c == ESC)
		t->state = pass ? PASS_ESC : DROP_ESC;
	else if (c == '\a' || (esc && c == '\\'))
		t->state = GROUND;
	else
		t->state = pass ? PASS : DROP;
	if (!pass || (c == ESC && !esc) || (is_control(c) && c != '\a' &&
	    !t->own))
		return 0; /* an ESC waits for what comes after it */
	return c == ESC ? put(arg, &c, 1) : put(arg, both + !esc, 1 + esc);
}

/* A sequence that fills the buffer. Of a CSI the rest is shown as text. */
static int
too_long(struct term_out *t, term_put_fn *put, void *arg)
{
	bool string = t->state == STRING || t->state == STRING_ESC;
	bool pass = string && string_passes(t) && !t->replay;
	bool esc = t->state == STRING_ESC;

	t->state = !string ? GROUND
	    : pass         ? (esc ? PASS_ESC : PASS)
	                   : (esc ? DROP_ESC : DROP);
	if (!pass)
		t->len = 0;
	t->len -= pass && esc; /* that is for long_byte() to show */
	return show_seq(t, put, arg);
}

/* Is the byte the one after an ESC that ended no string? A new sequence. */
static bool
begins_anew(const struct term_out *t, char c)
{
	return !t->own && c != '\\' && c != ESC && (t->state == STRING_ESC ||
	    t->state == PASS_ESC || t->state == DROP_ESC);
}

/* How many bytes from `data` on are plain. */
static size_t
plain_len(const struct term_out *t, const char *data, size_t len)
{
	size_t n = 0;

	while (n < len && data[n] != ESC && data[n] != 0x05 &&
	    data[n] != C1_LEAD && (data[n] != '\a' || !t->replay))
		n++;
	return n;
}

/* ENQ, which asks, and the bell of old output. */
static bool
is_silent(const struct term_out *t, char c)
{
	return c == 0x05 || (c == '\a' && t->replay);
}

/* One byte, not plain, or within a sequence. */
static int
one_byte(struct term_out *t, char c, term_put_fn *put, void *arg)
{
	bool show = false;

	if (begins_anew(t, c)) {
		t->state = ESCAPE; /* what came of the string goes */
		t->seq[0] = ESC;
		t->len = 1;
	}
	if (t->state >= PASS)
		return long_byte(t, c, put, arg);
	if (t->state == GROUND && c != ESC)
		return is_silent(t, c) ? 0 : put(arg, &c, 1);
	if ((t->state == ESCAPE || t->state == CSI) && is_control(c))
		return is_silent(t, c) ? 0 : put(arg, &c, 1);
	if (t->state != STRING && t->state != STRING_ESC && c == ESC) {
		t->state = ESCAPE;
		t->seq[0] = c;
		t->len = 1;
		return 0;
	}
	t->seq[t->len++] = c;
	t->state = (int)seq_byte(t, c, &show);
	if (t->len == TERM_SEQ_MAX && !show)
		return too_long(t, put, arg);
	return show ? show_seq(t, put, arg) : 0;
}

/* As one_byte(), where a byte may be half of a character: the controls U+0080
 * to U+009F are left out, as some terminals take them for ESC and a letter; and
 * so is a half whose other half is missing, which might yet meet one. */
static int
half_byte(struct term_out *t, char c, term_put_fn *put, void *arg)
{
	unsigned char u = (unsigned char)c;
	bool half = t->c1_lead;
	int rc = 0;

	t->c1_lead = !t->own && c == C1_LEAD;
	if (t->c1_lead || (half && u >= 0x80 && u < 0xa0))
		return 0;
	if (half && u >= 0xa0 && u < 0xc0)
		rc = one_byte(t, C1_LEAD, put, arg);
	return rc != 0 ? rc : one_byte(t, c, put, arg);
}

int
term_out(struct term_out *t, const char *data, size_t len, term_put_fn *put,
    void *arg)
{
	size_t n;
	int rc = 0;

	while (len > 0 && rc == 0) {
		n = t->state == GROUND && !t->c1_lead
		    ? plain_len(t, data, len)
		    : 0;
		if (n > 0) {
			rc = put(arg, data, n);
		} else {
			rc = half_byte(t, *data, put, arg);
			n = 1;
		}
		data += n;
		len -= n;
	}
	return rc;
}

bool
term_out_is_changed(const struct term_out *t)
{
	return t->state != GROUND || t->modes != 0 || t->keypad ||
	    t->margins || t->cursor_shape || t->modify_keys ||
	    t->keyboards > 0;
}

void
term_out_undo(const struct term_out *t, char *ret, size_t size)
{
	size_t n = 0;

	/* within a sequence: cancel it; a string: end it */
	n += (size_t)snprintf(ret + n, size - n, "\030\033\\\033[m\033(B\017");
	if (t->margins)
		n += (size_t)snprintf(ret + n, size - n,
		    "\0337\033[r\0338");
	for (size_t i = 0; i < MODES && n < size; i++)
		if ((t->modes & 1u << i) != 0)
			n += (size_t)snprintf(ret + n, size - n, "\033[?%d%c",
			    modes[i].number, modes[i].on ? 'h' : 'l');
	if (t->keypad && n < size)
		n += (size_t)snprintf(ret + n, size - n, "\033>");
	if (t->cursor_shape && n < size)
		n += (size_t)snprintf(ret + n, size - n, "\033[0 q");
	if (t->modify_keys && n < size)
		n += (size_t)snprintf(ret + n, size - n, "\033[>4m");
	if (t->keyboards > 0 && n < size)
		(void)snprintf(ret + n, size - n, "\033[<%uu", t->keyboards);
}
