/* SPDX-License-Identifier: MIT */
/*
 * Looking for a text and for a regular expression in output that comes in
 * pieces. Terminal sequences are left out, and a line's end is LF whether CR
 * LF, CR or LF was written, unless the bytes are wanted as they are. Bytes that
 * are no UTF-8 count as U+FFFD. Linear time, bounded memory: rex.h.
 */
#ifndef PSUP_MATCH_H
#define PSUP_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MATCH_TEXT_MAX 4096u

/* What is looked for; many may look for the same. */
struct match_spec;

struct match_wish {
	const char *text;    /* NULL: none */
	size_t text_len;     /* 1..MATCH_TEXT_MAX */
	const char *regex;   /* NULL: none */
	size_t regex_len;
	bool raw;            /* the bytes as they are */
};

/* -ENOMEM, or as rex_compile(). */
int match_spec_new(const struct match_wish *w, struct match_spec **ret,
    size_t *ret_at, const char **ret_why);
void match_spec_free(struct match_spec **s);
/* Bytes that one match of it takes. */
size_t match_spec_cost(const struct match_spec *s);

enum match_found { MATCH_NOTHING, MATCH_TEXT, MATCH_REGEX };

struct match;
struct match *match_new(const struct match_spec *spec); /* NULL: no memory */
void match_free(struct match **m);

/*
 * Looks at s, which stands at position `pos`, right behind what was looked at
 * before (or behind match_gap()). `more`: bytes may follow; what is not whole
 * at the end is then left for the next time, and *ret_held says so. Stops after
 * about `budget` steps. Returns how many bytes were looked at.
 */
size_t match_feed(struct match *m, const char *s, size_t len, uint64_t pos,
    bool more, uint64_t budget, bool *ret_held);
/* Output is missing here: nothing matches across. */
void match_gap(struct match *m);
/* Another text begins: what was found is forgotten. */
void match_restart(struct match *m);
/* Would it match if the output ended at `pos`? Looking may go on afterwards. */
void match_at_end(struct match *m, uint64_t pos);
/* Does match_at_end() ever make a difference? */
bool match_cares_for_end(const struct match *m);

/* What was found so far. `*ret_final`: more output makes it no longer. */
enum match_found match_result(const struct match *m, uint64_t *ret_at,
    uint64_t *ret_end, bool *ret_final);
/* The characters of a stretch as they were looked at, cut to size - 1 bytes,
 * NUL-terminated. */
void match_excerpt(const struct match_spec *spec, const char *s, size_t len,
    char *dst, size_t size);

#endif
