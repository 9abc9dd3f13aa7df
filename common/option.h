/* SPDX-License-Identifier: MIT */
/*
 * The rows that command lines are made of. What a row says is parsed
 * (option.c), shown by --help (help.c), written into manual pages (man.c) and
 * completed by shells: none of these knows an option of its own.
 *
 *     static struct { int64_t grace_ms; bool undo; } o = {.grace_ms = -1};
 *     static const struct opt options[] = {
 *             NUMBER("grace", 0, "MS", o.grace_ms, 0, 60000,
 *                 "from SIGTERM to SIGKILL (5000)"),
 *             FLAG("undo", 0, o.undo, "the other way"),
 *             OPT_END};
 */
#ifndef PSUP_OPTION_H
#define PSUP_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXIT_USAGE 2 /* but for psupd */

/* What users of other tools type, and where it leads here; a row without
 * `typed` ends a table. */
struct slip {
	const char *command; /* whose option it is; NULL: it is a command */
	const char *typed, *meant;
};

/* Whose command line is read, and whether it is wrong. */
struct usage {
	const char *program; /* "psup-top" */
	const char *command; /* whose options they are; NULL: the program's */
	const struct slip *slips; /* NULL: none */
	bool wrong;          /* and it was said what is */
	bool dashes;         /* "--" stood before the operands */
};

/* Says what is wrong, and where help is. Returns EXIT_USAGE. */
int usage_wrong(struct usage *u, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A whole number in lo..hi; `lo`, and it was said, where it is none. */
int64_t usage_number(struct usage *u, const char *option, const char *text,
    int64_t lo, int64_t hi);
/* "1h30m" in ms; a number alone counts `unit_ms`. Negative: it is none. */
double duration_parse(const char *text, int unit_ms);
/* "1.5G" in bytes. Negative: it is none. */
double size_parse(const char *text);
/* A size, "4096", "20K", "1.5G" (of 1024), or a duration, "90", "1h30m", "2.5s",
 * whose number alone counts `unit_ms`; the range is said in such words. */
int64_t usage_size(struct usage *u, const char *option, const char *text,
    int64_t lo, int64_t hi);
double usage_duration(struct usage *u, const char *option, const char *text,
    int unit_ms, double lo_ms, double hi_ms);
/* A number with a fraction where given; `what`: "number", "number of
 * seconds". */
double usage_decimal(struct usage *u, const char *option, const char *text,
    double lo, double hi, const char *what);
/* "; did you mean X?", or "" where X is NULL: in `buf`, which is returned. */
#define MEANT_SIZE 100
const char *option_meant(const char *x, char *buf);
/* The X of a slip; NULL: it is none. */
const char *slip_meant(const struct slip *rows, const char *command,
    const char *typed);
/* What is wrong with a word that is none of "a|b|c"; with the nearest. */
int usage_no_word(struct usage *u, const char *what, const char *got,
    const char *words);

enum opt_type {
	OPT_OF_BOOL,   /* set */
	OPT_OF_INT,    /* lo..hi */
	OPT_OF_INT64,  /* lo..hi */
	OPT_OF_DOUBLE, /* lo..hi, with a fraction where given */
	OPT_OF_TEXT,   /* the argument itself; one of `words` where these are
	                * no @kind */
	OPT_OF_CHOICE, /* an enum: which of `words` it is, from 0 */
	OPT_OF_CALL    /* take(), or parse() */
};

/*
 * What a word may be: "a|b|c", one of these and nothing else; "?a|b|c", these
 * among others; or for completion alone @session, @lane, @scope, @command (of
 * psup), @program, @file, @dir, @signal, @key; NULL: anything.
 */
struct opt {
	const char *name;  /* NULL: the last row */
	char letter;       /* 0: none */
	const char *value; /* "MS", "S": a duration; "BYTES": a size; NULL: it
	                    * takes none; "[S]": it may */
	const char *words; /* of the value */
	enum opt_type type;
	void *into;        /* a static of the command's */
	double lo, hi;
	/* text: NULL where an optional value was not given */
	void (*take)(struct usage *u, const char *text);
	/* the same of what lies at `into`; option: "--since" */
	void (*parse)(struct usage *u, const char *option, const char *text,
	    void *into);
	const char *help;
};

#define OPT_TYPE_OF(var)                                                       \
	_Generic(&(var), bool *: OPT_OF_BOOL, int *: OPT_OF_INT,               \
	    int64_t *: OPT_OF_INT64, double *: OPT_OF_DOUBLE,                  \
	    const char **: OPT_OF_TEXT, unsigned *: OPT_OF_CHOICE)
#define OPT_ROW(n, l, v, w, var, a, b, h)                                      \
	{.name = n, .letter = l, .value = v, .words = w,                       \
	 .type = OPT_TYPE_OF(var), .into = &(var), .lo = a, .hi = b, .help = h}

#define FLAG(name, letter, var, help)                                          \
	OPT_ROW(name, letter, NULL, NULL, var, 0, 0, help)
#define NUMBER(name, letter, value, var, lo, hi, help)                         \
	OPT_ROW(name, letter, value, NULL, var, lo, hi, help)
#define DECIMAL(name, letter, value, var, lo, hi, help)                        \
	OPT_ROW(name, letter, value, NULL, var, lo, hi, help)
#define SIZE(name, letter, var, lo, hi, help)                                  \
	OPT_ROW(name, letter, "BYTES", NULL, var, lo, hi, help)
#define SECONDS(name, letter, var, help)                                       \
	OPT_ROW(name, letter, "S", NULL, var, 0, 31536000, help)
#define TEXT(name, letter, value, words, var, help)                            \
	OPT_ROW(name, letter, value, words, var, 0, 0, help)
#define CALL(n, l, v, w, fn, h)                                                \
	{.name = n, .letter = l, .value = v, .words = w, .type = OPT_OF_CALL,  \
	 .take = fn, .help = h}
#define INTO(n, l, v, w, fn, var, h)                                           \
	{.name = n, .letter = l, .value = v, .words = w, .type = OPT_OF_CALL,  \
	 .parse = fn, .into = &(var), .help = h}
#define OPT_END {.name = NULL}

/* The tables of a command line; NULL where there is none. */
#define OPTION_TABLES 3
typedef const struct opt *option_tables[OPTION_TABLES];

/* Takes the options: all of them, or (`stops`) those before the first other
 * word. Returns where in argv the operands begin, or -1: something is wrong,
 * and was said. argv is permuted unless the first operand ends the options. */
int option_parse(struct usage *u, const option_tables tables, bool stops,
    int argc, char **argv);
/* The row of that name; NULL. */
const struct opt *option_find(const option_tables tables, const char *name,
    size_t len);
/* Does the row take a value, and must it? */
bool option_takes(const struct opt *o);
bool option_needs(const struct opt *o);
/* Is it one of "a|b|c"? */
bool words_have(const char *words, const char *text);
/* Words as a list for psup_nearest(); `ret` points into `buf`. Returns how
 * many. */
size_t words_split(const char *words, char *buf, size_t size,
    const char **ret, size_t max);

/* A program that has options alone: no commands, no operands. --help,
 * --version and --completion come of themselves. */
struct command_line {
	const char *about;         /* of --help */
	const struct opt *options;
	const char *more_title;    /* of the second table; NULL: none */
	const struct opt *more;
	void (*more_help)(void);   /* prints what no constant holds; NULL */
};
extern const struct opt common_options[]; /* these three */
/* Takes the command line. -1: go on; else the exit code, and all was said. */
int command_line_take(const struct command_line *p, struct usage *u, int argc,
    char **argv);

#endif
