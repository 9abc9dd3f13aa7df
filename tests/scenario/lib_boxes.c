/* SPDX-License-Identifier: MIT */
/* See lib_boxes.h. */
#include "lib_boxes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Is it this machine, or this build's place, where no box can be made? */
static bool
machine_refuses(const char *why)
{
	return strstr(why, "the kernel refuses user namespaces") != NULL ||
	    strstr(why, "bwrap is not installed") != NULL ||
	    strstr(why, "user.max_user_namespaces is reached") != NULL ||
	    strstr(why, "/proc is masked") != NULL ||
	    strstr(why, "may not enter the directory that psup-box") !=
	        NULL;
}

const char *
conf(const char *more)
{
	char *text = scn_alloc(4096);
	const char *ws = file_in_scenario("boxes");

	/* the user of the boxes is to come to them */
	expect(chmod(file_in_scenario(""), 0711) == 0);
	(void)snprintf(text, 4096,
	    "[sandbox]\nmode = all\nworkspace = %s\n%s%s", ws,
	    geteuid() == 0 ? "user = nobody\n" : "", more);
	return text;
}

void
skip_without_boxes(struct answer *a)
{
	if (strcmp(code_of(a), "unsupported") == 0 &&
	    machine_refuses(words_of(a)))
		skip_scenario("%s", words_of(a));
}

void
boxes(const char *more)
{
	struct answer *a;

	psupd(.conf = conf(more));
	a = ask("exec", STR("command", "true"));
	skip_without_boxes(a);
	expect_str(a, "status", "completed");
}

const char *
says_as(struct peer *p, const char *command)
{
	struct answer *a = ask_as(p, "exec", STR("command", command));

	expect_str(a, "status", "completed");
	expect(number_of(a, "exitCode") == 0, "%s: %s", command, words_of(a));
	return text_of(a, "aggregated");
}

void
mount_dead(pid_t pid, const char *path)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), fuse, status;
	char options[128];
	pid_t child = fork();

	if (child == 0) {
		if (geteuid() != 0 && setns(fd, CLONE_NEWUSER) != 0)
			_exit(1);
		fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
		(void)snprintf(options, sizeof(options),
		    "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other",
		    fuse, geteuid(), getegid());
		if (fuse < 0 || setns(fd, CLONE_NEWNS) != 0 ||
		    mount("dead", path, "fuse", MS_NOSUID, options) != 0)
			_exit(1);
		if (fork() != 0)
			_exit(0);
		/* nothing of the test's: its guard waits for the end of a pipe */
		(void)dup2(fd, STDIN_FILENO);
		(void)dup2(fuse, STDOUT_FILENO);
		closefrom(STDERR_FILENO);
		(void)poll(&(struct pollfd){STDIN_FILENO, POLLIN, 0}, 1, -1);
		_exit(0);
	}
	expect(child > 0 && waitpid(child, &status, 0) == child);
	(void)close(fd);
	if (status != 0)
		skip_scenario("no file system of a user's can be mounted here");
}

pid_t
bwrap_pid(void)
{
	char path[320], name[32];
	DIR *proc = opendir("/proc");
	pid_t found = 0;
	struct dirent *e;
	FILE *f;
	int ppid;

	expect(proc != NULL);
	while ((e = readdir(proc)) != NULL) {
		(void)snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		f = e->d_name[0] >= '1' && e->d_name[0] <= '9'
		    ? fopen(path, "re")
		    : NULL;
		if (f == NULL)
			continue;
		if (fscanf(f, "%*d (%31[^)]) %*c %d", name, &ppid) == 2 &&
		    strcmp(name, "bwrap") == 0 && ppid == keeper_pid() &&
		    child_of((pid_t)atoi(e->d_name)) > 1)
			found = (pid_t)atoi(e->d_name);
		fclose(f);
	}
	closedir(proc);
	return found;
}

pid_t
box_pid(void)
{
	pid_t pid = child_of(bwrap_pid());

	expect(pid > 1, "no box");
	return pid;
}

const char *
waits_in_box(pid_t *ret_box)
{
	const char *id =
	    background(STR("command", "echo up; read -r line; echo $line"));

	await_output(id, "up");
	*ret_box = box_pid();
	return id;
}

void
await_sleepers(int n)
{
	int64_t end = now_ms() + SCN_DEADLINE_MS;
	const char *said;

	while (atoi(said = says("cat /proc/[0-9]*/stat | "
	                        "grep -c '(sleep) [^XZ]'; true")) != n)
		expect(now_ms() < end, "%d sleep, not %d", atoi(said), n);
}

void
ends_as_told(const char *id)
{
	expect_ok(ask("write", STR("sessionId", id), STR("data", "done\n")));
	expect(psup_get_int(await_end(id), "exitCode", -1) == 0);
}

void
signal_workers(int sig)
{
	const psup_value *all =
	    psup_value_get(details(ask("status")), "workers");
	pid_t pid;

	for (size_t i = 0; i < psup_value_count(all); i++) {
		pid = (pid_t)psup_get_int(psup_value_at(all, i), "pid", 0);
		expect(pid > 1 && (kill(pid, sig) == 0 ||
		    (sig == SIGKILL && errno == ESRCH)), "kill %d", pid);
	}
}
