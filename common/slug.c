/* SPDX-License-Identifier: MIT */
/*
 * Slugs: adjective-noun, from the lists that gateways already know. Whether
 * one is taken is the caller's knowledge. A name that was given back is not
 * given out again soon: who repeats "clear" or "kill", since the answer was
 * lost in a restart, must not hit somebody else's session.
 */
#include "slug.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "clock.h"

#define TRIES       12
#define LAST_SUFFIX 12
#define SUFFIXES    (LAST_SUFFIX - 1u) /* from 2 on */
#define LONG_TRIES  100
#define STEP        1105u
#define PAIRS       ((uint64_t)(NELEMS(adjectives) * NELEMS(nouns)))

static const char *const adjectives[] = {
	"amber", "briny", "brisk", "calm", "clear", "cool", "crisp", "dawn",
	"delta", "ember", "faint", "fast", "fresh", "gentle", "glow", "good",
	"grand", "keen", "kind", "lucky", "marine", "mellow", "mild", "neat",
	"nimble", "nova", "oceanic", "plaid", "quick", "quiet", "rapid",
	"salty", "sharp", "swift", "tender", "tidal", "tidy", "tide", "vivid",
	"warm", "wild", "young",
};

static const char *const nouns[] = {
	"atlas", "basil", "bison", "bloom", "breeze", "canyon", "cedar",
	"claw", "cloud", "comet", "coral", "cove", "crest", "crustacean",
	"daisy", "dune", "ember", "falcon", "fjord", "forest", "glade", "gulf",
	"harbor", "haven", "kelp", "lagoon", "lobster", "meadow", "mist",
	"nudibranch", "nexus", "ocean", "orbit", "otter", "pine", "prairie",
	"reef", "ridge", "river", "rook", "sable", "sage", "seaslug", "shell",
	"shoal", "shore", "slug", "summit", "tidepool", "trail", "valley",
	"wharf", "willow", "zephyr",
};

/* One of a list. */
static const char *
pick(const char *const *words, size_t count)
{
	return words[arc4random_uniform((uint32_t)count)];
}

/* Two or three random words. */
static void
make_base(bool three, char base[SLUG_MAX])
{
	const char *adjective = pick(adjectives, NELEMS(adjectives));
	const char *noun = pick(nouns, NELEMS(nouns));

	if (three)
		(void)snprintf(base, SLUG_MAX, "%s-%s-%s", adjective, noun,
		    pick(nouns, NELEMS(nouns)));
	else
		(void)snprintf(base, SLUG_MAX, "%s-%s", adjective, noun);
}

/* The words of a number: those of the next one are others, both of them, and
 * all pairs have had their turn before one comes again. */
static void
words_of(uint64_t n, char base[SLUG_MAX])
{
	uint64_t i = n % PAIRS * STEP % PAIRS;

	static_assert(PAIRS == 2268 && STEP % 2 != 0 && STEP % 3 != 0 &&
	    STEP % 7 != 0,
	    "2268 = 4 * 81 * 7: the step shares no factor with it");
	(void)snprintf(base, SLUG_MAX, "%s-%s",
	    adjectives[i % NELEMS(adjectives)],
	    nouns[i / NELEMS(adjectives)]);
}

/* Random bases with and without a number. */
static bool
try_words(bool three, bool (*taken)(void *, const char *), void *arg,
    char slug[SLUG_MAX])
{
	char base[SLUG_MAX];
	int i, suffix;

	for (i = 0; i < TRIES; i++) {
		make_base(three, base);
		memcpy(slug, base, SLUG_MAX);
		if (!taken(arg, slug))
			return true;
		for (suffix = 2; suffix <= LAST_SUFFIX; suffix++) {
			(void)snprintf(slug, SLUG_MAX, "%.40s-%d", base,
			    suffix);
			if (!taken(arg, slug))
				return true;
		}
	}
	return false;
}

/* Appends '-' and n characters of v in base 36. */
static void
append36(char slug[SLUG_MAX], uint64_t v, int n)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	size_t len = strlen(slug);

	CHECK(len + (size_t)n + 2 <= SLUG_MAX);
	slug[len++] = '-';
	for (; n > 0; n--, v /= 36)
		slug[len++] = digits[v % 36];
	slug[len] = '\0';
}

/* The same words with what is another each time they come again: a number, a
 * third word, both. So of many kept sessions none has it, and nothing is
 * searched for. */
static bool
try_rounds(uint64_t n, bool (*taken)(void *, const char *), void *arg,
    char slug[SLUG_MAX])
{
	uint64_t round = n / PAIRS, rounds = round / NELEMS(nouns);
	const char *third = nouns[round % NELEMS(nouns)];
	char base[SLUG_MAX];

	words_of(n, slug);
	if (!taken(arg, slug))
		return true;
	memcpy(base, slug, SLUG_MAX);
	(void)snprintf(slug, SLUG_MAX, "%.30s-%u", base,
	    (unsigned)(round % SUFFIXES) + 2u);
	if (!taken(arg, slug))
		return true;
	(void)snprintf(slug, SLUG_MAX, "%.30s-%s", base, third);
	if (!taken(arg, slug))
		return true;
	(void)snprintf(slug, SLUG_MAX, "%.30s-%s-%u", base, third,
	    (unsigned)(rounds % SUFFIXES) + 2u);
	return !taken(arg, slug);
}

void
slug_make(uint64_t n, bool (*taken)(void *arg, const char *slug), void *arg,
    char ret_slug[SLUG_MAX])
{
	int i;

	if (try_rounds(n, taken, arg, ret_slug))
		return;
	if (try_words(false, taken, arg, ret_slug) ||
	    try_words(true, taken, arg, ret_slug))
		return;
	for (i = 0; i < LONG_TRIES; i++) {
		make_base(true, ret_slug);
		append36(ret_slug, arc4random_uniform(36 * 36 * 36), 3);
		if (!taken(arg, ret_slug))
			return;
		append36(ret_slug, clock_wall_ms(), 9);
		if (!taken(arg, ret_slug))
			return;
	}
	/* Sixty-two random bits: nobody has met these before. */
	(void)snprintf(ret_slug, SLUG_MAX, "slug");
	append36(ret_slug, ((uint64_t)arc4random() << 30) ^ arc4random(), 12);
}

bool
slug_is_valid(const char *s, size_t len)
{
	size_t i;

	if (len == 0 || len >= SLUG_MAX)
		return false;
	for (i = 0; i < len; i++) {
		if (!((s[i] >= 'a' && s[i] <= 'z') ||
		    (s[i] >= '0' && s[i] <= '9') || s[i] == '-'))
			return false;
	}
	return true;
}
