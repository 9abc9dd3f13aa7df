/* SPDX-License-Identifier: MIT */
/* The parts of psup-gendoc. */
#ifndef PSUP_GENDOC_H
#define PSUP_GENDOC_H

#include <stdbool.h>
#include <stddef.h>

/* notes.c: the notifications, and their fields. */
extern const struct note {
	const char *name, *direction, *doc;
} notes[];
extern const struct note_field {
	const char *note, *name, *type, *doc;
} note_fields[];
extern const size_t note_count, note_field_count;

/* Text in a table's cell. */
void cell(const char *s);
/* The rows of metrics.def. */
void print_metrics(void);
/* tools.c */
void print_tools(void);
/* types.c: false where there is no such language. */
bool print_types(const char *language);

/* example.c: a talk of client and server, byte by byte. */
void print_example(void);

#endif
