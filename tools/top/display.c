/* SPDX-License-Identifier: MIT */
/*
 * The display's loop: refreshes the model, samples what is on the screen,
 * reads the pane, draws, takes a key, and carries out what a person said yes
 * to. Called by main.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "attach.h"
#include "conf.h"
#include "display.h"
#include "view.h"

#define SLICE       64  /* further rows a refresh, where they are the order */
#define MARKED_MS   5000 /* for all that are marked together */
#define FOLLOW_MS   250 /* how often the pane looks for more */
#define FOLLOW_COST 100 /* but it rests so many times what a look took */

struct display {
	struct ui ui;
	struct top_model *model;
	struct top_options *options;
	struct sampler *sampler;
	struct pane pane;
	struct frame frame;
	uint64_t slice_from; /* instance */
	uint64_t pane_due;   /* ms */
};

/* ---------------------------------------------------------------- refreshes */

/* Is a row on the screen? */
static bool
is_shown(const struct display *d, const struct top_row *r)
{
	const struct top_list *l = d->ui.list;
	size_t end = d->ui.top + ui_table_lines(&d->ui);

	for (size_t i = d->ui.top; i < l->count && i < end; i++)
		if (l->entries[i].row == r)
			return true;
	return false;
}

/* What is on the screen is sampled. Where the order needs all of them, a
 * slice of the others is, and what was found before is shown of the rest. */
static void
sample(struct display *d)
{
	struct top_model *m = d->model;
	size_t left = columns[d->ui.list->sort].sampled ? SLICE : 0;
	size_t end = d->ui.top + ui_table_lines(&d->ui);
	struct top_row *chosen = ui_row(&d->ui);
	struct top_row *r;
	bool wrapped = false;

	for (size_t i = d->ui.top; i < d->ui.list->count && i < end; i++)
		if (d->ui.list->entries[i].row != NULL)
			sample_row(d->sampler, d->ui.list->entries[i].row,
			    m->mono_ns);
	if (chosen != NULL && !is_shown(d, chosen))
		sample_row(d->sampler, chosen, m->mono_ns);
	for (size_t i = 0; left > 0 && i < m->count; i++) {
		r = &m->rows[i];
		if (r->s.instance <= d->slice_from || !r->live ||
		    is_shown(d, r))
			continue;
		sample_row(d->sampler, r, m->mono_ns);
		d->slice_from = r->s.instance;
		left--;
	}
	wrapped = left > 0;
	if (wrapped)
		d->slice_from = 0;
}

/* A new copy. 0 or -ENOMEM; without a server there is nothing to show. */
static int
refresh(struct display *d)
{
	struct top_model *m = d->model;

	if (model_refresh(m) == -ENOMEM)
		return -ENOMEM;
	for (size_t i = 0; i < m->count; i++)
		sample_recall(d->sampler, &m->rows[i]);
	ui_rebuild(&d->ui);
	sample(d);
	sample_sweep(d->sampler);
	return 0;
}

/* Reads output, and once more where a hit is elsewhere. */
static void
read_output(struct display *d, const struct top_row *r, size_t lines)
{
	struct pane_want w;

	do {
		memset(&w, 0, sizeof(w));
		w.lines = lines;
		w.back = d->ui.back;
		w.width = d->ui.cols;
		w.here = d->ui.hit > 0 ? d->ui.hit_line : PANE_NO_HIT;
		memcpy(w.search, d->ui.search, sizeof(w.search));
		pane_output(&d->pane, d->model->view, r, &w);
	} while (ui_seek_hit(&d->ui, &d->pane));
}

/* Reads what the pane shows of the chosen session. */
static void
read_pane(struct display *d)
{
	const struct top_row *r = ui_row(&d->ui);
	size_t lines = ui_pane_lines(&d->ui);
	uint64_t began = clock_boot_ms(), took;
	struct pane *p = &d->pane;

	/* nothing to read is no hurry */
	d->pane_due = clock_boot_ms() + FOLLOW_MS;
	if (lines < 2 || r == NULL || d->model->view == NULL) {
		pane_clear(p);
		return;
	}
	if (d->ui.pane == PANE_OUTPUT)
		read_output(d, r, lines - 1);
	else {
		p->process_count = 0;
		if (r->live && r->s.ended_ms == 0 && r->s.pid > 0)
			p->process_count = sample_tree(r->s.pid, p->processes,
			    PANE_PROCESSES);
		pane_details(p, d->model, r, lines - 1, d->ui.back,
		    d->ui.cols);
	}
	took = clock_boot_ms() - began;
	d->pane_due = clock_boot_ms() + FOLLOW_MS + took * FOLLOW_COST;
}

/* ----------------------------------------------------------------- the loop */

/* As large as the terminal. 0 or -ENOMEM. */
static int
fit(struct display *d)
{
	struct frame *f = &d->frame;
	struct line *more;
	int rows, cols;

	view_size(&rows, &cols);
	if (rows > f->rows || f->lines == NULL) {
		more = reallocarray(f->lines, (size_t)rows, sizeof(*more));
		if (more == NULL)
			return -ENOMEM;
		f->lines = more;
	}
	f->rows = rows;
	f->cols = cols;
	if (d->ui.rows != rows || d->ui.cols != cols) {
		d->ui.rows = rows;
		d->ui.cols = cols;
		ui_rebuild(&d->ui);
	}
	return 0;
}

/* Reads the pane and shows everything. 0 or -ENOMEM. */
static int
show(struct display *d)
{
	int rc = fit(d);

	if (rc < 0)
		return rc;
	if (d->ui.pane != PANE_NONE)
		read_pane(d);
	draw(&d->ui, &d->pane, &d->frame);
	view_frame(&d->frame, d->ui.redraw);
	d->ui.redraw = false;
	return 0;
}

/* Asks for each that is marked, while there is time: a server that does not
 * answer does not stop the display. What was done is marked no longer. True:
 * all were done. */
static bool
do_marked(struct display *d, char *ret_said, size_t size)
{
	struct ui *u = &d->ui;
	size_t all = u->marked_count, kept = 0, done = 0;
	uint64_t until = clock_boot_ms() + MARKED_MS;
	char name[96], last[sizeof(u->message)] = "", said[sizeof(last)];

	action_name(&u->action, name, sizeof(name));
	for (size_t i = 0; i < all; i++) {
		struct action one = u->action;

		one.instance = u->marked[i];
		if (clock_boot_ms() < until &&
		    client_do(d->options->runtime_dir,
		        d->model->totals.incarnation, &one, said,
		        sizeof(said))) {
			done++;
			continue;
		}
		u->marked[kept++] = u->marked[i];
		if (clock_boot_ms() < until)
			memcpy(last, said, sizeof(last));
	}
	u->marked_count = kept;
	if (kept > 0 && last[0] == '\0')
		snprintf(last, sizeof(last), "the server is slow");
	snprintf(ret_said, size, "%s: %zu done%s%.300s", name, done,
	    kept > 0 ? ", the others not: " : "", last);
	return kept == 0;
}

/* A yes was said. */
static void
carry_out(struct display *d)
{
	struct ui *u = &d->ui;
	char name[96], said[sizeof(u->message)];
	bool done;

	u->carry_out = false;
	action_name(&u->action, name, sizeof(name));
	ui_say(u, false, "%s: asking the server", name);
	if (show(d) < 0)
		return;
	if (u->action.marked)
		done = do_marked(d, said, sizeof(said));
	else
		done = client_do(d->options->runtime_dir,
		    d->model->totals.incarnation, &u->action, said,
		    sizeof(said));
	ui_say(u, !done, "%s", said);
	u->refresh = true;
}

/* What was chosen of columns outlives the display. */
static void
keep_columns(struct display *d)
{
	char said[sizeof(d->ui.message)];

	d->ui.keep_columns = d->ui.columns_changed = false;
	if (conf_keep(&d->options->list, said, sizeof(said)))
		ui_say(&d->ui, false, "%s", said);
	else
		ui_say(&d->ui, true, "%s", said);
}

/* Sits down at a session's terminal until the person leaves it. */
static void
attach(struct display *d)
{
	char session[40], said[96];

	snprintf(session, sizeof(session), "%016llx.%016llx",
	    (unsigned long long)d->model->totals.incarnation,
	    (unsigned long long)d->ui.attach);
	d->ui.attach = 0;
	view_suspend();
	attach_run(d->options->runtime_dir, session, said, sizeof(said));
	view_resume();
	ui_say(&d->ui, false, "%s", said);
	d->ui.refresh = true;
}

/* When to wake without a key. */
static int
rest(const struct display *d, uint64_t next)
{
	uint64_t now = clock_boot_ms();

	if (d->ui.pane != PANE_NONE && d->pane_due < next)
		next = d->pane_due;
	return next > now ? (int)(next - now) : 0;
}

/* Refreshes when it is time, shows, takes a key. */
static int
loop(struct display *d)
{
	long left = d->options->refreshes;
	uint64_t next = 0, now;
	int rc = 0, key;

	while (!d->ui.quit && rc == 0) {
		now = clock_boot_ms();
		if (now >= next || d->ui.refresh) {
			if (left == 0)
				break;
			left -= left > 0;
			rc = refresh(d);
			d->ui.refresh = false;
			next = now + d->ui.delay_ms;
		}
		if (rc == 0)
			rc = show(d);
		if (rc < 0)
			break;
		key = view_key(rest(d, next));
		view_mouse(&d->ui.mouse_row, &d->ui.mouse_col);
		keys_press(&d->ui, key);
		if (d->ui.carry_out)
			carry_out(d);
		if (d->ui.attach != 0)
			attach(d);
		if (d->ui.keep_columns)
			keep_columns(d);
	}
	return rc;
}

/* What a person without a usable terminal does. */
static void
refuse_terminal(void)
{
	const char *term = getenv("TERM");
	char safe[80];

	term = term != NULL ? term : "";
	psup_escape(term, strnlen(term, 16), false, safe, sizeof(safe));
	fprintf(stderr,
	    "psup-top: on this terminal (TERM=%s) no cursor can be placed; "
	    "psup-top --batch shows the same as text\n",
	    safe);
}

int
display_run(struct top_model *m, struct top_options *o)
{
	static struct display d;
	int rc;

	d = (struct display){.model = m, .options = o};
	d.ui.model = m;
	d.ui.list = &o->list;
	d.ui.delay_ms = o->delay_ms;
	if (o->conf_why[0] != '\0')
		ui_say(&d.ui, true, "not taken: %s", o->conf_why);
	d.sampler = sample_new();
	if (d.sampler == NULL) {
		fprintf(stderr, "psup-top: %s\n", strerror(ENOMEM));
		return 1;
	}
	if (view_open(o->monochrome, !o->no_mouse) < 0) {
		refuse_terminal();
		sample_free(&d.sampler);
		return 1;
	}
	rc = fit(&d);
	if (rc == 0)
		rc = loop(&d);
	view_close();
	pane_fini(&d.pane);
	free(d.frame.lines);
	sample_free(&d.sampler);
	if (rc < 0)
		fprintf(stderr, "psup-top: %s\n", strerror(-rc));
	return rc < 0 ? 1 : 0;
}
