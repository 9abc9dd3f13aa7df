/* SPDX-License-Identifier: MIT */
/*
 * Scope tokens: who shows one in hello is bound to its scope. The index holds
 * their SHA-256 and what they are for, never a token; a token is 256 random
 * bits, so its bare hash cannot be guessed back. Written in the index's open
 * transaction, which the caller commits before it tells anybody.
 */
#ifndef PSUP_SUPERVISOR_STORE_TOKENS_H
#define PSUP_SUPERVISOR_STORE_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/index.h"

#define TOKEN_DIGITS 64    /* of the text */
#define TOKENS_MAX   16384u /* a hello compares with all of them */

struct tokens;

struct token_view {
	char id[17];    /* the beginning of the hash, in hex */
	char scope[48];
	char label[48]; /* "": none */
	uint64_t created_ms;
};

/* Loads what the index holds. Errors: -ENOMEM, what index_scan gives. */
int tokens_open(struct index *ix, struct tokens **ret);
void tokens_close(struct tokens **t);
/* The transaction failed: what the index holds is true again. */
int tokens_reload(struct tokens *t);

/* A new one; its text, NUL-terminated, is the caller's to wipe. Errors:
 * -ENOSPC (TOKENS_MAX, or the index is full), -ENOMEM, -errno. */
int tokens_mint(struct tokens *t, const char *scope, const char *label,
    uint64_t now_ms, char ret_text[TOKEN_DIGITS + 1],
    struct token_view *ret_view);
/* Whose is it? Takes the same time whether there is one like it or not. */
bool tokens_find(const struct tokens *t, const char *text, size_t len,
    struct token_view *ret);
/* Is this the text with that SHA-256 (64 hex digits)? In constant time. */
bool tokens_is(const char *text, size_t len, const char *hash);
/* Forgets the one of this id, or (id NULL) all of a scope. How many, or
 * -errno. */
int tokens_revoke(struct tokens *t, const char *id, const char *scope);

size_t tokens_count(const struct tokens *t);
/* i < tokens_count(), oldest first. */
void tokens_view(const struct tokens *t, size_t i, struct token_view *ret);

#endif
