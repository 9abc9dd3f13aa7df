/* SPDX-License-Identifier: MIT */
/*
 * The death of a box, by its pid 1 or by its bwrap: all in it must be dead then,
 * and told to be lost (story_check.c); whoever is in another box must not notice;
 * and the next command of that scope runs in another one.
 */
#include "chaos.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/procfs.h"

#define GONE_MS 10000

static struct {
	_Atomic long killed, dead;
} places[BOXES];

long
boxed_killed(unsigned place)
{
	return atomic_load(&places[place].killed);
}

long
boxed_dead(unsigned place)
{
	return atomic_load(&places[place].dead);
}

/* The pid 1 of the box that is ready in this place; 0: none. */
static pid_t
pid_of(psup *p, unsigned place)
{
	char scope[ID_BYTES], key[ID_BYTES + 8];
	psup_reply *r = NULL;
	const psup_value *all;
	pid_t pid = 0;

	boxed_scope(place, scope);
	snprintf(key, sizeof(key), "agent %s", scope);
	if (ask(p, "sandboxes", NULL, &r) == PSUP_OK) {
		all = psup_value_get(psup_reply_details(r), "boxes");
		for (size_t i = 0; i < psup_value_count(all); i++) {
			const psup_value *row = psup_value_at(all, i);

			if (psup_get_is(row, "box", key) &&
			    psup_get_is(row, "state", "ready"))
				pid = (pid_t)psup_get_int(row, "pid", 0);
		}
	}
	psup_reply_free(&r);
	return pid;
}

/* A command of this scope, which has a new box made. */
static void
enter_the_next(psup *p, unsigned place, pid_t before, uint64_t began)
{
	psup_args *a = psup_args_new();
	char scope[ID_BYTES], key[64], id[ID_BYTES] = "";
	const psup_value *d;
	psup_reply *r = NULL;

	boxed_scope(place, scope);
	snprintf(key, sizeof(key), "%s-%ld", scope, boxed_dead(place));
	psup_args_list_begin(a, "argv");
	psup_args_str(a, NULL, "true");
	psup_args_list_end(a);
	psup_args_str(a, "scope", scope);
	psup_args_str(a, "host", "sandbox");
	psup_args_str(a, "requestKey", key);
	psup_args_nil(a, "yieldMs");
	if (ask(p, "exec", a, &r) == PSUP_OK) {
		d = psup_reply_details(r);
		psup_get_copy(d, "sessionId", id, sizeof(id));
		if (psup_get_int(d, "exitCode", -1) != 0 &&
		    !psup_get_is(d, "status", "running"))
			lost(LOSS_ANSWER, "the next command of %s after its box "
			    "was killed: %s", scope, said(p, r));
		else
			times_add(&chaos.box_back, clock_boot_ns() - began);
		if (pid_of(p, place) == before)
			lost(LOSS_ANSWER, "%s: its box %d was killed, and is "
			    "listed as ready", scope, before);
	}
	psup_reply_free(&r);
	if (id[0] != '\0')
		ask(p, "remove", of_session(id), &r);
	psup_reply_free(&r);
}

/* By its bwrap, which is our keeper's child, or itself. */
static pid_t
whom(pid_t pid, uint32_t *random)
{
	struct procfs_stat st, parent;

	if (procfs_stat(pid, &st) < 0 || procfs_stat(st.ppid, &parent) < 0 ||
	    parent.ppid != atomic_load(&chaos.keeper))
		return 0; /* it has ended */
	return rnd(random) % 2 == 0 ? pid : st.ppid;
}

void
box_kill(uint32_t *random, psup_view *v, void (*together)(psup_view *v))
{
	unsigned place = rnd(random) % BOXES;
	struct pollfd end = {.events = POLLIN};
	uint64_t began;
	psup *p = client_new();
	pid_t pid, victim;

	pid = pid_of(p, place);
	end.fd = pid > 1 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	victim = end.fd >= 0 ? whom(pid, random) : 0;
	if (victim > 1) {
		atomic_fetch_add(&places[place].killed, 1);
		began = clock_boot_ns();
		kill(victim, SIGKILL);
		atomic_fetch_add(&chaos.kills_box, 1);
	}
	if (together != NULL)
		together(v);
	if (victim > 1) {
		/* the kernel tells its end once all in it are gone */
		if (poll(&end, 1, GONE_MS) != 1)
			lost(LOSS_PROCESS, "pid 1 (%d) of a box lives on", pid);
		atomic_store(&places[place].dead, boxed_killed(place));
		enter_the_next(p, place, pid, began);
	}
	if (end.fd >= 0)
		close(end.fd);
	psup_free(&p);
}
