/* SPDX-License-Identifier: MIT */
/* What stands in each column, and by which number it is sorted. Called by
 * list.c, batch.c and what draws. */
#include <stdio.h>
#include <string.h>

#include "tools/lib/cells.h"
#include "columns.h"

#define UNUSED __attribute__((unused))
#define TEXT(name)                                                             \
	static void text_##name(UNUSED const struct top_model *m,              \
	    const struct top_row *r, char *dst, size_t size)
#define NUMBER(name)                                                           \
	static double number_##name(UNUSED const struct top_model *m,          \
	    const struct top_row *r)
/* The same of one expression; SHOW: of one call that writes into dst. */
#define VALUE(name, v) NUMBER(name) { return (double)(v); }
#define SHOW(name, call) TEXT(name) { call; }
#define WORD(name, v) SHOW(name, snprintf(dst, size, "%s", v))

const char *
input_name(enum top_input i)
{
	static const char *const names[] = {[INPUT_CLOSED] = "-",
	    [INPUT_OPEN] = "open", [INPUT_IDLE] = "idle",
	    [INPUT_READS] = "reads"};

	return names[i];
}

TEXT(state)
{
	uint32_t place = r->s.lane_position;

	/* nine columns have it all */
	if (place > 0)
		snprintf(dst, size, "%s %u",
		    place < 100        ? "queued"
		        : place < 1000 ? "queue"
		                       : "q",
		    place);
	else
		snprintf(dst, size, "%s", r->live ? r->s.state : r->s.status);
}

TEXT(cpu)
{
	if (r->cpu_percent < 0)
		snprintf(dst, size, "-");
	else
		snprintf(dst, size, "%.*f", r->cpu_percent < 999.95 ? 1 : 0,
		    r->cpu_percent);
}

TEXT(idle)
{
	int64_t idle = facts_idle(m->now_ms, r);

	if (idle < 0)
		snprintf(dst, size, "-");
	else
		cells_age((uint64_t)idle, dst, size);
}

/* The code, the signal, or why it ended without either. */
TEXT(exit)
{
	const char *name;

	if (r->s.exit_signal > 0) {
		name = psup_signal_name(r->s.exit_signal);
		if (name != NULL && strncmp(name, "SIG", 3) == 0)
			name += 3;
		snprintf(dst, size, "%s", name != NULL ? name : "signal");
	} else if (r->s.exit_code >= 0 && (!r->live || r->s.ended_ms != 0))
		snprintf(dst, size, "%d", r->s.exit_code);
	else
		snprintf(dst, size, "%s", r->live ? "-" : r->s.reason);
}

TEXT(name)
{
	snprintf(dst, size, "%s%s%s", r->s.label,
	    r->s.label[0] != '\0' ? ": " : "",
	    r->s.command[0] != '\0' ? r->s.command : r->s.name);
}

VALUE(age, facts_age(m, r))
VALUE(cpu, r->cpu_percent)
VALUE(rss, r->rss_bytes)
VALUE(rate, r->output_rate)
VALUE(total, r->s.total_bytes)
VALUE(idle, facts_idle(m->now_ms, r))
WORD(session, r->s.id)
WORD(scope, r->s.scope[0] != '\0' ? r->s.scope : "-")
WORD(lane, r->s.lane[0] != '\0' ? r->s.lane : "-")
WORD(host, r->s.boxed ? "sandbox" : "gateway")
SHOW(age, cells_age(facts_age(m, r), dst, size))
SHOW(rss, cells_bytes((double)r->rss_bytes, dst, size))
SHOW(rate, cells_bytes(r->output_rate, dst, size))
SHOW(total, cells_bytes((double)r->s.total_bytes, dst, size))
WORD(input, input_name(r->input))

/* The functions of a row of the table. */
#define NUMBER_IF_true(name)  number_##name
#define NUMBER_IF_false(name) NULL
const struct column columns[] = {
#define COLUMN(name, title, key, width, right, from, sampled, most, figure,    \
    doc)                                                                       \
	{#name, title, key, width, right, from, sampled, most, doc,            \
	    text_##name, NUMBER_IF_##figure(name)},
#include "columns.def"
#undef COLUMN
};
const size_t column_count = sizeof(columns) / sizeof(columns[0]);

int
column_find(const char *name)
{
	for (size_t i = 0; i < column_count; i++)
		if (strcmp(columns[i].name, name) == 0)
			return (int)i;
	return -1;
}
