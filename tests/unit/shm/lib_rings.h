/* SPDX-License-Identifier: MIT */
#ifndef PSUP_TEST_LIB_RINGS_H
#define PSUP_TEST_LIB_RINGS_H

#include "shm/ring.h"

struct place {
	char path[64];
	int fd;
	int pipe[2];
};

void place_make(struct place *p);
void place_remove(struct place *p);
unsigned char byte_at(uint64_t pos);
void feed(struct place *p, struct ring_writer *w, enum ring_stream stream,
    uint64_t n, uint64_t wall_ms);
uint64_t check_all(struct ring_reader *r, uint64_t *pos, uint64_t *ret_bytes);

#endif
