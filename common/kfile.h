/* SPDX-License-Identifier: MIT */
/*
 * Files that the kernel makes up as they are read: those of /proc and of
 * control groups. They have no size, and may come in pieces; a FIFO that an
 * operator names in their place keeps nobody waiting.
 */
#ifndef PSUP_KFILE_H
#define PSUP_KFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Its first size - 1 bytes at most, ended with NUL: how many. -errno; the file
 * of a process that ends meanwhile gives -ESRCH. */
ssize_t kfile_read(int dirfd, const char *name, char *ret, size_t size);
/* 0 or -errno. */
int kfile_write(int dirfd, const char *name, const char *text);
int kfile_write_number(int dirfd, const char *name, int64_t v);

#endif
