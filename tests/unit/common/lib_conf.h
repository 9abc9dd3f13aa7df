/* SPDX-License-Identifier: MIT */
/* A psup.conf in a directory of its own, and what was read from it. */
#ifndef PSUP_TEST_LIB_CONF_H
#define PSUP_TEST_LIB_CONF_H

#include "common/config.h"

extern char conf_dir[], conf_path[64];
extern char why[600];
extern struct config config;

/* Before and after each test: the directory, and the defaults. */
void conf_init(void);
void conf_fini(void);
/* Writes the file and reads it; as config_read_file(), with `why`. */
int read_bytes(const char *text, size_t len);
int read_text(const char *text);
/* A directory below that of the test, made if it is not there. */
const char *dir(const char *name);

#endif
