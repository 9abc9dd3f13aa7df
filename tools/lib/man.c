/* SPDX-License-Identifier: MIT */
/* See man.h. */
#include "tools/lib/man.h"

#include <psup/psup.h>
#include <stdio.h>
#include <string.h>

void
man_title(const char *name)
{
	printf(".TH %s 1 2026-11-21 \"psup %s\" \"psup manual\"\n", name,
	    psup_version());
}

static void
put(const char *s, size_t len)
{
	static const struct {
		char c;
		const char *as;
	} escapes[] = {{'\\', "\\e"}, {'-', "\\-"}, {'\'', "\\(aq"},
	    {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
	size_t k;

	for (size_t i = 0; i < len; i++) {
		if (s[i] == '.' && (i == 0 || s[i - 1] == '\n'))
			fputs("\\&", stdout);
		for (k = 0; k < sizeof(escapes) / sizeof(escapes[0]); k++)
			if (escapes[k].c == s[i])
				break;
		if (k < sizeof(escapes) / sizeof(escapes[0]))
			fputs(escapes[k].as, stdout);
		else
			putchar(s[i]);
	}
}

void
man_text(const char *s)
{
	put(s, strlen(s));
}

void
man_paragraphs(const char *s)
{
	bool as_is = false;

	while (*s != '\0') {
		size_t len = strcspn(s, "\n");
		bool blank = *s == ' ';

		if (blank != as_is && len > 0) {
			puts(blank ? ".nf" : ".fi");
			as_is = blank;
		}
		if (len == 0)
			puts(".PP");
		else {
			put(s, len);
			putchar('\n');
		}
		s += len + (s[len] == '\n');
	}
	if (as_is)
		puts(".fi");
}

static void
put_option(const struct opt *o)
{
	puts(".TP");
	if (o->letter != '\0')
		printf("\\fB\\-%c\\fR, ", o->letter);
	fputs("\\fB\\-\\-", stdout);
	man_text(o->name);
	fputs("\\fR", stdout);
	if (o->value != NULL) {
		fputs(o->value[0] == '[' ? "[=\\fI" : " \\fI", stdout);
		put(o->value + (o->value[0] == '['),
		    strcspn(o->value + (o->value[0] == '['), "]"));
		fputs(o->value[0] == '[' ? "\\fR]" : "\\fR", stdout);
	}
	putchar('\n');
	man_paragraphs(o->help);
}

void
man_options(const struct opt *o)
{
	for (; o != NULL && o->name != NULL; o++)
		put_option(o);
}

void
man_tagged(const char *tag, const char *text)
{
	fputs(".TP\n\\fB", stdout);
	man_text(tag);
	fputs("\\fR\n", stdout);
	man_paragraphs(text);
}
