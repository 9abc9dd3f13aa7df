/* SPDX-License-Identifier: MIT */
/* host sandbox: what a command in a box can do and see, and how it ends. Skipped
 * where this machine makes no boxes, as are test_sandbox_lives.c, what becomes of
 * boxes, and test_sandbox_bounds.c, what they may take. */
#include "lib_boxes.h"
#include "lib_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

TestSuite(sandbox);

SCENARIO(sandbox, ends_are_told_as_they_are)
{
	struct answer *a;

	boxes("");
	a = ask("exec", STR("command", "echo out; echo err >&2; exit 3"));
	expect_str(a, "status", "completed");
	expect_int(a, "exitCode", 3);
	a = ask("exec", STR("command", "kill -TERM $$"));
	expect_str(a, "exitSignal", "SIGTERM");
	expect_str(a, "failureKind", "signal");
	a = ask("exec", STR("command", "kill -KILL $$"));
	expect_str(a, "exitSignal", "SIGKILL");
	expect_str(a, "failureKind", "signal");
	a = ask("exec", STR("command", "kill -SEGV $$"));
	expect_str(a, "exitSignal", "SIGSEGV");
	a = ask("exec", LIST("argv", "no-such-program"));
	expect_str(a, "exitReason", "spawn-error");
	a = ask("exec", LIST("argv", "printf", "%s", "an argument"));
	expect_str(a, "aggregated", "an argument");
}

SCENARIO(sandbox, is_nobody_with_nothing)
{
	char look[600];

	boxes("");
	expect_says("grep -c '^Cap[A-Z][a-z]*:[[:space:]]*0*$' "
		    "/proc/self/status", "5\n");
	expect_says("grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status | "
		    "tr -d '\\t'", "NoNewPrivs:1\nSeccomp:2\n");
	expect(strcmp(says("id -u"), "0\n") != 0, "it is root");
	if (geteuid() == 0)
		expect_says("id -G | wc -w", "1\n");
	expect_says("(echo x >/usr/x) 2>/dev/null || echo refused",
	    "refused\n");
	expect_says("cat /etc/shadow >/dev/null 2>&1 || echo refused",
	    "refused\n");
	expect_says("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '",
	    "lo\n");
	expect_says("cat /proc/net/route | wc -l", "1\n");
	(void)snprintf(look, sizeof(look), "test -e %s && echo there || echo "
	    "not there", runtime_dir());
	expect_says(look, "not there\n");
	(void)snprintf(look, sizeof(look), "test -e /proc/%d && echo there || "
	    "echo not there", (int)keeper_pid());
	if (keeper_pid() > 64)
		expect_says(look, "not there\n");
	expect_says("ls /proc/1/fd >/dev/null 2>&1 || echo refused",
	    "refused\n");
}

SCENARIO(sandbox, inherits_no_environment)
{
	boxes("env = MINE=yes\n");
	expect_says("echo $MINE $HOME $PATH $LANG",
	    "yes /workspace /usr/local/bin:/usr/bin:/bin C.UTF-8\n");
	struct answer *a = ask("exec", STR("command", "echo -$LEAK-$GIVEN-"),
	    MAP("baseEnv", "LEAK", "secret"), MAP("env", "GIVEN", "given"));
	expect_str(a, "aggregated", "--given-\n");
}

SCENARIO(sandbox, a_scope_has_a_box_of_its_own)
{
	struct peer *one, *two;

	boxes("");
	one = peer("one");
	two = peer("two");
	(void)says_as(one, "echo secret >/tmp/f; echo kept >/workspace/f");
	expect(strcmp(says_as(one, "cat /tmp/f /workspace/f"),
	    "secret\nkept\n") == 0);
	expect(strcmp(says_as(two, "cat /tmp/f /workspace/f 2>/dev/null; "
				   "echo none"), "none\n") == 0);
	expect(strcmp(says_as(one, "readlink /proc/self/ns/net"),
	    says_as(one, "readlink /proc/self/ns/net")) == 0);
	expect(strcmp(says_as(one, "readlink /proc/self/ns/net"),
	    says_as(two, "readlink /proc/self/ns/net")) != 0);
}

SCENARIO(sandbox, goes_to_its_workspace_and_nowhere_else)
{
	struct answer *a;

	boxes("");
	expect_says("mkdir -p sub; pwd", "/workspace\n");
	a = ask("exec", STR("command", "pwd"), STR("workdir", "sub"));
	expect_str(a, "aggregated", "/workspace/sub\n");
	a = ask("exec", STR("command", "pwd"), STR("workdir", "~/sub"));
	expect_str(a, "aggregated", "/workspace/sub\n");
	a = ask("exec", STR("command", "pwd"), STR("workdir", "/etc"));
	expect_str(a, "code", "bad-workdir");
	expect_str(a, "error", "workdir /etc is not in the box; expected "
	    "/workspace or below; nothing was run");
	expect_str(a, "cwd", "/etc");
	a = ask("exec", STR("command", "pwd"), STR("workdir", "sub/../../etc"));
	expect_str(a, "code", "bad-workdir");
	expect_str(a, "error", "workdir sub/../../etc is not in the box; "
	    "expected a path without ..; nothing was run");
	expect_str(a, "cwd", "/workspace/sub/../../etc");
	a = ask("exec", STR("command", "pwd"), STR("workdir", "absent"));
	expect_str(a, "code", "bad-workdir");
}

SCENARIO(sandbox, has_a_terminal_of_the_box)
{
	struct answer *a;
	const char *id;

	boxes("");
	a = ask("exec", STR("command", "tty; stty size"), YES("pty"));
	expect(strstr(text_of(a, "aggregated"), "/dev/pts/0") != NULL, "%s",
	    words_of(a));
	expect(strstr(text_of(a, "aggregated"), "30 120") != NULL);
	id = background(STR("command", "trap 'stty size' WINCH; echo ready; "
	    "while read -r line; do echo got $line; done"), YES("pty"));
	await_output(id, "ready");
	expect_ok(ask("resize", STR("sessionId", id), INT("cols", 90),
	    INT("rows", 40)));
	expect_ok(ask("submit", STR("sessionId", id), STR("data", "word")));
	await_output(id, "got word");
	await_output(id, "40 90");
	expect_ok(ask("kill", STR("sessionId", id)));
}

/* Its terminal is looked at, not the one that has this name outside. */
SCENARIO(sandbox, has_the_mode_of_its_own_terminal)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	char line[6000];
	const char *id;

	/* there is a /dev/pts/0 outside now, which reads lines */
	expect(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	boxes("");
	id = background(STR("command", "echo up; stty raw -echo; "
	    "echo raw >/workspace/raw; head -c 5999 | wc -c"), YES("pty"));
	await_output(id, "up");
	await_file(file_in_scenario("boxes/agent%20/raw"));
	expect_ok(ask("write", STR("sessionId", id), STR("data", line)));
	await_output(id, "5999");
	(void)close(master);
}

SCENARIO(sandbox, without_bwrap_is_refused_by_name)
{
	struct answer *a;

	psupd(.conf = conf(""), .env = {"PATH=/nonexistent"});
	a = ask("exec", STR("command", "true"));
	expect_refused_for(a, "unsupported", "host");
	expect(strcmp(words_of(a), "no sandbox: bwrap is not installed") == 0,
	    "%s", words_of(a));
	a = ask("list", YES("all"));
	expect(psup_value_count(psup_value_get(details(a), "sessions")) == 0);
}

SCENARIO(sandbox, of_root_names_who_it_is_to_be)
{
	struct answer *a;

	if (geteuid() != 0)
		skip_scenario("this user is not root");
	psupd(.conf = "[sandbox]\nmode = all\nworkspace = /nonexistent/x\n");
	a = ask("exec", STR("command", "true"));
	expect_refused_for(a, "unsupported", "host");
}

static int
listens(int domain, const void *addr, socklen_t len)
{
	int fd = socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0);

	expect(fd >= 0 && bind(fd, addr, len) == 0 && listen(fd, 4) == 0, "%s",
	    strerror(errno));
	return fd;
}

static const char *
helpers(void)
{
	char *real = scn_alloc(4096);

	expect(realpath(scn_format("%s/../tests/helpers", scn_bin_dir()),
	    real) != NULL);
	return real;
}

/* A box with these settings, and with our helpers in it. */
static void
boxes_with_helpers(const char *more)
{
	boxes(scn_format("bind = %s:/helpers:ro\n%s", helpers(), more));
}

/* From a box with these settings, too. */
static void
try_to_get_out(const char *more)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct sockaddr_in in = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(in);
	char call[1400], name[32];
	struct answer *a;
	int fds[2], n;

	boxes_with_helpers(more);
	n = snprintf(name, sizeof(name), "psup-escape-%d", (int)getpid());
	memcpy(un.sun_path + 1, name, (size_t)n);
	fds[0] = listens(AF_UNIX, &un,
	    (socklen_t)(sizeof(un.sun_family) + 1 + (size_t)n));
	fds[1] = listens(AF_INET, &in, sizeof(in));
	expect(getsockname(fds[1], (struct sockaddr *)&in, &len) == 0);
	(void)snprintf(call, sizeof(call), "/helpers/escape %s %d %s",
	    runtime_dir(), (int)ntohs(in.sin_port), name);
	a = ask("exec", STR("command", call));
	expect_str(a, "status", "completed");
	expect(strstr(text_of(a, "aggregated"), "escaped") == NULL, "%s",
	    words_of(a));
	expect(atoi(text_of(a, "aggregated")) >= 30, "%s", words_of(a));
	/* and all is as it was */
	expect_says("echo well", "well\n");
	(void)close(fds[0]);
	(void)close(fds[1]);
}

SCENARIO(sandbox, lets_nobody_out)
{
	try_to_get_out("");
}

/* Before its exec a command is a program of ours, in whose hands more is. */
SCENARIO(sandbox, nobody_in_there_gets_at_what_starts)
{
	const char *id;

	boxes_with_helpers("");
	id = background(LIST("argv", "/helpers/escape", "starts"));
	await_output(id, "up");
	for (int i = 0; i < 100; i++)
		expect_str(ask("exec", LIST("argv", "true")), "status",
		    "completed");
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
	(void)await_end(id);
	expect(strstr(read_retained(id).bytes, "escaped") == NULL, "%s",
	    read_retained(id).bytes);
}

/* Nor does who is the same user outside, where porters and who clones them are. */
SCENARIO(sandbox, nobody_out_there_gets_at_what_starts)
{
	const char *program = scn_format("%s/escape", helpers()), *id;

	boxes("[elevated]\nenabled = yes\nscopes = out\n");
	id = geteuid() != 0
	    ? background(LIST("argv", program, "starts", "psup-porter"),
		  STR("scope", "out"), YES("elevated"))
	    : background(LIST("argv", "setpriv", "--reuid=65534",
			     "--regid=65534", "--clear-groups", program,
			     "starts", "psup-porter"),
		  STR("scope", "out"), YES("elevated"));
	await_output(id, "up");
	do
		for (int i = 0; i < 50; i++)
			expect_str(ask("exec", LIST("argv", "true")), "status",
			    "completed");
	while (strstr(read_retained(id).bytes, "saw") == NULL);
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
	(void)await_end(id);
	expect(strcmp(read_retained(id).bytes, "up\nsaw\n") == 0, "%s",
	    read_retained(id).bytes);
}

/* There is no name that both have, so nothing passes from box to box. */
SCENARIO(sandbox, passes_nothing_to_another_box)
{
	struct peer *one, *two;
	const char *taker, *reader;

	boxes_with_helpers("");
	one = peer("one");
	two = peer("two");
	(void)says_as(two, "echo of two >given");
	(void)says_as(one, "echo of one >given");
	taker = background(LIST("argv", "/helpers/escape", "takes"),
	    STR("scope", "one"));
	await_output(taker, "up");
	reader = background(STR("command", "mkfifo /tmp/fifo; echo up; "
	    "cat /tmp/fifo"), STR("scope", "one"));
	await_output(reader, "up");
	expect(strcmp(says_as(two, "/helpers/escape gives"), "0\n") == 0);
	(void)says_as(two, "mkfifo /tmp/fifo; exec 3<>/tmp/fifo; echo of two >&3");
	/* within one it does */
	expect(strcmp(says_as(one, "/helpers/escape gives"), "2\n") == 0);
	(void)says_as(one, "echo of one >/tmp/fifo");
	(void)await_end(taker);
	(void)await_end(reader);
	expect(strcmp(read_retained(taker).bytes, "up\nof one\nof one\n") == 0,
	    "%s", read_retained(taker).bytes);
	expect(strcmp(read_retained(reader).bytes, "up\nof one\n") == 0, "%s",
	    read_retained(reader).bytes);
}

/* Nor by the directory of its scope, which is somebody's outside. */
SCENARIO(sandbox, lets_nobody_out_by_a_directory)
{
	const char *dir = file_in_scenario("agent");

	expect(mkdir(dir, 0700) == 0 &&
	    symlink("/etc/shadow", file_in_scenario("agent/node")) == 0 &&
	    symlink("..", file_in_scenario("agent/up")) == 0);
	expect(geteuid() != 0 || chown(dir, 65534, 65534) == 0);
	try_to_get_out(scn_format("access = rw\ndirectory = %s\n", dir));
	expect_says("cat up/psup.conf 2>/dev/null || echo refused",
	    "refused\n");
	expect_says("cat node 2>/dev/null || echo refused", "refused\n");
}
