/* SPDX-License-Identifier: MIT */
/* Messages between the processes: forms, descriptors, dead peers. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/ctl.h"

static int pair[2];
static struct ctl_msg msg;

static void
init(void)
{
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
	    pair), 0);
}

static void
fini(void)
{
	close(pair[0]);
	close(pair[1]);
}

/* How many descriptors are open. */
static int
count_fds(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

TestSuite(ctl, .init = init, .fini = fini, .timeout = 20);

Test(ctl, a_message_arrives)
{
	struct ctl_kill kill = { .head = CTL_INIT(CTL_KILL,
	    ((struct sid){ 77 }), struct ctl_kill), .signal = 15,
	    .grace_ms = 5000 };

	cr_assert_eq(ctl_recv(pair[1], &msg), -EAGAIN);
	cr_assert_eq(ctl_send(pair[0], &kill, sizeof(kill), NULL, 0), 0);
	cr_assert_eq(ctl_recv(pair[1], &msg), 1);
	cr_assert_eq(msg.size, sizeof(kill));
	cr_assert_eq(memcmp(msg.bytes, &kill, sizeof(kill)), 0);
	cr_assert_eq(msg.nfds, 0);
	cr_assert_eq(msg.pid, 0);
	cr_assert_str_eq(ctl_type_name(msg.head.type), "KILL");
	cr_assert_str_eq(ctl_type_name(9999), "?");
}

Test(ctl, phases_of_an_upgrade_have_names)
{
	unsigned i;

	for (i = 0; i < CTL_UPGRADE_PHASES; i++)
		cr_assert_neq(ctl_upgrade_phase_name(i), NULL, "%u", i);
	cr_assert_str_eq(ctl_upgrade_phase_name(CTL_UPGRADE_NONE), "none");
	cr_assert_str_eq(ctl_upgrade_phase_name(CTL_UPGRADE_UNDONE), "undone");
	cr_assert_str_eq(ctl_upgrade_phase_name(CTL_UPGRADE_PHASES), "?");
}

Test(ctl, descriptors_travel_close_on_exec)
{
	struct ctl_fds hold = { .head = CTL_INIT(CTL_HOLD,
	    ((struct sid){ 1 }), struct ctl_fds), .mask = 3 };
	int pipes[2], one = 1;
	char c = 0;

	cr_assert_eq(pipe(pipes), 0);
	cr_assert_eq(setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &one,
	    sizeof(one)), 0);
	cr_assert_eq(ctl_send(pair[0], &hold, sizeof(hold), pipes, 2), 0);
	cr_assert_eq(ctl_recv(pair[1], &msg), 1);
	cr_assert_eq(msg.nfds, 2);
	cr_assert_eq(msg.pid, getpid());
	cr_assert_eq(fcntl(msg.fds[0], F_GETFD), FD_CLOEXEC);
	cr_assert_eq(write(msg.fds[1], "x", 1), 1);
	cr_assert_eq(read(pipes[0], &c, 1), 1);
	cr_assert_eq(c, 'x');
	close(msg.fds[0]);
	close(msg.fds[1]);
	close(pipes[0]);
	close(pipes[1]);
}

Test(ctl, refuses_bad_forms)
{
	struct ctl_pos pos = { .head = CTL_INIT(CTL_CREDIT,
	    ((struct sid){ 1 }), struct ctl_pos) };
	struct ctl_pos bad[5];
	size_t sizes[5], i;
	int before, null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	cr_assert_geq(null, 0);
	for (i = 0; i < NELEMS(bad); i++) {
		bad[i] = pos;
		sizes[i] = sizeof(pos);
	}
	bad[0].head.version = CTL_VERSION + 1;
	bad[0].head.reader = CTL_VERSION + 1;
	bad[1].head.type = 31;
	bad[2].head.size = sizeof(pos) - 1;
	bad[3].head.size = sizeof(struct ctl_head); /* right, but too short */
	sizes[3] = sizeof(struct ctl_head);
	bad[4].head.type = CTL_ENDED; /* too long */
	before = count_fds();
	for (i = 0; i < NELEMS(bad); i++) {
		cr_assert_eq(ctl_send(pair[0], &bad[i], sizes[i], &null, 1),
		    0);
		cr_assert_eq(ctl_recv(pair[1], &msg), -EPROTO, "%zu", i);
	}
	/* a descriptor that the type does not carry */
	cr_assert_eq(ctl_send(pair[0], &pos, sizeof(pos), &null, 1), 0);
	cr_assert_eq(ctl_recv(pair[1], &msg), -EPROTO);
	cr_assert_eq(send(pair[0], "x", 1, 0), 1);
	cr_assert_eq(ctl_recv(pair[1], &msg), -EPROTO);
	cr_assert_eq(count_fds(), before);
	close(null);
}

/* While one build takes over from another. */
Test(ctl, a_newer_builds_message_is_cut_to_ours)
{
	struct {
		struct ctl_pos pos;
		char more[24];
	} newer = { .pos = { .head = CTL_INIT(CTL_CREDIT,
		((struct sid){ 1 }), struct ctl_pos), .pos = 17 } };

	newer.pos.head.version = CTL_VERSION + 1;
	newer.pos.head.reader = CTL_READER;
	newer.pos.head.size = sizeof(newer);
	cr_assert_eq(send(pair[0], &newer, sizeof(newer), 0),
	    (ssize_t)sizeof(newer));
	cr_assert_eq(ctl_recv(pair[1], &msg), 1);
	cr_assert_eq(msg.size, sizeof(struct ctl_pos));
	cr_assert_eq(msg.head.size, sizeof(struct ctl_pos));
	cr_assert_eq(((const struct ctl_pos *)(const void *)msg.bytes)->pos,
	    17);
	newer.pos.head.reader = CTL_VERSION + 1; /* not for us */
	cr_assert_eq(send(pair[0], &newer, sizeof(newer), 0),
	    (ssize_t)sizeof(newer));
	cr_assert_eq(ctl_recv(pair[1], &msg), -EPROTO);
	newer.pos.head.reader = CTL_READER; /* newer, but shorter */
	newer.pos.head.size = sizeof(newer.pos) - 8;
	cr_assert_eq(send(pair[0], &newer, sizeof(newer.pos) - 8, 0),
	    (ssize_t)sizeof(newer.pos) - 8);
	cr_assert_eq(ctl_recv(pair[1], &msg), -EPROTO);
}

Test(ctl, says_when_descriptors_were_lost)
{
	struct ctl_fds hold = { .head = CTL_INIT(CTL_HOLD,
	    ((struct sid){ 1 }), struct ctl_fds), .mask = 7 };
	struct rlimit saved, low;
	int fds[3], i, before, error;

	for (i = 0; i < 3; i++) {
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		cr_assert_geq(fds[i], 0);
	}
	before = count_fds();
	cr_assert_eq(ctl_send(pair[0], &hold, sizeof(hold), fds, 3), 0);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &saved), 0);
	low = saved;
	low.rlim_cur = (rlim_t)fds[2] + 2; /* room for one */
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	error = ctl_recv(pair[1], &msg);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &saved), 0);
	cr_assert_eq(error, -EMFILE);
	cr_assert_eq(count_fds(), before);
	for (i = 0; i < 3; i++)
		close(fds[i]);
}

Test(ctl, a_full_channel_does_not_block)
{
	struct ctl_head head = CTL_INIT(CTL_READY, ((struct sid){ 0 }),
	    struct ctl_head);
	int n = 0, error;

	while ((error = ctl_send(pair[0], &head, sizeof(head), NULL, 0)) == 0)
		n++;
	cr_assert_eq(error, -EAGAIN);
	while (n-- > 0)
		cr_assert_eq(ctl_recv(pair[1], &msg), 1);
	cr_assert_eq(ctl_recv(pair[1], &msg), -EAGAIN);
}

Test(ctl, what_a_dead_peer_said_is_read_to_the_end)
{
	struct ctl_head head = CTL_INIT(CTL_READY, ((struct sid){ 5 }),
	    struct ctl_head);

	/* it dies with a message unread: that is a reset for us */
	cr_assert_eq(ctl_send(pair[1], &head, sizeof(head), NULL, 0), 0);
	cr_assert_eq(ctl_send(pair[0], &head, sizeof(head), NULL, 0), 0);
	close(pair[0]);
	cr_assert_eq(ctl_recv(pair[1], &msg), 1);
	cr_assert_eq(msg.head.sid.v, 5);
	cr_assert_eq(ctl_recv(pair[1], &msg), 0);
	cr_assert_eq(ctl_recv(pair[1], &msg), 0);
	cr_assert_eq(ctl_send(pair[1], &head, sizeof(head), NULL, 0), -EPIPE);
	pair[0] = -1;
}

Test(ctl, start_carries_its_blob)
{
	static union {
		struct ctl_start start;
		char bytes[CTL_MAX_BYTES];
	} big = { .start = { .head = { .version = CTL_VERSION,
	    .reader = CTL_READER, .type = CTL_START, .size = CTL_MAX_BYTES, .sid = { 3 } } } };

	big.bytes[CTL_MAX_BYTES - 1] = 'z';
	cr_assert_eq(ctl_send(pair[0], &big, sizeof(big), NULL, 0), 0);
	cr_assert_eq(ctl_recv(pair[1], &msg), 1);
	cr_assert_eq(msg.size, CTL_MAX_BYTES);
	cr_assert_eq(msg.bytes[CTL_MAX_BYTES - 1], 'z');
}
