/* SPDX-License-Identifier: MIT */
/*
 * The filter of term_out.h. Called with all that a session writes. It keeps no
 * screen; it only knows where characters and sequences begin and end, and asks
 * term_seq.c of each sequence.
 *
 * An ESC begins anew wherever it stands, as terminals have it, so that nothing
 * hides in an unfinished string; what it cuts off is left out, since text that
 * follows would end it otherwise.
 */
#include "term_out.h"

#include <psup/text.h>
#include <string.h>

#include "term_seq.h"

#define ESC '\033'

/* PASS, DROP: within a string that is too long to be kept. */
enum term_state { GROUND, ESCAPE, CSI, STRING, STRING_ESC, PASS, PASS_ESC,
	DROP, DROP_ESC };

/* The second byte of a sequence, or the last one of a short one. *ret_show: it is
 * whole, and to be shown. */
static enum term_state
escape_byte(struct term_out *t, char c, bool *ret_show)
{
	if (t->len == 2) {
		if (c == '[')
			return CSI;
		/* of tmux and screen, ESC k is a title */
		if (strchr("]P_^X", c) != NULL || (c == 'k' && !t->own))
			return STRING;
	}
	if (c >= ' ' && c <= '/')
		return ESCAPE; /* ESC ( B */
	*ret_show = term_seq_escape(t);
	return GROUND;
}

/* One byte that is part of a sequence and was added to seq. *ret_show: seq is
 * to be shown now. */
static enum term_state
seq_byte(struct term_out *t, char c, bool *ret_show)
{
	if (t->state != STRING && t->state != STRING_ESC &&
	    (c == 0x18 || c == 0x1a)) {
		*ret_show = t->own; /* it is cut off */
		return GROUND;
	}
	switch ((enum term_state)t->state) {
	case ESCAPE:
		return escape_byte(t, c, ret_show);
	case CSI:
		if (c < '@' || c > '~')
			return CSI;
		*ret_show = term_seq_csi(t);
		return GROUND;
	case STRING:
	case STRING_ESC:
		if (c != (t->state == STRING ? '\a' : '\\'))
			return c == ESC ? STRING_ESC : STRING;
		*ret_show = term_seq_string(t);
		return GROUND;
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
	if (!pass || (c == ESC && !esc) || (term_is_control(c) && c != '\a' &&
	    !t->own))
		return 0; /* an ESC waits for what comes after it */
	return c == ESC ? put(arg, &c, 1) : put(arg, both + !esc, 1 + esc);
}

/* A sequence that fills the buffer. Of a CSI the rest is shown as text. */
static int
too_long(struct term_out *t, term_put_fn *put, void *arg)
{
	bool string = t->state == STRING || t->state == STRING_ESC;
	bool pass = string && term_seq_string(t) && !t->replay;
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
	if ((t->state == ESCAPE || t->state == CSI) && term_is_control(c))
		return is_silent(t, c) ? 0 : put(arg, &c, 1);
	if (t->state != STRING && t->state != STRING_ESC && c == ESC) {
		t->state = ESCAPE;
		t->seq[0] = c;
		t->len = 1;
		return 0;
	}
	t->seq[t->len++] = c;
	t->state = (int)seq_byte(t, c, &show);
	if (show)
		return show_seq(t, put, arg);
	if (t->state == GROUND)
		t->len = 0; /* it is left out */
	return t->len == TERM_SEQ_MAX ? too_long(t, put, arg) : 0;
}

/* How many bytes a character has that begins so; 0: none does. */
static size_t
char_len(char lead)
{
	unsigned char u = (unsigned char)lead;

	return u < 0x80 ? 1 : u < 0xc2 ? 0 : u < 0xe0 ? 2 : u < 0xf0 ? 3
	    : u < 0xf5 ? 4 : 0;
}

/* Is it a character, and none of the controls U+0080 to U+009F, which some
 * terminals take for ESC and a letter? */
static bool
is_char(const char *s, size_t len)
{
	return psup_is_utf8(s, len) &&
	    (s[0] != '\xc2' || (unsigned char)s[1] >= 0xa0);
}

/* How many bytes from `data` on are plain: none that begins a sequence, asks or
 * rings, and whole characters. */
static size_t
plain_len(const struct term_out *t, const char *data, size_t len)
{
	size_t n = 0, more;

	while (n < len && data[n] != ESC && data[n] != 0x05 &&
	    (data[n] != '\a' || !t->replay)) {
		more = t->own ? 1 : char_len(data[n]);
		if (more == 0 || more > len - n ||
		    (more > 1 && !is_char(data + n, more)))
			break;
		n += more;
	}
	return n;
}

/* Several bytes, each as one_byte(). */
static int
each_byte(struct term_out *t, const char *s, size_t len, term_put_fn *put,
    void *arg)
{
	int rc = 0;

	for (size_t i = 0; i < len && rc == 0; i++)
		rc = one_byte(t, s[i], put, arg);
	return rc;
}

/* What is no character is shown as U+FFFD: a terminal that reads single bytes
 * would take some of it for controls, and so would one that is lax. */
static int
no_char(struct term_out *t, term_put_fn *put, void *arg)
{
	t->part_len = 0;
	return each_byte(t, "\357\277\275", 3, put, arg);
}

/* As one_byte(), where a byte may be a part of a character. */
static int
part_byte(struct term_out *t, char c, term_put_fn *put, void *arg)
{
	size_t whole, n;
	int rc = 0;

	if (t->part_len > 0 && (c & 0xc0) != 0x80)
		rc = no_char(t, put, arg);
	if (rc != 0)
		return rc;
	if (t->own || (c & 0x80) == 0)
		return one_byte(t, c, put, arg);
	if (t->state == ESCAPE || t->state == CSI || begins_anew(t, c))
		t->state = GROUND; /* it belongs to none of these */
	t->part[t->part_len++] = c;
	whole = char_len(t->part[0]);
	n = t->part_len;
	if (n < whole)
		return 0;
	if (whole == 0 || !psup_is_utf8(t->part, n))
		return no_char(t, put, arg);
	t->part_len = 0;
	return is_char(t->part, n) ? each_byte(t, t->part, n, put, arg) : 0;
}

int
term_out(struct term_out *t, const char *data, size_t len, term_put_fn *put,
    void *arg)
{
	size_t n;
	int rc = 0;

	while (len > 0 && rc == 0) {
		n = t->state == GROUND && t->part_len == 0
		    ? plain_len(t, data, len)
		    : 0;
		if (n > 0) {
			rc = put(arg, data, n);
		} else {
			rc = part_byte(t, *data, put, arg);
			n = 1;
		}
		data += n;
		len -= n;
	}
	return rc;
}

