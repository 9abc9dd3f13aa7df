/* SPDX-License-Identifier: MIT */
/*
 * psup-top: what its files share. The model is copied out of shared memory
 * once a refresh; everything else reads the model. view_curses.c alone knows
 * the terminal.
 */
#ifndef TOP_H
#define TOP_H

#include <jansson.h>
#include <psup/psup.h>
#include <stdio.h>

#define TOP_PROCESSES 64
#define TOP_LANES     64
#define TOP_LINE      2048 /* bytes of a line of text, at most */

/* ------------------------------------------------------------------ model */

struct top_row {
	struct psup_view_session s;
	double output_rate;  /* bytes a second; < 0: not known yet */
	double cpu_percent;  /* of one core; < 0: not known */
	int64_t rss_bytes;   /* < 0: not known */
	bool live;           /* queued, starting, running */
};

struct top_model {
	char *runtime_dir;  /* NULL: the usual one */
	psup_view *view;    /* NULL: no server was ever there */
	char why[512];      /* then: why */
	uint64_t now_ms;    /* wall clock of this refresh */
	uint64_t mono_ns;
	unsigned refreshes; /* of this server */
	struct top_row *rows, *before; /* by instance, ascending */
	size_t count, room, before_count, before_room;
	struct psup_view_process processes[TOP_PROCESSES];
	size_t process_count;
	struct psup_view_lane lanes[TOP_LANES];
	size_t lane_count;
	struct psup_view_totals totals, totals_before;
	const char *state;  /* of the server: running, master stopped, ... */
	bool healthy;
	double starts_rate, ends_rate, output_rate; /* a second; < 0: unknown */
};

void model_init(struct top_model *m, const char *runtime_dir);
void model_fini(struct top_model *m);
/* Copies everything anew and works out the rates since the time before.
 * 0; -ENOMEM: rows are missing; else no server (m->why). */
int model_refresh(struct top_model *m);
/* The row of an instance, or NULL. */
struct top_row *model_find(struct top_model *m, uint64_t instance);

/* ----------------------------------------------------------------- sample */

/* Remembers the processor time of what it was asked about. */
struct sampler;
struct sampler *sample_new(void); /* NULL: no memory */
void sample_free(struct sampler **s);
/* Processor time since the last call and memory of a running session: its
 * process and all below it, from /proc. Asked for the rows that are shown. */
void sample_row(struct sampler *s, struct top_row *row, uint64_t mono_ns);
/* Forgets what was not asked about since the last call. */
void sample_sweep(struct sampler *s);
/* The state letter of a process, 'T' stopped, 0: there is none. */
char sample_process_state(int pid);

/* ------------------------------------------------------------------ cells */

/* Escapes text and pads or cuts it to a width in columns (0: as wide as it
 * is). Returns the columns used. */
int cells_fit(const char *text, int width, bool right, char *dst, size_t size);
/* 12.3K for 12595; four characters for most figures. */
void cells_bytes(double bytes, char *dst, size_t size);
void cells_age(uint64_t ms, char *dst, size_t size);

/* ---------------------------------------------------------------- columns */

struct column {
	const char *name; /* as --sort and the JSON key have it */
	const char *title;
	int key;          /* sorts by it */
	int width;        /* 0: what is left */
	bool right;
	int from_width;   /* shown where the terminal is as wide as this */
	bool sampled;     /* from /proc */
	bool descending;  /* what is most first */
	void (*text)(const struct top_model *m, const struct top_row *r,
	    char *dst, size_t size);
	/* NULL: compared as text. < 0: nothing known. */
	double (*number)(const struct top_model *m, const struct top_row *r);
};
extern const struct column columns[];
extern const size_t column_count;
/* The index of a name, or -1. */
int column_find(const char *name);

struct top_list {
	size_t sort; /* a column */
	bool reverse, live_only;
	char filter[128];
	struct top_row **rows; /* what is shown, in order */
	size_t count, room;
};
/* Filters and sorts. 0 or -ENOMEM. */
int list_build(struct top_list *l, const struct top_model *m);
void list_fini(struct top_list *l);
/* The table's head or (r) a row of it, `width` columns wide (0: no limit). */
void list_line(const struct top_list *l, const struct top_model *m,
    const struct top_row *r, int width, char *dst, size_t size);

/* ----------------------------------------------------------------- header */

#define HEADER_LINES 6
/* Line i of the header, escaped, not yet cut. */
void header_line(const struct top_model *m, int i, char *dst, size_t size);

/* ----------------------------------------------------------------- follow */

struct follow {
	char **lines; /* escaped */
	size_t count, room;
	bool screen;  /* a terminal's; else the tail of the output */
	int cursor_row;
};
/* Reads what the session shows, at least `want` lines of it where there are
 * so many. Returns NULL, or a sentence why there is nothing. */
const char *follow_read(struct follow *f, psup_view *v,
    const struct psup_view_session *s, size_t want);
void follow_fini(struct follow *f);

/* ------------------------------------------------------------------ admin */

/* "kill" or "remove" of a session by the server; says what came of it. Waits
 * three seconds at most. */
void admin_do(const char *runtime_dir, const char *method, const char *id,
    char *ret_message, size_t size);

/* --------------------------------------------------------- batch, UI, view */

struct top_options {
	const char *runtime_dir;
	unsigned delay_ms;
	long refreshes; /* < 0: without end */
	bool batch, json, monochrome;
	struct top_list list; /* sort, filter */
};
int batch_run(struct top_model *m, struct top_options *o);
int ui_run(struct top_model *m, struct top_options *o);

enum view_style { VIEW_PLAIN, VIEW_BOLD, VIEW_BAR, VIEW_CHOSEN, VIEW_GOOD,
	VIEW_BAD, VIEW_DIM };
enum view_key {
	VIEW_NONE = -1, /* the time is over */
	VIEW_UP = 0x200000, VIEW_DOWN, VIEW_PGUP, VIEW_PGDN, VIEW_HOME,
	VIEW_END, VIEW_RESIZE, VIEW_BACK, VIEW_END_OF_INPUT, VIEW_OTHER
};
/* 0, or -1: there is no terminal that can be used. */
int view_open(bool monochrome);
void view_close(void);
void view_size(int *ret_rows, int *ret_cols);
/* A whole line of text that cells_fit() made. */
void view_line(int row, enum view_style style, const char *text);
void view_show(void);
/* A character, a VIEW_ key, or VIEW_NONE after timeout_ms. */
int view_key(int timeout_ms);

#endif
