/* SPDX-License-Identifier: MIT */
/*
 * A session as the master knows it, and all that becomes of one: found, moved
 * from state to state, told of by keeper, worker and ring, put on record,
 * shown, ended, forgotten. What it is made of: fields.h.
 */
#ifndef PSUP_SUPERVISOR_SESSION_SESSION_H
#define PSUP_SUPERVISOR_SESSION_SESSION_H

#include <sys/queue.h>
#include <sys/tree.h>

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/codec.h"
#include "common/ctl.h"
#include "common/ids.h"
#include "common/keys.h"
#include "common/proto.h"
#include "common/slug.h"
#include "shm/layout.h"
#include "shm/ring.h"
#include "supervisor/session/fields.h"
#include "supervisor/words/sbuf.h"

struct event;
struct master;
struct req;
struct worker;

/* Which session an event of the log is about. */
#define KV_SESSION(s) KV("session", (s)->id.sid.v), KV("slug", (s)->id.slug)

RB_HEAD(slug_tree, session);
LIST_HEAD(pid_list, session);

/* A request key's owner. */
struct keyed {
	RB_ENTRY(keyed) by_key;
	struct session *s;
	size_t len;
	char key[]; /* scope NUL key, as in the index */
};
RB_HEAD(key_tree, keyed);

/* ----------------------------------------------------------- registry.c */
struct session *session_by_sid(struct master *m, struct sid sid);
struct session *session_by_slug(struct master *m, const char *slug);
/* Whose command has this pid: the live one, else one that ended, or NULL. */
struct session *session_by_pid(struct master *m, int32_t pid);
/* Slug or instance id, as a connection of `scope` (NULL: admin) sees it. */
struct session *session_find(struct master *m, const char *scope,
    const char *name);
/* Of an instance id, or of its number alone in 16 digits, or NULL.
 * Today's keeper stands for each one's own: marks and rows of the board have it.
 */
struct session *session_by_instance(struct master *m, const char *id);
/* What a ring says of who asked for it (ring_header's `request`), and the key, to be
 * freed, of a session of which nothing else is known. NULL: no memory. */
uint64_t request_hash(const char *scope, const char *key);
char *request_adopted(uint64_t request);
/* The owner of a request key, be it known from its ring alone, or NULL. */
struct session *session_by_key(struct master *m, const char *scope,
    const char *key);
/* All of them, in order of instance id. */
struct session *registry_first(struct master *m);
struct session *registry_next(struct master *m, const struct session *s);
struct session *registry_before(struct master *m, const struct session *s);
/* The oldest one younger than `sid`, which may be gone: for walks that end
 * sessions, which may evict others. */
struct session *registry_after(struct master *m, struct sid sid);
/* A slug that nobody has. */
void registry_slug(struct master *m, struct sid sid, char ret[SLUG_MAX]);
/* Into the trees; `s` has sid, scope, request_key; an empty slug is made. */
int registry_add(struct master *m, struct session *s);
/* facts.pid was set. */
void registry_pid(struct master *m, struct session *s);
/* Its request key is free again. */
void registry_drop_key(struct master *m, struct session *s);
/* Out of everything: ring, spool, record, keys, cursors, board. Its memory is
 * there until over_free(); twice is as good as once. */
void registry_forget(struct master *m, struct session *s);
/* Out of the trees and freed; index and files stay (the master ends). */
void registry_drop(struct master *m, struct session *s);

/* --------------------------------------------------------------- make.c */
/* One of which nothing is known yet, for a record. NULL: no memory. */
struct session *session_new(void);
/* One that is so, without a state: takes the texts, all of which but
 * spill_path are to be there, also where it fails. NULL: no memory. */
struct session *session_make(struct session_id *id, struct session_wish *wish);
/* It is not made after all. */
void session_unmake(struct session_id *id, struct session_wish *wish);
/* It is in no tree and no list. */
void session_free(struct session *s);
/* It is called so, and not as its record or the board has it. */
void session_name(struct session *s, const char slug[SLUG_MAX]);
/* It was made under this keeper; its record did not say. */
void session_of_keeper(struct session *s, uint64_t incarnation);
/* Its output is somebody's stream: its background lifts the credit. */
void session_streams(struct master *m, struct session *s);

/* ------------------------------------------------------------ session.c */
bool session_may_move(uint32_t from, uint32_t to);
void session_set_state(struct master *m, struct session *s, uint32_t state,
    const char *why);
static inline bool
session_live(const struct session *s)
{
	return s->state != STATE_ENDED && !s->over.forgotten;
}
/* Made by this master for its boxes, and nobody's business? */
static inline bool
session_is_ours(const struct session *s)
{
	return s->wish.host == HOST_BOX || s->wish.host == HOST_SETUP;
}

/* Is it in a box, or one? */
static inline bool
session_has_box(const struct session *s)
{
	return s->wish.host == HOST_SANDBOX || session_is_ours(s);
}
/* May it still need its spec? */
static inline bool
session_is_before_start(const struct session *s)
{
	return s->state == STATE_QUEUED || s->state == STATE_STARTING;
}
/* Queued or admitted, by its lane. -ENOSPC-like verdicts as proto errors. */
int session_admit(struct master *m, struct session *s,
    struct proto_problem *why);
/* Starts what the lanes let through now. */
void session_pump_lanes(struct master *m);
void session_background(struct master *m, struct session *s);
/* It never ran, and nobody has it: another start, or the end where that is asked
 * for. Whoever comes back without a try of a worker has all its tries left. */
void session_again(struct master *m, struct session *s);
/* The same where its worker died: `in_hand`, while that was starting it. */
void session_again_after(struct master *m, struct session *s, bool in_hand);
/* That worker could not spawn it, though it paused and tried again itself: has
 * another one a turn? */
bool session_may_again(struct session *s, struct wid tried);
void session_wake(struct master *m, struct session *s, unsigned wake);
/* Its instance id as everybody spells it, for as long as it is known, under
 * later keepers too: INCARNATION.NUMBER. */
#define SESSION_INSTANCE_MAX 40
void session_instance(const struct session *s, char ret[SESSION_INSTANCE_MAX]);

/* -------------------------------------------------------- end.c */
/* The status word of the behaviour, from reason and code. */
uint32_t session_status_of(uint32_t reason, int32_t exit_code);
/* Asks for the end: by order, or at once where it has not been given away.
 * flags: enum ctl_kill_flags. */
void session_kill(struct master *m, struct session *s, int sig,
    uint32_t grace_ms, uint32_t reason, uint32_t flags);
/* Only the order, to whoever has it. */
void session_order_kill(struct master *m, struct session *s, int sig,
    uint32_t grace_ms, uint32_t reason, uint32_t flags);
/* Did an ended session leave processes that a kill can reach? */
static inline bool
session_has_left(const struct session *s)
{
	return !session_live(s) && custody_has(&s->custody) &&
	    (s->facts.holders > 0 || s->facts.remaining > 0);
}
/* The stop ladder for these. */
void session_kill_left(struct master *m, struct session *s, int sig,
    uint32_t grace_ms, uint32_t flags);
/* LEFT has said what became of that. */
void session_killed_left(struct session *s);
void session_kill_is_of(struct session *s, const char *scope);
/* The end by this master's own decision (never ran, lost, cancelled). */
void session_end_here(struct master *m, struct session *s, uint32_t reason,
    const char *why);
/* No row and no worker speaks of it: what the ring's header says, or lost. */
void session_end_by_ring(struct master *m, struct session *s);
/* The end, once reason, exit and times are in *s: it gives its places back, which
 * the next request of the same turn may ask for. What else follows comes with
 * session_ends_drain(). */
void session_ended(struct master *m, struct session *s, const char *why);
/* What ends bring about: their events, retention and wakes, then what is hidden is
 * forgotten, who waits in vain ends, and whose turn has come starts; until none
 * is left. Before each commit, and after a unit, when no function below holds a
 * session. */
void session_ends_drain(struct master *m);
/* That of one alone, which is to be forgotten. */
void session_end_take(struct master *m, struct session *s);
/* Was it refused by its child, which found no such directory, or since there is
 * no box for it, before anybody was told of it? Its exec is answered so, and it is
 * forgotten. A directory that did not answer may be there. */
static inline bool
session_never_was(const struct session *s)
{
	return s->facts.reason == END_SPAWN_ERROR &&
	    ((s->facts.stage == STAGE_CHDIR &&
		 abs(s->facts.error) != ETIMEDOUT) ||
		s->facts.stage == STAGE_BOX) &&
	    !s->shown.answered;
}
/* Exit events that found no room are tried again. */
void session_events_due(struct master *m);

/* -------------------------------------------------------------- facts.c */
void facts_begin(struct session *s);
void facts_pid(struct master *m, struct session *s, int32_t pid);
void facts_running(struct master *m, struct session *s,
    const struct ctl_running *msg);
/* It was not spawned, or not taken over. `path`: where it hung, or NULL. */
void facts_failed(struct session *s, int32_t error, uint32_t stage,
    const char *path);
/* Its root's exit, as waitid tells it. */
void facts_exited(struct session *s, int32_t code, int32_t status);
void facts_end(struct master *m, struct session *s, const struct ctl_end *msg);
/* Its box ended, and it with that. */
void facts_lost(struct session *s);
/* Fewer are left of those that outlived its end. */
void facts_left(struct session *s, const struct ctl_left *msg);
/* It ends now, by this master. */
void facts_here(struct session *s, uint32_t reason);
/* What its ring's header says. True: of its end, too. */
bool facts_by_ring(struct session *s, const struct ring_header *h);
/* It has ended. */
void facts_over(struct session *s, uint32_t status);

/* ------------------------------------------------------- recv.c */
void session_on_running(struct master *m, struct worker *w,
    const struct ctl_running *msg);
void session_on_failed(struct master *m, struct worker *w,
    const struct ctl_failed *msg);
void session_on_exited(struct master *m, struct worker *w,
    const struct ctl_exited *msg);
void session_on_end(struct master *m, struct worker *w,
    const struct ctl_end *msg);
void session_on_input(struct master *m, struct worker *w,
    const struct ctl_input *msg);
void session_on_left(struct master *m, struct worker *w,
    const struct ctl_left *msg);

/* --------------------------------------------------------------- news.c */
void news_started(struct master *m, struct session *s);
/* Its worker says when it will be ended, or 0: arms the warning, once. */
void news_deadline(struct master *m, struct session *s, uint64_t at_ms);
void news_deadline_off(struct session *s);
/* `sessions` of its go on under another one. */
void news_worker_down(struct master *m, const struct ctl_peer *msg,
    uint64_t sessions);

/* -------------------------------------------------------------- shown.c */
/* A new one, to nobody. */
void shown_begin(struct session *s);
/* The request that began it has no say any more. True: for the first time. */
bool shown_background(struct session *s);
/* That request has been answered. */
void shown_answered(struct master *m, struct session *s);
/* Its exit event is written. */
void shown_notified(struct session *s);
/* It has ended in the foreground, and its client may want to see more of it: it
 * is kept as one of the background, whose end was told. */
void shown_keep(struct master *m, struct session *s);
/* To nobody from now on, though it is not gone yet. */
void shown_hide(struct master *m, struct session *s);
/* Its slot of the board is free. */
void shown_gone(struct master *m, struct session *s);
/* Its slot says how it is. */
void board_show(struct master *m, struct session *s);
int shown_open(struct master *m); /* 0 or -ENOMEM */
void shown_take(struct master *m); /* once all are known */

/* Its row of list is not as it was (words/row_kept.c). */
void row_drop(struct session *s);

/* ------------------------------------------------------------- record.c */
/* The record and the board slot are written at the end of this turn. */
void session_touch(struct master *m, struct session *s);
/* The same, within SOON_MS: of what its worker would say again, and nobody was
 * told, or what only orders retention. What ends until then is written once. */
void session_touch_soon(struct master *m, struct session *s);
/* Before a commit: for whom it is time; starts are counted with what records
 * them, so that neither is without the other; */
void record_due(struct master *m);
/* after it: what was to be written is. */
void record_committed(struct master *m, struct session *s);
/* There is none of it yet, but by the end of this turn. */
void record_new(struct master *m, struct session *s);
/* It takes what START needs; ... */
void record_spec(struct session *s, struct spec *spec);
/* ... which nobody needs any more, ... */
void record_spec_drop(struct session *s);
/* ... since its command has begun to run: that is to be counted. */
void record_started(struct session *s);
/* It is forgotten: nothing of it is to be written. */
void record_gone(struct master *m, struct session *s);
void record_encode(const struct session *s, struct enc *e);
/* A new session from a record; NULL: does not decode. */
struct session *record_decode(const void *data, size_t size);
void spec_encode(const struct spec *sp, struct enc *e);
struct spec *spec_decode(const void *data, size_t size);
void spec_free(struct spec **sp);
int record_write(struct master *m, struct session *s);
int spec_write(struct master *m, struct session *s);
/* Makes sure s->spec is there. -ENOENT, -ENOMEM */
int spec_load(struct master *m, struct session *s);
int key_write(struct master *m, struct session *s);

/* ------------------------------------------------------------ readers.c */
struct ring_reader *readers_get(struct master *m, struct sid sid);
/* The same; a session that waits to start has none. */
static inline struct ring_reader *
readers_of(struct master *m, const struct session *s)
{
	return s->state != STATE_QUEUED ? readers_get(m, s->id.sid) : NULL;
}
const char *readers_fault(struct master *m, const struct session *s);
void readers_forget(struct master *m, struct sid sid);
void readers_close(struct master *m);

/* ------------------------------------------------------------- output.c */
/* The ring was read, and this is the position after its newest byte. */
void output_head(struct session *s, uint64_t head);
/* It writes no more: so many bytes in all, lost for want of space, kept. */
void output_ended(struct session *s, uint64_t total, uint64_t dropped_nospace,
    uint64_t ring_bytes);
/* The tmpfs is full. True: for the first time. */
bool output_no_space(struct session *s);
/* Has the worker say when there is output beyond a position; ... */
void output_watch(struct master *m, struct session *s, uint64_t pos);
/* ... it has, or is not the one that was asked. */
void output_unwatched(struct session *s);
/* The tail field, cleaned, into b. head_known: output.total was just read
 * from the ring. */
void session_tail(struct master *m, struct session *s, struct sbuf *b,
    size_t max, bool head_known);

/* -------------------------------------------------------------- stdin.c */
/* A record or a ring's header says what was accepted; the spool's own length,
 * what is there where no worker was told any more. */
void stdin_loaded(struct session *s);
void stdin_found(struct master *m, struct session *s,
    const struct ring_header *h);
/* Into the spool: accepted once the index says so. 0 or -errno. */
int stdin_append(struct master *m, struct session *s, const char *data,
    size_t n);
/* The last `n` bytes are not given to it after all. */
void stdin_take_back(struct session *s, uint64_t n);
/* What is accepted is all. */
void stdin_eof(struct session *s);
/* It has closed it. */
void stdin_closed(struct session *s);
/* The command has taken bytes up to `pos`, if that can be. */
void stdin_consumed(struct session *s, uint64_t pos);
/* Is there any for the command? Where it has no stdin, its end is none. */
bool stdin_has(const struct session *s);
/* Tells the worker that the spool has grown, or ends: once the index says so,
 * or a later master would write over what the command was given; ... */
void stdin_order(struct master *m, struct session *s);
/* ... that just now. */
void stdin_fed(struct master *m, struct session *s);
/* Has the worker tell when the queue shrinks; ... */
void stdin_watch(struct master *m, struct session *s);
/* ... it has, or is not the one that was asked. */
void stdin_unwatched(struct session *s);

/* ----------------------------------------------------------- terminal.c */
/* Would they make a line too long for the terminal's mode? *why. */
bool terminal_refuses(struct master *m, struct session *s,
    const char *data, size_t n, struct proto_problem *why);
/* exec asks for one, or its ring says that it has. */
void terminal_begin(struct session *s, bool pty, uint32_t cols, uint32_t rows);
/* These bytes were accepted, up to input.spool_end. */
void terminal_accepted(struct session *s, const char *data, size_t n);
/* The end of file, as a terminal has it. 0 or -errno. */
int terminal_eof(struct master *m, struct session *s);
/* Brings stdin_uncertain up to what the ring's header says. */
void terminal_uncertain(struct master *m, struct session *s);
/* What the session's terminal makes of cursor keys; a pipe has no modes. */
enum cursor_mode session_cursor_mode(struct master *m, struct session *s);
/* Does its program read lines at this moment, as far as can be known? */
bool terminal_reads_lines(struct master *m, struct session *s);
void terminal_resize(struct master *m, struct session *s, uint32_t cols,
    uint32_t rows);
/* RUNNING: did it get its terminal? */
void terminal_running(struct master *m, struct session *s,
    const struct ctl_running *msg);

/* -------------------------------------------------------------- sweep.c */
void sweep_ended(struct master *m, struct session *s); /* has just ended */
void sweep_gone(struct master *m, struct session *s);  /* is forgotten */
/* Its result has reached a client. */
void sweep_read(struct master *m, struct session *s);
void sweep_arm(struct master *m);
rank_cmp sweep_cmp;         /* of master.expiring */
share_reclaim sweep_reclaim; /* arg: the master */
/* May it start? 0; -EDQUOT, -ENOSPC with the sentence in *why, or NULL. */
int sweep_admit(struct master *m, struct session *s,
    struct proto_problem *why);
void sweep_squeeze(struct master *m);
void sweep_budget(struct master *m);
uint64_t sweep_used(const struct master *m);

#endif
