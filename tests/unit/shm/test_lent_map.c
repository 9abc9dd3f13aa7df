/* SPDX-License-Identifier: MIT */
/* Mappings of files that others cut short. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib_rings.h"
#include "shm/board.h"
#include "shm/lent_map.h"
#include "shm/stats.h"

static struct place place;

static void
setup(void)
{
	place_make(&place);
	lent_map_guard();
}

static void
teardown(void)
{
	place_remove(&place);
}

TestSuite(lent_map, .init = setup, .fini = teardown, .timeout = 20);

/* Cuts a file of the place. */
static void
cut(const char *name, off_t to)
{
	int fd = openat(place.fd, name, O_WRONLY | O_CLOEXEC);

	cr_assert(fd >= 0 && ftruncate(fd, to) == 0);
	close(fd);
}

Test(lent_map, a_cut_file_reads_as_zeros_and_takes_writes)
{
	volatile char *map;
	void *at;
	int fd = openat(place.fd, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	cr_assert(fd >= 0 && ftruncate(fd, 4 * 4096) == 0);
	cr_assert_eq(lent_map(fd, 0, 4 * 4096, true, &at), 0);
	map = at;
	map[4096] = 'a';
	cr_assert_not(lent_map_lost(at));
	cut("f", 4096);
	cr_assert_eq(map[4096], 0);
	cr_assert(lent_map_lost(at));
	cr_assert_eq(lent_maps_lost(), 1);
	map[3 * 4096] = 'b';
	cr_assert_eq(map[3 * 4096], 'b');
	/* the file's again, where it was */
	cut("f", 4 * 4096);
	cr_assert_eq(pwrite(fd, "c", 1, 4096), 1);
	cr_assert_eq(lent_map_again(at, fd), 0);
	cr_assert_eq(map[4096], 'c');
	cr_assert_not(lent_map_lost(at));
	lent_unmap(at);
	close(fd);
}

/* In a process of its own: the handler lets it die. */
Test(lent_map, a_sigbus_of_another_mapping_is_a_death, .signal = SIGBUS)
{
	volatile char *map;
	int fd = openat(place.fd, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	(void)signal(SIGBUS, SIG_DFL); /* a sanitizer's handler would exit */
	lent_map_guard();
	cr_assert(fd >= 0 && ftruncate(fd, 4096) == 0);
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	cr_assert_neq((void *)(uintptr_t)map, MAP_FAILED);
	teardown();
	cr_assert_eq(ftruncate(fd, 0), 0);
	(void)map[0];
}

/* Keeper and owner meet again in another file, and the counts go on. */
Test(lent_map, stats_pages_are_made_again)
{
	struct stats_page *keeper, *own;
	const struct stats_page *seen;

	cr_assert_eq(stats_create(place.fd, &keeper), 0);
	cr_assert_eq(stats_attach_own(place.fd, 3, &own), 0);
	cr_assert_eq(stats_attach(place.fd, &seen), 0);
	own->spawned = 42;
	own->pid = 7;
	cr_assert_eq(unlinkat(place.fd, "stats", 0), 0);
	cr_assert_eq(stats_mend_own(place.fd, own), -ENOENT);
	cr_assert_eq(stats_mend_all(place.fd, keeper), 1);
	keeper[3].pid = 9;
	cr_assert_eq(stats_mend_own(place.fd, own), 1);
	cr_assert_eq(own->spawned, 42u);
	cr_assert_eq(own->pid, 9);
	cr_assert_eq(stats_follow(place.fd, seen), 0);
	own->spawned = 43;
	cr_assert_eq(keeper[3].spawned, 43u);
	cr_assert_eq(seen[3].spawned, 43u);
	/* cut: what stood there is gone, what comes is kept */
	cut("stats", 0);
	own->spawned = 44;
	cr_assert_eq(stats_mend_all(place.fd, keeper), 1);
	cr_assert_eq(stats_mend_own(place.fd, own), 1);
	own->ended = 5;
	cr_assert_eq(keeper[3].ended, 5u);
	/* overwritten */
	own->magic = 1;
	keeper[4].bytes = 3;
	cr_assert_eq(stats_mend_own(place.fd, own), 1);
	cr_assert_eq(own->ended, 0u);
	cr_assert_eq(stats_mend_all(place.fd, keeper), 1);
	cr_assert_eq(stats_mend_all(place.fd, keeper), 0);
	cr_assert_eq(stats_mend_own(place.fd, own), 0);
	stats_detach(own);
	stats_detach(keeper);
	stats_detach(seen);
}

Test(lent_map, a_ring_says_that_it_is_not_sound)
{
	const struct ring_geometry geo = {4096, 4096};
	struct ring_reader r;
	struct ring_writer w;

	cr_assert_eq(ring_create(place.fd, (struct sid){1}, 1, &geo, &w), 0);
	feed(&place, &w, RING_STDOUT, 100, 1);
	cr_assert(ring_is_sound(&w));
	w.hdr->off[0] = 1 << 30;
	cr_assert_not(ring_is_sound(&w));
	cr_assert_eq(write(place.pipe[1], "x", 1), 1);
	cr_assert_eq(ring_splice(&w, place.pipe[0], RING_STDOUT, 1, 1),
	    -EBADMSG);
	w.hdr->off[0] = RING_DATA_OFFSET + 100;
	cr_assert(ring_is_sound(&w));
	cr_assert_eq(ftruncate(w.fd, 0), 0);
	cr_assert_not(ring_is_sound(&w));
	ring_let_go(&w);
	cr_assert(ring_is_sound(&w));
	cr_assert_eq(ring_reader_open(place.fd, (struct sid){1}, &r),
	    -EBADMSG);
	ring_close(&w);
}

Test(lent_map, a_reader_of_the_board_dies_of_nothing)
{
	struct board_slot s = {.sid = 1, .state = STATE_RUNNING}, got;
	struct board m, r;

	cr_assert_eq(board_create(place.fd, 4, 1), 0);
	cr_assert_eq(board_attach(place.fd, true, &m), 0);
	board_put(&m, 0, &s);
	cr_assert_eq(board_attach(place.fd, false, &r), 0);
	cr_assert(board_is_sound(place.fd, &m));
	cut("board", 8192);
	cr_assert_eq(board_get(&r, 0, &got), -EBADMSG);
	cr_assert_not(board_is_sound(place.fd, &m));
	board_put(&m, 0, &s);
	board_detach(&r);
	board_detach(&m);
}
