/* SPDX-License-Identifier: MIT */
/*
 * psup-bench: psup beside a raw loop that does the least that can be done, and
 * beside Node's child_process, in one run, round by round, so that a noisy
 * machine disturbs all of them alike. Figures are medians over the rounds.
 *
 *     bench.c    options, rounds, the table
 *     server.c   a server of its own, its processes' memory and time
 *     raw.c      the raw loops          node.c    Node's
 *     starts.c   sessions per second    output.c  bytes per second
 *     idle.c     memory, list, poll     events.c  exit to event, server start
 *     calls.c    calls of models through psup tool and psup-mcp
 *     many.c     a start, list, poll beside many sessions
 *     boxes.c    a command in a box beside one outside
 *     peers.c    other programs that run many commands
 */
#ifndef PSUP_BENCH_H
#define PSUP_BENCH_H

#include <psup/psup.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "common/clock.h"

#define ROUNDS_MAX  51
#define WORKERS_MAX 32

struct bench {
	bool quick, json, peers;
	const char *only; /* NULL: all */
	int rounds, round; /* how many; which one this is */
	double turn_sec;  /* length of one timed loop */
	char self[4096];  /* this program: it is the writer, too */
	char dir[64];     /* the runtime directory */
	psup *client;
	int workers;
	pid_t pids[WORKERS_MAX + 3]; /* keeper, master, workers, standby */
	int pid_count;
	pid_t master;
	LIST_ENTRY(bench) started; /* server.c's */
};

/* -------------------------------------------------------------- results */

/* What a loop measured. Times in µs; 0 where there is none. */
struct measure {
	double rate;
	double p50_us, p99_us;
	double sessions;
	double cpu_us, master_us; /* of the starting processes, a session */
};

/* Against the raw loop of the same round, or by itself. */
enum goal {
	GOAL_NONE,
	GOAL_RATIO_MIN,
	GOAL_RATIO_MAX,
	GOAL_ABOVE_MAX, /* so much above raw */
	GOAL_VALUE_MAX
};

/* One line of the table: medians of what the rounds gave. */
struct row {
	char figure[64];
	const char *unit;
	const char *raw_is; /* what the raw column ran; NULL: no raw */
	const char *beside; /* who that is in JSON; NULL: raw */
	double psup[ROUNDS_MAX], raw[ROUNDS_MAX], node[ROUNDS_MAX];
	int psup_n, raw_n, node_n;
	enum goal goal;
	double goal_value;
};

/* The row of this name, made where there is none. */
struct row *row_get(const char *figure, const char *unit, const char *raw_is,
    enum goal goal, double goal_value);
void row_psup(struct row *r, double v);
void row_raw(struct row *r, double v);
void row_node(struct row *r, double v);

/* Whether --only allows this family. */
bool bench_wants(const struct bench *b, const char *family);

/* Samples, in µs, growing; percentile sorts them. */
struct samples {
	float *v;
	size_t n, room;
};
void samples_add(struct samples *s, double us);
double samples_percentile(struct samples *s, double share);
void samples_free(struct samples *s);

void die(const char *fmt, ...)
    __attribute__((noreturn, format(printf, 1, 2)));
/* Waits for something on a connection; ends the program where it is lost, at
 * a signal, or when nothing came for half a minute. */
void turn(psup *client);
/* Ends the program unless a libpsup call went well. */
void need(const struct bench *b, int status, const char *what);

/* --------------------------------------------------------------- server.c */

void server_start(struct bench *b);
void server_stop(struct bench *b);
/* Those of a run that fails: none may stay. */
void server_stop_all(void);
/* Anonymous bytes of psup's processes together, from smaps_rollup. */
uint64_t server_private_bytes(const struct bench *b);
/* What the runtime directory takes on its tmpfs. */
uint64_t server_shared_bytes(const struct bench *b);
/* Time on a cpu: of all, or of the master. */
uint64_t server_cpu_ns(const struct bench *b, bool master_only);
/* Waits, 10 s at most, until it does little: what has just started is looked at
 * for a while, and what was removed is still being ended after the answer. */
void server_settle(const struct bench *b);
/* Starts n background sessions of argv and waits for the answers. ids: n
 * texts of 48 bytes. */
void server_background(struct bench *b, const char *const *argv, int n,
    char (*ret_ids)[48]);
/* Ends and forgets them. */
void server_remove(struct bench *b, char (*ids)[48], int n);

/* ------------------------------------------------------------------ raw.c */

/* Where the program of this name lies, looked for in PATH. */
void raw_find(const char *name, char ret[4096]);
/* Sessions of argv, `at_once` in flight in `procs` processes, for `sec`. */
struct measure raw_starts(const char *const *argv, int procs, int at_once,
    double sec);
enum raw_mode { RAW_SPLICE, RAW_READ };
/* `children` writers, drained into one ring each by `procs` processes: MB/s
 * over everything, start and end included. */
double raw_output(const char *const *argv, uint64_t bytes_each, int children,
    int procs, enum raw_mode mode);

/* ------------------------------------------------------------ raw_waits.c */

/* From the stamp that argv prints last to its pidfd, in µs. */
void raw_exits(const char *const *argv, int n, struct samples *ret);
/* From a request of 100 bytes to its answer of 600, in µs: two processes that
 * have nothing else to do. */
void raw_trips(int n, struct samples *ret);

/* ----------------------------------------------------------------- node.c */

/* rate < 0: no node here. */
struct measure node_starts(int at_once, double sec);

/* --------------------------------------------------------------- families */

/* starts.c: the closed loop through libpsup, on one connection. */
struct measure psup_starts(struct bench *b, const struct psup_exec *x,
    int at_once);
/* ... on this host; NULL: as psup.conf has it. */
struct measure psup_starts_on(struct bench *b, const struct psup_exec *x,
    const char *host, int at_once);
/* Each runs one round and adds to its rows. */
void starts_round(struct bench *b);
void output_round(struct bench *b);
void idle_round(struct bench *b);
void events_round(struct bench *b);
void calls_round(struct bench *b);
void many_round(struct bench *b);
void boxes_round(struct bench *b);
void peers_round(struct bench *b);

/* The other lives of this program: `psup-bench --child write BLOCK TOTAL`
 * and `--child stamp`. */
int child_main(int argc, char **argv);

#endif
