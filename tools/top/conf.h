/* SPDX-License-Identifier: MIT */
/*
 * What psup-top keeps: $XDG_CONFIG_HOME/psup/top.conf, else
 * ~/.config/psup/top.conf. Lines of "name = value", # begins a comment. A file
 * with a mistake is not taken, named, and never written over.
 */
#ifndef TOP_CONF_H
#define TOP_CONF_H

#include "list.h"

#define CONF_BYTES 16384 /* a file may have */
#define CONF_WHY   512

struct conf {
	struct top_list list; /* what it asks for: columns and the order */
	bool has_sort;
	bool no_mouse, monochrome;
};

/* Pure: takes a text of `len` bytes. False: nothing of it is taken, and why,
 * with the line. */
bool conf_parse(const char *text, size_t len, struct conf *ret, char *ret_why,
    size_t size);
/* Pure: the same text with these columns ("": none). False: no room. */
bool conf_with_columns(const char *text, const char *names, char *dst,
    size_t size);

/* conf_file.c: 1; 0: there is no file; -1: it cannot be taken, and why. */
int conf_read(struct conf *ret, char *ret_why, size_t size);
/* Keeps the columns. True; in either case what is said of it. */
bool conf_keep(const struct top_list *l, char *ret_said, size_t size);

#endif
