/* SPDX-License-Identifier: MIT */
/*
 * How long ended sessions stay: the TTL by one timer to the next expiry, the
 * caps per scope, and what is taken back where a scope uses more than its share
 * (share.c): answered ones first, then those that were read, unread ones last.
 * A running session is never hurt. Nothing here walks over the sessions.
 *
 * Expiry goes by CLOCK_BOOTTIME for what ended under this master. For what
 * ended under an earlier one only the wall time of the end is known; a clock
 * that was set in between moves that expiry.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "common/check.h"
#include "common/cgroup.h"
#include "common/clock.h"
#include "common/log.h"
#include "supervisor/master.h"

#define NEARLY_FULL (1u << 20) /* of the tmpfs: nothing new starts below */
#define PLENTY      (64u << 20)
#define LOOKS       16u  /* ended sessions looked at for one that may go */
#define AGAIN_MS    1000u /* so long one stays that is in use when it expires */

/* When the session expires, by the boot clock. Of one that ended under an
 * earlier master only the wall time is known. */
static uint64_t
expiry_of(const struct session *s)
{
	uint64_t now = clock_boot_ns(), age, wall;

	if (s->facts.ended_ns != 0)
		return s->facts.ended_ns + s->wish.ttl_ms * NSEC_PER_MSEC;
	wall = clock_wall_ms();
	age = wall > s->facts.ended_ms ? wall - s->facts.ended_ms : 0;
	return age >= s->wish.ttl_ms
	    ? now
	    : now + (s->wish.ttl_ms - age) * NSEC_PER_MSEC;
}

/* Does a request still wait for its words? */
static bool
in_use(const struct session *s)
{
	return !LIST_EMPTY(&s->watches) || s->record.dirty ||
	    s->record.soon_ns != 0;
}

/* Order of expiry. */
int
sweep_cmp(const void *key, const struct rank_node *n)
{
	const struct session *a = key;
	const struct session *b = RANK_OWNER_C(n, struct session,
	    retention.expiry);

	if (a->retention.expires_ns != b->retention.expires_ns)
		return a->retention.expires_ns < b->retention.expires_ns ? -1
									 : 1;
	return a->id.sid.v < b->id.sid.v ? -1 : a->id.sid.v > b->id.sid.v;
}

/* The timer: forgets what has expired, so much at once. */
static void
on_sweep(int, short, void *arg)
{
	struct master *m = arg;
	uint64_t now = clock_boot_ns();
	struct rank_node *n;

	turn_begin(m);
	for (uint32_t i = 0; i < SHARE_UNIT &&
	     (n = rank_first(&m->expiring)) != NULL; i++) {
		struct session *s = RANK_OWNER(n, struct session,
		    retention.expiry);

		if (s->retention.expires_ns > now)
			break;
		if (!in_use(s)) {
			registry_forget(m, s);
			continue;
		}
		rank_erase(&m->expiring, n);
		s->retention.expires_ns = now + AGAIN_MS * NSEC_PER_MSEC;
		rank_insert(&m->expiring, n, s);
	}
	sweep_arm(m);
}

/* Arms the timer to the next expiry; none where nothing is kept. */
void
sweep_arm(struct master *m)
{
	struct rank_node *n = rank_first(&m->expiring);
	const struct session *s;
	uint64_t now = clock_boot_ns(), at;

	if (n == NULL)
		return;
	s = RANK_OWNER(n, struct session, retention.expiry);
	at = s->retention.expires_ns;
	timer_in(m, &m->sweep_timer, on_sweep, m,
	    at > now ? (at - now) / NSEC_PER_MSEC + 1 : 1);
}

/* ------------------------------------------------------------ kept lists */

/* Where an ended session stands among its scope's. */
static enum kept
kept_of(const struct session *s)
{
	if (!s->shown.backgrounded && s->shown.answered)
		return s->id.request_key[0] != '\0' ? KEPT_KEYED
						    : KEPT_ANSWERED;
	return s->retention.read ? KEPT_READ : KEPT_UNREAD;
}

/* Puts it on its list, as the youngest. */
static void
keep(struct session *s)
{
	CHECK(s->state == STATE_ENDED && s->retention.in_ended);
	s->retention.list = kept_of(s);
	s->retention.counts_finished = s->shown.backgrounded;
	s->retention.total = s->output.total;
	TAILQ_INSERT_TAIL(&s->share.room->kept[s->retention.list], s,
	    retention.link);
	s->share.room->share.loose[SHARE_OUTPUT] += s->share.lent[SHARE_OUTPUT];
	s->share.room->share.loose[SHARE_MEMORY] += s->share.lent[SHARE_MEMORY];
	s->share.room->answered += s->retention.list == KEPT_ANSWERED;
	s->share.room->finished += s->retention.counts_finished;
	s->share.room->finished_bytes +=
	    s->retention.counts_finished ? s->retention.total : 0;
}

/* Takes it off its list. */
static void
unkeep(struct session *s)
{
	const struct room *room = s->share.room;

	CHECK(s->retention.list < KEPT_KINDS);
	CHECK(room->answered >= (s->retention.list == KEPT_ANSWERED));
	CHECK(!s->retention.counts_finished || (room->finished > 0 &&
		room->finished_bytes >= s->retention.total));
	TAILQ_REMOVE(&s->share.room->kept[s->retention.list], s,
	    retention.link);
	s->share.room->share.loose[SHARE_OUTPUT] -= s->share.lent[SHARE_OUTPUT];
	s->share.room->share.loose[SHARE_MEMORY] -= s->share.lent[SHARE_MEMORY];
	s->share.room->answered -= s->retention.list == KEPT_ANSWERED;
	s->share.room->finished -= s->retention.counts_finished;
	s->share.room->finished_bytes -=
	    s->retention.counts_finished ? s->retention.total : 0;
}

/* Forgets the oldest of a list, but neither `newest` nor one in use, which goes
 * to the list's end. False: there is none, as far as was looked. */
static bool
forget_oldest(struct master *m, struct room *room, enum kept k,
    const struct session *newest)
{
	struct session *s;

	for (uint32_t i = 0; i < LOOKS &&
	     (s = TAILQ_FIRST(&room->kept[k])) != NULL; i++) {
		if (s != newest && !in_use(s)) {
			registry_forget(m, s);
			return true;
		}
		TAILQ_REMOVE(&room->kept[k], s, retention.link);
		TAILQ_INSERT_TAIL(&room->kept[k], s, retention.link);
	}
	return false;
}

/* Forgets the payer's first ended session: read ones before unread. */
bool
sweep_reclaim(void *arg, struct share_scope *payer)
{
	struct room *room = RANK_OWNER(payer, struct room, share);

	for (enum kept k = 0; k < KEPT_KINDS; k++)
		if (forget_oldest(arg, room, k, NULL)) {
			log_event(LOG_DEBUG, "session-evicted",
			    KV("scope", room->name),
			    KV("unread", k == KEPT_UNREAD));
			return true;
		}
	return false;
}

/* Is the scope over one of its caps? */
static bool
over_cap(const struct master *m, const struct room *room)
{
	return (m->cfg.finished != 0 && room->finished > m->cfg.finished) ||
	    (m->cfg.finished_bytes != 0 &&
		room->finished_bytes > m->cfg.finished_bytes);
}

/* Keeps one scope within its caps; the newest always stays. */
static void
cap(struct master *m, struct room *room, const struct session *newest)
{
	for (uint32_t i = 0; i < SHARE_MOST && over_cap(m, room) &&
	     (forget_oldest(m, room, KEPT_READ, newest) ||
		 forget_oldest(m, room, KEPT_UNREAD, newest)); i++)
		;
	for (uint32_t i = 0; i < LOOKS && room->answered > MASTER_RECENT &&
	     forget_oldest(m, room, KEPT_ANSWERED, newest); i++)
		;
}

/* A session has just ended, or was found ended at the start. */
void
sweep_ended(struct master *m, struct session *s)
{
	if (s->retention.in_ended)
		return;
	s->retention.in_ended = true;
	TAILQ_INSERT_TAIL(&m->ended, s, retention.ended_link);
	s->retention.expires_ns = expiry_of(s);
	rank_insert(&m->expiring, &s->retention.expiry, s);
	keep(s);
	cap(m, s->share.room, s);
	if (rank_first(&m->expiring) == &s->retention.expiry)
		sweep_arm(m);
}

/* It is being forgotten. */
void
sweep_gone(struct master *m, struct session *s)
{
	if (!s->retention.in_ended)
		return;
	TAILQ_REMOVE(&m->ended, s, retention.ended_link);
	rank_erase(&m->expiring, &s->retention.expiry);
	unkeep(s);
	s->retention.in_ended = false;
}

/* Its result has reached a client: it goes before those that nobody has
 * read. */
void
sweep_read(struct master *m, struct session *s)
{
	if (!s->retention.in_ended ||
	    (s->retention.read && s->retention.list == kept_of(s)))
		return;
	s->retention.read = true;
	session_touch_soon(m, s); /* no answer waits for that */
	unkeep(s);
	keep(s);
	cap(m, s->share.room, s);
}

/* --------------------------------------------------------------- asking */

/* Has the runtime directory's file system room for another session? Where it
 * has plenty that holds for the turn. */
static bool
fs_is_full(struct master *m)
{
	struct statfs fs;
	uint64_t bytes;

	if (m->space_seen_ns == m->turn_began_ns)
		return false;
	if (fstatfs(m->dirfd, &fs) < 0 || fs.f_blocks == 0)
		return false;
	bytes = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
	if (bytes >= PLENTY)
		m->space_seen_ns = m->turn_began_ns;
	return bytes < NEARLY_FULL;
}

/* May this session start? */
int
sweep_admit(struct master *m, struct session *s, struct proto_problem *why)
{
	int r = room_for(s, STATE_STARTING, why);

	for (uint32_t i = 0; r == 0 && fs_is_full(m); i++) {
		if (i < SHARE_MOST && share_squeeze(&m->rooms.shares,
			&s->share.room->share, SHARE_OUTPUT))
			continue;
		if (why != NULL)
			proto_problem_set(why, PROTO_E_NO_SPACE, "",
			    "no space: less than 1 MiB is left in %s",
			    m->h.runtime_dir);
		r = -ENOSPC;
	}
	return r;
}

/* The index is full: output makes some room beside it. */
void
sweep_squeeze(struct master *m)
{
	struct shares *sh = &m->rooms.shares;

	for (uint32_t i = 0; i < SHARE_UNIT &&
	     sweep_used(m) > m->budget - m->budget / 4 &&
	     share_squeeze(sh, NULL, SHARE_OUTPUT); i++)
		;
}

/* Bytes of output memory that are lent. */
uint64_t
sweep_used(const struct master *m)
{
	return m->rooms.shares.row[SHARE_OUTPUT].used;
}

/* A number in a file, or UINT64_MAX ("max", or no such file). */
static uint64_t
number_in(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned long long v;
	int n;

	if (f == NULL)
		return UINT64_MAX;
	n = fscanf(f, "%llu", &v);
	fclose(f);
	return n == 1 ? v : UINT64_MAX;
}

/* The least that our own control group, or one above it, allows. */
static uint64_t
memory_allowed(enum cgroup_hierarchy which, const char *file)
{
	char path[CGROUP_PATH_MAX], name[CGROUP_PATH_MAX + 40];
	uint64_t least = UINT64_MAX, v;
	char *slash;

	if (cgroup_own_path(which, path, sizeof(path)) < 0)
		return least;
	do {
		snprintf(name, sizeof(name), "%s/%s", path, file);
		v = number_in(name);
		if (v < least)
			least = v;
		slash = strrchr(path, '/');
		if (slash != NULL)
			*slash = '\0';
	} while (slash != NULL && slash != path);
	return least;
}

/* The output budget: as configured, else a quarter of what the tmpfs and the
 * memory cgroup allow. */
void
sweep_budget(struct master *m)
{
	struct statfs fs;
	uint64_t room = UINT64_MAX, cg;

	if (m->cfg.output_budget != 0) {
		m->budget = m->cfg.output_budget;
	} else {
		if (fstatfs(m->dirfd, &fs) == 0 && fs.f_blocks != 0)
			room = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize;
		cg = memory_allowed(CGROUP_UNIFIED, "memory.max");
		if (cg < room)
			room = cg;
		cg = memory_allowed(CGROUP_MEMORY, "memory.limit_in_bytes");
		if (cg < room)
			room = cg;
		m->budget = room == UINT64_MAX ? 1ull << 30 : room / 4;
	}
	SET_RELAXED(m->board.hdr->budget_bytes, m->budget);
	rooms_configure(m);
}
