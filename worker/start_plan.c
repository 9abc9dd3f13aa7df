/* SPDX-License-Identifier: MIT */
/*
 * See start_plan.h. The strings lie in one blob behind the message, or in a
 * memfd beside it where they are many: directory, argv, envp, paths, the spill
 * file.
 */
#include "worker/start_plan.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/shells.h"

#define BLOB_MAX  (8u << 20)
#define COUNT_MAX 65536u
/* "/bin/sh", the shell, its options, the command, NULL */
#define SHELLS_MAX  1024u
#define SHELL_WORDS (SHELL_OPTIONS_MAX + 4u)

void
start_plan_hang_up(struct start_plan *plan)
{
	size_t i;

	for (i = 0; i < 3; i++) {
		if (plan->child_end[i] >= 0)
			close(plan->child_end[i]);
		plan->child_end[i] = -1;
	}
}

void
start_plan_free(struct start_plan *plan)
{
	if (plan == NULL)
		return;
	start_plan_hang_up(plan);
	if (plan->box_fd >= 0)
		close(plan->box_fd);
	free(plan->blob);
	free(plan->words);
	free(plan->search.tries);
	free(plan->search.direct);
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
	    o->spill_max <= INT64_MAX && o->blob_at >= CTL_START_MIN &&
	    o->blob_at <= CTL_MAX_BYTES &&
	    ((o->flags & CTL_START_BOXED) == 0 || o->box_pid > 1) &&
	    (o->shell_argc == 0 ||
	        (o->shell_argc < o->argc && o->path_count >= 2)) &&
	    ((o->flags & CTL_START_SHELL) == 0 ||
	        (o->argc >= 2 && o->shell_argc == 0 &&
	            o->path_count <= SHELLS_MAX));
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
static char *
blob_next(const struct start_plan *plan, size_t *at)
{
	char *s = plan->blob + *at;
	size_t left = plan->order.blob_bytes - *at;
	size_t len = strnlen(s, left);

	if (len == left)
		return NULL;
	*at += len + 1;
	return s;
}

/* Takes n strings that `ok` accepts into list, with a NULL after them; NULL is
 * no list: they are left out. */
static int
blob_take(const struct start_plan *plan, size_t *at, char **list, size_t n,
    bool (*ok)(const char *s))
{
	size_t i;
	char *s;

	for (i = 0; i < n; i++) {
		s = blob_next(plan, at);
		if (s == NULL || !ok(s))
			return -EPROTO;
		if (list != NULL)
			list[i] = s;
	}
	if (list != NULL)
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

/* argv, envp, what is tried, and an argv for each shell. */
static size_t
word_count(const struct ctl_start *o)
{
	return (size_t)o->argc + o->envc + 3 +
	    ((o->flags & CTL_START_SHELL) != 0
	            ? (size_t)o->path_count * SHELL_WORDS
	            : 0);
}

/* Room for them. */
static int
plan_words(struct start_plan *plan)
{
	const struct ctl_start *o = &plan->order;

	plan->words = calloc(word_count(o), sizeof(char *));
	plan->search.tries = calloc((size_t)o->path_count + 1,
	    sizeof(*plan->search.tries));
	if (plan->words == NULL || plan->search.tries == NULL)
		return -ENOMEM;
	plan->argv = plan->words + 1;
	plan->envp = plan->argv + o->argc + 1;
	return 0;
}

/* What execs the command string `command` by the shell at `path`, into `argv`:
 * room for the script's shell, itself, its options, the string. */
static void
shell_argv(char **argv, const char *path, char *command)
{
	const char *const *opt = shell_options(path);
	size_t n = 2;

	for (; *opt != NULL; opt++)
		argv[n++] = (char *)(uintptr_t)*opt;
	argv[n++] = command;
	argv[n] = NULL;
}

/* The candidates, each with its argv. */
static int
plan_tries(struct start_plan *plan, size_t *at)
{
	static char sh[] = "/bin/sh";
	const struct ctl_start *o = &plan->order;
	bool shells = (o->flags & CTL_START_SHELL) != 0;
	char **room = plan->envp + o->envc + 1;
	uint32_t i, old = o->shell_argc != 0 ? 1 : 0;
	struct search_try *t = plan->search.tries;

	/* the direct program that an earlier master names is not tried */
	if (blob_take(plan, at, NULL, old, is_absolute) != 0)
		return -EPROTO;
	for (i = old; i < o->path_count; i++, t++) {
		t->path = blob_next(plan, at);
		if (t->path == NULL || !is_absolute(t->path))
			return -EPROTO;
		t->argv = shells ? room : plan->words;
		t->argv[0] = sh;
		if (!shells)
			continue;
		shell_argv(t->argv, t->path, plan->argv[o->argc - 1]);
		room += SHELL_WORDS;
	}
	plan->search.argv0 = shells ? NULL : plan->argv[0];
	plan->search.envp = plan->envp;
	return 0;
}

/* Lays them over the blob, which they must fill exactly. */
static int
plan_strings(struct start_plan *plan)
{
	const struct ctl_start *o = &plan->order;
	uint32_t argc = o->shell_argc > 0 ? o->shell_argc : o->argc;
	size_t at = 0;

	plan->cwd = blob_next(plan, &at);
	if (plan->cwd == NULL || !is_absolute(plan->cwd))
		return -EPROTO;
	if (blob_take(plan, &at, plan->argv, argc, any_string) != 0 ||
	    blob_take(plan, &at, NULL, o->argc - argc, any_string) != 0 ||
	    blob_take(plan, &at, plan->envp, o->envc, is_variable) != 0 ||
	    plan_tries(plan, &at) != 0)
		return -EPROTO;
	if (o->spill_max > 0) {
		plan->spill = blob_next(plan, &at);
		if (plan->spill == NULL || !is_absolute(plan->spill))
			return -EPROTO;
	}
	return at == o->blob_bytes ? 0 : -EPROTO;
}

/* The order without its blob, which an earlier master's reaches into. */
static void
order_copy(struct ctl_start *o, const struct ctl_msg *msg)
{
	uint32_t size;

	memset(o, 0, sizeof(*o));
	memcpy(o, msg->bytes, CTL_START_MIN);
	size = o->blob_at < sizeof(*o) ? o->blob_at : (uint32_t)sizeof(*o);
	if (size > CTL_START_MIN && size <= msg->size)
		memcpy(o, msg->bytes, size);
}

int
start_plan_make(struct start_plan *plan, const struct ctl_msg *msg)
{
	int rc;

	plan->box_fd = -1;
	order_copy(&plan->order, msg);
	if (!order_is_sane(&plan->order))
		return -EPROTO;
	rc = blob_copy(plan, msg);
	if (rc == 0)
		rc = plan_words(plan);
	if (rc == 0)
		rc = plan_strings(plan);
	if ((plan->order.flags & CTL_START_BOXED) != 0)
		return rc; /* what is plain out here may be a link in there */
	if (rc == 0 && (plan->order.flags & CTL_START_SHELL) != 0 &&
	    (plan->order.flags & CTL_START_DIRECT) != 0)
		plan->search.direct = direct_make(plan->cwd,
		    plan->argv[plan->order.argc - 1],
		    (const char *const *)plan->envp);
	return rc;
}

/* Where in the copy of the blob a string lies; one that is ours stays. */
static char *
moved(const struct start_plan *from, const struct start_plan *to,
    const char *s)
{
	uintptr_t at = (uintptr_t)s - (uintptr_t)from->blob;

	return s != NULL && at < from->order.blob_bytes
	    ? to->blob + at
	    : (char *)(uintptr_t)s;
}

struct start_plan *
start_plan_copy(const struct start_plan *plan, void *at, size_t room)
{
	const struct ctl_start *o = &plan->order;
	size_t words = word_count(o), tries = (size_t)o->path_count + 1, i;
	struct start_plan *to = at;

	if (sizeof(*to) + words * sizeof(char *) +
	        tries * sizeof(struct search_try) + o->blob_bytes > room)
		return NULL;
	*to = *plan;
	to->words = (char **)(to + 1);
	to->search.tries = (struct search_try *)(to->words + words);
	to->blob = (char *)(to->search.tries + tries);
	memcpy(to->blob, plan->blob, o->blob_bytes);
	for (i = 0; i < words; i++)
		to->words[i] = moved(plan, to, plan->words[i]);
	for (i = 0; i < tries; i++) {
		to->search.tries[i].path =
		    moved(plan, to, plan->search.tries[i].path);
		if (plan->search.tries[i].path != NULL)
			to->search.tries[i].argv = to->words +
			    (plan->search.tries[i].argv - plan->words);
	}
	to->argv = to->words + (plan->argv - plan->words);
	to->envp = to->words + (plan->envp - plan->words);
	to->search.envp = to->envp;
	to->search.argv0 = moved(plan, to, plan->search.argv0);
	to->cwd = moved(plan, to, plan->cwd);
	return to;
}
