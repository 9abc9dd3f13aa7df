/* SPDX-License-Identifier: MIT */
/*
 * Options, by their rows (option.h). getopt_long() does the reading; what is
 * wrong is said with what was probably meant.
 */
#include "option.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define OPTIONS_MAX 64
#define WORDS_MAX   64

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

bool
words_have(const char *words, const char *text)
{
	const char *list[WORDS_MAX];
	char buf[1024];

	words_split(words, buf, sizeof(buf), list, WORDS_MAX);
	for (size_t i = 0; list[i] != NULL; i++)
		if (strcmp(list[i], text) == 0)
			return true;
	return false;
}

/* Is a value that is to be one of a few words none of them? Then that was
 * said. */
static bool
is_wrong_word(struct cli *c, const struct opt *o, const char *text)
{
	const char *list[WORDS_MAX];
	char buf[1024], what[60];

	if (o->words == NULL || o->words[0] == '?' ||
	    words_split(o->words, buf, sizeof(buf), list, WORDS_MAX) == 0 ||
	    words_have(o->words, text))
		return false;
	snprintf(what, sizeof(what), "what --%s takes", o->name);
	cli_not_a_word(c, what, text, o->words);
	return true;
}

/* One option, into where its row says. */
static void
take(struct cli *c, const struct opt *o, const char *text)
{
	char name[40];

	if (text != NULL && is_wrong_word(c, o, text))
		return;
	snprintf(name, sizeof(name), "--%s", o->name);
	switch (o->type) {
	case OPT_OF_BOOL:
		*(bool *)o->into = true;
		break;
	case OPT_OF_INT:
		*(int *)o->into = (int)cli_number(c, name, text, o->lo, o->hi);
		break;
	case OPT_OF_INT64:
		*(int64_t *)o->into = cli_number(c, name, text, o->lo, o->hi);
		break;
	case OPT_OF_DOUBLE:
		*(double *)o->into = cli_seconds(c, name, text);
		break;
	case OPT_OF_TEXT:
		*(const char **)o->into = text;
		break;
	case OPT_OF_CALL:
		o->take(c, text);
		break;
	}
}

/* Rows of the command, then the shared ones. */
static size_t
collect(const struct cli *c, const struct opt **ret)
{
	const struct opt *own = c->command != NULL ? c->command->options : NULL;
	size_t n = 0;

	for (; own != NULL && own->name != NULL && n < OPTIONS_MAX; own++)
		ret[n++] = own;
	for (own = shared_options; own->name != NULL && n < OPTIONS_MAX; own++)
		ret[n++] = own;
	return n;
}

const struct opt *
option_find(const struct cli *c, const char *name, size_t len)
{
	const struct opt *rows[OPTIONS_MAX];
	size_t n = collect(c, rows);

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
refuse(struct cli *c, const struct option *all, const char *word, int opt)
{
	const char *near;
	char list[200];

	if (opt == ':') {
		cli_usage(c, "%.80s needs a value", word);
	} else if (strncmp(word, "--", 2) != 0) {
		cli_usage(c, "-%c is no option", optopt);
	} else if (optopt != 0) {
		cli_usage(c, "%.*s takes no value", (int)strcspn(word, "="),
		    word);
	} else if (word[2] != '\0' &&
	    begun(all, word + 2, list, sizeof(list)) > 1) {
		cli_usage(c, "%.80s may be any of%s", word, list);
	} else {
		near = psup_nearest_option(all, word);
		if (near != NULL)
			cli_usage(c, "%.80s is no option; did you mean --%s?",
			    word, near);
		else
			cli_usage(c, "%.80s is no option", word);
	}
}

int
option_parse(struct cli *c, int argc, char **argv)
{
	const struct opt *rows[OPTIONS_MAX];
	struct option all[OPTIONS_MAX + 1] = {0};
	char letters[3 * OPTIONS_MAX + 3], *l = letters;
	size_t n = collect(c, rows);
	int opt, at;

	if (c->command == NULL || c->command->stops)
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
			refuse(c, all, argv[optind - 1], opt);
		else
			take(c, row, optarg);
		if (c->usage_error)
			return -1;
	}
	at = optind;
	c->dashes = at > 1 && strcmp(argv[at - 1], "--") == 0;
	return at;
}
