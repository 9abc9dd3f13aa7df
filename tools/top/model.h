/* SPDX-License-Identifier: MIT */
/*
 * The model: what shared memory and /proc said at one refresh. Everything
 * that is shown, sorted or decided reads it alone. model.c copies, facts.c
 * works out.
 */
#ifndef TOP_MODEL_H
#define TOP_MODEL_H

#include <psup/psup.h>

#include "history.h"
#include "pressure.h"

#define TOP_PROCESSES 64
#define TOP_LANES     64

/* What the session waits for on its standard input. */
enum top_input {
	INPUT_CLOSED, /* or it does not run */
	INPUT_OPEN,
	INPUT_IDLE,   /* open, and long without output */
	INPUT_READS   /* a process of it sleeps in a read of it */
};

struct top_row {
	struct psup_view_session s;
	double output_rate;  /* bytes a second; < 0: not known yet */
	double cpu_percent;  /* of one core; < 0: not known */
	int64_t rss_bytes;   /* < 0: not known */
	int processes;       /* 0: not known */
	enum top_input input;
	bool live;           /* queued, starting, running */
};

struct top_process {
	struct psup_view_process p;
	char state; /* letter of /proc; '\0': there is none, or it is hidden */
	uint64_t up_ms; /* 0: not known */
	bool exists;
};

struct top_lane {
	struct psup_view_lane l;
	/* who holds it, the one that began first ahead; of the newest
	 * generation and older ones */
	uint32_t holders;
	char holder[48];
	uint64_t holder_ms; /* how long */
	uint64_t wait_ms;   /* the longest of who waits; 0: nobody does */
};

enum server_state { SERVER_NONE, SERVER_OTHER_VERSION, SERVER_DOWN,
	SERVER_MASTER_DOWN, SERVER_MASTER_STOPPED, SERVER_MASTER_SILENT,
	SERVER_RUNS };

struct top_model {
	char *runtime_dir;  /* NULL: the usual one */
	psup_view *view;    /* NULL: there is none */
	char why[512];      /* then: why */
	char dir[512];      /* "" where it is not known */
	uint64_t now_ms;    /* wall clock of this refresh */
	uint64_t mono_ns;
	unsigned refreshes; /* of this server */
	struct top_row *rows, *before; /* by instance, ascending */
	size_t count, room, before_count, before_room;
	size_t failed; /* rows: failed or lost */
	struct top_process processes[TOP_PROCESSES];
	size_t process_count;
	struct top_lane lanes[TOP_LANES];
	size_t lane_count;
	struct psup_view_totals totals, totals_before;
	struct pressure pressure;
	enum server_state state;
	struct history history;
	double starts_rate, ends_rate, output_rate; /* a second; < 0: unknown */
};

void model_init(struct top_model *m, const char *runtime_dir);
void model_fini(struct top_model *m);
/* Copies everything anew and works out the rates since the time before.
 * 0; -ENOMEM: rows are missing; else no server (m->why). */
int model_refresh(struct top_model *m);

/* ------------------------------------------------------- facts.c: pure */

/* "running", "master stopped" ... */
const char *server_state_name(enum server_state s);
/* What the processes say about the server. */
enum server_state facts_server(const struct top_model *m);
/* The process of a role, or NULL. */
const struct top_process *facts_process(const struct top_model *m,
    const char *role);
/* Rates by the difference to the copy before. */
void facts_rates(struct top_model *m, double seconds);
/* live, and what is open and idle. */
void facts_row(struct top_row *r, uint64_t now_ms);
/* How many failed. */
void facts_failed(struct top_model *m);
/* Brings the lanes into the order in which they are shown. */
void facts_sort_lanes(struct top_model *m);
/* Who holds each lane. */
void facts_holders(struct top_model *m);
/* Milliseconds it runs, ran or waits. */
uint64_t facts_age(const struct top_model *m, const struct top_row *r);
/* Milliseconds without output of a running one; < 0: it does not run. */
int64_t facts_idle(uint64_t now_ms, const struct top_row *r);
/* The row of an instance, or NULL. */
struct top_row *facts_find(const struct top_model *m, uint64_t instance);

#endif
