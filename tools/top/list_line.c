/* SPDX-License-Identifier: MIT */
/* The table's head and its rows as lines. Called by draw.c and batch.c. */
#include <stdio.h>
#include <string.h>

#include "tools/lib/cells.h"
#include "list.h"

#define FIRST_MAX  32 /* of the first column on a wide terminal */
#define OTHER_MAX  24 /* of scope and lane */
#define ROOMY_COLS 132

/* Columns of names are as wide as what stands in them, within what a terminal
 * can spare; all that is left is the last one's. */
int
list_width_of(const struct top_list *l, size_t i, int width)
{
	const struct column *c = &columns[i];
	int least = (int)strlen(c->title) + 1; /* and the order's arrow */
	int indent = l->tree && i == 0 ? 2 : 0;
	int wide = l->widest[i] + indent, most = c->width + indent;

	if (width == 0 || c->width == 0 || c->right ||
	    strcmp(c->name, "state") == 0 || strcmp(c->name, "input") == 0 ||
	    strcmp(c->name, "host") == 0)
		return c->width;
	if (width >= ROOMY_COLS)
		most = i == 0 ? FIRST_MAX : OTHER_MAX;
	wide = wide > least ? wide : least;
	return wide < most ? wide : most;
}

/* How a row's state looks. */
static uint32_t
state_style(const struct top_row *r)
{
	static const struct {
		const char *word;
		uint32_t style;
	} rows[] = {{"running", STYLE_GOOD}, {"starting", STYLE_GOOD},
	    {"queued", STYLE_WARN}, {"exited", STYLE_WARN},
	    {"completed", STYLE_DIM}, {"killed", STYLE_DIM},
	    {"failed", STYLE_BAD}, {"lost", STYLE_BAD}};
	const char *word = r->live ? r->s.state : r->s.status;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].word, word) == 0)
			return rows[i].style;
	return STYLE_PLAIN;
}

/* How a cell looks: what is over is dim, what needs a look is not. */
static uint32_t
cell_style(const struct top_row *r, const struct column *c, const char *text)
{
	if (strcmp(c->name, "state") == 0)
		return state_style(r);
	if (strcmp(text, "-") == 0)
		return STYLE_DIM;
	if (strcmp(c->name, "input") == 0)
		return r->input == INPUT_READS ? STYLE_WARN : STYLE_PLAIN;
	if (strcmp(c->name, "exit") == 0 && strcmp(text, "0") != 0 &&
	    strcmp(r->s.status, "killed") != 0)
		return STYLE_BAD;
	if (!r->live)
		return STYLE_DIM;
	return strcmp(c->name, "session") == 0 ? STYLE_BOLD : STYLE_PLAIN;
}

void
list_measure(struct top_list *l, const struct top_model *m)
{
	char text[COLUMN_TEXT];
	int wide;

	memset(l->widest, 0, sizeof(l->widest));
	for (size_t i = 0; i < l->count; i++)
		for (size_t c = 0; c < column_count; c++) {
			if (l->entries[i].row == NULL || columns[c].width == 0)
				continue;
			columns[c].text(m, l->entries[i].row, text,
			    sizeof(text));
			wide = cells_width(text) + (l->tree && c == 0 ? 2 : 0);
			if (wide > l->widest[c])
				l->widest[c] = wide;
		}
}

/* A cell of a column. */
static void
add_cell(const struct top_list *l, size_t i, uint32_t style,
    const char *text, int width, struct line *ret)
{
	int wide = list_width_of(l, i, width);

	if (width == 0 && wide > 0 && l->widest[i] > wide)
		wide = l->widest[i];
	line_cell(ret, style, text, wide, columns[i].right);
}

void
list_head(const struct top_list *l, int width, struct line *ret)
{
	size_t shown[LIST_COLUMNS], count = list_shown(l, width, shown), i;
	const char *arrow;
	char title[32];
	bool here;

	line_init(ret, width);
	for (size_t k = 0; k < count; k++) {
		i = shown[k];
		here = l->sort == i && width > 0;
		arrow = !here                                   ? ""
		    : l->reverse != columns[i].descending ? "\xe2\x96\xbe"
		                                          : "\xe2\x96\xb4";
		/* behind a title to the right there is the gap */
		snprintf(title, sizeof(title), "%s%s", columns[i].title,
		    columns[i].right ? "" : arrow);
		add_cell(l, i, here ? STYLE_SORTED : STYLE_HEAD, title, width,
		    ret);
		if (k + 1 < count)
			line_put(ret, here ? STYLE_SORTED : STYLE_HEAD, "%s",
			    here && columns[i].right ? arrow : " ");
	}
}

int
list_column_at(const struct top_list *l, int width, int col)
{
	size_t shown[LIST_COLUMNS], count = list_shown(l, width, shown);
	int at = 0;

	for (size_t k = 0; k < count; k++) {
		if (columns[shown[k]].width == 0)
			return (int)shown[k]; /* to the end */
		at += list_width_of(l, shown[k], width) + 1;
		if (col < at)
			return (int)shown[k];
	}
	return -1;
}

/* "agent-7  12 sessions, 3 live, 1.2K/s, 30M" */
static void
scope_line(const struct top_list *, const struct list_scope *s, int width,
    struct line *ret)
{
	char rate[16], total[16];

	line_init(ret, width);
	cells_bytes(s->output_rate, rate, sizeof(rate));
	cells_bytes((double)s->total_bytes, total, sizeof(total));
	line_put(ret, STYLE_LABEL, "%s ", s->folded ? "\xe2\x96\xb8"
	                                            : "\xe2\x96\xbe");
	line_text(ret, STYLE_BOLD, s->name[0] != '\0' ? s->name : "(none)");
	line_put(ret, STYLE_PLAIN, "  %zu session%s, %zu live", s->sessions,
	    s->sessions == 1 ? "" : "s", s->live);
	line_put(ret, STYLE_DIM, ", output %s/s, %s in all", rate, total);
	line_ellipsis(ret);
}

void
list_line(const struct top_list *l, const struct top_model *m,
    const struct list_entry *e, int width, struct line *ret)
{
	size_t shown[LIST_COLUMNS], count, i;
	char text[COLUMN_TEXT], indented[COLUMN_TEXT + 2];

	if (e->row == NULL) {
		scope_line(l, &l->scopes[e->scope], width, ret);
		return;
	}
	line_init(ret, width);
	count = list_shown(l, width, shown);
	for (size_t k = 0; k < count; k++) {
		i = shown[k];
		columns[i].text(m, e->row, text, sizeof(text));
		snprintf(indented, sizeof(indented), "  %s", text);
		add_cell(l, i, cell_style(e->row, &columns[i], text),
		    l->tree && i == 0 ? indented : text, width, ret);
		if (k + 1 < count)
			line_put(ret, STYLE_PLAIN, " ");
	}
}
