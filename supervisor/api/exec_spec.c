/* SPDX-License-Identifier: MIT */
/*
 * What a command is started with. Called by exec.c; starts nothing,
 * remembers nothing and looks at no file: a path that a client names may lie
 * where nobody ever answers.
 */
#include "supervisor/api/exec_build.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/shells.h"
#include "common/text.h"

#define PATHS_MAX 64u

int
blob_put(struct build *bl, const char *what, const char *a, size_t a_len,
    const char *b, size_t b_len)
{
	char shown[80];

	if (a_len + b_len > ARG_ONE_MAX) {
		text_escape(a, a_len < 40 ? a_len : 40, false, shown,
		    sizeof(shown));
		return proto_problem_set(bl->why, PROTO_E_TOO_BIG, what,
		    "%s %s... has %zu bytes, the kernel takes %u in one", what,
		    shown, a_len + b_len, ARG_ONE_MAX);
	}
	bl->sum += a_len + b_len + 1 + sizeof(char *);
	if (bl->sum > ARG_SUM_MAX)
		return proto_problem_set(bl->why, PROTO_E_TOO_BIG, what,
		    "arguments and environment have over %u bytes together, "
		    "the kernel takes no more",
		    ARG_SUM_MAX);
	sbuf_addn(&bl->blob, a, a_len);
	sbuf_addn(&bl->blob, b, b_len);
	sbuf_addn(&bl->blob, "", 1);
	return 0;
}

/* A shell of this name in each directory of a PATH; returns how many. */
static uint32_t
add_shells(struct sbuf *shells, const char *path, const char *name)
{
	uint32_t count = 0;
	size_t n;

	for (; *path != '\0' && count < PATHS_MAX; path += *path == ':') {
		n = strcspn(path, ":");
		if (n > 0 && path[0] == '/') {
			sbuf_addn(shells, path, n);
			sbuf_addf(shells, "/%s", name);
			sbuf_addn(shells, "", 1);
			count++;
		}
		path += n;
	}
	return count;
}

/* The shells that a command string may be given to, the best first: which of
 * them is there the child finds out. Returns how many. */
static uint32_t
choose_shells(const struct exec_base *b, const struct val *params,
    struct sbuf *ret)
{
	char own[4200] = "";
	const char *const users[] = {own, b->user_shell};
	uint32_t count = 0;

	if (b->boxed) {
		count = add_shells(ret, BOX_PATH, "bash");
		return count + add_shells(ret, BOX_PATH, "sh");
	}
	if (b->cfg->shell[0] != '\0') {
		sbuf_addn(ret, b->cfg->shell, strlen(b->cfg->shell) + 1);
		return 1;
	}
	(void)exec_base_get(b, params, "SHELL", own, sizeof(own));
	for (size_t i = 0; i < NELEMS(users); i++) {
		if (!shell_is_posix(users[i]) ||
		    (i > 0 && strcmp(users[i], own) == 0))
			continue;
		sbuf_addn(ret, users[i], strlen(users[i]) + 1);
		count++;
	}
	count += add_shells(ret, b->path, "bash");
	count += add_shells(ret, b->path, "sh");
	sbuf_addn(ret, "/bin/sh", sizeof("/bin/sh"));
	return count + 1;
}

/* argv of a command string; returns argc, or -errno. */
static int
put_shell(struct build *bl, const char *shell, const struct val *params)
{
	const char *const *opt = shell_options(shell);
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

/* umask: octal digits. */
int
exec_umask(const struct val *params, uint32_t dflt, uint32_t *ret,
    struct proto_problem *why)
{
	struct val_str v = val_str(params, "umask");
	uint32_t mask = 0;

	*ret = dflt;
	if (v.ptr == NULL)
		return 0;
	for (size_t i = 0; i < v.len; i++) {
		if (v.ptr[i] < '0' || v.ptr[i] > '7')
			mask = 010000;
		mask = mask << 3 | ((uint32_t)v.ptr[i] & 7u);
	}
	if (v.len == 0 || mask > 0777)
		return proto_problem_value(why, PROTO_E_INVALID_PARAMS, "umask",
		    val_get(params, "umask"), "octal digits from 0 to 0777");
	*ret = mask;
	return 0;
}

/* Fills the spec from a build; `shells` is room for the shells. */
static int
spec_fill(struct build *bl, const struct exec_base *b, const struct val *params,
    const char *cwd, struct sbuf *shells, struct spec *sp)
{
	const struct val *argv = val_get(params, "argv");
	int r = exec_umask(params, b->umask, &sp->umask, bl->why);

	if (r == 0)
		r = blob_put(bl, "workdir", cwd, strlen(cwd), "", 0);
	if (r < 0)
		return r;
	sp->flags = b->cfg->no_new_privs ? CTL_START_NO_NEW_PRIVS : 0u;
	sp->flags |= b->no_links ? CTL_START_NO_LINKS : 0u;
	if (argv == NULL) {
		sp->flags |= CTL_START_SHELL |
		    (b->cfg->direct && !b->boxed ? CTL_START_DIRECT : 0u);
		sp->path_count = choose_shells(b, params, shells);
		if (shells->failed)
			return -ENOMEM;
	}
	r = argv != NULL ? put_argv(bl, argv) : put_shell(bl, shells->p, params);
	if (r < 0)
		return r;
	sp->argc = (uint32_t)r;
	r = put_env(bl);
	if (r < 0)
		return r;
	sp->envc = (uint32_t)bl->envc;
	if (argv != NULL)
		sp->path_count = put_paths(bl, cwd, argv->a.items[0].s.ptr,
		    argv->a.items[0].s.len);
	else
		sbuf_addn(&bl->blob, shells->p, shells->len);
	if (sp->path_count == 0)
		return proto_problem_set(bl->why, PROTO_E_INVALID_PARAMS,
		    "argv", "the program's name is too long");
	return 0;
}

/* Everything START needs. */
int
exec_spec_make(const struct exec_base *b, const struct val *params,
    const char *cwd, const struct exec_ids *ids, struct spec **ret,
    struct proto_problem *why)
{
	static struct build bl; /* 70 KiB: not cleared each time */
	struct spec *sp = calloc(1, sizeof(*sp));
	struct sbuf path = SBUF_INIT, shells = SBUF_INIT;
	int r = -ENOMEM;

	memset(&bl, 0, offsetof(struct build, env));
	bl.why = why;
	if (sp != NULL) {
		if (b->boxed)
			env_box(&bl, b);
		else
			env_base(&bl, b, params);
		r = env_call(&bl, b, params);
		if (r == 0) {
			env_own(&bl, b, ids, cwd, &path);
			r = spec_fill(&bl, b, params, cwd, &shells, sp);
		}
		if (r == 0 && (bl.blob.failed || path.failed))
			r = -ENOMEM;
	}
	if (r == -ENOMEM)
		proto_problem_set(why, PROTO_E_BUSY, "", "out of memory");
	if (r == 0) {
		sp->blob = bl.blob.p;
		sp->blob_bytes = (uint32_t)bl.blob.len;
		*ret = sp;
	} else {
		sbuf_fini(&bl.blob);
		free(sp);
	}
	sbuf_fini(&path);
	sbuf_fini(&shells);
	return r;
}
