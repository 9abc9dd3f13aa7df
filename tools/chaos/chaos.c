/* SPDX-License-Identifier: MIT */
/* Options, the phases of a campaign, the exit code. */
#include "chaos.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/prctl.h>
#include <unistd.h>

#define SESSIONS_MAX 512
#define STACK_BYTES  (512 * 1024)

struct campaign chaos;

/* ------------------------------------------------------------ small things */

uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

void
nap_ms(double ms)
{
	struct timespec t = {(time_t)(ms / 1000),
	    (long)((ms - (double)((long)(ms / 1000) * 1000)) * 1e6)};

	nanosleep(&t, NULL);
}

void
die(const char *fmt, ...)
{
	va_list ap;

	fputs("psup-chaos: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	if (chaos.work[0] != '\0')
		(void)rmdir(chaos.work); /* where nothing is in it yet */
	exit(2);
}

pid_t
fork_bound(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(0); /* it died before we could be told */
	return 0;
}

uint32_t
rnd(uint32_t *state)
{
	uint32_t x = *state != 0 ? *state : 1;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return *state = x;
}

void
stepped(void)
{
	atomic_fetch_add(&chaos.steps, 1);
}

/* ----------------------------------------------------------------- options */

static const struct {
	const char *word;
	unsigned victims;
	bool together;
} victim_words[] = {
    {"worker", VICTIM_WORKER, false},
    {"master", VICTIM_MASTER, false},
    {"reader", VICTIM_READER, false},
    {"gateway", VICTIM_GATEWAY, false},
    {"all", VICTIM_WORKER | VICTIM_MASTER | VICTIM_READER | VICTIM_GATEWAY,
        true},
    {"keeper", VICTIM_KEEPER, false},
    {"none", 0, false},
    {"command", VICTIM_COMMAND, false},
};

enum { OPT_RUNTIME_DIR = 1, OPT_KILL, OPT_SIGNAL, OPT_STOP, OPT_RATE, OPT_FOR,
       OPT_KILLS, OPT_SESSIONS, OPT_IDLE, OPT_WORKERS, OPT_SEED, OPT_FAULT, OPT_JSON,
       OPT_QUIET, OPT_UPGRADE, OPT_HOSTILE, OPT_LATE, OPT_COMMAND, OPT_AFTER, OPT_ON, OPT_RESTARTS, OPT_VERSION,
       OPT_HELP };

static const struct option long_options[] = {
    {"runtime-dir", required_argument, NULL, OPT_RUNTIME_DIR},
    {"kill", required_argument, NULL, OPT_KILL},
    {"stop", optional_argument, NULL, OPT_STOP},
    {"rate", required_argument, NULL, OPT_RATE},
    {"for", required_argument, NULL, OPT_FOR},
    {"kills", required_argument, NULL, OPT_KILLS},
    {"sessions", required_argument, NULL, OPT_SESSIONS},
    {"idle", required_argument, NULL, OPT_IDLE},
    {"workers", required_argument, NULL, OPT_WORKERS},
    {"seed", required_argument, NULL, OPT_SEED},
    {"fault", required_argument, NULL, OPT_FAULT},
    {"upgrade", optional_argument, NULL, OPT_UPGRADE},
    {"hostile", required_argument, NULL, OPT_HOSTILE},
    {"late", required_argument, NULL, OPT_LATE},
    {"json", required_argument, NULL, OPT_JSON},
    {"quiet", no_argument, NULL, OPT_QUIET},
    {"command", required_argument, NULL, OPT_COMMAND},
    {"after", required_argument, NULL, OPT_AFTER},
    {"on", required_argument, NULL, OPT_ON},
    {"restarts", required_argument, NULL, OPT_RESTARTS},
    {"version", no_argument, NULL, OPT_VERSION},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

static void
usage(FILE *to)
{
	fputs("usage: psup-chaos [options]\n"
	      "Kills psup's processes while sessions of known output run, then "
	      "checks every byte,\nstatus, start, order and event, and what is "
	      "left behind. Exit code 0: nothing was\nlost; 1: something was; "
	      "2: it could not be tried.\n\n"
	      "  --kill WHOM        worker, master, reader, gateway, all, "
	      "keeper, none; by\n"
	      "                     commas (worker,master); all: also worker "
	      "and master at once;\n"
	      "                     keeper: alone or with the others, then "
	      "another server is\n"
	      "                     started; what ran is lost, and must be "
	      "told so\n"
	      "  --stop[=MS]        SIGSTOP instead, SIGCONT within MS (200); "
	      "0: none\n"
	      "  --rate N           kills a second (5)\n"
	      "  --for SECONDS      how long (30, or as long as --kills "
	      "takes)\n"
	      "  --kills N          until so many kills\n"
	      "  --fault NAME[@N][=ACTION][,...]   instead of a rate: the "
	      "server's processes\n"
	      "                     kill themselves (ACTION kill, stop or "
	      "abort) at the N-th\n"
	      "                     pass of a fault point; fail, once: they "
	      "are hindered, and\n"
	      "                     killed at the rate; ~: each process at "
	      "another one (test\n"
	      "                     builds)\n"
	      "  --upgrade[=DIR]    the server is upgraded in place again and "
	      "again meanwhile,\n"
	      "                     to the programs where its own are, and in "
	      "turn those in DIR\n"
	      "  --hostile KINDS    beside them clients that take all they "
	      "may: all, or some of\n"
	      "                     paths, lease, requests, starts, unread, "
	      "unfinished, waits,\n"
	      "                     connections, guests, sessions, queue, "
	      "output, scribble, by\n"
	      "                     commas; another scope must not notice "
	      "them\n"
	      "  --late MS          its answers' p99 above the idle server's "
	      "(100); 0: only told\n"
	      "  --sessions N       at once (16)\n"
	      "  --idle N           more sessions, that do nothing until the "
	      "end (0)\n"
	      "  --workers N        of the server (one per core)\n"
	      "  --seed N           to repeat a campaign's choices\n"
	      "  --runtime-dir DIR  the server that runs there, not one of its "
	      "own\n"
	      "  --json FILE        the report as JSON, too; -: on stdout, "
	      "instead\n"
	      "  --quiet            no progress lines\n\n"
	      "A program of yours:\n"
	      "  --command CMD --kill command   runs CMD as sessions, kills "
	      "them with everything\n"
	      "                     they started, and reports how each ended "
	      "and what it left\n"
	      "  --after MS         kill so long after a start (else at "
	      "--rate)\n"
	      "  --on TEXT          kill when it has written TEXT\n"
	      "  --restarts N       how often each is started again (until the "
	      "end)\n", to);
}

static void __attribute__((noreturn, format(printf, 1, 2)))
bad_usage(const char *fmt, ...)
{
	va_list ap;

	fputs("psup-chaos: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputs("\npsup-chaos --help lists the options\n", stderr);
	exit(2);
}

/* A number within bounds, or the end. */
static double
number(const char *option, const char *text, double lo, double hi)
{
	char *end;
	double v;

	errno = 0;
	v = strtod(text, &end);
	if (errno != 0 || end == text || *end != '\0' || !(v >= lo && v <= hi))
		bad_usage("--%s: '%s': expected a number from %g to %g",
		    option, text, lo, hi);
	return v;
}

static void
parse_victims(struct options *o, const char *text)
{
	o->victims = 0;
	while (*text != '\0') {
		size_t len = strcspn(text, ","), i;

		for (i = 0; i < sizeof(victim_words) / sizeof(victim_words[0]);
		     i++)
			if (strlen(victim_words[i].word) == len &&
			    strncmp(victim_words[i].word, text, len) == 0)
				break;
		if (i == sizeof(victim_words) / sizeof(victim_words[0]))
			bad_usage("--kill: '%.*s': expected worker, master, "
			    "reader, gateway, all, keeper, none or command",
			    (int)len,
			    text);
		o->victims |= victim_words[i].victims;
		o->together |= victim_words[i].together;
		text += len + (text[len] == ',');
	}
}

/* Its directory is ours to name. */
static void
take_upgrade(struct options *o, const char *dir)
{
	static char path[PATH_MAX];

	o->upgrade = true;
	if (dir != NULL && realpath(dir, path) == NULL)
		bad_usage("--upgrade: '%s': %s", dir, strerror(errno));
	o->upgrade_dir = dir != NULL ? path : NULL;
}

/* One option with its value. */
static void
take_option(struct options *o, int c, const char *v)
{
	switch (c) {
	case OPT_RUNTIME_DIR: o->runtime_dir = v; break;
	case OPT_KILL: parse_victims(o, v); break;
	case OPT_STOP:
		o->signal = SIGSTOP;
		o->stop_ms = v != NULL ? (int)number("stop", v, 0, 60000) : 200;
		break;
	case OPT_RATE: o->rate = number("rate", v, 0.01, 1000); break;
	case OPT_FOR: o->seconds = number("for", v, 0.1, 1e7); break;
	case OPT_KILLS: o->kills = (long)number("kills", v, 1, 1e9); break;
	case OPT_SESSIONS:
		o->sessions = (int)number("sessions", v, 1, SESSIONS_MAX);
		break;
	case OPT_IDLE: o->idle = (int)number("idle", v, 0, 100000); break;
	case OPT_WORKERS: o->workers = (int)number("workers", v, 1, 32); break;
	case OPT_SEED: o->seed = (unsigned)number("seed", v, 0, 4e9); break;
	case OPT_FAULT: o->fault = v; break;
	case OPT_UPGRADE: take_upgrade(o, v); break;
	case OPT_HOSTILE:
		if (!hostile_known(v))
			bad_usage("--hostile: '%s': expected all, or kinds by "
			    "commas", v);
		o->hostile = v;
		break;
	case OPT_LATE: o->late_ms = (int)number("late", v, 0, 60000); break;
	case OPT_JSON: o->json = v; break;
	case OPT_QUIET: o->quiet = true; break;
	case OPT_COMMAND: o->command = v; break;
	case OPT_AFTER: o->after_ms = (int)number("after", v, 0, 1e8); break;
	case OPT_ON:
		if (v[0] == '\0' || strlen(v) > 4096)
			bad_usage("--on: %zu bytes: expected 1 to 4096",
			    strlen(v));
		o->on_text = v;
		break;
	case OPT_RESTARTS: o->restarts = (int)number("restarts", v, 0, 1e8); break;
	case OPT_VERSION:
		printf("psup-chaos %s\n", psup_version());
		exit(0);
	case OPT_HELP:
		usage(stdout);
		exit(0);
	}
}

/* What getopt did not like. */
static void __attribute__((noreturn))
wrong_option(const char *word, int c)
{
	const char *near = psup_nearest_option(long_options, word);

	if (c == ':')
		bad_usage("'%.80s': it needs a value", word);
	if (near != NULL)
		bad_usage("'%.80s': no such option; did you mean --%s?", word,
		    near);
	bad_usage("'%.80s': no such option", word);
}

static void
parse_options(struct options *o, int argc, char **argv)
{
	int c;

	*o = (struct options){.victims = VICTIM_WORKER | VICTIM_MASTER,
	    .signal = SIGKILL, .stop_ms = 200, .rate = 5, .sessions = 16, .after_ms = -1,
	    .restarts = -1, .late_ms = 100, .seed = (unsigned)(now_ns() / 1000)};
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
		if (c == '?' || c == ':')
			wrong_option(argv[optind - 1], c);
		take_option(o, c, optarg);
	}
	if (optind < argc)
		bad_usage("'%s': no arguments are expected", argv[optind]);
	if (o->command != NULL && o->upgrade)
		bad_usage("--upgrade: not with --command");
	if (o->command != NULL)
		o->victims = VICTIM_COMMAND;
	else if (o->victims & VICTIM_COMMAND)
		bad_usage("--kill command: it needs --command");
	if (o->fault != NULL && o->runtime_dir != NULL)
		bad_usage("--fault: it needs a server of its own, without "
		    "--runtime-dir");
	if ((o->victims & VICTIM_KEEPER) != 0 && o->runtime_dir != NULL)
		bad_usage("--kill keeper: it needs a server of its own, "
		    "without --runtime-dir");
	if ((o->victims & VICTIM_KEEPER) != 0 && o->signal != SIGKILL)
		bad_usage("--kill keeper: it is not stopped");
	if (o->victims == 0 && o->seconds <= 0)
		bad_usage("--kill none: it needs --for");
	if (o->hostile != NULL && o->runtime_dir != NULL)
		bad_usage("--hostile: it needs a server of its own, without "
		    "--runtime-dir");
	if (o->seconds <= 0 && o->kills <= 0)
		o->seconds = 30;
}

/* ------------------------------------------------------------------ phases */

static pthread_t
start_thread(void *(*run)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (pthread_create(&t, &attr, run, arg) != 0)
		die("pthread_create: %s", strerror(errno));
	pthread_attr_destroy(&attr);
	return t;
}

/* One of each kind, so that what is made once is made before it is counted. */
static void
warm_up(void)
{
	uint32_t random = chaos.o.seed | 1;
	pthread_t watcher;
	psup *p;

	if (psup_new(&p) != PSUP_OK)
		die("no memory");
	atomic_store(&chaos.warming, true);
	atomic_store(&chaos.tending, true);
	watcher = start_thread(faults_tend_thread, NULL);
	for (enum kind k = 0; k < KIND_QUEUE; k++)
		story_run(p, k, &random);
	atomic_store(&chaos.warming, false);
	atomic_store(&chaos.tending, false);
	pthread_join(watcher, NULL);
	psup_free(&p);
}

static void
show_progress(void)
{
	uint64_t said = now_ns(), pause = isatty(STDERR_FILENO) ? 1 : 5;

	while (!atomic_load(&chaos.stop_killing)) {
		nap_ms(20);
		if (chaos.o.quiet ||
		    now_ns() - said < pause * UINT64_C(1000000000))
			continue;
		said = now_ns();
		progress_print();
	}
}

/* Everybody at work, until the killer has done enough. */
static void
campaign(void)
{
	pthread_t stories[SESSIONS_MAX] = {0}, tick[TICKS_MAX] = {0};
	pthread_t killer, tender, queue, sub, upgrades = 0;
	_Atomic bool finish = false;
	int n_ticks = chaos.o.sessions < 8 ? 2 : 4;

	bystanders_start();
	sub = start_thread(subscriber_thread, &finish);
	while (!atomic_load(&chaos.subscribed) &&
	       !atomic_load(&chaos.interrupted)) {
		if (server_is_dead())
			die("its server has ended before anybody was killed");
		nap_ms(1);
	}
	idle_start();
	queue = start_thread(queue_thread, NULL);
	for (int i = 0; i < n_ticks; i++)
		tick[i] = start_thread(tick_thread, NULL);
	for (int i = 0; i < chaos.o.sessions; i++)
		stories[i] = start_thread(story_thread,
		    (void *)(uintptr_t)(i + 1));
	hostile_begin();
	killer = start_thread(killer_thread, NULL);
	if (chaos.o.upgrade)
		upgrades = start_thread(upgrade_thread, NULL);
	show_progress();
	pthread_join(killer, NULL);
	witness_stop();
	hostile_end();
	atomic_store(&chaos.tending, chaos.by_points && !faults_of_keeper());
	tender = start_thread(faults_tend_thread, NULL);
	if (chaos.o.upgrade)
		pthread_join(upgrades, NULL);
	/* workers and masters that have a fault point go on dying */
	if (chaos.o.upgrade && (chaos.o.fault == NULL || faults_of_keeper()))
		upgrade_last();
	atomic_store(&chaos.stop_starting, true);
	for (int i = 0; i < chaos.o.sessions; i++)
		pthread_join(stories[i], NULL);
	for (int i = 0; i < n_ticks; i++)
		pthread_join(tick[i], NULL);
	pthread_join(queue, NULL);
	idle_end();
	atomic_store(&finish, true);
	pthread_join(sub, NULL);
	bystanders_stop();
	atomic_store(&chaos.tending, false);
	pthread_join(tender, NULL);
}

static void
on_signal(int sig)
{
	(void)sig;
	atomic_store(&chaos.interrupted, true);
	atomic_store(&chaos.stop_killing, true);
	atomic_store(&chaos.stop_starting, true);
}

static int
torture(void)
{
	warm_up();
	leaks_before();
	witness_start();
	chaos.began_ns = now_ns();
	campaign();
	if (!atomic_load(&chaos.interrupted)) {
		ledger_check();
		leaks_after();
	}
	return 0;
}

int
main(int argc, char **argv)
{
	ssize_t n = readlink("/proc/self/exe", chaos.self,
	    sizeof(chaos.self) - 1);
	int code;

	if (n <= 0)
		die("/proc/self/exe: %s", strerror(errno));
	if (argc > 2 && strcmp(argv[1], "--child") == 0)
		return child_main(argc - 2, argv + 2);
	parse_options(&chaos.o, argc, argv);
	faults_parse();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	fprintf(stderr, "psup-chaos: seed %u\n", chaos.o.seed);
	chaos.began_ns = now_ns();
	server_start();
	code = chaos.o.command != NULL ? program_run() : torture();
	faults_count();
	server_stop();
	if (atomic_load(&chaos.interrupted)) {
		report_print();
		return 130;
	}
	if (chaos.by_points && atomic_load(&chaos.kills_point) == 0) {
		fprintf(stderr, "psup-chaos: %s was never reached; fault points "
		    "are in test builds alone\n", chaos.o.fault);
		code = 2;
	}
	return report_print() != 0 ? 1 : code;
}
