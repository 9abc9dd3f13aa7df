/* SPDX-License-Identifier: MIT */
/* Stats pages and last words; the tables of names. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "common/check.h"
#include "lib_rings.h"
#include "shm/state_names.h"
#include "shm/stats.h"

static struct place place;

static void
setup(void)
{
	place_make(&place);
}

static void
teardown(void)
{
	place_remove(&place);
}

TestSuite(stats, .init = setup, .fini = teardown, .timeout = 20);

Test(stats, are_one_page_per_process)
{
	struct stats_page *keeper, *own, *at;
	const struct stats_page *seen;

	cr_assert_eq(stats_attach(place.fd, &seen), -ENOENT);
	cr_assert_eq(stats_create(place.fd, &keeper), 0);
	cr_assert_eq(stats_attach_own(place.fd, STATS_PAGES, &own), -EINVAL);
	cr_assert_eq(stats_attach_own(place.fd, 3, &own), 0);
	cr_assert_eq(stats_attach(place.fd, &seen), 0);
	own->spawned = 42;
	at = (struct stats_page *)(void *)((char *)keeper + 3 * SHM_PAGE);
	cr_assert_eq(at->spawned, 42u);
	cr_assert_eq(((const struct stats_page *)(const void *)(
	    (const char *)seen + 3 * SHM_PAGE))->spawned, 42u);
	at->magic = 0;
	stats_detach(own);
	cr_assert_eq(stats_attach_own(place.fd, 3, &own), -EBADMSG);
	stats_detach(seen);
	stats_detach(keeper);
}

Test(stats, keep_last_words_within_bounds)
{
	struct stats_page *pages, *own;
	char text[1000];

	cr_assert_eq(stats_create(place.fd, &pages), 0);
	cr_assert_eq(stats_attach_own(place.fd, 1, &own), 0);
	stats_keep_last_words(own);
	check_last_words("CHECK failed: n < 3");
	cr_assert_str_eq(own->last_words, "CHECK failed: n < 3");
	memset(text, 'x', sizeof(text));
	text[999] = '\0';
	check_last_words(text);
	cr_assert_eq(strlen(own->last_words), sizeof(own->last_words) - 1);
	stats_keep_last_words(NULL);
	cr_assert(check_last_words == NULL);
	stats_detach(own);
	stats_detach(pages);
}

Test(stats, names_have_a_word_for_every_number)
{
	cr_assert_str_eq(state_name(STATE_RUNNING), "running");
	cr_assert_str_eq(state_name(STATE_COUNT), "?");
	cr_assert_str_eq(status_name(STATUS_LOST), "lost");
	cr_assert_str_eq(status_name(UINT32_MAX), "?");
	cr_assert_str_eq(reason_name(END_SHUTDOWN), "shutdown");
	cr_assert_str_eq(reason_name(END_REASONS), "?");
	cr_assert_str_eq(stage_name(STAGE_EXEC), "exec");
	cr_assert_str_eq(stage_name(STAGE_LIMIT), "limit");
	cr_assert_str_eq(stage_name(STAGE_SPILL), "spill");
	cr_assert_str_eq(stage_name(STAGE_SECCOMP), "seccomp");
	cr_assert_str_eq(stage_name(STAGE_SECCOMP + 1), "?");
	cr_assert_str_eq(stream_name(RING_MIXED), "mixed");
	cr_assert_str_eq(stream_name(3), "?");
}

Test(stats, count_a_value_in_its_bucket)
{
	struct stats_page *pages, *own;
	const struct metric_bounds *b = &metric_bounds[METRIC_CUT_WORK];

	cr_assert_eq(stats_create(place.fd, &pages), 0);
	cr_assert_eq(stats_attach_own(place.fd, 1, &own), 0);
	stats_observe(&own->poll, METRIC_CUT_WORK, 0);
	stats_observe(&own->poll, METRIC_CUT_WORK, b->us[0]);
	stats_observe(&own->poll, METRIC_CUT_WORK, b->us[0] + 1);
	stats_observe(&own->poll, METRIC_CUT_WORK, b->us[b->count - 1]);
	stats_observe(&own->poll, METRIC_CUT_WORK, UINT32_MAX);
	cr_expect_eq(own->poll.count[0], 2u);
	cr_expect_eq(own->poll.count[1], 1u);
	cr_expect_eq(own->poll.count[b->count - 1], 1u);
	cr_expect_eq(own->poll.count[b->count], 1u);
	cr_expect_eq(own->poll.sum_us, 2 * b->us[0] + 1 +
	    b->us[b->count - 1] + UINT32_MAX);
	stats_add(&own->bytes_moved, 40);
	stats_add(&own->bytes_moved, 2);
	cr_expect_eq(own->bytes_moved, 42u);
	stats_detach(own);
	stats_detach(pages);
}
