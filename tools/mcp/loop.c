/* SPDX-License-Identifier: MIT */
/* See loop.h. Called by main. */
#include "loop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "events.h"
#include "lines.h"
#include "link.h"
#include "log.h"
#include "out.h"
#include "rpc.h"
#include "subscribe.h"

/* So much waits for a client that does not read; then it is read from no more,
 * nor is the server. */
#define QUEUE_MAX (1u << 20)
#define READ_BYTES 65536u
#define FLUSH_MS 1000 /* of a client that reads, when we are told to end */

enum { IN, OUT, LINK, FDS = LINK + LINK_FDS };

static volatile sig_atomic_t told_to_end;

static void
on_signal(int)
{
	told_to_end = 1;
}

/* Only while we wait. */
static void
take_signals(sigset_t *ret_waiting)
{
	struct sigaction sa = {.sa_handler = on_signal};
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGINT);
	sigprocmask(SIG_BLOCK, &ours, ret_waiting);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Reads what stdin has. 1: it has ended. 0 or -errno. */
static int
read_lines(struct lines *l)
{
	static char buf[READ_BYTES];
	ssize_t n = read(STDIN_FILENO, buf, sizeof(buf));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -errno;
	if (n == 0)
		return 1;
	return lines_feed(l, buf, (size_t)n, rpc_take_line, NULL);
}

/* ms until something is due; -1: nothing is. */
static int
wait_ms(void)
{
	int ms = calls_wait_ms();

	return link_ticks() && (ms < 0 || ms > 1000) ? 1000 : ms;
}

/* Waits once. */
static void
wait_for(struct pollfd pfd[FDS], bool full, const sigset_t *waiting)
{
	int ms = wait_ms();
	struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

	/* of a client that is full we want to know only that it is gone */
	pfd[IN] = (struct pollfd){.fd = STDIN_FILENO,
	    .events = full || calls_count() >= CALLS_MAX ? 0 : POLLIN};
	pfd[OUT] = (struct pollfd){.fd = STDOUT_FILENO,
	    .events = out_queued() > 0 ? POLLOUT : 0};
	link_poll(pfd + LINK);
	if (ppoll(pfd, FDS, ms < 0 ? NULL : &t, waiting) < 0)
		memset(pfd, 0, FDS * sizeof(*pfd)); /* EINTR */
}

/* Writes what goes within `ms` each; 0 or -errno. */
static int
write_out(int ms)
{
	struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
	int rc = 0;

	while (rc == 0 && out_queued() > 0 && poll(&p, 1, ms) > 0)
		rc = out_write();
	return rc;
}

/* Is there nobody any more? Who has closed what we read from wants nothing of
 * what is left in it. */
static bool
is_gone(const struct pollfd *in, const struct pollfd *out)
{
	return (out->revents & (POLLERR | POLLHUP | POLLNVAL)) != 0 ||
	    (in->revents & POLLNVAL) != 0 ||
	    (in->events == 0 && (in->revents & POLLHUP) != 0);
}

/* What has come, and what is due. 1: the client is gone. 0 or -errno. */
static int
turn(struct lines *l, const sigset_t *waiting)
{
	bool full = out_queued() >= QUEUE_MAX;
	struct pollfd pfd[FDS] = {{.fd = -1}};
	int rc = 0;

	link_hold(full);
	wait_for(pfd, full, waiting);
	if (is_gone(&pfd[IN], &pfd[OUT]))
		return 1;
	link_dispatch(pfd + LINK);
	if (pfd[IN].revents != 0)
		rc = read_lines(l);
	calls_tick();
	link_tick();
	if (rc == 0)
		rc = write_out(0);
	events_settle();
	return rc;
}

int
loop_run(void)
{
	struct lines l = {.len = 0};
	sigset_t waiting;
	int rc = 0;

	take_signals(&waiting);
	while (rc == 0 && !told_to_end)
		rc = turn(&l, &waiting);
	if (told_to_end)
		subscribe_close();
	if (rc != -EPIPE)
		write_out(FLUSH_MS);
	lines_free(&l);
	if (rc >= 0 || rc == -EPIPE || rc == -ECONNRESET)
		return EXIT_SUCCESS;
	mcp_log("%s", strerror(-rc));
	return EXIT_FAILURE;
}
