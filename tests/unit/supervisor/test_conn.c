/* SPDX-License-Identifier: MIT */
/* Connections where memory runs out: one is closed, the next one is served. */
#include <criterion/criterion.h>
#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "shm/stats.h"
#include "supervisor/master.h"

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
	conn_close_all(m);
	event_base_free(m->base);
	free(m->stats);
	free(m);
}
