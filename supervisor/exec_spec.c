/* SPDX-License-Identifier: MIT */
/*
 * What a command is started with. Called by api_exec.c; starts nothing and
 * remembers nothing.
 */
#include "supervisor/exec_build.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/envpolicy.h"
#include "common/text.h"
#include "supervisor/direct.h"

#define ARG_ONE_MAX 131071u
#define ARG_SUM_MAX (2u * 1024 * 1024 - 32 * 1024)
#define PATHS_MAX   64u

/* A variable of the base environment the client sent, or the server's. */
static bool
base_get(const struct exec_base *b, const struct val *params, const char *key,
    char *ret, size_t size)
{
	const struct val *env = val_get(params, "baseEnv");
	size_t n = strlen(key);

	if (env != NULL)
		return val_copy(env, key, ret, size) > 0;
	for (size_t at = 0; at < b->base_env_bytes;
	     at += strlen(b->base_env + at) + 1) {
		const char *e = b->base_env + at;

		if (strncmp(e, key, n) == 0 && e[n] == '=') {
			snprintf(ret, size, "%s", e + n + 1);
			return ret[0] != '\0';
		}
	}
	return false;
}

/* The directory the command runs in. */
int
exec_workdir(const struct exec_base *b, const struct val *params, char *ret,
    size_t size, struct proto_problem *why)
{
	char dir[4200], base[4200], home[4200], shown[200];
	struct stat st;
	int n;

	val_copy(params, "baseDir", base, sizeof(base));
	if (val_copy(params, "workdir", dir, sizeof(dir)) == 0)
		snprintf(dir, sizeof(dir), "%s",
		    b->cfg->workdir[0] != '\0' ? b->cfg->workdir
			: base[0] != '\0'      ? base
					       : b->home);
	if (!base_get(b, params, "HOME", home, sizeof(home)))
		snprintf(home, sizeof(home), "%s", b->home);
	if (dir[0] == '~' && (dir[1] == '\0' || dir[1] == '/'))
		n = snprintf(ret, size, "%s%s", home, dir + 1);
	else if (dir[0] == '/')
		n = snprintf(ret, size, "%s", dir);
	else if (base[0] == '/')
		n = snprintf(ret, size, "%s/%s", base, dir);
	else
		n = -1;
	text_escape(dir, strlen(dir), false, shown, sizeof(shown));
	if (n < 0 || (size_t)n >= size) {
		proto_problem_set(why, PROTO_E_WORKDIR, "workdir",
		    "workdir %s is %s; nothing was run", shown,
		    n < 0 ? "relative, and no baseDir was given" : "too long");
		return -EINVAL;
	}
	if (stat(ret, &st) < 0) {
		int e = errno;

		proto_problem_set(why, PROTO_E_WORKDIR, "workdir",
		    "workdir %s: %s; nothing was run", shown, strerror(e));
		return -e;
	}
	if (!S_ISDIR(st.st_mode)) {
		proto_problem_set(why, PROTO_E_WORKDIR, "workdir",
		    "workdir %s is not a directory; nothing was run", shown);
		return -ENOTDIR;
	}
	return 0;
}

int
blob_put(struct build *bl, const char *what, const char *a, size_t a_len,
    const char *b, size_t b_len)
{
	char shown[80];

	if (a_len + b_len > ARG_ONE_MAX) {
		text_escape(a, a_len < 40 ? a_len : 40, false, shown,
		    sizeof(shown));
		proto_problem_set(bl->why, PROTO_E_TOO_BIG, what,
		    "%s %s... has %zu bytes, the kernel takes %u in one", what,
		    shown, a_len + b_len, ARG_ONE_MAX);
		return -E2BIG;
	}
	bl->sum += a_len + b_len + 1 + sizeof(char *);
	if (bl->sum > ARG_SUM_MAX) {
		proto_problem_set(bl->why, PROTO_E_TOO_BIG, what,
		    "arguments and environment have over %u bytes together, "
		    "the kernel takes no more",
		    ARG_SUM_MAX);
		return -E2BIG;
	}
	sbuf_addn(&bl->blob, a, a_len);
	sbuf_addn(&bl->blob, b, b_len);
	sbuf_addn(&bl->blob, "", 1);
	return 0;
}

/* Looks a program up in a PATH. */
static bool
path_find(const char *path, const char *name, char *ret, size_t size)
{
	while (*path != '\0') {
		size_t n = strcspn(path, ":");

		if (n > 0 && path[0] == '/' &&
		    snprintf(ret, size, "%.*s/%s", (int)n, path, name) <
			(int)size &&
		    access(ret, X_OK) == 0)
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

/* The last component. */
static const char *
base_name(const char *path)
{
	const char *p = strrchr(path, '/');

	return p != NULL ? p + 1 : path;
}

/* Would a command string be understood by it? */
static bool
is_posix_shell(const char *path)
{
	static const char *const no[] = {"fish", "false", "nologin", "true"};
	const char *name = base_name(path);

	if (path[0] != '/' || access(path, X_OK) < 0)
		return false;
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (strcmp(name, no[i]) == 0)
			return false;
	return true;
}

/* The shell of a command string. */
static void
shell_choose(const struct exec_base *b, const struct val *params, char *ret,
    size_t size)
{
	if (b->cfg->shell[0] != '\0') {
		snprintf(ret, size, "%s", b->cfg->shell);
		return;
	}
	if (base_get(b, params, "SHELL", ret, size) && is_posix_shell(ret))
		return;
	snprintf(ret, size, "%s", b->user_shell);
	if (is_posix_shell(ret))
		return;
	if (path_find(b->path, "bash", ret, size) ||
	    path_find(b->path, "sh", ret, size))
		return;
	snprintf(ret, size, "/bin/sh");
}

/* argv of a command string; returns argc, or -errno. */
static int
put_shell(struct build *bl, const char *shell, const struct val *params)
{
	static const char *const bash[] = {"--noprofile", "--norc", "-c", NULL};
	static const char *const zsh[] = {"-f", "-c", NULL};
	static const char *const other[] = {"-c", NULL};
	const char *name = base_name(shell);
	const char *const *opt = strcmp(name, "bash") == 0 ? bash
	    : strcmp(name, "zsh") == 0			   ? zsh
							   : other;
	struct val_str cmd = val_str(params, "command");
	int argc = 1;
	int r = blob_put(bl, "shell", shell, strlen(shell), "", 0);

	for (; r == 0 && *opt != NULL; opt++, argc++)
		r = blob_put(bl, "shell", *opt, strlen(*opt), "", 0);
	if (r == 0)
		r = blob_put(bl, "command", cmd.ptr, cmd.len, "", 0);
	return r < 0 ? r : argc + 1;
}

/* argv as given. */
static int
put_argv(struct build *bl, const struct val *argv)
{
	for (size_t i = 0; i < argv->a.count; i++) {
		const struct val *a = &argv->a.items[i];
		int r = blob_put(bl, "argv", a->s.ptr, a->s.len, "", 0);

		if (r < 0)
			return r;
	}
	return (int)argv->a.count;
}

/* The candidates of a program without a slash: every directory of the
 * command's own PATH. Returns how many. */
static uint32_t
put_path_dirs(struct build *bl, const char *cwd, const char *prog, size_t len,
    const char *path, size_t path_len)
{
	uint32_t n = 0;
	size_t at = 0;

	while (at <= path_len && n < PATHS_MAX) {
		size_t d = 0;

		while (at + d < path_len && path[at + d] != ':')
			d++;
		if (d > 0 && path[at] == '/' && d + len < 4094) {
			sbuf_addn(&bl->blob, path + at, d);
			sbuf_add(&bl->blob, "/");
			sbuf_addn(&bl->blob, prog, len);
			sbuf_addn(&bl->blob, "", 1);
			n++;
		} else if (d + strlen(cwd) + len < 4092) {
			sbuf_add(&bl->blob, cwd);
			sbuf_add(&bl->blob, "/");
			sbuf_addn(&bl->blob, path + at, d);
			sbuf_add(&bl->blob, d > 0 ? "/" : "");
			sbuf_addn(&bl->blob, prog, len);
			sbuf_addn(&bl->blob, "", 1);
			n++;
		}
		at += d + 1;
	}
	return n;
}

/* The absolute candidates of the program. */
static uint32_t
put_paths(struct build *bl, const char *cwd, const char *prog, size_t len)
{
	static const char fallback[] = "/usr/local/bin:/usr/bin:/bin";
	const struct pair *path;

	if (memchr(prog, '/', len) != NULL) {
		if (prog[0] != '/') {
			sbuf_add(&bl->blob, cwd);
			sbuf_add(&bl->blob, "/");
		}
		sbuf_addn(&bl->blob, prog, len);
		sbuf_addn(&bl->blob, "", 1);
		return 1;
	}
	path = env_find(bl, "PATH");
	if (path == NULL || path->val_len == 0)
		return put_path_dirs(bl, cwd, prog, len, fallback,
		    sizeof(fallback) - 1);
	return put_path_dirs(bl, cwd, prog, len, path->val, path->val_len);
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

/* Would the shell hand this environment on as it is? */
static bool
env_is_indifferent(const struct build *bl)
{
	struct stat st;
	char dir[1024];

	for (size_t i = 0; i < bl->envc; i++) {
		const struct pair *p = &bl->env[i];

		if (!env_is_portable(p->key, p->key_len))
			return false;
		if (p->key_len == 6 && memcmp(p->key, "OLDPWD", 6) == 0) {
			if (p->val_len >= sizeof(dir))
				return false;
			memcpy(dir, p->val, p->val_len);
			dir[p->val_len] = '\0';
			if (dir[0] != '/' || stat(dir, &st) != 0 ||
			    !S_ISDIR(st.st_mode))
				return false;
		} else if (direct_minds(p->key, p->key_len)) {
			return false;
		}
	}
	return true;
}

/* A number that bash would leave as it is. */
static bool
is_level(const struct pair *p)
{
	if (p->val_len < 1 || p->val_len > 2 || p->val[0] == '0')
		return p->val_len == 1 && p->val[0] == '0';
	for (size_t i = 0; i < p->val_len; i++)
		if (p->val[i] < '0' || p->val[i] > '9')
			return false;
	return true;
}

/* May the shell be left out? Then its program, and the variables that the
 * shell would have set. */
static bool
direct_take(struct build *bl, const struct exec_base *b,
    const struct val *params, const char *cwd, const char *shell,
    struct direct *d, char *prog, size_t size)
{
	struct val_str cmd = val_str(params, "command");
	enum direct_shell kind;
	const struct pair *path, *level;

	if (!b->cfg->direct || cmd.ptr == NULL ||
	    !direct_split(cmd.ptr, cmd.len, d))
		return false;
	kind = direct_shell_of(shell);
	path = env_find(bl, "PATH");
	level = env_find(bl, "SHLVL");
	if (kind == DIRECT_NONE || path == NULL || !is_canonical(cwd) ||
	    !env_is_indifferent(bl) ||
	    (kind == DIRECT_BASH && level != NULL && !is_level(level)) ||
	    !direct_find(&d->word[0], path->val, path->val_len, cwd, prog,
	        size))
		return false;
	if (kind == DIRECT_BASH) {
		bool slash = memchr(d->word[0].ptr, '/', d->word[0].len) !=
		    NULL;

		env_set(bl, "_", 1, slash ? d->word[0].ptr : prog,
		    slash ? d->word[0].len : strlen(prog));
		if (level == NULL)
			env_set(bl, "SHLVL", 5, "0", 1);
	}
	return true;
}

/* umask: octal digits. */
static int
take_umask(const struct val *params, uint32_t *ret, struct proto_problem *why)
{
	struct val_str v = val_str(params, "umask");
	uint32_t mask = 0;

	*ret = 022;
	if (v.ptr == NULL)
		return 0;
	for (size_t i = 0; i < v.len; i++) {
		if (v.ptr[i] < '0' || v.ptr[i] > '7')
			mask = 010000;
		mask = mask << 3 | ((uint32_t)v.ptr[i] & 7u);
	}
	if (v.len == 0 || mask > 0777) {
		proto_problem_value(why, PROTO_E_INVALID_PARAMS, "umask",
		    val_get(params, "umask"), "octal digits from 0 to 0777");
		return -EINVAL;
	}
	*ret = mask;
	return 0;
}

/* Fills the spec from a build. */
static int
spec_fill(struct build *bl, const struct exec_base *b, const struct val *params,
    const char *cwd, struct spec *sp)
{
	const struct val *argv = val_get(params, "argv");
	char shell[4200] = "", prog[4200];
	bool direct = false;
	struct direct d;
	int r = take_umask(params, &sp->umask, bl->why);

	if (r == 0)
		r = blob_put(bl, "workdir", cwd, strlen(cwd), "", 0);
	if (r < 0)
		return r;
	if (argv == NULL)
		shell_choose(b, params, shell, sizeof(shell));
	r = argv != NULL ? put_argv(bl, argv) : put_shell(bl, shell, params);
	if (r < 0)
		return r;
	sp->argc = (uint32_t)r;
	if (argv == NULL)
		direct = direct_take(bl, b, params, cwd, shell, &d, prog,
		    sizeof(prog));
	if (direct) {
		sp->shell_argc = sp->argc;
		sp->argc += (uint32_t)d.count;
	}
	for (size_t i = 0; direct && i < d.count; i++) {
		r = blob_put(bl, "command", d.word[i].ptr, d.word[i].len, "",
		    0);
		if (r < 0)
			return r;
	}
	r = put_env(bl);
	if (r < 0)
		return r;
	sp->envc = (uint32_t)bl->envc;
	if (direct) {
		sbuf_addn(&bl->blob, prog, strlen(prog) + 1);
		sp->path_count = 1;
	}
	if (argv != NULL)
		sp->path_count = put_paths(bl, cwd, argv->a.items[0].s.ptr,
		    argv->a.items[0].s.len);
	else
		sp->path_count += put_paths(bl, cwd, shell, strlen(shell));
	if (sp->path_count == 0) {
		proto_problem_set(bl->why, PROTO_E_INVALID_PARAMS, "argv",
		    "the program's name is too long");
		return -ENAMETOOLONG;
	}
	return 0;
}

/* Everything START needs. */
int
exec_spec_make(const struct exec_base *b, const struct val *params,
    const char *cwd, const struct exec_ids *ids, struct spec **ret,
    struct proto_problem *why)
{
	struct build *bl = calloc(1, sizeof(*bl));
	struct spec *sp = calloc(1, sizeof(*sp));
	struct sbuf path = SBUF_INIT;
	int r = -ENOMEM;

	if (bl != NULL && sp != NULL) {
		bl->why = why;
		env_base(bl, b, params);
		r = env_call(bl, b, params);
		if (r == 0) {
			env_own(bl, b, ids, cwd, &path);
			r = spec_fill(bl, b, params, cwd, sp);
		}
		if (r == 0 && (bl->blob.failed || path.failed))
			r = -ENOMEM;
	}
	if (r == -ENOMEM)
		proto_problem_set(why, PROTO_E_BUSY, "", "out of memory");
	if (r == 0) {
		sp->blob = bl->blob.p;
		sp->blob_bytes = (uint32_t)bl->blob.len;
		*ret = sp;
	} else {
		if (bl != NULL)
			sbuf_fini(&bl->blob);
		free(sp);
	}
	sbuf_fini(&path);
	free(bl);
	return r;
}
