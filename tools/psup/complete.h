/* SPDX-License-Identifier: MIT */
/* What a word of a psup command line may be: called by the shells' completion
 * through psup completion query. */
#ifndef PSUP_COMPLETE_H
#define PSUP_COMPLETE_H

#include "cli.h"

/* Prints what may stand in place of the last of `count` words, of which the
 * first is psup: a line each, the word, a tab, what it is. Or a line that asks
 * the shell for its own: ":file", ":dir", ":program". */
void complete_words(struct cli *c, int count, char **words);

/* Candidates that are known at run time only, or to libpsup: kind is
 * "@session" and the like (option.h). */
void complete_kind(struct cli *c, const char *kind, size_t kind_len,
    const char *begun);
/* One candidate, where it begins as what was typed. */
void complete_offer(const char *begun, const char *word, const char *about);

#endif
