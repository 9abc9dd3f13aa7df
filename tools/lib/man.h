/* SPDX-License-Identifier: MIT */
/* Manual pages as troff (man), to standard output. */
#ifndef PSUP_TOOLS_MAN_H
#define PSUP_TOOLS_MAN_H

#include "common/option.h"

/* The first line: "PSUP-TOP", of section 1. */
void man_title(const char *name);
/* Text in which nothing is a request or an escape. */
void man_text(const char *s);
/* Paragraphs, parted by empty lines; a line that begins with a blank stays as
 * it is. */
void man_paragraphs(const char *s);
/* A tagged paragraph. */
void man_tagged(const char *tag, const char *text);
void man_options(const struct opt *o);

#endif
