/* SPDX-License-Identifier: MIT */
/* Words for upgrades: other builds, and sessions whose every byte is known. */
#ifndef PSUP_LIB_UPGRADE_H
#define PSUP_LIB_UPGRADE_H

#include "lib_scn.h"

/* Where another build's programs are: "next", "foreign"; NULL: this one's. */
const char *build_dir(const char *name);
/* A directory of its own with those of `from`, where `program` is an imposter
 * of that kind: "dies", "hangs", "blind". */
const char *dir_with_imposter(const char *kind, const char *program);
/* Copies a program, over whatever is there, by a rename as packages do. */
void install_program(const char *from_dir, const char *program,
    const char *to_dir);

/* psup upgrade DIR, waited for; it must work. */
void upgrade_to(const char *dir);
/* Every process of the server is of this build now: "" or "+next" behind the
 * version. */
void expect_build(const char *suffix);
/* How many processes there are of it, 1 + 1 + workers + 1, and which. */
void note_pids(pid_t ret[16]);

/* The master was replaced: asks the next one. */
void connect_again(void);

/* How many descriptors the keeper has, once all `workers` and the standby have
 * their channels; and that it comes back to no more. */
int keeper_fds(int workers);
void await_keeper_fds(int most);

/* n sessions that write a known stream until end_streams(), which compares
 * every byte. */
void begin_streams(int n);
void end_streams(void);

#endif
