/* SPDX-License-Identifier: MIT */
/* psup doctor: the runtime directory, its tmpfs, and memory. */
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "doctor.h"

#define MIB (1024ull * 1024)

#define TMPFS_LEAST (16 * MIB)  /* free: below it nothing new starts well */
#define TMPFS_SMALL (256 * MIB) /* in all: a container's usual 64 MiB is */
#define INODES_LEAST 2000ull
#define MEMORY_SMALL (256 * MIB)

/* The directory, or what there is of the way to it. */
static void
existing_part(const struct doctor *d, char ret[DOCTOR_PATH])
{
	struct stat st;
	char *slash;

	doctor_path(d, ret, "%s", d->runtime_dir);
	while (stat(ret, &st) < 0 && (slash = strrchr(ret, '/')) != NULL &&
	    slash != ret)
		*slash = '\0';
}

static void
probe_dir(const struct doctor *d, struct finding *f)
{
	char path[DOCTOR_PATH];
	struct stat st;

	doctor_path(d, path, "%s", d->runtime_dir);
	if (lstat(path, &st) < 0) {
		finding_set(f, errno == ENOENT ? DOCTOR_OK : DOCTOR_PROBLEM,
		    "%s: %s", d->runtime_dir,
		    errno == ENOENT ? "is made by the first start"
		                    : strerror(errno));
		if (errno != ENOENT)
			finding_remedy(f, "choose a directory that you may "
			    "enter: PSUP_RUNTIME_DIR or --runtime-dir");
		return;
	}
	if (!S_ISDIR(st.st_mode) || st.st_uid != d->uid) {
		finding_set(f, DOCTOR_PROBLEM, "%s is %s of uid %u; expected a "
		    "directory of uid %u", d->runtime_dir,
		    S_ISDIR(st.st_mode) ? "a directory" : "a file",
		    (unsigned)st.st_uid, (unsigned)d->uid);
		finding_remedy(f, "somebody else may have made it: remove it, "
		    "or set PSUP_RUNTIME_DIR to a directory of your own");
	} else if ((st.st_mode & 07777) != 0700 &&
	    (st.st_mode & 07777) != 0710) {
		finding_set(f, DOCTOR_PROBLEM, "%s has mode %04o, expected "
		    "0700", d->runtime_dir, (unsigned)st.st_mode & 07777);
		finding_remedy(f, "chmod 0700 %s", d->runtime_dir);
	} else {
		finding_set(f, DOCTOR_OK, "%s", d->runtime_dir);
	}
}

/* The tmpfs; false: it was said that there is none. */
static bool
ask_tmpfs(const struct doctor *d, struct finding *f, struct statfs *ret)
{
	char path[DOCTOR_PATH];

	existing_part(d, path);
	if (d->calls->statfs(path, ret) == 0)
		return true;
	finding_set(f, DOCTOR_PROBLEM, "%s: %s", path, strerror(errno));
	finding_remedy(f, "set PSUP_RUNTIME_DIR to a directory on a tmpfs");
	return false;
}

static void
probe_type(const struct doctor *d, struct finding *f)
{
	struct statfs fs;

	if (!ask_tmpfs(d, f, &fs))
		return;
	if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC) {
		finding_set(f, DOCTOR_OK, "%s is on a tmpfs", d->runtime_dir);
		return;
	}
	finding_set(f, DOCTOR_PROBLEM, "%s is on a file system of type 0x%lx, "
	    "no tmpfs", d->runtime_dir, (unsigned long)fs.f_type);
	finding_remedy(f, "set PSUP_RUNTIME_DIR=/dev/shm/psup-%u, or mount a "
	    "tmpfs there: mount -t tmpfs -o size=1G,mode=0700,uid=%u tmpfs %s",
	    (unsigned)d->uid, (unsigned)d->uid, d->runtime_dir);
}

/* How a tmpfs is made larger. */
static void
larger(const struct doctor *d, struct finding *f)
{
	finding_remedy(f, "mount -o remount,size=1G on the mount that holds %s "
	    "(lasting: in /etc/fstab); in a container: docker run "
	    "--shm-size=1g; or set PSUP_RUNTIME_DIR to a larger tmpfs",
	    d->runtime_dir);
}

static void
probe_size(const struct doctor *d, struct finding *f)
{
	unsigned long long size, avail;
	char all[32], left[32];
	struct statfs fs;

	if (!ask_tmpfs(d, f, &fs))
		return;
	size = (unsigned long long)fs.f_blocks *
	    (unsigned long long)fs.f_bsize;
	avail = (unsigned long long)fs.f_bavail *
	    (unsigned long long)fs.f_bsize;
	if (size == 0) {
		finding_set(f, DOCTOR_NOTE, "it has no bound of its own");
		return;
	}
	doctor_bytes(size, all, sizeof(all));
	doctor_bytes(avail, left, sizeof(left));
	finding_set(f, avail < TMPFS_LEAST ? DOCTOR_PROBLEM
	        : size < TMPFS_SMALL       ? DOCTOR_WARNING
	                                   : DOCTOR_OK,
	    "%s in all, %s free", all, left);
	if (f->verdict != DOCTOR_OK)
		larger(d, f);
	if (fs.f_files == 0 || fs.f_ffree >= INODES_LEAST)
		return;
	finding_set(f, DOCTOR_WARNING, "%llu inodes free; a session takes up "
	    "to three", (unsigned long long)fs.f_ffree);
	finding_remedy(f, "mount -o remount,nr_inodes=1m on the mount that "
	    "holds %s", d->runtime_dir);
}

/* The options of the mount that holds the directory: the longest mount point
 * that is a beginning of it. */
static bool
mount_options(const struct doctor *d, char *ret, size_t size)
{
	static char text[65536];
	size_t best = 0;
	char *save, *line;

	if (!doctor_read(d, "/proc/self/mountinfo", text, sizeof(text)))
		return false;
	for (line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		char point[512], options[256];
		size_t len;

		if (sscanf(line, "%*s %*s %*s %*s %511s %255s", point,
		        options) != 2)
			continue;
		len = strcmp(point, "/") == 0 ? 0 : strlen(point);
		if (strncmp(d->runtime_dir, point, len) != 0 ||
		    (d->runtime_dir[len] != '/' &&
		        d->runtime_dir[len] != '\0') || len + 1 < best)
			continue;
		best = len + 1;
		snprintf(ret, size, "%s", options);
	}
	return best > 0;
}

static void
probe_options(const struct doctor *d, struct finding *f)
{
	char options[256];

	if (!mount_options(d, options, sizeof(options))) {
		finding_set(f, DOCTOR_NOTE, "/proc/self/mountinfo says nothing "
		    "of it");
		return;
	}
	finding_set(f, DOCTOR_OK, "%s (noexec, nosuid and nodev do no harm)",
	    options);
	if (strncmp(options, "ro", 2) != 0 ||
	    (options[2] != ',' && options[2] != '\0'))
		return;
	finding_set(f, DOCTOR_PROBLEM, "it is mounted read-only (%s)", options);
	finding_remedy(f, "mount -o remount,rw on the mount that holds %s, or "
	    "set PSUP_RUNTIME_DIR to a tmpfs that can be written",
	    d->runtime_dir);
}

/* A line of /proc/meminfo, in bytes. */
static unsigned long long
meminfo(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at != NULL ? strtoull(at + strlen(key), NULL, 10) * 1024 : 0;
}

static void
probe_memory(const struct doctor *d, struct finding *f)
{
	static const char *const files[2][2] = {{"", "memory.max"},
	    {"memory", "memory.limit_in_bytes"}};
	/* -1 is more than any */
	unsigned long long avail,
	    bound = (unsigned long long)doctor_cgroup_least(d, files);
	char text[4096], a[32], b[32];

	if (!doctor_read(d, "/proc/meminfo", text, sizeof(text))) {
		finding_set(f, DOCTOR_NOTE, "/proc/meminfo cannot be read");
		return;
	}
	avail = meminfo(text, "MemAvailable:");
	doctor_bytes(avail, a, sizeof(a));
	doctor_bytes(bound, b, sizeof(b));
	finding_set(f, avail < MEMORY_SMALL || bound < MEMORY_SMALL
	        ? DOCTOR_WARNING
	        : DOCTOR_OK, "%s available%s%s", a,
	    bound != ~0ull ? ", the control group allows " : "",
	    bound != ~0ull ? b : "");
	if (bound < MEMORY_SMALL)
		finding_remedy(f, "retained output counts as memory of the "
		    "group: give it 1 GiB (systemctl set-property UNIT "
		    "MemoryMax=1G, docker run --memory=1g), or set [server] "
		    "output_budget in psup.conf");
	else if (avail < MEMORY_SMALL)
		finding_remedy(f, "end what takes it, or set [server] "
		    "output_budget and [limits] memoryBytes in psup.conf");
}

const struct doctor_check doctor_memory_checks[] = {
	{"runtime-dir", probe_dir},
	{"tmpfs", probe_type},
	{"tmpfs-size", probe_size},
	{"tmpfs-options", probe_options},
	{"memory", probe_memory},
	{NULL, NULL}};
