/* SPDX-License-Identifier: MIT */
/*
 * See start_plan.h. The strings lie in one blob behind the message, or in a
 * memfd beside it where they are many: directory, argv, the direct argv, envp,
 * paths, the spill file.
 */
#include "worker/start_plan.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"

#define BLOB_MAX  (8u << 20)
#define COUNT_MAX 65536u

void
start_plan_free(struct start_plan *plan)
{
	size_t i;

	if (plan == NULL)
		return;
	for (i = 0; i < 3; i++)
		if (plan->child_end[i] >= 0)
			close(plan->child_end[i]);
	free(plan->blob);
	free(plan->words);
	free(plan->sh_argv);
	free(plan);
}

/* Are counts, sizes and times within bounds? */
static bool
order_is_sane(const struct ctl_start *o)
{
	return o->argc >= 1 && o->argc <= COUNT_MAX &&
	    o->envc <= COUNT_MAX && o->path_count >= 1 &&
	    o->path_count <= COUNT_MAX &&
	    o->blob_bytes >= 1u + o->argc + o->envc + o->path_count &&
	    o->blob_bytes <= BLOB_MAX && o->head_bytes <= 1u << 30 &&
	    o->tail_bytes >= 4096 && o->tail_bytes <= 1u << 30 &&
	    o->timeout_ms < UINT64_MAX / NSEC_PER_MSEC / 2 &&
	    o->no_output_timeout_ms < UINT64_MAX / NSEC_PER_MSEC / 2 &&
	    o->stdin_end <= INT64_MAX && o->pty_eof <= o->stdin_end &&
	    o->limit_mask < 1u << CTL_LIMITS && o->umask <= 0777 &&
	    o->spill_max <= INT64_MAX && o->blob_at >= sizeof(*o) &&
	    o->blob_at <= CTL_MAX_BYTES &&
	    (o->shell_argc == 0 ||
	        (o->shell_argc < o->argc && o->path_count >= 2));
}

/* Copies the blob from the message or from the memfd beside it. */
static int
blob_copy(struct start_plan *plan, const struct ctl_msg *msg)
{
	size_t want = plan->order.blob_bytes, got = 0;
	ssize_t n;

	plan->blob = malloc(want);
	if (plan->blob == NULL)
		return -ENOMEM;
	if ((plan->order.flags & CTL_START_BLOB_FD) == 0) {
		if (msg->size != plan->order.blob_at + want)
			return -EPROTO;
		memcpy(plan->blob, msg->bytes + plan->order.blob_at, want);
		return 0;
	}
	if (msg->nfds != 1)
		return -EPROTO;
	while (got < want) {
		n = pread(msg->fds[0], plan->blob + got, want - got,
		    (off_t)got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPROTO;
		got += (size_t)n;
	}
	return 0;
}

/* The next string of the blob, or NULL where it does not end inside. */
static const char *
blob_next(const struct start_plan *plan, size_t *at)
{
	const char *s = plan->blob + *at;
	size_t left = plan->order.blob_bytes - *at;
	size_t len = strnlen(s, left);

	if (len == left)
		return NULL;
	*at += len + 1;
	return s;
}

/* Takes n strings that `ok` accepts into list, with a NULL after them. */
static int
blob_take(const struct start_plan *plan, size_t *at, const char **list,
    size_t n, bool (*ok)(const char *s))
{
	size_t i;

	for (i = 0; i < n; i++) {
		list[i] = blob_next(plan, at);
		if (list[i] == NULL || !ok(list[i]))
			return -EPROTO;
	}
	list[n] = NULL;
	return 0;
}

static bool
any_string(const char *s)
{
	return s != NULL;
}

/* KEY=value. */
static bool
is_variable(const char *s)
{
	const char *eq = strchr(s, '=');

	return eq != NULL && eq != s;
}

static bool
is_absolute(const char *s)
{
	return s[0] == '/';
}

/* Room for argv, envp, paths and the shell's argv. */
static int
plan_words(struct start_plan *plan)
{
	const struct ctl_start *o = &plan->order;
	size_t words = (size_t)o->argc + o->envc + o->path_count + 4;

	plan->words = calloc(words, sizeof(char *));
	plan->sh_argv = calloc((size_t)o->argc + 2, sizeof(char *));
	if (plan->words == NULL || plan->sh_argv == NULL)
		return -ENOMEM;
	plan->argv = plan->words;
	plan->direct =
	    o->shell_argc > 0 ? plan->argv + o->shell_argc + 1 : NULL;
	plan->envp = plan->argv + o->argc + 2;
	plan->paths = plan->envp + o->envc + 1;
	return 0;
}

/* Lays them over the blob, which they must fill exactly. */
static int
plan_strings(struct start_plan *plan)
{
	const struct ctl_start *o = &plan->order;
	uint32_t shell = o->shell_argc > 0 ? o->shell_argc : o->argc;
	size_t at = 0;
	uint32_t i;

	plan->cwd = blob_next(plan, &at);
	if (plan->cwd == NULL || !is_absolute(plan->cwd))
		return -EPROTO;
	if (blob_take(plan, &at, plan->argv, shell, any_string) != 0 ||
	    (plan->direct != NULL &&
	        blob_take(plan, &at, plan->direct, o->argc - shell,
	            any_string) != 0) ||
	    blob_take(plan, &at, plan->envp, o->envc, is_variable) != 0 ||
	    blob_take(plan, &at, plan->paths, o->path_count, is_absolute) != 0)
		return -EPROTO;
	if (o->spill_max > 0) {
		plan->spill = blob_next(plan, &at);
		if (plan->spill == NULL || !is_absolute(plan->spill))
			return -EPROTO;
	}
	if (at != o->blob_bytes)
		return -EPROTO;
	plan->sh_argv[0] = (char *)(uintptr_t) "/bin/sh";
	for (i = 1; i < shell; i++)
		plan->sh_argv[i + 1] = (char *)(uintptr_t)plan->argv[i];
	return 0;
}

int
start_plan_make(struct start_plan *plan, const struct ctl_msg *msg)
{
	int rc;

	memcpy(&plan->order, msg->bytes, sizeof(plan->order));
	if (!order_is_sane(&plan->order))
		return -EPROTO;
	rc = blob_copy(plan, msg);
	if (rc == 0)
		rc = plan_words(plan);
	if (rc == 0)
		rc = plan_strings(plan);
	return rc;
}
