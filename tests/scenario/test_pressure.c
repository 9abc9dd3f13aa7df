/* SPDX-License-Identifier: MIT */
/* Clients and machines that press: pipelined floods, nobody who reads, no
 * descriptors left. Others go on, and what was taken is given back. */
#include "lib_scn.h"

#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

TestSuite(pressure);

/* How many sessions of a state there are, by status. */
static int64_t
sessions_in(const char *state)
{
	const struct answer *a = ask("status");

	return psup_get_int(psup_value_get(details(a), "sessions"), state, -1);
}

/* Waits until so many sessions run. */
static void
await_running(int64_t n)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	while (sessions_in("running") != n)
		expect(now_ms() < until, "%d sessions run, not %d",
		    (int)sessions_in("running"), (int)n);
}

/* It is not read any more, because 64 requests are under way and others wait;
 * its end is seen all the same. */
SCENARIO(pressure, a_client_that_is_not_read_and_goes_ends_its_commands)
{
	char exec[] = "\x94\x00\x01\xa4""exec\x82\xa7""command\xaasleep 1000"
	              "\xa7yieldMs\xc0";
	ssize_t size = sizeof(exec) - 1;
	int fd;

	psupd();
	fd = raw_connect();
	for (int i = 0; i < 64 + 10; i++) {
		exec[2] = (char)(i + 1);
		expect(send(fd, exec, (size_t)size, MSG_NOSIGNAL) == size);
	}
	await_running(64);
	close(fd);
	await_running(0);
}

/* Clients take the connections there are, not what work needs: rings, spools
 * and workers still get their descriptors. */
SCENARIO(pressure, connections_leave_descriptors_for_the_work)
{
	struct rlimit few = {64, 64}; /* it holds for us, too */
	int fds[46];

	expect(setrlimit(RLIMIT_NOFILE, &few) == 0);
	psupd(.workers = 1);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		fds[i] = raw_connect();
	/* Ours, idle for longest, may be closed for them just now. */
	expect_text(ask("exec", STR("command", "echo on"),
	    STR("requestKey", "on")), "on");
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		close(fds[i]);
	expect_ok(ask("list"));
}
