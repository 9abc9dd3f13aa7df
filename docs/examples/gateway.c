/* SPDX-License-Identifier: MIT */
/*
 * gateway DIR [SCOPE]: a gateway that may be killed at any instant.
 *
 * DIR/jobs has a job a line, "name<TAB>shell command". Each is run once by
 * psup, in the background, and gets one line in DIR/results: "name<TAB>status
 * <TAB>exit code". The program ends when every job has its result. Killed and
 * started again it neither runs a job twice nor reports one twice; see
 * docs/gateways.md. Without SCOPE it is an administrator, and its sessions are
 * in no scope.
 *
 *     cc -o gateway gateway.c $(pkg-config --cflags --libs psup)
 */
#define _POSIX_C_SOURCE 200809L
#include <psup/psup.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define JOBS_MAX 1000
#define ME       "gateway" /* among the subscribers of the scope */

static struct job {
	char name[64];
	char *command;
	bool done;
} jobs[JOBS_MAX];
static size_t job_count;
static FILE *results;
static const char *scope; /* NULL: none */
static int64_t seen; /* the last event handled */

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static struct job *
job_of(const char *name)
{
	for (size_t i = 0; i < job_count; i++)
		if (strcmp(jobs[i].name, name) == 0)
			return &jobs[i];
	return NULL;
}

static void
read_jobs(const char *path)
{
	char *line = NULL;
	size_t size = 0;
	FILE *f = fopen(path, "r");

	if (f == NULL)
		die(path);
	while (job_count < JOBS_MAX && getline(&line, &size, f) > 0) {
		struct job *j = &jobs[job_count];
		char *tab = strchr(line, '\t');

		if (tab == NULL || tab - line >= (long)sizeof(j->name))
			continue;
		line[strcspn(line, "\n")] = '\0';
		*tab = '\0';
		memcpy(j->name, line, (size_t)(tab - line) + 1);
		j->command = strdup(tab + 1);
		if (j->command == NULL)
			die("jobs");
		job_count++;
	}
	free(line);
	fclose(f);
}

/* What has its result already. A line without its end was being written when
 * a former life of ours ended: it does not count. */
static void
read_results(const char *path)
{
	char *line = NULL;
	size_t size = 0;
	long whole = 0;
	ssize_t n;

	results = fopen(path, "a+");
	if (results == NULL)
		die(path);
	rewind(results);
	while ((n = getline(&line, &size, results)) > 0 &&
	    line[n - 1] == '\n') {
		struct job *j;

		line[strcspn(line, "\t")] = '\0';
		j = job_of(line);
		if (j != NULL)
			j->done = true;
		whole += n;
	}
	free(line);
	if (ftruncate(fileno(results), whole) < 0)
		die(path);
}

/* Once for each job, and on disk before anything is acknowledged. */
static void
report(const char *job, const psup_value *end)
{
	struct job *j = job_of(job);
	const psup_value *code = psup_value_get(end, "exitCode");
	char status[32], number[24] = "-";

	if (j == NULL || j->done)
		return;
	psup_get_copy(end, "status", status, sizeof(status));
	if (psup_value_type(code) == PSUP_INT)
		snprintf(number, sizeof(number), "%lld",
		    (long long)psup_value_int(code, 0));
	if (fprintf(results, "%s\t%s\t%s\n", job, status, number) < 0 ||
	    fflush(results) != 0 || fsync(fileno(results)) < 0)
		die("results");
	j->done = true;
}

static void
handle(const psup_value *event)
{
	char job[64];

	psup_get_copy(event, "sessionKey", job, sizeof(job));
	/* an administrator hears of every scope; a quiet end is one, too */
	if ((psup_get_is(event, "kind", "exited") ||
		psup_get_is(event, "kind", "lost")) &&
	    psup_get_is(event, "scope", scope != NULL ? scope : ""))
		report(job, event);
	seen = psup_get_int(event, "seq", 0);
}

/* A notification. */
static void
on_note(void *arg, const char *name, const psup_value *params)
{
	(void)arg;
	if (strcmp(name, "event") == 0)
		handle(params);
}

static int
acknowledge(psup *p)
{
	psup_reply *r = NULL;
	int rc = psup_ack(p, ME, seen, &r);

	psup_reply_free(&r);
	return rc;
}

/* Hears what happened while nobody listened. */
static int
catch_up(psup *p)
{
	for (;;) {
		psup_reply *r = NULL;
		const psup_value *events;
		int rc = psup_events(p, ME, -1, 1000, &r);
		size_t i, n;

		if (rc != PSUP_OK)
			return rc;
		events = psup_value_get(psup_reply_value(r), "events");
		n = psup_value_count(events);
		for (i = 0; i < n; i++)
			handle(psup_value_at(events, i));
		psup_reply_free(&r);
		if (n == 0)
			return PSUP_OK;
		rc = acknowledge(p);
		if (rc != PSUP_OK)
			return rc;
	}
}

/* The same request key starts nothing twice. */
static int
start_job(psup *p, const struct job *j)
{
	struct psup_exec x = PSUP_EXEC_INIT;
	psup_reply *r = NULL;
	int rc;

	x.command = j->command;
	x.background = true;
	x.request_key = x.session_key = j->name;
	rc = psup_exec(p, &x, &r);
	/* It did not start; or its key is known, and it has ended: whoever ran
	 * it before may have acknowledged its event. */
	if (rc == PSUP_OK &&
	    !psup_get_is(psup_reply_details(r), "status", "running"))
		report(j->name, psup_reply_details(r));
	psup_reply_free(&r);
	return rc;
}

static bool
all_done(void)
{
	for (size_t i = 0; i < job_count; i++)
		if (!jobs[i].done)
			return false;
	return true;
}

/* One connection: until all is done, or it breaks. */
static int
serve(psup *p)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	psup_reply *r = NULL;
	int64_t acked;
	int rc;

	o.start = true;
	o.client = "gateway.c";
	o.scope = scope;
	rc = psup_connect(p, &o);
	if (rc == PSUP_OK)
		rc = catch_up(p);
	if (rc == PSUP_OK)
		rc = psup_subscribe(p, ME, -1, &r);
	psup_reply_free(&r);
	for (size_t i = 0; rc == PSUP_OK && i < job_count; i++)
		if (!jobs[i].done)
			rc = start_job(p, &jobs[i]);
	for (acked = 0; rc == PSUP_OK;) {
		if (seen > acked) {
			acked = seen;
			rc = acknowledge(p);
		} else if (all_done()) {
			return PSUP_OK;
		} else {
			rc = psup_turn(p, -1);
		}
	}
	return rc;
}

int
main(int argc, char **argv)
{
	const struct timespec pause = {.tv_nsec = 200000000};
	char path[4096];
	psup *p;

	if (argc != 2 && argc != 3) {
		fprintf(stderr, "usage: gateway DIR [SCOPE]\n");
		return 2;
	}
	scope = argv[2]; /* NULL: none, we are an administrator */
	snprintf(path, sizeof(path), "%s/jobs", argv[1]);
	read_jobs(path);
	snprintf(path, sizeof(path), "%s/results", argv[1]);
	read_results(path);
	if (psup_new(&p) != PSUP_OK)
		die("psup");
	psup_on_note(p, on_note, NULL);
	while (serve(p) != PSUP_OK) { /* the server ended, or starts */
		fprintf(stderr, "gateway: %s; connecting again\n",
		    psup_error_message(p));
		nanosleep(&pause, NULL);
	}
	psup_free(&p);
	return 0;
}
