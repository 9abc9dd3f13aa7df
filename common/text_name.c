/* SPDX-License-Identifier: MIT */
/*
 * The short name of a session, made from its command line: verb and target.
 * Only for showing; nothing is ever run by it.
 */
#include <string.h>

#include "text.h"

#define TARGET_MAX 48

struct token {
	const char *s;
	size_t len;
};

static bool
is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The index behind the closing quote, or 0 where there is none. */
static size_t
quote_end(const char *s, size_t len, size_t at)
{
	size_t i;

	for (i = at + 1; i < len; i++) {
		if (s[i] == s[at])
			return i + 1;
		if (s[i] == '\\' && s[at] == '"')
			i++;
	}
	return 0;
}

/* Is this the end of a simple command: ; & or |, not escaped? */
static bool
is_separator(const char *s, size_t len)
{
	return len > 0 && strchr(";&|", s[len - 1]) != NULL &&
	    (len == 1 || s[len - 2] != '\\');
}

/* Takes the next word of the first simple command, without quotes that
 * enclose all of it. */
static bool
next_token(const char *s, size_t len, size_t *pos, struct token *ret)
{
	size_t start, i = *pos, end;

	while (i < len && is_blank(s[i]))
		i++;
	if (i == len)
		return false;
	start = i;
	while (i < len && !is_blank(s[i])) {
		end = s[i] == '"' || s[i] == '\'' ? quote_end(s, len, i) : 0;
		i = end > 0 ? end : i + 1;
	}
	*pos = i;
	while (i > start && is_separator(s + start, i - start)) {
		i--;
		*pos = len; /* what follows is another command */
	}
	if (i == start)
		return false;
	ret->s = s + start;
	ret->len = i - start;
	if (ret->len >= 2 && (*ret->s == '"' || *ret->s == '\'') &&
	    ret->s[ret->len - 1] == *ret->s) {
		ret->s++;
		ret->len -= 2;
	}
	return true;
}

void
text_derive_name(const char *command, size_t len, char *dst, size_t size)
{
	struct token verb, target = { NULL, 0 }, token;
	size_t pos = 0, used;

	if (size == 0)
		return;
	dst[0] = '\0';
	if (!next_token(command, len, &pos, &verb))
		return;
	while (next_token(command, len, &pos, &token)) {
		if (target.s == NULL)
			target = token;
		if (token.len == 0 || token.s[0] != '-') {
			target = token;
			break;
		}
	}
	text_middle(verb.s, verb.len, size - 1, dst, size);
	used = strlen(dst);
	if (target.s == NULL || target.len == 0 || size - used < 8)
		return;
	dst[used++] = ' ';
	text_middle(target.s, target.len, TARGET_MAX, dst + used, size - used);
}
