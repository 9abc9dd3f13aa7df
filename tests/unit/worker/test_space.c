/* SPDX-License-Identifier: MIT */
/* A full tmpfs: the command goes on, what it wrote is counted. */
#include "lib_puppet.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct puppet p;

/* The stats pages and about 100 KiB for rings. */
static void
begin(void)
{
	if (!puppet_init_small(&p, 364))
		cr_skip_test("may not mount a tmpfs");
	puppet_worker(&p, NULL);
}

TestSuite(space, .timeout = 30);

Test(space, what_finds_no_room_is_dropped_and_counted)
{
	struct psession *s;

	begin();
	s = puppet_start(&p,
	    &(struct order){.sh = "head -c 1000000 /dev/zero; echo end"});
	UNTIL(&p, s->closed);
	cr_assert_eq(s->end.reason, END_EXIT);
	cr_assert_eq(s->end.total, 1000004);
	cr_assert_gt(s->end.dropped_nospace, 800000);
	cr_assert_lt(s->end.dropped_nospace, 1000004);
	cr_assert_geq(s->no_space, 1);
	puppet_fini(&p);
}

Test(space, room_made_in_time_loses_nothing)
{
	static const char filler[200000];
	struct psession *s;
	int fd;

	if (!puppet_init_small(&p, 700))
		cr_skip_test("may not mount a tmpfs");
	puppet_worker(&p, NULL);
	fd = openat(p.dirfd, "rings/filler", O_CREAT | O_WRONLY | O_CLOEXEC,
	    0600);
	cr_assert_eq(write(fd, filler, sizeof(filler)), sizeof(filler));
	cr_assert_eq(ftruncate(fd, 400000), 0);
	cr_assert_eq(posix_fallocate(fd, 0, 400000), 0);
	s = puppet_start(&p,
	    &(struct order){.sh = "head -c 200000 /dev/zero"});
	UNTIL(&p, s->no_space > 0);
	cr_assert_eq(ftruncate(fd, 0), 0);
	close(fd);
	UNTIL(&p, s->closed);
	cr_assert_eq(s->end.total, 200000);
	cr_assert_eq(s->end.dropped_nospace, 0);
	puppet_fini(&p);
}

Test(space, no_room_for_a_ring_is_a_failed_start)
{
	struct psession *s;
	int fd;

	begin();
	fd = openat(p.dirfd, "rings/filler", O_CREAT | O_WRONLY | O_CLOEXEC,
	    0600);
	while (posix_fallocate(fd, lseek(fd, 0, SEEK_END), 4096) == 0)
		continue;
	close(fd);
	s = puppet_start(&p, &(struct order){.sh = "true"});
	UNTIL(&p, s->failed);
	cr_assert_eq(s->fail.error, ENOSPC);
	cr_assert_eq(s->fail.stage, STAGE_PREPARE);
	cr_assert_eq(s->fail.transient, 0);
	puppet_fini(&p);
}

/* Files of the worker may be so long and no longer, the ring's too: an error
 * that has nothing to do with room. */
static void
limit_files(rlim_t bytes)
{
	struct rlimit rl;

	cr_assert_eq(prlimit(p.worker, RLIMIT_FSIZE, NULL, &rl), 0);
	rl.rlim_cur = bytes;
	cr_assert_eq(prlimit(p.worker, RLIMIT_FSIZE, &rl, NULL), 0);
}

#define LET_IN 20000 /* of output, before the limit */

/* A command that prints more than that, until the worker gets no further. */
static struct psession *
start_limited(void)
{
	struct psession *s;
	int unread = 0;

	puppet_init(&p);
	puppet_worker(&p, NULL);
	s = puppet_start(&p, &(struct order){
	    .sh = "read go; head -c 300000 /dev/zero; echo end",
	    .flags = CTL_START_STDIN_OPEN, .head_bytes = 1 << 20});
	UNTIL(&p, s->running);
	limit_files(RING_DATA_OFFSET + LET_IN);
	puppet_write(&p, s, "go\n", 3);
	UNTIL(&p, puppet_header(&p, s)->head == LET_IN &&
	    ioctl(s->fds[0], FIONREAD, &unread) == 0 && unread > 50000);
	return s;
}

Test(space, an_error_that_passes_is_no_end_and_loses_nothing)
{
	struct psession *s = start_limited();

	limit_files(RLIM_INFINITY);
	UNTIL(&p, s->closed);
	cr_expect_eq(s->end.exit.status, 0);
	cr_expect_eq(s->end.total, 300004);
	cr_expect_eq(s->end.dropped_nospace, 0);
	puppet_fini(&p);
}

Test(space, what_an_error_keeps_out_is_dropped_and_counted)
{
	struct psession *s = start_limited();

	UNTIL(&p, s->closed);
	cr_expect_eq(s->end.exit.code, CLD_EXITED);
	cr_expect_eq(s->end.exit.status, 0);
	cr_expect_eq(s->end.total, 300004);
	cr_expect_eq(s->end.dropped_nospace, 300004 - LET_IN);
	cr_expect_eq(s->no_space, 0);
	puppet_fini(&p);
}
