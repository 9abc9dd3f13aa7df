/* SPDX-License-Identifier: MIT */
/* psup doctor shown systems that are not this one: files below a directory of
 * its own, and calls that answer what the test says. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include "tools/psup/doctor.h"

#define MIB (1024 * 1024)

/* The system of a test. */
static struct {
	char root[64];
	struct statfs fs;
	struct rlimit files, procs;
	struct doctor_kernel kernel;
	struct doctor_server server;
} sys;
static struct doctor d;

static int
fake_statfs(const char *path, struct statfs *ret)
{
	cr_expect(strncmp(path, sys.root, strlen(sys.root)) == 0, "%s", path);
	*ret = sys.fs;
	return 0;
}

static int
fake_getrlimit(__rlimit_resource_t which, struct rlimit *ret)
{
	*ret = which == RLIMIT_NOFILE ? sys.files : sys.procs;
	return 0;
}

static void
fake_kernel(struct doctor_kernel *ret)
{
	*ret = sys.kernel;
}

static void
fake_server(void *arg, struct doctor_server *ret)
{
	cr_expect_eq(arg, &sys);
	*ret = sys.server;
}

static const struct doctor_calls calls = {.statfs = fake_statfs,
	.getrlimit = fake_getrlimit, .kernel = fake_kernel,
	.server = fake_server, .arg = &sys};

/* A file below the root, with the directories above it. */
static void
put(const char *path, const char *text)
{
	char full[400];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", sys.root, path);
	for (char *p = full + strlen(sys.root) + 1;
	     (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		(void)mkdir(full, 0755);
		*p = '/';
	}
	if (text == NULL) { /* a directory */
		cr_assert(mkdir(full, 0755) == 0 || errno == EEXIST);
		return;
	}
	f = fopen(full, "w");
	cr_assert_not_null(f, "%s", full);
	fputs(text, f);
	cr_assert_eq(fclose(f), 0);
}

#define MOUNTS \
	"22 1 8:1 / / rw,relatime - ext4 /dev/root rw\n" \
	"30 25 0:27 / /dev/shm rw,nosuid,nodev - tmpfs tmpfs rw\n" \
	"31 22 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"

/* A system on which all is well. */
static void
begin(void)
{
	sys.fs = (struct statfs){.f_type = TMPFS_MAGIC, .f_bsize = 4096,
		.f_blocks = 1024 * MIB / 4096ull, .f_bavail = 900 * MIB / 4096,
		.f_files = 100000, .f_ffree = 90000};
	sys.files = (struct rlimit){1024, 524288};
	sys.procs = (struct rlimit){100000, 100000};
	sys.kernel = (struct doctor_kernel){.release = "6.1.0-13-amd64"};
	sys.server = (struct doctor_server){.runs = true, .version = "0.1.0"};
	strcpy(sys.root, "/tmp/psup-doctor-XXXXXX");
	cr_assert_not_null(mkdtemp(sys.root));
	d = (struct doctor){.root = sys.root, .version = "0.1.0",
		.runtime_dir = "/dev/shm/psup-1000", .user = "ann", .uid = 1000,
		.calls = &calls};
	put("/proc/self/mountinfo", MOUNTS);
	put("/proc/self/cgroup", "0::/user.slice/ann\n");
	put("/proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\n");
	put("/proc/sys/fs/file-nr", "5000\t0\t1000000\n");
	put("/proc/sys/kernel/pid_max", "4194304\n");
	put("/usr/bin/bwrap", "");
	put("/sys/fs/cgroup/user.slice/ann/cgroup.kill", "");
	put("/sys/fs/cgroup/user.slice/ann/cgroup.controllers",
	    "cpu memory pids\n");
	put("/dev/shm", NULL);
}

static void
end(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf '%s'", sys.root);
	cr_assert_eq(system(command), 0);
}

TestSuite(doctor, .timeout = 20, .init = begin, .fini = end);

/* One check: its verdict, a part of what it found, a part of the remedy. */
static void
expect(const char *name, enum doctor_verdict v, const char *found,
    const char *remedy)
{
	const struct doctor_check *check = doctor_find(name);
	struct finding f;

	cr_assert_not_null(check, "%s", name);
	doctor_look(&d, check, &f);
	cr_expect_eq(f.verdict, v, "%s: %s: %s", name,
	    doctor_verdict_name(f.verdict), f.found);
	cr_expect(strstr(f.found, found) != NULL, "%s: %s", name, f.found);
	cr_expect(strstr(f.remedy, remedy) != NULL, "%s: %s", name, f.remedy);
	/* what is wrong has a remedy, and what is right needs none */
	if (v != DOCTOR_NOTE)
		cr_expect_eq(f.remedy[0] != '\0', v != DOCTOR_OK, "%s: %s",
		    name, f.remedy);
}

Test(doctor, finds_nothing_where_all_is_well)
{
	size_t n = 0;

	for (size_t i = 0; doctor_parts[i] != NULL; i++)
		for (const struct doctor_check *k = doctor_parts[i];
		     k->name != NULL; k++, n++)
			expect(k->name, DOCTOR_OK, "", "");
	cr_expect_geq(n, 20);
}

Test(doctor, looks_at_the_directory)
{
	expect("runtime-dir", DOCTOR_OK, "is made by the first start", "");
	d.runtime_dir = "/dev/shm/mine";
	d.uid = geteuid();
	put("/dev/shm/mine/x", "");
	expect("runtime-dir", DOCTOR_PROBLEM, "mode 0755", "chmod 0700");
	d.uid++;
	expect("runtime-dir", DOCTOR_PROBLEM, "expected a directory of uid",
	    "PSUP_RUNTIME_DIR");
	d.runtime_dir = "/dev/shm/mine/x";
	expect("runtime-dir", DOCTOR_PROBLEM, "is a file of uid", "remove it");
	d.runtime_dir = "/dev/shm/mine/x/y";
	expect("runtime-dir", DOCTOR_PROBLEM, "Not a directory", "choose");
}

Test(doctor, looks_at_the_tmpfs)
{
	sys.fs.f_type = 0xef53;
	expect("tmpfs", DOCTOR_PROBLEM, "type 0xef53", "mount -t tmpfs");
	sys.fs.f_blocks = 64 * MIB / 4096;
	sys.fs.f_bavail = 60 * MIB / 4096;
	expect("tmpfs-size", DOCTOR_WARNING, "64.0 MiB in all", "--shm-size=1g");
	sys.fs.f_bavail = 3 * MIB / 4096;
	expect("tmpfs-size", DOCTOR_PROBLEM, "3.0 MiB free", "remount,size=1G");
	sys.fs.f_bavail = sys.fs.f_blocks = 1024 * MIB / 4096;
	sys.fs.f_ffree = 100;
	expect("tmpfs-size", DOCTOR_WARNING, "100 inodes", "nr_inodes");
	put("/proc/self/mountinfo",
	    "22 1 8:1 / / rw - ext4 /dev/root rw\n"
	    "30 25 0:27 / /dev/shm ro,nosuid - tmpfs tmpfs ro\n");
	expect("tmpfs-options", DOCTOR_PROBLEM, "read-only", "remount,rw");
	put("/proc/self/mountinfo", "30 25 0:27 / /elsewhere ro - tmpfs t ro\n"
	    "31 25 0:27 / /dev/shm-not ro - tmpfs t ro\n"
	    "22 1 8:1 / / rw,noexec - ext4 /dev/root rw\n");
	expect("tmpfs-options", DOCTOR_OK, "rw,noexec", "");
}

Test(doctor, looks_at_memory)
{
	put("/sys/fs/cgroup/user.slice/memory.max", "134217728\n");
	put("/sys/fs/cgroup/user.slice/ann/memory.max", "max\n");
	expect("memory", DOCTOR_WARNING, "the control group allows 128.0 MiB",
	    "MemoryMax=1G");
	put("/sys/fs/cgroup/user.slice/memory.max", "max\n");
	put("/proc/meminfo", "MemAvailable: 1024 kB\n");
	expect("memory", DOCTOR_WARNING, "1.0 MiB available", "output_budget");
}

Test(doctor, looks_at_limits)
{
	sys.files = (struct rlimit){256, 4096};
	expect("descriptors", DOCTOR_WARNING, "hard 4096", "LimitNOFILE=");
	sys.files = (struct rlimit){256, 512};
	expect("descriptors", DOCTOR_PROBLEM, "hard 512", "limits.conf");
	sys.files = (struct rlimit){256, RLIM_INFINITY};
	expect("descriptors", DOCTOR_OK, "no limit", "");
	put("/proc/sys/fs/file-nr", "950\t0\t1000\n");
	expect("file-table", DOCTOR_WARNING, "950 of 1000", "fs.file-max=4000");

	put("/proc/sys/kernel/pid_max", "1000\n");
	expect("processes", DOCTOR_WARNING, "1000", "kernel.pid_max");
	put("/sys/fs/cgroup/user.slice/pids.max", "100\n");
	expect("processes", DOCTOR_PROBLEM, "pids.max", "TasksMax=infinity");
	sys.procs.rlim_cur = 50;
	expect("processes", DOCTOR_PROBLEM, "RLIMIT_NPROC", "LimitNPROC=");
	d.uid = 0; /* whom it does not hold */
	expect("processes", DOCTOR_PROBLEM, "pids.max", "TasksMax=infinity");
}

Test(doctor, looks_at_the_kernel)
{
	strcpy(sys.kernel.release, "5.10.0-26-amd64");
	expect("kernel", DOCTOR_NOTE, "no cgroup.kill", "newer kernel");
	strcpy(sys.kernel.release, "4.19.0");
	expect("kernel", DOCTOR_PROBLEM, "needs 5.9", "newer kernel");
	strcpy(sys.kernel.release, "5.8.1");
	expect("kernel", DOCTOR_PROBLEM, "needs 5.9", "newer kernel");
	sys.kernel.tty_splice = -EINVAL;
	expect("system-calls", DOCTOR_NOTE, "splice from a terminal", "6.5");
	sys.kernel.clone3 = -ENOSYS;
	expect("system-calls", DOCTOR_NOTE, "clone3", "seccomp");
	sys.kernel.close_range = -EPERM;
	expect("system-calls", DOCTOR_PROBLEM, "close_range", "seccomp");
	sys.kernel.pidfd = -ENOSYS;
	expect("system-calls", DOCTOR_PROBLEM, "pidfd_open", "newer kernel");
}

Test(doctor, looks_at_control_groups)
{
	put("/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/root rw\n");
	expect("cgroup", DOCTOR_WARNING, "none can be seen", "mount -t cgroup2");
	expect("cgroup-delegation", DOCTOR_WARNING, "no group can be made",
	    "--cgroupns=private");
	expect("cgroup-kill", DOCTOR_NOTE, "only version 2", "");
	put("/run/systemd/system", NULL);
	expect("cgroup-delegation", DOCTOR_WARNING, "no group can be made",
	    "Delegate=yes");
	put("/proc/self/mountinfo", MOUNTS);
	put("/proc/self/cgroup", "0::/user.slice/bob\n"); /* which is not there */
	expect("cgroup-delegation", DOCTOR_WARNING, "no group can be made",
	    "Delegate=yes");
	expect("cgroup-kill", DOCTOR_NOTE, "there is none", "5.14");
	put("/proc/self/cgroup", "0::/user.slice/ann\n");
	put("/sys/fs/cgroup/user.slice/ann/cgroup.controllers", "cpu\n");
	expect("cgroup-limits", DOCTOR_NOTE, "rlimits", "cgroup.subtree_control");
	put("/sys/fs/cgroup/user.slice/ann/cgroup.controllers",
	    "cpu memory pids\n");
	expect("cgroup-limits", DOCTOR_OK, "version 2", "");
	put("/sys/fs/cgroup/user.slice/ann/cgroup.type", "domain\n");
	put("/sys/fs/cgroup/user.slice/ann/cgroup.subtree_control", "cpu\n");
	expect("cgroup-limits", DOCTOR_NOTE, "others are in its control group",
	    "Delegate=yes");
	put("/sys/fs/cgroup/user.slice/ann/cgroup.subtree_control",
	    "cpu memory pids\n");
	expect("cgroup-limits", DOCTOR_OK, "version 2", "");
}

Test(doctor, reads_version_1)
{
	put("/proc/self/mountinfo",
	    "22 1 8:1 / / rw - ext4 /dev/root rw\n"
	    "36 31 0:31 / /cg/pids rw - cgroup cgroup rw,pids\n"
	    "37 31 0:32 /outer /cg/mem rw - cgroup cgroup rw,memory\n");
	put("/proc/self/cgroup", "5:memory:/outer/in\n4:pids,x:/sub\n");
	put("/cg/pids/sub/pids.max", "200\n");
	put("/cg/mem/in/memory.limit_in_bytes", "1048576\n");
	expect("cgroup", DOCTOR_OK, "version 1", "");
	expect("cgroup-delegation", DOCTOR_OK, "pids", "");
	expect("processes", DOCTOR_PROBLEM, "200", "TasksMax");
	expect("memory", DOCTOR_WARNING, "allows 1.0 MiB", "MemoryMax");
}

Test(doctor, knows_what_happens_at_logout)
{
	put("/run/systemd/system", NULL);
	expect("systemd-ipc", DOCTOR_PROBLEM, "RemoveIPC=yes",
	    "loginctl enable-linger ann");
	put("/etc/systemd/logind.conf", "[Login]\n#RemoveIPC=no\n");
	expect("systemd-ipc", DOCTOR_PROBLEM, "RemoveIPC=yes", "RemoveIPC=no");
	put("/etc/systemd/logind.conf.d/10.conf", "[Login]\nRemoveIPC = no\n");
	expect("systemd-ipc", DOCTOR_OK, "RemoveIPC=no", "");
	put("/etc/systemd/logind.conf.d/20.conf", "[Login]\nRemoveIPC=yes\n"
	    "KillUserProcesses=yes\n");
	expect("systemd-ipc", DOCTOR_PROBLEM, "RemoveIPC=yes", "enable-linger");
	expect("systemd-logout", DOCTOR_PROBLEM, "ends with it",
	    "KillUserProcesses=no");
	d.uid = 999;
	expect("systemd-ipc", DOCTOR_OK, "system user", "");
	d.uid = 1000;
	d.runtime_dir = "/run/user/1000/psup";
	expect("systemd-ipc", DOCTOR_OK, "about /dev/shm", "");
	expect("systemd-linger", DOCTOR_WARNING, "goes when", "enable-linger");
	put("/var/lib/systemd/linger/ann", "");
	expect("systemd-linger", DOCTOR_OK, "lingers", "");
	expect("systemd-logout", DOCTOR_OK, "KillUserProcesses=yes", "");
	d.runtime_dir = "/dev/shm/psup-1000";
	expect("systemd-ipc", DOCTOR_OK, "lingers", "");
}

Test(doctor, reads_the_unit)
{
	put("/usr/lib/systemd/system/psup@.service", "[Service]\nType=notify\n"
	    "OOMPolicy=continue\nKillMode=mixed\nDelegate=yes\n");
	expect("systemd-unit", DOCTOR_OK, "psup@.service", "");
	put("/etc/systemd/system/psup@.service.d/a.conf",
	    "[Service]\nOOMPolicy=stop\n");
	expect("systemd-unit", DOCTOR_PROBLEM, "OOMPolicy=stop",
	    "OOMPolicy=continue");
	put("/etc/systemd/system/psup@.service.d/b.conf",
	    "[Service]\nOOMPolicy=continue\nKillMode=process\n");
	expect("systemd-unit", DOCTOR_WARNING, "KillMode=process",
	    "KillMode=mixed");
	/* another file hides all of it but the drop-ins */
	put("/etc/systemd/system/psup@.service", "[Service]\nType=simple\n");
	put("/etc/systemd/system/psup@.service.d/b.conf",
	    "[Service]\nOOMPolicy=continue\nKillMode=mixed\n");
	expect("systemd-unit", DOCTOR_WARNING, "Delegate=no", "Delegate=yes");
}

Test(doctor, compares_versions)
{
	strcpy(sys.server.version, "0.2.0");
	expect("server", DOCTOR_WARNING, "psup 0.2.0, this is 0.1.0",
	    "psup upgrade");
	sys.server.other_version = true;
	expect("server", DOCTOR_PROBLEM, "another version", "psup upgrade");
	sys.server = (struct doctor_server){.said = "none runs"};
	expect("server", DOCTOR_OK, "none runs", "");
}

Test(doctor, looks_whether_boxes_can_be_made)
{
	char bwrap[100];

	expect("sandbox", DOCTOR_OK, "bubblewrap is installed", "");
	put("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
	expect("sandbox", DOCTOR_NOTE, "AppArmor", "profile");
	put("/proc/sys/kernel/unprivileged_userns_clone", "0\n");
	expect("sandbox", DOCTOR_NOTE, "the kernel refuses user namespaces "
	    "here", "sysctl kernel.unprivileged_userns_clone=1");
	put("/proc/sys/user/max_user_namespaces", "0\n");
	expect("sandbox", DOCTOR_NOTE, "user.max_user_namespaces is reached",
	    "sysctl user.max_user_namespaces");
	(void)snprintf(bwrap, sizeof(bwrap), "%s/usr/bin/bwrap", sys.root);
	cr_assert_eq(unlink(bwrap), 0);
	expect("sandbox", DOCTOR_NOTE, "bwrap is not installed",
	    "apt-get install bubblewrap");
	strcpy(sys.server.sandbox, "no sandbox: bwrap is not installed");
	expect("sandbox", DOCTOR_PROBLEM, "they are refused: no sandbox: bwrap "
	    "is not installed", "apt-get install bubblewrap, then send psupd "
	    "SIGHUP");
	strcpy(sys.server.sandbox,
	    "no sandbox: the server is root; say [sandbox] user = NAME");
	expect("sandbox", DOCTOR_PROBLEM, "the server is root", "do what it says");
}

Test(doctor, looks_at_what_would_open_a_box)
{
	put("/proc/sys/fs/suid_dumpable", "2\n");
	expect("suid-dumpable", DOCTOR_OK, "is 2", "");
	put("/proc/sys/fs/suid_dumpable", "1\n");
	expect("suid-dumpable", DOCTOR_WARNING, "memory of its first process",
	    "sysctl fs.suid_dumpable=0");
	d.groups = "docker";
	expect("groups", DOCTOR_NOTE, "we are in docker", "start the server");
	d.uid = 0;
	expect("groups", DOCTOR_OK, "", "");
}

Test(doctor, finds_what_dead_servers_left)
{
	char path[200];
	int fd;

	d.uid = geteuid();
	put("/dev/shm/psup-1000/lock", "17\n");
	expect("stale", DOCTOR_NOTE, "what the last server left",
	    "psupd --detach");
	put("/dev/shm/psup-other/lock", "17\n");
	expect("stale", DOCTOR_NOTE, "2 directories", "rm -r /dev/shm/psup-");
	snprintf(path, sizeof(path), "%s/dev/shm/psup-1000/lock", sys.root);
	fd = open(path, O_RDWR | O_CLOEXEC);
	cr_assert(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0);
	expect("stale", DOCTOR_NOTE, "1 directory", "rm -r /dev/shm/psup-other");
	close(fd);
	d.uid++; /* somebody else's do not count */
	d.runtime_dir = "/dev/shm/none";
	expect("stale", DOCTOR_OK, "", "");
}

/* Files that are no such files must not be misread. */
Test(doctor, survives_nonsense)
{
	static const char *const files[] = {"/proc/self/mountinfo",
	    "/proc/self/cgroup", "/proc/meminfo", "/proc/sys/fs/file-nr",
	    "/proc/sys/kernel/pid_max", "/proc/sys/fs/suid_dumpable",
	    "/proc/sys/user/max_user_namespaces",
	    "/sys/fs/cgroup/user.slice/ann/cgroup.controllers",
	    "/usr/lib/systemd/system/psup@.service",
	    "/etc/systemd/logind.conf"};
	static char junk[100000];
	struct finding f;

	put("/run/systemd/system", NULL);
	for (unsigned seed = 0; seed < 40; seed++) {
		srand(seed);
		for (size_t i = 0; i + 1 < sizeof(junk); i++)
			junk[i] = " \n/:-=,abc019%"[rand() % 14];
		for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
			put(files[i], junk + seed * 7);
		for (size_t i = 0; doctor_parts[i] != NULL; i++)
			for (const struct doctor_check *k = doctor_parts[i];
			     k->name != NULL; k++)
				doctor_look(&d, k, &f);
	}
}
