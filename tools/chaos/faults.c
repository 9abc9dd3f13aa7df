/* SPDX-License-Identifier: MIT */
/*
 * --fault: the server's processes kill, stop or hinder themselves at named
 * points (common/fault.h; test builds alone). Where one dies by its own hand
 * nobody else is killed; where one is only hindered (fail, once), --kill and
 * --rate say who is killed meanwhile.
 */
#include "chaos.h"

#include <signal.h>
#include <string.h>

#include "common/procfs.h"

#define POINTS_MAX  128
#define FORKS_MAX   256 /* of somebody's children, so many are looked at */
#define FORKED_NO_EXEC 0x40u /* the kernel's PF_FORKNOEXEC */

static char environment[1024], log_variable[128];
static bool of_keeper; /* a point of the keeper */

/* How often which point's time came, by the file that the processes write. */
static struct point {
	char name[64];
	long n;
} points[POINTS_MAX];
static size_t points_count;

/* One NAME[@N][=ACTION] of `len` bytes, as the server spells it. */
static void
take_point(const char *text, size_t len)
{
	size_t used = strlen(environment);
	int name = (int)strcspn(text, "@=,");
	const char *at = memchr(text, '@', len), *eq = memchr(text, '=', len);
	int n_at = at == NULL ? 0
	    : eq != NULL && eq > at ? (int)(eq - at)
	                            : (int)(text + len - at);
	int n_eq = eq == NULL ? 0 : (int)(text + len - eq);
	bool hinders = n_eq == 5 && (strncmp(eq, "=fail", 5) == 0 ||
	    strncmp(eq, "=once", 5) == 0);

	/* no process of the server's dies */
	hinders |= strncmp(text, "porter.before-clone", 19) == 0 ||
	    strncmp(text, "porter.after-clone", 18) == 0 ||
	    strncmp(text, "lodge.", 6) == 0;
	if (name == 0 || used + len + 16 > sizeof(environment))
		die("--fault: '%.*s': expected NAME[@N][=ACTION]", (int)len,
		    text);
	snprintf(environment + used, sizeof(environment) - used,
	    "%s%.*s%.*s%.*s", used > 12 ? "," : "", name, text,
	    n_eq > 0 ? n_eq : 5, n_eq > 0 ? eq : "=kill", n_at,
	    n_at > 0 ? at : "");
	chaos.by_points |= !hinders;
	of_keeper |= !hinders && (strncmp(text, "keeper.", 7) == 0 ||
	    strncmp(text, "upgrade.", 8) == 0);
	chaos.full |= strncmp(text, "ring.no-space=", 14) == 0 ||
	    strncmp(text, "ring.no-space@", 14) == 0;
	/* one that stops is waited for, a second */
	chaos.no_spill |= (hinders || (n_eq == 5 &&
	    strncmp(eq, "=stop", 5) == 0)) && strncmp(text, "spill.", 6) == 0;
	chaos.no_index |= hinders && strncmp(text, "index.", 6) == 0;
	chaos.in_hand |= strncmp(text, "pty.splice=", 11) == 0;
}

void
faults_parse(void)
{
	const char *s = chaos.o.fault;

	if (s == NULL)
		return;
	strcpy(environment, "PSUP_FAULTS=");
	if (strcmp(s, "~") == 0) {
		of_keeper = (chaos.o.victims & VICTIM_KEEPER) != 0;
		strcat(environment, of_keeper ? "~psupd"
		                              : "~psup-worker~psup-master");
		return;
	}
	while (*s != '\0') {
		size_t len = strcspn(s, ",");

		take_point(s, len);
		s += len + (s[len] == ',');
	}
}

void
faults_environment(const char *ret[2])
{
	snprintf(log_variable, sizeof(log_variable), "PSUP_FAULTS_LOG=%s/hits",
	    chaos.work);
	ret[0] = chaos.o.fault != NULL ? environment : NULL;
	ret[1] = chaos.o.fault != NULL ? log_variable : NULL;
}

/* One more of this name. */
static void
count_point(const char *name)
{
	size_t i = 0;

	while (i < points_count && strcmp(points[i].name, name) != 0)
		i++;
	if (i == POINTS_MAX)
		return;
	if (i == points_count) {
		snprintf(points[i].name, sizeof(points[i].name), "%s", name);
		points_count++;
	}
	points[i].n++;
}

void
faults_count(void)
{
	const char *path = strchr(log_variable, '=');
	char name[64];
	long n = 0;
	FILE *f;

	f = path != NULL ? fopen(path + 1, "re") : NULL;
	if (f == NULL)
		return;
	points_count = 0;
	memset(points, 0, sizeof(points));
	while (fscanf(f, "%63s", name) == 1) {
		count_point(name);
		n++;
	}
	fclose(f);
	atomic_store(&chaos.kills_point, n);
}

json_t *
faults_rows(void)
{
	json_t *all = json_object();

	for (size_t i = 0; i < points_count; i++)
		json_object_set_new(all, points[i].name,
		    json_integer(points[i].n));
	return all;
}

/* Is it stopped? */
static bool
is_stopped(pid_t pid)
{
	struct procfs_stat st;

	return procfs_stat(pid, &st) == 0 && st.state == 'T';
}

/* Who stopped at its point goes on after a while, or is killed there. */
static void
let_go_on(pid_t pid, uint32_t *random)
{
	if (!is_stopped(pid))
		return;
	atomic_fetch_add(&chaos.stops, 1);
	nap_ms(rnd(random) % (unsigned)chaos.o.stop_ms);
	if (rnd(random) % 2 == 0) {
		kill(pid, SIGCONT);
		nap_ms(rnd(random) % 50);
	}
	kill(pid, SIGKILL);
}

/* The same for its children before an exec: of a worker those who write spill
 * files, of the keeper porters. */
static void
let_forks_go_on(pid_t parent, uint32_t *random)
{
	int32_t pids[FORKS_MAX];
	struct procfs_stat st;

	for (size_t n = procfs_children(parent, pids, FORKS_MAX); n > 0; n--)
		if (procfs_stat(pids[n - 1], &st) == 0 &&
		    (st.flags & FORKED_NO_EXEC) != 0)
			let_go_on(pids[n - 1], random);
}

/* All that stopped, unless nobody may go on. Then comes the next one, for each
 * passes its point once. */
static void
go_on(psup_view *v, uint32_t *random)
{
	static const char *const roles[] = {"master", "worker", "standby"};
	struct process p[PROCESSES_MAX];

	if (strstr(environment, "=stop") == NULL || chaos.o.stop_ms == 0)
		return;
	if (strstr(environment, "porter.") != NULL)
		let_forks_go_on(atomic_load(&chaos.keeper), random);
	for (size_t i = 0; i < 3; i++)
		for (int n = server_processes(v, roles[i], p); n > 0; n--) {
			let_forks_go_on(p[n - 1].pid, random);
			let_go_on(p[n - 1].pid, random);
		}
}

bool
faults_of_keeper(void)
{
	return of_keeper;
}

/* Before the campaign and after its last kill, too, somebody must let them go
 * on: a session whose handling hangs three workers is quarantined. And a keeper
 * that has come to its point is followed by another. */
void *
faults_tend_thread(void *)
{
	uint32_t random = chaos.o.seed | 1;
	psup_view *v = NULL;

	while (atomic_load(&chaos.tending)) {
		if (of_keeper && server_is_dead())
			keeper_died(NULL);
		if (v == NULL)
			psup_view_open(chaos.dir, &v, NULL, 0);
		if (v != NULL)
			go_on(v, &random);
		nap_ms(20);
	}
	psup_view_close(&v);
	return NULL;
}

void
faults_watch(void)
{
	uint32_t random = chaos.o.seed | 1;
	psup_view *v = NULL;

	while (!killed_enough()) {
		faults_count();
		if (of_keeper && server_is_spared() && !killed_enough()) {
			nap_ms(rnd(&random) % 50);
			kill(atomic_load(&chaos.keeper), SIGKILL);
			/* nobody starts another once there were enough */
			while (chaos.own && !server_is_dead())
				nap_ms(0.2);
		}
		if (of_keeper && server_is_dead()) {
			keeper_died(NULL);
			continue;
		}
		if (!of_keeper && v == NULL)
			psup_view_open(chaos.dir, &v, NULL, 0);
		if (!of_keeper && v != NULL)
			go_on(v, &random);
		nap_ms(of_keeper ? 1 : 20);
	}
	psup_view_close(&v);
}
