/* SPDX-License-Identifier: MIT */
/* What master and workers may say to the keeper, in any order and with any
 * contents: its table stays whole, and no descriptor stays open. */
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/log.h"
#include "fuzz.h"
#include "supervisor/keeper/state.h"

#define WORKERS 2

static struct keeper_options opt;
static struct stats_page pages[STATS_PAGE_OF_WORKER(WORKERS)];

/* A process that is there, and the test's end of its channel. */
static int
appear(struct keeper *k, struct proc *p, enum heritage_role role,
    uint32_t slot)
{
	int sv[2], one = 1;

	EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0, sv) == 0);
	EXPECT(setsockopt(sv[0], SOL_SOCKET, SO_PASSCRED, &one,
	    sizeof(one)) == 0);
	*p = (struct proc){.role = role, .wid = {slot, 1},
		.state = PROC_STARTING, .pid = 1000000 + (int32_t)slot,
		.pidfd = -1, .chan = sv[0], .peer_fd = -1, .master_fd = -1,
		.page = &pages[role == HERITAGE_MASTER ? 1 :
		    STATS_PAGE_OF_WORKER(slot)]};
	EXPECT(keeper_epoll_add(k, p->chan, p, EV_CHAN) == 0);
	return sv[1];
}

/* One message: a head that fits and what the input has for the rest. */
static void
say(int fd, const uint8_t **data, size_t *size)
{
	static const unsigned types[] = {CTL_READY, CTL_HOLD, CTL_SPAWNED,
		CTL_ASK_EXIT, CTL_DROP, CTL_CLOSED, CTL_SHUTDOWN, CTL_ASK_PEER,
		CTL_RUNNING, CTL_LOG};
	unsigned type = take_byte(data, size), nfds = take_byte(data, size) % 6;
	struct sid sid = {take_byte(data, size) % 4};
	struct ctl_head head = CTL_INIT(CTL_READY, sid, struct ctl_head);
	int fds[6] = {fd, fd, fd, fd, fd, fd};
	char bytes[sizeof(head) + 64], *rest;
	size_t len;

	head.type = (uint16_t)types[type % (sizeof(types) / sizeof(types[0]))];
	rest = take_text(data, size, 64, &len);
	head.size = (uint32_t)(sizeof(head) + len);
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), rest, len);
	free(rest);
	(void)ctl_send(fd, bytes, sizeof(head) + len, fds, nfds);
}

/* Every row is in the hands of one slot, and no pid is in two. */
static void
table_is_whole(const struct keeper *k)
{
	uint32_t used = 0, owned = 0;
	const struct row *r;

	for (uint32_t i = 0; i < table_high(k->table); i++) {
		r = table_at(k->table, i);
		if (r == NULL)
			continue;
		used++;
		EXPECT(r->owner < WORKERS && r->sid.v != 0);
		EXPECT(table_find(k->table, r->sid) == r);
		EXPECT(r->pid == 0 || table_find_pid(k->table, r->pid) == r);
	}
	for (uint32_t i = 0; i < WORKERS; i++)
		owned += table_owned(k->table, i);
	EXPECT(used == table_count(k->table) && owned == used);
	EXPECT(used <= k->max_sessions);
}

/* Everything is let go. */
static void
end(struct keeper *k, const int *far)
{
	struct proc *all[] = {&k->master, &k->slot[0], &k->slot[1]};
	struct row *r;

	for (uint32_t i = 0; i < table_high(k->table); i++) {
		r = table_at(k->table, i);
		if (r != NULL)
			reap_forget(k, r);
	}
	EXPECT(table_count(k->table) == 0);
	table_free(k->table);
	for (size_t i = 0; i < 3; i++) {
		close(far[i]);
		close(all[i]->chan);
		if (all[i]->peer_fd >= 0)
			close(all[i]->peer_fd);
		if (all[i]->master_fd >= 0)
			close(all[i]->master_fd);
	}
	close(k->epoll);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct keeper k;
	int far[3], lowest = dup(STDERR_FILENO), probe;
	struct proc *p;

	log_open("fuzz", -1, LOG_ERROR);
	close(lowest);
	memset(pages, 0, sizeof(pages));
	opt.ready_fd = opt.newline_fd = -1;
	k = (struct keeper){.opt = &opt, .stats = pages, .workers = 1,
		.slots = WORKERS, .max_sessions = 3, .retry_ns = NEVER};
	k.table = table_new(k.max_sessions);
	k.epoll = epoll_create1(EPOLL_CLOEXEC);
	EXPECT(k.table != NULL && k.epoll >= 0);
	far[0] = appear(&k, &k.master, HERITAGE_MASTER, 0);
	far[1] = appear(&k, &k.slot[0], HERITAGE_WORKER, 0);
	far[2] = appear(&k, &k.slot[1], HERITAGE_STANDBY, 1);
	while (size > 0) {
		unsigned who = take_byte(&data, &size) % 4;

		p = who == 0 ? &k.master : &k.slot[who % WORKERS];
		say(far[who == 0 ? 0 : 1 + who % WORKERS], &data, &size);
		(void)recv_from(&k, p);
		if (who == 3)
			send_all(&k);
		table_is_whole(&k);
	}
	end(&k, far);
	probe = dup(STDERR_FILENO); /* nothing was left open */
	EXPECT(probe == lowest);
	close(probe);
	return 0;
}
