/* SPDX-License-Identifier: MIT */
/*
 * The sessions that make a box and set it up: who they are, and what START is
 * told. bwrap says on its stdout which process is pid 1, which says "R" on
 * stderr once it is there; psup-container says both of a container's. The only place that looks at the directories of a
 * box, all of the configuration. Called by boxes.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/box_bind.h"
#include "common/check.h"
#include "common/config_options.h"
#include "supervisor/box/plan.h"
#include "supervisor/host/inner.h"
#include "supervisor/host/workspace.h"
#include "supervisor/master.h"
#include "supervisor/session/limits.h"

#define SAID_BYTES 65536u /* of a box's or a setup command's output */
#define ROOTS	   6u
#define UNREADABLE "no sandbox: its directories cannot be read"
#define PROGRAMS   32u /* directories of PATH in which bwrap may be */

/* All of a plan's texts. */
struct draft {
	struct box_plan plan;
	struct box_root roots[ROOTS];
	char links[ROOTS][128];
	struct box_bind binds[BOX_BINDS];
	char workspace[PATH_MAX], program[PATH_MAX];
	struct box_argv argv;
};

/* ------------------------------------------------------------- directories */

/* The directories of the root beside /usr, as they are here. */
static size_t
find_roots(struct box_root ret[ROOTS], char links[ROOTS][128])
{
	static const char *const paths[ROOTS] = {
	    "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
	struct stat st;
	size_t n = 0;

	for (size_t i = 0; i < ROOTS; i++) {
		ssize_t len =
		    readlink(paths[i], links[i], sizeof(links[i]) - 1);

		if (len < 0 &&
		    (lstat(paths[i], &st) != 0 || !S_ISDIR(st.st_mode)))
			continue;
		links[i][len > 0 ? len : 0] = '\0';
		ret[n++] =
		    (struct box_root){paths[i], len > 0 ? links[i] : NULL};
	}
	return n;
}

/* psup-box and psup-container lie beside this program. */
static int
find_program(const char *name, char ret[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);
	char *slash;

	if (n < 0)
		return -errno;
	ret[n] = '\0';
	slash = strrchr(ret, '/');
	if (slash == NULL ||
	    strlcpy(slash + 1, name, (size_t)(ret + PATH_MAX - 1 - slash)) >=
		(size_t)(ret + PATH_MAX - 1 - slash))
		return -ENAMETOOLONG;
	return access(ret, R_OK) == 0 ? 0 : -errno;
}

/* What a box has of its own, or its scope. */
static int
check_own(const char *what, const char *path, const char *rundir,
    char why[BOX_WHY_MAX])
{
	static struct box_bind own;
	char reason[200];

	(void)strlcpy(own.host, path, sizeof(own.host));
	if (box_bind_check(&own, path, rundir, reason, sizeof(reason)) == 0)
		return 0;
	(void)snprintf(
	    why, BOX_WHY_MAX, "no sandbox: %s: %s", what, reason);
	return -EPERM;
}

/* The binds, of which each was looked at when they were read; ... */
static int
take_binds(struct master *m, struct draft *d, const struct config_sandbox *c,
    char why[BOX_WHY_MAX])
{
	char rundir[PATH_MAX], real[PATH_MAX], reason[200];
	const char *at = c->binds;
	size_t n = 0;

	if (realpath(m->h.runtime_dir, rundir) == NULL)
		return -errno;
	if (check_own("workspace", d->workspace, rundir, why) < 0 ||
	    (d->plan.agent != NULL &&
		check_own("directory", d->plan.agent, rundir, why) < 0))
		return -EPERM;
	while (n < BOX_BINDS && config_next_bind(&at, &d->binds[n])) {
		struct box_bind *b = &d->binds[n];

		/* ... once more: somebody may have put a link there */
		if (realpath(b->host, real) == NULL) {
			(void)snprintf(why, BOX_WHY_MAX,
			    "no sandbox: bind %.120s: %s", b->host,
			    strerror(errno));
			return -errno;
		}
		if (strcmp(real, b->host) != 0) {
			(void)snprintf(why, BOX_WHY_MAX,
			    "no sandbox: bind %.120s: there is a link in it by "
			    "now",
			    b->host);
			return -ELOOP;
		}
		if (box_bind_check(b, real, rundir, reason, sizeof(reason)) <
		    0) {
			(void)snprintf(
			    why, BOX_WHY_MAX, "no sandbox: bind %s", reason);
			return -EPERM;
		}
		n++;
	}
	d->plan.bind_count = n;
	return 0;
}

/* What it has as /workspace, which is made, too, or but named. */
static int
take_workspace(struct master *m, const struct config_sandbox *c,
    const char *key, bool make, struct draft *d, char why[BOX_WHY_MAX])
{
	char name[NAME_MAX + 1];
	struct stat st;
	int r = 0;

	if (c->access != CONFIG_ACCESS_NONE)
		r = workspace_directory(c, &st, why);
	if (r < 0 || c->access == CONFIG_ACCESS_RW) {
		(void)strlcpy(d->workspace, c->directory, PATH_MAX);
		return r;
	}
	if (c->access == CONFIG_ACCESS_RO)
		d->plan.agent = c->directory;
	r = workspace_name(key, m->h.incarnation, name);
	if (r == 0 && make)
		r = workspace_make(c, name, d->workspace, why);
	else if (r == 0 && snprintf(d->workspace, PATH_MAX, "%s/%s",
			       c->workspace, name) >= PATH_MAX)
		r = -ENAMETOOLONG;
	if (r < 0 && why[0] == '\0')
		(void)snprintf(why, BOX_WHY_MAX,
		    "no sandbox: workspace %.120s: %s", c->workspace,
		    strerror(-r));
	return r;
}

/* What the box of this key is to be made of. */
static int
draft(struct master *m, const struct config_sandbox *c, const char *key,
    bool make, struct draft *d, char why[BOX_WHY_MAX])
{
	bool container = c->backend == CONFIG_BACKEND_CONTAINER;
	int r;

	if (geteuid() == 0 && c->uid == 0) {
		(void)snprintf(why, BOX_WHY_MAX,
		    "no sandbox: the server is root; say [sandbox] user = "
		    "NAME");
		return -EPERM;
	}
	if (make && m->sandbox_why[0] != '\0') { /* one waited over a restart */
		(void)strlcpy(why, m->sandbox_why, BOX_WHY_MAX);
		return -ENOTSUP;
	}
	r = container ? 0 : workspace_answers(c, why);
	if (r == 0 && !container)
		r = take_workspace(m, c, key, make, d, why);
	if (r < 0)
		return r;
	r = find_program(container ? "psup-container" : "psup-box", d->program);
	if (r < 0) {
		(void)snprintf(why, BOX_WHY_MAX, "no sandbox: %.120s: %s",
		    d->program, strerror(-r));
		return r;
	}
	if (container) {
		d->argv = (struct box_argv){.count = 3,
		    .arg = {"psup-container",
			config_word(OPT_BOX_ENGINE, c->engine), c->container}};
		return 0;
	}
	r = take_binds(m, d, c, why);
	if (r < 0)
		return r;
	d->plan.bwrap = "bwrap";
	d->plan.program = d->program;
	d->plan.workspace = d->workspace;
	d->plan.roots = d->roots;
	d->plan.root_count = find_roots(d->roots, d->links);
	d->plan.binds = d->binds;
	d->plan.host_network = c->network == CONFIG_NETWORK_HOST;
	d->plan.disable_userns = m->box_facts.knows_userns;
	d->plan.sizes = m->box_facts.knows_size;
	d->plan.tmpfs_bytes = c->memory;
	d->plan.info_fd = 1;
	d->plan.ready_fd = 2;
	box_plan_argv(&d->plan, &d->argv);
	return 0;
}

/* ----------------------------------------------------------------- sessions */

static void
put(struct sbuf *b, const char *s)
{
	sbuf_addn(b, s, strlen(s) + 1);
}

/* A session of ours: shown to nobody, asked for by nobody. */
static struct session *
session_of_ours(struct master *m, const struct host_box *bx, uint32_t host,
    const char *command, const char *cwd)
{
	struct session_id id = {.sid = {m->next_sid++},
	    .incarnation = m->h.incarnation,
	    .created_ms = clock_wall_ms(),
	    .scope = strdup(BOXES_SCOPE),
	    .name = strdup(command),
	    .label = boxes_label(bx),
	    .session_key = strdup(bx->key),
	    .request_key = strdup("")};
	struct session_wish wish = {.host = host,
	    .command = strdup(command),
	    .cwd = strdup(cwd),
	    .lane = strdup(""),
	    .ttl_ms = m->cfg.cleanup_ms,
	    .head_bytes = SAID_BYTES,
	    .tail_bytes = SAID_BYTES};
	struct session *s;

	if (host == HOST_BOX)
		limits_of_box(&m->h, bx->made, &wish.limits);
	else
		limits_take_box(&m->h, bx->made, &wish.limits);

	registry_slug(m, id.sid, id.slug);
	s = session_make(&id, &wish);
	if (s == NULL)
		return NULL;
	if (room_join(m, s) < 0 || registry_add(m, s) < 0) {
		session_free(s);
		return NULL;
	}
	record_new(m, s);
	terminal_begin(s, false, 120, 30);
	stdin_eof(s);
	stdin_closed(s);
	shown_hide(m, s);
	return s;
}

/* The mark by which its processes are found, and where programs are. */
static uint32_t
put_environment(struct session *s, struct sbuf *b, const char *path)
{
	char instance[SESSION_INSTANCE_MAX];

	session_instance(s, instance);
	sbuf_addf(b, "PATH=%s", path);
	sbuf_addn(b, "", 1);
	sbuf_addf(b, "PSUP_INSTANCE=%s", instance);
	sbuf_addn(b, "", 1);
	return 2;
}

/* Of our own environment, by what an engine finds its containers. */
static uint32_t
put_engines(struct sbuf *b)
{
	static const char *const names[] = {"HOME", "XDG_RUNTIME_DIR",
	    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "DOCKER_HOST", "CONTAINER_HOST"};
	uint32_t count = 0;

	for (size_t i = 0; i < NELEMS(names); i++) {
		const char *value = getenv(names[i]);

		if (value == NULL)
			continue;
		sbuf_addf(b, "%s=%s", names[i], value);
		sbuf_addn(b, "", 1);
		count++;
	}
	return count;
}

/* bwrap, in each directory of the server's PATH. */
static uint32_t
put_programs(struct sbuf *b, const char *path)
{
	uint32_t count = 0;
	size_t n;

	for (; *path != '\0' && count < PROGRAMS; path += *path == ':') {
		n = strcspn(path, ":");
		if (n > 0 && path[0] == '/') {
			sbuf_addn(b, path, n);
			put(b, "/bwrap");
			count++;
		}
		path += n;
	}
	return count;
}

/* It begins, past lanes and gate: who waits for it has been through them. But
 * there is to be a place for it, as for any session of that scope. */
static bool
begin(struct master *m, struct session *s, struct spec *sp, struct sbuf *blob,
    char why[BOX_WHY_MAX])
{
	struct proto_problem no;

	if (s == NULL || sp == NULL || blob->failed) {
		(void)snprintf(why, BOX_WHY_MAX, "no sandbox: out of memory");
		sbuf_fini(blob);
		free(sp);
		if (s != NULL)
			registry_forget(m, s);
		return false;
	}
	sp->umask = 022;
	sp->blob = blob->p;
	sp->blob_bytes = (uint32_t)blob->len;
	record_spec(s, sp);
	if (sweep_admit(m, s, &no) < 0) {
		(void)snprintf(
		    why, BOX_WHY_MAX, "no sandbox: %.200s", no.message);
		registry_forget(m, s);
		return false;
	}
	session_set_state(m, s, STATE_STARTING, "a box wants it");
	custody_back(&s->custody);
	starts_enter(m, s);
	return true;
}

struct session *
maker_box(struct master *m, const struct host_box *bx, char why[BOX_WHY_MAX])
{
	static struct draft d;
	bool container = bx->made->backend == CONFIG_BACKEND_CONTAINER;
	struct sbuf blob = SBUF_INIT;
	struct session *s;
	struct spec *sp;

	memset(&d, 0, sizeof(d));
	why[0] = '\0';
	if (draft(m, bx->made, bx->key, true, &d, why) < 0) {
		if (why[0] == '\0')
			(void)strlcpy(why, UNREADABLE, BOX_WHY_MAX);
		return NULL;
	}
	s = session_of_ours(m, bx, HOST_BOX, container ? d.argv.arg[0] : "bwrap",
	    "/");
	sp = calloc(1, sizeof(*sp));
	if (s == NULL || sp == NULL)
		return begin(m, s, sp, &blob, why) ? s : NULL;
	put(&blob, "/");
	for (size_t i = 0; i < d.argv.count; i++)
		put(&blob, d.argv.arg[i]);
	sp->argc = (uint32_t)d.argv.count;
	sp->envc = put_environment(s, &blob, m->server_path);
	if (container) {
		sp->envc += put_engines(&blob);
		put(&blob, d.program);
		sp->path_count = 1;
	} else
		sp->path_count = put_programs(&blob, m->server_path);
	if (sp->path_count == 0) { /* START has one at least */
		put(&blob, "/usr/bin/bwrap");
		sp->path_count = 1;
	}
	if (!begin(m, s, sp, &blob, why))
		return NULL;
	tally_add(m, TALLY_BOXES_MADE, 1);
	return s;
}

const char *const *
maker_show(struct master *m, const char *key, const char *scope,
    char why[BOX_WHY_MAX])
{
	static struct config_sandbox c;
	static struct draft d;

	c = m->cfg.sandbox;
	(void)config_directory(&m->cfg, scope, c.directory);
	memset(&d, 0, sizeof(d));
	why[0] = '\0';
	if (draft(m, &c, key, false, &d, why) == 0)
		return d.argv.arg;
	if (why[0] == '\0')
		(void)strlcpy(why, UNREADABLE, BOX_WHY_MAX);
	return NULL;
}

struct session *
maker_setup(
    struct master *m, const struct host_box *bx, char why[BOX_WHY_MAX])
{
	struct session *s =
	    session_of_ours(m, bx, HOST_SETUP, "setup", "/workspace");
	struct spec *sp = calloc(1, sizeof(*sp));
	struct sbuf blob = SBUF_INIT;

	if (s == NULL || sp == NULL)
		return begin(m, s, sp, &blob, why) ? s : NULL;
	put(&blob, "/workspace");
	put(&blob, "/bin/sh");
	put(&blob, "-c");
	put(&blob, bx->made->setup);
	sp->argc = 3;
	sp->envc = put_environment(s, &blob, "/usr/local/bin:/usr/bin:/bin");
	put(&blob, "HOME=/workspace");
	sp->envc++;
	put(&blob, "/bin/sh");
	sp->path_count = 1;
	starts_inside(s, bx->sid);
	return begin(m, s, sp, &blob, why) ? s : NULL;
}
