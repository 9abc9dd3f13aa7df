/* SPDX-License-Identifier: MIT */
/*
 * Scope tokens. Called by hello and by the admin methods of api/scope.c. Does
 * not decide what a scope may do.
 */
#include "supervisor/store/tokens.h"

#include <errno.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/codec.h"
#include "common/grow.h"
#include "supervisor/store/kept.h"


struct token {
	unsigned char hash[SHA256_DIGEST_LENGTH];
	struct token_view view;
};

struct tokens {
	struct index *ix;
	struct token *list; /* in order of creation */
	size_t count, cap;
};

/* Bytes as hex digits, NUL-terminated. */
static void
to_hex(const unsigned char *p, size_t n, char *ret)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*ret++ = digits[p[i] >> 4];
		*ret++ = digits[p[i] & 15];
	}
	*ret = '\0';
}

/* SHA-256 of some text. */
static void
hash_of(const char *text, size_t len, unsigned char ret[SHA256_DIGEST_LENGTH])
{
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	SHA256Update(&ctx, (const uint8_t *)text, len);
	SHA256Final(ret, &ctx);
	explicit_bzero(&ctx, sizeof(ctx));
}

/* Equal? Looks at every byte, whatever the first ones say. */
static bool
same_hash(const unsigned char *a, const unsigned char *b)
{
	unsigned char diff = 0;

	for (size_t i = 0; i < SHA256_DIGEST_LENGTH; i++)
		diff |= (unsigned char)(a[i] ^ b[i]);
	return diff == 0;
}

/* One record of the index; what does not decode opens nothing. */
static int
on_record(void *arg, struct index_bytes key, struct index_bytes val)
{
	struct tokens *t = arg;
	struct codec_arena *arena;
	const struct val *map;
	struct token *k;
	int r;

	if (key.size != SHA256_DIGEST_LENGTH || t->count >= TOKENS_MAX)
		return 0;
	if (!GROW(t->list, t->cap, t->count + 1, 16))
		return -ENOMEM;
	r = kept_read(val, &arena, &map);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	k = &t->list[t->count];
	memset(k, 0, sizeof(*k));
	memcpy(k->hash, key.data, key.size);
	to_hex(k->hash, 8, k->view.id);
	val_copy(map, "scope", k->view.scope, sizeof(k->view.scope));
	val_copy(map, "label", k->view.label, sizeof(k->view.label));
	k->view.created_ms = val_uint(map, "created", 0);
	t->count += k->view.scope[0] != '\0';
	codec_arena_free(&arena);
	return 0;
}

/* Order of creation. */
static int
by_creation(const void *a, const void *b)
{
	const struct token *x = a, *y = b;

	if (x->view.created_ms != y->view.created_ms)
		return x->view.created_ms < y->view.created_ms ? -1 : 1;
	return memcmp(x->hash, y->hash, sizeof(x->hash));
}

int
tokens_reload(struct tokens *t)
{
	int r;

	t->count = 0;
	r = index_scan(t->ix, INDEX_TOKENS, (struct index_bytes){"", 0},
	    on_record, t);
	if (t->count > 1)
		qsort(t->list, t->count, sizeof(*t->list), by_creation);
	return r;
}

int
tokens_open(struct index *ix, struct tokens **ret)
{
	struct tokens *t = calloc(1, sizeof(*t));
	int r;

	if (t == NULL)
		return -ENOMEM;
	t->ix = ix;
	r = tokens_reload(t);
	if (r < 0) {
		tokens_close(&t);
		return r;
	}
	*ret = t;
	return 0;
}

void
tokens_close(struct tokens **t)
{
	if (*t == NULL)
		return;
	free((*t)->list);
	free(*t);
	*t = NULL;
}

/* Writes the record of a token. */
static int
put(struct tokens *t, const struct token *k)
{
	struct enc e = ENC_INIT;

	kept_map(&e);
	enc_kv_str(&e, "scope", k->view.scope);
	if (k->view.label[0] != '\0')
		enc_kv_str(&e, "label", k->view.label);
	enc_kv_uint(&e, "created", k->view.created_ms);
	enc_end(&e);
	return kept_put(t->ix, INDEX_TOKENS,
	    (struct index_bytes){k->hash, sizeof(k->hash)}, &e, false);
}

int
tokens_mint(struct tokens *t, const char *scope, const char *label,
    uint64_t now_ms, char ret_text[TOKEN_DIGITS + 1],
    struct token_view *ret_view)
{
	unsigned char secret[TOKEN_DIGITS / 2];
	char text[TOKEN_DIGITS + 1];
	struct token *k;
	int r;

	if (t->count >= TOKENS_MAX)
		return -ENOSPC;
	if (!GROW(t->list, t->cap, t->count + 1, 16))
		return -ENOMEM;
	if (getrandom(secret, sizeof(secret), 0) != (ssize_t)sizeof(secret))
		return -EIO;
	to_hex(secret, sizeof(secret), text);
	k = &t->list[t->count];
	memset(k, 0, sizeof(*k));
	hash_of(text, TOKEN_DIGITS, k->hash);
	to_hex(k->hash, 8, k->view.id);
	(void)strlcpy(k->view.scope, scope, sizeof(k->view.scope));
	(void)strlcpy(k->view.label, label, sizeof(k->view.label));
	k->view.created_ms = now_ms;
	r = put(t, k);
	if (r == 0) {
		t->count++;
		memcpy(ret_text, text, sizeof(text));
		*ret_view = k->view;
	}
	explicit_bzero(secret, sizeof(secret));
	explicit_bzero(text, sizeof(text));
	return r;
}

bool
tokens_find(const struct tokens *t, const char *text, size_t len,
    struct token_view *ret)
{
	unsigned char hash[SHA256_DIGEST_LENGTH];
	const struct token *found = NULL;

	hash_of(text, len, hash);
	for (size_t i = 0; i < t->count; i++)
		if (same_hash(t->list[i].hash, hash))
			found = &t->list[i];
	if (found == NULL)
		return false;
	*ret = found->view;
	return true;
}

bool
tokens_is(const char *text, size_t len, const char *hash)
{
	unsigned char is[SHA256_DIGEST_LENGTH], diff = 0;
	char hex[2 * SHA256_DIGEST_LENGTH + 1];

	hash_of(text, len, is);
	to_hex(is, sizeof(is), hex);
	if (strlen(hash) != sizeof(hex) - 1)
		return false;
	for (size_t i = 0; i < sizeof(hex); i++)
		diff |= (unsigned char)(hex[i] ^ hash[i]);
	return diff == 0;
}

int
tokens_revoke(struct tokens *t, const char *id, const char *scope)
{
	size_t kept = 0;
	int n = 0, r = 0;

	for (size_t i = 0; i < t->count; i++) {
		struct token *k = &t->list[i];
		bool meant = id != NULL ? strcmp(id, k->view.id) == 0
					: strcmp(scope, k->view.scope) == 0;

		if (meant && r == 0) {
			r = index_del(t->ix, INDEX_TOKENS,
			    (struct index_bytes){k->hash, sizeof(k->hash)});
			n += r == 0;
			meant = r == 0;
		}
		if (!meant || r < 0)
			t->list[kept++] = *k;
	}
	t->count = kept;
	return r < 0 ? r : n;
}

size_t
tokens_count(const struct tokens *t)
{
	return t->count;
}

void
tokens_view(const struct tokens *t, size_t i, struct token_view *ret)
{
	*ret = t->list[i].view;
}
