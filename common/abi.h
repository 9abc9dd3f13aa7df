/* SPDX-License-Identifier: MIT */
/*
 * The versions of everything that two builds of psup may both touch: messages,
 * shared memory, records, what a keeper hands to its successor. One table
 * (abi.c), one rule.
 *
 * What is written carries a stamp: its version, and the oldest version of a
 * reader that may read it. So an older build can tell whether what a newer one
 * wrote is still for it; and a newer build knows how far back it reads:
 *
 *     version <= mine:  readable from `oldest` on
 *     version >  mine:  readable where its `reader` is not above mine
 *
 * A field may be added where older readers pass over it and 0 means "not
 * there": version + 1, reader as before. What older readers would misread:
 * version + 1, reader = version.
 */
#ifndef PSUP_ABI_H
#define PSUP_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum abi_id {
	ABI_WIRE,     /* clients and master: common/proto.def */
	ABI_HERITAGE, /* keeper to a new process: heritage.h */
	ABI_CTL,      /* messages between the processes: ctl.h */
	ABI_STATE,    /* keeper to its successor: keeper/upgrade/save.h */
	ABI_RING,     /* a session's output, shm/layout.h */
	ABI_BOARD,    /* likewise */
	ABI_STATS,    /* likewise */
	ABI_INDEX,    /* records of the index, their kinds and keys */
	ABI_COUNT
};

/* Who has to read whose while one build takes over from another. */
enum abi_need {
	ABI_FORWARD = 1, /* the new build reads what the old one wrote */
	ABI_BACKWARD = 2 /* and the other way round: both run at once, and
	                  * there is a way back */
};

struct abi {
	const char *name;
	uint16_t version; /* what this build writes */
	uint16_t reader;  /* a reader of this version on may read that */
	uint16_t oldest;  /* the oldest that this build reads */
	uint16_t need;    /* enum abi_need */
};

extern const struct abi abi_table[ABI_COUNT];

#define ABI_BUILD_MAX 48u

/* The version of this build, as people know it. */
const char *abi_build(void);

/* version | reader << 16 */
#define ABI_STAMP(version, reader) ((uint32_t)(version) | (uint32_t)(reader) << 16)
static inline uint16_t
abi_stamp_version(uint32_t stamp)
{
	return (uint16_t)(stamp & 0xffff);
}
static inline uint16_t
abi_stamp_reader(uint32_t stamp)
{
	return (uint16_t)(stamp >> 16);
}

/* What this build puts on what it writes. */
uint32_t abi_stamp(enum abi_id id);
/* The index that this process has opened carries that stamp, which it may read:
 * so it may have records newer than our own. */
void abi_index_is(uint32_t stamp);
/* May this build read a record of that version in it? */
bool abi_record_ok(uint64_t version);
/* May this build read what carries that stamp? */
bool abi_reads(enum abi_id id, uint32_t stamp);
/* "it is of layout 4, for readers of 4 on; this build reads 2 to 3" */
void abi_refusal(enum abi_id id, uint32_t stamp, char *ret, size_t size);

/* The table of another build, as its --versions printed it. */
struct abi_other {
	char build[ABI_BUILD_MAX];
	struct abi row[ABI_COUNT]; /* name unset; version 0: it has none */
};

/* Prints program, build and table: the answer to --versions. */
#define ABI_TEXT_MAX 2048u
size_t abi_print(const char *program, char *ret, size_t size);
/* Reads such an answer. false: it is none; why is said in `why`. */
bool abi_parse(const char *text, const char *program, struct abi_other *ret,
    char *why, size_t size);
/* Can that build take over what this one runs, and go back to it? false: why
 * names structure, version found and version expected. */
bool abi_agrees(const struct abi_other *o, char *why, size_t size);
/* Are the two of one build? */
bool abi_same(const struct abi_other *a, const struct abi_other *b);
/* For main(): is --versions the one argument? Then it is answered. */
bool abi_asked(int argc, char **argv, const char *program);

#endif
