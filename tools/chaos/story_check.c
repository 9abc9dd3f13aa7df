/* SPDX-License-Identifier: MIT */
/*
 * What one session gave against what it must give: its output by position, its
 * spill file, its end. Called by story.c and kinds.c; what is wrong is counted.
 */
#include "story.h"

#include <string.h>
#include <unistd.h>

#define SHOWN   160 /* bytes of output that is wrong */
#define ALIKE   12  /* bytes that tell a place of the pattern */
#define LATE_MS 30000 /* of a time-out, on a machine that has much to do */
#define LATE_STOPS_MS 60000 /* ... that nobody looks after for 5 s, where its
                             * worker stops itself, and its heir, and so on */

/* Input in doubt that did not arrive leaves a gap in what comes back: how far
 * the output jumps here. 0: it does not, it is wrong. */
static uint64_t
jump(const struct story *s, uint64_t pos, const char *data, size_t size)
{
	size_t look = size < 16 ? size : 16, i;
	uint64_t by;

	for (by = 1; by <= s->uncertain - s->shift; by++) {
		for (i = 0; i < look; i++)
			if (data[i] != pattern_byte(s->n, pos + by + i))
				break;
		if (i == look)
			return by;
	}
	return 0;
}

/* Is it the pattern of another place (a byte lost or doubled, a command that
 * ran twice)? UINT64_MAX: of none up to here, nor a little behind. */
static uint64_t
place_of(uint32_t n, uint64_t pos, const char *data, size_t size)
{
	char want[ALIKE];

	for (uint64_t at = 0; size >= ALIKE && at < pos + STORY_PIECE; at++) {
		if (pattern_byte(n, at) != data[0])
			continue;
		pattern_fill(n, at, want, ALIKE);
		if (memcmp(want, data, ALIKE) == 0)
			return at;
	}
	return UINT64_MAX;
}

/* Output that is not what the command wrote: whose it is can be seen by it. */
static void
say_wrong(const struct story *s, uint64_t pos, const char *data, size_t size)
{
	uint64_t place = place_of(s->n, pos + s->shift, data, size);
	char is[4 * SHOWN + 1], where[48] = "";

	psup_escape(data, size < SHOWN ? size : SHOWN, false, is, sizeof(is));
	if (place != UINT64_MAX)
		snprintf(where, sizeof(where), ", those of byte %llu",
		    (unsigned long long)place);
	lost(LOSS_WRONG, "session %u (%s, %s): byte %llu: %zu bytes%s: %s",
	    s->n, s->id, kind_name(s->kind), (unsigned long long)pos, size,
	    where, is);
}

void
story_compare(struct story *s, uint64_t pos, const char *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		uint64_t at = pos + s->shift + i, by;

		if (data[i] == pattern_byte(s->n, at))
			continue;
		by = jump(s, at, data + i, size - i);
		s->shift += by;
		if (by > 0)
			continue;
		say_wrong(s, pos + i, data + i, size - i);
		break;
	}
	atomic_fetch_add(&chaos.bytes_checked, size);
}

static bool
has_lost_its_box(const struct story *s)
{
	return boxed_has(s->kind, s->n) &&
	    boxed_killed(boxed_place(s->n)) != s->boxes;
}

bool
story_may_be_lost(const struct story *s)
{
	return has_lost_its_box(s) || keeper_dies(s->keepers);
}

/* With its box it dies by SIGKILL, and that is said: why, where it ran, or was
 * just being ended, of which one has the word. */
static bool
is_lost_with_its_box(struct story *s, const psup_value *d, const char *reason,
    const char *signal)
{
	bool told = strcmp(reason, "lost") == 0 &&
	    psup_get_is(d, "failureKind", "sandbox");
	bool ending = (s->kind == KIND_HIDE || s->kind == KIND_TIMEOUT) &&
	    strcmp(reason, s->reason) == 0;

	if (!(told || ending) || strcmp(signal, "SIGKILL") != 0 ||
	    !has_lost_its_box(s))
		return false;
	s->over = true;
	atomic_fetch_add(&chaos.lost_boxed, told);
	ledger_ended(s->n);
	ledger_lost(s->n, 0, 0);
	return true;
}

/* Only a keeper that died meanwhile loses a session: nobody knows how it
 * ended, and that is said. */
static bool
is_lost(struct story *s, const char *reason, const char *signal, int64_t code)
{
	if (strcmp(reason, "lost") != 0 || code != -1 || *signal != '\0' ||
	    atomic_load(&chaos.kills_keeper) == s->keepers)
		return false;
	s->over = true;
	atomic_fetch_add(&chaos.lost_sessions, 1);
	ledger_ended(s->n);
	ledger_lost(s->n, s->keepers, atomic_load(&chaos.kills_keeper));
	return true;
}

/* Its time was over before its command began: that is told as a start that took too
 * long. */
static bool
is_overdue(struct story *s, const psup_value *d, const char *reason)
{
	if (s->kind != KIND_TIMEOUT || strcmp(reason, "spawn-error") != 0 ||
	    !psup_get_is(d, "errno", "ETIMEDOUT"))
		return false;
	s->over = true;
	ledger_ended(s->n);
	ledger_lost(s->n, 0, 0);
	return true;
}

/* What it did not give back is input in doubt. */
static bool
all_there(const struct story *s)
{
	uint64_t missing = s->bytes - s->seen;

	return s->bytes == UINT64_MAX || missing == 0 ||
	    (s->seen < s->bytes && missing <= s->uncertain);
}

/* A time-out is not begun anew by who takes a session over. */
static void
check_timeout(struct story *s, const psup_value *d)
{
	int64_t ms = psup_get_int(d, "durationMs", -1);
	int64_t least = (int64_t)(s->timeout_s * 1000);
	bool stops = chaos.o.fault != NULL &&
	    strstr(chaos.o.fault, "=stop") != NULL;
	int64_t most = least + (stops ? LATE_STOPS_MS : LATE_MS);

	if (s->timeout_s > 0 && (ms < least - 1 || ms > most))
		lost(LOSS_STATUS, "session %u (%s): ended after %lld ms by a "
		    "time-out of %lld", s->n, s->id, (long long)ms,
		    (long long)least);
}

/* The spill file has every byte, too. */
static void
check_spill(struct story *s)
{
	uint64_t pos = 0;
	int byte = 0;
	FILE *f;

	if (s->spill[0] == '\0')
		return;
	f = fopen(s->spill, "re");
	while (f != NULL && (byte = getc(f)) != EOF &&
	       byte == pattern_byte(s->n, pos))
		pos++;
	/* how far it goes where it could not be written on its state says */
	if (f == NULL || byte != EOF ||
	    (pos != s->bytes && !(chaos.no_spill && pos < s->bytes)))
		lost(LOSS_BYTES, "session %u (%s): %s is right up to byte %llu "
		    "of %llu", s->n, s->id, s->spill, (unsigned long long)pos,
		    (unsigned long long)s->bytes);
	if (f != NULL)
		fclose(f);
	unlink(s->spill);
}

void
story_check_end(struct story *s, const psup_value *d)
{
	char signal[24] = "", reason[32] = "", state[32] = "";
	int64_t code = psup_get_int(d, "exitCode", -1);

	psup_get_copy(d, "exitSignal", signal, sizeof(signal));
	psup_get_copy(d, "exitReason", reason, sizeof(reason));
	psup_get_copy(d, "outputState", state, sizeof(state));
	if (is_lost(s, reason, signal, code) ||
	    is_lost_with_its_box(s, d, reason, signal) ||
	    is_overdue(s, d, reason))
		return;
	if (code != s->code ||
	    strcmp(signal, s->signal != NULL ? s->signal : "") != 0 ||
	    strcmp(reason, s->reason) != 0)
		lost(LOSS_STATUS,
		    "session %u (%s, %s): code %lld signal '%s' reason %s, "
		    "not %d '%s' %s", s->n, s->id, kind_name(s->kind),
		    (long long)code, signal, reason, s->code,
		    s->signal != NULL ? s->signal : "", s->reason);
	if (!all_there(s))
		lost(s->kind == KIND_ECHO || s->kind == KIND_KEYS
		        ? LOSS_STDIN : LOSS_BYTES,
		    "session %u (%s, %s): %llu bytes of %llu%s%s", s->n,
		    s->id, kind_name(s->kind), (unsigned long long)s->seen,
		    (unsigned long long)s->bytes, *state != '\0' ? ", " : "",
		    state);
	check_timeout(s, d);
	check_spill(s);
	s->over = true;
	ledger_ended(s->n);
}

size_t
story_take(struct story *s, const psup_value *d)
{
	size_t size = 0;
	const char *data = psup_get_str(d, "output", &size);
	uint64_t next = (uint64_t)psup_get_int(d, "next", 0);
	uint64_t dropped = (uint64_t)psup_get_int(d, "dropped", 0);

	if (next != s->seen + dropped + size) {
		lost(LOSS_WRONG, "session %u (%s): next %llu after %llu + "
		    "%llu + %zu", s->n, s->id, (unsigned long long)next,
		    (unsigned long long)s->seen, (unsigned long long)dropped,
		    size);
		next = s->seen + dropped + size;
	}
	s->uncertain = (uint64_t)psup_get_int(d, "stdinUncertainBytes",
	    (int64_t)s->uncertain);
	if (s->uncertain > 0 && !chaos.in_hand)
		lost(LOSS_STDIN, "session %u (%s): input in doubt, though "
		    "nothing is copied by hand", s->n, s->id);
	if (dropped > 0 && !s->may_drop && !chaos.full)
		lost(LOSS_BYTES, "session %u (%s, %s): %llu bytes dropped at "
		    "%llu", s->n, s->id, kind_name(s->kind),
		    (unsigned long long)dropped, (unsigned long long)s->seen);
	story_compare(s, next - size, data != NULL ? data : "", size);
	if (next != s->seen)
		s->moved_ns = clock_boot_ns();
	s->seen = next;
	return size;
}

void
story_answered(struct story *s, const psup_value *d)
{
	size_t size = 0;
	const char *data = psup_get_str(d, "aggregated", &size);

	story_compare(s, 0, data != NULL ? data : "", size);
	s->seen = size;
	story_check_end(s, d);
}
