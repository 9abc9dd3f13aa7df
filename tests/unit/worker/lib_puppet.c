/* SPDX-License-Identifier: MIT */
/* See lib_puppet.h. */
#include "lib_puppet.h"

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
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/heritage.h"
#include "shm/ring.h"
#include "shm/spool.h"
#include "shm/stats.h"

#define DEADLINE_SEC 60u

void
puppet_deadline(struct puppet *p)
{
	p->deadline_ns = clock_boot_ns() + DEADLINE_SEC * NSEC_PER_SEC;
}

static void
make_dir(struct puppet *p)
{
	memset(p, 0, sizeof(*p));
	p->keeper_fd = p->master_fd = -1;
	strcpy(p->dir, "/dev/shm/psup-worker-XXXXXX");
	cr_assert_not_null(mkdtemp(p->dir));
}

static void
fill_dir(struct puppet *p)
{
	p->dirfd = open(p->dir, O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(p->dirfd, 0);
	cr_assert_eq(mkdirat(p->dirfd, "rings", 0700), 0);
	cr_assert_eq(mkdirat(p->dirfd, "spool", 0700), 0);
	cr_assert_eq(stats_create(p->dirfd, &p->stats), 0);
	cr_assert_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
}

void
puppet_init(struct puppet *p)
{
	make_dir(p);
	fill_dir(p);
}

bool
puppet_init_small(struct puppet *p, unsigned kib)
{
	char options[32];

	make_dir(p);
	snprintf(options, sizeof(options), "size=%uk", kib);
	if (mount("tmpfs", p->dir, "tmpfs", 0, options) != 0) {
		rmdir(p->dir);
		return false;
	}
	p->mounted = true;
	fill_dir(p);
	return true;
}

static void
remove_all(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fdopendir(fd);
	struct dirent *d;

	cr_assert_not_null(dir);
	while ((d = readdir(dir)) != NULL)
		if (d->d_name[0] != '.')
			unlinkat(fd, d->d_name, 0);
	closedir(dir);
	unlinkat(dirfd, name, AT_REMOVEDIR);
}

static void
close_held(struct psession *s, unsigned mask)
{
	unsigned i;

	for (i = 0; i < 4; i++)
		if ((mask & (1u << i)) != 0 && s->fds[i] >= 0) {
			close(s->fds[i]);
			s->fds[i] = -1;
		}
}

void
puppet_fini(struct puppet *p)
{
	size_t i;

	if (p->worker != 0)
		puppet_kill_worker(p);
	for (i = 0; i < p->count; i++) {
		puppet_read_pid(p, &p->s[i]);
		if (p->s[i].pid != 0 && !p->s[i].closed)
			kill(-p->s[i].pid, SIGKILL);
		close_held(&p->s[i], ~0u);
	}
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	remove_all(p->dirfd, "rings");
	remove_all(p->dirfd, "spool");
	unlinkat(p->dirfd, "stats", 0);
	stats_detach(p->stats);
	close(p->dirfd);
	if (p->mounted)
		cr_assert_eq(umount(p->dir), 0);
	cr_assert_eq(rmdir(p->dir), 0);
}

static _Noreturn void
exec_worker(const struct puppet *p, const char *faults, int channel, int info)
{
	char path[512];
	int null;

	snprintf(path, sizeof(path), "%s/psup-worker", getenv("PSUP_TEST_BIN"));
	if (faults != NULL)
		setenv("PSUP_FAULTS", faults, 1);
	channel = fcntl(channel, F_DUPFD, 20);
	info = fcntl(info, F_DUPFD, 20);
	null = open("/dev/null", O_RDWR);
	dup2(null, 0);
	dup2(channel, HERITAGE_FD_KEEPER);
	dup2(info, HERITAGE_FD_INFO);
	close(4);
	closefrom(HERITAGE_FD_FIRST_FREE);
	if (p->no_devpts &&
	    (unshare(CLONE_NEWNS) != 0 ||
	        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	        mount("tmpfs", "/dev/pts", "tmpfs", 0, NULL) != 0))
		_exit(98);
	execl(path, "psup-worker", (char *)NULL);
	_exit(99);
}

void
puppet_worker(struct puppet *p, const char *faults)
{
	struct heritage h = {.role = HERITAGE_WORKER,
	    .keeper_pid = p->orphaned ? 1 : getpid(),
	    .wid = {0, ++p->generation},
	    .incarnation = 77,
	    .workers = 1,
	    .max_sessions = 1000,
	    .log_level = getenv("PSUP_TEST_LOG") != NULL ? 3 : 0};
	struct ctl_role role = {
	    .head = CTL_INIT(CTL_ROLE, (struct sid){0}, struct ctl_role),
	    .role = HERITAGE_WORKER};
	int sv[2], info, one = 1;

	strcpy(h.runtime_dir, p->dir);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv),
	    0);
	cr_assert_eq(
	    setsockopt(sv[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)), 0);
	if (p->channel_bytes != 0)
		cr_assert_eq(setsockopt(sv[1], SOL_SOCKET, SO_SNDBUF,
		                 &p->channel_bytes, sizeof(int)), 0);
	info = heritage_seal(&h);
	cr_assert_geq(info, 0);
	p->ready = false;
	p->worker = fork();
	cr_assert_geq(p->worker, 0);
	if (p->worker == 0)
		exec_worker(p, faults, sv[1], info);
	close(sv[1]);
	close(info);
	p->keeper_fd = sv[0];
	UNTIL(p, p->ready);
	role.flags = p->reads_nothing ? 0 : CTL_ROLE_READS_PIDS;
	role.flags |= p->passes ? (uint32_t)CTL_ROLE_PASSES_ENDS : 0u;
	cr_assert_eq(ctl_send(p->keeper_fd, &role, sizeof(role), NULL, 0), 0);
	puppet_master(p);
}

void
puppet_master(struct puppet *p)
{
	struct ctl_peer peer = {
	    .head = CTL_INIT(CTL_PEER, (struct sid){0}, struct ctl_peer)};
	int sv[2];

	if (p->master_fd >= 0)
		close(p->master_fd);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv),
	    0);
	p->master_fd = sv[0];
	p->dump_end = false;
	cr_assert_eq(ctl_send(p->keeper_fd, &peer, sizeof(peer), &sv[1], 1), 0);
	close(sv[1]);
	UNTIL(p, p->dump_end || p->keeper_fd < 0);
}

static struct psession *
session_of(struct puppet *p, struct sid sid)
{
	cr_assert(sid.v >= 1 && sid.v <= p->count, "sid %llu of %zu",
	    (unsigned long long)sid.v, p->count);
	return &p->s[sid.v - 1];
}

void
puppet_read_pid(struct puppet *p, struct psession *s)
{
	struct ring_look look;

	if (s->pid == 0 && ring_look(p->dirfd, s->sid, &look) == 0)
		s->pid = look.pid;
}

static void
look_exit(struct puppet *p, struct psession *s, struct ctl_exit *e)
{
	siginfo_t si;

	puppet_read_pid(p, s);
	memset(&si, 0, sizeof(si));
	cr_assert_eq(waitid(P_PID, (id_t)s->pid, &si,
	                 WEXITED | WNOWAIT | WNOHANG),
	    0, "session %llu pid %d", (unsigned long long)s->sid.v,
	    (int)s->pid);
	if (si.si_pid != 0) {
		e->code = si.si_code;
		e->status = si.si_status;
	}
	e->pid = s->pid;
	e->wall_ms = clock_wall_ms();
}

static void
answer_exit(struct puppet *p, struct psession *s)
{
	struct ctl_exited e = {
	    .exit.head = CTL_INIT(CTL_EXITED, s->sid, struct ctl_exited)};
	int err;

	look_exit(p, s, &e.exit);
	/* A worker that is killed on purpose may be gone by now. */
	err = ctl_send(p->keeper_fd, &e, sizeof(e), NULL, 0);
	cr_assert(err == 0 || err == -EPIPE || err == -ECONNRESET, "%d", err);
	s->asked = true;
}

static void
close_session(struct psession *s)
{
	close_held(s, ~0u);
	s->closed = true;
	if (s->pid != 0)
		waitpid(s->pid, NULL, WNOHANG);
}

/* What a keeper would do. */
static void
as_keeper(struct puppet *p, struct ctl_msg *m)
{
	struct psession *s;
	struct ctl_fds fds;
	struct ctl_pid pid;
	size_t i, n = 0;

	if (m->head.type == CTL_READY) {
		p->ready = true;
		return;
	}
	s = session_of(p, m->head.sid);
	memcpy(&fds, m->bytes, sizeof(fds));
	switch (m->head.type) {
	case CTL_HOLD:
		if ((fds.flags & CTL_HOLD_AGAIN) != 0) {
			close_held(s, ~0u);
			s->pid = 0;
		}
		for (i = 0; i < 4; i++)
			if ((fds.mask & (1u << i)) != 0)
				s->fds[i] = m->fds[n++];
		cr_assert_eq(n, m->nfds);
		s->held = true;
		break;
	case CTL_SPAWNED:
		s->pid = m->pid;
		s->told = true;
		break;
	case CTL_ASK_EXIT:
		memcpy(&pid, m->bytes, sizeof(pid));
		puppet_read_pid(p, s);
		cr_assert_eq(pid.pid, s->pid);
		s->asked = true;
		if (!p->loses_asks)
			answer_exit(p, s);
		break;
	case CTL_END:
		cr_assert(p->passes, "END to a keeper that cannot pass it on");
		memcpy(&s->end, m->bytes, sizeof(s->end));
		look_exit(p, s, &s->end.exit);
		s->passed++;
		if (p->loses_ends)
			break;
		s->ended = true;
		s->end_count++;
		puppet_ended(p, s);
		break;
	case CTL_DROP:
		close_held(s, fds.mask);
		break;
	case CTL_CLOSED:
		puppet_read_pid(p, s);
		close_session(s);
		break;
	default:
		cr_assert_fail("%s to the keeper", ctl_type_name(m->head.type));
	}
}

void
puppet_ended(struct puppet *p, struct psession *s)
{
	struct ctl_ended m = {.head = CTL_INIT(CTL_ENDED, s->sid,
				  struct ctl_ended), .exit = s->end.exit};
	int rc = ctl_send(p->master_fd, &m, sizeof(m), NULL, 0);

	cr_assert(rc == 0 || rc == -EPIPE || rc == -ECONNRESET);
}

/* What a master would write down. */
static void
as_master(struct puppet *p, struct ctl_msg *m)
{
	struct psession *s;
	struct ctl_pos pos;

	if (m->head.type == CTL_DUMP_END) {
		p->dump_end = true;
		return;
	}
	s = session_of(p, m->head.sid);
	switch (m->head.type) {
	case CTL_RUNNING:
		memcpy(&s->run, m->bytes, sizeof(s->run));
		puppet_read_pid(p, s);
		if (s->run.starting != 0) {
			s->starting = true;
			break;
		}
		s->running = true;
		s->running_count++;
		break;
	case CTL_EXITED:
		s->exited_told = true;
		break;
	case CTL_FAILED:
		memcpy(&s->fail, m->bytes, sizeof(s->fail));
		s->failed = true;
		s->fail_count++;
		if (!p->keep_quiet)
			puppet_ended(p, s);
		break;
	case CTL_OUTPUT:
		memcpy(&pos, m->bytes, sizeof(pos));
		s->output_at = pos.pos;
		s->output_told = true;
		break;
	case CTL_STDIN_AT:
		memcpy(&s->in, m->bytes, sizeof(s->in));
		s->stdin_told = true;
		break;
	case CTL_INPUT:
		memcpy(&s->input, m->bytes, sizeof(s->input));
		s->input_told = true;
		break;
	case CTL_NO_SPACE:
		s->no_space++;
		break;
	case CTL_END:
		memcpy(&s->end, m->bytes, sizeof(s->end));
		s->ended = true;
		s->end_count++;
		if (!p->keep_quiet)
			puppet_ended(p, s);
		break;
	case CTL_LEFT:
		memcpy(&s->left, m->bytes, sizeof(s->left));
		s->left_count++;
		break;
	default:
		cr_assert_fail("%s to the master", ctl_type_name(m->head.type));
	}
}

/* Reads one channel until it is empty. False: its other side is gone. */
static bool
drain(struct puppet *p, int fd, void (*as)(struct puppet *, struct ctl_msg *))
{
	int rc;

	while ((rc = ctl_recv(fd, &p->msg)) == 1)
		as(p, &p->msg);
	cr_assert(rc == -EAGAIN || rc == 0 || rc == -ECONNRESET, "recv: %d",
	    rc);
	return rc == -EAGAIN;
}

void
puppet_step(struct puppet *p)
{
	struct pollfd pfd[2] = {{.fd = p->deaf ? -1 : p->keeper_fd,
	                            .events = POLLIN},
	    {.fd = p->master_fd, .events = POLLIN}};

	cr_assert(clock_boot_ns() < p->deadline_ns, "waited in vain");
	poll(pfd, 2, 20);
	if (pfd[0].revents != 0 && !drain(p, p->keeper_fd, as_keeper)) {
		close(p->keeper_fd);
		p->keeper_fd = -1;
	}
	if (pfd[1].revents != 0 && !drain(p, p->master_fd, as_master)) {
		close(p->master_fd);
		p->master_fd = -1;
	}
}

void
puppet_bury_worker(struct puppet *p)
{
	UNTIL(p, p->keeper_fd < 0 && p->master_fd < 0);
	cr_assert_eq(waitpid(p->worker, NULL, 0), p->worker);
	p->worker = 0;
	/* as the keeper does at a worker's death */
	for (size_t i = 0; i < p->count; i++)
		if (p->s[i].held)
			puppet_read_pid(p, &p->s[i]);
}

void
puppet_kill_worker(struct puppet *p)
{
	kill(p->worker, SIGKILL);
	puppet_bury_worker(p);
}

void
puppet_give(struct puppet *p, struct psession *s)
{
	struct ctl_give g = {
	    .head = CTL_INIT(CTL_GIVE, s->sid, struct ctl_give)};
	int fds[4];
	size_t i, n = 0;

	puppet_read_pid(p, s);
	g.pid = s->pid;
	for (i = 0; i < 4; i++)
		if (s->fds[i] >= 0) {
			g.mask |= 1u << i;
			fds[n++] = s->fds[i];
		}
	cr_assert_eq(ctl_send(p->keeper_fd, &g, sizeof(g), fds, n), 0);
}

static size_t
put(char *blob, size_t at, const char *s)
{
	strcpy(blob + at, s);
	return at + strlen(s) + 1;
}

struct psession *
puppet_start(struct puppet *p, const struct order *o)
{
	static const char *const sh[] = {"sh", "-c"};
	struct {
		struct ctl_start m;
		char blob[8192];
	} b;
	struct psession *s = o->again != NULL ? o->again : &p->s[p->count];
	struct sid sid = s->sid;
	size_t at = 0, i;
	int fd;

	memset(&b, 0, sizeof(b));
	memset(s, 0, sizeof(*s));
	s->fds[0] = s->fds[1] = s->fds[2] = s->fds[3] = -1;
	s->sid.v = o->again != NULL ? sid.v : ++p->count;
	cr_assert_lt(p->count, PUPPET_SESSIONS);
	b.m = (struct ctl_start){
	    .head = CTL_INIT(CTL_START, s->sid, struct ctl_start),
	    .umask = 022,
	    .attempt = o->attempt,
	    .flags = o->flags,
	    .envc = 1,
	    .path_count = 1,
	    .grace_ms = o->grace_ms,
	    .timeout_ms = o->timeout_ms,
	    .no_output_timeout_ms = o->no_output_ms,
	    .start_ms = o->start_ms,
	    .credit = o->credit,
	    .head_bytes = o->head_bytes != 0 ? o->head_bytes : 20000,
	    .tail_bytes = o->tail_bytes != 0 ? o->tail_bytes : 200000,
	    .blob_at = sizeof(struct ctl_start),
	    .oom_score_adj = 1000,
	    .pty_eof = o->pty_eof,
	    .cols = o->cols,
	    .rows = o->rows};
	at = put(b.blob, at, o->cwd != NULL ? o->cwd : "/");
	if (o->sh != NULL) {
		for (i = 0; i < 2; i++)
			at = put(b.blob, at, sh[i]);
		at = put(b.blob, at, o->sh);
		b.m.argc = 3;
	}
	for (i = 0; o->sh == NULL && o->argv[i] != NULL; i++, b.m.argc++)
		at = put(b.blob, at, o->argv[i]);
	at = put(b.blob, at, "PATH=/usr/bin:/bin");
	at = put(b.blob, at, o->path != NULL ? o->path : "/bin/sh");
	if (o->text != NULL) {
		fd = spool_open_append(p->dirfd, s->sid);
		cr_assert_eq(spool_append(fd, 0, o->text, strlen(o->text)), 0);
		close(fd);
		s->spool_end = b.m.stdin_end = strlen(o->text);
		b.m.stdin_eof = 1;
	}
	b.m.blob_bytes = (uint32_t)at;
	b.m.head.size += (uint32_t)at;
	if (o->earlier) {
		b.m.head.version = CTL_READER;
		b.m.head.size = (uint32_t)(CTL_START_MIN + at);
		b.m.blob_at = CTL_START_MIN;
		memmove((char *)&b + CTL_START_MIN, b.blob, at);
	}
	cr_assert_eq(ctl_send(p->master_fd, &b, b.m.head.size, NULL, 0), 0);
	return s;
}

void
puppet_kill(struct puppet *p, struct psession *s, int sig, uint32_t grace_ms,
    unsigned reason, unsigned flags)
{
	struct ctl_kill m = {
	    .head = CTL_INIT(CTL_KILL, s->sid, struct ctl_kill),
	    .signal = sig,
	    .grace_ms = grace_ms,
	    .reason = reason,
	    .flags = flags};

	cr_assert_eq(ctl_send(p->master_fd, &m, sizeof(m), NULL, 0), 0);
}

void
puppet_pos(struct puppet *p, struct psession *s, unsigned type, uint64_t pos)
{
	struct ctl_pos m = {
	    .head = CTL_INIT((uint16_t)type, s->sid, struct ctl_pos),
	    .pos = pos};

	cr_assert_eq(ctl_send(p->master_fd, &m, sizeof(m), NULL, 0), 0);
}

void
puppet_stdin(struct puppet *p, struct psession *s, uint64_t end, bool eof)
{
	struct ctl_stdin m = {
	    .head = CTL_INIT(CTL_STDIN, s->sid, struct ctl_stdin),
	    .pos = end,
	    .eof = eof};

	cr_assert_eq(ctl_send(p->master_fd, &m, sizeof(m), NULL, 0), 0);
}

void
puppet_look_input(struct puppet *p, struct psession *s)
{
	struct ctl_head m = CTL_INIT(CTL_LOOK_INPUT, s->sid, struct ctl_head);

	s->input_told = false;
	cr_assert_eq(ctl_send(p->master_fd, &m, sizeof(m), NULL, 0), 0);
}

void
puppet_resize(struct puppet *p, struct psession *s, uint16_t cols,
    uint16_t rows)
{
	struct ctl_size m = {
	    .head = CTL_INIT(CTL_RESIZE, s->sid, struct ctl_size),
	    .cols = cols,
	    .rows = rows};

	cr_assert_eq(ctl_send(p->master_fd, &m, sizeof(m), NULL, 0), 0);
}

void
puppet_write(struct puppet *p, struct psession *s, const char *data,
    size_t size)
{
	int fd = spool_open_append(p->dirfd, s->sid);

	cr_assert_geq(fd, 0);
	cr_assert_eq(spool_append(fd, s->spool_end, data, size), 0);
	close(fd);
	s->spool_end += size;
	puppet_stdin(p, s, s->spool_end, false);
}

const char *
puppet_output(struct puppet *p, struct psession *s)
{
	static char text[65536];
	struct ring_reader r;
	enum ring_verdict verdict;
	uint64_t pos = 0, dropped;
	size_t at = 0;
	ssize_t n;

	cr_assert_eq(ring_reader_open(p->dirfd, s->sid, &r), 0);
	while ((n = ring_read(&r, &pos, text + at, sizeof(text) - 1 - at,
	            &dropped, &verdict)) > 0) {
		at += (size_t)n;
		pos += (uint64_t)n;
	}
	cr_assert_eq(n, 0);
	ring_reader_close(&r);
	text[at] = '\0';
	return text;
}

const struct ring_header *
puppet_header(struct puppet *p, struct psession *s)
{
	struct ring_reader r;
	static struct ring_facts facts;

	cr_assert_eq(ring_reader_open(p->dirfd, s->sid, &r), 0);
	cr_assert_eq(ring_facts(&r, &facts), RING_OK);
	ring_reader_close(&r);
	return &facts.raw;
}

const struct stats_page *
puppet_stats(const struct puppet *p)
{
	const char *pages = (const char *)p->stats;

	return (const void *)(pages + STATS_PAGE_OF_WORKER(0) * SHM_PAGE);
}

int
puppet_worker_fds(struct puppet *p)
{
	char path[64];
	struct dirent *d;
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)p->worker);
	dir = opendir(path);
	if (dir == NULL)
		return -1; /* not dumpable and we are not root */
	while ((d = readdir(dir)) != NULL)
		n += d->d_name[0] != '.';
	closedir(dir);
	return n;
}
