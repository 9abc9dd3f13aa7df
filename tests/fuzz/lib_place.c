/* SPDX-License-Identifier: MIT */
/*
 * The directory is made once by the writers themselves and kept in memory;
 * before each input all of it is written back. Inputs are changes to it, not
 * files, so they stay short and survive a new layout. $PSUP_FUZZ_DIR is where
 * it is made; it goes when the program ends by itself.
 */
#include "lib_place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/board.h"
#include "shm/ring.h"
#include "shm/stats.h"

#define RING_BYTES  30000u /* laps: the tail holds 4096 + 65536 */
#define FILE_OFFSET 8u     /* a change begins at a multiple of this */

const struct sid place_sid = {1};

static const char *const names[PLACE_FILES] = {
	"rings/0000000000000001", "board", "stats"};
static char path[80];
static int dirfd = -1, fds[PLACE_FILES];
static char *kept[PLACE_FILES];
static size_t kept_bytes[PLACE_FILES];
static pid_t owner;

/* Takes the directory away. */
static void
place_remove(void)
{
	if (getpid() != owner)
		return;
	for (size_t i = 0; i < PLACE_FILES; i++)
		unlinkat(dirfd, names[i], 0);
	unlinkat(dirfd, "rings", AT_REMOVEDIR);
	rmdir(path);
}

/* A session's ring: two streams, a wrap, two sizes. */
static void
make_ring(void)
{
	const struct ring_geometry geo = {100, 4096};
	struct ring_writer w;
	char text[1000];
	int p[2];

	EXPECT(ring_create(dirfd, place_sid, 7, &geo, &w) == 0);
	EXPECT(pipe2(p, O_CLOEXEC | O_NONBLOCK) == 0);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 50 == 49 ? '\n' : (char)('a' + i % 26);
	ring_note_size(&w, 0, 80, 24, 1);
	for (unsigned i = 0; i < RING_BYTES * 3 / sizeof(text); i++) {
		EXPECT(write(p[1], text, sizeof(text)) == sizeof(text));
		EXPECT(ring_splice(&w, p[0], i % 7 == 3 ? RING_STDERR :
		    RING_STDOUT, sizeof(text), 1000 + i) > 0);
		if (i == 20)
			ring_note_size(&w, ring_pos(&w), 100, 30, 1000 + i);
	}
	close(p[0]);
	close(p[1]);
	ring_close(&w);
}

/* A board with a running and an ended session and a lane. */
static void
make_board(void)
{
	struct board_slot s = {.sid = 1, .state = STATE_RUNNING, .pid = 4,
		.exit_code = -1, .slug = "nova-gulf", .command = "make -j2"};
	struct board_lane l = {.width = 1, .active = 1, .name = "main"};
	struct board b;

	EXPECT(board_create(dirfd, 8, 7) == 0);
	EXPECT(board_attach(dirfd, true, &b) == 0);
	board_put(&b, 0, &s);
	s.sid = 2;
	s.state = STATE_ENDED;
	s.reason = END_EXIT;
	board_put(&b, 1, &s);
	board_put_lane(&b, 0, &l);
	board_detach(&b);
}

/* All of it, by those who write it in earnest. */
static void
make(void)
{
	const char *where = getenv("PSUP_FUZZ_DIR");
	struct stats_page *pages;
	struct stat st;

	snprintf(path, sizeof(path), "%s/psup-fuzz-XXXXXX",
	    where != NULL ? where : "/dev/shm");
	EXPECT(mkdtemp(path) != NULL);
	dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	EXPECT(dirfd >= 0 && mkdirat(dirfd, "rings", 0700) == 0);
	owner = getpid();
	atexit(place_remove);
	make_ring();
	make_board();
	EXPECT(stats_create(dirfd, &pages) == 0);
	pages[1].pid = 4;
	pages[2].pid = 5;
	stats_detach(pages);
	for (size_t i = 0; i < PLACE_FILES; i++) {
		fds[i] = openat(dirfd, names[i], O_RDWR | O_CLOEXEC);
		EXPECT(fds[i] >= 0 && fstat(fds[i], &st) == 0);
		kept_bytes[i] = (size_t)st.st_size;
		kept[i] = malloc(kept_bytes[i]);
		EXPECT(kept[i] != NULL &&
		    pread(fds[i], kept[i], kept_bytes[i], 0) == st.st_size);
	}
}

/* Writes everything back. */
int
place_reset(void)
{
	if (dirfd < 0)
		make();
	for (size_t i = 0; i < PLACE_FILES; i++) {
		EXPECT(ftruncate(fds[i], (off_t)kept_bytes[i]) == 0);
		EXPECT(pwrite(fds[i], kept[i], kept_bytes[i], 0) ==
		    (ssize_t)kept_bytes[i]);
	}
	return dirfd;
}

/* Where it is. */
const char *
place_path(void)
{
	return path;
}

/* Changes a few bytes. */
void
place_patch(enum place_file f, const uint8_t **data, size_t *size)
{
	size_t at = take_short(data, size) * FILE_OFFSET, n;
	char *bytes = take_text(data, size, 255, &n);

	at %= kept_bytes[f];
	n = n < kept_bytes[f] - at ? n : kept_bytes[f] - at;
	EXPECT(pwrite(fds[f], bytes, n, (off_t)at) == (ssize_t)n);
	free(bytes);
}

/* Cuts. */
void
place_cut(unsigned bytes)
{
	EXPECT(ftruncate(fds[PLACE_RING], (off_t)bytes) == 0);
}
