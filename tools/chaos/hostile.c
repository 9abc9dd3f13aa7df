/* SPDX-License-Identifier: MIT */
/*
 * Clients that do nothing but what they may, as much of it as they can
 * (reliability: nobody stops the others). Each kind is a process of its own
 * with a scope of its own; what they are refused is right. Whether anybody else
 * notices is for the stories and the witness to say.
 */
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define CROWD_MAX 128

const struct hostile hostile_kinds[] = {
    {"paths", hostile_paths},           /* on dead mounts */
    {"lease", hostile_lease},           /* a program whose exec waits */
    {"requests", hostile_requests},     /* 100 connections, 60 logs each */
    {"starts", hostile_starts},         /* 64 execs under way */
    {"unread", hostile_unread},         /* answers that nobody reads */
    {"unfinished", hostile_unfinished}, /* requests without an end */
    {"waits", hostile_waits},           /* of many sessions, by regex */
    {"connections", hostile_connections},
    {"guests", hostile_guests},         /* connections that say nothing */
    {"sessions", hostile_sessions},     /* that sleep */
    {"queue", hostile_queue},           /* long specs that wait in a lane */
    {"output", hostile_output},         /* that is kept and never read */
    {"scribble", hostile_scribble},     /* on the shared files */
};
const size_t hostile_kind_count =
    sizeof(hostile_kinds) / sizeof(hostile_kinds[0]);

static pid_t pids[sizeof(hostile_kinds) / sizeof(hostile_kinds[0])];
/* The file systems' ends; closing one lets go whoever waits for it. */
static int dead_fd = -1, silent_fd = -1;
static pid_t silent_reader;
static unsigned wanted; /* a bit of each kind */

/* ---------------------------------------------------------------- helpers */

psup *
hostile_connect(const struct hostile *h)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	char scope[48];
	psup *p;

	if (psup_new(&p) != PSUP_OK)
		exit(1);
	snprintf(scope, sizeof(scope), "hostile-%s", h->word);
	o.runtime_dir = chaos.dir;
	o.client = scope;
	o.scope = scope;
	while (psup_connect(p, &o) != PSUP_OK)
		nap_ms(20);
	return p;
}

void
hostile_again(const struct hostile *h, psup **p)
{
	if (psup_is_connected(*p))
		return;
	psup_free(p);
	*p = hostile_connect(h);
}

psup_args *
hostile_exec(const char *command)
{
	psup_args *a = psup_args_new();

	psup_args_str(a, "command", command);
	psup_args_str(a, "workdir", "/");
	psup_args_str(a, "stdin", "closed");
	psup_args_bool(a, "background", true);
	return a;
}

bool
hostile_start(psup *p, psup_args *a, char ret_id[ID_BYTES])
{
	psup_reply *r = NULL;
	bool ok = psup_call(p, "exec", a, PATIENCE_MS, &r) == PSUP_OK &&
	    !psup_reply_is_error(r);

	if (ok && ret_id != NULL)
		psup_get_copy(psup_reply_details(r), "sessionId", ret_id,
		    ID_BYTES);
	psup_reply_free(&r);
	psup_args_free(&a);
	return ok;
}

int
hostile_socket(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%.90s/sock", chaos.dir);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* ------------------------------------------------------------------ crowds */

void
crowd_init(struct crowd *c, const struct hostile *h, size_t n)
{
	if (n > CROWD_MAX)
		exit(1);
	*c = (struct crowd){.who = h, .n = n,
	    .p = calloc(n, sizeof(*c->p)),
	    .under_way = calloc(n, sizeof(*c->under_way))};
	if (c->p == NULL || c->under_way == NULL)
		exit(1);
}

static void
on_answer(void *arg, int, psup_reply *r)
{
	int *under_way = arg;

	--*under_way;
	psup_reply_free(&r);
}

void
crowd_send(struct crowd *c, size_t i, const char *method, psup_args *a)
{
	if (c->p[i] != NULL && psup_send(c->p[i], method, a, on_answer,
	        &c->under_way[i], NULL) == PSUP_OK)
		c->under_way[i]++;
	psup_args_free(&a);
}

void
crowd_turn(struct crowd *c, int wait_ms)
{
	struct pollfd fds[CROWD_MAX];

	for (size_t i = 0; i < c->n; i++) {
		if (c->p[i] != NULL && !psup_is_connected(c->p[i]))
			psup_free(&c->p[i]);
		if (c->p[i] == NULL) {
			c->p[i] = hostile_connect(c->who);
			c->under_way[i] = 0;
		}
		fds[i] = (struct pollfd){.fd = psup_fd(c->p[i]),
		    .events = psup_fd_events(c->p[i])};
	}
	if (poll(fds, c->n, wait_ms) <= 0)
		return;
	for (size_t i = 0; i < c->n; i++)
		if (fds[i].revents != 0)
			(void)psup_dispatch(c->p[i]);
}

/* ---------------------------------------------------------- file systems */

/* Mounts a FUSE file system whose only request that is answered is the first;
 * the one's others are read by nobody, the other's by somebody who is silent. */
static int
mount_dead(const char *name)
{
	char at[128], how[96], in[8192], out[80] = {0};
	uint32_t head[2] = {sizeof(out), 0};
	uint32_t init[12] = {7, 31, 0, 0, 0, 4096, 1};
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	snprintf(at, sizeof(at), "%s/%s", chaos.work, name);
	snprintf(how, sizeof(how), "fd=%d,rootmode=40000,user_id=0,group_id=0",
	    fd);
	if (fd < 0 || mkdir(at, 0700) < 0 ||
	    mount("psup-chaos", at, "fuse", 0, how) < 0) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	if (read(fd, in, sizeof(in)) < 0)
		die("%s: %s", at, strerror(errno));
	memcpy(out, head, sizeof(head));
	memcpy(out + 8, in + 8, 8); /* which request it answers */
	memcpy(out + 16, init, sizeof(init));
	if (write(fd, out, sizeof(out)) != sizeof(out))
		die("%s: %s", at, strerror(errno));
	return fd;
}

/* Takes requests and answers none: who waits for one cannot even be killed. */
static void __attribute__((noreturn))
read_and_be_silent(int fd)
{
	static char in[1 << 18];

	while (read(fd, in, sizeof(in)) >= 0 || errno == EINTR ||
	       errno == ENOENT)
		;
	_exit(0);
}

/* Of what --hostile says: those that are kinds, a bit each. False: one is none. */
static bool
kinds_of(const char *words, unsigned *ret)
{
	size_t n, i;

	*ret = words != NULL && strcmp(words, "all") == 0 ? ~0u : 0;
	for (const char *at = words; *ret != ~0u && at != NULL && *at != '\0';
	     at += n + (at[n] == ',')) {
		n = strcspn(at, ",");
		for (i = 0; i < hostile_kind_count; i++)
			if (strlen(hostile_kinds[i].word) == n &&
			    strncmp(hostile_kinds[i].word, at, n) == 0)
				break;
		if (i == hostile_kind_count)
			return false;
		*ret |= 1u << i;
	}
	return *ret != 0;
}

bool
hostile_known(const char *words)
{
	unsigned kinds;

	return kinds_of(words, &kinds);
}

/* Mounts, where the server that starts next will see them: in a namespace of
 * our own, which ends with us. */
void
hostile_prepare(void)
{
	(void)kinds_of(chaos.o.hostile, &wanted);
	if (!(wanted & 1)) /* paths is the first of them */
		return;
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    (dead_fd = mount_dead(DEAD_DIR)) < 0 ||
	    (silent_fd = mount_dead(SILENT_DIR)) < 0) {
		fprintf(stderr, "psup-chaos: no dead mounts (%s): paths is "
		    "left out\n", strerror(errno));
		return;
	}
	silent_reader = fork_bound();
	if (silent_reader == 0)
		read_and_be_silent(silent_fd);
	close(silent_fd); /* it ends with its reader */
	silent_fd = -1;
}

static void
unmount(const char *name)
{
	char at[128];

	snprintf(at, sizeof(at), "%s/%s", chaos.work, name);
	umount2(at, MNT_DETACH);
	rmdir(at);
}

static void
forget_mounts(void)
{
	if (silent_reader > 0) {
		kill(silent_reader, SIGKILL);
		waitpid(silent_reader, NULL, 0);
	}
	if (dead_fd >= 0) {
		close(dead_fd);
		unmount(DEAD_DIR);
		unmount(SILENT_DIR);
	}
	silent_reader = 0;
	dead_fd = -1;
}

/* ------------------------------------------------------------- the campaign */

void
hostile_begin(void)
{
	for (size_t i = 0; i < hostile_kind_count; i++)
		if ((wanted & 1u << i) &&
		    (dead_fd >= 0 || hostile_kinds[i].run != hostile_paths))
			pids[i] = child_start("hostile", hostile_kinds[i].word);
}

/* Ends and forgets every session of a scope whose client is no more. */
static void
forget_scope(psup *p, const char *scope)
{
	psup_reply *r = NULL;
	psup_args *a = psup_args_new();

	psup_args_str(a, "scope", scope);
	psup_args_int(a, "graceMs", 0);
	ask(p, "killScope", a, &r);
	psup_reply_free(&r);
	remove_sessions(p, "scopeKey", scope);
}

void
hostile_end(void)
{
	psup *p;

	if (chaos.o.hostile == NULL)
		return;
	for (size_t i = 0; i < hostile_kind_count; i++) {
		if (pids[i] <= 0)
			continue;
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	forget_mounts();
	p = client_new();
	for (size_t i = 0; i < hostile_kind_count; i++) {
		char scope[48];

		if (pids[i] <= 0)
			continue;
		snprintf(scope, sizeof(scope), "hostile-%s",
		    hostile_kinds[i].word);
		forget_scope(p, scope);
	}
	forget_scope(p, WITNESS_SCOPE);
	psup_free(&p);
}

int
hostile_main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	snprintf(chaos.dir, sizeof(chaos.dir), "%s", argv[1]);
	snprintf(chaos.work, sizeof(chaos.work), "%s", argv[2]);
	for (size_t i = 0; i < hostile_kind_count; i++)
		if (strcmp(hostile_kinds[i].word, argv[0]) == 0)
			hostile_kinds[i].run(&hostile_kinds[i]);
	return 2;
}
