/* SPDX-License-Identifier: MIT */
/* See plan.h. */
#include "supervisor/box/plan.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/check.h"
#include "common/config_sandbox.h"

#define PROGRAM_INSIDE "/run/psup/box"

static void
add(struct box_argv *a, const char *arg)
{
	CHECK(a->count + 1 < BOX_ARGS);
	a->arg[a->count++] = arg;
}

static void
add3(struct box_argv *a, const char *how, const char *from, const char *to)
{
	add(a, how);
	add(a, from);
	add(a, to);
}

static void
add_number(struct box_argv *a, unsigned which, int n)
{
	(void)snprintf(a->numbers[which], sizeof(a->numbers[which]), "%d", n);
	add(a, a->numbers[which]);
}

static void
add_namespaces(const struct box_plan *plan, struct box_argv *a)
{
	static const char *const always[] = {"--unshare-user", "--unshare-pid",
	    "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
	    "--die-with-parent", "--as-pid-1", "--new-session", "--clearenv"};

	for (size_t i = 0; i < NELEMS(always); i++)
		add(a, always[i]);
	if (!plan->host_network)
		add(a, "--unshare-net");
	if (plan->disable_userns)
		add(a, "--disable-userns");
	add(a, "--cap-drop");
	add(a, "ALL");
}

/* What a box writes beside its workspace lies in memory. */
static void
add_tmpfs(const struct box_plan *plan, struct box_argv *a)
{
	static const struct {
		const char *path;
		unsigned part; /* an n-th of all */
	} fresh[BOX_TMPFS] = {
	    {"/tmp", 2}, {"/dev/shm", 4}, {"/run", 8}, {"/var", 8}};

	for (size_t i = 0; i < NELEMS(fresh); i++) {
		if (plan->sizes && plan->tmpfs_bytes > 0) {
			(void)snprintf(a->bytes[i], sizeof(a->bytes[i]),
			    "%" PRIu64, plan->tmpfs_bytes / fresh[i].part);
			add(a, "--size");
			add(a, a->bytes[i]);
		}
		add(a, "--tmpfs");
		add(a, fresh[i].path);
	}
}

/* Fresh ones of what a system changes; the listed ones of the host. */
static void
add_root(const struct box_plan *plan, struct box_argv *a)
{
	add3(a, "--ro-bind", "/usr", "/usr");
	add3(a, "--ro-bind", "/etc", "/etc");
	for (size_t i = 0; i < plan->root_count; i++) {
		const struct box_root *r = &plan->roots[i];

		add3(a, r->link != NULL ? "--symlink" : "--ro-bind",
		    r->link != NULL ? r->link : r->path, r->path);
	}
	add(a, "--dev");
	add(a, "/dev");
	add(a, "--proc");
	add(a, "/proc");
	add_tmpfs(plan, a);
}

void
box_plan_argv(const struct box_plan *plan, struct box_argv *ret)
{
	CHECK(plan->bind_count <= BOX_BINDS);
	ret->count = 0;
	add(ret, plan->bwrap);
	add_namespaces(plan, ret);
	add_root(plan, ret);
	add(ret, "--perms");
	add3(ret, "0555", "--dir", "/run/psup");
	add3(ret, "--ro-bind", plan->program, PROGRAM_INSIDE);
	add3(ret, "--bind", plan->workspace, "/workspace");
	if (plan->agent != NULL)
		add3(ret, "--ro-bind", plan->agent, BOX_AGENT);
	for (size_t i = 0; i < plan->bind_count; i++) {
		const struct box_bind *b = &plan->binds[i];

		add3(ret, b->writable ? "--bind" : "--ro-bind", b->host,
		    b->inside);
	}
	add(ret, "--chdir");
	add(ret, "/workspace");
	add(ret, "--remount-ro");
	add(ret, "/dev");
	add(ret, "--remount-ro");
	add(ret, "/");
	add(ret, "--info-fd");
	add_number(ret, 0, plan->info_fd);
	add(ret, "--");
	add(ret, PROGRAM_INSIDE);
	add_number(ret, 1, plan->ready_fd);
	ret->arg[ret->count] = NULL;
}
