/* SPDX-License-Identifier: MIT */
/*
 * The channels between master and workers: the keeper makes one for each pair of
 * incarnations that are both ready; send.c hands its ends out.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "supervisor/keeper/state.h"

#define RETRY_NS (100 * NSEC_PER_MSEC)

void
links_close(struct proc *w)
{
	if (w->peer_fd >= 0)
		(void)close(w->peer_fd);
	if (w->master_fd >= 0)
		(void)close(w->master_fd);
	w->peer_fd = w->master_fd = -1;
	w->linked = 0;
}

/* Makes the channel of a pair of incarnations that are both ready. */
static void
link_peer(struct keeper *k, struct proc *w)
{
	int pair[2];

	if (w->state != PROC_READY || k->master.state != PROC_READY ||
	    w->linked == k->master.wid.generation)
		return;
	links_close(w);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
		0, pair) < 0) {
		log_event(LOG_ERROR, "channel-not-made", KV_PROC(w),
		    KV("error", strerror(errno)));
		k->retry_ns = clock_boot_ns() + RETRY_NS;
		return;
	}
	launch_buffers(pair[0]);
	launch_buffers(pair[1]);
	w->master_fd = pair[0];
	w->peer_fd = pair[1];
	w->linked = k->master.wid.generation;
}

void
links_again(struct keeper *k, struct proc *w)
{
	log_event(LOG_WARN, "channel-made-again", KV_PROC(w));
	w->linked = 0;
	link_peer(k, w);
}

void
links_make(struct keeper *k)
{
	uint32_t i;

	for (i = 0; i < k->slots; i++)
		link_peer(k, &k->slot[i]);
}
