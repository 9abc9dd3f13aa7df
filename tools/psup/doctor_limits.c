/* SPDX-License-Identifier: MIT */
/* psup doctor: descriptors, processes, and what the kernel can do. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "doctor.h"

#define FILES_LEAST 1024ull  /* some three hundred sessions */
#define FILES_SMALL 16384ull
#define PIDS_LEAST  256ll
#define PIDS_SMALL  4096ll

/* A limit in words. */
static void
words(rlim_t v, char *ret, size_t size)
{
	if (v == RLIM_INFINITY)
		snprintf(ret, size, "no limit");
	else
		snprintf(ret, size, "%llu", (unsigned long long)v);
}

static void
probe_files(const struct doctor *d, struct finding *f)
{
	char soft[32], hard[32];
	struct rlimit l;

	if (d->calls->getrlimit(RLIMIT_NOFILE, &l) < 0) {
		finding_set(f, DOCTOR_NOTE, "%s", strerror(errno));
		return;
	}
	words(l.rlim_cur, soft, sizeof(soft));
	words(l.rlim_max, hard, sizeof(hard));
	finding_set(f, l.rlim_max < FILES_LEAST ? DOCTOR_PROBLEM
	        : l.rlim_max < FILES_SMALL      ? DOCTOR_WARNING
	                                        : DOCTOR_OK,
	    "soft %s, hard %s (the server raises its own to the hard one; a "
	    "session takes three)", soft, hard);
	if (f->verdict != DOCTOR_OK)
		finding_remedy(f, "LimitNOFILE=1024:524288 in the unit; else "
		    "\"* hard nofile 524288\" in /etc/security/limits.conf and "
		    "a new login; docker run --ulimit nofile=1024:524288");
}

static void
probe_file_table(const struct doctor *d, struct finding *f)
{
	unsigned long long used, max;
	char text[80];

	if (!doctor_read(d, "/proc/sys/fs/file-nr", text, sizeof(text)) ||
	    sscanf(text, "%llu %*s %llu", &used, &max) != 2 || max == 0) {
		finding_set(f, DOCTOR_NOTE, "/proc/sys/fs/file-nr cannot be "
		    "read");
		return;
	}
	finding_set(f, used > max - max / 10 ? DOCTOR_WARNING : DOCTOR_OK,
	    "%llu of %llu open files of the whole system", used, max);
	if (f->verdict != DOCTOR_OK)
		finding_remedy(f, "sysctl -w fs.file-max=%llu (lasting: in "
		    "/etc/sysctl.d)", 4 * max);
}

static void
probe_pids(const struct doctor *d, struct finding *f)
{
	static const char *const files[2][2] = {{"", "pids.max"},
	    {"pids", "pids.max"}};
	long long max = doctor_number(d, "/proc/sys/kernel/pid_max", 32768);
	long long group = doctor_cgroup_least(d, files), least = max;
	const char *what = "kernel.pid_max";
	struct rlimit l;

	if (group >= 0 && group < least) {
		least = group;
		what = "pids.max of the control group";
	}
	if (d->uid != 0 && d->calls->getrlimit(RLIMIT_NPROC, &l) == 0 &&
	    l.rlim_cur != RLIM_INFINITY && (long long)l.rlim_cur < least) {
		least = (long long)l.rlim_cur;
		what = "RLIMIT_NPROC of the user";
	}
	finding_set(f, least < PIDS_LEAST ? DOCTOR_PROBLEM
	        : least < PIDS_SMALL      ? DOCTOR_WARNING
	                                  : DOCTOR_OK,
	    "at most %lld processes and threads, by %s", least, what);
	if (f->verdict == DOCTOR_OK)
		return;
	if (what[0] == 'p')
		finding_remedy(f, "TasksMax=infinity in the unit (systemctl "
		    "edit UNIT); docker run --pids-limit=-1");
	else if (what[0] == 'R')
		finding_remedy(f, "ulimit -u 65536; lasting: \"* - nproc "
		    "65536\" in /etc/security/limits.conf, or LimitNPROC= in "
		    "the unit");
	else
		finding_remedy(f, "sysctl -w kernel.pid_max=4194304 (lasting: "
		    "in /etc/sysctl.d)");
}

static void
probe_kernel(const struct doctor *d, struct finding *f)
{
	struct doctor_kernel k;
	int major = 0, minor = 0;

	d->calls->kernel(&k);
	if (sscanf(k.release, "%d.%d", &major, &minor) != 2) {
		finding_set(f, DOCTOR_NOTE, "release \"%s\"", k.release);
		return;
	}
	finding_set(f, DOCTOR_OK, "Linux %s", k.release);
	if (major > 5 || (major == 5 && minor >= 14))
		return;
	if (major < 5 || minor < 9)
		finding_set(f, DOCTOR_PROBLEM, "Linux %s; psup needs 5.9",
		    k.release);
	else
		finding_set(f, DOCTOR_NOTE, "Linux %s has no cgroup.kill "
		    "(5.14): trees are killed one process after the other",
		    k.release);
	finding_remedy(f, "a newer kernel: that of Debian 12 is 6.1");
}

static void
probe_features(const struct doctor *d, struct finding *f)
{
	struct doctor_kernel k;
	const char *missing = NULL;
	int e = 0;

	d->calls->kernel(&k);
	if (k.pidfd != 0) {
		missing = "pidfd_open";
		e = -k.pidfd;
	} else if (k.close_range != 0) {
		missing = "close_range";
		e = -k.close_range;
	}
	if (missing != NULL) {
		finding_set(f, DOCTOR_PROBLEM, "%s: %s", missing, strerror(e));
		finding_remedy(f, "%s", e == ENOSYS
			? "a newer kernel (5.9); in an old container runtime, "
			  "whose filter does not know it, a newer runtime"
			: "let the container's seccomp filter pass it");
		return;
	}
	finding_set(f, DOCTOR_OK, "pidfd, clone3, close_range, splice from "
	    "terminals");
	if (k.clone3 != 0) {
		finding_set(f, DOCTOR_NOTE, "clone3: %s: commands join their "
		    "control group after they began", strerror(-k.clone3));
		finding_remedy(f, "let the container's seccomp filter pass "
		    "clone3, or take a newer container runtime");
	} else if (k.tty_splice != 0) {
		finding_set(f, DOCTOR_NOTE, "splice from a terminal: %s: "
		    "terminals are read; a killed worker may lose 4096 bytes "
		    "of one's output", strerror(-k.tty_splice));
		finding_remedy(f, "Linux 6.5 or newer can");
	}
}

const struct doctor_check doctor_limit_checks[] = {
	{"descriptors", probe_files},
	{"file-table", probe_file_table},
	{"processes", probe_pids},
	{"kernel", probe_kernel},
	{"system-calls", probe_features},
	{NULL, NULL}};
