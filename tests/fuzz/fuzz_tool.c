/* SPDX-License-Identifier: MIT */
/*
 * psup tool: lines of JSON on its stdin, and what a server answers, any bytes.
 * cmd_tool.c's functions are called as its loop calls them; what it shares
 * with the other commands is here.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "fuzz.h"
#include "libpsup/internal.h"
#include "tools/psup/cmd_tool.c"

int
usage_wrong(struct usage *u, const char *fmt, ...)
{
	(void)u;
	(void)fmt;
	return EXIT_USAGE;
}

int
cli_umask(void)
{
	return 022;
}

void
cli_identity(const struct cli *c, struct psup_options *ret)
{
	ret->scope = c->scope;
}

/* One line, and whole. */
void
cli_print_json(json_t *v)
{
	char *text = json_dumps(v, JSON_COMPACT);

	EXPECT(json_is_object(v) && text != NULL);
	EXPECT(strchr(text, '\n') == NULL);
	free(text);
	json_decref(v);
}

void
cli_say(const char *fmt, ...)
{
	(void)fmt;
}

json_t *
cli_error_object(const char *code, const char *field, const char *message)
{
	json_t *o = json_object();

	json_object_set_new(o, "code", json_of_text(code, strlen(code)));
	json_object_set_new(o, "field", json_of_text(field, strlen(field)));
	json_object_set_new(o, "text", json_of_text(message, strlen(message)));
	return o;
}

/* Lines on our stdin, from the start. */
static void
put_stdin(const char *text, size_t len)
{
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("stdin", MFD_CLOEXEC);
		EXPECT(fd >= 0 && dup2(fd, STDIN_FILENO) == 0);
		clearenv(); /* it is sent with every exec */
	}
	EXPECT(ftruncate(fd, 0) == 0);
	EXPECT(pwrite(fd, text, len, 0) == (ssize_t)len);
	EXPECT(lseek(fd, 0, SEEK_SET) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cli c = {.runtime_dir = "/nonexistent", .no_start = true};
	struct tool t = {.c = &c};
	size_t len;
	char *lines = take_text(&data, &size, 65535, &len);
	int sv[2];

	put_stdin(lines, len);
	free(lines);
	t.last = &t.first;
	EXPECT(psup_new(&c.p) == PSUP_OK);
	EXPECT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0, sv) == 0);
	c.p->fd = sv[0];
	EXPECT(send(sv[1], data, size, MSG_NOSIGNAL) == (ssize_t)size ||
	    size > 65536 || size == 0);
	while (!t.end_of_input)
		EXPECT(read_lines(&t) == 0);
	shutdown(sv[1], SHUT_WR);
	while (t.calls > 0) {
		psup_dispatch(c.p);
		tool_start_queued(&t);
	}
	EXPECT(t.first == NULL && psup_pending(c.p) == 0);
	free(t.line);
	psup_free(&c.p);
	close(sv[1]);
	return 0;
}
