/* SPDX-License-Identifier: MIT */
/*
 * Sessions that a damaged index knows nothing of any more. Rings and workers
 * say how they do; what they are called and whose they are stands on the
 * board still, which the last master of this keeper wrote.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
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

/* What the board said of who it is and what was asked for; its ring, by whom. */
static void
take_row(const struct board_slot *row, uint64_t request, struct session_id *id,
    struct session_wish *w)
{
	static const struct board_slot none;
	size_t len;

	if (row == NULL)
		row = &none;
	len = strnlen(row->slug, sizeof(row->slug));
	if (slug_is_valid(row->slug, len))
		memcpy(id->slug, row->slug, len + 1);
	id->scope = SHOWN(scope, true, "");
	id->label = SHOWN(label, true, "");
	id->name = SHOWN(name, false, "(recovered)");
	id->session_key = strdup("");
	id->request_key = request_adopted(request);
	id->created_ms = clock_wall_ms();
	if (row->created_ms != 0 && row->created_ms < id->created_ms)
		id->created_ms = row->created_ms;
	/* never cut: as long as a lane's */
	w->lane = SHOWN(lane, false, "");
	w->command = SHOWN(command, false, "(recovered)");
	w->cwd = strdup("");
}

/* Is it a box, or in one, as its ring says? */
static uint32_t
host_of(const struct ring_header *h, struct sid sid)
{
	uint64_t box = h != NULL ? h->box : 0;

	if (box == 0)
		return HOST_GATEWAY;
	if (box == sid.v)
		return HOST_BOX;
	return (h->flags & CTL_START_SETUP) != 0 ? HOST_SETUP : HOST_SANDBOX;
}

/* What is done with it, as psup.conf has it. */
static void
take_config(const struct config *cfg, bool live, struct session_wish *w)
{
	w->notify = live && cfg->notify_on_exit;
	w->notify_empty = cfg->notify_on_exit_empty_success;
	w->ttl_ms = cfg->cleanup_ms;
	w->grace_ms = (uint32_t)cfg->grace_ms;
	w->tail_bytes = (uint32_t)cfg->max_output_chars;
}

/* The header of its ring. NULL: there is none that can be read. */
static const struct ring_header *
header_of(struct master *m, struct sid sid)
{
	static struct ring_facts f; /* a page: used before the next one is */
	struct ring_reader *r = readers_get(m, sid);

	return r != NULL && ring_facts(r, &f) == RING_OK ? &f.raw : NULL;
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
	struct session_id id = {.sid = sid, .incarnation = m->h.incarnation};
	struct session_wish wish = {0};
	struct index_key64 key = index_key64(sid.v);
	const struct ring_header *h;
	struct session *s;
	struct sid box;

	if (!m->damaged || !sid_is_real(sid))
		return NULL;
	h = header_of(m, sid);
	take_row(row, h != NULL ? h->request : 0, &id, &wish);
	wish.host = host_of(h, sid);
	box.v = h != NULL ? h->box : 0;
	if (wish.host == HOST_BOX || wish.host == HOST_SETUP)
		boxes_name(&id);
	h = live ? h : NULL;
	take_config(&m->cfg, live, &wish);
	wish.stream = h != NULL && (h->flags & CTL_START_LOSSLESS) != 0;
	wish.stdin_pipe = h != NULL && h->stdin_state != STDIN_NONE;
	s = session_make(&id, &wish);
	if (s == NULL || registry_add(m, s) < 0) {
		session_free(s);
		give_up(m);
		return NULL;
	}
	session_set_state(m, s, STATE_STARTING, "adopted");
	if (live)
		custody_load(&s->custody, 0);
	stdin_loaded(s);
	if (h != NULL) {
		terminal_begin(s, (h->pty_flags & PTY_OPEN) != 0,
		    h->pty_size >> 16, h->pty_size & 0xffff);
		stdin_found(m, s, h);
	}
	if (sid.v >= m->next_sid)
		m->next_sid = sid.v + 1;
	/* by that alone it must not be started: what else was asked for its
	 * record said */
	(void)index_del(m->ix, INDEX_SPECS,
	    (struct index_bytes){key.b, sizeof(key.b)});
	log_event(LOG_WARN, "session-without-record", KV_SESSION(s));
	/* else who asked for it may come back: on_key_timer() */
	if (!live || s->id.request_key[0] == '\0') {
		(void)shown_background(s);
		shown_answered(m, s);
	}
	if (session_is_ours(s))
		shown_hide(m, s);
	starts_inside(s, box);
	if (session_has_box(s))
		boxes_adopted(m, s);
	session_touch(m, s);
	return s;
}

struct session *
adopt_live(struct master *m, struct sid sid)
{
	struct session *s = adopt(m, sid, NULL, true);

	if (s != NULL && !session_is_ours(s))
		gate_restore(m, s);
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
		if (s != NULL && s->custody.state != CUSTODY_UNKNOWN)
			session_end_by_ring(m, s);
		FAULT("adopt.shown");
	}
}
