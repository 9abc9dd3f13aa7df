/* SPDX-License-Identifier: MIT */
/*
 * Writes the keeper's state for its successor (save.h). Called by
 * steps.c, for the check before and for the exec itself. Changes
 * nothing.
 */
#include "supervisor/keeper/upgrade/save.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi.h"
#include "check.h"
#include "common/fault.h"

/* In a test of upgrades the next build's records are so much longer. */
#if defined(PSUP_LAYOUT_BUMP) && PSUP_LAYOUT_BUMP == 1
#define TAIL 24u
#else
#define TAIL 0u
#endif

enum { SECTIONS = 4 };

uint64_t
save_sum(const unsigned char *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325ull;

	while (n-- > 0)
		h = (h ^ *p++) * 0x100000001b3ull;
	return h;
}

/* The keeper itself. */
static void
put_core(const struct keeper *k, struct save_core *c)
{
	const struct keeper_options *o = k->opt;
	uint32_t i;

	*c = (struct save_core){ .incarnation = k->incarnation,
		.nofile_soft = k->nofile_soft,
		.core_soft = k->core_soft, .workers = k->workers,
		.max_sessions = k->max_sessions,
		.group_flags = k->group_flags, .orphans = k->orphans,
		.dir = k->dir, .lock = k->lock, .listener = k->listener,
		.listener_passed = k->listener_passed,
		.had_children = k->had_children,
		.log_level = LOG_PACK(o->log_level, o->log_format), .any_fs = o->any_fs,
		.hangup_ends = o->hangup_ends, .detached = o->detached,
		.log_given = (o->log_level_given ? SAVE_LOG_LEVEL : 0u) |
		    (o->log_format_given ? SAVE_LOG_FORMAT : 0u),
		.oom_adj = o->config.child_oom_score_adj,
		.grace_ms = o->config.grace_ms, .gid = o->config.group };
	memcpy(c->runtime_dir, o->runtime_dir, sizeof(c->runtime_dir));
	memcpy(c->config_path, o->config_path, sizeof(c->config_path));
	memcpy(c->group, k->group, sizeof(c->group));
	for (i = 0; i < HERITAGE_GROUPS; i++)
		c->group_lock[i] = k->group[i][0] != '\0' ? k->group_lock[i] :
							     -1;
	for (i = 0; i < PROGRAMS; i++) {
		c->program[i] = k->set[SET_NEW].fd[i];
		memcpy(c->path[i], k->set[SET_NEW].path[i],
		    sizeof(c->path[i]));
	}
}

/* Master or worker. */
static void
put_proc(const struct proc *p, struct save_proc *s)
{
	*s = (struct save_proc){ .role = (uint32_t)p->role, .wid = p->wid,
		.pid = p->pid, .pidfd = p->pidfd, .chan = p->chan,
		.todo = p->todo, .linked = p->linked,
		.fault_points = p->faults * 3, .restarts = p->restarts,
		.started_ns = p->started_ns };
}

/* A session. */
static void
put_row(const struct row *r, struct save_row *s)
{
	*s = (struct save_row){ .sid = r->sid, .spawner = r->spawner,
		.prev = r->prev, .owner = r->owner, .todo = r->todo,
		.pid = r->pid, .crashes = r->crashes,
		.spawned_ns = r->spawned_ns, .code = r->exit.code,
		.status = r->exit.status, .maxrss_kib = r->exit.maxrss_kib,
		.utime_us = r->exit.utime_us, .stime_us = r->exit.stime_us,
		.io_blocks = r->exit.io_blocks, .wall_ms = r->exit.wall_ms,
		.held_ns = r->held_ns, .by_header = r->by_header,
		.turn = r->turn };
	memcpy(s->fds, r->fds, sizeof(s->fds));
}

/* How far the upgrade is. */
static void
put_upgrade(const struct upgrade *u, struct save_upgrade *s)
{
	*s = (struct save_upgrade){ .id = u->id, .began_ns = u->began_ns,
		.sessions = u->sessions, .replaced = u->replaced };
	memcpy(s->from, u->from, sizeof(s->from));
	memcpy(s->to, u->to, sizeof(s->to));
}

/* Lays the sections out; returns the end of the last one. */
static uint64_t
lay_out(const struct keeper *k, struct save_section *s)
{
	const struct save_section all[SECTIONS] = {
		{ SAVE_CORE, sizeof(struct save_core) + TAIL, 1, 0, 0 },
		{ SAVE_PROC, sizeof(struct save_proc) + TAIL, 1 + k->slots, 0,
		    0 },
		{ SAVE_ROW, sizeof(struct save_row) + TAIL,
		    table_count(k->table), 0, 0 },
		{ SAVE_UPGRADE, sizeof(struct save_upgrade) + TAIL, 1, 0, 0 },
	};
	uint64_t at = sizeof(struct save_head) + sizeof(all);
	uint32_t i;

	for (i = 0; i < SECTIONS; i++) {
		s[i] = all[i];
		s[i].at = at;
		at += (uint64_t)s[i].record_bytes * s[i].count;
	}
	return at;
}

/* Record n of a section. */
static void *
record(unsigned char *map, const struct save_section *s, uint32_t n)
{
	CHECK(n < s->count);
	return map + s->at + (uint64_t)n * s->record_bytes;
}

/* Fills the mapped file. Records may lie anywhere: they are made aside. */
static void
fill(const struct keeper *k, unsigned char *map, uint64_t bytes,
    const struct save_section *s)
{
	struct save_head head = { .magic = SAVE_MAGIC,
		.stamp = abi_stamp(ABI_STATE), .head_bytes = sizeof(head),
		.bytes = bytes, .sections = SECTIONS };
	static struct save_core core;
	struct save_proc proc;
	struct save_row row;
	struct save_upgrade upgrade;
	uint32_t i, n = 0;

	memcpy(map + sizeof(head), s, SECTIONS * sizeof(*s));
	put_core(k, &core);
	memcpy(record(map, &s[0], 0), &core, sizeof(core));
	put_proc(&k->master, &proc);
	memcpy(record(map, &s[1], 0), &proc, sizeof(proc));
	for (i = 0; i < k->slots; i++) {
		put_proc(&k->slot[i], &proc);
		memcpy(record(map, &s[1], 1 + i), &proc, sizeof(proc));
	}
	for (i = 0; i < table_high(k->table); i++) {
		const struct row *r = table_at(k->table, i);

		if (r == NULL)
			continue;
		put_row(r, &row);
		memcpy(record(map, &s[2], n++), &row, sizeof(row));
	}
	put_upgrade(&k->upgrade, &upgrade);
	memcpy(record(map, &s[3], 0), &upgrade, sizeof(upgrade));
	head.sum = save_sum(map + sizeof(head), bytes - sizeof(head));
	memcpy(map, &head, sizeof(head));
}

int
save_state(const struct keeper *k)
{
	const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW |
	    F_SEAL_WRITE;
	struct save_section s[SECTIONS];
	uint64_t bytes = lay_out(k, s);
	unsigned char *map;
	int fd, error = 0;

	if (bytes > SAVE_BYTES_MAX)
		return -EFBIG;
	fd = memfd_create("psup-state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	/* allocated: a full memory is an error here, not a SIGBUS below */
	error = posix_fallocate(fd, 0, (off_t)bytes);
	map = error != 0 ? MAP_FAILED :
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (error == 0 && map == MAP_FAILED)
		error = errno;
	if (error == 0) {
		fill(k, map, bytes, s);
		FAULT("upgrade.in-save");
		(void)munmap(map, bytes);
		if (fcntl(fd, F_ADD_SEALS, seals) < 0)
			error = errno;
	}
	if (error == 0)
		return fd;
	(void)close(fd);
	return -error;
}
