/* SPDX-License-Identifier: MIT */
/*
 * A build tool: psup.conf(5), or the example file, from the server's own table
 * of options, so that neither can lag behind it.
 *
 *     psup-genconf man SOURCE   SOURCE with its line @OPTIONS@ filled in
 *     psup-genconf example      psup.conf with every default, commented out
 *     psup-genconf check        fails where an option has no text, or a text
 *                               no option
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "config_options.h"
#include "event_kind.h"
#include "limit.h"

static const struct text {
	const char *section, *name, *unit, *text;
} texts[] = {
#define TEXT(section, name, unit, text) { section, name, unit, text },
#include "text.def"
#undef TEXT
};

/* The text of an option; NULL: nobody wrote one. */
static const struct text *
text_of(const struct config_option *o)
{
	size_t i;

	for (i = 0; i < NELEMS(texts); i++) {
		if (strcmp(texts[i].section, o->section) == 0 &&
		    strcmp(texts[i].name, o->name) == 0)
			return &texts[i];
	}
	return NULL;
}

/* Both directions. */
static int
check(void)
{
	size_t i, k;
	int bad = 0;

	for (i = 0; i < config_option_count; i++) {
		const struct config_option *o = &config_options[i];

		if (text_of(o) == NULL) {
			fprintf(stderr, "[%s] %s has no text in "
				"tools/genconf/text.def\n", o->section,
			    o->name);
			bad = 1;
		}
	}
	for (k = 0; k < NELEMS(texts); k++) {
		for (i = 0; i < config_option_count; i++)
			if (text_of(&config_options[i]) == &texts[k])
				break;
		if (i == config_option_count) {
			fprintf(stderr, "tools/genconf/text.def: there is no "
				"[%s] %s\n", texts[k].section, texts[k].name);
			bad = 1;
		}
	}
	return bad;
}

/* The unit 1024 times as large; "": none. */
static const char *
unit_of(const char *smaller)
{
	static const char *const units[] = { "", "k", "m", "g", "t", "" };
	size_t i = 0;

	while (strcmp(units[i], smaller) != 0)
		i++;
	return units[i + 1];
}

/* A default as one would write it. */
static void
default_of(const struct config_option *o, char *ret, size_t size)
{
	struct config c;
	const char *at = (const char *)&c + o->offset;
	const char *unit;
	uint64_t v;

	config_defaults(&c);
	if (o->size == sizeof(v) && config_word(o->type, 0) != NULL) {
		memcpy(&v, at, sizeof(v));
		snprintf(ret, size, "%s", config_word(o->type, v));
		return;
	}
	switch (o->type) {
	case OPT_BOOL:
	case OPT_OPT_OUT:
		snprintf(ret, size, "%s", *(const bool *)at ? "yes" : "no");
		return;
	case OPT_DIR:
	case OPT_HASH:
	case OPT_NAMES:
	case OPT_PATHS:
	case OPT_TEXT:
	case OPT_NAME:
	case OPT_HOME:
		snprintf(ret, size, "%s", at);
		return;
	case OPT_BIND:
	case OPT_VARIABLE:
	case OPT_SCOPES: /* the first line */
		snprintf(ret, size, "%.*s", (int)strcspn(at, "\n"), at);
		return;
	case OPT_SIZE:
		memcpy(&v, at, sizeof(v));
		for (unit = ""; v % 1024 == 0 && unit_of(unit)[0] != '\0';)
			v /= 1024, unit = unit_of(unit);
		snprintf(ret, size, "%" PRIu64 "%s", v, unit);
		return;
	case OPT_PERCENT:
		memcpy(&v, at, sizeof(v));
		snprintf(ret, size, "%" PRIu64, v / 100);
		return;
	case OPT_GROUP:
		*ret = '\0';
		return;
	case OPT_KINDS: {
		size_t n = 0;

		*ret = '\0';
		memcpy(&v, at, sizeof(v));
		for (unsigned i = 0; i < EVENT_KINDS && n < size; i++)
			if (v & EVENT_BIT(i))
				n += (size_t)snprintf(ret + n, size - n, "%s%s",
				    n > 0 ? " " : "", event_kind_name(i));
		return;
	}
	default: /* numbers */
		CHECK(o->size == sizeof(v));
		memcpy(&v, at, sizeof(v));
		snprintf(ret, size, "%" PRIu64, v);
		return;
	}
}

/* What values it may have, beyond what its text says. */
static void
range_of(const struct config_option *o, char *ret, size_t size)
{
	*ret = '\0';
	if (o->type == OPT_UINT || o->type == OPT_SECONDS)
		snprintf(ret, size, "%" PRIu64 " to %" PRIu64, o->min, o->max);
	else if (o->type == OPT_PERCENT)
		snprintf(ret, size, "0 to %" PRIu64, o->max / 100);
	else if (o->type == OPT_BOOL || o->type == OPT_OPT_OUT)
		snprintf(ret, size, "yes or no");
}

/* Text in mdoc: a line of it must not begin like a request, nor a word be
 * taken for a macro. */
static void
print_mdoc(const char *s)
{
	for (; *s != '\0'; s++) {
		if (*s == '\\')
			fputs("\\e", stdout);
		else if (*s == '-')
			fputs("\\-", stdout);
		else
			putchar(*s);
		/* a sentence, a line */
		if (s[0] == '.' && s[1] == ' ') {
			putchar('\n');
			s++;
		}
	}
	putchar('\n');
}

static void
man_option(const struct config_option *o)
{
	const struct text *t = text_of(o);
	char dflt[256], range[64];
	size_t i;

	default_of(o, dflt, sizeof(dflt));
	range_of(o, range, sizeof(range));
	printf(".It Cm %s\n", o->name);
	print_mdoc(t != NULL ? t->text : "Not described yet.");
	printf("Default: %s", dflt[0] == '\0' ? "empty" : dflt);
	if (t != NULL && t->unit[0] != '\0' && dflt[0] != '\0' &&
	    (o->type == OPT_UINT || o->type == OPT_SECONDS))
		printf(" %s", t->unit);
	if (range[0] != '\0')
		printf("; %s", range);
	printf(".\n");
	if (o->env[0] == NULL)
		return;
	printf("Also:");
	for (i = 0; i < NELEMS(o->env) && o->env[i] != NULL; i++)
		printf("%s\n.Ev %s", i == 0 ? "" : " ,", o->env[i]);
	if (o->env_max != 0)
		printf("\n.Pq there at most %" PRIu64, o->env_max);
	printf("\n");
}

static void
each_option(const char *section, void (*option)(const struct config_option *))
{
	for (size_t i = 0; i < config_option_count; i++)
		if (strcmp(config_options[i].section, section) == 0)
			option(&config_options[i]);
}

/* The sections in the order of the table, each once; but for one. */
static void
each_section(const char *but, void (*begin)(const char *),
    void (*option)(const struct config_option *), void (*end)(void))
{
	size_t i, k;

	for (i = 0; i < config_option_count; i++) {
		const char *section = config_options[i].section;

		for (k = 0; strcmp(config_options[k].section, section) != 0;
		     k++)
			;
		if (k < i || strcmp(section, but) == 0)
			continue; /* begun already */
		begin(section);
		each_option(section, option);
		end();
	}
}

static void
man_begin(const char *section)
{
	printf(".Ss Section [%s]\n.Bl -tag -width 6n\n", section);
}

static void
man_end(void)
{
	printf(".El\n");
}

static void
man_limits(void)
{
	size_t i;

	each_option("limits", man_option);
	for (i = 0; i < CTL_LIMITS; i++)
		printf(".It Cm %s\n%" PRId64 " to %" PRId64 ".\n",
		    limit_rows[i].name, limit_rows[i].min, limit_rows[i].max);
}

/* The source with its places filled in. */
static int
man(const char *path)
{
	char line[1024];
	FILE *f = fopen(path, "re");

	if (f == NULL) {
		perror(path);
		return 1;
	}
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strcmp(line, "@OPTIONS@\n") == 0)
			each_section("limits", man_begin, man_option, man_end);
		else if (strcmp(line, "@LIMITS@\n") == 0)
			man_limits();
		else
			fputs(line, stdout);
	}
	fclose(f);
	return 0;
}

static void
example_begin(const char *section)
{
	printf("\n[%s]\n", section);
}

/* Text as comments of at most 78 columns. */
static void
print_comment(const char *s)
{
	while (*s != '\0') {
		size_t n = strlen(s);

		if (n > 76)
			for (n = 76; s[n] != ' '; n--)
				;
		printf("# %.*s\n", (int)n, s);
		s += n;
		s += strspn(s, " ");
	}
}

static void
example_option(const struct config_option *o)
{
	const struct text *t = text_of(o);
	char dflt[256], range[64];

	default_of(o, dflt, sizeof(dflt));
	range_of(o, range, sizeof(range));
	if (t != NULL)
		print_comment(t->text);
	if (range[0] != '\0')
		printf("# (%s%s%s)\n", range, t != NULL && t->unit[0] != '\0' ?
		    " " : "", t != NULL ? t->unit : "");
	printf("#%s =%s%s\n", o->name, dflt[0] != '\0' ? " " : "", dflt);
}

static void
example_end(void)
{
}

static void
example(void)
{
	printf("# psup.conf: every setting with its default. psup.conf(5) says "
	       "more.\n# psupd reads $PSUP_CONFIG, ~/.config/psup/psup.conf or "
	       "/etc/psup/psup.conf, and\n# reads it again at SIGHUP. Variables "
	       "of the environment go before the file.\n");
	each_section("", example_begin, example_option, example_end);
	printf("\n# A lane of your own, or all whose names begin so:\n"
	       "#[lane \"build*\"]\n#width = 2\n#queue = 100000\n"
	       "#priority = 0\n#limits.nice = 5\n"
	       "\n# One scope. With mode = named, sandbox: yes, no, or required "
	       "(never elevated):\n"
	       "#[scope \"builds\"]\n#max_running = 0\n#sandbox = no\n");
}

int
main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "man") == 0)
		return man(argv[2]);
	if (argc == 2 && strcmp(argv[1], "example") == 0) {
		example();
		return 0;
	}
	if (argc == 2 && strcmp(argv[1], "check") == 0)
		return check();
	fprintf(stderr, "usage: psup-genconf man SOURCE | example | check\n");
	return 2;
}
