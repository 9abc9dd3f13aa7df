/* SPDX-License-Identifier: MIT */
/* Messages between keeper, master and worker, over a socket, with
 * descriptors; a START goes on into the worker's plan. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "worker/start_plan.h"

/* A START as a worker takes it. */
static void
plan(const struct ctl_msg *msg)
{
	struct start_plan *p = calloc(1, sizeof(*p));

	EXPECT(p != NULL);
	for (size_t i = 0; i < 3; i++)
		p->child_end[i] = -1;
	p->box_fd = -1;
	if (start_plan_make(p, msg) == 0) {
		EXPECT(p->cwd[0] == '/' && p->search.tries[0].path[0] == '/');
		EXPECT(p->argv[0] != NULL);
	}
	start_plan_free(p);
}

/* A START that is whole but for its counts and strings, whatever the struct
 * looks like in this build. */
static void
send_start(int fd, const uint8_t **data, size_t *size)
{
	static char buf[sizeof(struct ctl_start) + 4096];
	const struct sid sid = {1};
	struct ctl_start o = {
		.head = CTL_INIT(CTL_START, sid, struct ctl_start)};
	size_t len;
	char *blob;

	o.argc = take_byte(data, size);
	o.envc = take_byte(data, size);
	o.path_count = take_byte(data, size);
	o.shell_argc = take_byte(data, size);
	o.tail_bytes = 4096;
	o.blob_at = sizeof(o);
	blob = take_text(data, size, 4096, &len);
	o.flags = take_byte(data, size) &
	    (CTL_START_SHELL | CTL_START_DIRECT);
	o.blob_bytes = (uint32_t)len;
	o.head.size = (uint32_t)(sizeof(o) + len);
	memcpy(buf, &o, sizeof(o));
	memcpy(buf + sizeof(o), blob, len);
	EXPECT(ctl_send(fd, buf, sizeof(o) + len, NULL, 0) == 0);
	free(blob);
}

/* Sends what the input says, as it is or with a head that fits. */
static void
send_one(int fd, const uint8_t **data, size_t *size)
{
	unsigned flags = take_byte(data, size), nfds = flags / 2 % 12;
	int fds[12];
	size_t len;
	char *bytes = take_text(data, size, 4096, &len);
	struct iovec iov = {.iov_base = bytes, .iov_len = len};

	for (size_t i = 0; i < nfds; i++)
		fds[i] = fd;
	if (len >= sizeof(struct ctl_head)) {
		struct ctl_head head;

		memcpy(&head, bytes, sizeof(head));
		if (flags % 2 == 0) {
			head.version = CTL_VERSION;
			head.reader = CTL_READER;
			head.size = (uint32_t)len;
		}
		memcpy(bytes, &head, sizeof(head));
		(void)ctl_send(fd, bytes, len, fds, nfds);
	} else {
		struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};

		(void)sendmsg(fd, &mh, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	free(bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ctl_msg msg;
	int sv[2], rc, probe;

	EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) == 0);
	while (size > 0) {
		if (data[0] == 's') {
			(void)take_byte(&data, &size);
			send_start(sv[0], &data, &size);
		} else {
			send_one(sv[0], &data, &size);
		}
		rc = ctl_recv(sv[1], &msg);
		EXPECT(rc == 1 || rc == 0 || rc == -EPROTO || rc == -EAGAIN);
		if (rc != 1)
			continue;
		EXPECT(msg.head.size == msg.size && msg.nfds <= 8);
		EXPECT(strcmp(ctl_type_name(msg.head.type), "?") != 0);
		if (msg.head.type == CTL_START)
			plan(&msg);
		for (size_t i = 0; i < msg.nfds; i++)
			close(msg.fds[i]);
	}
	close(sv[0]);
	close(sv[1]);
	probe = dup(STDERR_FILENO); /* nothing was left open */
	EXPECT(probe < 0 || probe == sv[0]);
	close(probe);
	return 0;
}
