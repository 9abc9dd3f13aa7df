/* SPDX-License-Identifier: MIT */
/*
 * The board: the master writes slots under their seqlocks, everybody of the
 * uid reads them. A reader never writes, so one that is stopped or killed
 * costs nothing; a writer that was killed half way leaves an odd `seq`, which
 * the next board_attach(writable) clears.
 *
 * Slot contents are copied word by word with relaxed atomics between the
 * fences: the words may be torn among each other, the seqlock says so.
 */
#include "shm/board.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/abi.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/fault.h"
#include "shm/lent_map.h"
#include "shm/shm_file.h"

#define BOARD_FILE      "board"
#define BOARD_SLOT_BYTES 512u
#define BOARD_HEADER_BYTES                                                     \
	((uint32_t)((sizeof(struct board_header) + SHM_PAGE - 1) / SHM_PAGE *  \
	    SHM_PAGE))
#define BOARD_SLOTS_MAX (1u << 20)
#define SLOTS           16384u
#define SLOTS_SMALL     2048u
#define SMALL_FS_BYTES  (256ull << 20)
#define TRIES           3

/* A slot is a seq word and this many words under it. */
#define SLOT_WORDS (sizeof(struct board_slot) / 4 - 1)
#define LANE_WORDS (sizeof(struct board_lane) / 4 - 1)
static_assert(offsetof(struct board_slot, generation) == 4, "seq comes first");
static_assert(offsetof(struct board_lane, width) == 4, "seq comes first");
static_assert(sizeof(struct board_slot) % 4 == 0, "slots are whole words");

/* Bytes of a board with that many slots. */
static size_t
board_bytes(uint32_t slot_count)
{
	return BOARD_HEADER_BYTES + (size_t)slot_count * BOARD_SLOT_BYTES;
}

/* Slot i of the mapping. */
static struct board_slot *
slot_at(const struct board *b, uint32_t i)
{
	CHECK(i < b->slot_count);
	return (struct board_slot *)(void *)((char *)b->hdr +
	    BOARD_HEADER_BYTES + (size_t)i * BOARD_SLOT_BYTES);
}

/* How many slots fit where the directory lies. */
uint32_t
board_slots_for(int dirfd)
{
	struct statvfs fs;

	if (fstatvfs(dirfd, &fs) == 0 &&
	    (uint64_t)fs.f_blocks * fs.f_frsize < SMALL_FS_BYTES)
		return SLOTS_SMALL;
	return SLOTS;
}

/* Makes the file. */
int
board_create(int dirfd, uint32_t slot_count, uint64_t incarnation)
{
	struct board_header *h;
	size_t bytes;
	void *map;
	int err;

	if (slot_count == 0 || slot_count > BOARD_SLOTS_MAX)
		return -EINVAL;
	bytes = board_bytes(slot_count);
	err = shm_file_create(dirfd, BOARD_FILE, bytes, &map);
	if (err != 0)
		return err;
	h = map;
	h->magic = BOARD_MAGIC;
	atomic_store(&h->stamp, abi_stamp(ABI_BOARD));
	h->header_bytes = BOARD_HEADER_BYTES;
	h->slot_bytes = BOARD_SLOT_BYTES;
	h->slot_count = slot_count;
	h->incarnation = incarnation;
	h->created_ms = clock_wall_ms();
	err = shm_file_publish(dirfd, BOARD_FILE, map);
	if (err == 0)
		lent_unmap(map);
	return err;
}

/* Checks the fixed part of the header against the file's size. */
static int
header_check(const struct board_header *h, uint64_t bytes)
{
	if (h->magic != BOARD_MAGIC)
		return -EBADMSG;
	if (!abi_reads(ABI_BOARD, atomic_load(&h->stamp)))
		return -EPROTO;
	if (h->header_bytes != BOARD_HEADER_BYTES ||
	    h->slot_bytes != BOARD_SLOT_BYTES || h->slot_count == 0 ||
	    h->slot_count > BOARD_SLOTS_MAX ||
	    board_bytes(h->slot_count) != bytes)
		return -EBADMSG;
	return 0;
}

/* What the header says that the file is of. */
int
board_stamp(int dirfd, uint32_t *ret)
{
	struct board_header fixed;
	uint64_t bytes;
	int fd, err = -EBADMSG;

	fd = shm_file_open(dirfd, BOARD_FILE, false, &bytes);
	if (fd < 0)
		return fd;
	if (pread(fd, &fixed, sizeof(fixed), 0) == (ssize_t)sizeof(fixed) &&
	    fixed.magic == BOARD_MAGIC) {
		*ret = atomic_load(&fixed.stamp);
		err = 0;
	}
	close(fd);
	return err;
}

/* Clears what a killed master left half written, and counts anew. */
static void
board_repair(struct board *b)
{
	uint64_t counts[STATE_COUNT] = { 0 };
	struct board_slot *s;
	uint32_t seq;

	for (uint32_t i = 0; i < b->slot_count; i++) {
		s = slot_at(b, i);
		seq = RELAXED(s->seq);
		if (seq % 2 == 1 || s->state >= STATE_COUNT) {
			s->state = STATE_FREE;
			atomic_store_explicit(&s->seq, (seq | 1) + 1,
			    memory_order_release);
		}
		counts[s->state]++;
	}
	counts[STATE_FREE] = 0;
	for (uint32_t i = 0; i < STATE_COUNT; i++)
		SET_RELAXED(b->hdr->counts[i], counts[i]);
	for (uint32_t i = 0; i < BOARD_LANES; i++) {
		seq = RELAXED(b->hdr->lanes[i].seq);
		if (seq % 2 == 1) {
			b->hdr->lanes[i].name[0] = '\0';
			atomic_store_explicit(&b->hdr->lanes[i].seq, seq + 1,
			    memory_order_release);
		}
	}
}

/* A reader's copy of the header. */
static int
header_copy(int fd, void **ret)
{
	void *copy = malloc(BOARD_HEADER_BYTES);

	if (copy == NULL)
		return -ENOMEM;
	if (pread(fd, copy, BOARD_HEADER_BYTES, 0) ==
	    (ssize_t)BOARD_HEADER_BYTES) {
		*ret = copy;
		return 0;
	}
	free(copy);
	return -EBADMSG;
}

/* Maps the board, or opens it for reading. */
int
board_attach(int dirfd, bool writable, struct board *ret)
{
	struct board b = { .writable = writable };
	struct board_header fixed;
	uint64_t bytes;
	void *map;
	int fd, err;

	fd = shm_file_open(dirfd, BOARD_FILE, writable, &bytes);
	if (fd < 0)
		return fd;
	err = -EBADMSG;
	if (pread(fd, &fixed, sizeof(fixed), 0) == (ssize_t)sizeof(fixed))
		err = header_check(&fixed, bytes);
	if (err == 0)
		err = writable ? lent_map(fd, 0, (size_t)bytes, true, &map)
			       : header_copy(fd, &map);
	if (err == 0 && !writable) {
		b.by_read = true;
		b.fd = fd;
	} else {
		close(fd);
	}
	if (err != 0)
		return err;
	b.hdr = map;
	b.bytes = (size_t)bytes;
	b.slot_count = fixed.slot_count;
	if (writable) {
		board_repair(&b);
		atomic_store(&b.hdr->stamp, abi_stamp(ABI_BOARD));
	}
	*ret = b;
	return 0;
}

/* Is the file that is mapped there, whole and a board? */
bool
board_is_sound(int dirfd, const struct board *b)
{
	uint64_t bytes;
	int fd;
	bool sound;

	fd = shm_file_open(dirfd, BOARD_FILE, false, &bytes);
	if (fd < 0)
		return false;
	sound = bytes == b->bytes && !lent_map_lost(b->hdr) &&
	    lent_map_is_of(b->hdr, fd) && header_check(b->hdr, bytes) == 0 &&
	    b->hdr->slot_count == b->slot_count;
	close(fd);
	return sound;
}

/* Unmaps it. */
void
board_detach(struct board *b)
{
	if (b->by_read) {
		close(b->fd);
		free(b->hdr);
	} else if (b->hdr != NULL) {
		lent_unmap(b->hdr);
	}
	*b = (struct board){ 0 };
}

/* Writes `words` words after the seq word at `to`. */
static void
locked_write(_Atomic uint32_t *to, const void *from, size_t words)
{
	uint32_t seq = RELAXED(*to) | 1;
	const uint32_t *src = (const uint32_t *)from + 1;
	uint32_t *dst = (uint32_t *)((uintptr_t)to + 4);

	SET_RELAXED(*to, seq);
	/* Readers that see a word of ours see the odd seq: pairs with the
	 * acquire fence in locked_read(). */
	atomic_thread_fence(memory_order_release);
	for (size_t i = 0; i < words; i++)
		__atomic_store_n(&dst[i], src[i], __ATOMIC_RELAXED);
	FAULT("board.in-write");
	atomic_store_explicit(to, seq + 1, memory_order_release);
}

/* Copies `words` words after the seq word at `from`; -EBUSY after TRIES. */
static int
locked_read(const _Atomic uint32_t *from, void *to, size_t words)
{
	const uint32_t *src = (const uint32_t *)((uintptr_t)from + 4);
	uint32_t *dst = (uint32_t *)to + 1;
	uint32_t seq;

	for (int try = 0; try < TRIES; try++) {
		/* Pairs with the release at the end of locked_write(). */
		seq = atomic_load_explicit(from, memory_order_acquire);
		if (seq % 2 == 1)
			continue;
		for (size_t i = 0; i < words; i++)
			dst[i] = __atomic_load_n(&src[i], __ATOMIC_RELAXED);
		atomic_thread_fence(memory_order_acquire);
		if (RELAXED(*from) == seq)
			return 0;
	}
	return -EBUSY;
}

/*
 * The same from the file: whole is what two copies agree on, with the same
 * even seq. The first saw that seq, so words of a write before it are in the
 * second; had a later write touched a word of the first, the second would
 * show that one's odd seq or the next. A file cut short is no SIGBUS here.
 */
static int
file_read(const struct board *b, uint64_t at, void *to, size_t bytes)
{
	unsigned char again[sizeof(struct board_slot)];
	uint32_t seq;

	CHECK(bytes <= sizeof(again));
	for (int try = 0; try < TRIES; try++) {
		if (pread(b->fd, to, bytes, (off_t)at) != (ssize_t)bytes)
			return -EBADMSG;
		memcpy(&seq, to, sizeof(seq));
		if (seq % 2 == 1)
			continue;
		/* Pairs with the release fence and store of locked_write(). */
		atomic_thread_fence(memory_order_acquire);
		if (pread(b->fd, again, bytes, (off_t)at) != (ssize_t)bytes)
			return -EBADMSG;
		if (memcmp(to, again, bytes) == 0)
			return 0;
	}
	return -EBUSY;
}

/* Moves one session from a state to another in the counts. */
static void
counts_move(struct board *b, uint32_t from, uint32_t to)
{
	_Atomic uint64_t *counts = b->hdr->counts;

	if (from != STATE_FREE && from < STATE_COUNT && counts[from] > 0)
		COUNT_UP(counts[from], (uint64_t)-1);
	if (to != STATE_FREE)
		COUNT_UP(counts[to], 1);
}

/* Fills a slot. */
void
board_put(struct board *b, uint32_t i, const struct board_slot *s)
{
	struct board_slot *slot = slot_at(b, i);
	uint32_t old = slot->state;
	struct board_slot copy = *s;

	CHECK(b->writable && s->state < STATE_COUNT);
	copy.generation = slot->generation;
	if (s->state != STATE_FREE &&
	    (old == STATE_FREE || slot->sid != s->sid))
		copy.generation++;
	locked_write(&slot->seq, &copy, SLOT_WORDS);
	if (old != s->state)
		counts_move(b, old, s->state);
	if (i >= RELAXED(b->hdr->slots_high))
		atomic_store_explicit(&b->hdr->slots_high, i + 1,
		    memory_order_release);
}

/* Frees a slot; nothing of the session stays in it. */
void
board_clear(struct board *b, uint32_t i)
{
	struct board_slot *slot = slot_at(b, i);
	struct board_slot empty = { .generation = slot->generation,
		.state = STATE_FREE };
	uint32_t old = slot->state;

	CHECK(b->writable);
	if (old == STATE_FREE)
		return;
	locked_write(&slot->seq, &empty, SLOT_WORDS);
	counts_move(b, old, STATE_FREE);
}

/* Fills a lane's entry. */
void
board_put_lane(struct board *b, uint32_t i, const struct board_lane *l)
{
	CHECK(b->writable && i < BOARD_LANES);
	locked_write(&b->hdr->lanes[i].seq, l, LANE_WORDS);
}

/* Ends every string of a copy whose writer may be anybody. */
static void
slot_end_strings(struct board_slot *s)
{
	s->slug[sizeof(s->slug) - 1] = '\0';
	s->name[sizeof(s->name) - 1] = '\0';
	s->scope[sizeof(s->scope) - 1] = '\0';
	s->lane[sizeof(s->lane) - 1] = '\0';
	s->label[sizeof(s->label) - 1] = '\0';
	s->command[sizeof(s->command) - 1] = '\0';
}

/* Copies a slot. */
int
board_get(const struct board *b, uint32_t i, struct board_slot *ret)
{
	struct board_slot copy;
	int err;

	if (i >= b->slot_count)
		return -EINVAL;
	copy.seq = 0;
	err = b->by_read ? file_read(b, BOARD_HEADER_BYTES +
	    (uint64_t)i * BOARD_SLOT_BYTES, &copy, sizeof(copy))
			 : locked_read(&slot_at(b, i)->seq, &copy, SLOT_WORDS);
	if (err != 0)
		return err;
	if (copy.state == STATE_FREE)
		return 0;
	if (copy.state >= STATE_COUNT)
		return -EBADMSG;
	slot_end_strings(&copy);
	*ret = copy;
	return 1;
}

/* Copies a lane's entry; one without a name is free. */
int
board_get_lane(const struct board *b, uint32_t i, struct board_lane *ret)
{
	struct board_lane copy;
	int err;

	if (i >= BOARD_LANES)
		return -EINVAL;
	copy.seq = 0;
	err = b->by_read ? file_read(b, offsetof(struct board_header, lanes) +
	    i * sizeof(copy), &copy, sizeof(copy))
			 : locked_read(&b->hdr->lanes[i].seq, &copy, LANE_WORDS);
	if (err != 0)
		return err;
	copy.name[sizeof(copy.name) - 1] = '\0';
	if (copy.name[0] == '\0')
		return 0;
	*ret = copy;
	return 1;
}
