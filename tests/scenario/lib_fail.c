/* SPDX-License-Identifier: MIT */
/* The file between a scenario and programs whose calls fail. */
#include "lib_fail.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib_inner.h"
#include "shm/layout.h"

static struct fail_page *shared;

struct fail_page *
fail_page(void)
{
	const char *path = file_in_scenario("fail");
	int fd;

	if (shared != NULL)
		return shared;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	expect(fd >= 0 && ftruncate(fd, sizeof(*shared)) == 0, "%s: %s", path,
	    strerror(errno));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	    MAP_SHARED, fd, 0);
	close(fd);
	expect(shared != MAP_FAILED);
	return shared;
}

/* How many of master, workers and standby have had a turn of their loop. */
static int
processes_up(void)
{
	struct psup_view_process p;
	char why[200] = "";
	size_t cursor = 0;
	psup_view *v;
	int n = 0;

	expect(psup_view_open(runtime_dir(), &v, why, sizeof(why)) == 0, "%s",
	    why);
	while (psup_view_next_process(v, &cursor, &p) == 1)
		n += p.pid != 0 && p.heartbeat_age_ms != UINT64_MAX &&
		    strcmp(p.role, "keeper") != 0;
	psup_view_close(&v);
	return n;
}

void
await_crew(int workers)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	while (processes_up() < workers + 2) {
		expect(now_ms() < until, "%d of %d processes",
		    processes_up(), workers + 2);
		poll(NULL, 0, 1);
	}
}

void
scn_start_failing(const struct server *how)
{
	struct server failing = *how;
	size_t n = 0;

	while (failing.env[n] != NULL)
		n++;
	failing.env[n] = scn_format("PSUP_TEST_FAIL=%s",
	    file_in_scenario("fail"));
	fail_page();
	scn_start(&failing);
	if (!how->fails)
		await_crew(how->workers == 0 ? 2 : how->workers);
}

struct fail_process *
fail_of(pid_t pid)
{
	for (uint32_t i = atomic_load(&shared->used); i-- > 0;)
		if (atomic_load(&shared->process[i].pid) == (int32_t)pid)
			return &shared->process[i];
	expect(false, "%d does not take part", (int)pid);
	return NULL;
}

/* Written in that order: see fail.h. */
static void
give_order(struct fail_order *o, int skip, int times, int error)
{
	atomic_store(&o->times, 0);
	atomic_store(&o->skip, skip);
	atomic_store(&o->error, error);
	atomic_store(&o->times, times);
}

void
fail(pid_t pid, enum fail_call what, int skip, int times, int error)
{
	give_order(&fail_of(pid)->order[what], skip, times, error);
}

void
fail_from_start(enum fail_role role, enum fail_call what, int skip, int times,
    int error)
{
	give_order(&fail_page()->first[role][what], skip, times, error);
}

void
fail_none(pid_t pid, enum fail_call what)
{
	give_order(&fail_of(pid)->order[what], 0, 0, 0);
}

uint64_t
failed(pid_t pid, enum fail_call what)
{
	return atomic_load(&fail_of(pid)->failed[what]);
}

uint64_t
turns_of(pid_t pid)
{
	int fd = open(scn_format("%s/stats", runtime_dir()),
	    O_RDONLY | O_CLOEXEC);
	struct stats_page p;
	off_t at = 0;

	while (pread(fd, &p, sizeof(p), at) == (ssize_t)sizeof(p)) {
		if (p.pid == (int32_t)pid) {
			close(fd);
			return p.loop_turns;
		}
		at += (off_t)sizeof(p);
	}
	expect(false, "%d has no stats page", (int)pid);
	return 0;
}
