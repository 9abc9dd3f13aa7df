/* SPDX-License-Identifier: MIT */
/* See completion.h. */
#include "common/completion.h"

#include <stdio.h>
#include <string.h>

static bool
completes_as(const struct opt *o, const char *kind)
{
	return o->words != NULL && strcmp(o->words, kind) == 0;
}

/* Has it words of its own to offer? Those of "?a|b" are among others. */
static bool
has_words(const struct opt *o)
{
	return o->words != NULL && o->words[0] != '@';
}

/* "a|b" as "a b" */
static void
put_words(const char *words)
{
	for (words += *words == '?'; *words != '\0'; words++)
		putchar(*words == '|' ? ' ' : *words);
}

/* Text between single quotes; `also` has a meaning to zsh. */
static void
put_quoted(const char *s, const char *also)
{
	for (; *s != '\0'; s++) {
		if (*s == '\'')
			fputs("'\\'", stdout);
		else if (strchr(also, *s) != NULL)
			putchar('\\');
		putchar(*s);
	}
}

/* All tables, one behind the other. */
static const struct opt *
row(const struct command_line *line, size_t i)
{
	const option_tables tables = {line->options, line->more,
	    common_options};

	for (size_t t = 0; t < OPTION_TABLES; t++)
		for (const struct opt *o = tables[t];
		     o != NULL && o->name != NULL; o++)
			if (i-- == 0)
				return o;
	return NULL;
}

/* The program's name as one of a function. */
static void
put_function(const char *program)
{
	for (; *program != '\0'; program++)
		putchar(*program == '-' ? '_' : *program);
}

static void
print_bash(const char *program, const struct command_line *line)
{
	const struct opt *o;

	fputs("_", stdout);
	put_function(program);
	fputs("() {\n\tlocal cur=$2\n\tcase $3 in\n", stdout);
	for (size_t i = 0; (o = row(line, i)) != NULL; i++) {
		if (!option_needs(o))
			continue;
		printf("\t--%s) ", o->name);
		if (completes_as(o, "@file"))
			fputs("COMPREPLY=($(compgen -f -- \"$cur\"));", stdout);
		else if (completes_as(o, "@dir"))
			fputs("COMPREPLY=($(compgen -d -- \"$cur\"));", stdout);
		else if (has_words(o)) {
			fputs("COMPREPLY=($(compgen -W '", stdout);
			put_words(o->words);
			fputs("' -- \"$cur\"));", stdout);
		}
		puts(" return ;;");
	}
	fputs("\tesac\n\tCOMPREPLY=($(compgen -W '", stdout);
	for (size_t i = 0; (o = row(line, i)) != NULL; i++)
		printf("%s--%s", i > 0 ? " " : "", o->name);
	fputs("' -- \"$cur\"))\n}\ncomplete -o filenames -F _", stdout);
	put_function(program);
	printf(" %s\n", program);
}

static void
print_zsh(const char *program, const struct command_line *line)
{
	const struct opt *o;

	printf("#compdef %s\n_arguments", program);
	for (size_t i = 0; (o = row(line, i)) != NULL; i++) {
		printf(" \\\n  '--%s%s[", o->name, option_needs(o) ? "=" : "");
		put_quoted(o->help, "[]:\\");
		putchar(']');
		if (option_needs(o)) {
			printf(":%s:", o->value);
			if (completes_as(o, "@file"))
				fputs("_files", stdout);
			else if (completes_as(o, "@dir"))
				fputs("_files -/", stdout);
			else if (has_words(o)) {
				putchar('(');
				put_words(o->words);
				putchar(')');
			}
		}
		putchar('\'');
	}
	putchar('\n');
}

static void
print_fish(const char *program, const struct command_line *line)
{
	const struct opt *o;

	printf("complete -c %s -f\n", program);
	for (size_t i = 0; (o = row(line, i)) != NULL; i++) {
		printf("complete -c %s -l %s", program, o->name);
		if (option_needs(o))
			fputs(" -r", stdout);
		if (completes_as(o, "@file") || completes_as(o, "@dir"))
			fputs(" -F", stdout);
		else if (has_words(o)) {
			fputs(" -a '", stdout);
			put_words(o->words);
			putchar('\'');
		}
		fputs(" -d '", stdout);
		put_quoted(o->help, "\\");
		puts("'");
	}
}

void
completion_print(const char *program, const struct command_line *line,
    const char *shell)
{
	if (strcmp(shell, "bash") == 0)
		print_bash(program, line);
	else if (strcmp(shell, "zsh") == 0)
		print_zsh(program, line);
	else
		print_fish(program, line);
}
