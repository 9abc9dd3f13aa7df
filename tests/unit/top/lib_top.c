/* SPDX-License-Identifier: MIT */
/* See lib_top.h. */
#include "lib_top.h"

#include <criterion/criterion.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct top_model model;
struct top_list list;
struct top_row rows[4];
struct ui ui;
struct pane pane;
struct frame frame;

void
top_use_utf8(void)
{
	cr_assert_not_null(setlocale(LC_CTYPE, "C.UTF-8"));
}

void
top_set_up(void)
{
	static const char *const ids[] = {"c-name", "a-name", "b-name",
	    "d-name"};
	static const char *const scopes[] = {"red", "blue", "red", ""};

	top_use_utf8();
	for (unsigned i = 0; i < 4; i++) {
		struct top_row *r = &rows[i];

		r->s.instance = i + 1;
		r->s.state = i == 2 ? "queued" : i < 2 ? "running" : "ended";
		r->s.status = i < 3 ? "running" : "completed";
		r->s.reason = "none";
		r->s.created_ms = 1000 * (i + 1);
		r->s.started_ms = i == 2 ? 0 : r->s.created_ms;
		r->s.ended_ms = i == 3 ? 9000 : 0;
		r->s.exit_code = i == 3 ? 0 : -1;
		r->s.lane_position = i == 2;
		r->s.stdin_open = i < 2;
		r->s.total_bytes = 100 * (i + 1);
		snprintf(r->s.id, sizeof(r->s.id), "%s", ids[i]);
		snprintf(r->s.scope, sizeof(r->s.scope), "%s", scopes[i]);
		snprintf(r->s.lane, sizeof(r->s.lane), "%s",
		    i < 3 ? "main" : "");
		snprintf(r->s.command, sizeof(r->s.command), "run \033[2J%u",
		    i);
		facts_row(r, 20000);
		r->output_rate = i == 0 ? 50 : 0;
	}
	model.rows = rows;
	model.count = model.room = 4;
	model.now_ms = 20000;
	model.view = (psup_view *)&model; /* there is one; nobody looks */
	model.totals.created_ms = 10000;
	model.processes[0].p = (struct psup_view_process){
	    .role = "keeper", .pid = 10, .slot = -1, .generation = 1};
	model.processes[1].p = (struct psup_view_process){.role = "master",
	    .pid = 11, .slot = -1, .generation = 3, .restarts = 2,
	    .heartbeat_age_ms = 400};
	model.processes[2].p = (struct psup_view_process){
	    .role = "worker", .pid = 12, .slot = 0, .generation = 1};
	model.process_count = 3;
	for (int i = 0; i < 3; i++) {
		model.processes[i].exists = true;
		model.processes[i].state = 'S';
	}
	model.lanes[0].l = (struct psup_view_lane){.name = "main", .width = 2,
	    .active = 2, .queued = 1, .blocked_by = "width"};
	model.lane_count = 1;
	facts_holders(&model);
	model.state = facts_server(&model);
	list.sort = (size_t)column_find("rate");
	ui.model = &model;
	ui.list = &list;
	ui.rows = frame.rows = 24;
	ui.cols = frame.cols = 80;
	ui.delay_ms = 1000;
	frame.lines = calloc(200, sizeof(*frame.lines));
	cr_assert_not_null(frame.lines);
	ui_rebuild(&ui);
}

void
top_tear_down(void)
{
	list_fini(&list);
	pane_fini(&pane);
	free(frame.lines);
}

void
type(const char *keys)
{
	for (; *keys != '\0'; keys++)
		keys_press(&ui, *keys);
}

bool
shows(const char *text)
{
	draw(&ui, &pane, &frame);
	for (int i = 0; i < frame.rows; i++)
		if (strstr(frame.lines[i].text, text) != NULL)
			return true;
	return false;
}
