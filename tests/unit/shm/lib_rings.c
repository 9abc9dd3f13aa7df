/* SPDX-License-Identifier: MIT */
/* A runtime directory of its own for every test, and a pipe to pump from. */
#include "lib_rings.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes the directory with rings/ and spool/. */
void
place_make(struct place *p)
{
	snprintf(p->path, sizeof(p->path), "/dev/shm/psup-test-XXXXXX");
	cr_assert_not_null(mkdtemp(p->path));
	p->fd = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(p->fd, 0);
	cr_assert_eq(mkdirat(p->fd, "rings", 0700), 0);
	cr_assert_eq(mkdirat(p->fd, "spool", 0700), 0);
	cr_assert_eq(pipe2(p->pipe, O_CLOEXEC | O_NONBLOCK), 0);
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* Removes it with all that is in it. */
void
place_remove(struct place *p)
{
	nftw(p->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	close(p->fd);
	close(p->pipe[0]);
	close(p->pipe[1]);
}

/* The byte that belongs at a position of every test stream. */
unsigned char
byte_at(uint64_t pos)
{
	return (unsigned char)((pos * 2654435761u) >> 13 ^ pos);
}

/* Writes `n` bytes of the stream at *pos to the pipe and moves them into the
 * ring. */
void
feed(struct place *p, struct ring_writer *w, enum ring_stream stream,
    uint64_t n, uint64_t wall_ms)
{
	unsigned char buf[65536];
	uint64_t pos = ring_pos(w), end = pos + n, put = pos;
	ssize_t moved;

	while (pos < end) {
		size_t k = 0;

		while (k < sizeof(buf) && put + k < end) {
			buf[k] = byte_at(put + k);
			k++;
		}
		if (k > 0) {
			ssize_t wrote = write(p->pipe[1], buf, k);

			if (wrote > 0)
				put += (uint64_t)wrote;
		}
		moved = ring_splice(w, p->pipe[0], stream, 1u << 20, wall_ms);
		cr_assert_gt(moved, 0, "splice: %zd", moved);
		pos += (uint64_t)moved;
	}
	cr_assert_eq(ring_pos(w), end);
}

/* Reads on from *pos to the head, checking every byte; returns the sum of what
 * was said to be dropped. */
uint64_t
check_all(struct ring_reader *r, uint64_t *pos, uint64_t *ret_bytes)
{
	static unsigned char buf[70000];
	enum ring_verdict v;
	uint64_t dropped, sum = 0;
	ssize_t n;

	*ret_bytes = 0;
	while ((n = ring_read(r, pos, buf, sizeof(buf), &dropped, &v)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			cr_assert_eq(buf[i], byte_at(*pos + (uint64_t)i),
			    "wrong byte at %llu",
			    (unsigned long long)(*pos + (uint64_t)i));
		*pos += (uint64_t)n;
		*ret_bytes += (uint64_t)n;
		sum += dropped;
		cr_assert_eq(v, dropped > 0 ? RING_OVERRUN : RING_OK);
	}
	cr_assert_eq(n, 0, "verdict %d", (int)v);
	return sum + dropped;
}
