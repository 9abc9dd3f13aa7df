/* SPDX-License-Identifier: MIT */
/*
 * The walk over MessagePack bytes that goes before every decode: is a whole
 * object there, does it keep the limits, how much memory will it take? It
 * allocates nothing and looks at headers only, strings are skipped. Between
 * codec_scan.c and codec.c.
 */
#ifndef PSUP_CODEC_SCAN_H
#define PSUP_CODEC_SCAN_H

#include "codec.h"

struct codec_extent {
	size_t used;         /* bytes of the object */
	size_t values;       /* nodes of the tree, the root included */
	size_t string_bytes; /* of all str and bin together */
	enum codec_error broken; /* what is known to be wrong, also of an
	                          * object that is not whole yet */
};

#define CODEC_DEPTH_MAX 16 /* of any limits */
#define CODEC_WHY_MAX   200

/* How far a walk has come, in an object that comes in pieces; from {0} on. */
struct codec_walk {
	bool begun;
	size_t pos;
	uint64_t outstanding, values;
	size_t string_bytes;
	uint32_t depth;
	struct codec_level {
		uint32_t left; /* values still to come */
		bool map;
	} levels[CODEC_DEPTH_MAX];
	enum codec_error broken; /* the first broken limit, ... */
	char why[CODEC_WHY_MAX]; /* ... and what it is */
};

/* A number of so many bytes, the highest first. */
static inline uint64_t
codec_number(const unsigned char *p, unsigned bytes)
{
	uint64_t v = 0;

	while (bytes-- > 0)
		v = v << 8 | *p++;
	return v;
}

/* As codec_decode(), without building anything. On CODEC_INCOMPLETE `used` is
 * a lower bound of the object's size, and another call with the same bytes and
 * more behind them goes on where this one ended; any other answer ends the
 * walk: it is {0} again but for `why`. */
enum codec_error codec_walk(struct codec_walk *w, const unsigned char *buf,
    size_t size, const struct codec_limits *limits, struct codec_extent *ret);
/* codec_decode() of what comes in pieces; `why` lies in *w. */
enum codec_error codec_decode_more(struct codec_walk *w, const void *buf,
    size_t size, const struct codec_limits *limits, struct codec_extent *ret,
    struct codec_arena **ret_arena, const struct val **ret_val);

#endif
