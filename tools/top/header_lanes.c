/* SPDX-License-Identifier: MIT */
/* Lanes in the header and on their page, and bars. Called by header.c and
 * views.c. */
#include <string.h>

#include "tools/lib/cells.h"
#include "header.h"

#define BAR_CELLS 12

/* "[|||||       ]" */
void
header_bar(struct line *l, uint32_t style, double part)
{
	int full = (int)(part * BAR_CELLS + 0.5);

	line_put(l, STYLE_LABEL, " [");
	for (int i = 0; i < BAR_CELLS; i++)
		line_put(l, style, "%s", i < full ? "|" : " ");
	line_put(l, STYLE_LABEL, "]");
}

/* What other than its own width holds its queue back, in words, or "". */
static const char *
held_back(const struct top_lane *l)
{
	static const struct {
		const char *block, *words;
	} rows[] = {{"group", "its group is full"},
	    {"reserved", "reserved in its group"}};

	for (size_t i = 0; l->l.queued > 0 && i < sizeof(rows) / sizeof(*rows);
	     i++)
		if (strcmp(rows[i].block, l->l.blocked_by) == 0)
			return rows[i].words;
	return "";
}

void
header_lane_bar(const struct top_lane *l, struct line *ret)
{
	header_bar(ret, l->l.queued > 0 ? STYLE_WARN : STYLE_GOOD,
	    l->l.width == 0 || l->l.active > l->l.width
	        ? l->l.active > 0
	        : (double)l->l.active / l->l.width);
}

void
header_lane_held(const struct top_lane *l, struct line *ret)
{
	const char *words = held_back(l);
	char age[16];

	if (l->l.draining)
		line_put(ret, STYLE_WARN, " draining");
	if (l->l.paused)
		line_put(ret, STYLE_BAD, " paused");
	else if (words[0] != '\0')
		line_put(ret, STYLE_LABEL, " %s", words);
	else if (l->holders > 0) {
		cells_age(l->holder_ms, age, sizeof(age));
		line_put(ret, STYLE_PLAIN, " ");
		line_text(ret, STYLE_PLAIN, l->holder);
		line_put(ret, STYLE_VALUE, " %s", age);
		if (l->holders > 1)
			line_put(ret, STYLE_LABEL, " and %u", l->holders - 1);
	} else if (strcmp(l->l.blocked_by, "width") == 0)
		line_put(ret, STYLE_LABEL, " its width");
}

/* A lane of the header: its figures, and why somebody waits. */
static void
lane_brief(const struct top_lane *l, struct line *ret)
{
	bool full = l->l.queued > 0 && !l->l.paused &&
	    strcmp(l->l.blocked_by, "width") == 0;

	line_text(ret, l->l.active + l->l.queued > 0 ? STYLE_PLAIN : STYLE_DIM,
	    l->l.name);
	line_put(ret, l->l.active > 0 ? STYLE_VALUE : STYLE_DIM, " %u/%u",
	    l->l.active, l->l.width);
	if (l->l.queued > 0)
		line_put(ret, STYLE_WARN, " +%u", l->l.queued);
	if (full)
		line_put(ret, STYLE_LABEL, " held by");
	if (full || l->l.paused || l->l.draining || held_back(l)[0] != '\0')
		header_lane_held(l, ret);
}

void
header_lanes(const struct top_model *m, struct line *l)
{
	line_put(l, STYLE_LABEL, "lanes ");
	if (m->lane_count == 0)
		line_put(l, STYLE_DIM, "none");
	for (size_t i = 0; i < m->lane_count; i++) {
		if (i > 0)
			line_put(l, STYLE_DIM, " \xe2\x94\x82 ");
		lane_brief(&m->lanes[i], l);
	}
}
