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

/* As codec_decode(), without building anything. On CODEC_INCOMPLETE `used` is
 * a lower bound of the object's size. */
enum codec_error codec_scan(const unsigned char *buf, size_t size,
    const struct codec_limits *limits, struct codec_extent *ret, char *why,
    size_t why_size);

#endif
