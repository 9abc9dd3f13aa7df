/* SPDX-License-Identifier: MIT */
/* What the checks of doctor.h share, and the real system. Called by
 * cmd_doctor.c and the probes. */
#include "doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/cgroup_path.h"
#include "common/format.h"
#include "common/kfile.h"

const struct doctor_check *const doctor_parts[] = {doctor_memory_checks,
    doctor_limit_checks, doctor_cgroup_checks, doctor_systemd_checks,
    doctor_server_checks, doctor_sandbox_checks, NULL};

const struct doctor_check *
doctor_find(const char *name)
{
	for (size_t i = 0; doctor_parts[i] != NULL; i++)
		for (const struct doctor_check *c = doctor_parts[i];
		     c->name != NULL; c++)
			if (strcmp(c->name, name) == 0)
				return c;
	return NULL;
}

const char *
doctor_verdict_name(enum doctor_verdict v)
{
	static const char *const names[DOCTOR_VERDICTS] = {"ok", "note",
	    "warning", "problem"};

	return names[v];
}

void
doctor_look(const struct doctor *d, const struct doctor_check *check,
    struct finding *ret)
{
	memset(ret, 0, sizeof(*ret));
	check->probe(d, ret);
}

void
finding_set(struct finding *f, enum doctor_verdict v, const char *fmt, ...)
{
	f->verdict = v;
	(void)FORMATTED(f->found, sizeof(f->found), fmt);
}

void
finding_remedy(struct finding *f, const char *fmt, ...)
{
	(void)FORMATTED(f->remedy, sizeof(f->remedy), fmt);
}

void
doctor_path(const struct doctor *d, char ret[DOCTOR_PATH], const char *fmt, ...)
{
	size_t n = (size_t)snprintf(ret, DOCTOR_PATH, "%s", d->root);

	if (n >= DOCTOR_PATH)
		return;
	(void)FORMATTED(ret + n, DOCTOR_PATH - n, fmt);
}

bool
doctor_exists(const struct doctor *d, const char *path)
{
	char full[DOCTOR_PATH];

	doctor_path(d, full, "%s", path);
	return access(full, F_OK) == 0;
}

bool
doctor_read(const struct doctor *d, const char *path, char *ret, size_t size)
{
	char full[DOCTOR_PATH];

	ret[0] = '\0';
	doctor_path(d, full, "%s", path);
	return kfile_read(AT_FDCWD, full, ret, size) >= 0;
}

long long
doctor_number(const struct doctor *d, const char *path, long long dflt)
{
	char text[64], *end;
	long long v;

	if (!doctor_read(d, path, text, sizeof(text)))
		return dflt;
	errno = 0;
	v = strtoll(text, &end, 10);
	return end != text && errno == 0 ? v : dflt;
}

void
doctor_bytes(unsigned long long n, char *ret, size_t size)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB",
	    "TiB"};
	double v = (double)n;
	size_t i = 0;

	while (v >= 1024 && i < 4) {
		v /= 1024;
		i++;
	}
	snprintf(ret, size, i == 0 ? "%.0f %s" : "%.1f %s", v, units[i]);
}

bool
doctor_cgroup(const struct doctor *d, const char *controller,
    char ret[DOCTOR_PATH])
{
	static char groups[8192], mounts[262144];

	return doctor_read(d, "/proc/self/cgroup", groups, sizeof(groups)) &&
	    doctor_read(d, "/proc/self/mountinfo", mounts, sizeof(mounts)) &&
	    cgroup_path_of(groups, mounts,
	        controller[0] != '\0' ? controller : NULL, ret,
	        DOCTOR_PATH) == 0;
}

long long
doctor_cgroup_least(const struct doctor *d, const char *const files[2][2])
{
	char group[DOCTOR_PATH], file[DOCTOR_PATH + 40], *slash;
	long long least = -1, v;

	for (size_t i = 0; i < 2; i++) {
		if (!doctor_cgroup(d, files[i][0], group))
			continue;
		do {
			snprintf(file, sizeof(file), "%s/%s", group,
			    files[i][1]);
			v = doctor_number(d, file, -1);
			/* version 1 writes a large number for none */
			if (v >= 0 && v < (1LL << 60) &&
			    (least < 0 || v < least))
				least = v;
			slash = strrchr(group, '/');
			if (slash != NULL)
				*slash = '\0';
		} while (slash != NULL && strchr(group, '/') != NULL);
	}
	return least;
}

/* ------------------------------------------------------- the real system */

/* Can output be spliced from a terminal? 0 or -errno. */
static int
try_tty_splice(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	int slave = -1, pipes[2] = {-1, -1}, r;
	char name[64];

	if (master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0 &&
	    ptsname_r(master, name, sizeof(name)) == 0 &&
	    (slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)) >= 0 &&
	    pipe2(pipes, O_CLOEXEC) == 0 && write(slave, "x", 1) == 1)
		r = splice(master, NULL, pipes[1], NULL, 1,
		        SPLICE_F_NONBLOCK) == 1 ? 0 : -errno;
	else
		r = -errno;
	for (int i = 0; i < 2; i++)
		if (pipes[i] >= 0)
			close(pipes[i]);
	if (slave >= 0)
		close(slave);
	if (master >= 0)
		close(master);
	return r;
}

/* Each call with arguments that a kernel which knows it refuses otherwise. */
static void
ask_kernel(struct doctor_kernel *ret)
{
	struct utsname u;
	long r;

	memset(ret, 0, sizeof(*ret));
	if (uname(&u) == 0)
		snprintf(ret->release, sizeof(ret->release), "%s", u.release);
	r = syscall(SYS_pidfd_open, getpid(), 0);
	ret->pidfd = r < 0 ? -errno : 0;
	if (r >= 0)
		close((int)r);
	r = syscall(SYS_clone3, NULL, 0);
	ret->clone3 = r < 0 && errno != EINVAL ? -errno : 0;
	r = close_range(1, 0, 0);
	ret->close_range = r < 0 && errno != EINVAL ? -errno : 0;
	ret->tty_splice = try_tty_splice();
}

const struct doctor_calls doctor_real_calls = {
	.statfs = statfs, .getrlimit = getrlimit, .kernel = ask_kernel};
