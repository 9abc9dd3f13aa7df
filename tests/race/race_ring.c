/* SPDX-License-Identifier: MIT */
/*
 * A ring's writer and its readers as threads of one process, so that
 * ThreadSanitizer (tests/long/races) sees each word that both touch.
 *
 * In psup they are processes, and the kernel does the copying. Here splice and
 * pread of the ring's file are functions of ours (linked with --wrap) over one
 * mapping, with the kernel's order: bytes, then the cursor. A word of the
 * header is loaded as acquire, which stands for pread and the fence that
 * follows it: the sanitizer does not know fences, tests/models/ does.
 *
 * "checker" gives the writer credit and compares each byte; it loads data as
 * plain memory, so a byte that is published too early or overwritten while it
 * may still be read is a race. "Others" read what is overwritten next, until it
 * is, and what they are given must not change.
 *
 * PSUP_RACE_SECONDS=N for more than a second, PSUP_SEED=N.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/rundir.h"
#include "race.h"
#include "shm/ring.h"
#include "tests/pattern.h"

#define HEAD_BYTES 5000u
#define TAIL_BYTES 90000u
#define FILE_BYTES (RING_DATA_OFFSET + HEAD_BYTES + TAIL_BYTES + RING_MAX_SPLICE)
#define OTHERS     2
#define SID        ((struct sid){ 1 })

void *__real_mmap(void *, size_t, int, int, int, off_t);
int __real_munmap(void *, size_t);
ssize_t __real_pread(int, void *, size_t, off_t);
ssize_t __real_splice(int, loff_t *, int, loff_t *, size_t, unsigned);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
int __wrap_munmap(void *, size_t);
ssize_t __wrap_pread(int, void *, size_t, off_t);
ssize_t __wrap_splice(int, loff_t *, int, loff_t *, size_t, unsigned);

/* The one mapping of the file: header and data. */
static unsigned char *file;
static int writer_fd; /* the writer's thread alone */
static _Thread_local bool reads_ring, reads_plain;

static struct {
	int dirfd, pipes[2][2];
	_Atomic bool stop, drained;
	/* of the checker: how far it has read, which segments it knows */
	_Atomic uint64_t pos, segments;
	uint64_t fed[2], checked[2], dropped;
	uint64_t recoveries, moved, discarded; /* the writer's */
	_Atomic uint64_t looks, stale, same;   /* the others' */
} story;

/* ---------------------------------------------------- in the kernel's place */

/* The writer maps the header by itself: it gets the place in ours. */
void *
__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (fd < 0 || size != SHM_PAGE || (prot & PROT_WRITE) == 0)
		return __real_mmap(at, size, prot, flags, fd, offset);
	writer_fd = fd;
	if (file == NULL) {
		CHECK(ftruncate(fd, FILE_BYTES) == 0);
		file = __real_mmap(NULL, FILE_BYTES, prot, flags, fd, 0);
	}
	return file;
}

int
__wrap_munmap(void *at, size_t size)
{
	return at == file ? 0 : __real_munmap(at, size);
}

/* Words of the header: all are aligned. */
static void
load_header(unsigned char *to, size_t from, size_t size)
{
	uint64_t word;

	CHECK(from % 8 == 0);
	for (size_t i = 0; i < size; i += 8) {
		word = __atomic_load_n((uint64_t *)(void *)(file + from + i),
		    __ATOMIC_ACQUIRE);
		memcpy(to + i, &word, size - i < 8 ? size - i : 8);
	}
}

ssize_t
__wrap_pread(int fd, void *buf, size_t size, off_t offset)
{
	size_t from = (size_t)offset;
	unsigned char *to = buf;

	if (!reads_ring)
		return __real_pread(fd, buf, size, offset);
	CHECK(from + size <= FILE_BYTES);
	if (from < RING_DATA_OFFSET) {
		CHECK(from + size <= RING_DATA_OFFSET);
		load_header(to, from, size);
	} else if (reads_plain) {
		memcpy(to, file + from, size);
	} else {
		for (size_t i = 0; i < size; i++)
			to[i] = __atomic_load_n(file + from + i,
			    __ATOMIC_RELAXED);
	}
	return (ssize_t)size;
}

ssize_t
__wrap_splice(int in, loff_t *in_off, int out, loff_t *out_off, size_t size,
    unsigned flags)
{
	static unsigned char buf[RING_MAX_SPLICE];
	uint64_t at;
	ssize_t n;

	if (out != writer_fd)
		return __real_splice(in, in_off, out, out_off, size, flags);
	CHECK(size <= sizeof(buf));
	n = read(in, buf, size);
	if (n <= 0)
		return n;
	at = (uint64_t)__atomic_load_n(out_off, __ATOMIC_RELAXED);
	CHECK(at + (size_t)n <= FILE_BYTES);
	for (ssize_t i = 0; i < n; i++)
		__atomic_store_n(file + at + i, buf[i], __ATOMIC_RELAXED);
	__atomic_store_n(out_off, (loff_t)at + n, __ATOMIC_RELAXED);
	return n;
}

/* -------------------------------------------------------------- the threads */

/* Writes its stream in pieces of random length until told to stop. */
static void *
feed(void *arg)
{
	int stream = *(int *)arg;
	unsigned seed = race_seed() + (unsigned)stream;
	unsigned char buf[9000];
	size_t size, done;
	ssize_t n;

	while (!story.stop) {
		size = race_random(&seed) %
		    (race_random(&seed) % 2 ? sizeof(buf) : 40) + 1;
		for (size_t i = 0; i < size; i++)
			buf[i] = byte_of(stream, story.fed[stream] + i);
		for (done = 0; done < size; done += (size_t)n) {
			n = write(story.pipes[stream][1], buf + done,
			    size - done);
			CHECK(n > 0);
		}
		story.fed[stream] += size;
	}
	close(story.pipes[stream][1]);
	return NULL;
}

/* How many bytes the checker allows. */
static size_t
credit(const struct ring_writer *w, unsigned *seed)
{
	uint64_t max = race_random(seed) % 70000 + 1;
	uint64_t room = story.pos + TAIL_BYTES - ring_pos(w);

	if (w->hdr->seg_count - story.segments > RING_SEGMENTS / 2)
		return 0;
	return max < room ? max : room;
}

/* Moves some of one stream. False at its end. */
static bool
move(struct ring_writer *w, int stream, unsigned *seed)
{
	size_t max = credit(w, seed);
	ssize_t n;

	if (max == 0) {
		poll(NULL, 0, 1);
		return true;
	}
	if (race_random(seed) % 16 == 0) {
		n = ring_discard(w, story.pipes[stream][0],
		    (enum ring_stream)stream, max);
		story.discarded += n > 0 ? (uint64_t)n : 0;
	} else {
		n = ring_splice(w, story.pipes[stream][0],
		    (enum ring_stream)stream, max, race_random(seed) % 64);
		story.moved += n > 0 ? (uint64_t)n : 0;
	}
	CHECK(n >= 0 || n == -EAGAIN);
	if (n < 0)
		poll(NULL, 0, 1);
	return n != 0;
}

/* The worker; now and then its successor, which recovers the ring. */
static void *
pump(void *arg)
{
	struct ring_writer *w = arg;
	bool open[2] = { true, true };
	unsigned seed = race_seed() + 7;

	while (open[0] || open[1]) {
		for (int s = 0; s < 2; s++)
			open[s] = open[s] && move(w, s, &seed);
		if (race_random(&seed) % 32 == 0)
			ring_note_size(w, ring_pos(w),
			    race_random(&seed) % 200 + 1, 24, 1);
		if (race_random(&seed) % 4 == 0) {
			ring_close(w);
			CHECK(ring_recover(story.dirfd, SID, w) == 0);
			story.recoveries++;
		}
	}
	story.drained = true;
	return NULL;
}

/* Reads one stretch of one stream and compares it. False: no news. */
static bool
check_some(struct ring_reader *r)
{
	static unsigned char buf[65536];
	uint64_t pos = story.pos, at = pos, end, wall, dropped;
	uint64_t *of = story.checked;
	enum ring_stream stream;
	enum ring_verdict v;
	struct ring_facts f;
	size_t size;
	ssize_t n;

	v = ring_facts(r, &f);
	CHECK(v == RING_OK || v == RING_BUSY);
	if (v != RING_OK || f.head == pos)
		return false;
	stream = ring_stream_at(&f.raw, pos, &end, &wall);
	CHECK(stream == RING_STDOUT || stream == RING_STDERR);
	if (end > f.head)
		end = f.head;
	size = end - pos < sizeof(buf) ? (size_t)(end - pos) : sizeof(buf);
	n = ring_read(r, &pos, buf, size, &dropped, &v);
	if (n < 0) {
		CHECK(v == RING_BUSY);
		return false;
	}
	story.dropped += dropped;
	if (dropped > 0) {
		n = 0; /* of which streams, and read again, knowing it */
		while (f.head < pos)
			CHECK(ring_facts(r, &f) != RING_CORRUPT);
		for (; at < pos; at = end) {
			stream = ring_stream_at(&f.raw, at, &end, &wall);
			CHECK(stream <= RING_STDERR);
			if (end > pos)
				end = pos;
			of[stream] += end - at;
		}
	}
	for (ssize_t i = 0; i < n; i++)
		CHECK(buf[i] == byte_of((int)stream, of[stream] + (size_t)i));
	of[stream] += (uint64_t)n;
	story.segments = f.raw.seg_count;
	story.pos = pos + (uint64_t)n;
	return true;
}

static void *
check(void *arg)
{
	struct ring_reader r;
	bool last = false;

	(void)arg;
	CHECK(ring_reader_open(story.dirfd, SID, &r) == 0);
	reads_ring = reads_plain = true;
	for (;;) {
		if (check_some(&r))
			continue;
		if (last)
			break;
		last = story.drained;
		poll(NULL, 0, last ? 0 : 1);
	}
	reads_ring = false;
	ring_reader_close(&r);
	return NULL;
}

/* What is retained does not change: a stretch near the place that is written
 * next is read until it is gone, and is the same each time. */
static void
read_again(struct ring_reader *r, const struct ring_facts *f, unsigned *seed)
{
	static _Thread_local unsigned char first[3000], again[sizeof(first)];
	uint64_t from = f->oldest_tail + race_random(seed) % 5000, pos, dropped;
	enum ring_verdict v;
	ssize_t n, m;

	pos = from;
	n = ring_read(r, &pos, first, sizeof(first), &dropped, &v);
	CHECK(n <= (ssize_t)sizeof(first) && (n >= 0 || v != RING_GONE));
	from = pos;
	for (int i = 0; i < 50 && n > 0; i++) {
		m = ring_read(r, &pos, again, sizeof(again), &dropped, &v);
		CHECK(m <= (ssize_t)sizeof(again));
		if (m < 0)
			continue;
		if (pos != from)
			break;
		CHECK(memcmp(first, again, (size_t)(m < n ? m : n)) == 0);
		story.same++;
	}
}

/* Looks at everything, as lists and views do. */
static void *
look(void *arg)
{
	unsigned seed = race_seed() + 100 + (unsigned)(*(int *)arg);
	struct ring_reader r;
	struct ring_facts f;
	struct ring_glance g;
	struct ring_resize sizes[RING_SIZES];
	enum ring_verdict v;
	uint64_t head = 0;
	unsigned torn = 0;

	CHECK(ring_reader_open(story.dirfd, SID, &r) == 0);
	reads_ring = true;
	while (!story.drained) {
		v = ring_facts(&r, &f);
		CHECK(v != RING_GONE);
		/* three torn copies are possible, a row of them is damage */
		torn = v == RING_CORRUPT ? torn + 1 : 0;
		CHECK(torn < 20);
		story.looks++;
		if (v != RING_OK) {
			story.stale++;
			continue;
		}
		CHECK(f.head >= head && f.dropped <= f.head);
		head = f.head;
		(void)ring_sizes(&f.raw, sizes);
		v = ring_glance(&r, &g);
		CHECK(v == RING_CORRUPT || (v == RING_OK && g.head >= head));
		read_again(&r, &f, &seed);
	}
	reads_ring = false;
	ring_reader_close(&r);
	return NULL;
}

int
main(void)
{
	static const struct ring_geometry geometry = { HEAD_BYTES, TAIL_BYTES };
	static int number[OTHERS] = { 0, 1 };
	pthread_t feeders[2], others[OTHERS], checker, pumper;
	char path[] = "/dev/shm/psup-race-XXXXXX";
	char name[RUNDIR_NAME_MAX];
	struct ring_writer w;

	rundir_ring_name(SID, name);
	CHECK(mkdtemp(path) != NULL);
	story.dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(mkdirat(story.dirfd, "rings", 0700) == 0);
	CHECK(ring_create(story.dirfd, SID, 1, &geometry, &w) == 0);
	for (int i = 0; i < 2; i++) {
		CHECK(pipe2(story.pipes[i], O_CLOEXEC) == 0);
		CHECK(fcntl(story.pipes[i][0], F_SETFL, O_NONBLOCK) == 0);
		race_start(&feeders[i], feed, &number[i]);
	}
	race_start(&checker, check, NULL);
	for (int i = 0; i < OTHERS; i++)
		race_start(&others[i], look, &number[i]);
	race_start(&pumper, pump, &w);
	race_wait();
	story.stop = true;
	for (int i = 0; i < 2; i++)
		pthread_join(feeders[i], NULL);
	pthread_join(pumper, NULL);
	pthread_join(checker, NULL);
	for (int i = 0; i < OTHERS; i++)
		pthread_join(others[i], NULL);
	CHECK(story.checked[0] == story.fed[0]);
	CHECK(story.checked[1] == story.fed[1]);
	/* holes near each other become one, kept bytes between them and all */
	CHECK(story.dropped <= w.hdr->dropped_nospace);
	printf("ring: %llu bytes compared, %llu discarded, %llu laps, "
	       "%llu recoveries, %llu looks of others, %llu met the writer, "
	       "%llu stretches read again\n",
	    (unsigned long long)story.moved,
	    (unsigned long long)story.discarded,
	    (unsigned long long)w.hdr->lap,
	    (unsigned long long)story.recoveries,
	    (unsigned long long)story.looks, (unsigned long long)story.stale,
	    (unsigned long long)story.same);
	CHECK(story.moved > 0 && story.looks > 0);
	ring_close(&w);
	CHECK(unlinkat(story.dirfd, name, 0) == 0);
	CHECK(unlinkat(story.dirfd, "rings", AT_REMOVEDIR) == 0);
	CHECK(rmdir(path) == 0);
	return 0;
}
