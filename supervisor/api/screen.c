/* SPDX-License-Identifier: MIT */
/*
 * screen: what a session's terminal shows. Drawn from the ring when asked, in
 * units of its own, one request after the other, scopes in turn: however many
 * ask, and whatever a command has written, the others go on being served and
 * there is one grid in memory.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>

#include "common/check.h"
#include "common/clock.h"
#include "shm/screen.h"
#include "supervisor/api/conn.h"
#include "supervisor/words/result.h"

#define RETRY_MS   2u
#define TRIES      10u
#define TEXT_BYTES 1048576u /* of lines, and again of runs */
#define CELL_BYTES 56u /* of memory for each cell of a grid */

/* A request that draws, or waits for its turn. */
struct drawing {
	TAILQ_ENTRY(drawing) link;
	struct req *req; /* NULL: it is not on the list */
	char account[TURN_NAME_MAX]; /* whose turns it takes */
	uint64_t round; /* behind so many of the same account */
	struct replay replay;
	bool begun, drawn, trim, cells;
	unsigned tries;
	/* its answer, row by row: all as lines, then all as runs */
	struct screen_facts facts;
	bool runs;
	unsigned row, lines; /* the next one; how many lines fitted */
	size_t shown, runs_at;
	struct sbuf text;
	struct enc e;
};

/* The first one draws. */
static TAILQ_HEAD(drawings, drawing) drawings =
    TAILQ_HEAD_INITIALIZER(drawings);

/* ----------------------------------------------------------------- answers */

/* A colour: a number, or #rrggbb. */
static void
put_colour(struct enc *e, const char *key, uint32_t colour)
{
	char text[16];

	if (colour == SCREEN_DEFAULT)
		return;
	if ((colour & SCREEN_RGB) == 0) {
		enc_kv_uint(e, key, colour & 0xff);
		return;
	}
	snprintf(text, sizeof(text), "#%06x", colour & 0xffffffu);
	enc_kv_str(e, key, text);
}

/* One run, with the look of its cells. */
static void
put_run(struct enc *e, const struct screen_cell *look, const struct sbuf *text)
{
	static const struct {
		const char *name;
		unsigned bit;
	} attrs[] = {{"bold", SCREEN_BOLD}, {"underline", SCREEN_UNDERLINE},
	    {"italic", SCREEN_ITALIC}, {"blink", SCREEN_BLINK},
	    {"reverse", SCREEN_REVERSE}, {"strike", SCREEN_STRIKE}};

	enc_map(e);
	enc_kv_strn(e, "text", text->p != NULL ? text->p : "", text->len);
	put_colour(e, "fg", look->fg);
	put_colour(e, "bg", look->bg);
	for (size_t i = 0; i < NELEMS(attrs); i++)
		if ((look->attrs & attrs[i].bit) != 0)
			enc_kv_bool(e, attrs[i].name, true);
	enc_end(e);
}

/* Do two cells look the same? */
static bool
same_look(const struct screen_cell *a, const struct screen_cell *b)
{
	return a->fg == b->fg && a->bg == b->bg && a->attrs == b->attrs;
}

/* The runs of one line. */
static void
put_runs(struct enc *e, const struct screen *s, unsigned row, unsigned cols)
{
	char text[SCREEN_CELL_BYTES];
	struct sbuf run = SBUF_INIT;
	const struct screen_cell *cells;
	struct screen_cell blank = {.width = 1};
	unsigned n, i, first = 0;

	cells = screen_cells(s, row, &n, &blank.bg);
	enc_array(e);
	for (i = 0; i < n; i++) {
		if (!same_look(&cells[i], &cells[first])) {
			put_run(e, &cells[first], &run);
			run.len = 0;
			first = i;
		}
		sbuf_addn(&run, text, screen_cell_text(&cells[i], text));
	}
	if (n > 0)
		put_run(e, &cells[first], &run);
	run.len = 0;
	if (n < cols && blank.bg != SCREEN_DEFAULT) {
		for (; n < cols; n++)
			sbuf_add(&run, " ");
		put_run(e, &blank, &run);
	}
	enc_end(e);
	e->failed = e->failed || run.failed;
	sbuf_fini(&run);
}

/* The next row as a line, in `lines` and in the text. */
static void
put_line(struct drawing *d)
{
	static char line[SCREEN_SIZE_MAX * SCREEN_CELL_BYTES];
	size_t n = screen_line(d->replay.screen, d->row, d->trim, line);

	enc_strn(&d->e, line, n);
	sbuf_addn(&d->text, line, n);
	if (n > 0 || !d->trim)
		d->shown = d->text.len;
	sbuf_add(&d->text, "\n");
}

/* The details up to the lines. */
static void
put_head(struct drawing *d, struct session *s)
{
	const struct replay *rp = &d->replay;
	struct screen_facts *f = &d->facts;
	struct enc *e = &d->e;

	screen_facts(rp->screen, f);
	result_open_details(e);
	enc_kv_str(e, "status", result_status(s));
	enc_kv_str(e, "sessionId", s->id.slug);
	enc_kv_str(e, "name", s->id.name);
	enc_kv_uint(e, "cols", f->cols);
	enc_kv_uint(e, "rows", f->rows);
	enc_kv_map(e, "cursor");
	enc_kv_uint(e, "row", f->cursor_row);
	enc_kv_uint(e, "col", f->cursor_col);
	enc_kv_bool(e, "visible", f->cursor_visible);
	enc_end(e);
	enc_kv_bool(e, "alternate", f->alternate);
	enc_kv_str(e, "title", f->title);
	enc_kv_uint(e, "next", rp->to);
	enc_kv_uint(e, "droppedBytes", rp->dropped);
	enc_kv_bool(e, "approximate", rp->approximate);
	enc_kv_array(e, "lines");
}

/* Some more rows. True: all are there, or as many as one answer holds. */
static bool
put_rows(struct drawing *d, uint64_t until)
{
	for (;;) {
		unsigned end = d->runs ? d->lines : d->facts.rows;
		size_t len = d->runs ? d->e.len - d->runs_at : d->text.len;

		if (d->row == end || len >= TEXT_BYTES) {
			enc_end(&d->e);
			if (!d->runs)
				d->lines = d->row;
			if (d->runs || !d->cells)
				return true;
			enc_kv_array(&d->e, "runs");
			d->runs = true;
			d->runs_at = d->e.len;
			d->row = 0;
			continue;
		}
		if (d->runs)
			put_runs(&d->e, d->replay.screen, d->row,
			    d->facts.cols);
		else
			put_line(d);
		d->row++;
		if (clock_boot_ns() >= until)
			return false;
	}
}

/* The rest of the answer. */
static void
put_end(struct drawing *d)
{
	struct sbuf *text = &d->text;
	struct enc *e = &d->e;

	enc_kv_bool(e, "truncated", d->row < d->facts.rows);
	if (text->p != NULL) {
		text->len = d->shown;
		text->p[d->shown] = '\0';
	}
	if (text->len == 0)
		sbuf_add(text, "(the screen is blank)");
	if (d->replay.approximate)
		sbuf_addf(text,
		    "\n\n[approximate: %llu bytes of earlier output are not "
		    "retained]",
		    (unsigned long long)d->replay.dropped);
	result_close_text(e, text);
}

/* A slice of the answer. */
static void
answer(struct req *r)
{
	struct drawing *d = r->state;

	if (!put_rows(d, r->m->unit_until_ns)) {
		req_wake(r, WAKE_MORE);
		return;
	}
	put_end(d);
	req_answer(r, &d->e);
}

/* Answers that it could not be drawn. */
static void
fail(struct req *r, struct session *s, int err)
{
	if (err == -ENOENT)
		req_refuse(r, PROTO_E_NOT_FOUND, s->id.slug,
		    "The output of session %s is gone.", s->id.slug);
	else if (err == -ENOTTY)
		req_refuse(r, PROTO_E_NO_TERMINAL, s->id.slug,
		    "Session %s has no terminal.", s->id.slug);
	else if (err == -EAGAIN)
		req_refuse(r, PROTO_E_BUSY, s->id.slug,
		    "The output of session %s is being overwritten: try again",
		    s->id.slug);
	else if (err == -ENOMEM)
		req_nomem(r);
	else
		req_refuse(r, PROTO_E_INTERNAL, s->id.slug,
		    "The output of session %s is damaged.", s->id.slug);
}

/* ----------------------------------------------------------------- drawing */

/* Begins: from the ring, or blank where there is none yet. */
static int
begin(struct drawing *d, struct session *s, struct ring_reader *rd)
{
	int rc = rd != NULL ? replay_begin(rd, &d->replay) : -ENOENT;

	if ((rc == -ENOENT || rc == -ENOTTY) &&
	    (s->state == STATE_QUEUED || s->state == STATE_STARTING)) {
		d->replay = (struct replay){
		    .screen = screen_new(s->terminal.cols, s->terminal.rows)};
		rc = d->replay.screen != NULL ? 0 : -ENOMEM;
	}
	d->begun = rc == 0;
	return rc;
}

/* Of the unit in hand. */
static uint64_t
unit_left_ns(const struct master *m)
{
	uint64_t now = clock_boot_ns();

	return now + TURN_SLICE_MIN_NS < m->unit_until_ns
	    ? m->unit_until_ns - now
	    : TURN_SLICE_MIN_NS;
}

/* One slice. 1: more to do; -EDQUOT: it was refused. */
static int
slice(struct drawing *d, struct session *s)
{
	struct ring_reader *rd = readers_of(d->req->m, s);
	int rc = d->begun ? 0 : begin(d, s, rd);

	if (rc < 0)
		return rc;
	if (!req_keeps(d->req,
		(uint64_t)s->terminal.cols * s->terminal.rows * CELL_BYTES))
		return -EDQUOT;
	if (rd == NULL)
		return d->replay.to == 0 ? 0 : -ENOENT;
	return replay_step(&d->replay, rd, unit_left_ns(d->req->m));
}

/* The first in the queue goes on drawing; the others wait. */
static void
go_on(struct req *r, struct session *s)
{
	struct drawing *d = r->state;
	int rc;

	if (d != TAILQ_FIRST(&drawings))
		return; /* screen_drop() will wake it */
	if (d->drawn) {
		answer(r);
		return;
	}
	rc = slice(d, s);
	if (rc == -EAGAIN && ++d->tries < TRIES) {
		req_timer(r, RETRY_MS);
	} else if (rc > 0) {
		req_wake(r, WAKE_MORE);
	} else if (rc == 0) {
		d->drawn = true;
		put_head(d, s);
		answer(r);
	} else if (rc != -EDQUOT) {
		fail(r, s, rc);
	}
}

static void
screen_drop(struct req *r)
{
	struct drawing *d = r->state, *next;
	bool first = d == TAILQ_FIRST(&drawings);

	if (d->req == NULL)
		return;
	TAILQ_REMOVE(&drawings, d, link);
	if (d->begun)
		replay_end(&d->replay);
	sbuf_fini(&d->text);
	enc_fini(&d->e);
	next = TAILQ_FIRST(&drawings);
	if (first && next != NULL)
		req_wake(next->req, WAKE_MORE);
}

/* Its turn, or its session is gone. */
static void
screen_wake(struct req *r, struct session *s, unsigned wake)
{
	if (s == NULL)
		return;
	if (wake & WAKE_GONE)
		req_refuse(r, PROTO_E_NOT_FOUND, NULL,
		    "No session found for %s", s->id.slug);
	else if (wake & (WAKE_TIMER | WAKE_MORE))
		go_on(r, s);
}

/* It draws behind those of its account, but before another's that has more of
 * them before it. */
static void
queue(struct drawing *d, struct req *r)
{
	struct drawing *o = TAILQ_FIRST(&drawings);
	char buf[TURN_NAME_MAX];

	d->req = r;
	strlcpy(d->account, conn_account(r->conn, buf), sizeof(d->account));
	d->round = o != NULL ? o->round : 0;
	TAILQ_FOREACH(o, &drawings, link)
		if (strcmp(o->account, d->account) == 0)
			d->round = o->round + 1;
	TAILQ_FOREACH_REVERSE(o, &drawings, drawings, link)
		if (o->round <= d->round)
			break;
	if (o != NULL)
		TAILQ_INSERT_AFTER(&drawings, o, d, link);
	else
		TAILQ_INSERT_HEAD(&drawings, d, link);
}

/* screen */
static void
screen_call(struct api_call *c)
{
	struct session *s = api_session(c, API_BACKGROUND);
	struct req *r = c->req;
	struct drawing *d = r->state;

	if (s == NULL)
		return;
	if (!s->terminal.pty) {
		fail(r, s, -ENOTTY);
		return;
	}
	d->trim = val_bool(c->params, "trim", true);
	d->cells = val_bool(c->params, "cells", false);
	queue(d, r);
	if (req_watch(r, s) < 0) {
		fail(r, s, -ENOMEM);
		return;
	}
	go_on(r, s);
}

const struct method method_SCREEN = {.call = screen_call, .wake = screen_wake,
    .drop = screen_drop, .state_size = sizeof(struct drawing)};
