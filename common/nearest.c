/* SPDX-License-Identifier: MIT */
/*
 * The nearest word, by the Damerau-Levenshtein distance in its form for typing
 * mistakes (optimal string alignment). A word is near enough when a third of
 * it at most is wrong, or when it begins with what was wanted, or the other way
 * round (three letters at least).
 */
#include "nearest.h"

#include <ctype.h>
#include <getopt.h>
#include <string.h>

#define STEP 2 /* a letter; - for _ is half of that */

static size_t
min2(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* What it costs to take one letter for another. */
static size_t
change(char a, char b)
{
	if (tolower((unsigned char)a) == tolower((unsigned char)b))
		return 0;
	if ((a == '-' || a == '_') && (b == '-' || b == '_'))
		return STEP / 2;
	return STEP;
}

size_t
nearest_distance(const char *a, const char *b)
{
	size_t la = strnlen(a, NEAREST_MAX), lb = strnlen(b, NEAREST_MAX);
	size_t rows[3][NEAREST_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *row = rows[2], *turn;

	for (size_t j = 0; j <= lb; j++)
		last[j] = j * STEP;
	for (size_t i = 1; i <= la; i++) {
		row[0] = i * STEP;
		for (size_t j = 1; j <= lb; j++) {
			row[j] = last[j - 1] + change(a[i - 1], b[j - 1]);
			row[j] = min2(row[j], last[j] + STEP);
			row[j] = min2(row[j], row[j - 1] + STEP);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				row[j] = min2(row[j], before[j - 2] + STEP);
		}
		turn = before;
		before = last;
		last = row;
		row = turn;
	}
	return last[lb];
}

void
nearest_begin(struct nearest *n, const char *wanted)
{
	size_t len = strnlen(wanted, NEAREST_MAX);

	n->wanted = wanted;
	n->best = NULL;
	/* one letter is always forgiven, in words of one it says nothing */
	n->distance = len < 2 ? 0 : STEP * (len < 3 ? 1 : len / 3) + 1;
}

void
nearest_try(struct nearest *n, const char *word)
{
	size_t wanted = strnlen(n->wanted, NEAREST_MAX);
	size_t len = strnlen(word, NEAREST_MAX);
	size_t d = nearest_distance(n->wanted, word);
	size_t common = min2(len, wanted);

	/* a beginning is as good as one mistake */
	if (common >= 3 && strncmp(n->wanted, word, common) == 0)
		d = min2(d, STEP);
	if (d >= n->distance)
		return;
	n->distance = d;
	n->best = word;
}

const char *
nearest_of(const char *wanted, const char *const *words)
{
	struct nearest n;

	nearest_begin(&n, wanted);
	for (; *words != NULL; words++)
		nearest_try(&n, *words);
	return n.best;
}

const char *
nearest_option(const char *wanted, const struct option *options)
{
	char name[NEAREST_MAX + 1];
	struct nearest n;
	size_t len;

	wanted += strspn(wanted, "-");
	len = min2(strcspn(wanted, "="), NEAREST_MAX);
	memcpy(name, wanted, len);
	name[len] = '\0';
	nearest_begin(&n, name);
	for (; options->name != NULL; options++)
		nearest_try(&n, options->name);
	return n.best;
}
