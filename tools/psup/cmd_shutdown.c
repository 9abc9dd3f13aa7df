/* SPDX-License-Identifier: MIT */
/* psup shutdown: ends every command and the server, and waits for its end. */
#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli.h"

#define GRACE_MS 5000
#define EXTRA_MS 30000 /* what finalising may take beyond the grace */

/* Waits until the keeper is gone. */
static int
await_keeper(int64_t pid, int timeout_ms)
{
	struct pollfd pfd = {.events = POLLIN};
	int n;

	if (pid <= 0 || pid > INT32_MAX)
		return -EINVAL;
	pfd.fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	if (pfd.fd < 0)
		return errno == ESRCH ? 0 : -errno;
	do {
		n = poll(&pfd, 1, timeout_ms);
	} while (n < 0 && errno == EINTR);
	close(pfd.fd);
	return n == 1 ? 0 : -ETIMEDOUT;
}

static int64_t grace = -1;

int
cli_stop_server(struct cli *c, int grace_ms, int64_t *ret_pid)
{
	psup_reply *reply;
	int rc = psup_shutdown(c->p, grace_ms, &reply);

	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	*ret_pid = psup_get_int(psup_reply_value(reply), "pid", 0);
	psup_reply_free(&reply);
	rc = await_keeper(*ret_pid,
	    (grace_ms < 0 ? GRACE_MS : grace_ms) + EXTRA_MS);
	if (rc == 0)
		return EXIT_OK;
	cli_say("the server (keeper %lld) is still there", (long long)*ret_pid);
	return EXIT_FAILED;
}

static int
run(struct cli *c, int, char **)
{
	int64_t pid;
	int rc;

	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	rc = cli_stop_server(c, (int)grace, &pid);
	if (rc != EXIT_OK)
		return rc;
	if (c->json)
		cli_print_json(json_pack("{s:I, s:b}", "pid", (json_int_t)pid,
		    "stopped", 1));
	else
		cli_putf("The server at %s has stopped.\n",
		    psup_runtime_dir(c->p));
	return EXIT_OK;
}

static const struct opt options[] = {
	NUMBER("grace", 0, "MS", grace, 0, 60000,
	    "from SIGTERM to SIGKILL, 0 to 60000 (5000)"),
	OPT_END};

const struct command cmd_shutdown = {
	.name = "shutdown",
	.summary = "End every command, then the server",
	.options = options,
	.run = run,
};
