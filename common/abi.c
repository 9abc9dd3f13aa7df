/* SPDX-License-Identifier: MIT */
/*
 * The table of versions and the one rule. Called by whoever writes or reads
 * what another build may have written; the keeper compares tables before it
 * lets another build take over. Does no I/O but abi_asked().
 *
 * PSUP_LAYOUT_BUMP is for tests of upgrades: 1 makes the next build, whose
 * structures have grown and are still for readers of today; 2 one whose rings
 * no reader of today may touch.
 */
#include "abi.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

#ifndef PSUP_LAYOUT_BUMP
#define PSUP_LAYOUT_BUMP 0
#endif
#if PSUP_LAYOUT_BUMP == 0
#define UP      0
#define BUILD   PSUP_VERSION
#elif PSUP_LAYOUT_BUMP == 1
#define UP      1
#define BUILD   PSUP_VERSION "+next"
#else
#define UP      1
#define BUILD   PSUP_VERSION "+foreign"
#endif

#define BOTH (ABI_FORWARD | ABI_BACKWARD)
#define ROW(id, name, version, reader, oldest, need)                           \
	[id] = { (name), (version) + UP, (reader), (oldest), (need) }

const struct abi abi_table[ABI_COUNT] = {
	ROW(ABI_WIRE, "wire", 1, 1, 1, ABI_FORWARD),
	ROW(ABI_HERITAGE, "heritage", 5, 4, 4, ABI_FORWARD),
	ROW(ABI_CTL, "ctl", 8, 2, 2, BOTH),
	ROW(ABI_STATE, "state", 3, 1, 1, ABI_FORWARD),
#if PSUP_LAYOUT_BUMP == 2
	ROW(ABI_RING, "ring", 4, 5, 5, BOTH),
#else
	ROW(ABI_RING, "ring", 4, 3, 2, BOTH),
#endif
	ROW(ABI_BOARD, "board", 3, 3, 2, BOTH),
	ROW(ABI_STATS, "stats", 4, 3, 2, BOTH),
	ROW(ABI_INDEX, "index", 2, 2, 2, BOTH),
};

const char *
abi_build(void)
{
	return BUILD;
}

uint32_t
abi_stamp(enum abi_id id)
{
	return ABI_STAMP(abi_table[id].version, abi_table[id].reader);
}

/* The rule, for any two builds. */
static bool
reads(const struct abi *reader, uint16_t version, uint16_t least)
{
	if (version <= reader->version)
		return version >= reader->oldest;
	return least != 0 && least <= reader->version;
}

bool
abi_reads(enum abi_id id, uint32_t stamp)
{
	return reads(&abi_table[id], abi_stamp_version(stamp),
	    abi_stamp_reader(stamp));
}

static uint16_t index_newest;

void
abi_index_is(uint32_t stamp)
{
	index_newest = abi_stamp_version(stamp);
}

bool
abi_record_ok(uint64_t version)
{
	const struct abi *a = &abi_table[ABI_INDEX];

	return version >= a->oldest &&
	    (version <= a->version || version <= index_newest);
}

void
abi_refusal(enum abi_id id, uint32_t stamp, char *ret, size_t size)
{
	const struct abi *a = &abi_table[id];
	unsigned version = abi_stamp_version(stamp);
	unsigned reader = abi_stamp_reader(stamp);

	if (version > a->version)
		(void)snprintf(ret, size,
		    "made by psup layout %u (%s, for readers of %u on), this "
		    "build reads %u to %u",
		    version, a->name, reader, a->oldest, a->version);
	else
		(void)snprintf(ret, size,
		    "made by psup layout %u (%s), this build reads %u to %u",
		    version, a->name, a->oldest, a->version);
}

size_t
abi_print(const char *program, char *ret, size_t size)
{
	size_t i, at;

	at = (size_t)snprintf(ret, size, "%s %s\n", program, abi_build());
	for (i = 0; i < ABI_COUNT && at < size; i++)
		at += (size_t)snprintf(ret + at, size - at, "%s %u %u %u\n",
		    abi_table[i].name, abi_table[i].version,
		    abi_table[i].reader, abi_table[i].oldest);
	CHECK(at < size);
	return at;
}

/* One line "name version reader oldest"; names that we do not know are a later
 * build's business. */
static bool
parse_row(const char *line, struct abi_other *ret)
{
	unsigned v, r, o;
	char name[24];
	int end = 0;
	size_t i;

	if (sscanf(line, "%23s %5u %5u %5u%n", name, &v, &r, &o, &end) != 4 ||
	    line[end] != '\0' || v == 0 || v > UINT16_MAX || r > v || o > v)
		return false;
	for (i = 0; i < ABI_COUNT; i++) {
		if (strcmp(name, abi_table[i].name) == 0)
			ret->row[i] = (struct abi){ .name = abi_table[i].name,
				.version = (uint16_t)v, .reader = (uint16_t)r,
				.oldest = (uint16_t)o };
	}
	return true;
}

bool
abi_parse(const char *text, const char *program, struct abi_other *ret,
    char *why, size_t size)
{
	struct abi_other o = { .build = "" };
	char copy[ABI_TEXT_MAX], *line, *next = copy;
	size_t len = strlen(program);

	if (strlcpy(copy, text, sizeof(copy)) >= sizeof(copy)) {
		(void)snprintf(why, size, "its answer to --versions is longer "
		    "than %u bytes", ABI_TEXT_MAX - 1);
		return false;
	}
	line = strsep(&next, "\n");
	if (strncmp(line, program, len) != 0 || line[len] != ' ' ||
	    line[len + 1] == '\0' || strlen(line + len + 1) >= sizeof(o.build)) {
		(void)snprintf(why, size, "it does not say \"%s VERSION\" when "
		    "asked for --versions", program);
		return false;
	}
	memcpy(o.build, line + len + 1, strlen(line + len + 1) + 1);
	while ((line = strsep(&next, "\n")) != NULL) {
		if (line[0] == '\0' || parse_row(line, &o))
			continue;
		(void)snprintf(why, size,
		    "its --versions has \"%.40s\", not NAME VERSION READER "
		    "OLDEST", line);
		return false;
	}
	*ret = o;
	return true;
}

bool
abi_agrees(const struct abi_other *o, char *why, size_t size)
{
	const struct abi *mine, *its;
	size_t i;

	for (i = 0; i < ABI_COUNT; i++) {
		mine = &abi_table[i];
		its = &o->row[i];
		if (its->version == 0) {
			(void)snprintf(why, size,
			    "%s: psup %s has none, %u is in use", mine->name,
			    o->build, mine->version);
			return false;
		}
		if (!reads(its, mine->version, mine->reader)) {
			(void)snprintf(why, size,
			    "%s: %u is in use, psup %s reads %u to %u",
			    mine->name, mine->version, o->build, its->oldest,
			    its->version);
			return false;
		}
		if ((mine->need & ABI_BACKWARD) != 0 &&
		    !reads(mine, its->version, its->reader)) {
			(void)snprintf(why, size,
			    "%s: psup %s writes %u for readers of %u on, what "
			    "runs here reads %u to %u", mine->name, o->build,
			    its->version, its->reader, mine->oldest,
			    mine->version);
			return false;
		}
	}
	return true;
}

bool
abi_same(const struct abi_other *a, const struct abi_other *b)
{
	size_t i;

	if (strcmp(a->build, b->build) != 0)
		return false;
	for (i = 0; i < ABI_COUNT; i++) {
		if (a->row[i].version != b->row[i].version ||
		    a->row[i].reader != b->row[i].reader ||
		    a->row[i].oldest != b->row[i].oldest)
			return false;
	}
	return true;
}

bool
abi_asked(int argc, char **argv, const char *program)
{
	char text[ABI_TEXT_MAX];

	if (argc != 2 || strcmp(argv[1], "--versions") != 0)
		return false;
	(void)abi_print(program, text, sizeof(text));
	(void)fputs(text, stdout);
	(void)fflush(stdout);
	return true;
}
