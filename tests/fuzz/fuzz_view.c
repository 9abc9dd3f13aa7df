/* SPDX-License-Identifier: MIT */
/* Board, stats and ring as libpsup's view reads them, while somebody writes
 * into them; and a master that attaches to such a board. */
#include <psup/psup.h>

#include "lib_place.h"
#include "shm/board.h"

/* Changes one of the files. */
static void
change(const uint8_t **data, size_t *size)
{
	unsigned what = take_byte(data, size) % 8;

	place_patch(what < 2 ? PLACE_RING : what < 6 ? PLACE_BOARD :
	    PLACE_STATS, data, size);
}

/* All that a view can tell of a session. */
static void
look_at(psup_view *v, const struct psup_view_session *s)
{
	struct psup_view_size sizes[30];
	struct psup_view_chunk chunk = {0};
	char buf[4096];

	EXPECT(s->state != NULL && s->status != NULL && s->reason != NULL);
	EXPECT(memchr(s->id, 0, sizeof(s->id)) != NULL);
	EXPECT(memchr(s->command, 0, sizeof(s->command)) != NULL);
	for (int i = 0; i < 8; i++)
		if (psup_view_read_output(v, s->instance, chunk.next, buf,
			sizeof(buf), &chunk) <= 0)
			break;
	EXPECT(psup_view_sizes(v, s->instance, sizes, 30) <= 30);
}

/* All of it. */
static void
look(psup_view *v)
{
	struct psup_view_session s;
	struct psup_view_process p;
	struct psup_view_lane l;
	struct psup_view_totals t;
	size_t cursor = 0, n;

	for (n = 0; psup_view_next_session(v, &cursor, &s) == 1; n++)
		look_at(v, &s);
	EXPECT(n <= 8);
	for (cursor = 0; psup_view_next_process(v, &cursor, &p) == 1;)
		EXPECT(p.role != NULL &&
		    memchr(p.last_words, 0, sizeof(p.last_words)) != NULL);
	for (cursor = 0; psup_view_next_lane(v, &cursor, &l) == 1;)
		EXPECT(memchr(l.name, 0, sizeof(l.name)) != NULL);
	(void)psup_view_find(v, "nova-gulf", &s);
	psup_view_totals(v, &t);
}

/* A new master's way in. */
static void
attach(int dirfd)
{
	struct board_slot s = {.sid = 9, .state = STATE_ENDED};
	struct board b;

	if (board_attach(dirfd, true, &b) != 0)
		return;
	for (uint32_t i = 0; i < b.slot_count; i++)
		(void)board_get(&b, i, &s);
	if (b.slot_count > 0) {
		s.state = STATE_ENDED;
		board_put(&b, 0, &s);
		board_clear(&b, 0);
	}
	board_detach(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int dirfd = place_reset();
	unsigned before = take_byte(&data, &size) % 8;
	psup_view *v = NULL;
	char why[200];

	while (before-- > 0 && size > 0)
		change(&data, &size);
	if (psup_view_open(place_path(), &v, why, sizeof(why)) == 0) {
		look(v);
		while (size > 0)
			change(&data, &size);
		look(v);
		psup_view_close(&v);
	}
	attach(dirfd);
	return 0;
}
