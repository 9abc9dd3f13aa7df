/* SPDX-License-Identifier: MIT */
/* Who is asked whether a path answers. */
#include "common/path_answers.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Pages that processes have touched which ended before us. */
static long
touched(void)
{
	struct rusage ru;

	cr_assert_eq(getrusage(RUSAGE_CHILDREN, &ru), 0);
	return ru.ru_minflt;
}

static bool
kernel_tells_what_it_knows(void)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
	    .resolve = RESOLVE_CACHED};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

Test(path_answers, asks_a_process_about_another_mount)
{
	long before = touched();

	cr_expect(path_answers("/proc/self"));
	cr_expect_gt(touched(), before);
}

Test(path_answers, asks_nobody_about_what_lies_where_the_root_does)
{
	long before = touched();

	if (!kernel_tells_what_it_knows())
		cr_skip_test("of this kernel each path is asked about");
	cr_expect(path_answers("/"));
	cr_expect_eq(touched(), before);
}

Test(path_answers, asks_nobody_about_what_lies_in_memory)
{
	char dir[] = "/dev/shm/psup-test-XXXXXX";
	long before = touched();

	if (!kernel_tells_what_it_knows())
		cr_skip_test("of this kernel each path is asked about");
	cr_assert_not_null(mkdtemp(dir));
	cr_expect(path_answers(dir));
	cr_expect_eq(touched(), before);
	(void)rmdir(dir);
}

Test(path_answers, takes_that_there_is_nothing_for_an_answer)
{
	cr_expect(path_answers("/nowhere/at/all"));
}
