/* SPDX-License-Identifier: MIT */
/*
 * Which escape sequences a screen is given, whole ones that screen_filter.c has
 * collected: few and small numbers, modes one by one.
 */
#include "shm/screen_sequences.h"

#include <stdio.h>
#include <string.h>

#include "common/text.h"

#define ARGS_MAX      16u   /* of a sequence, as libvterm keeps them */
#define NUMBER_MAX    9999u
#define REPEAT_MAX    1000u

/* Passes a constant on. */
static void
pass_str(struct screen_filter *f, const char *seq)
{
	filter_pass(f, seq, strlen(seq));
}

/* A CSI sequence, taken apart. */
struct csi {
	char prefix, between, final;
	unsigned argc;
	unsigned args[ARGS_MAX]; /* UINT_MAX: not given */
	char sep[ARGS_MAX];      /* after each: ; or : */
};
#define NOT_GIVEN (~0u)

/* Takes f->seq apart: prefix, numbers, one intermediate byte. */
static bool
csi_parse(const struct screen_filter *f, char final, struct csi *q)
{
	const char *p = f->seq, *end = f->seq + f->seq_len;

	memset(q, 0, sizeof(*q));
	q->final = final;
	q->args[0] = NOT_GIVEN;
	q->argc = 1;
	if (p < end && *p >= '<' && *p <= '?')
		q->prefix = *p++;
	for (; p < end && *p >= '0' && *p <= ';'; p++) {
		unsigned *arg = &q->args[q->argc - 1];

		if (*p <= '9') {
			*arg = (*arg == NOT_GIVEN ? 0 : *arg * 10) +
			    (unsigned)(*p - '0');
			if (*arg > NUMBER_MAX)
				*arg = NUMBER_MAX;
			continue;
		}
		if (q->argc == ARGS_MAX)
			return final == 'm'; /* the first ones count */
		q->sep[q->argc - 1] = *p;
		q->args[q->argc++] = NOT_GIVEN;
	}
	if (p < end && *p >= ' ' && *p <= '/')
		q->between = *p++;
	return p == end;
}

/* Passes it on, written anew. */
static void
csi_pass(struct screen_filter *f, const struct csi *q)
{
	char out[8 + ARGS_MAX * 6];
	size_t n = 0;
	unsigned i;

	out[n++] = FILTER_ESC;
	out[n++] = '[';
	if (q->prefix != 0)
		out[n++] = q->prefix;
	for (i = 0; i < q->argc; i++) {
		if (q->args[i] != NOT_GIVEN)
			n += (size_t)snprintf(out + n, 6, "%u", q->args[i]);
		if (i + 1 < q->argc)
			out[n++] = q->sep[i];
	}
	if (q->between != 0)
		out[n++] = q->between;
	out[n++] = q->final;
	filter_pass(f, out, n);
}

/* Modes that change what is seen, one by one. */
static void
csi_modes(struct screen_filter *f, const struct csi *q)
{
	static const unsigned ansi[] = {4, 20};
	static const unsigned dec[] = {5, 6, 7, 25, 47, 1047, 1048, 1049};
	const unsigned *known = q->prefix == '?' ? dec : ansi;
	size_t count = q->prefix == '?' ? sizeof(dec) / sizeof(dec[0]) : 2, k;
	struct csi one = {.prefix = q->prefix, .final = q->final, .argc = 1};
	unsigned i;

	for (i = 0; i < q->argc; i++)
		for (k = 0; k < count; k++)
			if (q->args[i] == known[k]) {
				one.args[0] = known[k] == 47 ? 1047 : known[k];
				csi_pass(f, &one);
			}
}

/* REP: the last character again. */
static void
csi_repeat(struct screen_filter *f, const struct csi *q)
{
	unsigned n = q->args[0] == NOT_GIVEN || q->args[0] == 0 ? 1
	                                                        : q->args[0];

	if (n > REPEAT_MAX)
		n = REPEAT_MAX;
	while (f->last_len > 0 && n-- > 0)
		filter_add_text(f, f->last, f->last_len);
}

/* A whole CSI sequence. */
void
sequence_csi(struct screen_filter *f, char final)
{
	struct csi q;

	if (!csi_parse(f, final, &q))
		return;
	if (q.between == '!' && q.prefix == 0 && final == 'p') {
		csi_pass(f, &q); /* DECSTR */
		return;
	}
	if (q.between != 0 || (q.prefix != 0 && q.prefix != '?'))
		return;
	if (final == 'h' || final == 'l')
		csi_modes(f, &q);
	else if (q.prefix == '?' && (final == 'J' || final == 'K'))
		csi_pass(f, &q);
	else if (q.prefix != 0)
		return;
	else if (final == 'T' && q.argc > 1)
		return; /* of a mouse */
	else if (final == 'b')
		csi_repeat(f, &q);
	else if (final == 's' && f->seq_len == 0)
		pass_str(f, "\0337");
	else if (final == 'u' && f->seq_len == 0)
		pass_str(f, "\0338");
	else if (strchr("@ABCDEFGHIJKLMPSTXZ`adefgmr", final) != NULL)
		csi_pass(f, &q);
}

/* A whole escape sequence; f->seq has the bytes between ESC and the last. */
void
sequence_esc(struct screen_filter *f, char final)
{
	char out[3] = {FILTER_ESC, f->seq[0], final};

	if (f->seq_len == 1 && (f->seq[0] == '(' || f->seq[0] == ')')) {
		if (strchr("0AB", final) != NULL)
			filter_pass(f, out, 3);
		return;
	}
	if (f->seq_len != 0)
		return;
	if (final == 'c') {
		filter_flush(f);
		f->fn(f->arg, FILTER_RESET, "", 0);
	}
	out[1] = final;
	if (strchr("78DEHMc=>", final) != NULL)
		filter_pass(f, out, 2);
}

/* OSC 0 and 2 say the title. */
void
sequence_string(struct screen_filter *f)
{
	char shown[FILTER_TITLE_MAX];
	size_t n;

	if (f->string_len < 2 || f->string[1] != ';' ||
	    (f->string[0] != '0' && f->string[0] != '2'))
		return;
	n = text_cut_back(f->string + 2, f->string_len - 2,
	    f->string_len - 2);
	n = text_escape(f->string + 2, n, false, shown, sizeof(shown));
	filter_flush(f);
	f->fn(f->arg, FILTER_TITLE, shown, n);
}
