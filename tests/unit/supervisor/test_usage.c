/* SPDX-License-Identifier: MIT */
/* What a session uses, a slice at a time. The session here is this test. */
#include <criterion/criterion.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/session/usage.h"

TestSuite(usage, .timeout = 60);

#define MANY 40

static struct master m; /* it has no control groups */

/* Children that wait until we are gone, and one that has such a child. */
static void
start_many(pid_t pids[MANY])
{
	pid_t self = getpid();
	int said[2];
	char c;

	cr_assert_eq(pipe(said), 0);
	for (int i = 0; i < MANY; i++) {
		pids[i] = fork();
		cr_assert_geq(pids[i], 0);
		if (pids[i] > 0)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != self)
			_exit(1);
		if (i == 0 && fork() == 0)
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)!write(said[1], "x", 1);
		for (;;)
			pause();
	}
	for (int i = 0; i < MANY + 1; i++)
		cr_assert_eq(read(said[0], &c, 1), 1);
	close(said[0]);
	close(said[1]);
}

static void
end_many(const pid_t pids[MANY])
{
	for (int i = 0; i < MANY; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

Test(usage, of_many_processes_is_taken_one_by_one)
{
	static struct usage_sample u, whole;
	struct session s = {.id.sid = {7}, .facts.pid = getpid(),
	    .state = STATE_RUNNING};
	pid_t pids[MANY];
	unsigned slices = 1;

	start_many(pids);
	while (!usage_sample(&m, &s, &u, 0))
		cr_assert_lt(slices++, 1000u);
	cr_expect_eq(u.pids, MANY + 2); /* itself, and the child's child */
	cr_expect_eq(slices, MANY + 2);
	cr_expect_gt(u.rss_bytes, 0);
	cr_expect(usage_sample(&m, &s, &whole, UINT64_MAX));
	cr_expect_eq(whole.pids, u.pids);
	/* of another session, and of one that is over, it begins anew */
	s.id.sid.v = 8;
	cr_expect_not(usage_sample(&m, &s, &u, 0));
	cr_expect_eq(u.at, 1);
	s.state = STATE_ENDED;
	cr_expect(usage_sample(&m, &s, &u, 0));
	cr_expect_eq(u.pids, 0);
	end_many(pids);
}
