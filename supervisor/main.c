/* SPDX-License-Identifier: MIT */
/*
 * psup-master: takes its heritage from the keeper, opens what it owns and
 * turns the loop. Started by psupd alone, never by hand.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/abi.h"
#include "common/log.h"
#include "common/priority.h"
#include "shm/lent_map.h"
#include "supervisor/master.h"

/* The keeper decides when we end; a terminal's signals are its business. */
static void
signals_ignore(void)
{
	static const int list[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT,
	    SIGXFSZ};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		signal(list[i], SIG_IGN);
}

/* As many descriptors as we may have: connections and ring readers. Returns
 * how many. */
static uint64_t
limits_raise(void)
{
	uint64_t nofile = 1024;
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		nofile = rl.rlim_cur;
		rl.rlim_cur = rl.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &rl) == 0)
			nofile = rl.rlim_max;
	}
	rl.rlim_cur = rl.rlim_max = 0;
	(void)setrlimit(RLIMIT_CORE, &rl);
	return nofile;
}

int
main(int argc, char **argv)
{
	static struct master m;
	struct heritage h;
	int r;

	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		printf("psup-master %s\n", abi_build());
		return 0;
	}
	if (abi_asked(argc, argv, "psup-master"))
		return 0;
	/* by descriptor the keeper starts us: no name came with that */
	prctl(PR_SET_NAME, "psup-master");
	prctl(PR_SET_DUMPABLE, 0);
	priority_come_first();
	signals_ignore();
	lent_map_guard();
	r = heritage_receive(&h);
	if (r < 0) {
		fprintf(stderr,
		    "psup-master: is started by psupd, not by hand (%s)\n",
		    strerror(-r));
		return 2;
	}
	log_open("master", STDERR_FILENO, LOG_LEVEL_OF(h.log_level));
	log_set_format(LOG_FORMAT_OF(h.log_level));
	/* in this order: a keeper that dies in between is seen by one of the
	 * two. A master that is stopped must not write after the next keeper's */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != h.keeper_pid)
		return 1;
	m.nofile = limits_raise();
	r = master_init(&m, &h);
	if (r < 0) {
		log_event(LOG_ERROR, "master-not-started",
		    KV("error", strerror(-r)));
		return 1;
	}
	log_event(LOG_NOTE, "master-started",
	    KV("generation", h.wid.generation));
	master_loop(&m);
	master_fini(&m);
	return m.failed ? 1 : 0;
}
