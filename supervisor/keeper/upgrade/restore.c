/* SPDX-License-Identifier: MIT */
/*
 * Reads what a predecessor left (save.h): for a check, in a process of
 * its own before anything is changed, and after the exec, for good. Everything
 * is bounded and checked before it is used.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "abi.h"
#include "common/fault.h"
#include "common/format.h"
#include "supervisor/keeper/upgrade/save.h"

/* A state that lies mapped. */
struct state {
	const unsigned char *map;
	uint64_t bytes;
	struct save_section section[SAVE_SECTIONS];
	uint32_t sections;
	bool check;
	char *why;
	size_t why_size;
};

/* Says what is wrong and with which field. */
static int
refuse(const struct state *st, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static int
refuse(const struct state *st, const char *fmt, ...)
{
	(void)FORMATTED(st->why, st->why_size, fmt);
	return -EPROTO;
}

/* Head, sum and the bounds of every section. */
static int
check_head(struct state *st)
{
	struct save_head h;
	const struct save_section *s;
	uint32_t i;

	memcpy(&h, st->map, sizeof(h));
	if (h.magic != SAVE_MAGIC)
		return refuse(st, "the state has no magic");
	if (!abi_reads(ABI_STATE, h.stamp)) {
		abi_refusal(ABI_STATE, h.stamp, st->why, st->why_size);
		return -EPROTO;
	}
	if (h.bytes != st->bytes || h.head_bytes < sizeof(h) ||
	    h.sections == 0 || h.sections > SAVE_SECTIONS ||
	    h.head_bytes + h.sections * sizeof(*s) > st->bytes)
		return refuse(st, "the state's head: %llu bytes, head of %u, "
		    "%u sections; the file has %llu bytes",
		    (unsigned long long)h.bytes, h.head_bytes, h.sections,
		    (unsigned long long)st->bytes);
	if (save_sum(st->map + sizeof(h), st->bytes - sizeof(h)) != h.sum)
		return refuse(st, "the state's sum is wrong");
	st->sections = h.sections;
	memcpy(st->section, st->map + h.head_bytes, h.sections * sizeof(*s));
	for (i = 0; i < h.sections; i++) {
		s = &st->section[i];
		if (s->record_bytes > 65536 || s->at > st->bytes ||
		    (uint64_t)s->record_bytes * s->count > st->bytes - s->at)
			return refuse(st, "section %u of the state: %u records "
			    "of %u bytes at %llu", s->kind, s->count,
			    s->record_bytes, (unsigned long long)s->at);
	}
	return 0;
}

/* The section of a kind, or NULL. */
static const struct save_section *
find(const struct state *st, enum save_kind kind)
{
	uint32_t i;

	for (i = 0; i < st->sections; i++) {
		if (st->section[i].kind == kind)
			return &st->section[i];
	}
	return NULL;
}

/* Record n, as much of it as there is; the rest is 0. */
static void
take(const struct state *st, const struct save_section *s, uint32_t n,
    void *ret, size_t size)
{
	memset(ret, 0, size);
	memcpy(ret, st->map + s->at + (uint64_t)n * s->record_bytes,
	    s->record_bytes < size ? s->record_bytes : size);
}

/* Is that descriptor one of ours, or just a number? */
static bool
fd_ok(const struct state *st, int fd)
{
	return fd >= KEEPER_FD_FREE && (st->check || fcntl(fd, F_GETFD) >= 0);
}

/* A text that ends within its field; `path`: an absolute one. */
static bool
text_ok(const char *s, size_t size, bool path)
{
	return memchr(s, 0, size) != NULL && (!path || s[0] == '/');
}

/* The keeper itself. */
static int
take_core(struct state *st, struct keeper *k)
{
	static struct save_core c;
	const struct save_section *s = find(st, SAVE_CORE);
	uint32_t i;

	if (s == NULL || s->count != 1)
		return refuse(st, "the state has no keeper");
	take(st, s, 0, &c, sizeof(c));
	if (c.workers < 1 || c.workers > KEEPER_WORKERS_MAX)
		return refuse(st, "workers: %u, not in 1..%u", c.workers,
		    KEEPER_WORKERS_MAX);
	if (c.max_sessions < 1 || c.max_sessions > KEEPER_ROWS_MAX)
		return refuse(st, "sessions: %u, not in 1..%u",
		    c.max_sessions, KEEPER_ROWS_MAX);
	if (c.incarnation == 0)
		return refuse(st, "incarnation: 0");
	if (!fd_ok(st, c.dir) || !fd_ok(st, c.lock) || !fd_ok(st, c.listener))
		return refuse(st, "a descriptor is not open: directory %d, "
		    "lock %d, socket %d", c.dir, c.lock, c.listener);
	if (!text_ok(c.runtime_dir, sizeof(c.runtime_dir), true) ||
	    !text_ok(c.config_path, sizeof(c.config_path), false))
		return refuse(st, "a path does not end");
	for (i = 0; i < PROGRAMS; i++) {
		if (!text_ok(c.path[i], PATH_MAX, true) ||
		    !fd_ok(st, c.program[i]))
			return refuse(st, "program %u is not there", i);
		memcpy(k->set[SET_OLD].path[i], c.path[i], PATH_MAX);
		k->set[SET_OLD].fd[i] = c.program[i];
	}
	for (i = 0; i < HERITAGE_GROUPS; i++) {
		if (!text_ok(c.group[i], sizeof(c.group[i]), false) ||
		    (c.group_lock[i] >= 0 && !fd_ok(st, c.group_lock[i])))
			return refuse(st, "control group %u is not there", i);
		memcpy(k->group[i], c.group[i], sizeof(k->group[i]));
		k->group_lock[i] = c.group_lock[i];
	}
	k->incarnation = c.incarnation;
	k->nofile_soft = c.nofile_soft;
	k->core_soft = c.core_soft;
	k->workers = c.workers;
	k->slots = c.workers + 1;
	k->max_sessions = c.max_sessions;
	k->group_flags = c.group_flags;
	k->orphans = c.orphans;
	k->had_children = c.had_children != 0;
	k->dir = c.dir;
	k->lock = c.lock;
	k->listener = c.listener;
	k->listener_passed = c.listener_passed != 0;
	k->opt->log_level = LOG_LEVEL_OF(c.log_level) <= LOG_DEBUG ?
		LOG_LEVEL_OF(c.log_level) : LOG_NOTE;
	k->opt->log_format = LOG_FORMAT_OF(c.log_level) == LOG_JSON ?
		LOG_JSON : LOG_LOGFMT;
	k->opt->log_level_given = (c.log_given & SAVE_LOG_LEVEL) != 0;
	k->opt->log_format_given = (c.log_given & SAVE_LOG_FORMAT) != 0;
	k->opt->any_fs = c.any_fs != 0;
	k->opt->hangup_ends = c.hangup_ends != 0;
	k->opt->detached = c.detached != 0;
	k->opt->config.workers = c.workers;
	k->opt->config.child_oom_score_adj = c.oom_adj != 0;
	k->opt->config.grace_ms = c.grace_ms;
	k->opt->config.group = c.gid;
	memcpy(k->opt->runtime_dir, c.runtime_dir, sizeof(c.runtime_dir));
	memcpy(k->opt->config_path, c.config_path, sizeof(c.config_path));
	return 0;
}

/* Master or worker. */
static int
take_proc(struct state *st, struct proc *p, const struct save_section *sec,
    uint32_t n, uint32_t slot)
{
	struct save_proc s;

	take(st, sec, n, &s, sizeof(s));
	if (s.pid <= 1 || !fd_ok(st, s.pidfd) || !fd_ok(st, s.chan) ||
	    s.wid.slot != slot || s.wid.generation == 0 ||
	    (n == 0 ? s.role != HERITAGE_MASTER :
		      s.role != HERITAGE_WORKER && s.role != HERITAGE_STANDBY))
		return refuse(st, "process %u: role %u, slot %u.%u, pid %d, "
		    "descriptors %d and %d", n, s.role, s.wid.slot,
		    s.wid.generation, s.pid, s.pidfd, s.chan);
	*p = (struct proc){ .role = (enum heritage_role)s.role, .wid = s.wid,
		.state = PROC_READY, .pid = s.pid, .pidfd = s.pidfd,
		.chan = s.chan,
		/* a worker is told what this keeper can */
		.todo = (s.todo & TODO_KEPT) | (n > 0 ? TODO_ROLE : 0u),
		.linked = s.linked, .peer_fd = -1, .master_fd = -1,
		.faults = s.fault_points / 3, .restarts = s.restarts,
		.started_ns = s.started_ns, .next_start_ns = NEVER };
	return 0;
}

/* Everybody. */
static int
take_procs(struct state *st, struct keeper *k)
{
	const struct save_section *s = find(st, SAVE_PROC);
	uint32_t i;
	int r;

	if (s == NULL || s->count != 1 + k->slots)
		return refuse(st, "processes: %u, not %u",
		    s != NULL ? s->count : 0, 1 + k->slots);
	r = take_proc(st, &k->master, s, 0, 0);
	for (i = 0; r == 0 && i < k->slots; i++)
		r = take_proc(st, &k->slot[i], s, 1 + i, i);
	return r;
}

/* One session. */
static int
take_row(struct state *st, struct keeper *k, const struct save_row *s)
{
	struct row *r;
	uint32_t i;

	for (i = 0; i < TABLE_FDS; i++) {
		if (s->fds[i] >= 0 && !fd_ok(st, s->fds[i]))
			return refuse(st, "session %llu: descriptor %d is not "
			    "open", (unsigned long long)s->sid.v, s->fds[i]);
	}
	if (s->owner >= k->slots || s->pid < 0 || s->pid == 1 ||
	    (s->pid > 0 && table_find_pid(k->table, s->pid) != NULL))
		return refuse(st, "session %llu: slot %u, pid %d",
		    (unsigned long long)s->sid.v, s->owner, s->pid);
	r = table_add(k->table, s->sid, s->spawner);
	if (r == NULL)
		return refuse(st, "session %llu is there twice, or one too "
		    "many", (unsigned long long)s->sid.v);
	if (s->pid != 0)
		table_set_pid(k->table, r, s->pid);
	table_set_owner(k->table, r, s->owner);
	table_mark(k->table, r, s->todo & (ROW_GIVE | ROW_TELL));
	memcpy(r->fds, s->fds, sizeof(r->fds));
	r->prev = s->prev;
	r->crashes = s->crashes;
	r->spawned_ns = s->spawned_ns;
	r->held_ns = s->held_ns;
	r->turn = s->turn;
	r->by_header = s->by_header != 0;
	r->exit = (struct ctl_exit){ .code = s->code, .status = s->status,
		.pid = s->pid, .maxrss_kib = s->maxrss_kib,
		.utime_us = s->utime_us, .stime_us = s->stime_us,
		.io_blocks = s->io_blocks, .wall_ms = s->wall_ms };
	return 0;
}

/* All sessions. */
static int
take_rows(struct state *st, struct keeper *k)
{
	const struct save_section *s = find(st, SAVE_ROW);
	struct save_row row;
	uint32_t i;
	int r = 0;

	if (s == NULL || s->count > k->max_sessions)
		return refuse(st, "sessions: %u, more than %u",
		    s != NULL ? s->count : 0, k->max_sessions);
	k->table = table_new(k->max_sessions);
	if (k->table == NULL) {
		(void)refuse(st, "no memory for %u sessions", s->count);
		return -ENOMEM;
	}
	for (i = 0; r == 0 && i < s->count; i++) {
		take(st, s, i, &row, sizeof(row));
		r = take_row(st, k, &row);
	}
	return r;
}

/* What is left to be told of the upgrade. */
static int
take_upgrade(struct state *st, struct keeper *k)
{
	const struct save_section *s = find(st, SAVE_UPGRADE);
	struct save_upgrade u;

	if (s == NULL || s->count != 1)
		return refuse(st, "the state has no upgrade");
	take(st, s, 0, &u, sizeof(u));
	if (!text_ok(u.from, sizeof(u.from), false) ||
	    !text_ok(u.to, sizeof(u.to), false))
		return refuse(st, "a build's name does not end");
	k->upgrade.id = u.id;
	k->upgrade.began_ns = u.began_ns;
	k->upgrade.sessions = u.sessions;
	k->upgrade.replaced = u.replaced;
	memcpy(k->upgrade.from, u.from, sizeof(u.from));
	memcpy(k->upgrade.to, u.to, sizeof(u.to));
	return 0;
}

int
restore_state(struct keeper *k, int fd, bool check, char *why, size_t size)
{
	struct state st = { .check = check, .why = why, .why_size = size };
	struct stat sb;
	void *map;
	int r;

	if (fstat(fd, &sb) < 0)
		return refuse(&st, "no state: %s", strerror(errno));
	if (sb.st_size < (off_t)sizeof(struct save_head) ||
	    sb.st_size > (off_t)SAVE_BYTES_MAX)
		return refuse(&st, "the state has %lld bytes",
		    (long long)sb.st_size);
	st.bytes = (uint64_t)sb.st_size;
	map = mmap(NULL, st.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return refuse(&st, "the state cannot be mapped: %s",
		    strerror(errno));
	st.map = map;
	r = check_head(&st);
	if (r == 0)
		r = take_core(&st, k);
	if (r == 0)
		r = take_procs(&st, k);
	FAULT("upgrade.in-restore"); /* of the check first */
	if (r == 0)
		r = take_rows(&st, k);
	if (r == 0)
		r = take_upgrade(&st, k);
	(void)munmap(map, st.bytes);
	return r;
}
