/* SPDX-License-Identifier: MIT */
/*
 * Command strings of plain words only, which a shell would do nothing with but
 * exec the program: then the shell is left out, as make does. Where there is
 * any doubt the answer is no. The shell's own argv goes along nevertheless: it
 * is what runs where the exec fails (a script without #!, a program that
 * vanished meanwhile), so errors are the shell's.
 */
#ifndef PSUP_DIRECT_H
#define PSUP_DIRECT_H

#include <stdbool.h>
#include <stddef.h>

#define DIRECT_WORDS_MAX 128

struct direct {
	struct direct_word {
		const char *ptr; /* into the command string */
		size_t len;
	} word[DIRECT_WORDS_MAX];
	size_t count;
};

/* The shells whose ways are known. */
enum direct_shell {
	DIRECT_NONE, /* any other: never direct */
	DIRECT_BASH, /* sets _ and SHLVL for what it execs */
	DIRECT_DASH
};
enum direct_shell direct_shell_of(const char *path);

/* Splits it; false: it has something that a shell would act on, or its first
 * word is a keyword or a builtin of some shell. */
bool direct_split(const char *command, size_t len, struct direct *ret);

/* Is this variable one that a shell changes, or acts by, at its start? */
bool direct_minds(const char *key, size_t len);

/* The program of the first word as a shell would find it, in a PATH of
 * absolute directories; false: let the shell look. */
bool direct_find(const struct direct_word *word, const char *path,
    size_t path_len, const char *cwd, char *ret, size_t size);

#endif
