/* SPDX-License-Identifier: MIT */
/*
 * psup-worker: spawns and babysits commands. Started by the keeper alone, with
 * the heritage of common/heritage.h. It has no PDEATHSIG: when the keeper dies
 * it must live long enough to kill what it babysits.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/abi.h"
#include "common/check.h"
#include "common/err.h"
#include "common/heritage.h"
#include "common/log.h"
#include "common/priority.h"
#include "shm/lent_map.h"
#include "worker/worker.h"

/* The keeper drives us by messages; a terminal's or a service manager's
 * signals reach it, not us. spawn.c resets these in a command. */
static void
ignore_signals(void)
{
	static const int sigs[] = {SIGPIPE, SIGINT, SIGTERM, SIGQUIT, SIGHUP,
	    SIGXFSZ};
	struct sigaction sa;
	sigset_t none;
	size_t i;
	int sig;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = SIG_DFL;
	for (sig = 1; sig < NSIG; sig++)
		if (sig != SIGSEGV && sig != SIGBUS && sig != SIGFPE)
			(void)sigaction(sig, &sa, NULL); /* KILL refuses */
	sa.sa_handler = SIG_IGN;
	for (i = 0; i < NELEMS(sigs); i++)
		(void)sigaction(sigs[i], &sa, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Takes the heritage, serves, ends with the keeper. */
int
main(int argc, char **argv)
{
	static struct worker worker;
	struct heritage heritage;
	int rc;

	if (abi_asked(argc, argv, "psup-worker"))
		return 0;
	ignore_signals();
	lent_map_guard();
	/* by descriptor the keeper starts us: no name came with that */
	(void)prctl(PR_SET_NAME, "psup-worker");
	(void)prctl(PR_SET_DUMPABLE, 0);
	priority_come_first();
	log_open("worker", STDERR_FILENO, LOG_NOTE);
	rc = heritage_receive(&heritage);
	if (rc == 0 && fcntl(HERITAGE_FD_KEEPER, F_SETFD, FD_CLOEXEC) != 0)
		rc = -errno;
	if (rc < 0) {
		log_event(LOG_ERROR, "worker-not-started",
		    KV("error", err_name(-rc)), KV("why", "not by a keeper"));
		return 2;
	}
	log_open("worker", STDERR_FILENO, LOG_LEVEL_OF(heritage.log_level));
	log_set_format(LOG_FORMAT_OF(heritage.log_level));
	log_set_worker(heritage.wid.slot, heritage.wid.generation);
	rc = worker_init(&worker, &heritage);
	if (rc < 0) {
		log_event(LOG_ERROR, "worker-not-started",
		    KV("error", err_name(-rc)));
		return 1;
	}
	return worker_run(&worker);
}
