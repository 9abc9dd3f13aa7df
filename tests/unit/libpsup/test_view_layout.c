/* SPDX-License-Identifier: MIT */
/* Shared memory of another build, as a tool meets it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <psup/psup.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/abi.h"
#include "shm/board.h"
#include "shm/stats.h"

TestSuite(view_layout, .timeout = 20);

Test(view_layout, another_layout_is_named)
{
	char dir[] = "/dev/shm/psup-test-layout-XXXXXX", why[300] = "";
	unsigned v = abi_table[ABI_BOARD].version;
	struct stats_page *pages;
	psup_view *view = NULL;
	struct board b;
	int fd;

	cr_assert(mkdtemp(dir) != NULL);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(board_create(fd, 4, 1), 0);
	cr_assert_eq(stats_create(fd, &pages), 0);
	cr_assert_eq(board_attach(fd, true, &b), 0);
	b.hdr->stamp = ABI_STAMP(v + 1, v); /* newer, and for us */
	cr_expect_eq(psup_view_open(dir, &view, why, sizeof(why)), 0, "%s",
	    why);
	psup_view_close(&view);
	b.hdr->stamp = ABI_STAMP(v + 1, v + 1);
	cr_expect_eq(psup_view_open(dir, &view, why, sizeof(why)), -EPROTO);
	cr_expect(strstr(why, "the shared memory was made by psup layout 4 "
			      "(board, for readers of 4 on), this build reads "
			      "2 to 3") != NULL, "%s", why);
	b.hdr->stamp = 1;
	cr_expect_eq(psup_view_open(dir, &view, why, sizeof(why)), -EPROTO);
	cr_expect(strstr(why, "made by psup layout 1 (board)") != NULL, "%s",
	    why);
	/* another build's page is signed by its next owner */
	atomic_store(&pages[5].stamp, ABI_STAMP(2, 0));
	cr_expect_eq(stats_attach_own(fd, 5, &pages), 0);
	cr_expect_eq(atomic_load(&pages->stamp), abi_stamp(ABI_STATS));
	cr_expect_str_eq(pages->build, abi_build());
	board_detach(&b);
	(void)unlinkat(fd, "board", 0);
	(void)unlinkat(fd, "stats", 0);
	close(fd);
	cr_expect_eq(rmdir(dir), 0);
}
