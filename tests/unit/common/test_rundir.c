/* SPDX-License-Identifier: MIT */
/* The runtime directory and the heritage: what is refused, and why. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/abi.h"
#include "common/heritage.h"
#include "common/rundir.h"

static char base[] = "/dev/shm/psup-test-rundir-XXXXXX";
static char path[RUNDIR_PATH_MAX], other[RUNDIR_PATH_MAX];
static char why[400];

static void
init(void)
{
	cr_assert_not_null(mkdtemp(base));
	(void)snprintf(path, sizeof(path), "%s/run", base);
	(void)snprintf(other, sizeof(other), "%s/link", base);
}

static void
fini(void)
{
	(void)unlink(other);
	(void)unlink(path);
	(void)rmdir(path);
	(void)rmdir(base);
}

/* Opens and closes; the error or 0. */
static int
try_open(const char *p, bool create, bool any_fs)
{
	int fd;

	why[0] = '\0';
	fd = rundir_open(p, create, any_fs, why, sizeof(why));
	if (fd < 0) {
		cr_expect(why[0] != '\0' && why[strlen(why) - 1] == '.',
		    "no sentence: %s", why);
		return fd;
	}
	cr_expect_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	return 0;
}

TestSuite(rundir, .init = init, .fini = fini, .timeout = 20);

Test(rundir, is_made_and_found_again)
{
	struct stat st;

	cr_assert_eq(try_open(path, false, false), -ENOENT);
	cr_assert_eq(try_open(path, true, false), 0, "%s", why);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0700);
	cr_assert_eq(try_open(path, true, false), 0);
	cr_assert_eq(try_open(path, false, false), 0);
	strcat(path, "//");
	cr_assert_eq(try_open(path, false, false), 0);
	cr_assert_eq(try_open("/dev/shm/psup-no/such/dir", true, false),
	    -ENOENT);
	cr_assert_eq(try_open("", true, false), -ENAMETOOLONG);
	cr_assert_eq(try_open("/dev/shm/.", false, false), -EINVAL);
}

Test(rundir, no_link_no_file_no_guests)
{
	int fd;

	cr_assert_eq(mkdir(path, 0700), 0);
	cr_assert_eq(symlink(path, other), 0);
	cr_assert_eq(try_open(other, true, false), -ELOOP);
	cr_assert_not_null(strstr(why, other));
	cr_assert_not_null(strstr(why, "symbolic link"));
	strcat(other, "/");
	cr_assert_eq(try_open(other, true, false), -ELOOP);
	other[strlen(other) - 1] = '\0';
	cr_assert_eq(chmod(path, 0750), 0);
	cr_assert_eq(try_open(path, true, false), -EPERM);
	cr_assert_not_null(strstr(why, "0750"));
	cr_assert_eq(rmdir(path), 0);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0);
	close(fd);
	cr_assert_eq(try_open(path, true, false), -ENOTDIR);
}

Test(rundir, not_somebody_elses)
{
	cr_assert_eq(mkdir(path, 0700), 0);
	if (geteuid() == 0) {
		cr_assert_eq(chown(path, 12345, 12345), 0);
		cr_assert_eq(try_open(path, true, false), -EPERM);
		cr_assert_not_null(strstr(why, "12345"));
	} else {
		cr_assert_eq(try_open("/dev/shm", false, false), -EPERM);
	}
}

Test(rundir, must_be_a_tmpfs)
{
	char disk[] = "/var/tmp/psup-test-rundir-XXXXXX";
	int error;

	cr_assert_not_null(mkdtemp(disk));
	error = try_open(disk, false, false);
	cr_expect(error == -EMEDIUMTYPE || error == 0); /* 0: a tmpfs, too */
	cr_expect_eq(try_open(disk, false, true), 0);
	cr_expect_eq(rmdir(disk), 0);
}

Test(rundir, where_it_is)
{
	char found[RUNDIR_PATH_MAX], expected[64], name[RUNDIR_NAME_MAX];
	static char longer[200];

	(void)setenv("PSUP_RUNTIME_DIR", "/a/b//", 1);
	cr_assert_eq(rundir_default(found), 0);
	cr_assert_str_eq(found, "/a/b");
	(void)setenv("PSUP_RUNTIME_DIR", "a/b", 1);
	cr_assert_eq(rundir_default(found), -EINVAL);
	cr_assert_str_eq(found, "/a/b");
	memset(longer, 'x', sizeof(longer) - 1);
	longer[0] = '/';
	(void)setenv("PSUP_RUNTIME_DIR", longer, 1);
	cr_assert_eq(rundir_default(found), -ENAMETOOLONG);
	(void)unsetenv("PSUP_RUNTIME_DIR");
	(void)setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
	cr_assert_eq(rundir_default(found), 0);
	cr_assert_str_eq(found, "/run/user/7/psup");
	(void)unsetenv("XDG_RUNTIME_DIR");
	cr_assert_eq(rundir_default(found), 0);
	(void)snprintf(expected, sizeof(expected), "/dev/shm/psup-%u",
	    (unsigned)geteuid());
	cr_assert_str_eq(found, expected);
	rundir_ring_name((struct sid){ 0xabc }, name);
	cr_assert_str_eq(name, "rings/0000000000000abc");
	rundir_spool_name((struct sid){ UINT64_MAX }, name);
	cr_assert_str_eq(name, "spool/ffffffffffffffff");
}

/* The test program's own descriptor at that number, while it is ours. */
static int borrowed = -1;

static void
borrow(void)
{
	borrowed = fcntl(HERITAGE_FD_INFO, F_DUPFD_CLOEXEC, 100);
	close(HERITAGE_FD_INFO);
}

/* The same descriptor, out of the way. */
static int
lift(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, 50);

	cr_assert_geq(high, 50);
	close(fd);
	return high;
}

static void
give_back(void)
{
	if (borrowed < 0)
		return;
	(void)dup3(borrowed, HERITAGE_FD_INFO, O_CLOEXEC);
	close(borrowed);
}

/* A heritage as a keeper would leave it. */
static struct heritage
sample(void)
{
	return (struct heritage){ .size = sizeof(struct heritage),
		.stamp = abi_stamp(ABI_HERITAGE), .role = HERITAGE_WORKER,
		.keeper_pid = 1, .incarnation = 7, .workers = 2,
		.runtime_dir = "/dev/shm/x" };
}

/* Puts h where the program expects it, and reads it. */
static int
receive(const void *h, size_t size, struct heritage *ret)
{
	int fd = lift(memfd_create("test", MFD_CLOEXEC)), error;

	cr_assert_eq(write(fd, h, size), (ssize_t)size);
	borrow();
	(void)dup2(fd, HERITAGE_FD_INFO);
	error = heritage_receive(ret);
	give_back();
	close(fd);
	return error;
}

/* Asserts only once the descriptor is given back: Criterion needs it. */
Test(heritage, is_sealed_and_received, .timeout = 10)
{
	struct heritage h = sample(), got = sample();
	int fd = lift(heritage_seal(&h)), first, second;

	cr_assert_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	cr_assert_lt(pwrite(fd, "x", 1, 0), 0);
	cr_assert_lt(ftruncate(fd, 0), 0);
	borrow();
	(void)dup2(fd, HERITAGE_FD_INFO);
	first = heritage_receive(&got);
	second = heritage_receive(&got);
	give_back();
	close(fd);
	cr_assert_eq(first, 0);
	cr_assert_eq(second, -EBADF); /* it was closed */
	cr_assert_eq(memcmp(&h, &got, sizeof(h)), 0);
}

Test(heritage, of_another_build_is_refused, .timeout = 10)
{
	struct heritage h = sample(), got;
	char longer[sizeof(h) + 1] = { 0 };

	cr_expect_eq(receive(&h, sizeof(h), &got), 0);
	cr_expect_eq(receive(&h, sizeof(h) - 1, &got), -EPROTO);
	memcpy(longer, &h, sizeof(h));
	cr_expect_eq(receive(longer, sizeof(longer), &got), -EPROTO);
	h.stamp = ABI_STAMP(abi_table[ABI_HERITAGE].version + 1,
	    abi_table[ABI_HERITAGE].version + 1);
	cr_expect_eq(receive(&h, sizeof(h), &got), -EPROTO);
	h = sample();
	h.role = 4;
	cr_expect_eq(receive(&h, sizeof(h), &got), -EPROTO);
	h = sample();
	memset(h.runtime_dir, '/', sizeof(h.runtime_dir));
	cr_expect_eq(receive(&h, sizeof(h), &got), -EPROTO);
}
