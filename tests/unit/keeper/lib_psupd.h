/* SPDX-License-Identifier: MIT */
/*
 * The real psupd with relays in place of master and workers: the test itself
 * is master and workers, message by message.
 */
#ifndef PSUP_TEST_LIB_PSUPD_H
#define PSUP_TEST_LIB_PSUPD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctl.h"
#include "heritage.h"

#define DEADLINE_MS 60000
#define WORKERS     2u /* and a standby */

/* A relay that called. */
struct peer {
	int fd;
	struct heritage h;
	pid_t pid;
};

/* The test's directory, the server's in it, the guard that runs the server,
 * and its stderr. */
extern char dir[64], run[80];
extern pid_t guard;
extern int guard_pipe, errors;
/* Who has called so far, and what was received last. */
extern struct peer peers[];
extern size_t peer_count;
extern struct ctl_msg msg;

void setup(void);
/* The guard kills what is left and removes the directory. */
void teardown(void);

/* guard psupd ...: stderr is readable in `errors`. */
pid_t start_psupd(const char *const extra[]);
/* Starts the server and answers everybody's first call. */
pid_t up(void);
/* How a guard ended. */
int exit_of(pid_t pid);
/* Waits until the server says that all its processes are ready. */
void await_ready(void);
/* All that was said on stderr. */
const char *said(void);

/* Waits until the descriptor is readable. */
void await(int fd, const char *what);
/* The relay of that role and slot and at least that generation. */
struct peer *peer_of(enum heritage_role role, uint32_t slot,
    uint32_t generation);
/* The next message of that type; others before it are skipped. */
struct ctl_msg *expect(struct peer *p, unsigned type);
void tell(struct peer *p, const void *m, size_t size, const int *fds,
    size_t n);
void tell_head(struct peer *p, unsigned type, uint64_t sid);

/* HOLD with the read end of a pipe. */
void hold(struct peer *p, uint64_t sid, int fd);
/* Has the relay run it by the shell. */
void spawn(struct peer *p, uint64_t sid, const char *command);
/* ... which tells nobody; who it is. */
pid_t spawn_untold(struct peer *p, uint64_t sid, const char *command);
/* Asks until the command has exited. */
struct ctl_exit exit_told(struct peer *p, uint64_t sid);
/* A whole session but for CLOSED. */
struct ctl_exit run_session(struct peer *p, uint64_t sid,
    const char *command);

/* The state letter of a process; 0: none there. */
char state_of(pid_t pid);
/* Waits until a process is gone, reaped and all. */
void await_gone(pid_t pid);

#endif
