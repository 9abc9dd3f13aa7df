/* SPDX-License-Identifier: MIT */
/*
 * The ring of one session's output: the kernel keeps the cursor.
 * Layout, invariants and barriers: layout.h. One writer (the worker), any
 * number of readers, which only pread and never disturb the writer.
 */
#ifndef PSUP_SHM_RING_H
#define PSUP_SHM_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/ids.h"
#include "shm/layout.h"

/* ---------------------------------------------------------------- writer */

struct ring_writer {
	int fd;                  /* the file */
	struct ring_header *hdr; /* its first page, mapped read-write */
	uint32_t head_bytes, tail_bytes; /* our copies: the page is anybody's */
	uint64_t tail_cap;       /* T */
	uint64_t blocks;         /* tmpfs bytes this ring takes, a good guess */
	uint64_t recovered;      /* bytes its dead writer had not published */
};

struct ring_geometry {
	uint32_t head_bytes; /* 0..1 GiB, default 20 000 */
	uint32_t tail_bytes; /* 4096..1 GiB, default 200 000 */
};

/* Creates rings/<sid> under the runtime directory `dirfd`: header allocated
 * (posix_fallocate: no SIGBUS later), mapped, filled.
 * Errors: -ENOSPC, -EEXIST, -EMFILE, -errno; nothing is left behind. */
int ring_create(int dirfd, struct sid sid, uint64_t incarnation,
    const struct ring_geometry *geo, struct ring_writer *ret);

/* Makes the ring of a forgotten session, which its writer still has open, that of
 * `sid`: header anew, then renamed from `from` in one step, over one that is there.
 * A reader of the forgotten one finds it gone, and its output is in no file.
 * Errors: -EBADMSG (another geometry, or the header is damaged), -ENOENT (the
 * file is gone), -errno: it is of no use any more. */
int ring_recycle(int dirfd, const char *from, struct sid sid,
    uint64_t incarnation, const struct ring_geometry *geo,
    struct ring_writer *w);

/* Opens an existing ring after its writer's confirmed death and recovers:
 * reserve = head = what the offset says; the stretch beyond the last segment
 * goes to the noted stream.
 * Errors: -EBADMSG (header damaged), -errno. */
int ring_recover(int dirfd, struct sid sid, struct ring_writer *ret);

/* Unmaps and closes. The file stays: the master unlinks it. */
void ring_close(struct ring_writer *w);

/* Is the header still what its writer made of it? Anybody of our uid may cut
 * the file short or write to it. */
bool ring_is_sound(const struct ring_writer *w);
/* For one that is not: the header is private memory from here on, as of a ring
 * just made, and readers of the file find it corrupt. */
void ring_let_go(struct ring_writer *w);

/* The position after the last byte: what the kernel's offset says. */
uint64_t ring_pos(const struct ring_writer *w);

/*
 * Moves up to `max` bytes (and up to RING_MAX_SPLICE, and up to the wrap) from
 * a pipe into the ring, by one splice(2), and publishes them. What the kernel
 * will not splice is copied: there a kill may lose up to 16 KiB.
 * Returns bytes moved; 0: EOF. Errors: -EAGAIN (pipe empty), -ENOSPC (tmpfs
 * full; the data is still in the pipe), -EBADMSG (the header is not sound),
 * -errno.
 */
ssize_t ring_splice(struct ring_writer *w, int pipe_fd,
    enum ring_stream stream, size_t max, uint64_t wall_ms);

/* On -ENOSPC: throws up to `max` bytes of the pipe away and counts them as a
 * hole. Same returns. */
ssize_t ring_discard(struct ring_writer *w, int pipe_fd,
    enum ring_stream stream, size_t max);

/* Notes the terminal's size from `pos` on, unless it is that already. Sizes of
 * more than 1000 x 1000 are not noted. */
void ring_note_size(struct ring_writer *w, uint64_t pos, unsigned cols,
    unsigned rows, uint64_t wall_ms);

/* ---------------------------------------------------------------- reader */

struct ring_reader {
	int fd;
	struct sid sid;
	uint32_t head_bytes, tail_bytes;
	uint64_t tail_cap; /* T */
	uint64_t seen;     /* highest head seen: it never goes back */
	bool closed;       /* seen: nothing of it changes any more */
};

enum ring_verdict {
	RING_OK = 0,
	RING_OVERRUN, /* `dropped` bytes between the cursor and the data */
	RING_GONE,    /* no such ring (any more) */
	RING_CORRUPT, /* its writer wrote nonsense: nothing is returned */
	RING_BUSY     /* three tries met a writer; ask again */
};

/* Errors: -ENOENT, -EBADMSG (damaged), -errno. */
int ring_reader_open(int dirfd, struct sid sid, struct ring_reader *ret);
void ring_reader_close(struct ring_reader *r);

/* What the header page says now; copied once, checked. `raw` is the caller's
 * private copy of the whole page. */
struct ring_facts {
	struct ring_header raw;
	uint64_t head;    /* position */
	uint64_t oldest_tail; /* first retained position of the tail region;
	                       * == head_bytes while nothing is lost */
	uint64_t dropped; /* bytes that are in neither region (hole included) */
	uint64_t consumed; /* stdin */
};
enum ring_verdict ring_facts(struct ring_reader *r, struct ring_facts *ret);

/* The few facts that a list of many sessions shows: one small read. */
struct ring_glance {
	uint64_t head;           /* position */
	uint64_t last_output_ms; /* wall; 0: none yet */
	uint32_t stdin_state;    /* enum ring_stdin, if the writer is sane */
	uint64_t stdin_uncertain; /* bytes, of a terminal's input */
};
enum ring_verdict ring_glance(struct ring_reader *r, struct ring_glance *ret);

/* The facts of a session that is not open: one small read. 0, -ENOENT, or
 * -EBADMSG: another version's, or damaged. */
struct ring_look {
	uint64_t head;           /* position */
	uint64_t last_output_ms; /* wall; 0: none yet */
	uint64_t exited_ms;      /* wall; 0: it runs */
	int32_t pid;             /* 0: none yet */
	int32_t porter;          /* as in the header */
	int32_t exit_code;       /* CLD_*; 0: it runs */
	int32_t exit_status;
};
int ring_look(int dirfd, struct sid sid, struct ring_look *ret);

/*
 * Reads retained bytes from position *pos on, at most `size`, never across
 * the gap between head and tail region: a read that begins in the gap is
 * re-seated to the first retained byte after it, and *ret_dropped says over
 * how many bytes. *pos is then the position of the first byte returned.
 * Returns bytes read (0: nothing newer), *ret_verdict OK or OVERRUN; or -1
 * with GONE, CORRUPT or BUSY.
 */
ssize_t ring_read(struct ring_reader *r, uint64_t *pos, void *buf, size_t size,
    uint64_t *ret_dropped, enum ring_verdict *ret_verdict);
/* The same by facts read a moment ago, up to whose head the caller reads: where
 * nothing has moved since that saves a look at the header. */
ssize_t ring_read_known(struct ring_reader *r, const struct ring_facts *known,
    uint64_t *pos, void *buf, size_t size, uint64_t *ret_dropped,
    enum ring_verdict *ret_verdict);

/* The stream of position `pos`, by a header page read before, where its
 * stretch ends (> pos), and when it began to arrive (wall ms; 0: not known).
 * Older than the segment log: RING_MIXED. */
enum ring_stream ring_stream_at(const struct ring_header *raw, uint64_t pos,
    uint64_t *ret_end, uint64_t *ret_wall_ms);

/* The terminal's sizes, by a header page read before, oldest first. */
struct ring_resize {
	uint64_t pos; /* from here on; it may be beyond the head */
	uint64_t wall_ms;
	unsigned cols, rows; /* 1..1000 */
	bool after_more; /* sizes between the entry before and this are lost */
};
/* Returns how many; 0: no terminal. */
size_t ring_sizes(const struct ring_header *raw,
    struct ring_resize ret[RING_SIZES]);

#endif
