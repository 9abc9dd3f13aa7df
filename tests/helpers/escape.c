/* SPDX-License-Identifier: MIT */
/*
 * Inside a box: tries to get out of it, or to more than it has, and prints the
 * name of each attempt that came to something. The last line is "N tried".
 *
 *     escape RUNTIME_DIR PORT ABSTRACT
 *
 *     escape starts [NAME]
 *     escape takes
 *     escape gives
 *
 * The second tries it with all that start meanwhile, or with whoever has that
 * name, and has no end; it says "saw" once there was one. Who takes waits for a
 * descriptor at an abstract name and at one in /tmp, and says what can be read from
 * them; who gives says how many he got rid of.
 * PORT and ABSTRACT: sockets that somebody outside listens on. Each attempt is
 * made in a process of its own, which says by its exit that it succeeded.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/kcmp.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char *runtime_dir, *port, *abstract;
static const char *victims = "psup"; /* as their names begin */

static bool
opens(const char *path, int flags)
{
	return open(path, flags | O_CLOEXEC, 0600) >= 0;
}

static bool
below_runtime_dir(const char *name)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/%s", runtime_dir, name);
	return opens(path, O_RDONLY);
}

static bool
connects(int domain, const void *addr, socklen_t len)
{
	int fd = socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, addr, len) == 0;
}

static bool
connects_unix(const char *name, size_t len)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};

	memcpy(sa.sun_path, name, len < 108 ? len : 108);
	return connects(AF_UNIX, &sa,
	    (socklen_t)(sizeof(sa.sun_family) + len));
}

static bool
connects_abstract(void)
{
	char name[108] = "";
	size_t n = strlen(abstract);

	if (n > sizeof(name) - 1)
		return false;
	memcpy(name + 1, abstract, n);
	return connects_unix(name, n + 1);
}

static bool
connects_inet(uint32_t host, uint16_t to)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
	    .sin_port = htons(to),
	    .sin_addr.s_addr = htonl(host)};

	return connects(AF_INET, &sa, sizeof(sa));
}

static bool
calls(long nr, long a, long b, long c)
{
	return syscall(nr, a, b, c, 0, 0) >= 0;
}

/* Is what lies there mounted so? */
static bool
has_flags(const char *path, unsigned long flags)
{
	struct statvfs st;

	return statvfs(path, &st) == 0 && (st.f_flag & flags) == flags;
}

/* A file of ours with no name becomes one there? */
static bool
names_nameless(const char *path)
{
	int fd = open("/workspace", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char self[40];

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return fd >= 0 && linkat(AT_FDCWD, self, AT_FDCWD, path,
	    AT_SYMLINK_FOLLOW) == 0;
}

/* What may be read becomes what may be written, under another name? */
static bool
links_here(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return link(path, "/workspace/linked") == 0 ||
	    linkat(fd, "", AT_FDCWD, "/workspace/linked", AT_EMPTY_PATH) == 0 ||
	    rename(path, "/workspace/linked") == 0;
}

/* By the number that the kernel has for a file, past all directories. */
static bool
opens_by_handle(const char *path)
{
	struct {
		struct file_handle head;
		char bytes[MAX_HANDLE_SZ];
	} h = {.head.handle_bytes = MAX_HANDLE_SZ};
	int mount_id, at = open(path, O_RDONLY | O_CLOEXEC);

	return name_to_handle_at(AT_FDCWD, path, &h.head, &mount_id, 0) == 0 &&
	    open_by_handle_at(at, &h.head, O_RDONLY) >= 0;
}

/* A file in the workspace that is to be more than a file; -1. */
static int
own_file(void)
{
	return open("/workspace/file", O_CREAT | O_RDWR | O_CLOEXEC, 0755);
}

static bool
gives_capabilities(void)
{
	const uint32_t all[5] = {0x02000001, ~0u, 0, ~0u, 0};

	return fsetxattr(own_file(), "security.capability", all, sizeof(all),
	    0) == 0;
}

/* A program from nowhere, set-user-ID: is it held as we are? */
static bool
runs_from_memory(void)
{
	char name[] = "escape", what[] = "held";
	char *argv[] = {name, what, NULL}, *envp[] = {NULL};
	int fd = memfd_create("program", MFD_CLOEXEC);
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char piece[65536];
	ssize_t n;

	while ((n = read(self, piece, sizeof(piece))) > 0)
		if (write(fd, piece, (size_t)n) != n)
			return false;
	(void)fchmod(fd, 04755);
	(void)fexecve(fd, argv, envp);
	return false;
}

/* More than stdio? */
static bool
has_descriptors(void)
{
	for (int fd = 3; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return true;
	return false;
}

/* Where the numbers of calls are others: it does not live to tell. */
static bool
calls_foreign(void)
{
#if defined(__x86_64__)
	long rc;

	if (syscall(0x40000000 | SYS_getpid) >= 0 || errno != ENOSYS)
		return true;
	__asm__ volatile("int $0x80" : "=a"(rc) : "a"(20L) : "memory");
	return true;
#else
	return false;
#endif
}

/* Got at in that way, is it the worker's program still? Who has exec'd may be. */
static void
is_got(pid_t pid, const char *how)
{
	char path[40], exe[4096];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = '\0';
	if (strstr(exe, "psup-worker") != NULL)
		printf("escaped: %s of a start\n", how);
}

/* A command before its exec is the worker's program still, with what the worker
 * has open: nobody is to come to it. */
static void
grab(pid_t pid)
{
	static bool seen;
	char path[40], name[32] = "", bytes[8];
	struct iovec to = {bytes, sizeof(bytes)}, from = {0, sizeof(bytes)};
	int fd;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, name, sizeof(name) - 1) : 0;
	(void)close(fd);
	if (n <= 0 || strncmp(name, victims, strlen(victims)) != 0)
		return;
	if (!seen)
		printf("saw\n");
	seen = true;
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		is_got(pid, "memory");
	(void)close(fd);
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		is_got(pid, "descriptors");
	(void)close(fd);
	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		is_got(pid, "program");
	(void)close(fd);
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (calls(SYS_pidfd_getfd, fd, 3, 0))
		is_got(pid, "a descriptor");
	(void)close(fd);
	/* nothing is there: who may not look is told so before */
	if (process_vm_readv(pid, &to, 1, &from, 1, 0) >= 0 || errno == EFAULT)
		is_got(pid, "reading");
	if (process_vm_writev(pid, &to, 1, &from, 1, 0) >= 0 || errno == EFAULT)
		is_got(pid, "writing");
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) != 0)
		return;
	is_got(pid, "ptrace");
	/* it is let go: its end would be ours to see */
	(void)ptrace(PTRACE_INTERRUPT, pid, 0, 0);
	(void)waitpid(pid, NULL, __WALL);
	(void)ptrace(PTRACE_DETACH, pid, 0, 0);
}

/* Until it is ended. */
static _Noreturn void
grab_all(void)
{
	struct dirent *e;
	DIR *d;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("up\n");
	for (;;) {
		d = opendir("/proc");
		while (d != NULL && (e = readdir(d)) != NULL)
			if (atoi(e->d_name) > 1 && atoi(e->d_name) != getpid())
				grab(atoi(e->d_name));
		closedir(d);
	}
}

/* Where who takes and who gives meet: two places. */
static int
meets(bool named, int (*how)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	const char *name = named ? "/tmp/meet" : "meet";
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(sa.sun_path + !named, name, strlen(name));
	if (how(fd, (struct sockaddr *)&sa, (socklen_t)(sizeof(sa.sun_family) +
	    (size_t)!named + strlen(name))) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/* A message with a descriptor: `fd` to be sent, -1: one to be received, which
 * is returned. */
static int
passes(int sock, int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} c = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
	    .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	char byte = 'x';
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1,
	    .msg_control = &c, .msg_controllen = sizeof(c)};

	memcpy(CMSG_DATA(&c.head), &fd, sizeof(fd));
	if (fd >= 0)
		return sendmsg(sock, &m, 0) == 1 ? fd : -1;
	if (recvmsg(sock, &m, MSG_CMSG_CLOEXEC) == 1)
		memcpy(&fd, CMSG_DATA(&c.head), sizeof(fd));
	return fd;
}

static int
take_all(void)
{
	int at[2] = {meets(false, bind), meets(true, bind)};
	char text[64];
	ssize_t n;

	if (listen(at[0], 4) != 0 || listen(at[1], 4) != 0)
		return 1;
	printf("up\n");
	fflush(stdout);
	for (int i = 0; i < 2; i++) {
		int fd = passes(accept(at[i], NULL, NULL), -1);

		n = pread(fd, text, sizeof(text), 0);
		if (n <= 0 || fwrite(text, 1, (size_t)n, stdout) == 0)
			return 1;
	}
	return 0;
}

static int
give_all(void)
{
	int fd = open("/workspace/given", O_RDONLY | O_CLOEXEC), given = 0;

	for (int i = 0; i < 2; i++)
		given += passes(meets(i == 1, connect), fd) >= 0;
	printf("%d\n", given);
	return fd < 0;
}

#define TRY(name, cond)                                                        \
	static bool try_##name(void)                                           \
	{                                                                      \
		return cond;                                                   \
	}
#include "escape.def"
#undef TRY

static const struct {
	const char *name;
	bool (*attempt)(void);
} attempts[] = {
#define TRY(name, cond) {#name, try_##name},
#include "escape.def"
#undef TRY
};

int
main(int argc, char **argv)
{
	size_t n = sizeof(attempts) / sizeof(*attempts);

	if (argc > 2)
		victims = argv[2];
	if (argc >= 2 && strcmp(argv[1], "starts") == 0)
		grab_all();
	if (argc == 2 && strcmp(argv[1], "takes") == 0)
		return take_all();
	if (argc == 2 && strcmp(argv[1], "gives") == 0)
		return give_all();
	if (argc == 2 && strcmp(argv[1], "held") == 0)
		return unshare(CLONE_NEWUSER) == 0 || geteuid() == 0 ||
		    prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 2 ? 42 : 0;
	if (argc != 4)
		return 2;
	runtime_dir = argv[1];
	port = argv[2];
	abstract = argv[3];
	for (size_t i = 0; i < n; i++) {
		pid_t pid = fork();
		int status = 0;

		if (pid == 0)
			_exit(attempts[i].attempt() ? 42 : 0);
		if (pid < 0 || waitpid(pid, &status, 0) != pid ||
		    (WIFEXITED(status) && WEXITSTATUS(status) == 42)) {
			printf("escaped: %s\n", attempts[i].name);
			fflush(stdout);
		}
	}
	printf("%zu tried\n", n);
	return 0;
}
