/* SPDX-License-Identifier: MIT */
/*
 * Processes: psup's own, found through the board and killed; the process tree
 * for the timeline; programs of the build run as a user runs them.
 */
#include "lib_scn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib_inner.h"

/* ------------------------------------------------------- psup's processes */

/* The board, opened anew: the server may have been another one before. */
static psup_view *
view(void)
{
	psup_view *v = NULL;
	char why[256] = "";

	expect(psup_view_open(scn.run, &v, why, sizeof(why)) == 0, "%s", why);
	return v;
}

static bool
find_process(const char *role, int slot, struct psup_view_process *ret)
{
	psup_view *v = view();
	size_t cursor = 0;
	bool found = false;

	while (!found && psup_view_next_process(v, &cursor, ret) == 1)
		found = slot >= 0 ? ret->slot == slot
		                  : strcmp(ret->role, role) == 0;
	psup_view_close(&v);
	return found;
}

/* The process with this role, or the worker in this slot if slot >= 0; one
 * that is being replaced has no pid for a moment. */
static struct psup_view_process
process_of(const char *role, int slot)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	struct psup_view_process p;

	while (!find_process(role, slot, &p) || p.pid == 0) {
		expect(now_ms() < until, "no %s %d on the board", role, slot);
		poll(NULL, 0, 1);
	}
	return p;
}

pid_t
keeper_pid(void)
{
	return process_of("keeper", -1).pid;
}

pid_t
child_of(pid_t parent)
{
	char path[64], line[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent,
	    parent);
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	if (fgets(line, sizeof(line), f) == NULL)
		line[0] = '\0';
	fclose(f);
	return atoi(line);
}

pid_t
psupd_pid(void)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	pid_t pid = scn.guard.pid;
	char path[64], name[32] = "";

	while (strcmp(name, "psupd\n") != 0) {
		FILE *f;

		expect(now_ms() < until, "no psupd under the guard");
		pid = child_of(pid);
		if (pid == 0)
			pid = scn.guard.pid;
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		f = fopen(path, "re");
		if (f == NULL)
			continue;
		if (fgets(name, sizeof(name), f) == NULL)
			name[0] = '\0';
		fclose(f);
	}
	return pid;
}

pid_t
master_pid(void)
{
	return process_of("master", -1).pid;
}

/* The session's row of the board. */
static struct psup_view_session
session_of(const char *id)
{
	struct psup_view_session s;
	psup_view *v = view();
	int err = psup_view_find(v, id, &s);

	psup_view_close(&v);
	expect(err == 0, "%s is not on the board", id);
	return s;
}

pid_t
pid_of(const char *id)
{
	return session_of(id).pid;
}

/* Whose it is; a new master may not have heard that yet. */
static int
slot_of(const char *id)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	int slot;

	while ((slot = session_of(id).worker) < 0) {
		expect(now_ms() < until, "%s has no worker", id);
		poll(NULL, 0, 1);
	}
	return slot;
}

pid_t
worker_in(int slot)
{
	struct psup_view_process p;

	return find_process("worker", slot, &p) ? p.pid : 0;
}

pid_t
worker_of(const char *id)
{
	return process_of("worker", slot_of(id)).pid;
}

void
kill_now(pid_t pid, int sig)
{
	expect(pid > 1 && kill(pid, sig) == 0, "kill %d: %s", pid,
	    strerror(errno));
}

bool
is_alive(pid_t pid)
{
	char path[64], line[512], *end;
	FILE *f;
	bool alive = false;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	if (fgets(line, sizeof(line), f) != NULL &&
	    (end = strrchr(line, ')')) != NULL)
		alive = end[2] != 'Z' && end[2] != 'X';
	fclose(f);
	return alive;
}

void
await_gone(pid_t pid)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	while (is_alive(pid)) {
		expect(now_ms() < until, "%d does not die", pid);
		poll(NULL, 0, 1);
	}
}

bool
is_stopped(pid_t pid)
{
	char path[64], line[512] = "", *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	end = fgets(line, sizeof(line), f) != NULL ? strrchr(line, ')') : NULL;
	fclose(f);
	return end != NULL && end[2] == 'T';
}

void
await_stopped(pid_t pid)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	while (!is_stopped(pid)) {
		expect(now_ms() < until && kill(pid, 0) == 0,
		    "%d is not stopped", pid);
		poll(NULL, 0, 1);
	}
}

void
await_new_master(pid_t old)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	while (master_pid() == old) {
		expect(now_ms() < until, "no new master");
		poll(NULL, 0, 1);
	}
}

void
kill_master(void)
{
	pid_t old = master_pid();

	kill_now(old, SIGKILL);
	await_gone(old);
	scn_ask_again();
	await_new_master(old);
}

void
kill_heirs(pid_t old)
{
	await_new_master(old);
	/* tests/long/faults counts on four; more are backed off from */
	for (int i = 0; i < 4; i++) {
		await_stopped(master_pid());
		kill_master();
	}
	await_stopped(master_pid());
	kill_now(master_pid(), SIGCONT);
}

void
kill_worker_of(const char *id)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	int slot = slot_of(id);
	struct psup_view_process p = process_of("worker", slot);
	pid_t old = p.pid;

	kill_now(old, SIGKILL);
	await_gone(old);
	do {
		expect(now_ms() < until, "worker %d is not replaced", slot);
		poll(NULL, 0, 1);
		p = process_of("worker", slot);
	} while (p.pid == old);
}

void
await_file(const char *path)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	while (access(path, F_OK) != 0) {
		expect(now_ms() < until, "%s does not appear", path);
		poll(NULL, 0, 1);
	}
}

/* ---------------------------------------------------------- process tree */

#define TREE_MAX 4096

static struct {
	pid_t pid, parent;
	char state;
} tree[TREE_MAX];

/* A process and its children, indented. */
static void
show_branch(pid_t pid, size_t count, int depth)
{
	char path[64], cmd[200];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, cmd, sizeof(cmd));
	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i < n; i++)
		if (cmd[i] < ' ')
			cmd[i] = ' ';
	fprintf(stderr, "%*s%d %.*s\n", depth * 2, "", pid,
	    n > 0 ? (int)n : 0, cmd);
	for (size_t i = 0; i < count && depth < 8; i++)
		if (tree[i].parent == pid)
			show_branch(tree[i].pid, count, depth + 1);
}

void
scn_show_processes(void)
{
	struct dirent *e;
	size_t count = 0;
	DIR *d;

	fprintf(stderr, "--- processes\n");
	if (scn.guard.pid < 0 || (d = opendir("/proc")) == NULL)
		return;
	while ((e = readdir(d)) != NULL && count < TREE_MAX) {
		char path[300], line[512], *end;
		pid_t pid = atoi(e->d_name);
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		if (pid <= 0 || (f = fopen(path, "re")) == NULL)
			continue;
		if (fgets(line, sizeof(line), f) != NULL &&
		    (end = strrchr(line, ')')) != NULL &&
		    sscanf(end + 1, " %c %d", &tree[count].state,
		        &tree[count].parent) == 2)
			tree[count++].pid = pid;
		fclose(f);
	}
	closedir(d);
	show_branch(scn.guard.pid, count, 0);
}

/* --------------------------------------------------------------- programs */

struct running {
	struct guarded guard;
	int out, err; /* memfds that the program writes to */
};

static int
memfd(const void *bytes, size_t len)
{
	int fd = memfd_create("scenario", MFD_CLOEXEC);

	if (fd < 0 || (len > 0 && pwrite(fd, bytes, len, 0) != (ssize_t)len))
		abort();
	return fd;
}

static struct running *
start(const char *in, size_t in_len, const char *const *argv)
{
	struct running *r = scn_alloc(sizeof(*r));
	const char *full[60] = {scn_program(argv[0])};
	const char *env[] = {scn_format("PSUP_RUNTIME_DIR=%s", scn.run),
	    scn_format("PSUP_CONFIG=%s", scn.conf), NULL};
	int fd = -1;

	for (size_t n = 1; argv[n] != NULL && n < 59; n++)
		full[n] = argv[n];
	if (in != NULL)
		fd = memfd(in, in_len);
	r->out = memfd(NULL, 0);
	r->err = memfd(NULL, 0);
	scn_guard(full, env, fd, r->out, r->err, &r->guard);
	if (fd >= 0)
		close(fd);
	return r;
}

/* All of a memfd, NUL-terminated. */
static char *
read_memfd(int fd, size_t *ret_len)
{
	struct stat st;
	char *s;
	ssize_t n;

	if (fstat(fd, &st) != 0)
		abort();
	s = scn_alloc((size_t)st.st_size + 1);
	n = pread(fd, s, (size_t)st.st_size, 0);
	*ret_len = n > 0 ? (size_t)n : 0;
	return s;
}

struct running *
scn_run_start(const char *const *argv)
{
	return start(NULL, 0, argv);
}

struct run *
await_run(struct running *r)
{
	struct run *done = scn_alloc(sizeof(*done));

	done->code = scn_guard_wait(&r->guard, SCN_DEADLINE_MS);
	done->out = read_memfd(r->out, &done->out_len);
	done->err = read_memfd(r->err, &done->err_len);
	close(r->out);
	close(r->err);
	return done;
}

struct run *
scn_run(const char *in, size_t in_len, const char *const *argv)
{
	return await_run(start(in, in_len, argv));
}

/* The program under the guard: its only child. */
pid_t
pid_of_run(struct running *r)
{
	char path[64], line[64] = "";
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	pid_t pid = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
	    r->guard.pid, r->guard.pid);
	while (pid <= 0) {
		FILE *f = fopen(path, "re");

		expect(f != NULL && now_ms() < until, "the guard is gone");
		if (fgets(line, sizeof(line), f) != NULL)
			pid = atoi(line);
		fclose(f);
	}
	return pid;
}

void
await_run_output(struct running *r, const char *text)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	for (;;) {
		size_t len;
		char *out = read_memfd(r->out, &len);

		if (memmem(out, len, text, strlen(text)) != NULL)
			return;
		expect(now_ms() < until, "'%s' was not printed", text);
		poll(NULL, 0, 2);
	}
}

void
scn_exit(const char *file, int line, const struct run *r, int want)
{
	if (r->code != want)
		scn_fail(file, line, "exit status",
		    "want %d, is %d; stdout: %.500s; stderr: %.500s", want,
		    r->code, r->out, r->err);
}

void
scn_out(const char *file, int line, const struct run *r, const char *want)
{
	if (strcmp(r->out, want) != 0)
		scn_fail(file, line, "stdout",
		    "want '%.500s', is '%.500s'; stderr: %.500s", want,
		    r->out, r->err);
}

/* --------------------------------------------------------------- the end */

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	if (remove(path) == 0 || errno == ENOENT)
		return 0;
	if (errno != EBUSY)
		return 1;
	/* a scenario's own mount */
	if (umount2(path, MNT_DETACH) == 0)
		(void)remove(path);
	return 0;
}

void
scn_remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
