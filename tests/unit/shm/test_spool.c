/* SPDX-License-Identifier: MIT */
/* stdin's spool: append, splice on, punch behind. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib_rings.h"
#include "shm/spool.h"

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

TestSuite(spool, .init = setup, .fini = teardown, .timeout = 20);

Test(spool, carries_every_byte_once_and_gives_pages_back)
{
	static unsigned char data[50000], got[65536];
	struct ring_header hdr = { 0 };
	uint64_t end = 0, read_pos = 0, punched = 0;
	int master, worker;
	struct stat st;
	ssize_t n;

	cr_assert_eq(spool_open_read(place.fd, one), -ENOENT);
	master = spool_open_append(place.fd, one);
	worker = spool_open_read(place.fd, one);
	cr_assert(master >= 0 && worker >= 0);
	cr_assert_eq(spool_splice(worker, &hdr, place.pipe[1], 0), 0);
	for (int round = 0; round < 40; round++) {
		size_t size = (size_t)(round * 7919) % sizeof(data) + 1;

		for (size_t i = 0; i < size; i++)
			data[i] = byte_at(end + i);
		cr_assert_eq(spool_append(master, end, data, size), 0);
		end += size;
		while ((n = spool_splice(worker, &hdr, place.pipe[1], end)) !=
		    0) {
			cr_assert(n > 0 || n == -EAGAIN, "%zd", n);
			spool_punch(worker, (uint64_t)hdr.spool_off, &punched);
			n = read(place.pipe[0], got, sizeof(got));
			for (ssize_t i = 0; i < n; i++)
				cr_assert_eq(got[i], byte_at(read_pos++));
		}
		while ((n = read(place.pipe[0], got, sizeof(got))) > 0)
			for (ssize_t i = 0; i < n; i++)
				cr_assert_eq(got[i], byte_at(read_pos++));
	}
	cr_assert_eq(read_pos, end);
	cr_assert_eq((uint64_t)hdr.spool_off, end);
	spool_punch(worker, end, &punched);
	cr_assert_eq(fstat(worker, &st), 0);
	cr_assert_leq(st.st_blocks * 512, SHM_PAGE);
	close(master);
	close(worker);
}

Test(spool, says_full_damaged_and_closed_pipes)
{
	static unsigned char data[300000];
	struct ring_header hdr = { 0 };
	int fd = spool_open_append(place.fd, one);
	ssize_t n;

	signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(spool_append(fd, 0, data, sizeof(data)), 0);
	while ((n = spool_splice(fd, &hdr, place.pipe[1], sizeof(data))) > 0)
		;
	cr_assert_eq(n, -EAGAIN);
	cr_assert_eq(ftruncate(fd, 0), 0);
	hdr.spool_off = 0;
	close(place.pipe[0]);
	cr_assert_eq(pipe2(place.pipe, 0), 0);
	cr_assert_eq(spool_splice(fd, &hdr, place.pipe[1], 10), -EBADMSG);
	cr_assert_eq(spool_append(fd, 0, data, 10), 0);
	close(place.pipe[0]);
	cr_assert_eq(spool_splice(fd, &hdr, place.pipe[1], 10), -EPIPE);
	hdr.spool_off = -5;
	cr_assert_eq(spool_splice(fd, &hdr, place.pipe[1], 10), -EBADMSG);
	close(fd);
}
