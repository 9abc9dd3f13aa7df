/* SPDX-License-Identifier: MIT */
/*
 * Options, by their rows (option.h). getopt_long() does the reading; what is
 * wrong is said with what was probably meant.
 */
#include "common/option.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/nearest.h"
#include "common/text.h"
#include "format.h"

#define OPTIONS_MAX 64
#define WORDS_MAX   64

int
usage_wrong(struct usage *u, const char *fmt, ...)
{
	const char *blank = u->command != NULL ? " " : "";
	const char *command = u->command != NULL ? u->command : "";
	char text[300], shown[4 * sizeof(text) + 1];

	(void)FORMATTED(text, sizeof(text), fmt);
	u->wrong = true;
	text_escape(text, strlen(text), true, shown, sizeof(shown));
	fprintf(stderr, "%s: %s%s%s; see %s%s%s --help\n", u->program, command,
	    blank[0] != '\0' ? ": " : "", shown, u->program, blank, command);
	return EXIT_USAGE;
}

int64_t
usage_number(struct usage *u, const char *option, const char *text, int64_t lo,
    int64_t hi)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (*text == '\0' || *end != '\0' || errno != 0 || v < lo || v > hi) {
		usage_wrong(u, "%s: \"%.40s\" is no whole number from %lld to "
		               "%lld",
		    option, text, (long long)lo, (long long)hi);
		return lo;
	}
	return v;
}

/* What a number may be followed by. */
struct unit {
	const char *name;
	double of;
};
static const struct unit durations[] = {{"ms", 1}, {"s", 1000}, {"m", 60000},
	{"h", 3600000}, {"d", 86400000}, {"w", 604800000}, {NULL, 0}};
static const struct unit sizes[] = {{"K", 1024.0}, {"M", 1048576.0},
	{"G", 1073741824.0}, {"T", 1099511627776.0}, {NULL, 0}};

/* "1h30m" as a sum; a number alone counts `alone`. Negative: it is none. */
static double
in_units(const char *text, const struct unit *units, double alone)
{
	const char *begin = text;
	double sum = 0, v;
	char number[24];

	do {
		const struct unit *unit = units;
		size_t len = strspn(text, "0123456789."), name;
		char *end;

		if (len == 0 || len >= sizeof(number))
			return -1;
		memcpy(number, text, len);
		number[len] = '\0';
		v = strtod(number, &end);
		if (*end != '\0')
			return -1;
		text += len;
		name = strcspn(text, "0123456789.");
		while (unit->name != NULL && (strlen(unit->name) != name ||
		    strncasecmp(unit->name, text, name) != 0))
			unit++;
		if (unit->name == NULL &&
		    (name != 0 || text - len != begin))
			return -1;
		sum += v * (unit->name != NULL ? unit->of : alone);
		text += name;
	} while (*text != '\0');
	return sum;
}

double
duration_parse(const char *text, int unit_ms)
{
	return in_units(text, durations, unit_ms);
}

double
size_parse(const char *text)
{
	return in_units(text, sizes, 1);
}

/* A number in the largest unit that it is whole in. */
static const char *
unit_words(double v, const struct unit *units, char *buf, size_t size)
{
	const struct unit *best = NULL;

	for (; units->name != NULL; units++)
		if (v >= units->of &&
		    v / units->of == (double)(int64_t)(v / units->of))
			best = units;
	snprintf(buf, size, "%.15g%s", best != NULL ? v / best->of : v,
	    best != NULL ? best->name : "");
	return buf;
}

int64_t
usage_size(struct usage *u, const char *option, const char *text, int64_t lo,
    int64_t hi)
{
	double v = size_parse(text);
	char from[40], to[40];

	if (v >= (double)lo && v <= (double)hi && v == (double)(int64_t)v)
		return (int64_t)v;
	usage_wrong(u, "%s: \"%.40s\" is no size from %s to %s, like 4096, "
	               "20K or 1.5G", option, text,
	    unit_words((double)lo, sizes, from, sizeof(from)),
	    unit_words((double)hi, sizes, to, sizeof(to)));
	return lo;
}

double
usage_duration(struct usage *u, const char *option, const char *text,
    int unit_ms, double lo_ms, double hi_ms)
{
	double v = duration_parse(text, unit_ms);
	char from[40], to[40];

	if (v >= lo_ms && v <= hi_ms &&
	    (unit_ms != 1 || v == (double)(int64_t)v))
		return v;
	usage_wrong(u, "%s: \"%.40s\" is no duration from %s to %s, like "
	               "500ms, 10s or 1h30m (a number alone: %s)", option, text,
	    unit_words(lo_ms, durations, from, sizeof(from)),
	    unit_words(hi_ms, durations, to, sizeof(to)),
	    unit_ms == 1 ? "ms" : "seconds");
	return lo_ms;
}

double
usage_decimal(struct usage *u, const char *option, const char *text, double lo,
    double hi, const char *what)
{
	char *end;
	double v;

	v = strtod(text, &end);
	if (*text == '\0' || *end != '\0' || !(v >= lo && v <= hi)) {
		usage_wrong(u, "%s: \"%.40s\" is no %s from %.15g to %.15g",
		    option, text, what, lo, hi);
		return lo;
	}
	return v;
}

const char *
option_meant(const char *x, char *buf)
{
	buf[0] = '\0';
	if (x != NULL)
		snprintf(buf, MEANT_SIZE, "; did you mean %s?", x);
	return buf;
}

const char *
slip_meant(const struct slip *rows, const char *command, const char *typed)
{
	for (; rows != NULL && rows->typed != NULL; rows++)
		if (strcmp(rows->typed, typed) == 0 &&
		    (command == NULL ? rows->command == NULL
		        : rows->command != NULL &&
		            strcmp(rows->command, command) == 0))
			return rows->meant;
	return NULL;
}

int
usage_no_word(struct usage *u, const char *what, const char *got,
    const char *words)
{
	char buf[512], shown[512], meant[MEANT_SIZE];
	const char *list[WORDS_MAX];

	words_split(words, buf, sizeof(buf), list, WORDS_MAX);
	snprintf(shown, sizeof(shown), "%s", words);
	for (char *p = shown; (p = strchr(p, '|')) != NULL; p++)
		*p = ' ';
	return usage_wrong(u, "\"%.40s\" is not %s; there are %s%s", got, what,
	    shown, option_meant(nearest_of(got, list), meant));
}

bool
option_takes(const struct opt *o)
{
	return o->value != NULL;
}

bool
option_needs(const struct opt *o)
{
	return o->value != NULL && o->value[0] != '[';
}

size_t
words_split(const char *words, char *buf, size_t size, const char **ret,
    size_t max)
{
	size_t n = 0;
	char *word;

	ret[0] = NULL;
	words += words != NULL && words[0] == '?';
	if (words == NULL || words[0] == '@' || strlen(words) >= size)
		return 0;
	memcpy(buf, words, strlen(words) + 1);
	while (n + 1 < max && (word = strsep(&buf, "|")) != NULL)
		ret[n++] = word;
	ret[n] = NULL;
	return n;
}

/* Which of the words it is; -1: none. */
static int
word_index(const char *words, const char *text)
{
	const char *list[WORDS_MAX];
	char buf[1024];
	int i = 0;

	words_split(words, buf, sizeof(buf), list, WORDS_MAX);
	while (list[i] != NULL && strcmp(list[i], text) != 0)
		i++;
	return list[i] != NULL ? i : -1;
}

bool
words_have(const char *words, const char *text)
{
	return word_index(words, text) >= 0;
}

/* Is a value that is to be one of a few words none of them? Then that was
 * said. */
static bool
is_wrong_word(struct usage *u, const struct opt *o, const char *text)
{
	const char *list[WORDS_MAX];
	char buf[1024], what[60];

	if (o->words == NULL || o->words[0] == '?' ||
	    words_split(o->words, buf, sizeof(buf), list, WORDS_MAX) == 0 ||
	    words_have(o->words, text))
		return false;
	snprintf(what, sizeof(what), "what --%s takes", o->name);
	usage_no_word(u, what, text, o->words);
	return true;
}

/* A whole number: of ms, of bytes, or as it stands. */
static int64_t
whole(struct usage *u, const struct opt *o, const char *name, const char *text)
{
	if (strcmp(o->value, "MS") == 0)
		return (int64_t)usage_duration(u, name, text, 1, o->lo, o->hi);
	if (strcmp(o->value, "BYTES") == 0)
		return usage_size(u, name, text, (int64_t)o->lo,
		    (int64_t)o->hi);
	return usage_number(u, name, text, (int64_t)o->lo, (int64_t)o->hi);
}

/* One option, into where its row says. */
static void
take(struct usage *u, const struct opt *o, const char *text)
{
	char name[40];

	if (text != NULL && is_wrong_word(u, o, text))
		return;
	snprintf(name, sizeof(name), "--%s", o->name);
	switch (o->type) {
	case OPT_OF_BOOL:
		*(bool *)o->into = true;
		break;
	case OPT_OF_INT:
		*(int *)o->into = (int)whole(u, o, name, text);
		break;
	case OPT_OF_INT64:
		*(int64_t *)o->into = whole(u, o, name, text);
		break;
	case OPT_OF_DOUBLE:
		*(double *)o->into = strcmp(o->value, "S") == 0
		    ? usage_duration(u, name, text, 1000, o->lo * 1000,
		          o->hi * 1000) / 1000
		    : usage_decimal(u, name, text, o->lo, o->hi, "number");
		break;
	case OPT_OF_TEXT:
		*(const char **)o->into = text;
		break;
	case OPT_OF_CHOICE:
		*(unsigned *)o->into = (unsigned)word_index(o->words, text);
		break;
	case OPT_OF_CALL:
		if (o->parse != NULL)
			o->parse(u, name, text, o->into);
		else
			o->take(u, text);
		break;
	}
}

static size_t
collect(const option_tables tables, const struct opt **ret)
{
	size_t n = 0;

	for (size_t i = 0; i < OPTION_TABLES; i++)
		for (const struct opt *o = tables[i];
		     o != NULL && o->name != NULL && n < OPTIONS_MAX; o++)
			ret[n++] = o;
	return n;
}

const struct opt *
option_find(const option_tables tables, const char *name, size_t len)
{
	const struct opt *rows[OPTIONS_MAX];
	size_t n = collect(tables, rows);

	for (size_t i = 0; i < n; i++)
		if (strlen(rows[i]->name) == len &&
		    memcmp(rows[i]->name, name, len) == 0)
			return rows[i];
	return NULL;
}

/* Which options a word may have been the beginning of: " --a --b". */
static size_t
begun(const struct option *all, const char *word, char *ret, size_t size)
{
	size_t len = strcspn(word, "="), count = 0, used = 0;

	ret[0] = '\0';
	for (; all->name != NULL; all++)
		if (strncmp(all->name, word, len) == 0 && used < size) {
			used += (size_t)snprintf(ret + used, size - used,
			    " --%s", all->name);
			count++;
		}
	return count;
}

/* getopt did not like a word: which, and what was meant. */
static void
refuse(struct usage *u, const struct option *all, const char *word, int opt)
{
	char list[200], meant[MEANT_SIZE], letter[] = {'-', (char)optopt, 0};
	const char *near;

	if (opt == ':') {
		usage_wrong(u, "%.80s needs a value", word);
	} else if (strncmp(word, "--", 2) != 0) {
		usage_wrong(u, "%s is no option%s", letter, option_meant(
		    slip_meant(u->slips, u->command, letter), meant));
	} else if (optopt != 0) {
		usage_wrong(u, "%.*s takes no value", (int)strcspn(word, "="),
		    word);
	} else if (word[2] != '\0' &&
	    begun(all, word + 2, list, sizeof(list)) > 1) {
		usage_wrong(u, "%.80s may be any of%s", word, list);
	} else {
		near = nearest_option(word, all);
		snprintf(list, sizeof(list), "--%s", near != NULL ? near : "");
		near = near != NULL ? list
		    : slip_meant(u->slips, u->command, word);
		usage_wrong(u, "%.80s is no option%s", word,
		    option_meant(near, meant));
	}
}

int
option_parse(struct usage *u, const option_tables tables, bool stops, int argc,
    char **argv)
{
	const struct opt *rows[OPTIONS_MAX];
	struct option all[OPTIONS_MAX + 1] = {0};
	char letters[3 * OPTIONS_MAX + 3], *l = letters;
	size_t n = collect(tables, rows);
	int opt, at;

	if (stops)
		*l++ = '+';
	*l++ = ':';
	for (size_t i = 0; i < n; i++) {
		all[i].name = rows[i]->name;
		all[i].has_arg = option_needs(rows[i]) ? required_argument
		    : option_takes(rows[i]) ? optional_argument
		    : no_argument;
		all[i].val = 256 + (int)i;
		if (rows[i]->letter == '\0')
			continue;
		*l++ = rows[i]->letter;
		for (int k = 0; k < all[i].has_arg; k++)
			*l++ = ':';
	}
	*l = '\0';
	optind = 0; /* getopt begins anew */
	opterr = 0;
	while ((opt = getopt_long(argc, argv, letters, all, NULL)) != -1) {
		const struct opt *row = NULL;

		for (size_t i = 0; i < n && row == NULL; i++)
			if (opt == 256 + (int)i ||
			    (opt != 0 && opt == rows[i]->letter))
				row = rows[i];
		if (opt == '?' || opt == ':' || row == NULL)
			refuse(u, all, argv[optind - 1], opt);
		else
			take(u, row, optarg);
		if (u->wrong)
			return -1;
	}
	at = optind;
	u->dashes = at > 1 && strcmp(argv[at - 1], "--") == 0;
	return at;
}
