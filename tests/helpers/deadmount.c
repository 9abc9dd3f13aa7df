/* SPDX-License-Identifier: MIT */
/*
 * deadmount DIR PROGRAM [ARG...]: runs a program that sees a mount at DIR
 * which never answers: a file system in user space whose daemon reads nothing.
 * Whoever asks it for anything sleeps until he is killed. It is mounted in a
 * namespace of the program's own, so nobody else can stumble over it and it is
 * gone with the last one who sees it.
 *
 * Exit status: 77 and a sentence where it may not be mounted here.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_SKIP 77

static _Noreturn void
cannot(const char *what)
{
	fprintf(stderr, "deadmount: %s: %s\n", what, strerror(errno));
	exit(EXIT_SKIP);
}

/* One id of ours, the same inside as outside. */
static void
map_id(const char *file, unsigned id)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || dprintf(fd, "%u %u 1\n", id, id) < 0)
		cannot(file);
	close(fd);
}

/* A mount namespace; who is not root needs a user namespace for it. */
static void
enter_namespace(void)
{
	unsigned uid = geteuid(), gid = getegid();
	int fd;

	if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0)
		cannot("unshare");
	if (uid != 0) {
		fd = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
		if (fd >= 0) {
			(void)!write(fd, "deny", 4);
			close(fd);
		}
		map_id("/proc/self/uid_map", uid);
		map_id("/proc/self/gid_map", gid);
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		cannot("mount --make-rprivate /");
}

/* Keeps the connection open, unread, until that process has ended. */
static _Noreturn void
hold(int fuse, int pidfd)
{
	struct pollfd watch = {.fd = pidfd, .events = POLLIN};

	(void)fuse;
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	while (poll(&watch, 1, -1) < 0 && errno == EINTR)
		;
	_exit(0);
}

/* The holder is nobody's child here: the program would wonder about it. */
static void
start_holder(int fuse)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	pid_t pid = fork();

	if (pidfd < 0 || pid < 0)
		cannot("fork");
	if (pid == 0) {
		pid = fork();
		if (pid == 0)
			hold(fuse, pidfd);
		_exit(pid < 0);
	}
	if (waitpid(pid, NULL, 0) != pid)
		cannot("waitpid");
	close(pidfd);
}

int
main(int argc, char **argv)
{
	char options[128];
	int fuse;

	if (argc < 3)
		return 2;
	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fuse < 0)
		cannot("/dev/fuse");
	snprintf(options, sizeof(options),
	    "fd=%d,rootmode=40000,user_id=%u,group_id=%u", fuse, geteuid(),
	    getegid());
	enter_namespace();
	if (mount("deadmount", argv[1], "fuse", MS_NOSUID | MS_NODEV,
	        options) != 0)
		cannot("mount -t fuse");
	start_holder(fuse);
	execvp(argv[2], argv + 2);
	cannot(argv[2]);
}
