/* SPDX-License-Identifier: MIT */
/*
 * Command strings of plain words only, which a shell would do nothing with but
 * exec the program: then the shell is left out, as make does. Where there is
 * any doubt the answer is no. What the strings alone can say is said here;
 * which shell it would be, and where the program is, the child finds out
 * (search.c). The shell runs where that comes to nothing, so errors are the
 * shell's.
 */
#ifndef PSUP_DIRECT_H
#define PSUP_DIRECT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define DIRECT_WORDS_MAX  128
#define DIRECT_NAME_BYTES (2 + PATH_MAX) /* of `name` */

/* A command that may do without its shell. */
struct direct {
	char **argv;        /* its words */
	const char *path;   /* PATH's value; NULL: argv[0] has a slash */
	const char *oldpwd; /* it must be a directory; NULL: it is not set */
	bool bash;          /* may bash be left out, too? */
	char **bash_envp;   /* as bash would hand it on: with `name` in it */
	char *name;         /* "_=" and argv[0], room for a path instead */
	char *text;         /* the words lie here */
};

/* NULL: it is for the shell, or there is no memory. `envp` and what it points
 * at live as long; all of it is one block, to be freed. */
struct direct *direct_make(const char *cwd, const char *command,
    const char *const *envp);

struct direct_words {
	struct direct_word {
		const char *ptr; /* into the command string */
		size_t len;
	} word[DIRECT_WORDS_MAX];
	size_t count;
};

/* Splits it; false: it has something that a shell would act on, or its first
 * word is a keyword or a builtin of some shell. */
bool direct_split(const char *command, size_t len, struct direct_words *ret);

/* Is this variable one that a shell changes, or acts by, at its start? */
bool direct_minds(const char *key, size_t len);

#endif
