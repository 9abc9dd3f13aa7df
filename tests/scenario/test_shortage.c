/* SPDX-License-Identifier: MIT */
/*
 * Descriptors, processes and space run out, made to by programs whose calls
 * fail (lib_fail.h): what is asked for is refused by name, nobody spins, the
 * next request works, and what runs goes on.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib_inner.h"
#include "lib_sweep.h"

TestSuite(shortage);

/* ------------------------------------------------------------------ accept */

/* While accept fails the master sleeps, serves those who are connected, and
 * takes who waited as soon as it can. */
static void
accept_fails_with(int error)
{
	pid_t pid = master_pid();
	uint64_t turns;
	int fds[5];

	expect_ok(ask("list"));
	fail(pid, FAIL_ACCEPT, 0, -1, error);
	for (int i = 0; i < 5; i++)
		fds[i] = raw_connect();
	turns = turns_of(pid);
	poll(NULL, 0, 500);
	turns = turns_of(pid) - turns;
	expect(failed(pid, FAIL_ACCEPT) > 0);
	expect(turns < 50, "%s: %llu turns in half a second", strerror(error),
	    (unsigned long long)turns);
	expect_str(ask("exec", STR("command", "echo on")), "aggregated",
	    "on\n");
	fail_none(pid, FAIL_ACCEPT);
	hang_up(peer(NULL));
	for (int i = 0; i < 5; i++)
		close(fds[i]);
}

SCENARIO(shortage, accept_fails_and_nobody_spins)
{
	failing_psupd(.workers = 1);
	accept_fails_with(EMFILE);
	accept_fails_with(ENFILE);
	accept_fails_with(ENOBUFS);
	accept_fails_with(ENOMEM);
}

/* ------------------------------------------------------------------- spawn */

/* The calls of every worker that is up fail, or none's: one on its way up
 * would end by it, and be tried again and again. */
static void
fail_workers(enum fail_call what, int times, int error)
{
	struct fail_page *page = fail_page();

	for (uint32_t i = 0; i < atomic_load(&page->used); i++)
		if (page->process[i].role == FAIL_WORKER &&
		    is_alive(page->process[i].pid))
			fail(page->process[i].pid, what, 0, times, error);
}

/* How many have failed in all workers. */
static uint64_t
failed_in_workers(enum fail_call what)
{
	struct fail_page *page = fail_page();
	uint64_t n = 0;

	for (uint32_t i = 0; i < atomic_load(&page->used); i++)
		if (page->process[i].role == FAIL_WORKER)
			n += atomic_load(&page->process[i].failed[what]);
	return n;
}

/* How many processes and threads this machine has: who looks for those of a
 * command where no leaf says them opens something of each. */
static unsigned
machine_tasks(void)
{
	FILE *f = fopen("/proc/loadavg", "re");
	unsigned tasks = 0;

	expect(f != NULL && fscanf(f, "%*s %*s %*s %*u/%u", &tasks) == 1);
	(void)fclose(f);
	return tasks;
}

/* Failing once it is tried again, unseen; failing for good it is said, after
 * a bounded number of tries; then it works again. */
static void
spawn_fails_with(enum fail_call what, int error, const char *name)
{
	const char *id = background(PUPPET("print up; cat; exit 4"));
	uint64_t before;
	struct answer *a;

	await_output(id, "up\n");
	fail_workers(what, 1, error);
	expect_str(ask("exec", STR("command", "echo on")), "aggregated",
	    "on\n");
	fail_workers(what, -1, error);
	before = failed_in_workers(what);
	a = ask("exec", STR("command", "echo on"));
	expect_str(a, "status", "failed");
	expect_str(a, "exitReason", "spawn-error");
	expect_str(a, "errno", name);
	expect(failed_in_workers(what) - before >= 2, "not tried again");
	expect(failed_in_workers(what) - before <=
	    60 + (what == FAIL_OPEN ? 2 * machine_tasks() : 0), "%llu tries",
	    (unsigned long long)(failed_in_workers(what) - before));
	/* what runs loses nothing, and goes on as soon as it can */
	expect_ok(ask("write", STR("sessionId", id), STR("data", "on\n"),
	    YES("eof")));
	if (what == FAIL_OPEN)
		fail_workers(what, 0, 0);
	await_output(id, "on\n");
	await_end(id);
	expect_int(ask("poll", STR("sessionId", id)), "exitCode", 4);
	fail_workers(what, 0, 0);
	expect_str(ask("exec", STR("command", "echo on")), "aggregated",
	    "on\n");
}

SCENARIO(shortage, no_process_is_to_be_had)
{
	failing_psupd(.conf = NO_CGROUP);
	spawn_fails_with(FAIL_CLONE, EAGAIN, "EAGAIN");
	spawn_fails_with(FAIL_CLONE, ENOMEM, "ENOMEM");
}

SCENARIO(shortage, no_pipe_is_to_be_had)
{
	failing_psupd();
	spawn_fails_with(FAIL_PIPE, EMFILE, "EMFILE");
	spawn_fails_with(FAIL_PIPE, ENFILE, "ENFILE");
}

SCENARIO(shortage, no_file_is_to_be_had)
{
	failing_psupd();
	spawn_fails_with(FAIL_OPEN, EMFILE, "EMFILE");
	spawn_fails_with(FAIL_OPEN, ENFILE, "ENFILE");
}

/* A command too long for a message goes by a memfd. */
SCENARIO(shortage, no_memfd_is_to_be_had)
{
	char big[100000];
	struct answer *a;

	failing_psupd();
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	fail(master_pid(), FAIL_MEMFD, 0, -1, EMFILE);
	a = ask("exec", LIST("argv", "/bin/echo", big, big));
	expect(failed(master_pid(), FAIL_MEMFD) > 0);
	expect_str(a, "exitReason", "spawn-error");
	expect_str(a, "errno", "EMFILE");
	expect_str(ask("exec", STR("command", "echo on")), "aggregated",
	    "on\n");
	fail_none(master_pid(), FAIL_MEMFD);
	a = ask("exec", LIST("argv", "/bin/echo", big, big));
	expect_int(a, "totalOutputChars", 2 * (int)sizeof(big));
}

/* ------------------------------------------------------------------ keeper */

/* The keeper cannot start anybody for a while: it tries again, later and
 * later, and those who are there do the work. */
static void
keeper_fails_with(enum fail_call what, int error)
{
	pid_t pid = keeper_pid(), master;
	const char *id = background(PUPPET("print up; cat; exit 4"));
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	uint64_t before = failed(pid, what);

	await_output(id, "up\n");
	fail(pid, what, 0, 3, error);
	kill_now(worker_of(id), SIGKILL);
	expect_ok(ask("write", STR("sessionId", id), STR("data", "on\n")));
	await_output(id, "on\n");
	while (failed(pid, what) - before < 3) {
		expect(now_ms() < until, "it does not try again");
		poll(NULL, 0, 1);
	}
	fail(pid, what, 0, 2, error);
	master = master_pid();
	kill_now(master, SIGKILL);
	await_gone(master);
	scn_ask_again();
	expect_ok(ask("write", STR("sessionId", id), YES("eof")));
	await_end(id);
	expect_int(ask("poll", STR("sessionId", id)), "exitCode", 4);
	expect(is_alive(pid) && keeper_pid() == pid);
}

SCENARIO(shortage, the_keeper_can_start_nobody_for_a_while)
{
	failing_psupd(.workers = 1);
	keeper_fails_with(FAIL_CLONE, EAGAIN);
}

SCENARIO(shortage, the_keeper_has_no_descriptors_for_a_while)
{
	failing_psupd(.workers = 1);
	keeper_fails_with(FAIL_SOCKETPAIR, EMFILE);
	keeper_fails_with(FAIL_MEMFD, ENFILE);
}

/* --------------------------------------------------------- one of many calls */

SCENARIO(shortage, every_request_survives_every_open_that_fails)
{
	sweep_begin();
	sweep_requests(master_pid(), FAIL_OPEN, EMFILE);
	sweep_execs(master_pid(), FAIL_OPEN, ENFILE);
}

/* Pages of the index are allocated before they are used, so this is not a full
 * tmpfs but one that breaks its word. A master that cannot go on with it makes
 * room for another; who asked is told, or cut off. */
SCENARIO(shortage, every_write_that_finds_no_space)
{
	sweep_begin();
	for (int n = 0; n < 24; n++) {
		int64_t began = now_ms();
		pid_t pid = master_pid();
		struct answer *a;

		fail(pid, FAIL_WRITE, n, 1, ENOSPC);
		a = ask("exec", STR("command", "echo on; exit 3"));
		expect(a->status == PSUP_OK || a->code[0] != '\0');
		if (a->status == PSUP_OK)
			expect_int(a, "exitCode", 3);
		fail_none(pid, FAIL_WRITE);
		scn_ask_again();
		expect_str(ask("exec", STR("command", "echo on")),
		    "aggregated", "on\n");
		expect(now_ms() - began < 2000 + busy_ms(), "%lld ms",
		    (long long)(now_ms() - began));
	}
	expect_ok(ask("write", STR("sessionId", sweep_cat),
	    STR("data", "on\n")));
	await_output(sweep_cat, "on\n");
	expect_text(ask("log", STR("sessionId", sweep_ended)), "two");
}

/* How many records a turn has, so whether its commit needs more room than there
 * is, is a matter of chance: where it does, who asked is told. */
SCENARIO(shortage, an_index_that_cannot_grow_refuses_or_serves)
{
	sweep_begin();
	for (int n = 0; n < 20; n++) {
		struct answer *a;

		fail(master_pid(), FAIL_FALLOCATE, n % 3, -1, ENOSPC);
		a = ask("exec", STR("command", "echo on"));
		if (a->status == PSUP_OK)
			expect_str(a, "aggregated", "on\n");
		else
			expect_refused(a, "no-space");
		fail_none(master_pid(), FAIL_FALLOCATE);
		expect_str(ask("exec", STR("command", "echo on")),
		    "aggregated", "on\n");
	}
}

/* ------------------------------------------------------------------- space */

/* Leaves so many bytes of the runtime directory's tmpfs. */
static void
fill_up(int fd, off_t left)
{
	struct statvfs fs;
	struct stat st;
	off_t free_bytes;

	expect(fstat(fd, &st) == 0 && fstatvfs(fd, &fs) == 0);
	free_bytes = (off_t)fs.f_bavail * (off_t)fs.f_frsize;
	if (free_bytes > left)
		(void)!posix_fallocate(fd, 0,
		    st.st_size + free_bytes - left);
	else
		expect(ftruncate(fd, st.st_size > left - free_bytes
		    ? st.st_size - (left - free_bytes) : 0) == 0);
}

/* One page after the other is left of a tmpfs while everything is asked for:
 * refused by name or done, and nobody meets a page that is not there. */
SCENARIO(shortage, every_amount_of_space)
{
	const char *id;
	int fd, refused = 0;
	pid_t master, worker, keeper;

	if (geteuid() != 0)
		skip_scenario("only root has a tmpfs of its own");
	psupd(.workers = 1, .tmpfs_bytes = 24 << 20);
	id = background(PUPPET("print up; cat; exit 4"));
	await_output(id, "up\n");
	keeper = keeper_pid();
	master = master_pid();
	worker = worker_of(id);
	fd = open(scn_format("%s/filler", runtime_dir()),
	    O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	expect(fd >= 0);
	for (int pages = 0; pages < 40; pages++) {
		struct answer *a;

		fill_up(fd, pages * 4096);
		a = ask("exec", STR("command", "head -c 100000 /dev/zero; "
		    "exit 3"), STDIN_TEXT("some"), YES("pty"));
		if (a->status != PSUP_OK)
			expect_refused(a, "no-space");
		else if (number_of(a, "exitCode") != 3)
			expect_str(a, "errno", "ENOSPC");
		refused += a->status != PSUP_OK ||
		    number_of(a, "exitCode") != 3;
		a = ask("write", STR("sessionId", id), STR("data", "x\n"));
		expect(a->status == PSUP_OK || a->code[0] != '\0');
		expect_ok(ask("list"));
		expect_ok(ask("poll", STR("sessionId", id)));
	}
	expect(refused > 0, "it was never full");
	expect(ftruncate(fd, 0) == 0);
	close(fd);
	expect_str(ask("exec", STR("command", "echo on")), "aggregated",
	    "on\n");
	expect(keeper_pid() == keeper && master_pid() == master &&
	    worker_of(id) == worker, "somebody was replaced");
	expect_ok(ask("write", STR("sessionId", id), YES("eof")));
	await_end(id);
	expect_int(ask("poll", STR("sessionId", id)), "exitCode", 4);
}
