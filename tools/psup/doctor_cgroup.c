/* SPDX-License-Identifier: MIT */
/* psup doctor: control groups: which version, may we make groups of our own,
 * and is there cgroup.kill. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"

/* May we make groups below ours in that hierarchy? */
static bool
is_ours(const struct doctor *d, const char *controller)
{
	char group[DOCTOR_PATH], full[DOCTOR_PATH];

	if (!doctor_cgroup(d, controller, group))
		return false;
	doctor_path(d, full, "%s", group);
	return access(full, W_OK | X_OK) == 0;
}

static void
probe_version(const struct doctor *d, struct finding *f)
{
	char group[DOCTOR_PATH];
	bool v2 = doctor_cgroup(d, "", group);
	bool v1 = doctor_cgroup(d, "pids", group) ||
	    doctor_cgroup(d, "memory", group);

	finding_set(f, v1 || v2 ? DOCTOR_OK : DOCTOR_WARNING, "%s",
	    v1 && v2 ? "version 1, and 2 beside it"
	    : v2     ? "version 2"
	    : v1     ? "version 1"
	             : "none can be seen");
	if (f->verdict != DOCTOR_OK)
		finding_remedy(f, "mount -t cgroup2 none /sys/fs/cgroup; "
		    "without, what a command starts is found by its marks "
		    "alone");
}

static void
probe_delegation(const struct doctor *d, struct finding *f)
{
	static const char *const hierarchies[] = {"", "pids", "freezer"};
	static const char *const names[] = {"version 2", "pids", "freezer"};

	for (size_t i = 0; i < 3; i++)
		if (is_ours(d, hierarchies[i])) {
			finding_set(f, DOCTOR_OK, "groups can be made (%s)",
			    names[i]);
			return;
		}
	finding_set(f, DOCTOR_WARNING, "no group can be made below ours: "
	    "the end of what hides from its session cannot be vouched for");
	finding_remedy(f, "%s", doctor_exists(d, "/run/systemd/system")
	        ? "run the server as the unit psup@.service (Delegate=yes), or "
	          "by systemd-run --user --scope -p Delegate=yes psupd"
	        : "give the user a group of its own: mkdir "
	          "/sys/fs/cgroup/psup, chown it, and start the server in it; "
	          "a container: --cgroupns=private with /sys/fs/cgroup "
	          "writable");
}

static void
probe_kill(const struct doctor *d, struct finding *f)
{
	char group[DOCTOR_PATH], file[DOCTOR_PATH + 20];

	if (!doctor_cgroup(d, "", group)) {
		finding_set(f, DOCTOR_NOTE, "only version 2 has cgroup.kill: "
		    "trees are killed one process after the other");
		return;
	}
	/* the root group has none */
	snprintf(file, sizeof(file), "%s/cgroup.kill", group);
	if (doctor_exists(d, file) || strrchr(group, '/') == group ||
	    strcmp(group, "/sys/fs/cgroup") == 0 ||
	    strcmp(group, "/sys/fs/cgroup/unified") == 0) {
		finding_set(f, DOCTOR_OK, "%s", doctor_exists(d, file)
		        ? "there is one"
		        : "ours is the root group; groups below have one from "
		          "Linux 5.14 on");
		return;
	}
	finding_set(f, DOCTOR_NOTE, "there is none: trees are killed one "
	    "process after the other");
	finding_remedy(f, "Linux 5.14 or newer has it");
}

/* Has that file of the group both controllers? */
static bool
names_both(const struct doctor *d, const char *group, const char *name)
{
	char file[DOCTOR_PATH + 40], text[256];

	snprintf(file, sizeof(file), "%s/%s", group, name);
	return doctor_read(d, file, text, sizeof(text)) &&
	    strstr(text, "memory") != NULL && strstr(text, "pids") != NULL;
}

/* In version 2 a group gives what it has to those below while nobody is in it; the
 * root's always (it has no cgroup.type). A server goes out of its way where it is
 * alone, and we are never where we are. */
static void
probe_controllers(const struct doctor *d, struct finding *f)
{
	char group[DOCTOR_PATH], file[DOCTOR_PATH + 40];
	bool has, gives;

	if (is_ours(d, "memory") && is_ours(d, "pids")) {
		finding_set(f, DOCTOR_OK, "memory and pids (version 1)");
		return;
	}
	has = doctor_cgroup(d, "", group) && is_ours(d, "") &&
	    names_both(d, group, "cgroup.controllers");
	snprintf(file, sizeof(file), "%s/cgroup.type", group);
	gives = has && (names_both(d, group, "cgroup.subtree_control") ||
		!doctor_exists(d, file));
	if (gives) {
		finding_set(f, DOCTOR_OK, "memory and pids (version 2)");
		return;
	}
	finding_set(f, DOCTOR_NOTE, "limits of memory and processes are "
	    "rlimits, of one process each%s", has ? ", of a server that is "
	    "started here, where others are in its control group" : "");
	finding_remedy(f, has ? "start it by itself in a group: as a service "
	    "with Delegate=yes, or by systemd-run --scope -p Delegate=yes "
	    "psupd" :
	    "give the server's group the controllers memory and "
	    "pids: Delegate=yes in its unit, or +memory +pids in "
	    "cgroup.subtree_control of the group above");
}

const struct doctor_check doctor_cgroup_checks[] = {
	{"cgroup", probe_version},
	{"cgroup-delegation", probe_delegation},
	{"cgroup-kill", probe_kill},
	{"cgroup-limits", probe_controllers},
	{NULL, NULL}};
