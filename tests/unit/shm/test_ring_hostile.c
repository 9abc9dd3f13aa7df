/* SPDX-License-Identifier: MIT */
/*
 * Readers against a writer that writes nonsense: a verdict, never a crash, a
 * hang or bytes beyond the buffer. PSUP_SEED repeats a run.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib_rings.h"
#include "shm/ring_math.h"

static const struct ring_geometry tiny = { 10, 4096 };
static const struct sid one = { 1 };
static struct place place;

static void
setup(void)
{
	place_make(&place);
}

static void
teardown(void)
{
	place_remove(&place);
}

TestSuite(hostile, .init = setup, .fini = teardown, .timeout = 60);

/* A 64-bit value of the kind that breaks arithmetic. */
static uint64_t
nasty(void)
{
	static const uint64_t values[] = { 0, 1, 10, 4096, 65536, 69632, 69642,
		1ull << 31, 1ull << 32, 1ull << 61, 1ull << 62, 1ull << 63,
		UINT64_MAX };
	uint64_t v = values[(size_t)random() %
	    (sizeof(values) / sizeof(values[0]))];

	return random() % 2 ? v : v + (uint64_t)random() % 9 - 4;
}

/* Everything a reader can be asked, on whatever is there. */
static void
ask_everything(void)
{
	static unsigned char buf[5000 + 64];
	struct ring_reader r;
	struct ring_resize sizes[RING_SIZES];
	struct ring_facts f;
	enum ring_verdict v;
	uint64_t pos, dropped, end, wall;
	ssize_t n;

	if (ring_reader_open(place.fd, one, &r) != 0)
		return;
	v = ring_facts(&r, &f);
	cr_assert_leq((int)v, RING_BUSY);
	if (v == RING_OK)
		cr_assert_leq(ring_sizes(&f.raw, sizes), RING_SIZES);
	if (v == RING_OK)
		for (int i = 0; i < 20; i++) {
			pos = i < 10 ? nasty() : (uint64_t)random() % 200;
			ring_stream_at(&f.raw, pos, &end, &wall);
			cr_assert(end > pos || pos == UINT64_MAX);
		}
	for (int i = 0; i < 6; i++) {
		size_t size = (size_t)random() % 5000;

		pos = i < 3 ? nasty() : (uint64_t)random() % 200;
		memset(buf + size, 0xa5, 64);
		n = ring_read(&r, &pos, buf, size, &dropped, &v);
		cr_assert_leq((int)v, RING_BUSY);
		cr_assert(n <= (ssize_t)size);
		for (size_t k = 0; k < 64; k++)
			cr_assert_eq(buf[size + k], 0xa5);
	}
	ring_reader_close(&r);
}

Test(hostile, header_gets_verdicts)
{
	const char *env = getenv("PSUP_SEED");
	unsigned seed = env != NULL ? (unsigned)strtoul(env, NULL, 10) : 4711;
	struct ring_header good;
	struct ring_writer w, again;

	fprintf(stderr, "seed %u\n", seed);
	srandom(seed);
	cr_assert_eq(ring_create(place.fd, one, 7, &tiny, &w), 0);
	for (unsigned i = 0; i < 300; i++)
		feed(&place, &w, i % 2 ? RING_STDERR : RING_STDOUT, 301, i);
	memcpy(&good, w.hdr, sizeof(good));
	for (unsigned i = 0; i < 20000; i++) {
		unsigned changes = (unsigned)random() % 4 + 1;

		memcpy(w.hdr, &good, sizeof(good));
		for (unsigned c = 0; c < changes; c++) {
			/* mostly the pump's words and the first segments */
			size_t word = (size_t)random() % (i % 2 ? 30 : 512);
			uint64_t v = nasty();

			memcpy((char *)w.hdr + word * 8, &v, 8);
		}
		ask_everything();
		if (ring_recover(place.fd, one, &again) == 0) {
			cr_assert_lt(ring_pos(&again), RING_POS_MAX);
			ask_everything();
			ring_close(&again);
		}
	}
	ring_close(&w);
}

static _Atomic bool stop;

/* Scribbles over the header while it is being read. */
static void *
scribble(void *arg)
{
	struct ring_header *h = arg;
	uint64_t x = 88172645463325252ull;

	while (!stop) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		h->head = x % 3 == 0 ? x : 5000;
		h->reserve = x % 5 == 0 ? x : 5000;
		h->seg_count = x % 7 == 0 ? x : 3;
		h->hole_from = x % 11 == 0 ? x : 0;
		h->hole_to = x % 13 == 0 ? x : 0;
	}
	return NULL;
}

Test(hostile, writer_that_never_stops_gets_bounded_tries)
{
	struct ring_writer w;
	pthread_t thread;

	cr_assert_eq(ring_create(place.fd, one, 7, &tiny, &w), 0);
	feed(&place, &w, RING_STDOUT, 5000, 1);
	cr_assert_eq(pthread_create(&thread, NULL, scribble, w.hdr), 0);
	for (unsigned i = 0; i < 20000; i++)
		ask_everything();
	stop = true;
	pthread_join(thread, NULL);
	ring_close(&w);
}

Test(hostile, file_that_is_no_file_is_refused)
{
	struct ring_reader r;
	struct ring_writer w;

	cr_assert_eq(mkfifoat(place.fd, "rings/0000000000000001", 0600), 0);
	cr_assert_eq(ring_reader_open(place.fd, one, &r), -EBADMSG);
	cr_assert_eq(ring_recover(place.fd, one, &w), -EBADMSG);
	cr_assert_eq(unlinkat(place.fd, "rings/0000000000000001", 0), 0);
	cr_assert_eq(symlinkat("/dev/zero", place.fd,
	    "rings/0000000000000001"), 0);
	cr_assert_eq(ring_reader_open(place.fd, one, &r), -ELOOP);
	cr_assert_eq(ring_recover(place.fd, one, &w), -ELOOP);
	cr_assert_eq(ring_create(place.fd, one, 1, &tiny, &w), -EEXIST);
}
