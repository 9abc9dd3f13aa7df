/* SPDX-License-Identifier: MIT */
/*
 * Messages between keeper, master and workers: one datagram each. Sending and
 * receiving allocate nothing and call nothing but sendmsg and recvmsg, so that
 * a command's child may send between clone and exec, and the keeper anywhere.
 * What a message means is the business of its receiver; here only its form is
 * checked: version, type, size, number of descriptors.
 */
#include "ctl.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "abi.h"
#include "check.h"
#include "fault.h"

/* What a type's message may look like. */
struct ctl_form {
	uint16_t type;
	uint16_t max_fds;
	uint32_t min_size;
	uint32_t max_size;
	const char *name;
};

#define FORM(name_, struct_, fds_)                                             \
	{                                                                      \
		CTL_##name_, (fds_), (uint32_t)sizeof(struct_),                \
		    (uint32_t)sizeof(struct_), #name_                          \
	}

/* In a test of upgrades the next build's structs are so much longer. */
#if defined(PSUP_LAYOUT_BUMP) && PSUP_LAYOUT_BUMP == 1
#define TAIL 8u
#else
#define TAIL 0u
#endif

#define SESSION_FDS 8 /* more than one session ever has */

static const struct ctl_form forms[] = {
	FORM(READY, struct ctl_head, 0),
	FORM(HOLD, struct ctl_fds, SESSION_FDS),
	FORM(SPAWNED, struct ctl_head, 0),
	FORM(ASK_EXIT, struct ctl_pid, 0),
	FORM(DROP, struct ctl_fds, 0),
	FORM(CLOSED, struct ctl_turn, 0),
	FORM(SHUTDOWN, struct ctl_shutdown, 0),
	FORM(ASK_PEER, struct ctl_role, 0),
	FORM(UPGRADE, struct ctl_upgrade, 0),
	FORM(LOG, struct ctl_log, 0),
	FORM(LEAVE, struct ctl_head, 0),
	FORM(UPGRADED, struct ctl_upgraded, 0),
	FORM(EXITED, struct ctl_exited, 0),
	FORM(GIVE, struct ctl_give, SESSION_FDS),
	FORM(ROLE, struct ctl_role, 0),
	FORM(STOP, struct ctl_shutdown, 0),
	FORM(HELD, struct ctl_held, 0),
	FORM(TABLE_END, struct ctl_head, 0),
	FORM(WORKER_DOWN, struct ctl_peer, 0),
	FORM(RELOAD, struct ctl_head, 0),
	FORM(STOPPING, struct ctl_shutdown, 0),
	FORM(PEER, struct ctl_peer, 1),
	{ CTL_START, 1, (uint32_t)CTL_START_MIN, CTL_MAX_BYTES,
	    "START" },
	FORM(STDIN, struct ctl_stdin, 0),
	FORM(KILL, struct ctl_kill, 0),
	FORM(CREDIT, struct ctl_pos, 0),
	FORM(WATCH, struct ctl_pos, 0),
	FORM(WATCH_STDIN, struct ctl_pos, 0),
	FORM(ENDED, struct ctl_ended, 0),
	FORM(RESIZE, struct ctl_size, 0),
	FORM(LOOK_INPUT, struct ctl_head, 0),
	FORM(RUNNING, struct ctl_running, 0),
	FORM(FAILED, struct ctl_failed, 0),
	FORM(OUTPUT, struct ctl_pos, 0),
	FORM(STDIN_AT, struct ctl_stdin, 0),
	FORM(END, struct ctl_end, 0),
	FORM(NO_SPACE, struct ctl_head, 0),
	FORM(LEFT, struct ctl_left, 0),
	FORM(DUMP_END, struct ctl_head, 0),
	FORM(INPUT, struct ctl_input, 0),
};

static const char *const phases[] = {
	[CTL_UPGRADE_NONE] = "none",
	[CTL_UPGRADE_PROGRAMS] = "programs",
	[CTL_UPGRADE_CHECK] = "check",
	[CTL_UPGRADE_WORKERS] = "workers",
	[CTL_UPGRADE_MASTER] = "master",
	[CTL_UPGRADE_KEEPER] = "keeper",
	[CTL_UPGRADE_BACK] = "back",
	[CTL_UPGRADE_DONE] = "done",
	[CTL_UPGRADE_REFUSED] = "refused",
	[CTL_UPGRADE_UNDONE] = "undone",
};

static_assert(NELEMS(phases) == CTL_UPGRADE_PHASES, "each phase has a name");

union control {
	struct cmsghdr align;
	unsigned char bytes[CMSG_SPACE(CTL_MAX_FDS * sizeof(int)) +
	    CMSG_SPACE(sizeof(struct ucred))];
};

/* The row of a type, or NULL. */
static const struct ctl_form *
form_find(unsigned type)
{
	size_t i;

	for (i = 0; i < NELEMS(forms); i++) {
		if (forms[i].type == type)
			return &forms[i];
	}
	return NULL;
}

const char *
ctl_type_name(unsigned type)
{
	const struct ctl_form *form = form_find(type);

	return form != NULL ? form->name : "?";
}

const char *
ctl_upgrade_phase_name(unsigned phase)
{
	return phase < NELEMS(phases) ? phases[phase] : "?";
}

/* Makes the message of iov[0] one of the next build: version, size, TAIL
 * behind the struct. Returns its size. */
static size_t
grow(struct msghdr *mh, struct ctl_start *ret)
{
	static const unsigned char tail[8] = "upgrade";
	struct iovec *iov = mh->msg_iov;
	char *rest = iov[0].iov_base;
	size_t size = iov[0].iov_len, first = size;

	memcpy(&ret->head, rest, sizeof(ret->head));
	if (ret->head.type == CTL_START && size >= sizeof(*ret)) {
		first = sizeof(*ret);
		memcpy(ret, rest, first);
		ret->blob_at += TAIL;
	} else if (size <= sizeof(*ret)) {
		memcpy(ret, rest, size);
	} else {
		first = sizeof(ret->head);
	}
	ret->head.version = (uint8_t)abi_table[ABI_CTL].version;
	ret->head.size += TAIL;
	iov[0] = (struct iovec){ .iov_base = ret, .iov_len = first };
	rest += first;
	if (ret->head.type == CTL_START) {
		iov[1] = (struct iovec){ .iov_len = TAIL };
		iov[2] = (struct iovec){ rest, size - first };
		memcpy(&iov[1].iov_base, &(const void *){ tail },
		    sizeof(void *));
	} else {
		iov[1] = (struct iovec){ rest, size - first };
		iov[2] = (struct iovec){ .iov_len = TAIL };
		memcpy(&iov[2].iov_base, &(const void *){ tail },
		    sizeof(void *));
	}
	mh->msg_iovlen = 3;
	return size + TAIL;
}

int
ctl_send(int fd, const void *msg, size_t size, const int *fds, size_t nfds)
{
	union control control;
	struct iovec iov[3];
	struct msghdr mh = { .msg_iov = iov, .msg_iovlen = 1 };
	struct ctl_start grown;
	ssize_t n;

	CHECK(size >= sizeof(struct ctl_head) && size <= CTL_MAX_BYTES);
	CHECK(nfds <= CTL_MAX_FDS);
	/* sendmsg takes a pointer to what it only reads. */
	memcpy(&iov[0].iov_base, &msg, sizeof(msg));
	iov[0].iov_len = size;
	if (TAIL > 0)
		size = grow(&mh, &grown);
	if (nfds > 0) {
		struct cmsghdr *cmsg;

		mh.msg_control = control.bytes;
		mh.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		memset(control.bytes, 0, mh.msg_controllen);
		cmsg = CMSG_FIRSTHDR(&mh);
		CHECK(cmsg != NULL);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fds, nfds * sizeof(int));
	}
	if (nfds > 0 && FAULT_FAILS("ctl.too-many-refs"))
		return -ETOOMANYREFS;
	do {
		n = sendmsg(fd, &mh, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	CHECK((size_t)n == size); /* a datagram goes whole or not at all */
	return 0;
}

/* Copies descriptors and sender out of the control data. */
static void
take_control(struct msghdr *mh, struct ctl_msg *ret)
{
	struct cmsghdr *cmsg;

	ret->nfds = 0;
	ret->pid = 0;
	for (cmsg = CMSG_FIRSTHDR(mh); cmsg != NULL;
	    cmsg = CMSG_NXTHDR(mh, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET)
			continue;
		if (cmsg->cmsg_type == SCM_RIGHTS) {
			size_t n =
			    (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);

			CHECK(n <= CTL_MAX_FDS - ret->nfds);
			memcpy(ret->fds + ret->nfds, CMSG_DATA(cmsg),
			    n * sizeof(int));
			ret->nfds += n;
		} else if (cmsg->cmsg_type == SCM_CREDENTIALS) {
			struct ucred cred;

			memcpy(&cred, CMSG_DATA(cmsg), sizeof(cred));
			ret->pid = cred.pid;
		}
	}
}

/* Closes what came beside a message that nobody will see. */
static int
refuse(struct ctl_msg *msg, int error)
{
	size_t i;

	for (i = 0; i < msg->nfds; i++)
		close(msg->fds[i]);
	msg->nfds = 0;
	return error;
}

/* Gives a message of another build's struct the size of ours: what a newer one
 * has more is nothing to us, what an older one has less was not there. */
static bool
adapt(struct ctl_msg *msg, const struct ctl_form *form)
{
	uint32_t version = msg->head.version;

	if (form->max_size != form->min_size)
		return true; /* START says itself where its blob begins */
	if (version >= abi_table[ABI_CTL].version && msg->size < form->min_size)
		return false;
	if (msg->size < form->min_size)
		memset(msg->bytes + msg->size, 0, form->min_size - msg->size);
	msg->size = form->min_size;
	msg->head.size = form->min_size;
	return true;
}

/* Has the message the form its type says? */
static bool
is_well_formed(struct ctl_msg *msg)
{
	const struct ctl_form *form;
	uint32_t version = msg->head.version;

	if (msg->size < sizeof(struct ctl_head) ||
	    !abi_reads(ABI_CTL, ABI_STAMP(version, msg->head.reader)) ||
	    msg->head.size != msg->size)
		return false;
	form = form_find(msg->head.type);
	if (form == NULL || msg->nfds > form->max_fds)
		return false;
	if (TAIL > 0 || version != CTL_VERSION)
		return adapt(msg, form);
	return msg->size >= form->min_size && msg->size <= form->max_size;
}

int
ctl_recv(int fd, struct ctl_msg *ret)
{
	union control control;
	struct iovec iov = { .iov_base = ret->bytes,
		.iov_len = sizeof(ret->bytes) };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	int resets = 0;
	ssize_t n;

	/* A peer that died with unread messages leaves ECONNRESET once, ahead
	 * of what it had sent; the queue behind it must still be read. */
	do {
		n = recvmsg(fd, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (n < 0 &&
	    (errno == EINTR || (errno == ECONNRESET && resets++ < 2)));
	if (n < 0)
		return -errno;
	if (n == 0 && mh.msg_controllen == 0)
		return 0;
	take_control(&mh, ret);
	ret->size = (size_t)n;
	if (mh.msg_flags & MSG_CTRUNC)
		return refuse(ret, -EMFILE);
	if ((mh.msg_flags & MSG_TRUNC) || !is_well_formed(ret))
		return refuse(ret, -EPROTO);
	return 1;
}
