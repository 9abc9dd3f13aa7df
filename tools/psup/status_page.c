/* SPDX-License-Identifier: MIT */
/*
 * The page of psup status: the server, its sessions, lanes and processes, and
 * what it cannot do. Called by cmd_status.c. What shared memory does not know
 * is left out.
 */
#include "status_page.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/text_wrap.h"

#define SILENT_MS 5000 /* a heartbeat is one a second */
#define LANES     12   /* rows at most */
#define INDENT    10

static const char *
duration(json_int_t ms, char *buf, size_t size)
{
	psup_duration(ms > 0 ? (uint64_t)ms : 0, buf, size);
	return buf;
}

static const char *
amount(json_int_t n, char *buf, size_t size)
{
	cells_amount(n > 0 ? (uint64_t)n : 0, buf, size);
	return buf;
}

/* A line's name, in front of what it says. */
static void
print_name(const struct cli *c, const char *name)
{
	printf("%s%-*s%s", color_begin(c, STDOUT_FILENO, STYLE_BOLD),
	    INDENT - 1, name, color_end(c, STDOUT_FILENO, STYLE_BOLD));
	putchar(' ');
}

/* ----------------------------------------------------------------- health */

/* A line for each thing that an operator should look at; `c` NULL: none is
 * printed. Returns how many there are. */
static int
print_troubles(const struct cli *c, const json_t *status)
{
	const json_t *shares = json_object_get(status, "shares");
	const json_t *workers = json_object_get(status, "workers");
	char time[40];
	int n = 0;

	for (size_t i = 0; i < json_array_size(workers); i++) {
		const json_t *w = json_array_get(workers, i);
		json_int_t age = json_number(w, "heartbeatAgeMs");

		n += age > SILENT_MS;
		if (c == NULL || age <= SILENT_MS)
			continue;
		print_name(c, "trouble");
		cli_putf("worker %lld is silent for %s\n",
		    (long long)json_number(w, "slot"),
		    duration(age, time, sizeof(time)));
	}
	for (size_t i = 0; i < json_array_size(shares); i++) {
		const json_t *s = json_array_get(shares, i);
		json_int_t refused = json_number(s, "refused");

		n += refused > 0;
		if (c == NULL || refused == 0)
			continue;
		print_name(c, "trouble");
		cli_putf("shares of %s: %lld requests were refused\n",
		    json_text(s, "resource"), (long long)refused);
	}
	return n;
}

static json_int_t
replaced(const json_t *status)
{
	const json_t *workers = json_object_get(status, "workers");
	json_int_t n = 0;

	for (size_t i = 0; i < json_array_size(workers); i++)
		n += json_number(json_array_get(workers, i), "restarts");
	return n;
}

static void
print_server(const struct cli *c, const json_t *status)
{
	const json_t *keeper = json_object_get(status, "keeper");
	json_int_t started = json_number(keeper, "startedAt");
	json_int_t workers = replaced(status);
	int troubles = print_troubles(NULL, status);
	char time[40];

	print_name(c, "server");
	if (started > 0)
		cli_putf("up %s, ", duration((json_int_t)clock_wall_ms() -
		    started, time, sizeof(time)));
	if (json_text(status, "version")[0] != '\0')
		cli_putf("version %s, ", json_text(status, "version"));
	if (json_is_true(json_object_get(status, "fromSharedMemory")))
		cli_putf("its master does not answer");
	else
		cli_putf(troubles > 0 ? "look at what follows" : "healthy");
	if (workers > 0)
		cli_putf(", %lld workers replaced", (long long)workers);
	cli_putf("\n");
	print_name(c, "in");
	cli_putf("%s\n", json_text(status, "runtimeDir"));
	if (json_text(status, "scope")[0] != '\0') {
		print_name(c, "scope");
		cli_putf("%s\n", json_text(status, "scope"));
	}
	(void)print_troubles(c, status);
}

/* --------------------------------------------------------------- sessions */

static void
print_sessions(const struct cli *c, const json_t *status)
{
	static const char *const states[] = {"running", "queued", "starting",
	    "exited", "ended"};
	const json_t *s = json_object_get(status, "sessions");
	const json_t *a = json_object_get(status, "admission");
	const json_t *keeper = json_object_get(status, "keeper");

	print_name(c, "sessions");
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (i == 0 || json_number(s, states[i]) > 0)
			cli_putf("%s%lld %s", i > 0 ? ", " : "",
			    (long long)json_number(s, states[i]), states[i]);
	if (json_number(a, "waiting") > 0)
		cli_putf(", %lld wait for a place",
		    (long long)json_number(a, "waiting"));
	if (json_number(a, "maxRunning") > 0)
		cli_putf("; at most %lld run (max_running)",
		    (long long)json_number(a, "maxRunning"));
	else if (json_number(keeper, "maxSessions") > 0)
		cli_putf("; room for %lld",
		    (long long)json_number(keeper, "maxSessions"));
	cli_putf("\n");
}

/* The server's, or what a scope has of its share. */
static void
print_output(const struct cli *c, const json_t *status)
{
	const json_t *all = json_object_get(status, "output"), *share = NULL;
	const json_t *shares = json_object_get(status, "shares");
	char used[24], of[24];

	for (size_t i = 0; all == NULL && i < json_array_size(shares); i++)
		if (strcmp(json_text(json_array_get(shares, i), "resource"),
		        "output") == 0)
			share = json_array_get(shares, i);
	if (all == NULL && share == NULL)
		return;
	print_name(c, "output");
	cli_putf(all != NULL ? "%s of %s\n" : "%s; its share is %s\n",
	    amount(json_number(all, "usedBytes") + json_number(share, "used"),
	        used, sizeof(used)),
	    amount(json_number(all, "budgetBytes") + json_number(share, "fair"),
	        of, sizeof(of)));
}

/* What holds a session's processes together, and its limits. */
static void
print_groups(const struct cli *c, const json_t *status)
{
	json_t *group = json_object_get(status, "cgroup"), *v;
	const char *name, *between = "; limits: ";

	if (group == NULL)
		return;
	print_name(c, "groups");
	cli_putf("%s", json_text(group, "kill"));
	json_object_foreach(json_object_get(group, "limits"), name, v)
	{
		cli_putf("%s%s by %s", between, name, json_string_value(v));
		between = ", ";
	}
	cli_putf("\n");
}

static void
print_boxes(const struct cli *c, const json_t *status)
{
	const json_t *boxes = json_object_get(status, "boxes");
	json_int_t n = json_integer_value(json_object_get(boxes, "total"));

	if (n == 0)
		return;
	print_name(c, "boxes");
	cli_putf("%lld, with %lld sessions in them\n", (long long)n,
	    (long long)json_integer_value(json_object_get(boxes, "inside")));
}

static void
print_draining(const struct cli *c, const json_t *status)
{
	const json_t *scopes = json_object_get(status, "draining");

	if (json_array_size(scopes) == 0)
		return;
	print_name(c, "draining");
	for (size_t i = 0; i < json_array_size(scopes); i++)
		cli_putf("%s%s", i > 0 ? ", " : "",
		    json_string_value(json_array_get(scopes, i)));
	cli_putf("\n");
}

/* ----------------------------------------------------------------- tables */

TEXT_OF(lane, "name")
NUMBER_OF(width, "width")
NUMBER_OF(active, "active")
NUMBER_OF(queued, "queued")

FILL(lane_state)
{
	bool paused = json_is_true(json_object_get(row, "paused"));
	bool draining = json_is_true(json_object_get(row, "draining"));

	snprintf(cell, size, "%s", draining ? "draining" : paused ? "paused"
	    : json_number(row, "active") >= json_number(row, "width") ? "full"
	                                                    : "open");
	return draining || paused ? STYLE_YELLOW : STYLE_NONE;
}

static const struct column lanes[] = {
	{"lane", "", false, 9, fill_lane, NULL},
	{"width", "", true, 8, fill_width, NULL},
	{"running", "", true, 8, fill_active, NULL},
	{"queued", "", true, 8, fill_queued, NULL},
	{"state", "", false, 8, fill_lane_state, NULL},
};

FILL(process)
{
	if (json_is_integer(json_object_get(row, "slot")))
		snprintf(cell, size, "%s %lld",
		    strcmp(json_text(row, "role"), "standby") == 0 ? "standby"
		                                              : "worker",
		    (long long)json_number(row, "slot"));
	else
		snprintf(cell, size, "%s", json_text(row, "process"));
	return STYLE_NONE;
}

NUMBER_OF(pid, "pid")
NUMBER_OF(held, "sessions")
NUMBER_OF(restarts, "restarts")

FILL(heartbeat)
{
	json_int_t ms = json_number(row, "heartbeatAgeMs");
	char time[40];

	if (!json_is_integer(json_object_get(row, "heartbeatAgeMs")))
		return STYLE_NONE;
	snprintf(cell, size, "%s ago", duration(ms, time, sizeof(time)));
	return ms > SILENT_MS ? STYLE_RED : STYLE_NONE;
}

static const struct column processes[] = {
	{"process", "", false, 9, fill_process, NULL},
	{"pid", "", true, 8, fill_pid, NULL},
	{"sessions", "", true, 8, fill_held, NULL},
	{"replaced", "", true, 6, fill_restarts, NULL},
	{"heartbeat", "", false, 7, fill_heartbeat, NULL},
};

static void
print_table(const struct cli *c, const struct column *all, size_t count,
    const json_t *rows, size_t lines)
{
	struct table t;
	size_t columns, height;

	if (json_array_size(rows) == 0)
		return;
	cells_of_terminal(&columns, &height);
	table_default(&t, all, count);
	t.asked = true;
	table_print(c, &t, rows, columns, lines);
}
#define TABLE(c, all, rows, lines)                                             \
	print_table(c, all, sizeof(all) / sizeof((all)[0]), rows, lines)

/* Keeper, master and workers as rows of one table. */
static json_t *
process_rows(const json_t *status)
{
	static const char *const single[] = {"keeper", "master"};
	const json_t *workers = json_object_get(status, "workers");
	json_t *rows = json_array(), *row;

	for (size_t i = 0; i < 2; i++) {
		row = json_copy(json_object_get(status, single[i]));
		if (row == NULL)
			continue;
		json_object_del(row, "slot");
		json_object_set_new(row, "process", json_string(single[i]));
		json_array_append_new(rows, row);
	}
	for (size_t i = 0; i < json_array_size(workers); i++)
		json_array_append(rows, json_array_get(workers, i));
	return rows;
}

static void
print_unavailable(const struct cli *c, const json_t *status)
{
	const json_t *all = json_object_get(status, "unavailable");
	char line[400], shown[4 * sizeof(line) + 1];

	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *one = json_array_get(all, i);
		const char *reason = json_text(one, "reason");

		/* a refusal begins so, and this is a list of them */
		snprintf(line, sizeof(line), "no %s: ",
		    json_text(one, "feature"));
		if (strncmp(reason, line, strlen(line)) == 0)
			reason += strlen(line);
		snprintf(line, sizeof(line), "%s: %s", json_text(one, "feature"),
		    reason);
		psup_escape(line, strlen(line), false, shown, sizeof(shown));
		print_name(c, i == 0 ? "lacks" : "");
		text_wrap(stdout, shown, INDENT, INDENT);
	}
}

void
status_page_print(const struct cli *c, const json_t *status)
{
	json_t *rows = process_rows(status);

	print_server(c, status);
	print_sessions(c, status);
	print_output(c, status);
	print_groups(c, status);
	print_boxes(c, status);
	print_draining(c, status);
	print_unavailable(c, status);
	TABLE(c, lanes, json_object_get(status, "lanes"), LANES + 3);
	TABLE(c, processes, rows, 0);
	json_decref(rows);
}
