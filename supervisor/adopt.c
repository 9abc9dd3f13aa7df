/* SPDX-License-Identifier: MIT */
/*
 * Sessions that a damaged index knows nothing of any more. Rings and workers
 * say how they do; what they are called and whose they are stands on the
 * board still, which the last master of this keeper wrote.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/rundir.h"
#include "common/slug.h"
#include "common/text.h"
#include "supervisor/gate/gate.h"
#include "supervisor/master.h"

int
adopt_open(struct master *m)
{
	uint32_t i, high;

	if (!m->damaged)
		return 0;
	high = atomic_load(&m->board.hdr->slots_high);
	if (high > m->board.slot_count)
		high = m->board.slot_count;
	m->shown = calloc((size_t)high + 1, sizeof(*m->shown));
	if (m->shown == NULL)
		return -ENOMEM;
	for (i = 0; i < high; i++)
		if (board_get(&m->board, i, &m->shown[m->shown_count]) == 1)
			m->shown_count++;
	return 0;
}

void
adopt_close(struct master *m)
{
	free(m->shown);
	m->shown = NULL;
	m->shown_count = 0;
}

bool
adopt_is_shown(const struct master *m, struct sid sid)
{
	for (uint32_t i = 0; i < m->shown_count; i++)
		if (m->shown[i].sid == sid.v)
			return true;
	return false;
}

/* A copy of a row's text; `other` where the board has none, or damaged. One
 * that `names` something or somebody must be whole: a row may have cut it, by
 * up to three bytes more than do not fit. */
static char *
shown_text(const char *text, size_t size, bool names, const char *other)
{
	size_t len = strnlen(text, size);
	bool ok = len != 0 && len < size && text_is_utf8(text, len) &&
	    (!names || len + 4 < size);

	return strdup(ok ? text : other);
}
#define SHOWN(field, names, other)                                             \
	shown_text(row->field, sizeof(row->field), (names), (other))

/* What the board said of it. False: no memory. */
static bool
adopt_row(struct session *s, const struct board_slot *row)
{
	static const struct board_slot none;
	size_t len;

	if (row == NULL)
		row = &none;
	len = strnlen(row->slug, sizeof(row->slug));
	if (slug_is_valid(row->slug, len))
		memcpy(s->id.slug, row->slug, len + 1);
	s->id.scope = SHOWN(scope, true, "");
	s->id.label = SHOWN(label, true, "");
	/* never cut: as long as a lane's */
	s->wish.lane = SHOWN(lane, false, "");
	s->id.name = SHOWN(name, false, "(recovered)");
	s->wish.command = SHOWN(command, false, "(recovered)");
	s->wish.cwd = strdup("");
	s->id.session_key = strdup("");
	s->id.request_key = strdup("");
	s->id.created_ms = clock_wall_ms();
	if (row->created_ms != 0 && row->created_ms < s->id.created_ms)
		s->id.created_ms = row->created_ms;
	return s->id.scope != NULL && s->wish.command != NULL &&
	    s->id.name != NULL && s->wish.cwd != NULL && s->id.label != NULL &&
	    s->id.session_key != NULL && s->id.request_key != NULL &&
	    s->wish.lane != NULL;
}

/* What the ring's header knows of its input. */
static void
adopt_input(struct master *m, struct session *s)
{
	static struct ring_facts f;
	struct ring_reader *r = readers_get(m, s->id.sid);

	if (r == NULL || ring_facts(r, &f) != RING_OK)
		return;
	s->wish.stdin_pipe = f.raw.stdin_state != STDIN_NONE;
	terminal_begin(s, (f.raw.pty_flags & PTY_OPEN) != 0,
	    f.raw.pty_size >> 16, f.raw.pty_size & 0xffff);
	stdin_found(m, s, &f.raw);
}

/* The next master looks again: one that is not adopted would be ended as
 * nobody's. */
static void
give_up(struct master *m)
{
	master_give_up(m, "no memory for a session without record");
}

/* Makes a session of what is left of it. `row`: NULL, or the board's; `live`:
 * its end is still to be told. NULL: where the index is whole it was forgotten
 * on purpose, for its record was there before anybody was told to start it; or
 * no memory, and then this master ends. */
static struct session *
adopt(struct master *m, struct sid sid, const struct board_slot *row,
    bool live)
{
	struct index_key64 id = index_key64(sid.v);
	struct session *s;

	if (!m->damaged || sid.v == 0 || sid.v == UINT64_MAX)
		return NULL;
	s = session_new();
	if (s == NULL) {
		give_up(m);
		return NULL;
	}
	s->id.sid = sid;
	s->id.incarnation = m->h.incarnation;
	s->custody.recovering = live;
	stdin_loaded(s);
	s->wish.notify = live && m->cfg.notify_on_exit;
	s->wish.notify_empty = m->cfg.notify_on_exit_empty_success;
	s->wish.ttl_ms = m->cfg.cleanup_ms;
	s->wish.grace_ms = (uint32_t)m->cfg.grace_ms;
	s->wish.tail_bytes = (uint32_t)m->cfg.max_output_chars;
	s->state = STATE_STARTING;
	if (!adopt_row(s, row) || registry_add(m, s) < 0) {
		session_free(s);
		give_up(m);
		return NULL;
	}
	if (sid.v >= m->next_sid) {
		m->next_sid = sid.v + 1;
		m->next_dirty = true;
	}
	/* by that alone it must not be started: what else was asked for its
	 * record said */
	(void)index_del(m->ix, INDEX_SPECS,
	    (struct index_bytes){id.b, sizeof(id.b)});
	log_event(LOG_WARN, "session-without-record", KV_SESSION(s));
	(void)shown_background(s);
	shown_answered(m, s);
	session_touch(m, s);
	return s;
}

struct session *
adopt_live(struct master *m, struct sid sid)
{
	struct session *s = adopt(m, sid, NULL, true);

	if (s == NULL)
		return NULL;
	gate_restore(m, s);
	adopt_input(m, s);
	return s;
}

void
adopt_ended(struct master *m, struct sid sid)
{
	struct session *s = adopt(m, sid, NULL, false);

	if (s != NULL)
		session_end_by_ring(m, s);
}

void
adopt_shown(struct master *m)
{
	for (uint32_t i = 0; i < m->shown_count; i++) {
		const struct board_slot *row = &m->shown[i];
		struct sid sid = {row->sid};
		struct session *s = NULL;

		if (session_by_sid(m, sid) == NULL)
			s = adopt(m, sid, row, row->state != STATE_ENDED);
		if (s != NULL && s->custody.recovering)
			adopt_input(m, s);
		else if (s != NULL)
			session_end_by_ring(m, s);
		FAULT("adopt.shown");
	}
}
