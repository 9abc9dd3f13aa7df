/* SPDX-License-Identifier: MIT */
/* The phases of a campaign, the exit code. */
#include "chaos.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define STACK_BYTES  (512 * 1024)

struct campaign chaos;

/* ------------------------------------------------------------ small things */

void
nap_ms(double ms)
{
	clock_nap((uint64_t)(ms * 1e6));
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

pid_t
child_start(const char *role, const char *word)
{
	const char *argv[] = {chaos.self, "--child", role, word, chaos.dir,
	    chaos.work, NULL};
	pid_t pid = fork_bound();

	if (pid > 0)
		return pid;
	execv(chaos.self, (char *const *)(uintptr_t)argv);
	_exit(127);
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
	psup *p = client_new();

	atomic_store(&chaos.tending, true);
	watcher = start_thread(faults_tend_thread, NULL);
	subscriber_known(p);
	for (enum kind k = 0; k < KIND_QUEUE; k++)
		story_run(p, k, &random);
	atomic_store(&chaos.tending, false);
	pthread_join(watcher, NULL);
	psup_free(&p);
}

static void
show_progress(void)
{
	uint64_t said = clock_boot_ns(), pause = isatty(STDERR_FILENO) ? 1 : 5;

	while (!atomic_load(&chaos.stop_killing)) {
		nap_ms(20);
		if (chaos.o.quiet ||
		    clock_boot_ns() - said < pause * UINT64_C(1000000000))
			continue;
		said = clock_boot_ns();
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
on_signal(int)
{
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
	chaos.began_ns = clock_boot_ns();
	campaign();
	if (!atomic_load(&chaos.interrupted)) {
		ledger_check();
		boxed_end();
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
	code = options_take(argc, argv);
	if (code >= 0)
		return code;
	faults_parse();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	fprintf(stderr, "psup-chaos: seed %u\n", chaos.o.seed);
	chaos.began_ns = clock_boot_ns();
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
