/* SPDX-License-Identifier: MIT */
/* psup write: bytes for a session's stdin, from the command line or ours. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#define CHUNK   262144u
#define WAIT_MS 30000 /* for room, before the server is asked again */

/* Sends one piece whole, however long the command takes to read. */
static int
send_piece(struct cli *c, const char *id, const char *data, size_t size,
    bool last, psup_reply **ret)
{
	int64_t accepted;
	psup_reply *reply;
	int rc;

	for (;;) {
		rc = psup_write(c->p, id, data, size, last, WAIT_MS,
		    &reply);
		if (rc != PSUP_OK)
			return rc;
		accepted = psup_get_int(psup_reply_details(reply), "accepted",
		    0);
		if (!psup_get_is(psup_reply_details(reply), "code",
		        "stdin-full") ||
		    accepted < 0 || (uint64_t)accepted > size)
			break;
		data += accepted;
		size -= (size_t)accepted;
		psup_reply_free(&reply);
	}
	*ret = reply;
	return PSUP_OK;
}

/* The exit code of an answer that is not the last one; EXIT_OK: go on. */
static int
piece_answer(struct cli *c, psup_reply **reply)
{
	if (psup_reply_is_error(*reply))
		return cli_answer(c, reply);
	psup_reply_free(reply);
	return EXIT_OK;
}

/* Everything that stands on our stdin. */
static int
write_stdin(struct cli *c, const char *id, bool end)
{
	static char buf[CHUNK];
	psup_reply *reply;
	int code, rc;
	ssize_t n;

	for (;;) {
		n = read(STDIN_FILENO, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			cli_say("stdin: %s", strerror(errno));
			return EXIT_INTERNAL;
		}
		rc = send_piece(c, id, buf, (size_t)n, n == 0 && end, &reply);
		if (rc != PSUP_OK)
			return cli_fail(c, rc);
		if (n == 0)
			return cli_answer(c, &reply);
		code = piece_answer(c, &reply);
		if (code != EXIT_OK)
			return code;
	}
}

static bool eof;

static int
run(struct cli *c, int argc, char **argv)
{
	const char *data = argc == 2 ? argv[1] : "";
	psup_reply *reply;
	int rc;

	if (argc == 1 && !eof)
		return cli_usage(c, "it needs a session id and data, or --eof");
	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	if (strcmp(data, "-") == 0)
		return write_stdin(c, argv[0], eof);
	rc = send_piece(c, argv[0], data, strlen(data), eof, &reply);
	return rc == PSUP_OK ? cli_answer(c, &reply) : cli_fail(c, rc);
}

static const struct opt options[] = {
	FLAG("eof", 0, eof, "close the session's stdin afterwards"),
	OPT_END};

const struct command cmd_write = {
	.name = "write",
	.args = "ID [DATA]",
	.words = "@session",
	.min_args = 1,
	.max_args = 2,
	.wants = "it needs a session id and data, or --eof",
	.summary = "Feed a running session's stdin",
	.about = "DATA is taken as it is; - means psup's own stdin.",
	.options = options,
	.run = run,
};
