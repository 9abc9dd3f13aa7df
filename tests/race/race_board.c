/* SPDX-License-Identifier: MIT */
/*
 * The board's writer and its readers, and a stats page's owner and whoever
 * looks at it, as threads over one mapping: ThreadSanitizer (tests/long/races)
 * sees each word that both touch. What is written says the same everywhere, so
 * that half a slot, or half a lane, is seen as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "race.h"
#include "shm/board.h"
#include "shm/stats.h"

#define SLOTS   4u
#define READERS 2

static struct {
	struct board board;
	struct stats_page *page;
	_Atomic bool stop;
	_Atomic uint64_t whole, busy, written;
} story;

/* The master: all of a slot says the same number. */
static void *
write_all(void *arg)
{
	struct board_slot s = { .state = STATE_RUNNING };
	struct board_lane l = { .width = 1 };
	uint32_t slot;

	(void)arg;
	for (uint64_t n = 1; !story.stop; n++) {
		slot = (uint32_t)(n % SLOTS);
		s.sid = s.created_ms = s.started_ms = s.total = n;
		s.state = n % 3 == 0 ? STATE_ENDED : STATE_RUNNING;
		memset(s.command, (int)('a' + n % 26), sizeof(s.command) - 1);
		board_put(&story.board, slot, &s);
		if (n % 7 == 0)
			board_clear(&story.board, slot);
		l.active = l.queued = l.generation = (uint32_t)n;
		memset(l.name, (int)('a' + n % 26), sizeof(l.name) - 1);
		board_put_lane(&story.board, 0, &l);
		atomic_store(&story.page->heartbeat_ns, n);
		stats_add(&story.page->requests, 1);
		stats_observe(&story.page->poll, METRIC_CUT_WORK, n % 9000);
		story.written = n;
		if (n % 8 == 0)
			(void)sched_yield();
	}
	return NULL;
}

/* A slot is there as a whole, or not there. */
static void
read_slot(const struct board *b, uint32_t i)
{
	struct board_slot s;
	int r = board_get(b, i, &s);

	CHECK(r >= 0 || r == -EBUSY);
	if (r < 0)
		story.busy++;
	if (r != 1)
		return;
	CHECK(s.created_ms == s.sid && s.started_ms == s.sid &&
	    s.total == s.sid);
	for (size_t k = 0; k < sizeof(s.command) - 1; k++)
		CHECK(s.command[k] == (char)('a' + s.sid % 26));
	story.whole++;
}

static void
read_lane(const struct board *b)
{
	struct board_lane l;
	int r = board_get_lane(b, 0, &l);

	CHECK(r >= 0 || r == -EBUSY);
	if (r != 1)
		return;
	CHECK(l.queued == l.active && l.generation == l.active);
	CHECK(l.name[0] == (char)('a' + l.active % 26) &&
	    l.name[sizeof(l.name) - 2] == l.name[0]);
}

/* Whoever looks: psup-top, libpsup. */
static void *
read_all(void *arg)
{
	struct board b = story.board;
	uint64_t sum, seen = 0, now;

	(void)arg;
	b.writable = false;
	while (!story.stop) {
		for (uint32_t i = 0; i < SLOTS; i++)
			read_slot(&b, i);
		read_lane(&b);
		CHECK(b.hdr->slots_high <= SLOTS);
		sum = 0;
		for (uint32_t i = 0; i < STATE_COUNT; i++)
			sum += b.hdr->counts[i];
		/* each of them true, their sum not of one instant */
		CHECK(sum <= SLOTS + 2);
		now = atomic_load(&story.page->requests);
		CHECK(now >= seen);
		seen = now;
		for (size_t i = 0; i < STATS_BUCKETS; i++)
			sum += story.page->poll.count[i];
		(void)sched_yield();
	}
	return NULL;
}

int
main(void)
{
	char path[] = "/dev/shm/psup-race-XXXXXX";
	pthread_t writer, readers[READERS];
	int dirfd;

	CHECK(mkdtemp(path) != NULL);
	dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(board_create(dirfd, SLOTS, 1) == 0);
	CHECK(board_attach(dirfd, true, &story.board) == 0);
	CHECK(stats_create(dirfd, &story.page) == 0);
	CHECK(unlinkat(dirfd, "board", 0) == 0);
	CHECK(unlinkat(dirfd, "stats", 0) == 0);
	CHECK(rmdir(path) == 0);
	race_start(&writer, write_all, NULL);
	for (int i = 0; i < READERS; i++)
		race_start(&readers[i], read_all, NULL);
	race_wait();
	story.stop = true;
	pthread_join(writer, NULL);
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	printf("board: %llu written, %llu slots read whole, %llu met the "
	       "writer three times\n",
	    (unsigned long long)story.written,
	    (unsigned long long)story.whole, (unsigned long long)story.busy);
	CHECK(story.whole > 0 && story.written > 0);
	stats_detach(story.page);
	board_detach(&story.board);
	close(dirfd);
	return 0;
}
