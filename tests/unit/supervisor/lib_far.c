/* SPDX-License-Identifier: MIT */
#include "lib_far.h"

#include <criterion/criterion.h>
#include <event2/event.h>
#include <sys/socket.h>

void
far_pair(int ret_ends[2])
{
	cr_assert_eq(socketpair(AF_UNIX,
	                 SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
	                 ret_ends),
	    0);
}

int
far_worker(struct master *m)
{
	int ends[2];

	far_pair(ends);
	m->base = event_base_new();
	TAILQ_INIT(&m->dirty);
	rooms_init(m);
	starts_init(m);
	pool_init(m);
	pool_on_peer(m, &(struct ctl_peer){.wid = {0, 1}, .pid = 1,
	    .role = HERITAGE_WORKER}, ends[0]);
	return ends[1];
}
