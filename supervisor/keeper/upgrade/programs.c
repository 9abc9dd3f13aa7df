/* SPDX-License-Identifier: MIT */
/*
 * The programs of a server: found, held open so that a package that replaces
 * the files changes nothing for who runs, and tried before they are trusted. A
 * trial has one argument, a pipe to speak into, and little time; the loop goes
 * on meanwhile. A directory that somebody names may be on a file system that
 * does not answer: it is searched, and what is there run, in a trial first.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "common/fault.h"
#include "supervisor/keeper/state.h"

#define TRIAL_NS (10 * NSEC_PER_SEC)
/* A search runs all of them, one after the other. */
#define SEARCH_NS (PROGRAMS * TRIAL_NS)

const char *
programs_name(enum program p)
{
	static const char *const names[PROGRAMS] = { "psupd", "psup-master",
		"psup-worker" };

	CHECK(p < PROGRAMS);
	return names[p];
}

/* Opens the three, whatever lies at their paths now. */
int
programs_open(struct program_set *s)
{
	struct stat st;
	int i, error = 0;

	for (i = 0; i < PROGRAMS; i++)
		s->fd[i] = -1;
	for (i = 0; i < PROGRAMS && error == 0; i++) {
		s->fd[i] = open(s->path[i], O_PATH | O_CLOEXEC);
		if (s->fd[i] < 0 || fstat(s->fd[i], &st) < 0)
			error = -errno;
		else if (!S_ISREG(st.st_mode) ||
		    faccessat(AT_FDCWD, s->path[i], X_OK, AT_EACCESS) < 0)
			error = -EACCES;
	}
	if (error < 0)
		programs_close(s);
	return error;
}

void
programs_close(struct program_set *s)
{
	int i;

	for (i = 0; i < PROGRAMS; i++) {
		if (s->fd[i] >= 0)
			(void)close(s->fd[i]);
		s->fd[i] = -1;
	}
}

/* One program: in `dir`, else where an installation beside it has it. */
static bool
find_one(const char *dir, enum program which, char *ret, size_t size)
{
	int i, n;

	for (i = 0; i < (which == PROGRAM_KEEPER ? 1 : 2); i++) {
		n = i == 0 ?
			snprintf(ret, size, "%s/%s", dir,
			    programs_name(which)) :
			snprintf(ret, size, "%s/../libexec/psup/%s", dir,
			    programs_name(which));
		if (n > 0 && (size_t)n < size && access(ret, X_OK) == 0)
			return true;
	}
	return false;
}

/* The new set: in dir (or beside the psupd that dir names), else where the old
 * ones were. */
int
programs_find(struct keeper *k, const char *dir, char *why, size_t size)
{
	struct program_set *s = &k->set[SET_NEW];
	char place[PATH_MAX], *slash;
	struct stat st;
	int i, r;

	for (i = 0; dir[0] == '\0' && i < PROGRAMS; i++)
		memcpy(s->path[i], k->set[SET_OLD].path[i], PATH_MAX);
	(void)snprintf(place, sizeof(place), "%s", dir);
	if (dir[0] != '\0' && stat(place, &st) == 0 && S_ISREG(st.st_mode) &&
	    (slash = strrchr(place, '/')) != NULL)
		*slash = '\0';
	for (i = 0; dir[0] != '\0' && i < PROGRAMS; i++) {
		if (find_one(place, (enum program)i, s->path[i], PATH_MAX))
			continue;
		(void)snprintf(why, size, "%.300s: no %s there", place,
		    programs_name((enum program)i));
		return -ENOENT;
	}
	r = programs_open(s);
	if (r < 0)
		(void)snprintf(why, size, "%.300s and its programs cannot be "
		    "opened: %s", s->path[PROGRAM_KEEPER], strerror(-r));
	return r;
}

/* Runs one as its trial will, so that whatever hangs hangs here. */
static void
run_once(const struct program_set *s, enum program which)
{
	char name[32], *argv[] = { name, (char[]){ "--versions" }, NULL };
	pid_t pid = fork();

	(void)snprintf(name, sizeof(name), "%s", programs_name(which));
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)syscall(SYS_execveat, s->fd[which], "", argv, environ,
		    AT_EMPTY_PATH);
		_exit(127);
	}
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
}

/* In a process of its own, with nothing of the keeper's open. */
static _Noreturn void
search(struct keeper *k, const char *dir, int out)
{
	static char why[ABI_TEXT_MAX];
	bool found;
	int i;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)dup2(out, STDERR_FILENO);
	(void)close_range(STDERR_FILENO + 1, ~0U, 0);
	(void)close(STDOUT_FILENO); /* what they say is asked for later */
	found = programs_find(k, dir, why, sizeof(why)) == 0;
	for (i = 0; found && i < PROGRAMS; i++)
		run_once(&k->set[SET_NEW], (enum program)i);
	if (!found)
		(void)!write(STDERR_FILENO, why, strlen(why));
	else
		(void)!write(STDERR_FILENO, "ok", 2);
	_exit(found ? 0 : 1);
}

int
trial_search(struct keeper *k, struct trial *t, const char *dir)
{
	int pipefd[2], pid, error = 0;

	*t = (struct trial){ .pidfd = -1, .out = -1, .most_ns = SEARCH_NS,
		.until_ns = clock_boot_ns() + SEARCH_NS };
	if (pipe2(pipefd, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		search(k, dir, pipefd[1]);
	if (pid < 0)
		error = -errno;
	(void)close(pipefd[1]);
	t->out = pipefd[0];
	if (pid > 0) {
		t->pid = pid;
		t->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		(void)keeper_epoll_add(k, t->pidfd, NULL, EV_TRIAL);
	} else {
		trial_end(k, t);
	}
	return error;
}

/* Starts it. */
int
trial_start(struct keeper *k, struct trial *t, int binary, const char *name,
    const char *arg, int info)
{
	int pipefd[2], r;

	*t = (struct trial){ .pidfd = -1, .out = -1, .most_ns = TRIAL_NS,
		.until_ns = clock_boot_ns() + TRIAL_NS };
	if (pipe2(pipefd, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	r = launch_trial(k, binary, name, arg, pipefd[1], info, &t->pid,
	    &t->pidfd);
	FAULT("upgrade.in-trial");
	(void)close(pipefd[1]);
	t->out = pipefd[0];
	if (t->pid != 0)
		(void)keeper_epoll_add(k, t->pidfd, NULL, EV_TRIAL);
	if (r < 0)
		trial_end(k, t);
	return r;
}

/* Takes what it has said; what does not fit is cut, and no answer then. */
static void
trial_read(struct trial *t)
{
	ssize_t n;

	while (t->len < sizeof(t->text) - 1 &&
	    (n = read(t->out, t->text + t->len,
		 sizeof(t->text) - 1 - t->len)) > 0)
		t->len += (size_t)n;
	t->text[t->len] = '\0';
}

/* Is it over, and how? Its text is there then. */
enum trial_verdict
trial_look(struct keeper *k, struct trial *t, uint64_t now)
{
	siginfo_t si;

	memset(&si, 0, sizeof(si));
	trial_read(t);
	if (waitid(P_PID, (id_t)t->pid, &si, WEXITED | WNOHANG | __WALL) < 0) {
		trial_end(k, t);
		return TRIAL_FAILED;
	}
	if (si.si_pid == 0) {
		if (now < t->until_ns)
			return TRIAL_RUNS;
		(void)snprintf(t->text, sizeof(t->text),
		    "it did not answer within %u s",
		    (unsigned)(t->most_ns / NSEC_PER_SEC));
		trial_end(k, t);
		return TRIAL_FAILED;
	}
	trial_read(t);
	if (t->len == 0 || si.si_code != CLD_EXITED)
		(void)snprintf(t->text, sizeof(t->text), "it %s %d",
		    si.si_code == CLD_EXITED ? "said nothing and exited with" :
					       "was ended by signal",
		    si.si_status);
	t->pid = 0;
	trial_end(k, t);
	return si.si_code == CLD_EXITED && si.si_status == 0 ? TRIAL_OK :
							       TRIAL_FAILED;
}

/* Ends it, where it runs, and closes what it had. */
void
trial_end(struct keeper *k, struct trial *t)
{
	if (t->pid != 0) {
		(void)syscall(SYS_pidfd_send_signal, t->pidfd, SIGKILL, NULL,
		    0);
		/* dead for sure, soon: the next sweep reaps it */
		k->activity = true;
	}
	if (t->pidfd >= 0) {
		keeper_epoll_del(k, t->pidfd);
		(void)close(t->pidfd);
	}
	if (t->out >= 0)
		(void)close(t->out);
	t->pid = 0;
	t->pidfd = t->out = -1;
}
