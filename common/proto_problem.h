/* SPDX-License-Identifier: MIT */
/* How values are shown where one is refused; what is told of that is in proto.h. */
#ifndef PSUP_PROTO_PROBLEM_H
#define PSUP_PROTO_PROBLEM_H

#include "proto.h"

/* "a string" */
const char *proto_type_name(enum val_type type);
/* A value as people may see it, cut. */
void proto_show(const struct val *v, char *dst, size_t size);
/* Appends to a fixed buffer, cut to what fits. */
void proto_append(char *dst, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
