/* SPDX-License-Identifier: MIT */
/* The text helpers of common/text.h under their public names. */
#include <string.h>

#include <psup/text.h>

#include "common/nearest.h"
#include "common/text.h"
#include "common/text_clean.h"

size_t
psup_escape(const char *s, size_t len, bool keep_lines, char *dst, size_t size)
{
	return text_escape(s, len, keep_lines, dst, size);
}

size_t
psup_repair(const char *s, size_t len, char *dst)
{
	return text_repair(s, len, dst);
}

bool
psup_is_utf8(const char *s, size_t len)
{
	return text_is_utf8(s, len);
}

size_t
psup_clean(const char *rule, const char *s, size_t len, bool more, char *dst)
{
	enum text_rule r = rule == NULL
	    ? TEXT_CLEAN
	    : text_rule_find(rule, strlen(rule));

	return r < TEXT_RULES ? text_clean(r, s, len, more, dst) : 0;
}

size_t
psup_open_tail(const char *s, size_t len)
{
	return text_open_tail(s, len);
}

void
psup_duration(uint64_t ms, char *dst, size_t size)
{
	text_duration(ms, dst, size);
}

int
psup_signal_number(const char *name)
{
	return text_signal_number(name, strlen(name));
}

const char *
psup_signal_name(int sig)
{
	return text_signal_name(sig);
}

const char *
psup_nearest(const char *word, const char *const *words)
{
	return nearest_of(word, words);
}

const char *
psup_nearest_option(const struct option *options, const char *word)
{
	return nearest_option(word, options);
}
