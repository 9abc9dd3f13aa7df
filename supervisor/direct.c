/* SPDX-License-Identifier: MIT */
/*
 * Plain words (direct.h). Called by exec_spec.c. Looks at the file system but
 * changes nothing.
 */
#include "supervisor/direct.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"

/* Builtins and keywords of POSIX, bash, dash; sorted. A word that one shell
 * treats as its own is left to all of them. */
static const char *const builtins[] = {".", ":", "alias", "bg", "bind",
    "break", "builtin", "caller", "case", "cd", "chdir", "command", "compgen",
    "complete", "compopt", "continue", "coproc", "declare", "dirs", "disown",
    "do", "done", "echo", "elif", "else", "enable", "esac", "eval", "exec",
    "exit", "export", "false", "fc", "fg", "fi", "for", "function", "getopts",
    "hash", "help", "history", "if", "in", "jobs", "kill", "let", "local",
    "logout", "mapfile", "popd", "printf", "pushd", "pwd", "read", "readarray",
    "readonly", "return", "select", "set", "shift", "shopt", "source",
    "suspend", "test", "then", "time", "times", "trap", "true", "type",
    "typeset", "ulimit", "umask", "unalias", "unset", "until", "wait",
    "while"};

/* Variables that bash computes, checks or gives a meaning of its own; sorted.
 * Names that begin with BASH or COMP_ as well. */
static const char *const minded[] = {"CDPATH", "COLUMNS", "DIRSTACK",
    "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "EXECIGNORE", "FIGNORE",
    "FUNCNAME", "FUNCNEST", "GLOBIGNORE", "GROUPS", "HISTCMD", "IFS",
    "IGNOREEOF", "LINENO", "LINES", "MAILCHECK", "OLDPWD", "OPTARG", "OPTERR",
    "OPTIND", "PIPESTATUS", "POSIXLY_CORRECT", "PPID", "PS1", "PS2", "PS4",
    "RANDOM", "SECONDS", "SHELLOPTS", "SRANDOM", "TIMEFORMAT", "TMOUT", "UID"};

/* bsearch's comparison of a word with a row. */
static int
compare_word(const void *key, const void *row)
{
	const struct direct_word *w = key;
	const char *name = *(const char *const *)row;
	int r = strncmp(w->ptr, name, w->len);

	return r != 0 ? r : name[w->len] == '\0' ? 0 : -1;
}

/* Is it one of a sorted list? */
static bool
is_listed(const char *ptr, size_t len, const char *const *list, size_t count)
{
	struct direct_word w = {ptr, len};

	return bsearch(&w, list, count, sizeof(*list), compare_word) != NULL;
}

/* By its name, or the name of what it links to (/bin/sh -> dash). */
enum direct_shell
direct_shell_of(const char *path)
{
	char real[PATH_MAX];
	const char *name;

	if (realpath(path, real) == NULL)
		return DIRECT_NONE;
	name = strrchr(real, '/');
	if (name != NULL && strcmp(name, "/dash") == 0)
		return DIRECT_DASH;
	if (name == NULL || strcmp(name, "/bash") != 0)
		return DIRECT_NONE;
	/* as sh it is in POSIX mode; by another name it may be restricted */
	name = strrchr(path, '/');
	return name != NULL && strcmp(name, "/bash") == 0 ? DIRECT_BASH
							  : DIRECT_NONE;
}

/* Letters, digits and what has no meaning in the middle of a word. */
static bool
is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') ||
	    (c != '\0' && strchr("_-./,:@%+=", c) != NULL);
}

bool
direct_split(const char *command, size_t len, struct direct *ret)
{
	size_t at = 0;

	ret->count = 0;
	while (at < len) {
		size_t begin;

		while (at < len && (command[at] == ' ' || command[at] == '\t'))
			at++;
		begin = at;
		while (at < len && is_plain((unsigned char)command[at]))
			at++;
		if (at < len && command[at] != ' ' && command[at] != '\t')
			return false;
		if (at == begin)
			break;
		if (ret->count == DIRECT_WORDS_MAX)
			return false;
		ret->word[ret->count++] =
		    (struct direct_word){command + begin, at - begin};
	}
	if (ret->count == 0 || ret->word[0].ptr[0] == '-' ||
	    ret->word[0].ptr[0] == '%' ||
	    memchr(ret->word[0].ptr, '=', ret->word[0].len) != NULL)
		return false;
	return !is_listed(ret->word[0].ptr, ret->word[0].len, builtins,
	    NELEMS(builtins));
}

bool
direct_minds(const char *key, size_t len)
{
	return (len >= 4 && memcmp(key, "BASH", 4) == 0) ||
	    (len >= 5 && memcmp(key, "COMP_", 5) == 0) ||
	    is_listed(key, len, minded, NELEMS(minded));
}

/* A file that can be run by its name alone? */
static bool
is_program(const char *path, bool *ret_exists)
{
	struct stat st;

	*ret_exists = stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
	return *ret_exists && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool
direct_find(const struct direct_word *word, const char *path, size_t path_len,
    const char *cwd, char *ret, size_t size)
{
	bool slash = memchr(word->ptr, '/', word->len) != NULL, exists;
	size_t at, n;

	if (slash) {
		snprintf(ret, size, "%s%s%.*s",
		    word->ptr[0] == '/' ? "" : cwd,
		    word->ptr[0] == '/' ? "" : "/", (int)word->len, word->ptr);
		return strlen(ret) + 1 < size && is_program(ret, &exists);
	}
	for (at = 0; at < path_len; at += n + 1) {
		for (n = 0; at + n < path_len && path[at + n] != ':'; n++)
			;
		if (n < 2 || path[at] != '/' || path[at + n - 1] == '/' ||
		    n + word->len + 2 > size)
			return false; /* of the current directory, or odd */
		snprintf(ret, size, "%.*s/%.*s", (int)n, path + at,
		    (int)word->len, word->ptr);
		if (is_program(ret, &exists))
			return true;
		if (exists)
			return false; /* the shell knows what to say */
	}
	return false;
}
