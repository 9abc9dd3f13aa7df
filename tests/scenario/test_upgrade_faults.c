/* SPDX-License-Identifier: MIT */
/*
 * Upgrades that go wrong: new programs that are no good, and who dies in the
 * middle. The old build goes on, or the new one does; no session notices.
 */
#include "lib_upgrade.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

TestSuite(upgrade_faults);

/* A new program of that kind, for which the others have time to be ready
 * (ms): everybody is of the old build afterwards. */
static void
imposter(const char *kind, const char *program, const char *ready,
    const char *why)
{
	const char *dir;
	struct run *r;
	pid_t keeper;
	int fds;

	psupd(.workers = 2);
	keeper = keeper_pid();
	dir = dir_with_imposter(kind, program);
	begin_streams(2);
	fds = keeper_fds(2);
	r = cli("upgrade", dir, "--ready", ready);
	expect(r->code == 1 && strstr(r->err, why) != NULL, "%d %s", r->code,
	    r->err);
	connect_again();
	expect_build("");
	expect(keeper_pid() == keeper);
	await_keeper_fds(fds);
	end_streams();
}

SCENARIO(upgrade_faults, a_worker_that_dies_brings_the_old_ones_back)
{
	imposter("dies", "psup-worker", "60000", "died before it was ready");
}

SCENARIO(upgrade_faults, a_worker_that_hangs_brings_the_old_ones_back)
{
	imposter("hangs", "psup-worker", "500", "is not ready after 500 ms");
}

SCENARIO(upgrade_faults, a_master_that_dies_brings_the_old_ones_back)
{
	imposter("dies", "psup-master", "60000",
	    "master died before it was ready");
}

SCENARIO(upgrade_faults, a_master_that_hangs_brings_the_old_ones_back)
{
	imposter("hangs", "psup-master", "5000",
	    "master is not ready after 5000 ms");
}

SCENARIO(upgrade_faults, a_keeper_that_cannot_read_the_state_is_refused)
{
	imposter("blind", "psupd", "60000", "this state is Greek to me");
}

/* Workers and master are killed all the time: the upgrade comes to an end, one
 * or the other, and nothing is lost. */
SCENARIO(upgrade_faults, kills_in_the_middle_lose_nothing)
{
	struct running *up;
	pid_t pids[16];
	struct run *r;

	psupd(.workers = 2);
	begin_streams(4);
	for (int i = 0; i < 6; i++) {
		note_pids(pids);
		up = cli_start("upgrade", build_dir(i % 2 == 0 ? "next" :
								NULL));
		poll(NULL, 0, 10 * i);
		for (int k = 1; k < 5; k++)
			if (is_alive(pids[k]) && (k + i) % 2 == 0)
				kill(pids[k], SIGKILL);
		r = await_run(up);
		/* 125: the master died before it could pass the wish on */
		expect(r->code == 0 || r->code == 1 || (r->code == 125 &&
		    strstr(r->err, "closed the connection") != NULL),
		    "%d %s", r->code, r->err);
		connect_again();
	}
	end_streams();
}

#ifdef PSUP_FAULTS
/* One fault, one upgrade: its exit code, and of which build they are then. */
static void
with_fault(const char *fault, int code, const char *build)
{
	struct run *r;

	psupd(.workers = 2, .env = {fault});
	begin_streams(2);
	r = cli("upgrade", build_dir("next"));
	expect(r->code == code, "%d %s%s", r->code, r->out, r->err);
	connect_again();
	if (build != NULL)
		expect_build(build);
	end_streams();
}

SCENARIO(upgrade_faults, an_exec_that_fails_brings_the_old_ones_back)
{
	with_fault("PSUP_FAULTS=upgrade.exec=fail", 1, "");
}

/* It could read the state a moment ago. */
SCENARIO(upgrade_faults, a_state_that_is_not_read_after_all_is_the_old_keepers)
{
	with_fault("PSUP_FAULTS=upgrade.restore=fail", 1, NULL);
}

SCENARIO(upgrade_faults, who_is_killed_while_it_leaves_is_just_dead)
{
	with_fault("PSUP_FAULTS=leave.before-exit=kill", 0, "+next");
}

/* A keeper that dies in the middle is a keeper that died. */
static void
keeper_dies_at(const char *fault)
{
	const char *id;
	pid_t command;

	psupd(.first = true, .workers = 2, .env = {fault});
	id = background(PUPPET("print before; hang"));
	await_output(id, "before\n");
	command = pid_of(id);
	(void)cli_start("upgrade", build_dir("next"));
	server_was_killed();
	(void)await_former_server();
	await_gone(command);
	psupd(.workers = 2);
	expect_str(ask("poll", STR("sessionId", id)), "exitReason", "lost");
	expect_text(ask("log", STR("sessionId", id)), "before");
}

SCENARIO(upgrade_faults, a_keeper_killed_before_anything_changed)
{
	keeper_dies_at("PSUP_FAULTS=upgrade.after-check=kill");
}

SCENARIO(upgrade_faults, a_keeper_killed_between_two_workers)
{
	keeper_dies_at("PSUP_FAULTS=upgrade.before-leave=kill@2");
}

SCENARIO(upgrade_faults, a_keeper_killed_before_its_exec)
{
	keeper_dies_at("PSUP_FAULTS=upgrade.before-exec=kill");
}

SCENARIO(upgrade_faults, a_keeper_killed_after_its_exec)
{
	keeper_dies_at("PSUP_FAULTS=upgrade.after-exec=kill");
}
#endif
