/* SPDX-License-Identifier: MIT */
/*
 * What a `wait` under way knows of its sessions. wait.c makes and answers
 * it; waits.c looks whether the conditions are met. Nothing here asks on a
 * clock that ticks: output and ends are told by the worker, silence has a timer
 * that is due when it could first be long enough. One exception: the kernel
 * tells nobody that a process begins to read, so `input` looks again, at
 * growing intervals up to a second.
 *
 * Output is looked through in units of the wait that wants it, its sessions in
 * turn: whose turn it is among waits is turn.c's.
 */
#ifndef PSUP_SUPERVISOR_API_WAITS_H
#define PSUP_SUPERVISOR_API_WAITS_H

#include "common/match.h"
#include "supervisor/api/method.h"

#define WAITS_BYTES      (32u << 20) /* of memory for one wait's matching */
#define WAITS_PAUSE_MS   100u /* after that an unfinished line has an end */
#define WAITS_LATE_MS    1000u /* after its time-out a wait still looks */
#define WAITS_MOMENT_MS  25u   /* output that is met waits so long for an end */
#define WAITS_LONGER     4096u /* a match is made longer by so much at most */
#define WAITS_EXCERPT    512u
#define WAITS_UNIT       64u  /* sessions of a slice */
#define WAITS_PROBE_MS   20u  /* who found no probe left looks again */

enum met { MET_NOT, MET_EXIT, MET_TEXT, MET_REGEX, MET_IDLE, MET_BYTES,
	MET_INPUT };

/* One session of a wait. */
struct waited {
	TAILQ_ENTRY(waited) scan_link; /* of its wait's scans */
	struct waits *of;
	struct session *s;  /* NULL: forgotten meanwhile */
	char slug[SLUG_MAX];
	enum met met;
	uint64_t since;     /* positions: where looking began, ... */
	uint64_t pos;       /* ... where it goes on, ... */
	uint64_t at, end;   /* ... of the match */
	uint64_t goal;      /* time is up: look as far as this */
	uint64_t dropped;   /* bytes that were gone before they were looked at */
	uint64_t paused_at; /* pos where the end of a line was tried */
	uint64_t probe_at, probe_ms; /* input: next look, wall; its interval */
	struct match *match; /* NULL: neither text nor regex */
	char *matched;      /* excerpt */
	bool from_end;      /* since: where its output ends at the first look */
	bool scanning;      /* on the wait's scans */
	bool behind;        /* there is output that was not looked at */
};

struct waits {
	struct req *r;
	struct match_spec *spec;
	uint64_t idle_ms, bytes; /* 0: not asked for */
	bool input, any, timed_out;
	bool late;          /* and what was there then took too long */
	bool woken;         /* by output */
	uint64_t moment_ns; /* boot: what it has met gives the end until then;
	                     * 0: nothing has yet */
	struct event *tick;
	uint64_t tick_at;   /* wall; UINT64_MAX: not armed */
	uint32_t count, met_count;
	TAILQ_HEAD(, waited) scans; /* those with output to look through */
	/* a look at all of them, in slices, from `first` on and around */
	uint32_t first, looked, next_first;
	bool looks, again;  /* one is under way; and another one follows */
	bool begins;        /* it is the first one: nothing is answered before */
	uint64_t due;       /* wall: when the next one is, so far */
	uint32_t probes;    /* into /proc, that are left for it */
	/* its answer is being made: nothing is met any more */
	bool answers;
	uint32_t rows;
	struct sbuf text;
	struct enc e;
	struct waited *v;
};

/* The first look at everything, in slices; may answer the request. */
void waits_begin(struct waits *ws);
/* Of the request's watched session, or its timer. May answer. */
void waits_wake(struct waits *ws, struct session *s, unsigned wake);
/* Everything in it. */
void waits_fini(struct waits *ws);
/* What of it is met is enough. */
bool waits_enough(const struct waits *ws);

/* It is there: noted once. */
void waits_met(struct waited *w, enum met met);

/* waits_scan.c */
/* Puts a session into the queue of those whose output is to be looked at. */
void waits_enqueue(struct waited *w);
/* Its output need not be looked at any more, or is being looked at. */
void waits_dequeue(struct waited *w);
/* Is something found that is to be told now? `last`: nothing more to look at
 * at the moment. */
bool waits_take_found(struct waited *w, struct ring_reader *rd, bool last);
/* It has ended: were there as many bytes as were waited for? */
enum met waits_ended_how(const struct waited *w, uint64_t head);
/* Looks at some more output of one session. */
void waits_scan_one(struct waited *w);

/* wait.c: makes the answer, in slices. */
void wait_answer(struct waits *ws);

#endif
