/* SPDX-License-Identifier: MIT */
/*
 * The read-only view of a server's shared memory: sessions, lanes, processes
 * and retained output. It asks nobody: it works while the master is down, and
 * a reader that is stopped or killed harms nobody. It sees every scope.
 *
 * Every struct is a copy. Names point to constants.
 */
#ifndef PSUP_VIEW_H
#define PSUP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef PSUP_API
#define PSUP_API __attribute__((visibility("default")))
#endif

typedef struct psup_view psup_view;

/*
 * Opens the view of the server at runtime_dir (NULL: as psup_options). `why`
 * (may be NULL) gets a sentence on failure. Returns 0, -ENOENT (no server was
 * ever there), -EPROTO (another version's memory), -EBADMSG (damaged), -errno.
 */
PSUP_API int psup_view_open(const char *runtime_dir, psup_view **ret,
    char *why, size_t why_size);
PSUP_API void psup_view_close(psup_view **v);
/* The directory it looks at. */
PSUP_API const char *psup_view_dir(const psup_view *v);

/* --------------------------------------------------------------- sessions */

struct psup_view_session {
	uint64_t instance;  /* never used again */
	char id[48];        /* the slug */
	const char *state;  /* queued, starting, running, exited, ended */
	const char *status; /* running, completed, failed, killed, lost */
	const char *reason; /* exit, signal, ...; "none" before the end */
	int pid;            /* 0: none yet */
	int exit_code;      /* -1: none */
	int exit_signal;    /* 0: none */
	int worker;         /* slot; -1: none */
	uint32_t lane_position; /* in the queue, 1 first; 0: not queued */
	uint64_t created_ms, started_ms, ended_ms; /* wall clock; 0: not yet */
	uint64_t deadline_ms;                      /* wall clock; 0: none */
	uint64_t total_bytes; /* output; current for a running one */
	uint64_t last_output_ms; /* wall clock; 0: none */
	bool backgrounded, stdin_open;
	bool pty; /* on a terminal, or to be */
	bool boxed; /* in a box, or to be: host sandbox */
	char name[80], scope[48], lane[32], label[48];
	char command[128]; /* cut */
};

/* The next session after *cursor (start with 0), in no order. 1: filled, *cursor
 * moved on. 0: no more. While the master is down, the total, the last output
 * and an exit (state "exited") are known all the same. */
PSUP_API int psup_view_next_session(psup_view *v, size_t *cursor,
    struct psup_view_session *ret);

/* By slug, by instanceId as the server spells it, or by `instance` in decimal.
 * 0 or -ENOENT. */
PSUP_API int psup_view_find(psup_view *v, const char *id,
    struct psup_view_session *ret);

/* ----------------------------------------------------------------- output */

enum psup_verdict {
	PSUP_READ_OK,
	PSUP_READ_OVERRUN, /* `dropped` bytes before these are not retained */
	PSUP_READ_GONE,    /* there is no output (any more) */
	PSUP_READ_CORRUPT, /* damaged: nothing is returned */
	PSUP_READ_BUSY     /* a writer was met again and again: try later */
};

enum psup_stream { PSUP_STDOUT, PSUP_STDERR, PSUP_MIXED };

struct psup_view_chunk {
	uint64_t pos;     /* of the first byte returned */
	uint64_t next;    /* where to go on reading */
	uint64_t dropped; /* bytes between the asked and the returned position */
	uint64_t wall_ms; /* when it began to arrive; 0: not known */
	enum psup_stream stream; /* of all bytes returned */
	enum psup_verdict verdict;
};

/*
 * Reads retained output from position `from` on (0: the beginning): bytes of
 * one stream, never across a gap. Returns how many (0: nothing newer; `next`
 * is then where to ask again), or -1 with the verdict GONE, CORRUPT or BUSY.
 */
PSUP_API ssize_t psup_view_read_output(psup_view *v, uint64_t instance,
    uint64_t from, void *buf, size_t size, struct psup_view_chunk *ret);

/* Which size the session's terminal had from which position of its output on:
 * the first one and the last 22. <psup/screen.h> draws with them. */
struct psup_view_size {
	uint64_t pos, wall_ms;
	int cols, rows;
};
/* Fills up to `max`; returns how many (0: no terminal) or -errno. */
PSUP_API int psup_view_sizes(psup_view *v, uint64_t instance,
    struct psup_view_size *ret, size_t max);

/* -------------------------------------------------------------- processes */

struct psup_view_process {
	const char *role; /* keeper, master, worker, standby */
	int pid;          /* 0: down */
	int slot;         /* of a worker; -1 */
	uint32_t generation, restarts;
	uint64_t started_ms;       /* wall clock */
	uint64_t heartbeat_age_ms; /* UINT64_MAX: none yet */
	uint64_t sessions, spawned, spawn_failed, ended, bytes_moved, requests;
	char last_words[512];      /* of the incarnation that died */
};
PSUP_API int psup_view_next_process(psup_view *v, size_t *cursor,
    struct psup_view_process *ret);

/* ------------------------------------------------------------------ lanes */

struct psup_view_lane {
	char name[32];
	uint32_t width, active, queued, generation;
	bool paused, draining;
	/* what its queue waits for: paused, width, group (its group is full),
	 * reserved (by the group's other lanes), or "": nothing */
	const char *blocked_by;
};
PSUP_API int psup_view_next_lane(psup_view *v, size_t *cursor,
    struct psup_view_lane *ret);

/* ----------------------------------------------------------------- totals */

struct psup_view_totals {
	uint64_t queued, starting, running, exited, ended; /* sessions now */
	uint64_t started_ever, ended_ever, failed_ever;
	uint64_t budget_bytes, budget_used;
	uint64_t incarnation, created_ms, master_generation;
	uint64_t boxes, boxed; /* boxes there are; sessions in them */
};
PSUP_API void psup_view_totals(psup_view *v, struct psup_view_totals *ret);

#ifdef __cplusplus
}
#endif

#endif
