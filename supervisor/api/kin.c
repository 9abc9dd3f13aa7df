/* SPDX-License-Identifier: MIT */
/*
 * Which session is a client part of? Asked once per connection, when it first
 * runs something, so that a session knows its parent. Facts of the kernel come
 * first: the peer's ancestors, their groups and POSIX sessions; the mark in
 * its environment; its control group. Called by exec.c; deadlock.c
 * uses the answer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/cgroup.h"
#include "common/mark.h"
#include "common/procfs.h"
#include "supervisor/api/conn.h"

#define STEPS_MAX 64u /* of the peer's ancestors */

/* Pids that name whoever a process belongs to, the nearest first. */
struct trail {
	int32_t pid[3 * STEPS_MAX];
	size_t n;
	bool of_keeper; /* it ended there */
};

/* The peer, its ancestors up to the keeper, their groups and sessions. */
static void
trail_follow(const struct master *m, int32_t pid, struct trail *t)
{
	for (unsigned i = 0; i < STEPS_MAX && pid > 1 &&
	     pid != m->h.keeper_pid; i++) {
		struct procfs_stat st;

		if (procfs_stat(pid, &st) < 0)
			return;
		t->pid[t->n++] = pid;
		t->pid[t->n++] = st.pgrp;
		t->pid[t->n++] = st.sid;
		pid = st.ppid;
	}
	t->of_keeper = pid == m->h.keeper_pid;
}

/* The pid of its command, or 0. A command may ask for more before its worker
 * has said that it runs: then the kernel has written its pid into the ring. */
static int32_t
pid_of(const struct master *m, const struct session *s)
{
	struct ring_look look;

	if (s->facts.pid != 0 || (s->start.is != START_QUICK &&
	                             s->start.is != START_SLOW))
		return s->facts.pid;
	return ring_look(m->dirfd, s->id.sid, &look) == 0 ? look.pid : 0;
}

/* The live session whose command is nearest on the trail. */
static struct sid
by_trail(struct master *m, const struct trail *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct session *s = t->pid[i] > 1
		    ? session_by_pid(m, t->pid[i])
		    : NULL;

		if (s != NULL && session_live(s))
			return s->id.sid;
	}
	return (struct sid){0};
}

/* The same among those that are starting: a look into each one's ring, for
 * whom the keeper has among its descendants and nothing else is known of. */
static struct sid
by_starts(struct master *m, const struct trail *t)
{
	struct session *s;

	for (s = registry_first(m); s != NULL && t->of_keeper;
	     s = registry_next(m, s)) {
		int32_t pid = s->facts.pid == 0 ? pid_of(m, s) : 0;

		for (size_t i = 0; i < t->n && pid > 1; i++)
			if (t->pid[i] == pid)
				return s->id.sid;
	}
	return (struct sid){0};
}

/* The session that a mark names. */
static struct sid
by_instance(struct master *m, const char *id)
{
	struct session *s = session_by_instance(m, id);

	return s != NULL ? s->id.sid : (struct sid){0};
}

/* By the mark in its environment. */
static struct sid
by_environ(struct master *m, int32_t pid)
{
	struct proc_mark mark;
	char id[48];

	if (mark_read(pid, &mark) < 0)
		return (struct sid){0};
	snprintf(id, sizeof(id), "%016" PRIx64 ".%016" PRIx64,
	    mark.incarnation, mark.session);
	return by_instance(m, id);
}

/* Is there a line of /proc/PID/cgroup that names this group, or one below? */
static bool
names_group(const char *text, const char *group)
{
	size_t n = strlen(group);

	for (const char *at = text; (at = strstr(at, group)) != NULL; at += n)
		if (at[n] == '/' || at[n] == '\n' || at[n] == '\0')
			return true;
	return false;
}

/* By its control group: for one that hides from everything else. Costs a look
 * into every live ring, and so comes last. */
static struct sid
by_leaf(struct master *m, int32_t pid)
{
	char text[4096], group[64 + CGROUP_LEAF_MAX];
	struct ring_facts *f;
	struct sid found = {0};
	struct session *s;
	int n;

	n = snprintf(group, sizeof(group), "/psup-%016" PRIx64 "/",
	    m->h.incarnation);
	if (procfs_file(pid, "cgroup", text, sizeof(text)) <= 0)
		return found;
	f = strstr(text, group) != NULL ? malloc(sizeof(*f)) : NULL;
	if (f == NULL)
		return found;
	for (s = registry_first(m); s != NULL && found.v == 0;
	     s = registry_next(m, s)) {
		struct ring_reader *r = session_live(s) && pid_of(m, s) > 0
		    ? readers_get(m, s->id.sid)
		    : NULL;

		if (r == NULL || ring_facts(r, f) != RING_OK ||
		    f->raw.leaf == 0)
			continue;
		cgroup_leaf_name(f->raw.box, f->raw.leaf, group + n);
		if (names_group(text, group))
			found = s->id.sid;
	}
	free(f);
	return found;
}

/* The session that the peer of a connection is part of, or {0}. */
struct sid
conn_kin(struct conn *c)
{
	struct trail t = {.n = 0};
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (c->kin_known)
		return c->kin;
	c->kin_known = true;
	if (c->m->live == 0 ||
	    getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 ||
	    cred.pid <= 1)
		return c->kin;
	trail_follow(c->m, cred.pid, &t);
	c->kin = by_trail(c->m, &t);
	if (c->kin.v == 0)
		c->kin = by_environ(c->m, cred.pid);
	if (c->kin.v == 0)
		c->kin = by_starts(c->m, &t);
	if (c->kin.v == 0)
		c->kin = by_leaf(c->m, cred.pid);
	return c->kin;
}

/* The same for one call: a peer that nothing is known of may still say itself
 * where it runs, in the environment it sends. */
struct sid
kin_of_call(const struct api_call *c)
{
	struct sid kin = conn_kin(c->conn);
	const struct val *env = val_get(c->params, "baseEnv");
	char id[64] = "";

	if (kin.v != 0)
		return kin;
	if (env == NULL)
		strlcpy(id, c->conn->defaults.mark, sizeof(id));
	else if (val_copy(env, "PSUP_INSTANCE", id, sizeof(id)) >= sizeof(id))
		id[0] = '\0';
	return id[0] != '\0' ? by_instance(c->m, id) : kin;
}
