/* SPDX-License-Identifier: MIT */
/* [sandbox] access: the directory of a scope in its box. Skipped where this
 * machine makes no boxes. */
#include "lib_boxes.h"
#include "lib_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(sandbox_directory);

/* A directory of whom boxes run as, with a file in it. */
static const char *
agent(const char *name)
{
	const char *dir = file_in_scenario(name);
	uid_t uid = geteuid() == 0 ? 65534 : geteuid();
	char *file = scn_format("%s/brief", dir);
	FILE *f;

	expect(mkdir(dir, 0700) == 0);
	f = fopen(file, "we");
	expect(f != NULL && fputs(name, f) >= 0 && fclose(f) == 0);
	expect(geteuid() != 0 || (chown(dir, uid, uid) == 0 &&
	    chown(file, uid, uid) == 0));
	return dir;
}

/* psup.conf where scopes one and two have directories of their own. */
static const char *
two_scopes(const char *access)
{
	return scn_format("access = %s\n[scope \"one\"]\ndirectory = %s\n"
	    "[scope \"two\"]\ndirectory = %s\n", access, agent("first"),
	    agent("second"));
}

static void
begin(const char *more)
{
	struct answer *a;

	psupd(.conf = conf(more));
	a = ask_as(peer("one"), "exec", STR("command", "true"));
	skip_without_boxes(a);
	expect_str(a, "status", "completed");
}

static const char *
in(const char *scope, const char *command)
{
	return says_as(peer(scope), command);
}

SCENARIO(sandbox_directory, is_the_workspace_where_it_may_be_written)
{
	struct answer *a;

	begin(two_scopes("rw"));
	expect(strcmp(in("one", "cat brief; echo more >made; ls / | grep -c "
	    "agent; true"), "first0\n") == 0);
	expect(access(file_in_scenario("first/made"), F_OK) == 0);
	expect(access(file_in_scenario("boxes"), F_OK) < 0,
	    "it has a workspace nobody sees");
	expect(strcmp(in("two", "cat brief; ls | grep -c made; true"),
	    "second0\n") == 0);
	a = ask_as(peer("three"), "exec", STR("command", "true"));
	expect_refused_for(a, "unsupported", "host");
	expect(strcmp(words_of(a), "no sandbox: [sandbox] access = rw, and no "
	    "directory is named for scope three; expected directory = PATH in "
	    "[scope \"NAME\"] or [sandbox]") == 0, "%s", words_of(a));
	a = ask("explainSandbox", STR("scope", "one"));
	expect_text(a, scn_format("workspace: %s, its scope's directory",
	    file_in_scenario("first")));
	a = ask("sandboxes", STR("box", "agent two"));
	expect(psup_get_is(psup_value_at(psup_value_get(details(a), "boxes"),
	    0), "directory", file_in_scenario("second")));
}

SCENARIO(sandbox_directory, is_read_only_beside_a_workspace)
{
	begin(two_scopes("ro"));
	expect(strcmp(in("one", "cat /agent/brief; echo mine >x; cat x"),
	    "firstmine\n") == 0);
	expect(strcmp(in("one", "(echo x >/agent/x) 2>/dev/null || echo no; "
	    "chmod 777 /agent 2>/dev/null || echo no; rm -f /agent/brief "
	    "2>/dev/null || echo no; mv /agent /a 2>/dev/null || echo no; "
	    "ln -s /etc /agent/l 2>/dev/null || echo no"),
	    "no\nno\nno\nno\nno\n") == 0);
	expect(access(file_in_scenario("first/x"), F_OK) < 0);
	expect(access(file_in_scenario("boxes/agent%20one/x"), F_OK) == 0);
	expect_text(ask("explainSandbox", STR("scope", "two")),
	    scn_format("shows %s, its scope's directory, as /agent, read-only",
	        file_in_scenario("second")));
}

/* A path of the host in it is the box's; and no other is. */
SCENARIO(sandbox_directory, is_where_a_call_in_it_begins)
{
	const char *sub = file_in_scenario("first/sub");
	struct peer *p;
	struct answer *a;

	begin(two_scopes("rw"));
	p = peer("one");
	(void)says_as(p, "mkdir sub; ln -s /etc out");
	a = ask_as(p, "exec", STR("command", "pwd"), STR("workdir", sub));
	expect_str(a, "aggregated", "/workspace/sub\n");
	a = ask_as(p, "exec", STR("command", "pwd"), STR("baseDir", sub));
	expect_str(a, "aggregated", "/workspace/sub\n");
	a = ask_as(p, "exec", STR("command", "pwd"), STR("baseDir", sub),
	    STR("workdir", "../sub"));
	expect_str(a, "code", "bad-workdir");
	a = ask_as(p, "exec", STR("command", "pwd"), STR("workdir",
	    scn_format("%s/../../second", sub)));
	expect_str(a, "code", "bad-workdir");
	a = ask_as(p, "exec", STR("command", "pwd"), STR("workdir",
	    file_in_scenario("second")));
	expect_str(a, "code", "bad-workdir");
	a = ask_as(p, "exec", STR("command", "pwd"), STR("baseDir",
	    file_in_scenario("second")));
	expect_str(a, "aggregated", "/workspace\n");
	a = ask_as(p, "exec", STR("command", "pwd -P"), STR("workdir",
	    file_in_scenario("first/out")));
	expect_str(a, "aggregated", "/etc\n");
}

SCENARIO(sandbox_directory, another_one_is_another_box)
{
	const char *more = two_scopes("rw"), *id, *dir = agent("third");
	struct peer *p;

	begin(more);
	p = peer("one");
	id = background(STR("command", "cat brief; read -r line; cat brief"),
	    STR("scope", "one"));
	await_output(id, "first");
	write_conf(conf(scn_format("access = rw\n[scope \"one\"]\n"
	    "directory = %s\n", dir)));
	kill_now(keeper_pid(), SIGHUP);
	await_log("config-read");
	expect(strcmp(says_as(p, "cat brief"), "third") == 0);
	kill_master(); /* the next one knows which is whose */
	expect(strcmp(in("one", "cat brief"), "third") == 0);
	ends_as_told(id);
	expect(strcmp(read_retained(id).bytes, "firstfirst") == 0);
}

/* Whoever puts something else in its place shows that to no box. */
SCENARIO(sandbox_directory, a_link_in_its_place_is_refused)
{
	struct answer *a;

	begin(two_scopes("rw"));
	expect(rename(file_in_scenario("second"), file_in_scenario("away")) ==
	    0);
	expect(symlink(file_in_scenario("first"), file_in_scenario("second")) ==
	    0);
	a = ask_as(peer("two"), "exec", STR("command", "cat brief"));
	expect_refused_for(a, "unsupported", "host");
	expect(strstr(words_of(a), "there is a link in it by now") != NULL,
	    "%s", words_of(a));
}

SCENARIO(sandbox_directory, a_link_in_the_place_of_a_bind_is_refused)
{
	struct answer *a;

	begin(scn_format("bind = %s:/b:ro\nscope = session\n",
	    agent("first")));
	expect(strcmp(in("one", "cat /b/brief"), "first") == 0);
	expect(rename(file_in_scenario("first"), file_in_scenario("away")) ==
	    0);
	expect(symlink(agent("second"), file_in_scenario("first")) == 0);
	a = ask_as(peer("one"), "exec", STR("command", "cat /b/brief"));
	expect_refused_for(a, "unsupported", "host");
	expect(strstr(words_of(a), "first: there is a link in it by now") !=
	    NULL, "%s", words_of(a));
}

/* A bwrap that is given another directory than the one that was looked at, as
 * when somebody renames them between the two. */
static void
begin_replacing(const char *more)
{
	const char *bin = file_in_scenario("bin");
	struct answer *a;
	FILE *f;

	expect(mkdir(bin, 0755) == 0);
	f = fopen(scn_format("%s/bwrap", bin), "we");
	expect(f != NULL);
	(void)fprintf(f, "#!/bin/bash\nfrom=%s to=%s\n"
	    "exec /usr/bin/bwrap \"${@/#$from/$to}\"\n",
	    file_in_scenario("first"), file_in_scenario("second"));
	expect(fclose(f) == 0 && chmod(scn_format("%s/bwrap", bin), 0755) == 0);
	if (access("/usr/bin/bwrap", X_OK) < 0)
		skip_scenario("there is no /usr/bin/bwrap");
	psupd(.conf = conf(more), .env = {scn_format("PATH=%s:/usr/bin:/bin",
	    bin)});
	a = ask_as(peer("two"), "exec", STR("command", "true"));
	skip_without_boxes(a);
	if (strstr(more, "access") != NULL)
		expect_str(a, "status", "completed");
	a = ask_as(peer("one"), "exec", STR("command", "touch ran /b/ran"));
	expect_refused_for(a, "unsupported", "host");
	expect(strstr(words_of(a), "was replaced while its box was made") !=
	    NULL, "%s", words_of(a));
	expect(access(file_in_scenario("second/ran"), F_OK) < 0);
}

/* Nobody ever runs in that box. */
SCENARIO(sandbox_directory, one_that_was_replaced_under_bwrap_is_refused)
{
	begin_replacing(two_scopes("rw"));
}

SCENARIO(sandbox_directory, a_bind_that_was_replaced_is_refused)
{
	(void)agent("second");
	begin_replacing(scn_format("bind = /usr:/b/x:ro\nbind = %s:/b:rw\n",
	    agent("first")));
}

SCENARIO(sandbox_directory, binds_may_lie_over_each_other)
{
	begin(scn_format("bind = %s:/b/c:ro\nbind = %s/brief:/d:ro\n"
	    "bind = %s:/b:ro\n", agent("first"), file_in_scenario("first"),
	    agent("second")));
	expect(strcmp(in("one", "cat /b/brief /d"), "secondfirst") == 0);
}

/* The next master sees that it is another one by now. */
SCENARIO(sandbox_directory, one_that_is_replaced_ends_nobody_inside)
{
	const char *id;

	begin(two_scopes("rw"));
	id = background(STR("command", "touch old; read -r line; ls"),
	    STR("scope", "one"));
	while (access(file_in_scenario("first/old"), F_OK) < 0)
		usleep(1000);
	expect(rename(file_in_scenario("first"), file_in_scenario("away")) ==
	    0);
	(void)agent("first");
	kill_master();
	expect(strcmp(in("one", "ls"), "brief\n") == 0);
	ends_as_told(id);
	expect(strcmp(read_retained(id).bytes, "brief\nold\n") == 0);
}

/* What is root's is nobody's directory; it is known before the server runs. */
SCENARIO(sandbox_directory, of_somebody_else_is_refused)
{
	const char *dir = file_in_scenario("roots");
	struct run *r;

	if (geteuid() != 0)
		skip_scenario("this user is not root");
	expect(mkdir(dir, 0755) == 0);
	write_conf(conf(scn_format("access = ro\ndirectory = %s\n", dir)));
	r = scn_run(NULL, 0, (const char *const[]){"psupd", NULL});
	expect(r->code != 0 && r->code < 124, "exit %d", r->code);
	expect(strstr(r->err, "is uid 0's; expected one of uid 65534, whom "
	    "boxes run as") != NULL, "%s", r->err);
}

/* Where a mount's server goes away, the scopes whose boxes would show it are refused,
 * and nobody waits with them. */
SCENARIO(sandbox_directory, that_never_answers_is_refused_by_name)
{
	const char *dir = file_in_scenario("share"), *text;
	struct answer *a;
	pid_t master;

	if (geteuid() != 0)
		skip_scenario("only root mounts over its server's directories");
	expect(mkdir(dir, 0755) == 0);
	text = conf(scn_format("bind = %s:/share:ro\n", dir));
	psupd(.conf = text, .wrap = {"unshare", "-m"});
	a = ask("exec", STR("command", "ls /share"));
	skip_without_boxes(a);
	expect_str(a, "status", "completed");
	master = master_pid();
	mount_dead(master, dir);
	/* the box that shows what lay there goes on, another is not made */
	expect_says("echo in", "in\n");
	for (int i = 0; i < 3; i++) {
		a = ask_as(peer("other"), "exec", STR("command", "true"));
		expect_refused_for(a, "unsupported", "host");
		expect(strcmp(words_of(a), scn_format("no sandbox: bind %s "
		    "does not answer, as a mount whose server is gone", dir)) ==
		    0, "%s", words_of(a));
	}
	expect_text(ask("explainSandbox"), "does not answer");
	kill_now(keeper_pid(), SIGHUP);
	await_log("event=config-refused");
	expect(count_log("does not answer") > 0);
	expect_says("echo still in", "still in\n");
	expect(master_pid() == master, "the master was lost");
	/* nor does who still looks hold up the next one */
	kill_now(master, SIGKILL);
	await_new_master(master);
	expect_ok(ask("list"));
}

/* Where it goes away while no master looks, the next one gives up its boxes, and
 * nothing else that psup.conf says. */
SCENARIO(sandbox_directory, whose_server_is_gone_costs_the_boxes_alone)
{
	const char *dir = file_in_scenario("share");

	if (geteuid() != 0)
		skip_scenario("only root mounts over its server's directories");
	expect(mkdir(dir, 0755) == 0);
	psupd(.conf = scn_format("[sandbox]\nmode = named\nuser = nobody\n"
	    "workspace = %s\nbind = %s:/share:ro\n[scope \"boxed\"]\n"
	    "sandbox = yes\n[lane \"few\"]\nlimits.openFiles = 99\n",
	    file_in_scenario("boxes"), dir), .wrap = {"unshare", "-m"});
	mount_dead(keeper_pid(), dir);
	kill_master();
	expect_refused_for(ask_as(peer("boxed"), "exec",
	    STR("command", "true")), "unsupported", "host");
	expect_str(ask_as(peer("plain"), "exec", STR("command", "ulimit -n"),
	    STR("lane", "few")), "aggregated", "99\n");
	expect(count_log("no box is made, and all else is in force") > 0);
}

/* In the master's namespace of mounts, and lives as long as it is let. */
static pid_t
mounts_keeper(pid_t master)
{
	int fd = (int)syscall(SYS_pidfd_open, master, 0), there[2];
	pid_t pid;
	char c;

	expect(fd >= 0 && pipe2(there, O_CLOEXEC) == 0);
	pid = fork();
	if (pid == 0) {
		if (setns(fd, CLONE_NEWNS) != 0 || write(there[1], "", 1) != 1)
			_exit(1);
		(void)pause();
		_exit(0);
	}
	close(there[1]);
	expect(read(there[0], &c, 1) == 1, "it is in another namespace");
	close(there[0]);
	close(fd);
	return pid;
}

/* A master that finds a box beside a mount whose server is gone lets others in, as
 * long as that box lives. */
SCENARIO(sandbox_directory, whose_server_is_gone_ends_no_box)
{
	const char *dir = file_in_scenario("share"), *seen;
	struct answer *a;
	struct stat st;
	pid_t pid;

	if (geteuid() != 0)
		skip_scenario("only root mounts over its server's directories");
	expect(mkdir(dir, 0755) == 0);
	psupd(.conf = conf(scn_format("bind = %s:/share:ro\n", dir)),
	    .wrap = {"unshare", "-m"});
	a = ask("exec", STR("command", "ls /share"));
	skip_without_boxes(a);
	pid = mounts_keeper(master_pid());
	seen = scn_format("/proc/%d/root%s", (int)keeper_pid(), dir);
	mount_dead(pid, dir);
	kill_now(pid, SIGKILL);
	expect(waitpid(pid, NULL, 0) == pid);
	expect(stat(seen, &st) != 0 && errno == ENOTCONN, "%s",
	    strerror(errno)); /* it waits until the server is gone */
	kill_master();
	expect_says("echo in again", "in again\n");
}
