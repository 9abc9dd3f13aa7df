/* SPDX-License-Identifier: MIT */
/* Answers that show output, of poll and exec. See output_answer.h. */
#include "supervisor/words/output_answer.h"

#include <string.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/text.h"
#include "supervisor/words/result.h"

#define CLEAN_SLICE 8192u  /* bytes between two looks at the clock: some cost */
#define COPY_SLICE  65536u /* 20 ns each */

/* ------------------------------------------------------- what is retained */

void
output_of(const struct session *s, const struct retained *k, size_t max,
    struct output *ret)
{
	size_t at = 0;

	if (k->gap_at < k->len)
		at = k->gap_at;
	if (k->len - at > max)
		at = text_resync(k->data, k->len, k->len - max);
	else
		at += text_skip_partial(k->data + at, k->len - at);
	ret->omitted = k->to - (k->len - at);
	ret->dropped = k->gone;
	ret->data = k->data + at;
	ret->len = k->len - at;
	if (session_live(s))
		ret->len -= text_open_tail(ret->data, ret->len);
}

void
output_read(struct master *m, struct session *s, size_t max,
    struct output *ret)
{
	struct ring_reader *r;
	enum ring_verdict v;

	*ret = (struct output){0};
	/* its worker counted: most commands that end say nothing at all */
	if (s->state == STATE_QUEUED || (s->state == STATE_ENDED &&
		s->output.total == 0 && s->facts.reason != END_LOST))
		return;
	r = readers_get(m, s->id.sid);
	/* of a cut sequence at its beginning there is enough before it */
	v = r != NULL ? retained_read(r, 0, max + 2 * TEXT_SEQUENCE_MAX,
			    LINES_BOTH, &ret->k)
		      : RING_GONE;
	if (v != RING_OK && v != RING_OVERRUN) {
		ret->fault = readers_fault(m, s);
		return;
	}
	output_head(s, ret->k.to);
	output_of(s, &ret->k, max, ret);
}

/* ------------------------------------------------------------- the answer */

/* The next bytes of n, of which `slice` go at once. */
static size_t
next_slice(const struct output_answer *a, size_t n, size_t slice)
{
	return n - a->at < slice ? n - a->at : slice;
}

/* Cleans into the string that is open. */
static bool
clean_some(struct output_answer *a, const struct output_part *p,
    uint64_t until)
{
	do {
		size_t n = next_slice(a, p->len, CLEAN_SLICE);
		char *to = enc_room(&a->e, 4 * next_slice(a, p->len,
		    CLEAN_SLICE + TEXT_SEQUENCE_MAX));

		if (to == NULL)
			return true;
		enc_add(&a->e, text_clean_some(a->rule, p->data, p->len,
		    &a->at, a->at + n, to));
	} while (a->at < p->len && clock_boot_ns() < until);
	return a->at == p->len;
}

/* Copies there what is in the answer already. */
static bool
copy_some(struct output_answer *a, const struct output_part *p,
    uint64_t until)
{
	do {
		size_t n = next_slice(a, p->shown, COPY_SLICE);
		char *to = enc_room(&a->e, n);

		if (to == NULL)
			return true;
		memcpy(to, a->e.buf + p->from + a->at, n);
		enc_add(&a->e, n);
		a->at += n;
	} while (a->at < p->shown && clock_boot_ns() < until);
	return a->at == p->shown;
}

/* A part, as a field of details. */
static bool
field_some(struct output_answer *a, struct output_part *p, uint64_t until)
{
	if (p->key == NULL)
		return true;
	if (!a->open) {
		enc_key(&a->e, p->key);
		enc_str_begin(&a->e);
		p->from = a->e.len;
	}
	a->open = !clean_some(a, p, until);
	if (a->open)
		return false;
	p->shown = a->e.len - p->from;
	enc_str_end(&a->e);
	return true;
}

static void
add_words(struct output_answer *a, const char *s, size_t n)
{
	char *to = enc_room(&a->e, n);

	if (to == NULL || n == 0)
		return;
	memcpy(to, s, n);
	enc_add(&a->e, n);
}

/* The end of the text: the line ends go that stand before the last words. */
static void
end_text(struct output_answer *a)
{
	static const char ends[4096] = {[0 ... 4095] = '\n'};
	struct enc *e = &a->e;

	if (e->len == a->text + a->before.len)
		add_words(a, a->none, strlen(a->none));
	if (a->after.len == 0 || e->failed)
		return;
	while (e->len - a->text >= sizeof(ends) &&
	    memcmp(e->buf + e->len - sizeof(ends), ends, sizeof(ends)) == 0)
		e->len -= sizeof(ends);
	while (e->len > a->text && e->buf[e->len - 1] == '\n')
		e->len--;
	if (e->len > a->text)
		add_words(a, "\n\n", 2);
	add_words(a, a->after.p, a->after.len);
}

/* The text: the first part between its words. */
static bool
text_some(struct output_answer *a, uint64_t until)
{
	struct output_part *p = &a->parts[0];
	struct enc *e = &a->e;

	if (!a->open) {
		enc_end(e);
		enc_key(e, "text");
		enc_str_begin(e);
		a->text = e->len;
		add_words(a, a->before.p, a->before.len);
	}
	a->open = p->key != NULL ? !copy_some(a, p, until)
				 : !clean_some(a, p, until);
	if (a->open)
		return false;
	end_text(a);
	enc_str_end(e);
	enc_kv_bool(e, "isError", a->is_error);
	enc_end(e);
	e->failed |= a->before.failed || a->after.failed;
	return true;
}

bool
output_answer_some(struct output_answer *a, uint64_t until)
{
	for (; a->part < NELEMS(a->parts); a->part++, a->at = 0)
		if (!field_some(a, &a->parts[a->part], until))
			return false;
	return text_some(a, until);
}

uint64_t
output_answer_bytes(const struct output_answer *a)
{
	return a->e.cap + a->kept[0].len + a->kept[1].len;
}

void
output_answer_fini(struct output_answer *a)
{
	enc_fini(&a->e);
	sbuf_fini(&a->before);
	sbuf_fini(&a->after);
	for (size_t i = 0; i < NELEMS(a->kept); i++)
		retained_free(&a->kept[i]);
}
