/* SPDX-License-Identifier: MIT */
/*
 * psup-top for scripts: refreshes as plain text, or one JSON object a line.
 * Called by main. Ends where nobody reads any more.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "display.h"
#include "header.h"
#include "sample.h"

/* A string with what is no UTF-8 replaced. */
static json_t *
json_text(const char *text)
{
	char buf[3 * 512];
	size_t len = strnlen(text, sizeof(buf) / 3);

	return json_stringn(buf, psup_repair(text, len, buf));
}

/* A figure, or null where it is not known. */
static json_t *
json_figure(double v)
{
	return v < 0 ? json_null() : json_real(v);
}

static json_t *
json_count(uint64_t v)
{
	return json_integer((json_int_t)v);
}

/* A process of the server. */
static json_t *
json_process(const struct top_process *process)
{
	const struct psup_view_process *p = &process->p;
	json_t *o = json_object();

	json_object_set_new(o, "role", json_string(p->role));
	json_object_set_new(o, "slot",
	    p->slot < 0 ? json_null() : json_integer(p->slot));
	json_object_set_new(o, "pid",
	    process->exists ? json_integer(p->pid) : json_null());
	json_object_set_new(o, "stopped",
	    json_boolean(process->state == 'T' || process->state == 't'));
	json_object_set_new(o, "generation", json_count(p->generation));
	json_object_set_new(o, "restarts", json_count(p->restarts));
	json_object_set_new(o, "heartbeatAgeMs",
	    p->heartbeat_age_ms == UINT64_MAX ? json_null()
	                                      : json_count(p->heartbeat_age_ms));
	json_object_set_new(o, "sessions", json_count(p->sessions));
	json_object_set_new(o, "spawned", json_count(p->spawned));
	json_object_set_new(o, "spawnFailed", json_count(p->spawn_failed));
	json_object_set_new(o, "bytesMoved", json_count(p->bytes_moved));
	json_object_set_new(o, "lastWords", json_text(p->last_words));
	return o;
}

static json_t *
json_lane(const struct top_lane *lane)
{
	const struct psup_view_lane *l = &lane->l;
	json_t *o = json_object();

	json_object_set_new(o, "name", json_text(l->name));
	json_object_set_new(o, "width", json_count(l->width));
	json_object_set_new(o, "active", json_count(l->active));
	json_object_set_new(o, "queued", json_count(l->queued));
	json_object_set_new(o, "paused", json_boolean(l->paused));
	json_object_set_new(o, "draining", json_boolean(l->draining));
	json_object_set_new(o, "blockedBy", l->blocked_by[0] != '\0'
	        ? json_string(l->blocked_by)
	        : json_null());
	json_object_set_new(o, "holder",
	    lane->holders > 0 ? json_text(lane->holder) : json_null());
	json_object_set_new(o, "holders", json_count(lane->holders));
	return o;
}

/* A session: its facts, then the columns that are figures. */
static json_t *
json_session(const struct top_model *m, const struct top_row *r)
{
	const struct psup_view_session *s = &r->s;
	json_t *o = json_object();

	json_object_set_new(o, "sessionId", json_text(s->id));
	json_object_set_new(o, "instance", json_count(s->instance));
	json_object_set_new(o, "scope", json_text(s->scope));
	json_object_set_new(o, "lane", json_text(s->lane));
	json_object_set_new(o, "host",
	    json_string(s->boxed ? "sandbox" : "gateway"));
	json_object_set_new(o, "state", json_string(s->state));
	json_object_set_new(o, "status", json_string(s->status));
	json_object_set_new(o, "reason", json_string(s->reason));
	json_object_set_new(o, "name", json_text(s->name));
	json_object_set_new(o, "label", json_text(s->label));
	json_object_set_new(o, "command", json_text(s->command));
	json_object_set_new(o, "pty", json_boolean(s->pty));
	json_object_set_new(o, "input", r->input == INPUT_CLOSED
	        ? json_null()
	        : json_string(input_name(r->input)));
	json_object_set_new(o, "processes",
	    r->processes > 0 ? json_integer(r->processes) : json_null());
	json_object_set_new(o, "pid",
	    r->live && s->pid > 0 ? json_integer(s->pid) : json_null());
	json_object_set_new(o, "exitCode", r->live || s->exit_code < 0
	        ? json_null()
	        : json_integer(s->exit_code));
	json_object_set_new(o, "exitSignal", s->exit_signal > 0
	        ? json_string(psup_signal_name(s->exit_signal))
	        : json_null());
	json_object_set_new(o, "lanePosition", json_count(s->lane_position));
	for (size_t i = 0; i < column_count; i++)
		if (columns[i].number != NULL)
			json_object_set_new(o, columns[i].name,
			    json_figure(columns[i].number(m, r)));
	return o;
}

/* One refresh as one object. */
static json_t *
json_of_model(const struct top_model *m, const struct top_list *l)
{
	const struct psup_view_totals *t = &m->totals;
	json_t *o = json_object(), *list;

	json_object_set_new(o, "atMs", json_count(m->now_ms));
	json_object_set_new(o, "server",
	    json_string(server_state_name(m->state)));
	json_object_set_new(o, "pressure",
	    json_pack("{s:o,s:o,s:o,s:o}", "cpu",
	        json_figure(m->pressure.cpu), "memory",
	        json_figure(m->pressure.memory), "io",
	        json_figure(m->pressure.io), "load",
	        json_figure(m->pressure.load)));
	if (m->view == NULL) {
		json_object_set_new(o, "why", json_text(m->why));
		return o;
	}
	json_object_set_new(o, "runtimeDir", json_text(psup_view_dir(m->view)));
	json_object_set_new(o, "startsPerSec", json_figure(m->starts_rate));
	json_object_set_new(o, "endsPerSec", json_figure(m->ends_rate));
	json_object_set_new(o, "outputBytesPerSec",
	    json_figure(m->output_rate));
	json_object_set_new(o, "totals",
	    json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "queued",
	        (json_int_t)t->queued, "starting", (json_int_t)t->starting,
	        "running", (json_int_t)t->running, "exited",
	        (json_int_t)t->exited, "ended", (json_int_t)t->ended,
	        "startedEver", (json_int_t)t->started_ever, "endedEver",
	        (json_int_t)t->ended_ever, "failedEver",
	        (json_int_t)t->failed_ever, "budgetBytes",
	        (json_int_t)t->budget_bytes, "budgetUsed",
	        (json_int_t)t->budget_used, "boxes", (json_int_t)t->boxes,
	        "inBoxes", (json_int_t)t->boxed));
	list = json_array();
	for (size_t i = 0; i < m->process_count; i++)
		json_array_append_new(list, json_process(&m->processes[i]));
	json_object_set_new(o, "processes", list);
	list = json_array();
	for (size_t i = 0; i < m->lane_count; i++)
		json_array_append_new(list, json_lane(&m->lanes[i]));
	json_object_set_new(o, "lanes", list);
	list = json_array();
	for (size_t i = 0; i < l->count; i++)
		if (l->entries[i].row != NULL)
			json_array_append_new(list,
			    json_session(m, l->entries[i].row));
	json_object_set_new(o, "sessions", list);
	return o;
}

/* A line without its looks, and without blanks at its end. */
static void
print_line(const struct line *l)
{
	size_t len = l->len;

	while (len > 0 && l->text[len - 1] == ' ')
		len--;
	printf("%.*s\n", (int)len, l->text);
}

/* One refresh as text. */
static void
print_text(const struct top_model *m, struct top_list *l)
{
	static struct line line;

	for (size_t i = 0; i < HEADER_LINES; i++) {
		header_line(m, i, 0, &line);
		if (line.len > 0)
			print_line(&line);
	}
	if (m->view == NULL)
		return;
	list_measure(l, m);
	list_head(l, 0, &line);
	putchar('\n');
	print_line(&line);
	for (size_t i = 0; i < l->count; i++) {
		list_line(l, m, &l->entries[i], 0, &line);
		print_line(&line);
	}
}

/* Everything is shown: everything that runs is sampled. */
static int
refresh(struct top_model *m, struct top_list *l, struct sampler *sampler)
{
	int rc = model_refresh(m);

	if (rc == -ENOMEM)
		return rc;
	for (size_t i = 0; i < m->count; i++)
		sample_row(sampler, &m->rows[i], m->mono_ns);
	sample_sweep(sampler);
	return list_build(l, m);
}

/* Writes one refresh. 0 or -errno. */
static int
print_one(const struct top_model *m, struct top_options *o)
{
	json_t *doc;

	if (o->json) {
		doc = json_of_model(m, &o->list);
		if (json_dumpf(doc, stdout, JSON_COMPACT | JSON_ENSURE_ASCII) !=
		    0)
			fputs("{}", stdout);
		putchar('\n');
		json_decref(doc);
	} else
		print_text(m, &o->list);
	return fflush(stdout) == 0 ? 0 : -errno;
}

int
batch_run(struct top_model *m, struct top_options *o)
{
	struct sampler *sampler = sample_new();
	int rc = sampler != NULL ? 0 : -ENOMEM;

	for (long i = 0; rc == 0 && (o->refreshes < 0 || i < o->refreshes);
	     i++) {
		if (i > 0) {
			clock_nap((uint64_t)o->delay_ms * NSEC_PER_MSEC);
			if (!o->json)
				putchar('\n');
		}
		rc = refresh(m, &o->list, sampler);
		if (rc == 0)
			rc = print_one(m, o);
	}
	sample_free(&sampler);
	if (rc < 0 && rc != -EPIPE)
		fprintf(stderr, "psup-top: %s\n", strerror(-rc));
	return rc < 0 ? 1 : m->view == NULL ? 3 : 0;
}
