/* SPDX-License-Identifier: MIT */
/*
 * The text rules of poll, log, exec and wait. Called by the master when it
 * answers and by psup when it reads shared memory itself. Pure: no state, no
 * allocation; every byte is looked at a bounded number of times, whatever a
 * command writes.
 */
#include "text_clean.h"

#include <string.h>
#include <utf8proc.h>

#include "check.h"
#include "text.h"

#define ESC     0x1bu
#define CSI_MAX 256u

enum treat { KEEP, DROP, SHOW };

static const struct rule {
	const char *name;
	enum treat sequences, controls, format;
	bool show_invalid; /* as \xNN, not as U+FFFD */
} rules[TEXT_RULES] = {
    [TEXT_CLEAN] = {"clean", DROP, SHOW, DROP, false},
    [TEXT_ANSI] = {"ansi", KEEP, SHOW, DROP, false},
    [TEXT_SHOWN] = {"shown", SHOW, SHOW, SHOW, true},
    [TEXT_PLAIN] = {"plain", KEEP, KEEP, KEEP, false},
};

enum text_rule
text_rule_find(const char *name, size_t len)
{
	unsigned r;

	for (r = 0; r < TEXT_RULES; r++)
		if (strlen(rules[r].name) == len &&
		    memcmp(rules[r].name, name, len) == 0)
			break;
	return (enum text_rule)r;
}

/* ---------------------------------------------------------- the sequences */

/* What stands at an ESC or C1: a sequence of so many bytes, none (0), or the
 * beginning of one (OPEN). */
#define OPEN TEXT_OPEN

/* From byte i on: intermediates, and a final byte from `final` on. After an ESC they
 * are a charset's. */
static size_t
rest(const unsigned char *s, size_t len, size_t i, unsigned char final)
{
	while (i < len && i < CSI_MAX && s[i] >= 0x20 && s[i] <= 0x2f)
		i++;
	if (i >= CSI_MAX)
		return 0;
	if (i == len)
		return OPEN;
	return s[i] >= final && s[i] <= 0x7e ? i + 1 : 0;
}

/* CSI, after its introducer of i bytes: parameters, then the rest. */
static size_t
csi(const unsigned char *s, size_t len, size_t i)
{
	while (i < len && i < CSI_MAX && s[i] >= 0x30 && s[i] <= 0x3f)
		i++;
	return rest(s, len, i, 0x40);
}

/* Is this the first byte of a C1 character in UTF-8? */
static bool
is_c1(const unsigned char *s, size_t len)
{
	return s[0] == 0xc2 && len > 1 && s[1] >= 0x80 && s[1] <= 0x9f;
}

/* A string up to BEL or ST. Another introducer inside ends the hope, so that
 * no byte is looked at for more than one of them. */
static size_t
string(const unsigned char *s, size_t len, size_t i)
{
	for (; i < len && i < TEXT_SEQUENCE_MAX; i++) {
		if (s[i] == 0x07)
			return i + 1;
		if (s[i] == ESC) {
			if (i + 1 == len)
				return OPEN;
			return s[i + 1] == '\\' ? i + 2 : 0;
		}
		if (s[i] == 0xc2 && i + 1 == len)
			return OPEN;
		if (is_c1(s + i, len - i))
			return s[i + 1] == 0x9c ? i + 2 : 0;
		if (s[i] < 0x20 && s[i] != '\t')
			return 0;
	}
	return i < TEXT_SEQUENCE_MAX ? OPEN : 0;
}

/* The sequence at s, which is not empty. */
static size_t
sequence(const unsigned char *s, size_t len)
{
	if (is_c1(s, len)) {
		if (s[1] == 0x9b)
			return csi(s, len, 2);
		return s[1] == 0x90 || s[1] == 0x98 || s[1] >= 0x9d
		    ? string(s, len, 2)
		    : 0;
	}
	if (s[0] != ESC)
		return 0;
	if (len == 1)
		return OPEN;
	if (s[1] == '[')
		return csi(s, len, 2);
	if (s[1] < 0x30)
		return s[1] < 0x20 ? 0 : rest(s, len, 2, 0x30);
	if (memchr("]PX^_k", s[1], 6) != NULL)
		return string(s, len, 2);
	return s[1] <= 0x7e ? 2 : 0;
}

/* The next whole thing at s: a sequence, a character, a mistake.
 * OPEN: what is there is not whole. */
static size_t
element(const unsigned char *s, size_t len)
{
	size_t n, whole;

	if (s[0] >= 0x20 && s[0] < 0x7f)
		return 1;
	n = sequence(s, len);
	if (n != 0)
		return n;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 1;
	n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	/* as long as it goes on it is no mistake yet */
	whole = text_mistake((const char *)s, len);
	return whole < n && whole == len ? OPEN : whole;
}

size_t
text_element(const char *s, size_t len, bool *ret_sequence)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t n = element(u, len);

	*ret_sequence = n != OPEN && n > 0 && sequence(u, len) == n;
	return n;
}

/* Where to begin to look so that `at` is seen as what it is: no sequence goes
 * over a line's end, and none is longer than the window. */
static size_t
window(const char *s, size_t at)
{
	size_t from = at > TEXT_SEQUENCE_MAX ? at - TEXT_SEQUENCE_MAX : 0;
	const char *lf;

	if (at == 0)
		return 0; /* of no text at all, too */
	lf = memrchr(s + from, '\n', at - from);
	if (lf != NULL)
		return (size_t)(lf - s) + 1;
	return from > 0 ? from + text_skip_partial(s + from, at - from) : 0;
}

size_t
text_open_tail(const char *s, size_t len)
{
	size_t i = window(s, len), n;

	for (; i < len; i += n) {
		n = element((const unsigned char *)s + i, len - i);
		if (n == OPEN)
			return len - i;
		if (n > len - i)
			break;
	}
	return 0;
}

size_t
text_resync(const char *s, size_t len, size_t at)
{
	size_t i = window(s, at), n;

	while (i < at) {
		n = element((const unsigned char *)s + i, len - i);
		i += n == OPEN ? 1 : n;
	}
	return i < len ? i : len;
}

/* --------------------------------------------------------------- the copy */

/* One copy under way. */
struct copy {
	const struct rule *rule;
	const unsigned char *s;
	size_t len, at, stop; /* stop: the last thing begins before it */
	char *dst;
	size_t out;
};

/* n bytes as they are. */
static void
put(struct copy *c, size_t n)
{
	memcpy(c->dst + c->out, c->s + c->at, n);
	c->out += n;
	c->at += n;
}

/* \xNN */
static void
put_hex(struct copy *c, unsigned char byte)
{
	static const char hex[] = "0123456789abcdef";

	c->dst[c->out++] = '\\';
	c->dst[c->out++] = 'x';
	c->dst[c->out++] = hex[byte >> 4];
	c->dst[c->out++] = hex[byte & 15];
}

/* n bytes of one thing, as the rule treats it. */
static void
put_as(struct copy *c, enum treat treat, size_t n)
{
	if (treat == KEEP) {
		put(c, n);
	} else if (treat == DROP) {
		c->at += n;
	} else if (is_c1(c->s + c->at, n)) {
		put_hex(c, c->s[c->at + 1]); /* its code, not its bytes */
		c->at += n;
	} else {
		for (; n > 0; n--)
			put_hex(c, c->s[c->at++]);
	}
}

/* The byte at hand is no character. */
static void
put_mistake(struct copy *c)
{
	if (c->rule->show_invalid) {
		put_hex(c, c->s[c->at]);
		return;
	}
	memcpy(c->dst + c->out, "\xef\xbf\xbd", 3);
	c->out += 3;
}

/* A byte beyond ASCII: a character, or part of none. */
static void
put_character(struct copy *c)
{
	utf8proc_int32_t cp;
	utf8proc_ssize_t n;

	n = utf8proc_iterate(c->s + c->at,
	    (utf8proc_ssize_t)(c->len - c->at < 4 ? c->len - c->at : 4), &cp);
	if (n <= 0) {
		n = c->rule->show_invalid
		    ? 1
		    : (utf8proc_ssize_t)text_mistake(
			  (const char *)c->s + c->at, c->len - c->at);
		put_mistake(c);
		c->at += (size_t)n;
	} else if (cp <= 0x9f) {
		put_as(c, c->rule->controls, (size_t)n);
	} else if (utf8proc_category(cp) == UTF8PROC_CATEGORY_CF) {
		put_as(c, c->rule->format, (size_t)n);
	} else {
		put(c, (size_t)n);
	}
}

/* A sequence of n bytes, which may hold some that are no UTF-8. */
static void
put_sequence(struct copy *c, size_t n)
{
	if (c->rule->sequences == KEEP)
		c->out += text_repair((const char *)c->s + c->at, n,
		    c->dst + c->out);
	c->at += n;
}

/* Is it itself under every rule? */
static bool
is_plain(unsigned char b)
{
	return (b >= 0x20 && b < 0x7f) || b == '\n' || b == '\t' || b == '\r';
}

/* Takes all of those that come next. */
static void
put_plain(struct copy *c)
{
	const unsigned char *s = c->s + c->at;
	size_t n = 0, max = c->stop - c->at;

	while (n < max && is_plain(s[n]))
		n++;
	if (n > 0)
		put(c, n);
}

/* The same of bytes that are a thing each, whatever follows: control characters
 * but ESC, and what begins no character. Output may be nothing else. */
static void
put_lone(struct copy *c)
{
	for (; c->at < c->stop; c->at++) {
		unsigned char b = c->s[c->at];

		if (b == ESC || is_plain(b) || (b >= 0xc2 && b <= 0xf4))
			break;
		if (b >= 0x80)
			put_mistake(c);
		else if (c->rule->controls == SHOW)
			put_hex(c, b);
		else
			c->dst[c->out++] = (char)b;
	}
}

size_t
text_clean_some(enum text_rule rule, const char *s, size_t len, size_t *at,
    size_t stop, char *dst)
{
	struct copy c = {.rule = &rules[rule], .s = (const unsigned char *)s,
	    .len = len, .at = *at, .stop = stop < len ? stop : len,
	    .dst = dst};
	size_t n;

	CHECK(rule < TEXT_RULES);
	while (c.at < c.stop) {
		put_plain(&c);
		put_lone(&c);
		if (c.at >= c.stop || is_plain(c.s[c.at]))
			continue;
		n = c.rule->sequences == SHOW
		    ? 0
		    : sequence(c.s + c.at, c.len - c.at);
		if (n != 0 && n != OPEN)
			put_sequence(&c, n);
		else if (c.s[c.at] < 0x80)
			put_as(&c, c.rule->controls, 1);
		else
			put_character(&c);
	}
	*at = c.at;
	return c.out;
}

size_t
text_clean(enum text_rule rule, const char *s, size_t len, bool more, char *dst)
{
	size_t at = 0;

	if (more)
		len -= text_open_tail(s, len);
	return text_clean_some(rule, s, len, &at, len, dst);
}
