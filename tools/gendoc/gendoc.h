/* SPDX-License-Identifier: MIT */
/* The parts of psup-gendoc. */
#ifndef PSUP_GENDOC_H
#define PSUP_GENDOC_H

/* Text in a table's cell. */
void cell(const char *s);
/* The rows of metrics.def. */
void print_metrics(void);
/* tools.c */
void print_tools(void);

#endif
