/* SPDX-License-Identifier: MIT */
/*
 * A pumper is killed with SIGKILL at random moments and at fault points, and
 * replaced, again and again, while two feeders write and a reader checks every
 * byte. Each stream has bytes of its own, so a byte that is lost, doubled or
 * attributed to the wrong stream is seen at once.
 *
 * PSUP_TORTURE_KILLS=N for long campaigns, PSUP_SEED=N to repeat one.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "shm/ring.h"
#include "tests/pattern.h"

#define KILLS_PER_RING 50u

struct reader_page {
	_Atomic uint64_t pos, segments;
};

struct feeder {
	pthread_t thread;
	int fd, stream;
	unsigned seed;
	_Atomic bool *stop;
	uint64_t fed;
};

/* One ring with its two feeders, its reader and the pumper of the moment. */
struct story {
	char path[64];
	int dirfd, page_fd;
	int pipes[2][2];
	struct reader_page *page;
	struct feeder feeders[2];
	_Atomic bool stop;
	struct ring_reader reader;
	uint64_t pos;       /* of the reader */
	uint64_t of[2];     /* how much of each stream lies below it */
	uint64_t dropped;
	bool credit;
	pid_t pumper;
};

struct totals {
	uint64_t kills, by_fault, rings, bytes, dropped, laps;
};

static const struct ring_geometry geometries[] = { { 10, 4096 }, { 0, 4096 },
	{ 5000, 9000 }, { 20000, 200000 } };

static const char *const faults[] = { "ring.in-wrap", "ring.in-segment",
	"ring.before-splice", "ring.after-splice", "ring.after-segment",
	"ring.in-hole", "ring.in-hole-count", "ring.before-discard",
	"ring.after-discard" };

/* Writes its stream in pieces of random length until told to stop. */
static void *
feed(void *arg)
{
	struct feeder *f = arg;
	unsigned char buf[20000];
	size_t size, done;
	ssize_t n;

	while (!*f->stop) {
		f->seed = f->seed * 1103515245u + 12345u;
		size = (f->seed >> 8) % ((f->seed & 64) ? sizeof(buf) : 40) + 1;
		for (size_t i = 0; i < size; i++)
			buf[i] = byte_of(f->stream, f->fed + i);
		for (done = 0; done < size; done += (size_t)n) {
			n = write(f->fd, buf + done, size - done);
			if (n <= 0)
				return NULL;
		}
		f->fed += size;
	}
	close(f->fd);
	return NULL;
}

/* Counts [from, to), which was dropped, to the streams it belongs to. */
static void
pass_over(struct story *s, const struct ring_facts *f, uint64_t from,
    uint64_t to)
{
	enum ring_stream stream;
	uint64_t end, wall;

	for (; from < to; from = end) {
		stream = ring_stream_at(&f->raw, from, &end, &wall);
		if (end > to)
			end = to;
		if (s->credit)
			cr_assert_neq(stream, RING_MIXED, "at %llu",
			    (unsigned long long)from);
		s->of[stream == RING_STDERR] += end - from;
	}
}

/* Checks what ring_read returned: one stretch of one stream. */
static void
check_bytes(struct story *s, const unsigned char *buf, size_t n, int stream)
{
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(buf[i], byte_of(stream, s->of[stream] + i),
		    "stream %d: wrong byte %llu at position %llu", stream,
		    (unsigned long long)(s->of[stream] + i),
		    (unsigned long long)(s->pos + i));
	s->of[stream] += n;
}

/* Reads one stretch. False: no news. */
static bool
read_some(struct story *s)
{
	static unsigned char buf[65536];
	struct ring_facts f;
	enum ring_verdict v;
	uint64_t end, wall, dropped, at = s->pos;
	size_t size = sizeof(buf);
	ssize_t n;
	int stream = 0;

	v = ring_facts(&s->reader, &f);
	cr_assert(v == RING_OK || v == RING_BUSY, "facts: %d", (int)v);
	if (v != RING_OK || f.head == s->pos)
		return false;
	if (s->credit) {
		stream = (int)ring_stream_at(&f.raw, s->pos, &end, &wall);
		cr_assert_neq(stream, RING_MIXED);
		if (end > f.head)
			end = f.head;
		if (end - s->pos < size)
			size = (size_t)(end - s->pos);
	}
	n = ring_read(&s->reader, &s->pos, buf, size, &dropped, &v);
	if (n < 0) {
		cr_assert_eq(v, RING_BUSY, "read: %d", (int)v);
		return false;
	}
	if (dropped > 0) {
		s->dropped += dropped;
		/* The hole may end beyond the page that was read before. */
		if (s->credit) {
			while (f.head < s->pos)
				cr_assert_neq(ring_facts(&s->reader, &f),
				    RING_CORRUPT);
			pass_over(s, &f, at, s->pos);
			n = 0; /* read again, knowing the stream */
		} else {
			s->of[0] += dropped;
		}
	}
	check_bytes(s, buf, (size_t)n, stream);
	s->pos += (uint64_t)n;
	s->page->segments = f.raw.seg_count;
	s->page->pos = s->pos;
	return true;
}

/* Starts a pumper, perhaps with a fault point to die at. */
static bool
pumper_start(struct story *s, bool may_die)
{
	char exe[300], seed[16], fault[80] = "PSUP_FAULTS=";
	char mode[2] = { s->credit ? 'c' : 'l', '\0' };
	char *argv[] = { exe, s->path, seed, mode, NULL };
	char asan[] = "ASAN_OPTIONS=detect_leaks=0";
	char *envp[] = { fault, asan, NULL };
	posix_spawn_file_actions_t fds;
	bool by_fault = may_die && random() % 2 == 0;
	ssize_t n;

	n = readlink("/proc/self/exe", exe, sizeof(exe) - 40);
	cr_assert_gt(n, 0);
	exe[n] = '\0';
	strcpy(strrchr(exe, '/'), "/helpers/ring_pumper");
	snprintf(seed, sizeof(seed), "%ld", random());
	if (by_fault)
		snprintf(fault, sizeof(fault), "PSUP_FAULTS=%s=kill@%ld",
		    faults[(size_t)random() % NELEMS(faults)],
		    random() % 30 + 1);
	posix_spawn_file_actions_init(&fds);
	posix_spawn_file_actions_adddup2(&fds, s->pipes[0][0], 100);
	posix_spawn_file_actions_adddup2(&fds, s->pipes[1][0], 101);
	posix_spawn_file_actions_adddup2(&fds, s->page_fd, 102);
	cr_assert_eq(posix_spawn(&s->pumper, exe, &fds, NULL, argv, envp), 0);
	posix_spawn_file_actions_destroy(&fds);
	return by_fault;
}

/* Lets the pumper run for a random while, reading, then kills it. */
static void
pumper_kill(struct story *s, struct totals *t, bool by_fault)
{
	uint64_t until = clock_boot_ns() +
	    (uint64_t)random() % (by_fault ? 20000000u : 6000000u);
	bool dead = false;
	int status;

	while (clock_boot_ns() < until && !dead) {
		read_some(s);
		if (by_fault)
			dead = waitpid(s->pumper, &status, WNOHANG) > 0;
	}
	if (dead) {
		t->by_fault++;
	} else {
		kill(s->pumper, SIGKILL);
		cr_assert_eq(waitpid(s->pumper, &status, 0), s->pumper);
	}
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
	    "status %x", (unsigned)status);
	t->kills++;
}

/* Makes directory, ring, pipes and feeders. */
static void
story_begin(struct story *s)
{
	size_t g = (size_t)random() % NELEMS(geometries);
	struct ring_writer w;

	*s = (struct story){ .credit = random() % 4 != 0 };
	snprintf(s->path, sizeof(s->path), "/dev/shm/psup-torture-XXXXXX");
	cr_assert_not_null(mkdtemp(s->path));
	s->dirfd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(mkdirat(s->dirfd, "rings", 0700), 0);
	cr_assert_eq(ring_create(s->dirfd, (struct sid){ 1 }, 1,
	    &geometries[g], &w), 0);
	ring_close(&w);
	cr_assert_eq(ring_reader_open(s->dirfd, (struct sid){ 1 }, &s->reader),
	    0);
	s->page_fd = memfd_create("reader", MFD_CLOEXEC);
	cr_assert_eq(ftruncate(s->page_fd, 4096), 0);
	s->page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
	    s->page_fd, 0);
	for (int i = 0; i < 2; i++) {
		struct feeder *f = &s->feeders[i];

		cr_assert_eq(pipe2(s->pipes[i], O_CLOEXEC), 0);
		*f = (struct feeder){ .fd = s->pipes[i][1], .stream = i,
			.seed = (unsigned)random(), .stop = &s->stop };
		/* Without credit the reader cannot tell two streams apart. */
		if (i == 1 && !s->credit)
			close(f->fd);
		else
			cr_assert_eq(pthread_create(&f->thread, NULL, feed, f),
			    0);
	}
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* Lets the last pumper finish, compares all counts, cleans up. */
static void
story_end(struct story *s, struct totals *t)
{
	struct ring_facts f;
	int status;

	pumper_start(s, false);
	s->stop = true;
	while (waitpid(s->pumper, &status, WNOHANG) == 0)
		read_some(s);
	cr_assert_eq(status, 0, "pumper: %x", (unsigned)status);
	while (read_some(s))
		;
	for (int i = 0; i < (s->credit ? 2 : 1); i++)
		pthread_join(s->feeders[i].thread, NULL);
	cr_assert_eq(ring_facts(&s->reader, &f), RING_OK);
	cr_assert_eq(f.head, s->feeders[0].fed + s->feeders[1].fed);
	cr_assert_eq(s->pos, f.head);
	cr_assert_eq(s->of[0], s->feeders[0].fed);
	cr_assert_eq(s->of[1], s->feeders[1].fed);
	if (s->credit)
		cr_assert_leq(s->dropped, f.raw.dropped_nospace);
	t->bytes += f.head;
	t->dropped += s->dropped;
	t->laps += f.raw.lap;
	t->rings++;
	ring_reader_close(&s->reader);
	munmap(s->page, 4096);
	close(s->page_fd);
	close(s->pipes[0][0]);
	close(s->pipes[1][0]);
	close(s->dirfd);
	nftw(s->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

Test(ring_kill, loses_and_doubles_nothing, .timeout = 3600)
{
	const char *env = getenv("PSUP_TORTURE_KILLS");
	uint64_t want = env != NULL ? strtoull(env, NULL, 10) : 300;
	struct totals t = { 0 };
	static struct story s;
	unsigned seed;

	env = getenv("PSUP_SEED");
	seed = env != NULL ? (unsigned)strtoul(env, NULL, 10) :
			     (unsigned)clock_wall_ms();
	fprintf(stderr, "seed %u\n", seed);
	srandom(seed);
	signal(SIGPIPE, SIG_IGN);
	while (t.kills < want) {
		story_begin(&s);
		for (unsigned i = 0; i < KILLS_PER_RING && t.kills < want; i++)
			pumper_kill(&s, &t, pumper_start(&s, true));
		story_end(&s, &t);
	}
	fprintf(stderr,
	    "%llu kills (%llu at fault points), %llu rings, %llu laps, "
	    "%llu bytes checked, %llu dropped and counted\n",
	    (unsigned long long)t.kills, (unsigned long long)t.by_fault,
	    (unsigned long long)t.rings, (unsigned long long)t.laps,
	    (unsigned long long)(t.bytes - t.dropped),
	    (unsigned long long)t.dropped);
}
