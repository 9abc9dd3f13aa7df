/* SPDX-License-Identifier: MIT */
/* [sandbox] backend = container: somebody else's container is the box. Its engine
 * is tests/helpers/engine, and the container what bubblewrap makes here: as root
 * without namespaces of users, as docker's; else with one, as a rootless one. The
 * last scenario has the real podman. */
#include "lib_boxes.h"
#include "lib_inner.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(sandbox_container);

static pid_t made; /* whom bubblewrap's child is */

static void
put(const char *name, const char *text)
{
	const char *path = scn_format("%s/%s", file_in_scenario("bin"), name);
	FILE *f = fopen(path, "we");

	expect(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
	expect(chmod(path, 0755) == 0);
}

/* What the engine says of it from now on. */
static void
engine_says(const char *script)
{
	put("agent-1.new", script);
	expect(rename(file_in_scenario("bin/agent-1.new"),
	    file_in_scenario("bin/agent-1")) == 0);
}

/* A container, which ends with us; its first process. */
static pid_t
run_container_with(bool mknod)
{
	static const char *const words[] = {"setpriv", "--bounding-set",
	    "-mknod", "bwrap", "--unshare-pid",
	    "--unshare-net", "--unshare-ipc", "--unshare-uts",
	    "--unshare-cgroup-try", "--die-with-parent", "--ro-bind", "/usr",
	    "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib",
	    "/lib", "--symlink", "usr/lib64", "/lib64", "--dev", "/dev",
	    "--proc", "/proc", "--perms", "1777", "--tmpfs", "/tmp", "--perms",
	    "0777", "--dir", "/workspace", "--hostname", "agent-1",
	    "--info-fd", "3", "sh", "-c",
	    "echo up; exec cat >/dev/null", NULL};
	char said[400] = "";
	const char *at;
	size_t len = 0, skip;
	int out[2], in[2];
	ssize_t n;

	expect(pipe2(out, O_CLOEXEC) == 0 && pipe2(in, O_CLOEXEC) == 0);
	made = fork();
	expect(made >= 0);
	if (made == 0) {
		/* first away from where they are to be */
		in[0] = fcntl(in[0], F_DUPFD_CLOEXEC, 10);
		out[1] = fcntl(out[1], F_DUPFD_CLOEXEC, 10);
		(void)dup2(in[0], 0);
		(void)dup2(out[1], 3);
		(void)dup2(out[1], 1);
		(void)dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 2);
		/* else it has a namespace, in which it makes none */
		skip = mknod || geteuid() != 0 ? 3 : 0;
		execvp(words[skip], (char *const *)(uintptr_t)(words + skip));
		_exit(127);
	}
	(void)close(out[1]);
	(void)close(in[0]);
	while ((strchr(said, '}') == NULL || strstr(said, "up\n") == NULL) &&
	    (n = read(out[0], said + len, sizeof(said) - 1 - len)) > 0)
		len += (size_t)n;
	(void)close(out[0]);
	at = strstr(said, "\"child-pid\": ");
	if (at == NULL || strstr(said, "up\n") == NULL)
		skip_scenario("this machine makes no boxes");
	return (pid_t)atoi(at + 13);
}

static pid_t
run_container(void)
{
	return run_container_with(false);
}

static void
end_container(pid_t pid)
{
	kill_now(pid, SIGKILL);
	expect(waitpid(made, NULL, 0) == made);
}

static const char *
conf_of(const char *more)
{
	return conf(scn_format("scope = shared\nbackend = container\n"
	    "engine = podman\ncontainer = agent-1\n%s", more));
}

/* The server, whose engine is ours. */
static void
serve(const char *more)
{
	const char *source = getenv("PSUP_TEST_SRC");
	const char *bin = file_in_scenario("bin");

	if (source == NULL)
		skip_scenario("PSUP_TEST_SRC does not say where the engine is");
	expect(mkdir(bin, 0755) == 0);
	expect(symlink(scn_format("%s/tests/helpers/engine", source),
	    scn_format("%s/podman", bin)) == 0);
	psupd(.conf = conf_of(more), .env = {scn_format(
	    "PATH=%s:/usr/bin:/bin", bin)});
}

/* With its container, which runs. */
static pid_t
begin(const char *more)
{
	pid_t pid = run_container();

	serve(more);
	engine_says(scn_format("echo %d running $it", (int)pid));
	return pid;
}

/* A command is not run, for this reason. */
static void
expect_none(const char *why)
{
	struct answer *a = ask("exec", STR("command", "touch /tmp/ran"));

	expect_refused_for(a, "unsupported", "host");
	expect(strstr(words_of(a), why) != NULL, "%s", words_of(a));
}

static const char *
link_of(pid_t pid, const char *ns)
{
	char *text = scn_alloc(80);
	ssize_t n = readlink(scn_format("/proc/%d/ns/%s", (int)pid, ns), text,
	    78);

	expect(n > 0);
	(void)strcpy(text + n, "\n");
	return text;
}

SCENARIO(sandbox_container, is_entered_as_nobody_with_nothing)
{
	pid_t pid = begin("");
	struct answer *a = ask("exec", STR("command", "exit 3"));

	expect_str(a, "status", "completed");
	expect_int(a, "exitCode", 3);
	expect_str(ask("exec", STR("command", "kill -TERM $$")), "exitSignal",
	    "SIGTERM");
	expect_str(ask("exec", STR("command", "kill -SEGV $$")), "exitSignal",
	    "SIGSEGV");
	expect_says("readlink /proc/self/ns/pid", link_of(pid, "pid"));
	expect_says("readlink /proc/self/ns/mnt", link_of(pid, "mnt"));
	expect_says("readlink /proc/self/ns/user", link_of(pid, "user"));
	expect_says("uname -n; pwd", "agent-1\n/workspace\n");
	expect_says("grep -c '^Cap[A-Z][a-z]*:[[:space:]]*0*$' "
		    "/proc/self/status", "5\n");
	expect_says("grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status | "
		    "tr -d '\\t'", "NoNewPrivs:1\nSeccomp:2\n");
	expect(strcmp(says("id -u"), "0\n") != 0, "it is root");
	if (geteuid() == 0)
		expect_says("id -G | wc -w", "1\n");
	expect_says("echo x >/tmp/f", "");
	expect(strcmp(says_as(peer("other"), "cat /tmp/f"), "x\n") == 0,
	    "it is one box for all");
	a = ask("exec", STR("command", "pwd"), STR("workdir", "/tmp"));
	expect_str(a, "aggregated", "/tmp\n");
	a = ask("exec", STR("command", "pwd"), STR("workdir", "/absent"));
	expect_str(a, "code", "bad-workdir");
	a = ask("exec", STR("command", "tty; stty size"), YES("pty"));
	expect(strstr(text_of(a, "aggregated"), "/dev/pts/0") != NULL &&
	    strstr(text_of(a, "aggregated"), "30 120") != NULL, "%s",
	    words_of(a));
	end_container(pid);
}

/* Root in a container mounts what never answers over its terminals: neither a
 * worker nor the master waits for it. */
SCENARIO(sandbox_container, that_never_answers_holds_nobody_up)
{
	pid_t pid = begin(""), master = master_pid();
	const char *id = background(STR("command", "echo up; exec cat"),
	    YES("pty"));
	struct answer *a;

	await_output(id, "up");
	mount_dead(pid, "/dev/pts");
	expect_ok(ask("write", STR("sessionId", id), STR("data", "on\n")));
	await_output(id, "on");
	a = ask("exec", STR("command", "tty; echo in"), YES("pty"));
	expect_text(a, "not a tty");
	expect_says("echo in", "in\n");
	expect(master_pid() == master, "the master was lost");
	expect(count_log("event=worker-silent") == 0);
	end_container(pid);
}

SCENARIO(sandbox_container, what_hides_in_it_is_killed)
{
	pid_t pid = begin("");
	const char *id = background(STR("command",
	    "trap '' TERM; for i in 1 2 3 4 5 6 7 8; do "
	    "(setsid sh -c 'trap \"\" TERM; env -i sleep 1000' "
	    ">/dev/null 2>&1 &); done; echo up; exec sleep 1000"));

	await_output(id, "up");
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 100)));
	await_sleepers(0);
	expect(kill(pid, 0) == 0);
	end_container(pid);
}

/* By groups of psup's: the container's own hold nothing of it. */
SCENARIO(sandbox_container, bounds_what_runs_in_it)
{
	static const char eats[] = "head -c 50000000 /dev/zero | "
				   "tail -c 50000000 >/dev/null";
	pid_t pid = begin("memory = 100m\npids = 40\n");
	const psup_value *row;
	struct answer *a;

	expect_says("echo in", "in\n");
	row = psup_value_at(psup_value_get(details(ask("sandboxes")), "boxes"),
	    0);
	expect_int(ask("exec", STR("command", eats)), "exitCode", 0);
	if (psup_get_is(row, "memoryBy", "rlimit") ||
	    psup_get_is(row, "pidsBy", "rlimit"))
		skip_scenario("no control group here bounds a box");
	a = ask("exec", STR("command", eats),
	    ONE("limits", "memoryBytes", 20 << 20));
	expect_str(a, "exitReason", "oom");
	a = ask("exec", STR("command", "head -c 200000000 /dev/zero | "
	    "tail -c 200000000 >/dev/null"));
	expect_str(a, "exitReason", "oom");
	expect_text(a, "out of memory (limit memoryBytes of its sandbox)");
	expect(kill(pid, 0) == 0);
	end_container(pid);
}

SCENARIO(sandbox_container, outlives_worker_and_master)
{
	pid_t pid = begin("");
	const char *id = background(STR("command",
	    "echo up; read -r line; echo $line"));

	await_output(id, "up");
	kill_master();
	expect_says("echo after a master", "after a master\n");
	kill_worker_of(id);
	expect_says("echo after a worker", "after a worker\n");
	ends_as_told(id);
	expect(strcmp(read_retained(id).bytes, "up\ndone\n") == 0);
	end_container(pid);
}

SCENARIO(sandbox_container, that_ends_takes_all_with_it)
{
	pid_t pid = begin("");
	const char *id = background(STR("command", "echo up; exec sleep 1000"));

	await_output(id, "up");
	engine_says("echo 0 exited $it");
	end_container(pid);
	expect(psup_get_is(await_end(id), "exitReason", "lost"));
	expect_str(ask("poll", STR("sessionId", id)), "failureKind",
	    "sandbox");
	while (psup_value_count(psup_value_get(details(ask("sandboxes")),
	    "boxes")) > 0)
		;
	expect_none("no sandbox: container agent-1: it is exited; expected it "
		    "running");
	pid = run_container(); /* it is started again */
	engine_says(scn_format("echo %d running $it", (int)pid));
	expect_says("echo again", "again\n");
	end_container(pid);
}

SCENARIO(sandbox_container, is_nobodys_to_end)
{
	pid_t pid = begin("setup = echo once >>/tmp/setup\n");
	const psup_value *row;
	struct answer *a;
	char asked[4096];
	pid_t keeper;
	FILE *f;

	expect_says("cat /tmp/setup", "once\n");
	a = ask("sandboxes");
	row = psup_value_at(psup_value_get(details(a), "boxes"), 0);
	expect(psup_get_is(row, "box", "shared") &&
	    psup_get_is(row, "backend", "container") &&
	    psup_get_is(row, "container", "agent-1") &&
	    psup_get_is(row, "engine", "podman") &&
	    psup_get_int(row, "pid", 0) == pid);
	expect_text(ask("explainSandbox"), "it is the container agent-1 of "
	    "podman, which is entered, and neither made nor ended");
	expect_int(ask("pruneSandboxes"), "pruned", 1);
	while (psup_value_count(psup_value_get(details(ask("sandboxes")),
	    "boxes")) > 0)
		;
	expect_says("cat /tmp/setup", "once\nonce\n");
	f = fopen(file_in_scenario("bin/asked"), "re");
	expect(f != NULL);
	while (fgets(asked, sizeof(asked), f) != NULL)
		expect(strcmp(asked, "container inspect --format "
		    "{{.State.Pid}} {{.State.Status}} {{.Id}} {{.Name}} "
		    "agent-1\n") == 0, "%s",
		    asked);
	fclose(f);
	keeper = keeper_pid();
	(void)ask("shutdown", INT("graceMs", 0));
	await_gone(keeper);
	expect(kill(pid, 0) == 0, "it was ended");
	end_container(pid);
}

/* Whatever is wrong with it or its engine: nothing runs elsewhere. */
SCENARIO(sandbox_container, that_is_none_is_refused_by_name)
{
	static const struct {
		const char *script, *why;
	} rows[] = {
	    {"echo 0 exited $it", "it is exited; expected it running"},
	    {"echo 0 created $it", "it is created; expected it running"},
	    {"echo $PPID paused $it", "it is paused; expected it running"},
	    {"echo 0 running $it", "podman says it is running as process 0"},
	    {"echo 1 running $it", "podman says it is running as process 1"},
	    {"echo -7 running $it", "expected a process, a state"},
	    {"echo 99999999999999 running $it", "expected a process, a state"},
	    {"echo $PPID running $it; echo more", "expected a process, a state"},
	    {"echo $PPID running", "expected a process, a state, an id"},
	    /* it begins with the id of another one */
	    {"echo $PPID running $it-a", "podman takes that for /agent-1-a; "
	                                 "expected its name, or the whole of "
	                                 "its id"},
	    {"echo $PPID running agent-1 x", "expected a process, a state"},
	    {"echo $PPID running abc x", "podman takes that for x; expected"},
	    {"echo '<html>'", "podman said \"<html>\"; expected a process, a "
	                      "state, an id and a name"},
	    {":", "podman said \"\"; expected a process, a state"},
	    {"head -c 100000 /dev/zero", "expected a process, a state"},
	    {"yes | head -c 100000 >&2; echo no >&2; exit 7",
	        "podman: "},
	    {"echo one >&2; echo two >&2; exit 3", "podman: two"},
	    {"exit 3", "podman: failed without a word"},
	    {"kill -9 $$", "podman: failed without a word"},
	    {"echo 4194303 running $it", "its process 4194303 is gone"},
	    /* somebody else has that number by now */
	    {"echo $PPID running $it", "is not the first of a container with "
	                           "processes and files of its own"},
	    {"exec sleep 1000", "podman did not answer within 8 s"},
	    {"sleep 1000 & exit 0", "podman did not answer within 8 s"},
	};
	struct answer *a;

	serve("");
	a = ask("exec", STR("command", "true"));
	expect_refused_for(a, "unsupported", "host");
	expect(strcmp(words_of(a), "no sandbox: container agent-1: podman: "
	    "Error: No such container: agent-1") == 0, "%s", words_of(a));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		engine_says(rows[i].script);
		expect_none(rows[i].why);
	}
	expect(access("/tmp/ran", F_OK) < 0, "it ran here");
}

SCENARIO(sandbox_container, that_restarts_meanwhile_is_refused)
{
	pid_t pid = begin(""), first = made, other = run_container();

	engine_says(scn_format("if [ $(wc -l <\"$dir/asked\") = 1 ]; then echo "
	    "%d running $it; else echo %d running $it; fi", (int)pid,
	    (int)other));
	expect_none("it is another process by now; is it restarting?");
	end_container(other);
	made = first;
	end_container(pid);
}

SCENARIO(sandbox_container, without_its_engine_is_refused)
{
	struct answer *a;

	psupd(.conf = conf_of(""), .env = {"PATH=/nonexistent"});
	a = ask("exec", STR("command", "true"));
	expect_refused_for(a, "unsupported", "host");
	expect(strcmp(words_of(a), "no sandbox: podman is not installed") == 0,
	    "%s", words_of(a));
}

/* podman says a name without, docker with a / before it. */
SCENARIO(sandbox_container, is_known_by_its_name_or_all_of_its_id)
{
	static const char id[] = "0000000000000000000000000000000000000000"
				 "000000000000000000000007";
	pid_t pid = begin("");

	engine_says(scn_format("echo %d running ${it%%/*}agent-1", (int)pid));
	expect_says("echo in", "in\n");
	write_conf(conf_of(scn_format("container = %s\n", id)));
	put(id, scn_format("echo %d running ${it%%/*}/agent-1", (int)pid));
	kill_now(keeper_pid(), SIGHUP);
	await_log("config-read");
	expect_says("echo in", "in\n");
	expect_text(ask("explainSandbox"), id);
	end_container(pid);
}

/* As docker's are, if nothing else is said: who is root in it makes the node of a
 * disk, which whoever enters could open. */
SCENARIO(sandbox_container, whose_root_makes_devices_is_refused)
{
	pid_t pid = run_container_with(true);

	serve("");
	engine_says(scn_format("echo %d running $it", (int)pid));
	if (geteuid() == 0)
		expect_none("root in it may make device nodes, which the "
			    "engine does not keep from psup's commands; make "
			    "it with --cap-drop MKNOD");
	else /* it is the root of a namespace */
		expect_says("echo in", "in\n");
	end_container(pid);
}

/* Its numbers of processes are others' here. */
SCENARIO(sandbox_container, of_another_machine_is_refused)
{
	const char *bin = file_in_scenario("bin");
	struct answer *a;

	expect(mkdir(bin, 0755) == 0);
	put("podman", "#!/bin/sh\n");
	psupd(.conf = conf_of(""), .env = {scn_format("PATH=%s", bin),
	    "DOCKER_HOST=unix:///run/x", "CONTAINER_HOST=ssh://there/x"});
	a = ask("exec", STR("command", "true"));
	expect_refused_for(a, "unsupported", "host");
	expect(strcmp(words_of(a), "no sandbox: container agent-1: "
	    "CONTAINER_HOST is ssh://there/x; expected unix://PATH, an engine "
	    "of this machine") == 0, "%s", words_of(a));
}

/* An engine that hangs is waited for by whom it is asked for, and nobody else. */
SCENARIO(sandbox_container, whose_engine_hangs_holds_nobody_up)
{
	struct question *q;

	serve("");
	engine_says("exec sleep 1000");
	q = ask_later(peer("boxed"), "exec", STR("command", "true"));
	for (int i = 0; i < 20; i++)
		expect_ok(ask("list"));
	expect_refused_for(answer_of(q), "unsupported", "host");
}

static char said[2000];

/* What it says is in `said`; its status. */
static int
shell(const char *command)
{
	const char *path = file_in_scenario("said");
	int status = system(scn_format("(%s) >%s 2>&1", command, path));
	FILE *f = fopen(path, "re");

	expect(f != NULL);
	said[fread(said, 1, sizeof(said) - 1, f)] = '\0';
	fclose(f);
	return status;
}

/* The files of a container, whose /usr is this machine's. */
static void
make_root(const char *base)
{
	static const char *const dirs[] = {"", "/proc", "/dev", "/sys", "/tmp",
	    "/etc", "/run", "/usr", "/workspace"};
	static const char *const links[] = {"bin", "lib", "lib64"};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		expect(mkdir(scn_format("%s/root%s", base, dirs[i]), 0755) ==
		    0);
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++)
		expect(symlink(scn_format("usr/%s", links[i]),
		    scn_format("%s/root/%s", base, links[i])) == 0);
	expect(chmod(scn_format("%s/root/tmp", base), 01777) == 0 &&
	    chmod(scn_format("%s/root/workspace", base), 01777) == 0);
}

/* podman with storage of its own, and a container of this machine's /usr. Its
 * runtime refuses control groups of both versions at once, so it sees but one. */
SCENARIO(sandbox_container, of_the_real_podman_is_entered)
{
	const char *bin = file_in_scenario("bin"), *id;
	const char *base = file_in_scenario("pod");
	struct answer *a;
	const char *run;

	if (geteuid() != 0 || access("/usr/bin/podman", X_OK) < 0)
		skip_scenario("it takes root, and /usr/bin/podman");
	expect(mkdir(bin, 0755) == 0 && mkdir(base, 0711) == 0);
	make_root(base);
	put("podman", scn_format("#!/bin/sh\nexec /usr/bin/podman --root %s/s "
	    "--runroot %s/r --storage-driver vfs --cgroup-manager cgroupfs "
	    "\"$@\"\n", base, base));
	run = scn_format("(umount -R /sys/fs/cgroup; mount -t cgroup2 none "
	    "/sys/fs/cgroup) 2>/dev/null; n=$(ulimit -Hn); exec %s/podman run "
	    "-d --name agent-1 --cap-drop MKNOD --network none --cgroups=disabled --ulimit "
	    "nofile=$n:$n --ulimit nproc=1000:1000 -v /usr:/usr:ro --rootfs "
	    "%s/root /bin/sleep 300", bin, base);
	if (shell(scn_format("unshare -m /bin/sh -c '%s'", run)) != 0)
		skip_scenario("podman run: %s", said);
	psupd(.conf = conf_of(""), .env = {scn_format("PATH=%s:/usr/bin:/bin",
	    bin)});
	a = ask("exec", STR("command", "true"));
	if (strstr(words_of(a), "did not answer") != NULL)
		skip_scenario("%s", words_of(a));
	expect_says("echo in; id -u; pwd; ls /", "in\n65534\n/workspace\nbin\n"
	    "dev\netc\nlib\nlib64\nproc\nrun\nsys\ntmp\nusr\nworkspace\n");
	expect_str(ask("exec", STR("command", "kill -TERM $$")), "exitSignal",
	    "SIGTERM");
	id = background(STR("command", "(setsid env -i sleep 1000 >/dev/null "
	    "2>&1 &); echo up; exec sleep 1000"));
	await_output(id, "up");
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
	await_sleepers(1); /* its first process reaps nobody */
	id = background(STR("command", "echo up; exec sleep 1000"));
	await_output(id, "up");
	expect(shell(scn_format("%s/podman rm -f -t 0 agent-1", bin)) == 0,
	    "%s", said);
	expect(psup_get_is(await_end(id), "exitReason", "lost"));
	expect_none("no such container");
}

/* A daemon of its own, which the server is told of by DOCKER_HOST; its process. */
static pid_t
run_dockerd(const char *base)
{
	pid_t pid = fork();

	if (pid == 0) {
		int log = open(scn_format("%s/log", base),
		    O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		(void)dup2(log, 1);
		(void)dup2(log, 2);
		(void)execl("/usr/sbin/dockerd", "dockerd", "--host",
		    scn_format("unix://%s/sock", base), "--data-root",
		    scn_format("%s/data", base), "--exec-root",
		    scn_format("%s/exec", base), "--pidfile",
		    scn_format("%s/pid", base), "--iptables=false",
		    "--bridge=none", "--storage-driver=vfs", (char *)NULL);
		_exit(127);
	}
	expect(pid > 0);
	return pid;
}

static void
end_dockerd(pid_t pid)
{
	kill_now(pid, SIGTERM);
	expect(waitpid(pid, NULL, 0) == pid);
}

/* Its seccomp profile and capabilities are the engine's; ours are as ever. */
SCENARIO(sandbox_container, of_the_real_docker_is_entered)
{
	const char *base = file_in_scenario("docker"), *docker, *id;
	struct answer *a;
	pid_t daemon;

	if (geteuid() != 0 || access("/usr/sbin/dockerd", X_OK) < 0)
		skip_scenario("it takes root, and /usr/sbin/dockerd");
	expect(mkdir(base, 0711) == 0);
	make_root(base);
	daemon = run_dockerd(base);
	docker = scn_format("docker -H unix://%s/sock", base);
	if (shell(scn_format("n=0; until %s version; do n=$((n+1)); "
			     "[ $n -lt 60 ] && kill -0 %d || exit 1; sleep 0.5; "
			     "done; tar -C %s/root -c . | %s import - mini; %s run "
			     "-d --name agent-1 --cap-drop MKNOD --network none "
			     "-v /usr:/usr:ro mini /bin/sleep 300",
		docker, (int)daemon, base, docker, docker)) != 0) {
		end_dockerd(daemon);
		skip_scenario("docker run: %s", said);
	}
	psupd(.conf = conf_of("engine = docker\n"), .env = {scn_format(
	    "DOCKER_HOST=unix://%s/sock", base)});
	a = ask("exec", STR("command", "echo in; id -u; pwd"));
	expect_str(a, "aggregated", "in\n65534\n/workspace\n");
	expect_str(ask("exec", STR("command", "kill -TERM $$")), "exitSignal",
	    "SIGTERM");
	expect_text(ask("exec", STR("command", "tty; stty size"), YES("pty")),
	    "/dev/pts/0");
	expect_says("grep -c '^Cap[A-Z][a-z]*:[[:space:]]*0*$' "
		    "/proc/self/status", "5\n");
	id = background(STR("command", "(setsid env -i sleep 1000 >/dev/null "
	    "2>&1 &); echo up; exec sleep 1000"));
	await_output(id, "up");
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
	await_sleepers(1);
	id = background(STR("command", "echo up; exec sleep 1000"));
	await_output(id, "up");
	expect(shell(scn_format("%s rm -f agent-1", docker)) == 0, "%s", said);
	expect(psup_get_is(await_end(id), "exitReason", "lost"));
	expect_none("No such container");
	end_dockerd(daemon);
}
