/* SPDX-License-Identifier: MIT */
/* Plain words (direct.h). Called by start_plan.c; looks at no file. */
#include "worker/direct.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/envpolicy.h"

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

/* Letters, digits and what has no meaning in the middle of a word. */
static bool
is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') ||
	    (c != '\0' && strchr("_-./,:@%+=", c) != NULL);
}

bool
direct_split(const char *command, size_t len, struct direct_words *ret)
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

/* Would a shell keep the working directory's name as it is? */
static bool
is_canonical(const char *dir)
{
	size_t n = strlen(dir);

	return dir[0] == '/' && (n == 1 || dir[n - 1] != '/') &&
	    strstr(dir, "//") == NULL && strstr(dir, "/./") == NULL &&
	    strstr(dir, "/../") == NULL &&
	    (n < 2 || strcmp(dir + n - 2, "/.") != 0) &&
	    (n < 3 || strcmp(dir + n - 3, "/..") != 0);
}

/* A number that bash would leave as it is. */
static bool
is_level(const char *s)
{
	size_t n = strlen(s);

	return n >= 1 && n <= 2 && strspn(s, "0123456789") == n &&
	    (s[0] != '0' || n == 1);
}

/* What of an environment matters to a shell. */
struct facts {
	size_t count, underscore; /* SIZE_MAX: there is no _ */
	const char *path, *oldpwd, *level; /* NULL: not set */
};

/* Would the shell hand this environment on as it is? OLDPWD is left to the
 * child: whether it is a directory only the file system can say. */
static bool
env_is_indifferent(const char *const *envp, struct facts *ret)
{
	*ret = (struct facts){.underscore = SIZE_MAX};
	for (; envp[ret->count] != NULL; ret->count++) {
		const char *e = envp[ret->count];
		size_t n = strcspn(e, "=");

		if (!env_is_portable(e, n))
			return false;
		if (n == 1 && e[0] == '_')
			ret->underscore = ret->count;
		else if (n == 4 && memcmp(e, "PATH", n) == 0)
			ret->path = e + n + 1;
		else if (n == 5 && memcmp(e, "SHLVL", n) == 0)
			ret->level = e + n + 1;
		else if (n == 6 && memcmp(e, "OLDPWD", n) == 0)
			ret->oldpwd = e + n + 1;
		else if (direct_minds(e, n))
			return false;
	}
	return ret->path != NULL &&
	    (ret->oldpwd == NULL || ret->oldpwd[0] == '/');
}

/* The environment as bash would hand it on: _ is what it execs. */
static void
env_of_bash(struct direct *d, const char *const *envp, const struct facts *f)
{
	static char level[] = "SHLVL=0";
	size_t n = f->count;

	memcpy(d->bash_envp, envp, n * sizeof(*envp));
	d->bash_envp[f->underscore != SIZE_MAX ? f->underscore : n++] = d->name;
	if (f->level == NULL)
		d->bash_envp[n++] = level;
	d->bash_envp[n] = NULL;
}

struct direct *
direct_make(const char *cwd, const char *command, const char *const *envp)
{
	struct direct_words words;
	struct facts f;
	struct direct *d;
	size_t i, len = strlen(command), pointers;

	if (!direct_split(command, len, &words) || !is_canonical(cwd) ||
	    !env_is_indifferent(envp, &f))
		return NULL;
	pointers = words.count + 1 + f.count + 3;
	d = malloc(sizeof(*d) + pointers * sizeof(char *) + len + 1 +
	    DIRECT_NAME_BYTES + len);
	if (d == NULL)
		return NULL;
	d->argv = (char **)(d + 1);
	d->bash_envp = d->argv + words.count + 1;
	d->text = (char *)(d->argv + pointers);
	d->name = d->text + len + 1;
	memcpy(d->text, command, len + 1);
	for (i = 0; i < words.count; i++) {
		d->argv[i] = d->text + (words.word[i].ptr - command);
		d->argv[i][words.word[i].len] = '\0';
	}
	d->argv[i] = NULL;
	d->path = strchr(d->argv[0], '/') == NULL ? f.path : NULL;
	d->oldpwd = f.oldpwd;
	d->bash = f.level == NULL || is_level(f.level);
	memcpy(d->name, "_=", 2);
	memcpy(d->name + 2, d->argv[0], strlen(d->argv[0]) + 1);
	env_of_bash(d, envp, &f);
	return d;
}
