/* SPDX-License-Identifier: MIT */
/* What psupd reaps of its own accord: orphans, and none that may be a command. */
#include "lib_psupd.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

#define LOOKS    8 /* more than the keeper needs to be sure of an orphan */
#define TICKS_NS (30 * NSEC_PER_MSEC) /* a process's age is told in ticks of 10 */

TestSuite(psupd_orphans, .init = setup, .fini = teardown, .timeout = 40);

Test(psupd_orphans, reaps_orphans)
{
	struct peer *w;
	struct ctl_exit e;
	char path[96], text[16] = "";
	pid_t orphan;
	int fd;

	up();
	w = peer_of(HERITAGE_WORKER, 0, 1);
	snprintf(path, sizeof(path), "(sleep 0.3 & echo $! >%s/o)", dir);
	e = run_session(w, 3, path);
	tell_head(w, CTL_CLOSED, 3);
	await_gone(e.pid);
	snprintf(path, sizeof(path), "%s/o", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert_gt(read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	orphan = atoi(text);
	await_gone(orphan);
}

/* HOLD of a start that begins then, and whose pid its ring's header would tell,
 * if there was one. */
static void
hold_at(struct peer *p, uint64_t sid, uint64_t at_ns)
{
	struct ctl_fds m = { .head = CTL_INIT(CTL_HOLD, (struct sid){ sid },
		struct ctl_fds), .mask = CTL_FD_OUT, .at_ns = at_ns,
		.turn = TURN_OF_START(1), .flags = CTL_HOLD_BY_HEADER };
	int fds[2];

	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	tell(p, &m, sizeof(m), &fds[0], 1);
	close(fds[0]);
	close(fds[1]);
}

/* What begins from here on is younger than what begins before. */
static uint64_t
next_tick(void)
{
	uint64_t at = clock_boot_ns() + TICKS_NS;

	while (clock_boot_ns() < at + TICKS_NS)
		poll(NULL, 0, 1); /* the clock is what is waited for */
	return at;
}

/* The keeper has looked at its children again, and reaped one that is older than
 * any start. */
static void
reaps_another(pid_t orphan)
{
	cr_assert_eq(kill(orphan, SIGKILL), 0);
	await_gone(orphan);
}

/* A command has died, and its pid is not known yet. The first start without one
 * cannot be its, the second may be. */
Test(psupd_orphans, who_may_be_of_any_start_is_not_reaped)
{
	struct ctl_pid ask = { .head = CTL_INIT(CTL_ASK_EXIT,
		(struct sid){ 2 }, struct ctl_pid) };
	struct ctl_exit e;
	pid_t old[LOOKS];
	uint64_t began;
	struct peer *w;

	up();
	w = peer_of(HERITAGE_WORKER, 0, 1);
	for (int i = 0; i < LOOKS; i++)
		old[i] = spawn_untold(w, 77, "exec sleep 1000");
	began = next_tick();
	hold_at(w, 1, clock_boot_ns() + 3600 * NSEC_PER_SEC);
	hold_at(w, 2, began);
	ask.pid = spawn_untold(w, 2, "exit 7");
	while (strchr("Z", state_of(ask.pid)) == NULL) /* or gone already */
		poll(NULL, 0, 1);
	for (int i = 0; i < LOOKS; i++)
		reaps_another(old[i]);
	tell(w, &ask, sizeof(ask), NULL, 0);
	memcpy(&e, expect(w, CTL_EXITED)->bytes, sizeof(e));
	cr_expect_eq(e.code, CLD_EXITED, "it was reaped as an orphan");
	cr_expect_eq(e.status, 7);
}

#ifdef PSUP_FAULTS
/* Waits until the keeper has so many dead children. */
static void
await_zombies(pid_t keeper, int want)
{
	char path[64], line[4096], *p, *end;
	int i, n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)keeper,
	    (int)keeper);
	for (i = 0; i < DEADLINE_MS; i++, poll(NULL, 0, 1)) {
		f = fopen(path, "re");
		cr_assert_not_null(f);
		p = fgets(line, sizeof(line), f) == NULL ? NULL : line;
		fclose(f);
		for (n = 0; p != NULL && *p != '\0'; p = end) {
			pid_t pid = (pid_t)strtol(p, &end, 10);

			if (end == p)
				break;
			n += state_of(pid) == 'Z';
		}
		if (n >= want)
			return;
	}
	cr_assert_fail("no %d zombies", want);
}

/*
 * The keeper is about to reap an orphan. Before it does, a command begins and
 * dies: it is a zombie like the other, but SPAWNED, still unread, says whose.
 */
Test(psupd_orphans, a_command_that_died_before_spawned_was_read_is_no_orphan)
{
	struct peer *w;
	struct ctl_exit e = { .code = 0 };
	int fds[2], i;
	pid_t keeper;

	setenv("PSUP_FAULTS", "keeper.before-reap=stop", 1);
	keeper = up();
	unsetenv("PSUP_FAULTS");
	w = peer_of(HERITAGE_WORKER, 0, 1);
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	hold(w, 1, fds[0]);
	hold(w, 2, fds[0]);
	close(fds[0]);
	close(fds[1]);
	spawn(w, 2, "(sleep 0.5 &)");
	e = exit_told(w, 2);
	tell_head(w, CTL_CLOSED, 2);
	await_gone(e.pid);
	e.code = 0;
	for (i = 0; i < DEADLINE_MS && state_of(keeper) != 'T'; i++)
		poll(NULL, 0, 1);
	cr_assert_eq(state_of(keeper), 'T');
	spawn(w, 1, "exit 7");
	await_zombies(keeper, 2); /* beside the orphan */
	kill(keeper, SIGCONT);
	for (i = 0; i < DEADLINE_MS && e.code == 0; i++, poll(NULL, 0, 1)) {
		tell_head(w, CTL_ASK_EXIT, 1);
		memcpy(&e, expect(w, CTL_EXITED)->bytes, sizeof(e));
	}
	cr_expect_eq(e.code, CLD_EXITED, "its exit was reaped as an orphan's");
	cr_expect_eq(e.status, 7);
}
#endif
