/* SPDX-License-Identifier: MIT */
/* The ring's reader, and a worker that takes a ring over, while somebody
 * writes into its file. The input is what is done, in order. */
#include "lib_place.h"

#include "shm/ring.h"
#include "shm/screen.h"

static char buf[8192];

/* Everything that a header page is asked. */
static void
look(struct ring_reader *r)
{
	struct ring_resize sizes[RING_SIZES];
	struct ring_facts facts;
	struct ring_glance glance;
	uint64_t end, ms, pos = 0;

	(void)ring_glance(r, &glance);
	if (ring_facts(r, &facts) != RING_OK)
		return;
	EXPECT(ring_sizes(&facts.raw, sizes) <= RING_SIZES);
	for (int i = 0; i < 300 && pos < facts.head; i++, pos = end) {
		(void)ring_stream_at(&facts.raw, pos, &end, &ms);
		EXPECT(end > pos);
	}
}

/* Reads on. */
static void
read_some(struct ring_reader *r, uint64_t *pos, size_t size)
{
	enum ring_verdict v;
	uint64_t dropped, was = *pos;
	ssize_t n = ring_read(r, pos, buf, size, &dropped, &v);

	EXPECT(n <= (ssize_t)size);
	EXPECT(n < 0 || *pos - was == dropped);
	if (n > 0)
		*pos += (uint64_t)n;
}

/* Draws. */
static void
draw(struct ring_reader *r)
{
	struct replay p;

	if (replay_begin(r, &p) != 0)
		return;
	for (int i = 0; i < 100 && replay_step(&p, r, 1000000) > 0; i++)
		;
	replay_end(&p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int dirfd = place_reset();
	struct ring_reader r = {.fd = -1};
	struct ring_writer w;
	uint64_t pos = 0;

	while (size > 0) {
		unsigned what = take_byte(&data, &size) % 16;

		if (what < 8)
			place_patch(PLACE_RING, &data, &size);
		else if (what == 8)
			place_cut(take_short(&data, &size));
		else if (what == 9)
			pos = take_short(&data, &size) * 16u;
		if (r.fd < 0 && ring_reader_open(dirfd, place_sid, &r) != 0)
			r.fd = -1;
		if (r.fd < 0)
			continue;
		if (what == 10 || what == 11)
			read_some(&r, &pos, take_byte(&data, &size) * 32u);
		else if (what == 12)
			draw(&r);
		else if (what > 12)
			look(&r);
	}
	if (r.fd >= 0) {
		read_some(&r, &pos, sizeof(buf));
		look(&r);
		ring_reader_close(&r);
	}
	if (ring_recover(dirfd, place_sid, &w) == 0) {
		(void)ring_pos(&w);
		ring_close(&w);
	}
	return 0;
}
