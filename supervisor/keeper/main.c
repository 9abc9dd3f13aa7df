/* SPDX-License-Identifier: MIT */
/*
 * psupd: options, detaching; then the keeper's loop. Says
 * on stderr why it does not start, and exits with a code of sysexits.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi.h"
#include "option.h"
#include "supervisor/keeper/keeper.h"
#include "supervisor/keeper/passed.h"

#ifndef PSUP_LIBEXECDIR
#define PSUP_LIBEXECDIR "/usr/local/libexec/psup"
#endif
#define WORKERS_MAX 32u

/* What the command line says. */
struct args {
	const char *runtime_dir, *config, *libexec;
	int workers;  /* 0: not given */
	int ready_fd; /* -1: not given */
	bool any_fs, detach, check, foreground_child;
	int level, format; /* enum log_level, log_format; -1: not given */
};

static struct args given = { .level = -1, .format = -1, .ready_fd = -1 };

static void
take_runtime_dir(struct usage *u, const char *text)
{
	const struct keeper_options *o = NULL;

	given.runtime_dir = text;
	if (text[0] != '/')
		usage_wrong(u, "--runtime-dir: \"%.80s\" is not absolute",
		    text);
	else if (strlen(text) + sizeof("/sock") > sizeof(o->runtime_dir))
		usage_wrong(u, "--runtime-dir: \"%.80s\" is too long for a "
			       "socket", text);
}

static void
take_level(struct usage *u, const char *text)
{
	given.level = log_level_of(text);
	if (given.level < 0)
		usage_wrong(u, "--log-level: \"%.40s\" is none of "
			       LOG_LEVEL_NAMES, text);
}

static void
take_format(struct usage *u, const char *text)
{
	given.format = log_format_of(text);
	if (given.format < 0)
		usage_wrong(u, "--log-format: \"%.40s\" is none of "
			       LOG_FORMAT_NAMES, text);
}

static const struct opt rows[] = {
	CALL("runtime-dir", 0, "DIR", "@dir", take_runtime_dir,
	    "where socket, rings and index lie"),
	TEXT("config", 0, "FILE", "@file", given.config,
	    "read this psup.conf"),
	NUMBER("workers", 0, "N", given.workers, 1, WORKERS_MAX,
	    "active workers, 1..32 (default: one per core)"),
	FLAG("any-fs", 0, given.any_fs,
	    "the runtime directory need not be on tmpfs"),
	CALL("log-level", 0, "LEVEL", "?error|warn|note|debug", take_level,
	    LOG_LEVEL_NAMES " (note)"),
	CALL("log-format", 0, "FORMAT", "?logfmt|json", take_format,
	    LOG_FORMAT_NAMES " (logfmt)"),
	TEXT("libexec", 0, "DIR", "@dir", given.libexec,
	    "where psup-master and psup-worker are"),
	FLAG("detach", 0, given.detach, "go to the background once ready"),
	FLAG("foreground-child", 0, given.foreground_child,
	    "SIGHUP ends it, as SIGTERM does"),
	NUMBER("ready-fd", 0, "N", given.ready_fd, STDERR_FILENO + 1, INT_MAX,
	    "write a newline to descriptor N once ready"),
	FLAG("check", 0, given.check,
	    "check configuration and programs, then exit"),
	OPT_END
};

/* The command line. -1: go on; else exit with it. */
static int
parse(int argc, char **argv)
{
	static const struct command_line psupd = {
		.about = "Runs and babysits commands for programs that run "
			 "many of them.",
		.options = rows,
	};
	struct usage u = { .program = "psupd" };
	int r = command_line_take(&psupd, &u, argc, argv);

	return r == EXIT_USAGE ? KEEPER_USAGE : r;
}

/* Is `dir` the place of both programs? */
static bool
programs_in(const char *dir, struct keeper_options *o)
{
	int m, w;

	m = snprintf(o->path[PROGRAM_MASTER], PATH_MAX, "%s/psup-master", dir);
	w = snprintf(o->path[PROGRAM_WORKER], PATH_MAX, "%s/psup-worker", dir);
	return m > 0 && m < PATH_MAX && w > 0 && w < PATH_MAX &&
	    access(o->path[PROGRAM_MASTER], X_OK) == 0 &&
	    access(o->path[PROGRAM_WORKER], X_OK) == 0;
}

/* In ../libexec/psup of psupd's folder: an installation may have been moved. */
static bool
installed_beside(char *dir, struct keeper_options *o)
{
	char *slash = strrchr(dir, '/');

	if (slash == NULL || strlen(dir) > PATH_MAX - 32)
		return false;
	(void)strlcpy(slash, "/libexec/psup", PATH_MAX - (size_t)(slash - dir));
	return programs_in(dir, o);
}

/* --libexec, else beside psupd, else where they were installed. */
static int
find_programs(const struct args *a, struct keeper_options *o)
{
	static const char gone[] = " (deleted)";
	char dir[PATH_MAX];
	ssize_t n;

	n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	if (n < 0)
		return keeper_fail(o, KEEPER_CANTCREAT,
		    "/proc/self/exe: %s", strerror(errno));
	dir[n] = '\0';
	/* replaced in this very moment: what is there now is asked for later */
	if ((size_t)n > sizeof(gone) && strcmp(dir + n - sizeof(gone) + 1,
		gone) == 0)
		dir[(size_t)n - sizeof(gone) + 1] = '\0';
	memcpy(o->path[PROGRAM_KEEPER], dir, strlen(dir) + 1);
	*strrchr(dir, '/') = '\0';
	if (a->libexec == NULL &&
	    (programs_in(dir, o) || installed_beside(dir, o)))
		return 0;
	if (a->libexec != NULL) {
		if (realpath(a->libexec, dir) != NULL && programs_in(dir, o))
			return 0;
		return keeper_fail(o, KEEPER_CANTCREAT,
		    "%s: no psup-master and psup-worker there", a->libexec);
	}
	if (programs_in(PSUP_LIBEXECDIR, o))
		return 0;
	return keeper_fail(o, KEEPER_CANTCREAT,
	    "psup-master and psup-worker are neither beside psupd nor in %s",
	    PSUP_LIBEXECDIR);
}

/* Config file and environment. */
static int
read_config(const struct args *a, struct keeper_options *o)
{
	char why[1600], path[1024];
	int r;

	config_defaults(&o->config);
	path[0] = why[0] = '\0';
	if (a->config != NULL)
		(void)snprintf(path, sizeof(path), "%s", a->config);
	else
		config_default_path(path, sizeof(path));
	if (path[0] != '\0') {
		char real[PATH_MAX];

		if (realpath(path, real) == NULL)
			return keeper_fail(o, KEEPER_CONFIG, "%s: %s", path,
			    strerror(errno));
		if (strlen(real) >= sizeof(o->config_path))
			return keeper_fail(o, KEEPER_CONFIG,
			    "%s: the path is too long", real);
		memcpy(o->config_path, real, strlen(real) + 1);
		r = config_read_file(&o->config, o->config_path, why,
		    sizeof(why));
		if (r < 0)
			return keeper_fail(o, KEEPER_CONFIG, "%s", why);
	}
	r = config_read_env(&o->config, why, sizeof(why));
	if (r < 0)
		return keeper_fail(o, KEEPER_CONFIG, "%s", why);
	return 0;
}

/* The master reads it, too; what is wrong is to be known at the start. A server
 * that but answers for another one (psup sandbox explain) refuses what that one
 * would: no bind may share that one's directory either. */
static int
look_at_sandbox(struct keeper_options *o)
{
	const char *other = getenv("PSUP_EXPLAINS_FOR");
	char why[600];
	int r = config_sandbox_resolve(&o->config, o->runtime_dir,
	    o->config_path, why, sizeof(why));

	if (r == 0 && other != NULL)
		r = config_sandbox_resolve(&o->config, other, o->config_path,
		    why, sizeof(why));
	return r < 0 ? keeper_fail(o, KEEPER_CONFIG, "%s%s%s", o->config_path,
	    o->config_path[0] != '\0' ? ": " : "",
	    r == -ENOMEM ? "out of memory" : why) : 0;
}

/* Active workers: as asked for, else one per core we may use. */
static uint64_t
worker_count(const struct args *a, const struct config *c)
{
	uint64_t n = a->workers != 0 ? (uint64_t)a->workers : c->workers;
	cpu_set_t set;

	if (n == 0 && sched_getaffinity(0, sizeof(set), &set) == 0)
		n = (uint64_t)CPU_COUNT(&set);
	if (n == 0)
		n = 1;
	return n < WORKERS_MAX ? n : WORKERS_MAX;
}

/* Options of the loop from all sources. */
static int
gather(const struct args *a, struct keeper_options *o)
{
	int r;

	if (a->runtime_dir != NULL) {
		memcpy(o->runtime_dir, a->runtime_dir,
		    strlen(a->runtime_dir) + 1);
	} else {
		r = rundir_default(o->runtime_dir);
		if (r < 0)
			return keeper_fail(o, KEEPER_CANTCREAT,
			    "no usable runtime directory: %s", strerror(-r));
	}
	r = read_config(a, o);
	if (r == 0)
		r = look_at_sandbox(o);
	if (r != 0)
		return r;
	o->config.workers = worker_count(a, &o->config);
	o->any_fs = a->any_fs || o->config.any_fs;
	o->log_level = a->level >= 0 ? (enum log_level)a->level
	                             : (enum log_level)o->config.log_level;
	o->log_level_given = a->level >= 0;
	o->log_format_given = a->format >= 0;
	o->log_format = a->format >= 0
	    ? (enum log_format)a->format
	    : (enum log_format)o->config.log_format;
	o->detached = a->detach;
	o->hangup_ends = a->foreground_child ||
	    (!a->detach && getppid() != 1 && isatty(STDIN_FILENO));
	return find_programs(a, o);
}

/* Nothing of the starter's signal state; a closed stderr kills nobody. */
static void
reset_signals(void)
{
	sigset_t none;
	int sig;

	for (sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	(void)signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The starting process: waits for the word and passes it on. */
static int
await_ready(int fd)
{
	char text[1100];
	size_t have = 0;
	ssize_t n;

	while (have < sizeof(text) - 1 &&
	    ((n = read(fd, text + have, sizeof(text) - 1 - have)) > 0 ||
		(n < 0 && errno == EINTR))) {
		if (n > 0)
			have += (size_t)n;
	}
	text[have] = '\0';
	if (have == 0) {
		(void)fprintf(stderr, "psupd: died during its start\n");
		return KEEPER_FAILED;
	}
	if (text[0] != 0)
		(void)fprintf(stderr, "psupd: %s", text + 1);
	return text[0];
}

/* Double fork, own session, stdio on /dev/null. -1: we are the server; else
 * the starter's exit code. */
static int
detach(struct keeper_options *o)
{
	int pipefd[2], null;
	pid_t pid;

	if (pipe2(pipefd, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		return keeper_fail(o, KEEPER_FAILED, "cannot detach: %s",
		    strerror(errno));
	if (pid > 0) {
		(void)close(pipefd[1]);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		return await_ready(pipefd[0]);
	}
	(void)close(pipefd[0]);
	(void)setsid();
	pid = fork();
	if (pid != 0)
		_exit(pid < 0 ? KEEPER_FAILED : 0);
	o->ready_fd = pipefd[1];
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	(void)dup2(null, STDIN_FILENO);
	(void)dup2(null, STDOUT_FILENO);
	(void)dup2(null, STDERR_FILENO);
	(void)close(null);
	return -1;
}

/* psupd. */
int
main(int argc, char **argv)
{
	static struct keeper_options o = { .ready_fd = -1, .newline_fd = -1,
		.listener = -1 };
	struct passed passed;
	char why[256];
	int r;

	if (abi_asked(argc, argv, "psupd"))
		return 0;
	o.argv = argv;
	if (argc > 1 && strcmp(argv[1], "--check-state") == 0)
		return keeper_check_state(&o);
	if (argc > 1 && strncmp(argv[1], "--resume", 8) == 0)
		return keeper_resume(&o);
	keeper_clean_environment(argv);
	passed_open_stdio();
	reset_signals();
	(void)umask(077);
	r = parse(argc, argv);
	if (r != -1)
		return r;
	r = passed_take(given.ready_fd, &passed, why, sizeof(why));
	if (r < 0)
		return keeper_fail(&o, KEEPER_USAGE, "%s", why);
	o.listener = passed.listener;
	o.newline_fd = passed.ready;
	r = gather(&given, &o);
	if (r != 0)
		return r;
	if (given.check) {
		(void)printf("psupd %s: ok, runtime directory %s\n",
		    abi_build(), o.runtime_dir);
		return 0;
	}
	if (given.detach) {
		r = detach(&o);
		if (r != -1)
			return r;
	}
	if (chdir("/") < 0)
		return keeper_fail(&o, KEEPER_FAILED, "chdir /: %s",
		    strerror(errno));
	log_open("keeper", STDERR_FILENO, o.log_level);
	log_set_format(o.log_format);
	return keeper_run(&o);
}
