/* SPDX-License-Identifier: MIT */
/* Hostile clients, for hostile*.c alone. */
#ifndef PSUP_CHAOS_HOSTILE_H
#define PSUP_CHAOS_HOSTILE_H

#include "chaos.h"

/* One kind of client that does nothing but what it may, without end. */
struct hostile {
	const char *word; /* of --hostile; its scope is "hostile-WORD" */
	void (*run)(const struct hostile *h) __attribute__((noreturn));
};

extern const struct hostile hostile_kinds[];
extern const size_t hostile_kind_count;

/* Many connections of one scope that one thread serves. */
struct crowd {
	const struct hostile *who;
	psup **p;
	int *under_way; /* requests without an answer, of each */
	size_t n;
};
/* n: at most 128. */
void crowd_init(struct crowd *c, const struct hostile *h, size_t n);
/* Sends on connection i and counts the request. Frees `a`. */
void crowd_send(struct crowd *c, size_t i, const char *method, psup_args *a);
/* Connects who is not, hears what came; waits up to wait_ms for something. */
void crowd_turn(struct crowd *c, int wait_ms);

/* A connection of the kind's scope; again and again until there is one. */
psup *hostile_connect(const struct hostile *h);
/* The same where that one is lost. */
void hostile_again(const struct hostile *h, psup **p);
/* The exec of a shell command in the background. */
psup_args *hostile_exec(const char *command);
/* Starts it; false: refused. Its id into ret_id (may be NULL). Frees `a`. */
bool hostile_start(psup *p, psup_args *a, char ret_id[ID_BYTES]);
/* A socket to the server that has said nothing; -1: refused. */
int hostile_socket(void);

/* Places of the file systems that answer nobody: the first one's requests end
 * when their process is killed, the second one's do not. */
#define DEAD_DIR   "dead"
#define SILENT_DIR "silent"

void hostile_paths(const struct hostile *h) __attribute__((noreturn));
void hostile_lease(const struct hostile *h) __attribute__((noreturn));
void hostile_requests(const struct hostile *h) __attribute__((noreturn));
void hostile_starts(const struct hostile *h) __attribute__((noreturn));
void hostile_unread(const struct hostile *h) __attribute__((noreturn));
void hostile_unfinished(const struct hostile *h) __attribute__((noreturn));
void hostile_waits(const struct hostile *h) __attribute__((noreturn));
void hostile_connections(const struct hostile *h) __attribute__((noreturn));
void hostile_guests(const struct hostile *h) __attribute__((noreturn));
void hostile_sessions(const struct hostile *h) __attribute__((noreturn));
void hostile_queue(const struct hostile *h) __attribute__((noreturn));
void hostile_output(const struct hostile *h) __attribute__((noreturn));
void hostile_scribble(const struct hostile *h) __attribute__((noreturn));

#endif
