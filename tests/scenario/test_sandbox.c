/* SPDX-License-Identifier: MIT */
/* host sandbox: what a command in a box can do and see, how it ends, what becomes
 * of it when its box, its worker or the master dies. Skipped where this machine
 * makes no boxes. */
#include "lib_scn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

TestSuite(sandbox);

/* Is it this machine, or this build's place, where no box can be made? */
static bool
machine_refuses(const char *why)
{
	return strstr(why, "the kernel refuses user namespaces") != NULL ||
	    strstr(why, "bwrap is not installed") != NULL ||
	    strstr(why, "user.max_user_namespaces is reached") != NULL ||
	    strstr(why, "/proc is masked") != NULL ||
	    strstr(why, "may not enter the directory that psup-box") !=
	        NULL;
}

/* psup.conf: every command in a box; and these lines of [sandbox]. */
static const char *
conf(const char *more)
{
	char *text = scn_alloc(4096);
	const char *ws = file_in_scenario("boxes");

	/* the user of the boxes is to come to them */
	expect(chmod(file_in_scenario(""), 0711) == 0);
	(void)snprintf(text, 4096,
	    "[sandbox]\nmode = all\nworkspace = %s\n%s%s", ws,
	    geteuid() == 0 ? "user = nobody\n" : "", more);
	return text;
}

/* A server with boxes; the scenario is skipped where it can have none. */
static void
boxes(const char *more)
{
	struct answer *a;

	psupd(.conf = conf(more));
	a = ask("exec", STR("command", "true"));
	if (strcmp(code_of(a), "unsupported") == 0 &&
	    machine_refuses(words_of(a)))
		skip_scenario("%s", words_of(a));
	expect_str(a, "status", "completed");
}

/* What a command says that ends with 0. */
static const char *
says_as(struct peer *p, const char *command)
{
	struct answer *a = ask_as(p, "exec", STR("command", command));

	expect_str(a, "status", "completed");
	expect(number_of(a, "exitCode") == 0, "%s: %s", command, words_of(a));
	return text_of(a, "aggregated");
}
#define says(command) says_as(NULL, command)
#define expect_says(command, want)                                         \
	do {                                                               \
		const char *said_ = says(command);                         \
		expect(strcmp(said_, want) == 0, "%s: %s", command, said_); \
	} while (0)

/* The bwrap that is a child of the keeper; there is one. */
static pid_t
bwrap_pid(void)
{
	char path[320], name[32];
	DIR *proc = opendir("/proc");
	pid_t found = 0;
	struct dirent *e;
	FILE *f;
	int ppid;

	expect(proc != NULL);
	while ((e = readdir(proc)) != NULL) {
		(void)snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		f = e->d_name[0] >= '1' && e->d_name[0] <= '9'
		    ? fopen(path, "re")
		    : NULL;
		if (f == NULL)
			continue;
		if (fscanf(f, "%*d (%31[^)]) %*c %d", name, &ppid) == 2 &&
		    strcmp(name, "bwrap") == 0 && ppid == keeper_pid())
			found = (pid_t)atoi(e->d_name);
		fclose(f);
	}
	closedir(proc);
	return found;
}

static pid_t
box_pid(void)
{
	pid_t pid = child_of(bwrap_pid());

	expect(pid > 1, "no box");
	return pid;
}

/* ------------------------------------------------------------------- ends */

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

/* -------------------------------------------------------------- powerless */

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
	a = ask("exec", STR("command", "pwd"), STR("workdir", "sub/../../etc"));
	expect_str(a, "code", "bad-workdir");
	a = ask("exec", STR("command", "pwd"), STR("workdir", "absent"));
	expect_str(a, "code", "bad-workdir");
}

/* --------------------------------------------------------------- terminal */

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

/* ------------------------------------------------------------------ deaths */

SCENARIO(sandbox, dies_with_its_box_and_says_so)
{
	struct peer *listener;
	const psup_value *row;
	struct answer *a;
	const char *id;
	pid_t box;

	boxes("");
	listener = peer(NULL);
	listen_to_events(listener, "test");
	id = background(STR("command", "echo up; exec sleep 1000"));
	await_output(id, "up");
	box = box_pid();
	kill_now(box, SIGKILL);
	row = await_end(id);
	expect(psup_get_is(row, "exitReason", "lost"));
	a = ask("poll", STR("sessionId", id));
	expect_str(a, "failureKind", "sandbox");
	expect_text(a, "its box ended while it ran");
	(void)await_events(listener, 1);
	expect(strcmp(event_at(listener, 0)->kind, "lost") == 0);
	/* and there is another one for the next */
	expect_says("echo again", "again\n");
	expect(box_pid() != box);
	box = box_pid();
	kill_now(bwrap_pid(), SIGKILL);
	await_gone(box);
	/* until the server has heard of it, it has commands go there */
	do
		row = psup_value_at(psup_value_get(details(ask("sandboxes")),
		    "boxes"), 0);
	while (psup_get_int(row, "pid", 0) == box);
	expect_says("echo again", "again\n");
}

SCENARIO(sandbox, outlives_worker_and_master)
{
	const char *id;
	pid_t box;

	boxes("");
	id = background(STR("command", "echo up; read -r line; echo $line"));
	await_output(id, "up");
	box = box_pid();
	kill_master();
	expect_says("echo after a master", "after a master\n");
	kill_worker_of(id);
	expect_says("echo after a worker", "after a worker\n");
	expect(box_pid() == box, "it is another box");
	expect_ok(ask("write", STR("sessionId", id), STR("data", "done\n")));
	expect(psup_get_int(await_end(id), "exitCode", -1) == 0);
	expect(strcmp(read_retained(id).bytes, "up\ndone\n") == 0);
}

SCENARIO(sandbox, what_hides_in_it_is_killed)
{
	struct answer *a;
	const char *id;

	boxes("");
	id = background(STR("command",
	    "trap '' TERM; for i in 1 2 3 4 5 6 7 8; do "
	    "(setsid sh -c 'trap \"\" TERM; env -i sleep 1000' "
	    ">/dev/null 2>&1 &); done; echo up; exec sleep 1000"));
	await_output(id, "up");
	a = ask("kill", STR("sessionId", id), INT("graceMs", 100));
	expect_ok(a);
	expect_says("cat /proc/[0-9]*/comm | grep -c '^sleep$'; true", "0\n");
}

#ifdef PSUP_FAULTS
/* A porter that dies before its clone has started nothing, and the next one dies
 * as well; one that dies behind it has started it once. */
SCENARIO(sandbox, a_porter_that_dies_starts_nothing_or_once)
{
	struct answer *a;

	psupd(.conf = conf(""),
	    .env = {"PSUP_FAULTS=porter.before-clone=kill"});
	a = ask("exec", STR("command", "echo ran >>/workspace/ran"));
	if (strcmp(code_of(a), "unsupported") == 0 &&
	    machine_refuses(words_of(a)))
		skip_scenario("%s", words_of(a));
	expect_str(a, "exitReason", "spawn-error");
	expect(access(file_in_scenario("boxes/agent%20/ran"), F_OK) != 0);
}

SCENARIO(sandbox, a_porter_that_dies_behind_its_clone_has_started_it_once)
{
	struct answer *a;

	psupd(.conf = conf(""),
	    .env = {"PSUP_FAULTS=porter.after-clone=kill"});
	a = ask("exec", STR("command", "echo once >>once; cat once; exit 3"));
	if (strcmp(code_of(a), "unsupported") == 0 &&
	    machine_refuses(words_of(a)))
		skip_scenario("%s", words_of(a));
	expect_int(a, "exitCode", 3);
	expect_str(a, "aggregated", "once\n");
}

/* Its worker looks whether it has let go, and again; between the two it does. */
SCENARIO(sandbox, a_porter_that_lets_go_between_two_looks_has_started_it_once)
{
	const char *ran = file_in_scenario("boxes/agent%20/once");
	const psup_value *all;
	struct question *q;
	struct answer *a;

	psupd(.conf = conf(""), .workers = 1,
	    .env = {"PSUP_FAULTS=porter.between-looks=stop"});
	q = ask_later(peer(NULL), "exec",
	    STR("command", "echo once >>once; cat once; exit 3"));
	while (access(ran, F_OK) != 0 && !is_answered(q))
		poll(NULL, 0, 1);
	all = psup_value_get(details(ask("status")), "workers");
	for (size_t i = 0; i < psup_value_count(all); i++)
		kill_now((pid_t)psup_get_int(psup_value_at(all, i), "pid", 0),
		    SIGCONT);
	a = answer_of(q);
	if (strcmp(code_of(a), "unsupported") == 0 &&
	    machine_refuses(words_of(a)))
		skip_scenario("%s", words_of(a));
	expect_int(a, "exitCode", 3);
	expect_str(a, "aggregated", "once\n");
}
#endif

/* ---------------------------------------------------------- boxes themselves */

SCENARIO(sandbox, is_set_up_once)
{
	boxes("setup = echo once >>/workspace/setup\n");
	expect_says("cat setup", "once\n");
	kill_master();
	expect_says("cat setup", "once\n");
}

SCENARIO(sandbox, a_setup_that_fails_is_the_reason)
{
	struct answer *a;

	psupd(.conf = conf("setup = echo no such luck && exit 4\n"));
	a = ask("exec", STR("command", "true"));
	expect_refused_for(a, "unsupported", "host");
	if (machine_refuses(words_of(a)))
		skip_scenario("%s", words_of(a));
	expect(strstr(words_of(a), "its setup command failed (exit 4): no such "
	    "luck") != NULL, "%s", words_of(a));
}

/* Neither its time, nor what it says or takes, is without end. */
SCENARIO(sandbox, a_setup_has_the_bounds_of_its_box)
{
	struct answer *a;

	psupd(.conf = conf("setup = echo slow && exec sleep 1000\n"
			   "setup_sec = 1\n"));
	a = ask("exec", STR("command", "true"));
	expect_refused_for(a, "unsupported", "host");
	if (machine_refuses(words_of(a)))
		skip_scenario("%s", words_of(a));
	expect(strcmp(words_of(a), "no sandbox: its setup command did not end "
	    "within 1 s (sandbox.setup_sec)") == 0, "%s", words_of(a));
	write_conf(conf("pids = 20\nsetup = i=0; while [ $i -lt 60 ]; do "
	    "sleep 100 & i=$((i+1)); done\n"));
	kill_now(keeper_pid(), SIGHUP);
	await_log("event=config-read");
	a = ask("exec", STR("command", "true"));
	expect_refused_for(a, "unsupported", "host");
	expect(strstr(words_of(a), "fork") != NULL, "%s", words_of(a));
}

SCENARIO(sandbox, a_setup_may_say_much)
{
	boxes("setup = head -c 50000000 /dev/zero\n");
	expect_says("echo well", "well\n");
}

/* What it was made of, and that it is to end, a master's death does not undo. */
SCENARIO(sandbox, of_older_settings_is_closed_over_a_new_master)
{
	const char *id;
	pid_t box;

	boxes("env = WHICH=old\n");
	id = background(STR("command", "echo up; read -r line; echo $line"));
	await_output(id, "up");
	box = box_pid();
	write_conf(conf("env = WHICH=new\npids = 77\n"));
	kill_master(); /* which takes the new settings up */
	expect_says("echo $WHICH", "new\n");
	expect(strcmp(says("readlink /proc/self/ns/pid"), "") != 0);
	kill_master();
	expect_ok(ask("write", STR("sessionId", id), STR("data", "done\n")));
	expect(psup_get_int(await_end(id), "exitCode", -1) == 0);
	await_gone(box);
	expect_says("echo still $WHICH", "still new\n");
}

/* Nobody enters one that was pruned, whoever asks. */
SCENARIO(sandbox, that_is_pruned_stays_so_over_a_new_master)
{
	const char *id, *old;
	pid_t box;

	boxes("");
	id = background(STR("command", "readlink /proc/self/ns/pid; echo up; "
	    "read -r line"));
	await_output(id, "up");
	old = says("readlink /proc/self/ns/pid");
	box = box_pid();
	expect_int(ask("pruneSandboxes"), "pruned", 1);
	kill_master();
	expect(strcmp(says("readlink /proc/self/ns/pid"), old) != 0,
	    "it entered the old one");
	expect_ok(ask("kill", STR("sessionId", id)));
	await_gone(box);
}

/* A box of one session ends though nobody lived who saw that one's end. */
SCENARIO(sandbox, of_a_session_ends_with_it_over_a_new_master)
{
	const char *id;
	pid_t box;

	boxes("scope = session\n");
	id = background(STR("command", "echo up; exec sleep 1000"));
	await_output(id, "up");
	box = box_pid();
	kill_now(master_pid(), SIGSTOP);
	kill_now(pid_of(id), SIGKILL);
	kill_master();
	await_end(id);
	await_gone(box);
}

/* Its places are those of its scope: a box and a command in it are two. */
SCENARIO(sandbox, takes_a_place_among_the_sessions_of_its_scope)
{
	struct answer *a = NULL;
	int64_t most, before;
	int n;

	psupd(.conf = conf("scope = session\n"),
	    .wrap = {"prlimit", "--nofile=400:400"});
	a = ask("exec", STR("command", "true"));
	if (strcmp(code_of(a), "unsupported") == 0 &&
	    machine_refuses(words_of(a)))
		skip_scenario("%s", words_of(a));
	most = share_in_status("sessions", "limit");
	before = share_in_status("sessions", "used");
	for (n = 0; n < most; n++) {
		a = ask("exec", STR("command", "echo up; "
		    "exec sleep 1000"), YES("background"), STR("scope", "hog"));
		if (a->status != PSUP_OK || !psup_get_is(details(a), "status",
		    "running"))
			break;
		await_output(id_of(a), "up");
	}
	expect(n < most / 2, "%d of %lld", n, (long long)most);
	expect(share_in_status("sessions", "used") - before >= 2 * n - 4);
	a = ask("exec", STR("command", "echo on"), STR("scope", "quiet"));
	expect_str(a, "aggregated", "on\n");
}

SCENARIO(sandbox, of_a_session_ends_with_it)
{
	pid_t box;
	const char *id;

	boxes("scope = session\n");
	id = background(STR("command", "echo up; read -r line"));
	await_output(id, "up");
	box = box_pid();
	expect_ok(ask("kill", STR("sessionId", id)));
	await_gone(box);
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

/* Other settings are another box's; who is inside goes on. */
SCENARIO(sandbox, is_made_anew_for_other_settings)
{
	const char *id;
	pid_t box;

	boxes("");
	id = background(STR("command", "echo up; read -r line; echo $line"));
	await_output(id, "up");
	box = box_pid();
	write_conf(conf("env = MORE=yes\nnetwork = none\npids = 77\n"));
	kill_now(keeper_pid(), SIGHUP);
	await_log("event=config-read");
	expect_says("echo $MORE", "yes\n");
	expect_ok(ask("write", STR("sessionId", id), STR("data", "done\n")));
	expect(psup_get_int(await_end(id), "exitCode", -1) == 0);
	await_gone(box);
}

SCENARIO(sandbox, is_listed_and_pruned)
{
	struct answer *a;
	const psup_value *list;
	const char *id;

	boxes("");
	id = background(STR("command", "read x"));
	a = ask("sandboxes");
	list = psup_value_get(details(a), "boxes");
	expect(psup_value_count(list) == 1, "%zu", psup_value_count(list));
	expect(psup_get_is(psup_value_at(list, 0), "box", "agent "));
	expect(psup_get_is(psup_value_at(list, 0), "state", "ready"));
	expect(psup_get_int(psup_value_at(list, 0), "inside", 0) == 1);
	list = psup_value_get(details(ask("status")), "boxes");
	expect(psup_get_int(list, "total", 0) == 1 &&
	    psup_get_int(list, "inside", 0) == 1 &&
	    psup_get_int(list, "ready", 0) == 1);
	/* it is no session of anybody's */
	expect(psup_get_int(psup_value_get(details(ask("status")), "sessions"),
	    "running", 0) == 1);
	expect_refused(ask("sandboxes", STR("box", "agent nobody")),
	    "not-found");
	expect_int(ask("pruneSandboxes", STR("box", "agent ")), "pruned", 1);
	a = ask("sandboxes", STR("box", "agent "));
	list = psup_value_get(details(a), "boxes");
	expect(psup_get_is(psup_value_at(list, 0), "state", "draining"));
	ask("write", STR("sessionId", id), STR("data", "go\n"));
	await_end(id);
	expect_str(ask("exec", STR("command", "true")), "status", "completed");
}

/* What would take a call out of its box by a parameter. */
SCENARIO(sandbox, a_call_gets_less_than_its_box_has_and_never_more)
{
	struct arg spill = MAP("spill", "path", file_in_scenario("spilled"));
	struct answer *a;

	boxes("memory = 128m\n");
	a = ask("exec", STR("command", "echo out"), spill);
	expect_refused_for(a, "unsupported", "spill");
	expect(access(file_in_scenario("spilled"), F_OK) != 0, "it was made");
	a = ask("exec", STR("command", "true"),
	    ONE("limits", "memoryBytes", 1 << 28));
	expect_refused_for(a, "invalid-params", "limits.memoryBytes");
	expect(strstr(words_of(a), "268435456; expected at most 134217728") !=
	    NULL, "%s", words_of(a));
	a = ask("exec", STR("command", "true"), ONE("limits", "memoryBytes", 1 << 26));
	expect_str(a, "status", "completed");
	write_conf(conf("memory = 128m\n[limits]\nmemoryBytes = 1073741824\n"));
	kill_now(keeper_pid(), SIGHUP);
	await_log("event=config-read");
	a = ask("exec", STR("command", "true"));
	expect(psup_get_int(psup_value_get(psup_value_get(details(a),
	    "limits"), "memoryBytes"), "limit", 0) == 128 << 20, "%s",
	    words_of(a));
}

/* ----------------------------------------------------------------- escapes */

static int
listens(int domain, const void *addr, socklen_t len)
{
	int fd = socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0);

	expect(fd >= 0 && bind(fd, addr, len) == 0 && listen(fd, 4) == 0, "%s",
	    strerror(errno));
	return fd;
}

SCENARIO(sandbox, lets_nobody_out)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct sockaddr_in in = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(in);
	char dir[600], real[4096], bind_line[1300], call[1400], name[32];
	struct answer *a;
	int fds[2], n;

	(void)snprintf(dir, sizeof(dir), "%s/../tests/helpers", scn_bin_dir());
	expect(realpath(dir, real) != NULL && strlen(real) < sizeof(dir));
	(void)snprintf(bind_line, sizeof(bind_line), "bind = %.1200s:/helpers:ro\n",
	    real);
	boxes(bind_line);
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

/* What a box writes into memory is bounded, wherever it writes. */
SCENARIO(sandbox, bounds_its_own_file_systems)
{
	boxes("memory = 64m\n");
	expect_says("for d in /tmp /dev/shm /run /var; do "
	    "df -k $d | tail -1 | while read -r x size y; do "
	    "echo $size; done; done",
	    "32768\n16384\n8192\n8192\n");
	expect_says("for d in /tmp /dev/shm /run /var; do "
	    "head -c 100000000 /dev/zero 2>/dev/null >$d/x && echo all; "
	    "rm $d/x; done; (echo x >/dev/x) 2>/dev/null || echo refused",
	    "refused\n");
}

SCENARIO(sandbox, bounds_processes_and_memory)
{
	struct answer *a;

	boxes("pids = 40\nmemory = 64m\n");
	a = ask("exec", STR("command",
	    "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo ${#x}"));
	expect(strstr(words_of(a), "200000000") == NULL, "%s", words_of(a));
	expect_says("echo well", "well\n");
	a = ask("exec", STR("command",
	    "i=0; while [ $i -lt 200 ]; do sleep 100 & i=$((i+1)); done; wait"),
	    INT("timeout", 20), NIL("yieldMs")); /* they fill the box */
	expect(strcmp(text_of(a, "status"), "running") != 0);
	expect(strstr(words_of(a), "fork") != NULL ||
	    strstr(words_of(a), "Resource temporarily") != NULL, "%s",
	    words_of(a));
}

#define EATS_50M "head -c 50000000 /dev/zero | tail -c 50000000 >/dev/null"
#define FORKS_25 "i=0; while [ $i -lt 25 ]; do sleep 600 >/dev/null 2>&1 & " \
		 "i=$((i+1)); done"

/* All that run in it, and what they leave in its /tmp, count as one. */
SCENARIO(sandbox, is_bounded_as_a_whole)
{
	const psup_value *row;
	struct answer *a;

	boxes("memory = 64m\npids = 40\n");
	row = psup_value_at(psup_value_get(details(ask("sandboxes")), "boxes"),
	    0);
	if (psup_get_is(row, "memoryBy", "rlimit") ||
	    psup_get_is(row, "pidsBy", "rlimit"))
		skip_scenario("no control group here bounds a box");
	(void)says("head -c 24000000 /dev/zero >/tmp/a");
	a = ask("exec", STR("command", EATS_50M));
	expect_str(a, "exitReason", "oom");
	expect_text(a, "out of memory (limit memoryBytes of its sandbox)");
	/* who was killed by somebody else was not out of memory */
	a = ask("exec", STR("command", "rm /tmp/a; kill -KILL $$"));
	expect_str(a, "exitReason", "signal");
	/* a session with less than its box has */
	a = ask("exec", STR("command", EATS_50M),
	    ONE("limits", "memoryBytes", 20 << 20));
	expect_str(a, "exitReason", "oom");
	expect_text(a, "out of memory (limit memoryBytes)");
	expect_str(ask("exec", STR("command", EATS_50M)), "status", "completed");
	/* two that would each be few enough */
	(void)says(FORKS_25);
	a = ask("exec", LIST("argv", "sh", "-c", FORKS_25));
	expect_str(a, "exitReason", "limit");
	expect_text(a, "limit pids of its sandbox");
}
