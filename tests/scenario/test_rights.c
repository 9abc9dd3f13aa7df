/* SPDX-License-Identifier: MIT */
/* What a command may do, by whoever started the server and by psup.conf. */
#include "lib_scn.h"

#include <sys/prctl.h>
#include <sys/resource.h>

TestSuite(rights);

/* The processes of the server write no core, a command may as before. */
static void
expect_cores(void)
{
	static const char ask_core[] =
	    "while read -r a b c d soft hard e; do "
	    "[ \"$a $b $c\" != 'Max core file' ] || echo $soft; "
	    "done </proc/self/limits";
	const int ours[] = {keeper_pid(), master_pid()};
	struct rlimit rl;

	for (size_t i = 0; i < 2; i++)
		expect(prlimit(ours[i], RLIMIT_CORE, NULL, &rl) == 0 &&
		    rl.rlim_cur == 0, "%zu", i);
	expect_str(ask("exec", STR("command", ask_core)), "aggregated",
	    "4096\n");
}

SCENARIO(rights, a_command_has_the_limit_of_cores_that_was_found)
{
	struct rlimit rl;

#ifdef __SANITIZE_ADDRESS__
	skip_scenario("the sanitizer takes the limit away");
#endif
	expect(getrlimit(RLIMIT_CORE, &rl) == 0);
	if (rl.rlim_max < 4096)
		skip_scenario("nothing may leave a core here");
	psupd(.wrap = {"prlimit", "--core=4096:8192"});
	expect_cores();
}

/* By a shell, and without one. */
static void
expect_no_new_privs(const char *want)
{
	expect_str(ask("exec", STR("command",
	                   "grep NoNewPrivs: /proc/self/status; :")),
	    "aggregated", want);
	expect_str(ask("exec", LIST("argv", "grep", "NoNewPrivs:",
	                   "/proc/self/status")),
	    "aggregated", want);
}

SCENARIO(rights, a_command_may_get_new_ones)
{
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		skip_scenario("nothing here may get new privileges");
	psupd();
	expect_no_new_privs("NoNewPrivs:\t0\n");
}

SCENARIO(rights, no_new_ones_where_the_configuration_says_so)
{
	psupd(.conf = "[exec]\nno_new_privs = yes\n");
	expect_no_new_privs("NoNewPrivs:\t1\n");
}
