/* SPDX-License-Identifier: MIT */
/*
 * The keeper's door: what main.c hands to the loop.
 */
#ifndef PSUP_SUPERVISOR_KEEPER_KEEPER_H
#define PSUP_SUPERVISOR_KEEPER_KEEPER_H

#include <limits.h>
#include <stdbool.h>

#include "config.h"
#include "heritage.h"
#include "log.h"
#include "rundir.h"

/* Reserved beside those of a heritage: the program that a clone executes. */
enum {
	KEEPER_FD_BINARY = HERITAGE_FD_FIRST_FREE,
	KEEPER_FD_FREE
};

/* What a server is made of; one build's three go together. */
enum program { PROGRAM_KEEPER, PROGRAM_MASTER, PROGRAM_WORKER, PROGRAMS };

/* Exit codes of psupd (sysexits). */
enum keeper_exit {
	KEEPER_OK = 0,
	KEEPER_USAGE = 64,
	KEEPER_FAILED = 70,  /* master or workers did not come up */
	KEEPER_CANTCREAT = 73,
	KEEPER_RUNNING = 75, /* another one has this runtime directory */
	KEEPER_CONFIG = 78
};

struct keeper_options {
	char runtime_dir[RUNDIR_PATH_MAX];
	char config_path[1024]; /* absolute, or "": none */
	char path[PROGRAMS][PATH_MAX];
	char **argv;  /* what a successor is shown as its command line */
	struct config config;
	enum log_level log_level;
	enum log_format log_format;
	/* by the command line: no configuration changes it */
	bool log_level_given, log_format_given;
	bool any_fs;
	/* SIGHUP is like SIGTERM: we are somebody's foreground child */
	bool hangup_ends;
	bool detached; /* stderr becomes <runtime>/log */
	int ready_fd;     /* gets one exit code byte and a text once known; -1 */
	int newline_fd;   /* gets a newline once ready; -1: nobody's */
	int listener;     /* the socket we were started with; -1: make one */
};

/* Executes itself once with the allowed variables alone, so that
 * /proc/PID/environ is clean too. Returns where nothing is to be dropped, or
 * where whatever lies between the two (valgrind) puts it in again. */
void keeper_clean_environment(char **argv);

/* Runs until told to end. Descriptors 0..6 must be open; 3..6 are reserved
 * for handing over. Returns an exit code; what went wrong before readiness was
 * said on stderr and ready_fd. */
int keeper_run(struct keeper_options *o);

/* Goes on where a predecessor has stopped: the same process after an exec. */
int keeper_resume(struct keeper_options *o);
/* Could this build go on from the state at HERITAGE_FD_INFO? Says so on
 * stdout. */
int keeper_check_state(struct keeper_options *o);

/* Says why the start failed, on stderr and to the starter, and returns
 * `code`. */
int keeper_fail(const struct keeper_options *o, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
