/* SPDX-License-Identifier: MIT */
/*
 * psupd as a service: what it tells a service manager, the watchdog, the
 * socket and the descriptor it is started with. The test is the manager.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib_inner.h"
#include "lib_upgrade.h"

#define DATAGRAM_MAX 1024

static int manager = -1;
static char datagram[DATAGRAM_MAX];

/* A service manager that listens at a path, or @name; for psupd's env. */
static const char *
manage(const char *address)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	char *var = scn_alloc(256);
	size_t len = strlen(address);

	expect(len < sizeof(sa.sun_path));
	memcpy(sa.sun_path, address, len);
	if (address[0] == '@')
		sa.sun_path[0] = '\0';
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	expect(bind(manager, (struct sockaddr *)&sa,
	           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) ==
	    0, "%s: %s", address, strerror(errno));
	snprintf(var, 256, "NOTIFY_SOCKET=%s", address);
	return var;
}

/* The next datagram within so long; NULL: none came. */
static const char *
hear(int wait_ms)
{
	struct pollfd p = {.fd = manager, .events = POLLIN};
	ssize_t n;

	if (poll(&p, 1, wait_ms) != 1)
		return NULL;
	n = recv(manager, datagram, sizeof(datagram) - 1, 0);
	expect(n > 0);
	datagram[n] = '\0';
	return datagram;
}

/* Is this one of the lines of a datagram? `line` may end in '=': any value. */
static bool
has_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	while (text != NULL) {
		if (strncmp(text, line, len) == 0 &&
		    (text[len] == '\n' || text[len] == '\0' ||
		        line[len - 1] == '='))
			return true;
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return false;
}

/* Waits for a datagram with this line; others are passed over. */
static void
await_line(const char *line)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	const char *text;

	do {
		text = hear((int)(until - now_ms()));
		expect(text != NULL, "nobody said %s", line);
	} while (!has_line(text, line));
}

static void
whole_life(const char *address)
{
	const char *var = manage(address);
	int64_t began;
	char pid[32];

	psupd(.env = {var});
	await_line("READY=1");
	snprintf(pid, sizeof(pid), "MAINPID=%d", psupd_pid());
	expect(has_line(datagram, pid), "%s", datagram);
	expect(has_line(datagram, "STATUS="), "%s", datagram);

	/* over at once, not when the keeper wakes for something else */
	began = now_ms();
	for (int i = 0; i < 3; i++) {
		kill_now(psupd_pid(), SIGHUP);
		await_line("RELOADING=1");
		expect(has_line(datagram, "MONOTONIC_USEC="), "%s", datagram);
		await_line("READY=1");
	}
	expect(now_ms() - began < 5000 + busy_ms(), "reloads take %d ms",
	    (int)(now_ms() - began));

	kill_now(psupd_pid(), SIGTERM);
	await_line("STOPPING=1");
	server_is_gone();
}

SCENARIO(service, tells_its_manager_how_it_stands)
{
	whole_life(file_in_scenario("notify"));
}

SCENARIO(service, tells_a_manager_without_a_path)
{
	char name[64];

	snprintf(name, sizeof(name), "@psup-test-%d", getpid());
	whole_life(name);
}

/* Hears until nothing came for longer than the watchdog waits. */
static void
expect_silence(int watchdog_ms)
{
	int heard = 0;

	while (hear(watchdog_ms + watchdog_ms / 2) != NULL)
		expect(++heard < 20, "the watchdog goes on: %s", datagram);
}

SCENARIO(service, feeds_the_watchdog_only_while_all_are_well)
{
	const char *var = manage(file_in_scenario("notify"));
	struct psup_view_process row;
	size_t cursor = 0;
	psup_view *v;
	char why[200];
	pid_t worker = 0;

	psupd(.env = {var, "WATCHDOG_USEC=400000"});
	await_line("WATCHDOG=1");
	await_line("WATCHDOG=1");

	expect(psup_view_open(runtime_dir(), &v, why, sizeof(why)) == 0);
	while (worker == 0 && psup_view_next_process(v, &cursor, &row) == 1)
		worker = strcmp(row.role, "worker") == 0 ? row.pid : 0;
	psup_view_close(&v);
	expect(worker > 0);
	kill_now(worker, SIGSTOP);
	expect_silence(400);
	kill_now(worker, SIGCONT);
	await_line("WATCHDOG=1");

	/* it beats once a second, and counts as silent after three */
	kill_now(master_pid(), SIGSTOP);
	for (int64_t until = now_ms() + SCN_DEADLINE_MS; hear(600) != NULL;)
		expect(now_ms() < until, "the watchdog goes on");
	kill_now(master_pid(), SIGCONT);
	await_line("WATCHDOG=1");

	/* who is replaced is well again */
	kill_now(worker, SIGKILL);
	await_gone(worker);
	while (hear(0) != NULL)
		continue;
	await_line("WATCHDOG=1");
}

SCENARIO(service, commands_know_nothing_of_the_manager)
{
	const char *var = manage(file_in_scenario("notify"));
	struct answer *a;

	psupd(.env = {var, "WATCHDOG_USEC=60000000"});
	a = ask("exec", STR("command", "env; tr '\\0' '\\n' "
	    "</proc/$PPID/environ | grep -c NOTIFY"));
	expect(strstr(text_of(a, "aggregated"), "NOTIFY_SOCKET") == NULL);
	expect(strstr(text_of(a, "aggregated"), "WATCHDOG") == NULL);
}

/* When the log said it the n-th time: milliseconds of its day. */
static int64_t
said_at_ms(const char *text, int n)
{
	char line[1000];
	int64_t at = -1;
	int h, m, s, ms;
	FILE *f = fopen(scn.log, "re");

	expect(f != NULL);
	while (n > 0 && fgets(line, sizeof(line), f) != NULL) {
		if (strstr(line, text) == NULL)
			continue;
		n--;
		expect(sscanf(line, "time=%*[0-9-]T%d:%d:%d.%d", &h, &m, &s,
		           &ms) == 4, "%s", line);
		at = ((h * 60 + m) * 60 + s) * 1000 + ms;
	}
	fclose(f);
	expect(n == 0);
	return at;
}

/* It is told when it reads, and what does not is not asked without a pause. */
SCENARIO(service, is_ready_for_a_manager_that_had_no_room_for_it)
{
	const char *address = file_in_scenario("notify");
	const char *var = manage(address);
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	const char *said = "event=manager-not-told ";
	int64_t waited;
	int other, n;

	/* somebody else has filled its queue, or several have: where that is
	 * long (net.unix.max_dgram_qlen) one may not have so much under way */
	memcpy(sa.sun_path, address, strlen(address));
	do {
		other = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		expect(connect(other, (struct sockaddr *)&sa, sizeof(sa)) == 0);
		for (n = 0; send(other, "X=1", 3, MSG_DONTWAIT) == 3; n++)
			;
		expect(errno == EAGAIN, "%s", strerror(errno));
		close(other);
	} while (n > 0);
	psupd(.env = {var, "PSUP_LOG_LEVEL=debug"});
	for (int64_t until = now_ms() + SCN_DEADLINE_MS; count_log(said) < 6;
	     poll(NULL, 0, 5))
		expect(now_ms() < until, "it is not told again");
	waited = said_at_ms(said, 6) - said_at_ms(said, 1);
	if (waited < 0)
		waited += 86400000; /* midnight */
	/* 50, 100, 200, 400, 800 */
	expect(waited >= 1500, "%d ms", (int)waited);
	await_line("READY=1");
}

SCENARIO(service, a_wrong_address_is_said_and_left_alone)
{
	psupd(.env = {"NOTIFY_SOCKET=nowhere", "WATCHDOG_USEC=soon"});
	await_log("event=notify-socket-refused notify_socket=nowhere ");
	expect_ok(ask("list"));
}

SCENARIO(service, a_wrong_watchdog_is_said_and_left_alone)
{
	const char *var = manage(file_in_scenario("notify"));

	psupd(.env = {var, "WATCHDOG_USEC=soon"});
	await_log("event=watchdog-refused watchdog_usec=soon ");
	await_line("READY=1");
}

/* ------------------------------------------------------ socket activation */

/* The path of the server's socket. */
static const char *
sock(void)
{
	char *path = scn_alloc(200);

	snprintf(path, 200, "%s/sock", runtime_dir());
	return path;
}

/* "what=path", for the launcher. */
static const char *
with(const char *what, const char *path)
{
	char *arg = scn_alloc(256);

	snprintf(arg, 256, "%s=%s", what, path);
	return arg;
}

static const char *
launcher(void)
{
	char *path = scn_alloc(512);

	snprintf(path, 512, "%s/../tests/helpers/launcher", scn_bin_dir());
	return path;
}

/* Has a process this file open? */
static bool
has_open(pid_t pid, const char *path)
{
	char dir[64], name[400], link[400];
	struct dirent *e;
	bool found = false;
	ssize_t n;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%d/fd", pid);
	d = opendir(dir);
	expect(d != NULL);
	while ((e = readdir(d)) != NULL) {
		snprintf(name, sizeof(name), "%s/%s", dir, e->d_name);
		n = readlink(name, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = '\0';
		found = found || strcmp(link, path) == 0;
	}
	closedir(d);
	return found;
}

/* What `systemctl reload` sees: the same main process, RELOADING until it is
 * over, one way or the other, and the watchdog goes on. */
SCENARIO(service, an_upgrade_is_a_reload_to_the_manager)
{
	const char *var = manage(file_in_scenario("notify"));
	char pid[32];

	psupd(.env = {var, "WATCHDOG_USEC=16000000"}, .workers = 2);
	await_line("READY=1");
	snprintf(pid, sizeof(pid), "MAINPID=%d", psupd_pid());
	/* nothing is changed: nobody is told */
	expect(cli("upgrade", build_dir("foreign"))->code == 1);
	while (hear(0) != NULL)
		expect(!has_line(datagram, "RELOADING=1"), "%s", datagram);
	upgrade_to(build_dir("next"));
	await_line("RELOADING=1");
	expect(has_line(datagram, "MONOTONIC_USEC="), "%s", datagram);
	await_line("READY=1");
	expect(has_line(datagram, pid), "%s", datagram);
	await_line("WATCHDOG=1");
	expect(cli("upgrade", dir_with_imposter("dies", "psup-master"))->code ==
	    1);
	connect_again();
	await_line("RELOADING=1");
	await_line("READY=1");
}

SCENARIO(service, takes_the_socket_it_is_started_with)
{
	struct stat before, after;
	pid_t keeper;

	psupd(.first = true, .wrap = {launcher(), with("listen", sock()),
	          "fds=1"});
	expect(stat(sock(), &before) == 0);
	expect_str(ask("exec", STR("command", "echo hi")), "status",
	    "completed");
	/* a new master gets it, too */
	kill_master();
	expect_ok(ask("list"));
	expect(stat(sock(), &after) == 0 && before.st_ino == after.st_ino);
	/* and it is there for the next server */
	keeper = psupd_pid();
	kill_now(keeper, SIGTERM);
	server_was_killed();
	expect(await_former_server() == 0);
	expect(stat(sock(), &after) == 0 && before.st_ino == after.st_ino);
	psupd(); /* takes its place, and leaves nothing */
	expect_ok(ask("list"));
}

SCENARIO(service, takes_the_one_with_its_name_and_no_other)
{
	const char *other = file_in_scenario("other");
	const char *path = file_in_scenario("file");

	psupd(.wrap = {launcher(), with("listen", other), with("listen", sock()),
	          with("file", path), "fds=3", "names=a:psup:b"});
	expect_ok(ask("list"));
	if (geteuid() == 0) /* its descriptors are nobody else's to see */
		expect(!has_open(psupd_pid(), path));
}

SCENARIO(service, what_is_meant_for_another_is_not_taken)
{
	struct stat st;

	psupd(.wrap = {launcher(), with("listen", file_in_scenario("other")),
	          "fds=1", "pid=1"});
	expect_ok(ask("list"));
	expect(stat(sock(), &st) == 0);
}

/* psupd does not start and says so. */
static void
is_refused(const char *a, const char *b, const char *c, const char *option,
    const char *words)
{
	psupd(.wrap = {launcher(), a, b, c}, .option = option, .fails = true,
	    .first = true); /* so that its log stays */
	await_log(words);
	server_was_killed();
	expect(await_former_server() == 64);
	server_is_gone();
	scn_forget();
}

SCENARIO(service, a_socket_that_does_not_listen_is_refused)
{
	is_refused(with("stream", sock()), "fds=1", NULL, NULL,
	    "descriptor 3, passed by $LISTEN_FDS, is no listening Unix stream");
}

SCENARIO(service, a_descriptor_that_is_not_there_is_refused)
{
	is_refused("fds=1", NULL, NULL, NULL,
	    "descriptor 3, passed by $LISTEN_FDS");
}

SCENARIO(service, several_without_names_are_refused)
{
	is_refused(with("listen", sock()),
	    with("listen", file_in_scenario("other")), "fds=2", NULL,
	    "2 descriptors were passed");
}

SCENARIO(service, a_wrong_count_is_refused)
{
	is_refused("fds=many", NULL, NULL, NULL, "$LISTEN_FDS is \"many\"");
}

/* -------------------------------------------------------------- readiness */

SCENARIO(service, writes_a_newline_once_it_is_ready)
{
	const char *path = file_in_scenario("ready");
	char said[8];
	size_t n;
	FILE *f;

	psupd(.wrap = {launcher(), with("file", path)},
	    .option = "--ready-fd=3");
	await_log("event=ready workers=");
	f = fopen(path, "re");
	expect(f != NULL);
	/* the log line comes first */
	for (int64_t until = now_ms() + SCN_DEADLINE_MS;
	     (n = fread(said, 1, sizeof(said), f)) == 0; rewind(f)) {
		expect(now_ms() < until, "no newline");
		poll(NULL, 0, 1);
	}
	fclose(f);
	expect(n == 1 && said[0] == '\n', "%zu bytes", n);
	if (geteuid() == 0)
		expect(!has_open(psupd_pid(), path));
}

SCENARIO(service, a_descriptor_that_cannot_be_written_is_refused)
{
	is_refused(with("read", "/dev/null"), NULL, NULL, "--ready-fd=3",
	    "--ready-fd 3 is not open for writing");
}
