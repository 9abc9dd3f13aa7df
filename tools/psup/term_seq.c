/* SPDX-License-Identifier: MIT */
/*
 * What terminal sequences mean to who looks at another's session: which of them
 * pass (term_seq.h), what has to be undone later (term_out.h). Called by
 * term_out.c.
 *
 * DSR, DA and DECRQM are answered by the session's worker: if our terminal saw
 * them it would answer a second time, and with several of us attached a third.
 * Of old output nothing may be answered at all. What another's session writes
 * does not reach beyond the window either, nor outlive our leaving it: of strings
 * only those of a short list pass, so no clipboard, no title, no link, no notice,
 * no picture; no printer, no word about the window itself, nothing that changes
 * how bytes are read (character sets other than by shifts, 8-bit controls, VT52),
 * that locks keys or forgets the lines above the window.
 */
#include "term_seq.h"

#include <stdio.h>
#include <string.h>

#include "common/format.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

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
	{2031, false}, {2048, false},
};

/* Those that another's session may not touch: VT52, 132 columns, the printer,
 * Tektronix's window, a log file, the window on a bell. */
static const int modes_beyond[] = {2, 3, 18, 19, 38, 40, 46, 1042, 1043};
/* And of the standard ones: a locked keyboard, its echo. */
static const int ansi_beyond[] = {2, 12};

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

/* Parameters that are numbers: what else stands there is read by each terminal
 * as it likes. */
static bool
csi_is_regular(const struct csi *q)
{
	for (size_t i = 0; i < q->params_len; i++)
		if (q->params[i] < '0' || q->params[i] > ';')
			return false;
	return true;
}

/* The next parameter from *at on, which moves behind it; -1: there is none. */
static int
next_param(const struct csi *q, size_t *at)
{
	int number = 0;

	if (*at >= q->params_len)
		return -1;
	for (; *at < q->params_len && q->params[*at] != ';'; ++*at)
		if (q->params[*at] >= '0' && q->params[*at] <= '9' &&
		    number < 100000)
			number = 10 * number + q->params[*at] - '0';
	++*at;
	return number;
}

/* Is one of these among the parameters? */
static bool
has_param(const struct csi *q, const int *numbers, size_t count)
{
	int number;

	for (size_t at = 0; (number = next_param(q, &at)) >= 0;)
		for (size_t i = 0; i < count; i++)
			if (numbers[i] == number)
				return true;
	return false;
}

/* Sequences by their form. */
struct form {
	char prefix, between, final;
};

/* Questions that the worker answers; that our own terminal does. */
static const struct form answered[] = {
	{0, 0, 'n'}, {'?', 0, 'n'}, {0, 0, 'c'}, {'>', 0, 'c'}, {'=', 0, 'c'},
	{0, '$', 'p'}, {'?', '$', 'p'},
}, questions[] = {
	{'>', 0, 'q'}, {'?', 0, 'u'}, {0, 0, 'x'}, {0, '*', 'y'},
	{0, '$', 'w'}, {0, '$', 'u'}, {'?', 0, 'S'}, {'?', 0, 'm'},
/* To the printer; of the window (title, place, size); of what a terminal is and
 * how it sends; the locator, the pointer. */
}, beyond[] = {
	{0, 0, 'i'}, {'?', 0, 'i'}, {0, 0, 't'}, {'>', 0, 't'}, {'>', 0, 'T'},
	{'?', 0, 't'}, {'<', 0, 't'}, {'=', 0, 't'}, {0, '$', '|'},
	{0, '*', '|'}, {0, '"', 'p'}, {0, '\'', 'w'}, {0, '\'', 'z'},
	{0, '\'', '{'}, {0, '\'', '|'}, {'>', 0, 'p'},
};

static bool
is_among(const struct csi *q, const struct form *forms, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (forms[i].prefix == q->prefix &&
		    forms[i].between == q->between &&
		    forms[i].final == q->final)
			return true;
	return false;
}

/* Does it reach beyond the window? */
static bool
csi_is_beyond(const struct csi *q)
{
	static const int lines_above = 3; /* of ED */
	bool sets = q->between == 0 && (q->final == 'h' || q->final == 'l');

	return !csi_is_regular(q) || is_among(q, beyond, COUNT(beyond)) ||
	    (q->final == 'J' && has_param(q, &lines_above, 1)) ||
	    (sets && q->prefix == '?' &&
	        has_param(q, modes_beyond, COUNT(modes_beyond))) ||
	    (sets && q->prefix == 0 &&
	        has_param(q, ansi_beyond, COUNT(ansi_beyond)));
}

/* DECSET and DECRST, one or several. */
static void
note_modes(struct term_out *t, const struct csi *q, bool on)
{
	int number;

	for (size_t at = 0; (number = next_param(q, &at)) >= 0;)
		for (size_t i = 0; i < COUNT(modes); i++)
			if (modes[i].number == number)
				t->modes = on != modes[i].on
				    ? t->modes | 1u << i
				    : t->modes & ~(1u << i);
}

/* SM and RM. */
static void
note_ansi(struct term_out *t, const struct csi *q, bool on)
{
	static const int insert = 4, newline = 20;

	if (has_param(q, &insert, 1))
		t->insert = on;
	if (has_param(q, &newline, 1))
		t->newline = on;
}

/* What has to be undone later. */
static void
csi_note(struct term_out *t, const struct csi *q)
{
	bool sets = q->between == 0 && (q->final == 'h' || q->final == 'l');
	size_t at = 0;

	if (sets && q->prefix == '?')
		note_modes(t, q, q->final == 'h');
	else if (sets && q->prefix == 0)
		note_ansi(t, q, q->final == 'h');
	else if (q->prefix == 0 && q->between == 0 && q->final == 'r')
		t->margins = q->params_len > 0;
	else if (q->between == ' ' && q->final == 'q')
		t->cursor_shape = next_param(q, &at) > 0;
	else if (q->prefix == '>' && q->final == 'm')
		t->modify_keys = q->params_len > 1;
	else if (q->prefix == '>' && q->final == 'u')
		t->keyboards++;
	else if (q->prefix == '<' && q->final == 'u' && t->keyboards > 0)
		t->keyboards--;
	else if (q->prefix == '=' && q->final == 'u')
		t->keyboard_set = next_param(q, &at) > 0;
}

bool
term_seq_csi(struct term_out *t)
{
	struct csi q = csi_of(t);

	if (is_among(&q, answered, COUNT(answered)) ||
	    (t->replay && is_among(&q, questions, COUNT(questions))) ||
	    (!t->own && csi_is_beyond(&q)))
		return false;
	csi_note(t, &q);
	return true;
}

/* Everything as after power on. */
static void
forget(struct term_out *t)
{
	t->modes = t->colors = 0;
	t->keypad = t->margins = t->cursor_shape = t->modify_keys = false;
	t->insert = t->newline = t->keyboard_set = false;
	t->keyboards = 0;
}

/* RIS would forget the lines above the window, too. */
static bool
reset(struct term_out *t)
{
	if (!t->own) {
		term_out_undo(t, t->seq, sizeof(t->seq) - 8);
		strcat(t->seq, "\033[H\033[2J");
		t->len = strlen(t->seq);
	}
	forget(t);
	return true;
}

bool
term_seq_escape(struct term_out *t)
{
	char c = t->seq[1];

	if (t->len == 2) {
		if (c == '=' || c == '>')
			t->keypad = c == '=';
		if (c == 'c')
			return reset(t);
		if (c == 'Z') /* DECID */
			return false;
		return t->own || strchr("6789=>DEHMNOno|}~\\", c) != NULL;
	}
	/* character sets that shifts choose; double height, alignment */
	return t->own || strchr("()*+-./", c) != NULL ||
	    (c == '#' && t->len == 3);
}

bool
term_is_control(char c)
{
	return (c >= 0 && c < ' ' && c != '\033' && c != 0x18 && c != 0x1a) ||
	    c == 0x7f;
}

/* Operating system commands that do not reach beyond the window, and what undoes
 * each: colours, where prompts stand. */
static const struct {
	int from, to, undo; /* undo: of `from`; 0: there is nothing to undo */
} within[] = {{4, 5, 104}, {10, 19, 110}, {104, 105, 0}, {110, 119, 0},
	{133, 133, 0}};

/* A colour that stays until it is undone: one bit of t->colors for each number
 * that undoes, from 104 on. A palette of which a part is undone counts as changed. */
static void
note_color(struct term_out *t, int number)
{
	for (size_t i = 0; i < COUNT(within); i++)
		if (number >= within[i].from && number <= within[i].to) {
			if (within[i].undo != 0)
				t->colors |= 1u <<
				    (within[i].undo - 104 + number -
				        within[i].from);
			else if (number >= 110 && number < 120)
				t->colors &= ~(1u << (number - 104));
		}
}

bool
term_seq_string(struct term_out *t)
{
	int number = 0;
	size_t at = 2;

	if (t->own)
		return true;
	/* the bytes between its number and its end are text */
	for (size_t i = 2; i + 1 < t->len; i++)
		if (term_is_control(t->seq[i]))
			return false;
	for (; at < t->len && t->seq[at] >= '0' && t->seq[at] <= '9'; at++)
		number = number < 1000 ? 10 * number + t->seq[at] - '0' : 1000;
	if (t->seq[1] != ']' || at == 2 ||
	    (t->replay && memchr(t->seq, '?', t->len) != NULL))
		return false;
	for (size_t i = 0; i < COUNT(within); i++)
		if (number >= within[i].from && number <= within[i].to) {
			note_color(t, number);
			return true;
		}
	return false;
}

bool
term_out_is_changed(const struct term_out *t)
{
	return t->state != 0 || t->modes != 0 || t->colors != 0 || t->keypad ||
	    t->margins || t->cursor_shape || t->modify_keys || t->insert ||
	    t->newline || t->keyboard_set || t->keyboards > 0;
}

/* Appends, where it fits whole. */
static void __attribute__((format(printf, 4, 5)))
add(char *ret, size_t size, size_t *n, const char *fmt, ...)
{
	int len;

	len = FORMATTED(ret + *n, size - *n, fmt);
	if (len > 0 && (size_t)len < size - *n)
		*n += (size_t)len;
	ret[*n] = '\0';
}

void
term_out_undo(const struct term_out *t, char *ret, size_t size)
{
	size_t n = 0;

	/* within a sequence: cancel it; a string: end it */
	add(ret, size, &n, "\030\033\\\033[m\033(B\017");
	if (t->margins)
		add(ret, size, &n, "\0337\033[r\0338");
	for (size_t i = 0; i < COUNT(modes); i++)
		if ((t->modes & 1u << i) != 0)
			add(ret, size, &n, "\033[?%d%c", modes[i].number,
			    modes[i].on ? 'h' : 'l');
	if (t->keypad)
		add(ret, size, &n, "\033>");
	if (t->insert)
		add(ret, size, &n, "\033[4l");
	if (t->newline)
		add(ret, size, &n, "\033[20l");
	if (t->cursor_shape)
		add(ret, size, &n, "\033[0 q");
	if (t->modify_keys)
		add(ret, size, &n, "\033[>4m");
	if (t->keyboards > 0)
		add(ret, size, &n, "\033[<%uu", t->keyboards);
	if (t->keyboard_set)
		add(ret, size, &n, "\033[=0u");
	for (int i = 0; i < 16; i++)
		if ((t->colors & 1u << i) != 0)
			add(ret, size, &n, "\033]%d\a", 104 + i);
}
