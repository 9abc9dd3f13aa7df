/* SPDX-License-Identifier: MIT */
/*
 * The keeper's death: the one that psup does not survive. Its commands must
 * end; what hid is ended by the next server before it answers; its sessions
 * are lost, and told so, with the output there was and no exit status; what
 * waited runs once, under the next one. Stories find the latter by themselves
 * (story.c); here is who dies, who outlives it, and the next server.
 */
#include "chaos.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/procfs.h"

#define GONE_MS   10000 /* then the commands count as living on */
#define HID_MS    300   /* what hid has lost its workers: not so long */
#define LIVES_MAX 4096
#define KILLED_MAX 64 /* workers, the last that were killed */
#define SEEN_MS   2000  /* its end, by us who are its parent */

/* Is it a command of this campaign? Each has the file of starts among its
 * arguments. */
static bool
is_command(pid_t pid)
{
	char path[128], args[4096 + 256];
	ssize_t n = procfs_file(pid, "cmdline", args, sizeof(args));

	if (n <= 0)
		return false;
	snprintf(path, sizeof(path), "%s/starts", chaos.work);
	return memmem(args, (size_t)n, path, strlen(path)) != NULL;
}

/* The commands that run. */
static size_t
commands(struct procfs_stat ret[LIVES_MAX])
{
	DIR *d = opendir("/proc");
	size_t n = 0;
	pid_t pid;

	while (n < LIVES_MAX && (pid = procfs_next(d)) != 0)
		n += pid > 1 && is_command(pid) && procfs_alive(pid, &ret[n]);
	if (d != NULL)
		closedir(d);
	return n;
}

/* We are the subreaper of what the keeper leaves. Bystanders are ours and live;
 * a keeper that is dead already is for keeper_died(), and who stands behind it
 * for the next time. */
static void
reap(void)
{
	for (;;) {
		siginfo_t si = {0};

		if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) < 0 ||
		    si.si_pid == 0 || si.si_pid == atomic_load(&chaos.keeper))
			return;
		waitpid(si.si_pid, NULL, WNOHANG);
	}
}

/* Until no command runs, or for so long. Returns how many are left. */
static size_t
await_none(struct procfs_stat ret[LIVES_MAX], int ms, uint64_t died_ns)
{
	uint64_t until = died_ns + (uint64_t)ms * UINT64_C(1000000);
	size_t n;

	for (;;) {
		reap();
		n = commands(ret);
		if (n == 0) {
			times_add(&chaos.commands_gone,
			    clock_boot_ns() - died_ns);
			return 0;
		}
		if (clock_boot_ns() > until)
			return n;
		nap_ms(0.5);
	}
}

/* Those of before that live still. */
static void
expect_ended(const struct procfs_stat *before, size_t n)
{
	struct procfs_stat now;

	for (size_t i = 0; i < n; i++)
		if (procfs_alive(before[i].pid, &now) &&
		    now.start == before[i].start)
			lost(LOSS_PROCESS, "process %d outlived its keeper, and "
			    "the next server answers", now.pid);
	chaos.hid += (long)n;
}

/* Who outlives it, and the next one. */
static void
keeper_gone(uint64_t died_ns)
{
	static struct procfs_stat left[LIVES_MAX];
	static uint32_t random = 1;
	bool hiding = atomic_load(&chaos.hiding_allowed);
	int wait = 0, tries = 0;
	size_t n;

	/* the next one starts at once, or when it is quiet */
	if (rnd(&random) % 4 != 0)
		wait = hiding ? HID_MS : GONE_MS;
	n = await_none(left, wait, died_ns);
	if (n > 0 && wait > 0 && !hiding)
		lost(LOSS_PROCESS, "%zu commands run %d s after their keeper "
		    "died", n, GONE_MS / 1000);
	while (!server_again()) {
		/* one more: it may have started what waited, and lost that */
		atomic_fetch_add(&chaos.kills_keeper, 1);
		if (++tries == 20)
			die("no server comes up any more (%s/psupd.log)",
			    chaos.work);
	}
	expect_ended(left, n);
	reap();
	times_add(&chaos.keeper_back, clock_boot_ns() - died_ns);
	atomic_store(&chaos.keeper_dead_ns, clock_boot_ns());
	atomic_fetch_add(&chaos.keepers_dead,
	    atomic_load(&chaos.kills_keeper) -
	        atomic_load(&chaos.keepers_dead));
}

/* One that dies by its own hand is counted a moment later: until then its last
 * master still speaks, of commands that died with it. */
bool
keeper_died_since(long deaths)
{
	return server_is_dead() ||
	    atomic_load(&chaos.kills_keeper) != deaths;
}

/* They die even before it can be waited for: whoever heard of that gives it a
 * moment. */
bool
keeper_dies(long deaths)
{
	uint64_t until = clock_boot_ns() + SEEN_MS * UINT64_C(1000000);

	while (!keeper_died_since(deaths)) {
		if (!faults_of_keeper() || clock_boot_ns() > until)
			return false;
		nap_ms(1);
	}
	return true;
}

static pid_t killed[KILLED_MAX];
static size_t killed_count;

void
keeper_killed_worker(pid_t pid)
{
	killed[killed_count++ % KILLED_MAX] = pid;
}

/* Was every worker that the board names killed by us? A keeper that dies takes
 * a moment for it, in which it starts no other. */
static bool
all_killed(psup_view *v)
{
	static const char *const roles[] = {"worker", "standby"};
	struct process p[PROCESSES_MAX];

	for (size_t i = 0; i < 2; i++)
		for (int n = server_processes(v, roles[i], p); n > 0; n--) {
			size_t k = 0;

			while (k < KILLED_MAX && killed[k] != p[n - 1].pid)
				k++;
			if (k == KILLED_MAX)
				return false;
		}
	return true;
}

void
keeper_died(psup_view *v)
{
	atomic_fetch_add(&chaos.kills_keeper, 1);
	/* a worker that has just made way kills nobody's tree, nor does one
	 * that is dead */
	atomic_store(&chaos.hiding_allowed,
	    chaos.o.upgrade || (v != NULL && all_killed(v)));
	waitpid(atomic_load(&chaos.keeper), NULL, 0);
	keeper_gone(clock_boot_ns());
}

/* Kills all of a role. */
static void
kill_role(psup_view *v, const char *role, _Atomic long *count)
{
	struct process p[PROCESSES_MAX];

	for (int n = server_processes(v, role, p); n > 0; n--)
		if (kill(p[n - 1].pid, SIGKILL) == 0)
			atomic_fetch_add(count, 1);
}

void
keeper_kill(psup_view *v, uint32_t *random)
{
	/* who else, and whether a moment before it */
	unsigned who = rnd(random) % 8, pause = rnd(random) % 3;
	pid_t pid = atomic_load(&chaos.keeper);
	uint64_t died;

	atomic_fetch_add(&chaos.kills_keeper, 1);
	atomic_store(&chaos.hiding_allowed, who == 2 || who == 3 ||
	    chaos.o.upgrade);
	if (who == 1 || who == 3)
		kill_role(v, "master", &chaos.kills_master);
	if (who == 2 || who == 3) {
		kill_role(v, "worker", &chaos.kills_worker);
		kill_role(v, "standby", &chaos.kills_worker);
	}
	if (who >= 1 && who <= 3)
		nap_ms(pause * (rnd(random) % 10) / 4.0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	died = clock_boot_ns();
	keeper_gone(died);
}
