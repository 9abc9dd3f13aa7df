/* SPDX-License-Identifier: MIT */
/*
 * Keeper and master as puppets: the test process starts a real psup-worker,
 * is the parent of its commands, answers as keeper and master would, and
 * writes down what it was told. Waiting is always for an event, with one
 * deadline: UNTIL(p, what is to become true).
 */
#ifndef TEST_PUPPET_H
#define TEST_PUPPET_H

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/ctl.h"
#include "shm/layout.h"

#define PUPPET_SESSIONS 128

struct psession {
	struct sid sid;
	pid_t pid;     /* as the keeper learnt it; 0: not yet */
	int fds[4];    /* held: out, err, in, ptmx; -1 */
	bool told; /* by its child, SPAWNED */
	bool held, asked, exited_told, starting, running, failed, ended, closed;
	unsigned running_count, end_count, fail_count, no_space;
	unsigned passed; /* END came to the keeper */
	struct ctl_running run;
	struct ctl_failed fail;
	struct ctl_end end;
	struct ctl_left left; /* the last LEFT */
	unsigned left_count;
	uint64_t output_at;  /* of the last OUTPUT */
	bool output_told;
	struct ctl_stdin in; /* of the last STDIN_AT */
	bool stdin_told;
	struct ctl_input input; /* of the last INPUT */
	bool input_told;
	uint64_t spool_end;
};

struct puppet {
	char dir[64];
	int dirfd;
	struct stats_page *stats;
	pid_t worker;
	int keeper_fd, master_fd; /* our ends */
	unsigned generation;
	bool mounted; /* dir is a tmpfs of its own */
	bool ready, dump_end, keep_quiet; /* do not answer END, FAILED */
	bool deaf; /* the keeper reads nothing */
	bool passes, loses_ends; /* it passes END on, or would have */
	bool loses_asks; /* ... and answers no ASK_EXIT */
	bool orphaned; /* its workers find their keeper dead when they start
	                * a command */
	int channel_bytes; /* of what its workers may have sent to the keeper,
	                    * unread; 0: as the kernel likes */
	bool reads_nothing; /* an older keeper: it waits for SPAWNED */
	bool no_devpts; /* its workers can have no terminal; root only */
	struct psession s[PUPPET_SESSIONS];
	size_t count;
	uint64_t deadline_ns;
	struct ctl_msg msg;
};

void puppet_init(struct puppet *p);
void puppet_fini(struct puppet *p);
/* The same on a tmpfs of its own, of `kib`; false: we may not mount one. */
bool puppet_init_small(struct puppet *p, unsigned kib);

/* A worker, ready and with a master. */
void puppet_worker(struct puppet *p, const char *faults);
/* SIGKILL, its death confirmed, its channel read to the end. */
void puppet_kill_worker(struct puppet *p);
/* The worker died by itself, as a fault point made it. */
void puppet_bury_worker(struct puppet *p);
void puppet_master(struct puppet *p);
void puppet_give(struct puppet *p, struct psession *s);
/* Reads the pid of a session from its ring, as a keeper would. */
void puppet_read_pid(struct puppet *p, struct psession *s);

struct order {
	const char *sh;      /* run by /bin/sh -c; else argv */
	const char *argv[8];
	const char *path;    /* of argv; "/bin/sh" */
	const char *cwd;     /* "/" */
	unsigned flags;
	uint64_t timeout_ms, no_output_ms, credit;
	uint32_t start_ms;
	uint32_t grace_ms, head_bytes, tail_bytes;
	const char *text;    /* of stdin, then EOF */
	uint16_t cols, rows; /* with CTL_START_PTY */
	uint32_t pty_eof;    /* of text, ^D for a terminal alone */
	struct psession *again; /* another start of this one, ... */
	uint32_t attempt;    /* ... which so many came before */
	bool earlier;        /* as the first builds that say blob_at sent it */
};
struct psession *puppet_start(struct puppet *p, const struct order *o);
void puppet_kill(struct puppet *p, struct psession *s, int sig,
    uint32_t grace_ms, unsigned reason, unsigned flags);
void puppet_pos(struct puppet *p, struct psession *s, unsigned type,
    uint64_t pos);
void puppet_stdin(struct puppet *p, struct psession *s, uint64_t end,
    bool eof);
void puppet_look_input(struct puppet *p, struct psession *s);
void puppet_resize(struct puppet *p, struct psession *s, uint16_t cols,
    uint16_t rows);
/* Appends to the session's stdin and tells the worker. */
void puppet_write(struct puppet *p, struct psession *s, const char *data,
    size_t size);
void puppet_ended(struct puppet *p, struct psession *s);

/* Handles what arrives within a moment. Fails the test past the deadline. */
void puppet_step(struct puppet *p);
#define UNTIL(p, what)                                                         \
	do {                                                                   \
		puppet_deadline(p);                                            \
		while (!(what))                                                \
			puppet_step(p);                                        \
	} while (0)
void puppet_deadline(struct puppet *p);

/* The retained output, NUL-terminated in a static buffer; the header. */
const char *puppet_output(struct puppet *p, struct psession *s);
const struct ring_header *puppet_header(struct puppet *p, struct psession *s);
/* The worker's own page. */
const struct stats_page *puppet_stats(const struct puppet *p);
/* Open descriptors of the worker; -1 where we may not look. */
int puppet_worker_fds(struct puppet *p);

#endif
