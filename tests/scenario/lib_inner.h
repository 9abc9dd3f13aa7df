/* SPDX-License-Identifier: MIT */
/* What the files of the vocabulary share. Scenarios include lib_scn.h. */
#ifndef PSUP_LIB_INNER_H
#define PSUP_LIB_INNER_H

#include "lib_scn.h"

struct guarded {
	pid_t pid; /* of the guard; -1: none */
	int pipe;  /* closing it kills what is under the guard */
};

extern struct scn {
	const char *name;
	char *base, *run, *conf, *log;
	struct guarded guard;
	struct peer *admin; /* the connection of plain ask() */
	bool gone;          /* the server was killed on purpose */
	bool ending;        /* it was asked to stop */
	int64_t withheld_ms; /* when it began */
} scn;

char *scn_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *scn_program(const char *name);
void scn_guard(const char *const *argv, const char *const *env, int in,
    int out, int err, struct guarded *ret);
int scn_guard_wait(struct guarded *g, int patience_ms);
/* Its command has ended, as the next wait will say at once. */
bool scn_guard_is_over(const struct guarded *g);

/* lib_ask.c */
void scn_connect(void);
void scn_ask_to_stop(void);
/* The next question goes over a new connection. */
void scn_ask_again(void);
void scn_hang_up(void);
void scn_show_asked(void);
void scn_free_asked(void);

/* lib_boxed.c: with is_boxed(), of a scenario that has its directory; what
 * psup.conf says then. */
void boxed_begin(const char *base);
const char *boxed_conf(const char *base, const char *text);

/* lib_proc.c */
void scn_show_processes(void);
void scn_remove_tree(const char *path);

#endif
