/* SPDX-License-Identifier: MIT */
/* psup doctor: can boxes be made here (host sandbox), and do they hold? The
 * server itself looks by common/box_facts.h, and at what bubblewrap says. */

#include "doctor.h"

#include <string.h>

#define SYS "/proc/sys/"

/* bubblewrap in one of the usual places. */
static bool
is_installed(const struct doctor *d)
{
	return doctor_exists(d, "/usr/bin/bwrap") ||
	    doctor_exists(d, "/usr/local/bin/bwrap") ||
	    doctor_exists(d, "/bin/bwrap");
}

/* What to do about the reason that the server gives; most say it themselves. */
static const char *
remedy_of(const char *why)
{
	static const struct {
		const char *why, *remedy;
	} known[] = {
	    {"bwrap is not installed", "apt-get install bubblewrap"},
	    {"max_user_namespaces", "sysctl user.max_user_namespaces=10000"},
	    {"refuses user namespaces", "start the server outside of that "
	        "container, or give bwrap a profile with userns"}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strstr(why, known[i].why) != NULL)
			return known[i].remedy;
	return "do what it says";
}

static void
probe_boxes(const struct doctor *d, struct finding *f)
{
	struct doctor_server s = {0};

	d->calls->server(d->calls->arg, &s);
	if (s.sandbox[0] != '\0') {
		finding_set(f, DOCTOR_PROBLEM, "psup.conf puts commands into "
		    "boxes, and none can be made, so they are refused: %s",
		    s.sandbox);
		finding_remedy(f, "%s, then send psupd SIGHUP; or take "
		    "[sandbox] mode out of psup.conf", remedy_of(s.sandbox));
	} else if (!is_installed(d)) {
		finding_set(f, DOCTOR_NOTE, "no sandbox: bwrap is not "
		    "installed");
		finding_remedy(f, "apt-get install bubblewrap, where host "
		    "sandbox is wanted");
	} else if (doctor_number(d, SYS "user/max_user_namespaces", 1) == 0) {
		finding_set(f, DOCTOR_NOTE, "no sandbox: "
		    "user.max_user_namespaces is reached: it is 0");
		finding_remedy(f, "sysctl user.max_user_namespaces=10000");
	} else if (doctor_number(d, SYS "kernel/unprivileged_userns_clone",
	               1) == 0) {
		finding_set(f, DOCTOR_NOTE, "no sandbox: the kernel refuses "
		    "user namespaces here: kernel.unprivileged_userns_clone "
		    "is 0");
		finding_remedy(f, "sysctl kernel.unprivileged_userns_clone=1");
	} else if (doctor_number(d,
	               SYS "kernel/apparmor_restrict_unprivileged_userns",
	               0) == 1) {
		finding_set(f, DOCTOR_NOTE, "AppArmor lets only programs with "
		    "a profile make user namespaces; bwrap may have none");
		finding_remedy(f, "give /usr/bin/bwrap a profile with userns");
	} else {
		finding_set(f, DOCTOR_OK, "bubblewrap is installed, and nothing "
		    "known keeps it from making boxes");
	}
}

static void
probe_dumpable(const struct doctor *d, struct finding *f)
{
	long long n = doctor_number(d, SYS "fs/suid_dumpable", 0);

	finding_set(f, DOCTOR_OK, "fs.suid_dumpable is %lld", n);
	if (n != 1)
		return;
	finding_set(f, DOCTOR_WARNING, "fs.suid_dumpable is 1: a box's commands "
	    "could open the memory of its first process, so host sandbox is "
	    "refused");
	finding_remedy(f, "sysctl fs.suid_dumpable=0");
}

/* The groups that a box keeps where the server is not root. */
static void
probe_groups(const struct doctor *d, struct finding *f)
{
	finding_set(f, DOCTOR_OK, "none that a box must not have");
	if (d->uid == 0 || d->groups == NULL || d->groups[0] == '\0')
		return;
	finding_set(f, DOCTOR_NOTE, "we are in %s: a box would keep it, and "
	    "its members are as good as root, so host sandbox is refused",
	    d->groups);
	finding_remedy(f, "start the server as a user who is in none of "
	    "docker, disk, shadow and lxd; or as root with [sandbox] user");
}

const struct doctor_check doctor_sandbox_checks[] = {
	{"sandbox", probe_boxes},
	{"suid-dumpable", probe_dumpable},
	{"groups", probe_groups},
	{NULL, NULL}};
