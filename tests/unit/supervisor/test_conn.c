/* SPDX-License-Identifier: MIT */
/* Connections where memory runs out: one is closed, the next one is served. */
#include <criterion/criterion.h>
#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "shm/stats.h"
#include "supervisor/api/conn.h"

static int until_failure; /* allocations that still succeed; -1: all */

/* An allocation that fails when its turn has come. */
static void *
sparse(void *old, size_t size)
{
	if (until_failure == 0)
		return NULL;
	if (until_failure > 0)
		until_failure--;
	return realloc(old, size);
}

static void *
sparse_malloc(size_t size)
{
	return sparse(NULL, size);
}

/* A master that has nothing but a listener. */
static struct master *
listening(struct sockaddr_un *ret)
{
	struct master *m = calloc(1, sizeof(*m));
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	cr_assert_not_null(m);
	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX; /* an abstract name, chosen by the kernel */
	cr_assert_eq(bind(fd, (struct sockaddr *)ret, sizeof(sa_family_t)), 0);
	cr_assert_eq(listen(fd, 16), 0);
	cr_assert_eq(dup2(fd, HERITAGE_FD_LISTENER), HERITAGE_FD_LISTENER);
	if (fd != HERITAGE_FD_LISTENER)
		close(fd);
	m->stats = calloc(1, sizeof(*m->stats));
	m->nofile = 1024;
	m->base = event_base_new();
	m->running = true;
	m->cfg.client_memory = 1u << 30;
	rooms_init(m);
	rooms_configure(m);
	cr_assert(m->stats != NULL && m->base != NULL);
	cr_assert_eq(conn_listen(m), 0);
	return m;
}

/* Connects, lets the master take it, and says whether it was kept. */
static bool
is_served(struct master *m)
{
	struct sockaddr_un to;
	socklen_t len = sizeof(to);
	struct pollfd p = {.fd = socket(AF_UNIX, SOCK_STREAM, 0),
	    .events = POLLIN};
	bool kept;

	cr_assert_eq(getsockname(HERITAGE_FD_LISTENER,
	                 (struct sockaddr *)&to, &len),
	    0);
	cr_assert_eq(connect(p.fd, (struct sockaddr *)&to, len), 0);
	event_base_loop(m->base, EVLOOP_NONBLOCK);
	kept = poll(&p, 1, 0) == 0;
	close(p.fd);
	return kept;
}

static void
done(struct master *m)
{
	conn_close_all(m);
	rooms_fini(m);
	event_base_free(m->base);
	free(m->stats);
	free(m);
}

Test(conn, is_closed_where_memory_runs_out, .timeout = 20)
{
	struct sockaddr_un sa;
	struct master *m;
	int refused = 0;

	until_failure = -1;
	event_set_mem_functions(sparse_malloc, sparse, free);
	m = listening(&sa);
	for (int n = 0; n < 16; n++) {
		until_failure = n;
		refused += !is_served(m);
		until_failure = -1;
		cr_assert(is_served(m), "after failure %d", n);
	}
	cr_expect_geq(refused, 5, "only %d allocations failed", refused);
	done(m);
}

/* A connection whose client takes everything at once: a file. */
static struct conn *
that_takes_all(struct master *m, const struct sockaddr_un *sa)
{
	struct sockaddr_un to = *sa;
	socklen_t len = sizeof(to);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	int file = memfd_create("client", MFD_CLOEXEC);
	struct conn *c;

	cr_assert_eq(getsockname(HERITAGE_FD_LISTENER,
	                 (struct sockaddr *)&to, &len),
	    0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&to, len), 0);
	event_base_loop(m->base, EVLOOP_NONBLOCK);
	c = TAILQ_LAST(&m->conns->all, conn_all);
	cr_assert_not_null(c);
	event_del(c->ev_read);
	cr_assert_eq(dup2(file, c->fd), c->fd);
	close(file);
	close(fd);
	return c;
}

static off_t
taken(const struct conn *c)
{
	struct stat st;

	cr_assert_eq(fstat(c->fd, &st), 0);
	return st.st_size;
}

/* However much a client takes: 256 KiB, and then it is another's turn. */
Test(conn, sends_a_piece_at_a_time, .timeout = 20)
{
	struct sockaddr_un sa;
	struct master *m = listening(&sa);
	struct conn *c = that_takes_all(m, &sa);
	struct enc e = ENC_INIT;
	char *long_text = calloc(1, 1u << 20);

	enc_strn(&e, long_text, 1u << 20);
	conn_answer(c, 1, &e);
	cr_expect_eq(taken(c), 0);
	conn_turn_end(m, true);
	cr_expect_eq(taken(c), 262144);
	cr_assert(turn_waits(m));
	cr_assert(conn_unit(c, 0));
	cr_expect_eq(taken(c), 2 * 262144);
	for (int i = 0; i < 1000 && turn_waits(m); i++)
		turn_run(m);
	cr_expect_eq(taken(c), (1 << 20) + 5 + 8);
	enc_fini(&e);
	free(long_text);
	done(m);
}
