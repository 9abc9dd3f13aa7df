/* SPDX-License-Identifier: MIT */
/*
 * To whom a session is shown: to the request that began it, which has been
 * answered or not, to its scope, by an exit event; and on the board, where it
 * has a slot of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/text.h"
#include "supervisor/master.h"

void
shown_begin(struct session *s)
{
	s->shown.slot = UINT32_MAX;
}

bool
shown_background(struct session *s)
{
	bool first = !s->shown.backgrounded;

	s->shown.backgrounded = true;
	return first;
}

void
shown_answered(struct master *m, struct session *s)
{
	if (!s->shown.answered)
		session_touch(m, s);
	s->shown.answered = true;
}

void
shown_notified(struct session *s)
{
	CHECK(s->state == STATE_ENDED && !s->shown.exit_notified);
	s->shown.exit_notified = true;
}

void
shown_keep(struct master *m, struct session *s)
{
	CHECK(s->state == STATE_ENDED);
	if (s->shown.backgrounded)
		return;
	s->shown.backgrounded = s->shown.exit_notified = true;
	session_touch(m, s);
}

void
shown_gone(struct master *m, struct session *s)
{
	if (s->shown.slot == UINT32_MAX)
		return;
	CHECK(m->board_free_count < m->board.slot_count);
	board_clear(&m->board, s->shown.slot);
	m->board_free[m->board_free_count++] = s->shown.slot;
	s->shown.slot = UINT32_MAX;
}

void
shown_hide(struct master *m, struct session *s)
{
	s->shown.hidden = true;
	shown_gone(m, s);
}

/* Room for the list of free board slots. */
int
shown_open(struct master *m)
{
	m->board_free = calloc(m->board.slot_count + 1,
	    sizeof(*m->board_free));
	return m->board_free != NULL ? 0 : -ENOMEM;
}

/* Each session has the slot that shows it already; the others are free, and the
 * lowest are given out first. */
void
shown_take(struct master *m)
{
	uint32_t i = m->board.slot_count;
	uint32_t high = atomic_load(&m->board.hdr->slots_high);
	struct board_slot row;
	struct session *s;
	int r;

	while (i-- > 0) {
		r = i < high ? board_get(&m->board, i, &row) : 0;
		s = r == 1 ? session_by_sid(m, (struct sid){row.sid}) : NULL;
		if (s != NULL && s->shown.slot == UINT32_MAX &&
		    !s->shown.hidden) {
			s->shown.slot = i;
			continue;
		}
		if (r != 0)
			board_clear(&m->board, i);
		m->board_free[m->board_free_count++] = i;
	}
}

/* Copies a string into a fixed field of a slot, cut on a character border. */
static void
slot_text(char *dst, size_t size, const char *src)
{
	size_t len = strlen(src);
	size_t n = text_cut_back(src, len, size - 1);

	memcpy(dst, src, n);
	dst[n] = '\0';
}

/* Writes the session's slot of the board. */
void
board_show(struct master *m, struct session *s)
{
	struct board_slot b = {0};

	if (s->shown.hidden)
		return;
	if (s->shown.slot == UINT32_MAX) {
		if (m->board_free_count == 0)
			return;
		s->shown.slot = m->board_free[--m->board_free_count];
	}
	b.sid = s->id.sid.v;
	b.state = s->state;
	b.status = s->facts.status;
	b.reason = s->facts.reason;
	b.pid = s->facts.pid;
	b.exit_code = s->facts.exit_code;
	b.exit_signal = s->facts.exit_signal;
	b.worker_slot = UINT32_MAX;
	if (custody_has(&s->custody)) {
		b.worker_slot = s->custody.who.slot;
		b.worker_generation = s->custody.who.generation;
	}
	b.created_ms = s->id.created_ms;
	b.started_ms = s->facts.started_ms;
	b.ended_ms = s->facts.ended_ms;
	b.deadline_ms = s->deadline.at_ms;
	b.total = s->output.total;
	b.flags = (s->shown.backgrounded ? BOARD_BACKGROUNDED : 0u) |
	    (s->wish.stdin_pipe && !s->input.closed ? BOARD_STDIN_OPEN : 0u) |
	    (s->terminal.pty ? BOARD_PTY : 0u) |
	    (session_has_box(s) ? BOARD_BOXED : 0u);
	if (s->state == STATE_QUEUED)
		b.lane_pos = gate_position(m, s);
	slot_text(b.slug, sizeof(b.slug), s->id.slug);
	slot_text(b.name, sizeof(b.name), s->id.name);
	slot_text(b.scope, sizeof(b.scope), s->id.scope);
	slot_text(b.lane, sizeof(b.lane), s->wish.lane);
	slot_text(b.label, sizeof(b.label), s->id.label);
	slot_text(b.command, sizeof(b.command), s->wish.command);
	board_put(&m->board, s->shown.slot, &b);
}
