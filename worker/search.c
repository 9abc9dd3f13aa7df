/* SPDX-License-Identifier: MIT */
/* Finding the program in the child (search.h). Called by spawn.c. */
#include "worker/search.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "worker/raw.h"

enum shell_kind {
	SHELL_ELSE, /* never left out */
	SHELL_BASH, /* sets _ and SHLVL for what it execs */
	SHELL_DASH
};

/* May it be executed? 0 or -errno. */
CHILD_CODE static long
look(const char *path)
{
	return raw_syscall(SYS_faccessat, AT_FDCWD, (long)path, X_OK, 0, 0);
}

/* Only returns where it fails: -errno. */
CHILD_CODE static long
exec_file(const char *path, char *const *argv, char *const *envp)
{
	return raw_syscall(SYS_execve, (long)path, (long)argv, (long)envp, 0,
	    0);
}

/* The type of a file, S_IFREG and the like; 0: there is none. */
CHILD_CODE static unsigned
type_of(const char *path)
{
	struct statx st;

	return raw_syscall(SYS_statx, AT_FDCWD, (long)path, 0, STATX_TYPE,
	           (long)&st) == 0
	    ? st.stx_mode & S_IFMT
	    : 0;
}

/* Does it end with this? */
CHILD_CODE static bool
ends_with(const char *s, size_t n, const char *end)
{
	size_t len = __builtin_strlen(end);

	while (len > 0 && n > 0 && s[n - 1] == end[len - 1]) {
		len--;
		n--;
	}
	return len == 0;
}

/* By its name, or the name of what it links to (/bin/sh -> dash). As sh bash
 * is in POSIX mode; by another name it may be restricted. */
CHILD_CODE static enum shell_kind
kind_of(const char *path)
{
	char link[32] = "/proc/self/fd/", real[PATH_MAX], digit[12];
	long fd = raw_syscall(SYS_openat, AT_FDCWD, (long)path,
	    O_PATH | O_CLOEXEC, 0, 0);
	size_t at = sizeof("/proc/self/fd/") - 1, k = 0;
	long rest = fd, n;

	if (fd < 0)
		return SHELL_ELSE;
	do
		digit[k++] = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	while (k > 0)
		link[at++] = digit[--k];
	link[at] = '\0';
	n = raw_syscall(SYS_readlinkat, AT_FDCWD, (long)link, (long)real,
	    sizeof(real), 0);
	(void)raw_syscall(SYS_close, fd, 0, 0, 0, 0);
	if (n <= 0)
		return SHELL_ELSE;
	if (ends_with(real, (size_t)n, "/dash"))
		return SHELL_DASH;
	return ends_with(real, (size_t)n, "/bash") &&
	        ends_with(path, __builtin_strlen(path), "/bash")
	    ? SHELL_BASH
	    : SHELL_ELSE;
}

/* Through PATH as a shell would go; returns where the shell has to say
 * something, or to look itself: a directory of no absolute name, a file that
 * cannot be run, more directories than anybody has. */
CHILD_CODE static void
exec_on_path(const struct search *s, char *const *envp)
{
	struct direct *d = s->direct;
	const char *at = d->path, *word = d->argv[0];
	char *file = d->name + 2;
	size_t len = __builtin_strlen(word), n, i;
	unsigned dirs, type;

	for (dirs = 0; dirs < SEARCH_DIRS_MAX; dirs++, at += n + 1) {
		for (n = 0; at[n] != '\0' && at[n] != ':'; n++)
			;
		if (n < 2 || at[0] != '/' || at[n - 1] == '/' ||
		    n + 1 + len + 1 > PATH_MAX)
			return;
		for (i = 0; i < n; i++)
			file[i] = at[i];
		file[n] = '/';
		for (i = 0; i <= len; i++)
			file[n + 1 + i] = word[i];
		*s->trying = file;
		type = type_of(file);
		if (type == S_IFREG)
			(void)exec_file(file, d->argv, envp);
		if ((type != 0 && type != S_IFDIR) || at[n] == '\0')
			return;
	}
}

/* Execs the words where this shell would do nothing else. */
CHILD_CODE static void
exec_direct(const struct search *s, const char *shell)
{
	enum shell_kind kind = kind_of(shell);
	struct direct *d = s->direct;
	char *const *envp = s->envp;

	if (kind == SHELL_ELSE || (kind == SHELL_BASH && !d->bash) ||
	    (d->oldpwd != NULL && type_of(d->oldpwd) != S_IFDIR))
		return;
	if (kind == SHELL_BASH)
		envp = d->bash_envp;
	if (d->path == NULL)
		(void)exec_file(*s->trying = d->argv[0], d->argv, envp);
	else
		exec_on_path(s, envp);
	*s->trying = shell;
}

/* One try. A file that the kernel knows nothing to do with is a script. */
CHILD_CODE static long
exec_try(const struct search *s, const struct search_try *t)
{
	char *path = (char *)(uintptr_t)t->path;
	long r;

	t->argv[1] = s->argv0 != NULL ? s->argv0 : path;
	r = exec_file(path, t->argv + 1, s->envp);
	if (r != -ENOEXEC)
		return r;
	t->argv[1] = path;
	return exec_file("/bin/sh", t->argv, s->envp);
}

CHILD_CODE int
search_exec(const struct search *s)
{
	const struct search_try *t;
	bool denied = false;
	long r;

	for (t = s->tries; t->path != NULL; t++) {
		*s->trying = t->path;
		r = s->argv0 == NULL ? look(t->path) : 0;
		if (r == 0 && s->direct != NULL)
			exec_direct(s, t->path);
		if (r == 0)
			r = exec_try(s, t);
		else if (r != -EACCES)
			continue; /* of shells the next one is as good */
		switch (-r) {
		case EACCES:
			denied = true;
			break;
		case ENOENT:
		case ENOTDIR:
		case ESTALE:
		case ENODEV:
		case ETIMEDOUT:
			break;
		default:
			return (int)-r;
		}
	}
	return denied ? EACCES : ENOENT;
}
