/* SPDX-License-Identifier: MIT */
/*
 * What the lane scheduler should do, told by a model that looks at everything
 * each time: too simple to be wrong. A step (test_lane_sim.c) asks the model
 * first, then the scheduler; now and then all they know is compared.
 */
#ifndef PSUP_LIB_LANE_MODEL_H
#define PSUP_LIB_LANE_MODEL_H

#include "supervisor/lane/lane.h"

#include "common/check.h"

#define SESSIONS 160u /* alive at once */
#define LANES    8u
#define GROUPS   2u
#define PATTERNS 2u
#define NO_GROUP GROUPS
#define WARN_MS  2000u

extern const char *const lane_names[LANES];
extern const char *const group_names[GROUPS];
extern const char *const lane_patterns[PATTERNS];

struct model_session {
	uint64_t sid, seq, since_ms; /* sid 0: free place */
	size_t lane;
	int priority;
	bool low, active; /* low: still in the lowest tier */
	bool stale;       /* active, of an older generation */
	bool warned;
};

struct model_lane {
	uint32_t width, queue_max; /* as configured */
	bool configured;
	size_t group;
	uint32_t reserve;
	bool paused, draining, width_set;
	uint32_t set_width;
};

struct model {
	struct lanes *ls;
	struct model_session s[SESSIONS];
	struct model_lane lanes[LANES];
	struct model_lane patterns[PATTERNS];
	uint32_t group_width[GROUPS];
	uint64_t now_ms, last_seq, last_sid, step, seed, rng;
	uint64_t admitted, queued, refused, aged, restarts;
	uint64_t setups, refused_setups, drained, cleared, resets, warned;
	uint64_t held_back[LANE_BLOCK_RESERVED + 1];
};

/* Sessions that the scheduler has named, in its order. */
struct walk {
	struct model *m;
	struct sid sids[SESSIONS];
	size_t n;
};

/* A number below n: the seed's next. */
uint64_t roll(struct model *m, uint64_t n);
/* Ends the test, with the step and the seed. */
void fail(const struct model *m, const char *what, uint64_t got,
    uint64_t want);
void expect(const struct model *m, const char *what, uint64_t got,
    uint64_t want);

/* The session of that id, or NULL; of 0: a free place. */
struct model_session *model_find(struct model *m, uint64_t sid);
/* The same, of one the scheduler has named: it must be there. */
struct model_session *model_named(struct model *m, struct sid sid);
/* Who has waited for long enough leaves the lowest tier. */
void model_age(struct model *m);
/* A lane's sessions that hold a slot, or that wait. */
uint32_t model_count(const struct model *m, size_t lane, bool active);
/* Why the lane could not start one more. */
enum lane_block model_block(const struct model *m, size_t lane,
    bool see_pause);
/* 1 is next; 0: it has started. */
uint32_t model_place(const struct model *m, const struct model_session *s);
/* When the next of those who wait is to be warned about. */
uint64_t model_warn_due(const struct model *m);

/* What a lane has that no row of its own names. */
void model_inherit(struct model *m, size_t lane);
/* Tells the scheduler all of the model's configuration. */
int model_setup(struct model *m);

/* Whom the scheduler names for a lane. */
void model_walk(struct model *m, size_t lane, enum lane_which which,
    struct walk *ret);
/* Places, views and due time are as the model has them. */
void model_compare(struct model *m);

#endif
