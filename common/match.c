/* SPDX-License-Identifier: MIT */
/*
 * From bytes to characters, and what looks at them: a text by its failure table
 * (Knuth, Morris, Pratt), a regular expression by rex.c. Called by the master's
 * wait. Reads no ring and knows no session.
 */
#include "match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rex.h"
#include "text_clean.h"

struct match_spec {
	char *text;      /* NULL: none */
	uint32_t *back;  /* of each length: the longest shorter border */
	size_t text_len;
	struct rex *re;  /* NULL: none */
	bool raw;
};

struct match {
	const struct match_spec *spec;
	uint64_t *where;  /* positions of the last text_len bytes, a ring */
	uint64_t fed;     /* bytes of text looked at, ever */
	size_t have;      /* of the text */
	bool text_found;
	uint64_t text_at, text_end;
	struct rex_run run;
	bool after_cr;    /* an LF now belongs to it */
};

/* ------------------------------------------------------------------- specs */

/* Fills the failure table. */
static void
find_borders(struct match_spec *s)
{
	size_t k = 0;

	s->back[0] = 0;
	for (size_t i = 1; i < s->text_len; i++) {
		while (k > 0 && s->text[i] != s->text[k])
			k = s->back[k - 1];
		if (s->text[i] == s->text[k])
			k++;
		s->back[i] = (uint32_t)k;
	}
}

int
match_spec_new(const struct match_wish *w, struct match_spec **ret,
    size_t *ret_at, const char **ret_why)
{
	struct match_spec *s = calloc(1, sizeof(*s));
	int r = s == NULL ? -ENOMEM : 0;

	*ret_at = 0;
	*ret_why = "no memory";
	if (r == 0 && w->text != NULL) {
		s->text = malloc(w->text_len + 1);
		s->back = calloc(w->text_len, sizeof(*s->back));
		if (s->text == NULL || s->back == NULL) {
			r = -ENOMEM;
		} else {
			memcpy(s->text, w->text, w->text_len);
			s->text_len = w->text_len;
			find_borders(s);
		}
	}
	if (r == 0 && w->regex != NULL)
		r = rex_compile(w->regex, w->regex_len, &s->re, ret_at,
		    ret_why);
	if (r < 0) {
		match_spec_free(&s);
		return r;
	}
	s->raw = w->raw;
	*ret = s;
	return 0;
}

void
match_spec_free(struct match_spec **s)
{
	if (*s == NULL)
		return;
	free((*s)->text);
	free((*s)->back);
	rex_free(&(*s)->re);
	free(*s);
	*s = NULL;
}

size_t
match_spec_cost(const struct match_spec *s)
{
	return sizeof(struct match) + s->text_len * sizeof(uint64_t) +
	    (s->re != NULL ? rex_size(s->re) * 40 : 0);
}

/* ----------------------------------------------------------------- matches */

struct match *
match_new(const struct match_spec *spec)
{
	struct match *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return NULL;
	m->spec = spec;
	if (spec->text != NULL) {
		m->where = calloc(spec->text_len, sizeof(*m->where));
		if (m->where == NULL) {
			free(m);
			return NULL;
		}
	}
	if (spec->re != NULL && rex_run_init(&m->run, spec->re) < 0) {
		free(m->where);
		free(m);
		return NULL;
	}
	return m;
}

void
match_free(struct match **m)
{
	if (*m == NULL)
		return;
	free((*m)->where);
	rex_run_fini(&(*m)->run);
	free(*m);
	*m = NULL;
}

void
match_gap(struct match *m)
{
	m->have = 0;
	m->after_cr = false;
	if (m->spec->re != NULL)
		rex_run_reset(&m->run);
}

void
match_restart(struct match *m)
{
	match_gap(m);
	m->text_found = m->run.matched = false;
}

/* One byte for the text. */
static void
feed_text(struct match *m, char byte, uint64_t at, uint64_t next)
{
	const struct match_spec *s = m->spec;

	m->where[m->fed++ % s->text_len] = at;
	while (m->have > 0 && s->text[m->have] != byte)
		m->have = s->back[m->have - 1];
	if (s->text[m->have] == byte)
		m->have++;
	if (m->have < s->text_len)
		return;
	m->text_found = true;
	m->text_at = m->where[m->fed % s->text_len];
	m->text_end = next;
}

/* The character of a whole element; U+FFFD where it is none. */
static uint32_t
decode(const unsigned char *s, size_t n)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t c = s[0];

	if (n == 1)
		return c < 0x80 ? c : 0xfffd;
	c &= 0x7fu >> n;
	for (size_t i = 1; i < n; i++)
		c = c << 6 | (s[i] & 0x3f);
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0xfffd;
	return c;
}

/* The next thing of the output: bytes it takes (0: not whole), what it is and
 * whether it is looked at. */
static size_t
next_char(const struct match_spec *spec, bool *after_cr, const char *s,
    size_t len, bool more, uint32_t *ret, bool *ret_skip)
{
	bool sequence = false, lf_of_cr = *after_cr && *s == '\n';
	unsigned char first = (unsigned char)*s;
	size_t n = 1;

	*ret_skip = false;
	if (first >= 0x80 || (first == 0x1b && !spec->raw)) {
		n = text_element(s, len, &sequence);
		if (n == TEXT_OPEN) {
			if (more)
				return 0;
			n = 1;
		}
		if (sequence && spec->raw)
			n = 2; /* one C1 character */
		*ret_skip = sequence && !spec->raw;
	}
	*after_cr = false;
	*ret = decode((const unsigned char *)s, sequence ? 1 : n);
	if (sequence && spec->raw)
		*ret = 0x80u | ((unsigned char)s[1] & 0x3f);
	if (spec->raw)
		return n;
	if (lf_of_cr) {
		*ret_skip = true;
	} else if (first == '\r') {
		*after_cr = true;
		*ret = '\n';
	}
	return n;
}

size_t
match_feed(struct match *m, const char *s, size_t len, uint64_t pos, bool more,
    uint64_t budget, bool *ret_held)
{
	const struct match_spec *spec = m->spec;
	uint64_t until = m->run.work + budget, steps = 0;
	size_t i = 0, n;
	bool skip, text;
	uint32_t c;

	*ret_held = false;
	while (i < len && steps++ < budget && m->run.work < until) {
		n = next_char(spec, &m->after_cr, s + i, len - i, more, &c,
		    &skip);
		if (n == 0) {
			*ret_held = true;
			break;
		}
		/* what was found first counts */
		text = !skip && spec->text != NULL && !m->run.matched;
		if (text && c == '\n')
			feed_text(m, '\n', pos + i, pos + i + n);
		else if (text)
			for (size_t k = 0; k < n && !m->text_found; k++)
				feed_text(m, s[i + k], pos + i, pos + i + n);
		if (!skip && spec->re != NULL)
			rex_feed(&m->run, c, pos + i, pos + i + n);
		i += n;
		if (m->text_found || rex_done(&m->run))
			break;
	}
	return i;
}

bool
match_cares_for_end(const struct match *m)
{
	return m->spec->re != NULL && rex_looks_ahead(m->spec->re);
}

void
match_at_end(struct match *m, uint64_t pos)
{
	if (match_cares_for_end(m))
		rex_at_end(&m->run, pos);
}

enum match_found
match_result(const struct match *m, uint64_t *ret_at, uint64_t *ret_end,
    bool *ret_final)
{
	bool text = m->text_found;
	enum match_found found = text ? MATCH_TEXT
	    : m->run.matched	      ? MATCH_REGEX
				      : MATCH_NOTHING;

	if (found == MATCH_NOTHING)
		return found;
	*ret_final = text || rex_done(&m->run);
	if (ret_at != NULL)
		*ret_at = text ? m->text_at : m->run.at;
	if (ret_end != NULL)
		*ret_end = text ? m->text_end : m->run.end;
	return found;
}

void
match_excerpt(const struct match_spec *spec, const char *s, size_t len,
    char *dst, size_t size)
{
	bool after_cr = false, skip;
	size_t i = 0, at = 0, n, out;
	uint32_t c;

	for (; i < len; i += n) {
		const char *from = s + i;

		n = next_char(spec, &after_cr, from, len - i, false, &c,
		    &skip);
		if (skip)
			continue;
		out = n;
		if (c == 0xfffd) {
			from = "\xef\xbf\xbd";
			out = 3;
		} else if (c == '\n') {
			from = "\n";
		}
		if (at + out >= size)
			break;
		memcpy(dst + at, from, out);
		at += out;
	}
	dst[at] = '\0';
}
