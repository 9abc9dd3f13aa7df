/* SPDX-License-Identifier: MIT */
/*
 * ring_pumper DIR SEED MODE: recovers ring 1 of DIR and pumps descriptors 100
 * (stdout) and 101 (stderr) into it until both say EOF. Started, killed and
 * started again by tests/torture/test_ring_kill.c. Descriptor 102 is the
 * reader's page: in mode 'c' (credit) the pumper stays where it can be read.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "shm/ring.h"

struct reader_page {
	_Atomic uint64_t pos, segments;
};

/* How many bytes the next splice may move; 0: the reader is behind. */
static size_t
credit(const struct ring_writer *w, const struct reader_page *reader)
{
	uint64_t max = (uint64_t)random() % 70000 + 1, room;

	if (reader == NULL)
		return max;
	if (w->hdr->seg_count - reader->segments > 150)
		return 0;
	room = reader->pos + w->hdr->tail_bytes - ring_pos(w);
	return max < room ? max : room;
}

/* One turn over both streams; the number that are at their end. */
static int
turn(struct ring_writer *w, const struct reader_page *reader, bool ended[2])
{
	bool idle = true;

	for (int s = 0; s < 2; s++) {
		size_t max = credit(w, reader);
		ssize_t n;

		if (ended[s] || max == 0)
			continue;
		if (random() % 16 == 0)
			n = ring_discard(w, 100 + s, (enum ring_stream)s, max);
		else
			n = ring_splice(w, 100 + s, (enum ring_stream)s, max,
			    (uint64_t)random() % 64);
		if (n == 0)
			ended[s] = true;
		else if (n < 0 && n != -EAGAIN)
			exit(3);
		idle = idle && n <= 0;
	}
	if (idle)
		poll(NULL, 0, 1);
	return ended[0] + ended[1];
}

int
main(int argc, char **argv)
{
	struct reader_page *reader;
	struct ring_writer w;
	bool ended[2] = { false, false };
	int dirfd, err;

	/* A test that failed gives no more credit. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc != 4)
		return 2;
	srandom((unsigned)strtoul(argv[2], NULL, 10));
	dirfd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	reader = mmap(NULL, 4096, PROT_READ, MAP_SHARED, 102, 0);
	if (dirfd < 0 || reader == MAP_FAILED)
		return 2;
	err = ring_recover(dirfd, (struct sid){ 1 }, &w);
	if (err != 0) {
		fprintf(stderr, "ring_recover: %d\n", err);
		return 4;
	}
	while (turn(&w, argv[3][0] == 'c' ? reader : NULL, ended) < 2)
		;
	ring_close(&w);
	return 0;
}
