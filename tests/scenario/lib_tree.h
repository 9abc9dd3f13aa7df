/* SPDX-License-Identifier: MIT */
/* Words about all that a session started: decoys that hide from its end, and
 * that nobody of them is left. */
#ifndef PSUP_LIB_TREE_H
#define PSUP_LIB_TREE_H

#include "lib_scn.h"

#define V1_CGROUP "[server]\ncgroup = v1\n"

/* Each says its pid: in the group; in a POSIX session of its own and deaf to
 * TERM; double-forked; behind nohup; with an empty environment. */
#define DECOYS_COUNT 5
#define DECOYS                                                              \
	"sh -c 'echo $$; exec sleep 1000' & "                               \
	"setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & "        \
	"(setsid sh -c 'echo $$; exec sleep 1000' &) ; "                    \
	"nohup sh -c 'echo $$; exec sleep 1000' 2>/dev/null & "             \
	"setsid env -i sh -c 'echo $$; exec sleep 1000' & "

/* The first n numbers that a session has printed, one a line. */
void pids_of(const char *id, size_t n, pid_t *ret);
/* A session whose command said the pids of n that outlive it, then read a line
 * and ended. */
const char *leave_behind(const char *command, size_t n, pid_t *ret);
/* The mark of a session, as its processes have it in their environment: no other
 * server's session ever has it, while its name may come again there. */
void mark_of(const char *id, char *ret, size_t size);
/* Each is gone by now. */
void expect_dead(const pid_t *pids, size_t n);

/*
 * Nobody is left: by now, where the answer says so. An answer that counts some
 * has used the whole second, names them, and they end all the same, since the
 * worker goes on: who is killed needs a processor to die on.
 */
void expect_nobody_left(const struct answer *a, int64_t grace_ms);
/* The same for a session that can be polled: the last word is 0, and true. */
void await_nobody_left(const struct answer *a, int64_t grace_ms);

#endif
