/* SPDX-License-Identifier: MIT */
/* What stories are made of, for story.c, story_check.c and kinds.c alone. */
#ifndef PSUP_CHAOS_STORY_H
#define PSUP_CHAOS_STORY_H

#include "chaos.h"

#define STORY_PIECE 262144 /* bytes that a poll asks for */

/* One session and what it must give. */
struct story {
	psup *p;
	enum kind kind;
	uint32_t n;
	char id[ID_BYTES];
	uint64_t bytes;     /* of its output in all; UINT64_MAX: no end */
	uint64_t seen;      /* position up to which it was compared */
	bool may_drop;      /* more output than is kept: gaps may be told */
	uint64_t uncertain; /* input that it may not have had, as it is told */
	uint64_t shift;     /* of that, what it did not have */
	uint64_t moved_ns;  /* when something of it last came, or went */
	long keepers;       /* keepers that had died when it was asked for */
	long boxes;         /* ... and boxes of the place where it runs */
	bool over;          /* its end was seen */
	int code;           /* its exit code; -1: none */
	const char *signal; /* "SIGSEGV", or NULL */
	const char *reason; /* exitReason */
	double timeout_s;   /* 0: none */
	char spill[96];     /* a file of all its output; "": none */
};

/* The exec of a child of ours: `argv` after FILE and N; NULL-terminated. No
 * word: of a program that is not there. */
psup_args *story_args(struct story *s, const char *word,
    const char *const *rest);
/* Starts it in the background; false: it was counted, give it up. */
bool story_start(struct story *s, psup_args *a);
/* Compares what is new, waiting up to wait_ms for it. False: given up. */
bool story_look(struct story *s, int wait_ms);
/* The same, unless it is over. False, too, where nothing has come or gone for a
 * minute: that is counted. */
bool story_step(struct story *s, int wait_ms);
/* Kills it with all its tree; a repeat may find it ended. */
void story_kill(struct story *s, int grace_ms);
/* Follows it to its end and compares that. */
void story_follow(struct story *s);
/* The same, and has it forgotten. */
void story_finish(struct story *s);
/* Forgets it. A repeat may find that it was forgotten already. */
void story_clear(struct story *s);
/* Takes and compares what a poll gave. Returns its bytes. */
size_t story_take(struct story *s, const psup_value *details);
/* Has what it runs in, its keeper or its box, died since? */
bool story_may_be_lost(const struct story *s);
/* The end of a session against what it must be. */
void story_check_end(struct story *s, const psup_value *details);
/* Compares an exec's own answer. */
void story_answered(struct story *s, const psup_value *details);
/* Compares `size` bytes that begin at `pos`. */
void story_compare(struct story *s, uint64_t pos, const char *data,
    size_t size);

#endif
