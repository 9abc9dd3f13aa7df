/* SPDX-License-Identifier: MIT */
/*
 * The columns of psup list. A row is a session as the list method answers it,
 * or what shared memory knows of it under the same names. Called by cmd_list.c.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ended.h"
#include "list.h"

int64_t list_now_ms;

const char *const list_keys[] = {"sessionId", "status", "state",
	"backgrounded", "waitingForInput", "waitReason", "exitCode",
	"exitSignal", "exitReason", "limitHit", "errno", "endedAt",
	"runtimeMs", "totalOutputChars", "lane", "label", "command", "name",
	"instanceId", "startedAt", "idleMs", "usage", "pid", "worker",
	"scopeKey", "cwd", "tags", NULL};
const char *const *const list_keys_asked = list_keys + 18;

/* A whole number of a row. */
static json_int_t
number(const json_t *row, const char *key, json_int_t dflt)
{
	const json_t *v = json_object_get(row, key);

	return json_is_integer(v) ? json_integer_value(v) : dflt;
}

static void
bytes(json_int_t n, char *cell, size_t size)
{
	cells_amount(n > 0 ? (uint64_t)n : 0, cell, size);
}

static void
duration(json_int_t ms, char *cell, size_t size)
{
	if (ms >= 0)
		psup_duration((uint64_t)ms, cell, size);
}

/* Local time, to the second. */
static void
moment(const json_t *row, const char *key, char *cell, size_t size)
{
	time_t t = (time_t)(number(row, key, 0) / 1000);
	struct tm tm;

	if (t > 0 && localtime_r(&t, &tm) != NULL)
		strftime(cell, size, "%Y-%m-%d %H:%M:%S", &tm);
}

static const json_t *
usage(const json_t *row)
{
	return json_object_get(row, "usage");
}

FILL(id)
{
	cell_text(row, "sessionId", cell, size);
	return STYLE_BOLD;
}

/* Does the kernel show that it waits for input? Silence alone is no reason to
 * call a person. */
static bool
waits_for_input(const json_t *row)
{
	const char *why = json_string_value(json_object_get(row, "waitReason"));

	return json_is_true(json_object_get(row, "waitingForInput")) &&
	    (why == NULL || strcmp(why, "idle") != 0);
}

static const char *
status_word(const json_t *row)
{
	const char *word = json_string_value(json_object_get(row, "state"));

	/* one that waits is running only to programs */
	if (word == NULL || strcmp(word, "queued") != 0)
		word = json_string_value(json_object_get(row, "status"));
	return word != NULL ? word : "";
}

static enum style
status_style(const json_t *row)
{
	static const struct {
		const char *word;
		enum style style;
	} styles[] = {{"running", STYLE_GREEN}, {"failed", STYLE_RED},
	    {"lost", STYLE_RED}, {"killed", STYLE_YELLOW},
	    {"queued", STYLE_CYAN}};

	for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++)
		if (strcmp(status_word(row), styles[i].word) == 0)
			return styles[i].style;
	return number(row, "exitCode", 0) > 0 ? STYLE_RED : STYLE_NONE;
}

static const char *
mark(const json_t *row)
{
	return waits_for_input(row) ? " [input]" : "";
}

FILL(status)
{
	snprintf(cell, size, "%s%s", status_word(row), mark(row));
	return status_style(row);
}

/* Does a psup exec wait for it? */
static bool
is_foreground(const json_t *row)
{
	return json_is_false(json_object_get(row, "backgrounded")) &&
	    strcmp(status_word(row), "running") == 0;
}

FILL(how)
{
	char words[120] = "foreground";

	if (!is_foreground(row))
		ended_words(row, true, words, sizeof(words));
	snprintf(cell, size, "%s%s", words, mark(row));
	return status_style(row);
}

FILL(ago)
{
	char time[40];
	json_int_t ended = number(row, "endedAt", 0);
	json_int_t ms = list_now_ms - ended;

	if (ended <= 0)
		return STYLE_NONE;
	psup_duration(ms > 0 ? (uint64_t)ms : 0, time, sizeof(time));
	snprintf(cell, size, ms < 1000 ? "now" : "%s ago", time);
	return STYLE_NONE;
}

/* Its label, else its command on one line. */
FILL(what)
{
	char *to = cell;

	cell_text(row, "label", cell, size);
	if (cell[0] == '\0')
		cell_text(row, "command", cell, size);
	if (cell[0] == '\0')
		cell_text(row, "name", cell, size);
	for (const char *p = cell; *p != '\0'; p++) {
		bool blank = *p == '\n' || *p == '\t' || *p == ' ';

		if (!blank || (to > cell && to[-1] != ' '))
			*to++ = blank ? ' ' : *p;
	}
	*to = '\0';
	return STYLE_NONE;
}

/* key=value, with commas between */
FILL(tags)
{
	json_t *tags = json_object_get(row, "tags"), *v;
	const char *key;
	size_t n = 0;

	json_object_foreach(tags, key, v)
	{
		int more = snprintf(cell + n, size - n, "%s%s=%s",
		    n > 0 ? "," : "", key, json_string_value(v));

		n += more > 0 ? (size_t)more : 0;
		if (n >= size)
			break;
	}
	return STYLE_NONE;
}

FILL(exit)
{
	const json_t *sig = json_object_get(row, "exitSignal");
	json_int_t code = number(row, "exitCode", -1);

	if (json_is_string(sig))
		snprintf(cell, size, "%s",
		    ended_signal(json_string_value(sig)));
	else if (code >= 0)
		snprintf(cell, size, "%lld", (long long)code);
	return json_is_string(sig) || code > 0 ? STYLE_RED : STYLE_NONE;
}

FILL(memory)
{
	json_int_t rss = number(usage(row), "rssBytes", 0);

	if (usage(row) != NULL)
		bytes(rss > 0 ? rss : number(usage(row), "maxRssBytes", 0),
		    cell, size);
	return STYLE_NONE;
}

FILL(name)
{
	cell_text(row, "name", cell, size);
	if (cell[0] == '\0')
		cell_text(row, "command", cell, size);
	return STYLE_NONE;
}

PLAIN(time, duration(number(row, "runtimeMs", -1), cell, size))
PLAIN(output, bytes(number(row, "totalOutputChars", 0), cell, size))
PLAIN(idle, duration(number(row, "idleMs", -1), cell, size))
PLAIN(cpu, if (usage(row) != NULL)
	duration(number(usage(row), "cpuMs", 0), cell, size))
PLAIN(io, if (usage(row) != NULL)
	bytes(number(usage(row), "ioBytes", 0), cell, size))
PLAIN(processes, cell_number(usage(row), "pids", cell, size))
NUMBER_OF(pid, "pid")
NUMBER_OF(worker, "worker")
PLAIN(started, moment(row, "startedAt", cell, size))
PLAIN(ended, moment(row, "endedAt", cell, size))
TEXT_OF(lane, "lane")
TEXT_OF(scope, "scopeKey")
TEXT_OF(label, "label")
TEXT_OF(state, "state")
TEXT_OF(reason, "exitReason")
TEXT_OF(instance, "instanceId")
TEXT_OF(workdir, "cwd")
TEXT_OF(command, "command")

const struct column list_columns[] = {
	{"id", "the session's id", false, 9, fill_id, NULL},
	{"how", "how it stands or ended: running, exited 7, killed by TERM, "
	    "timed out; foreground: psup exec waits for it; [input]: it waits "
	    "for input", false, 8, fill_how, "status"},
	{"time", "how long it has run, or ran", true, 7, fill_time, NULL},
	{"ago", "how long ago it ended", true, 6, fill_ago, "ended"},
	{"output", "bytes of output", true, 4, fill_output, NULL},
	{"lane", "its lane", false, 3, fill_lane, NULL},
	{"status", "queued, running, completed, failed, killed or lost; "
	    "[input]: it waits for input", false, 0, fill_status, NULL},
	{"exit", "its exit code, or the signal that ended it", true, 0,
	    fill_exit, NULL},
	{"idle", "since its last output", true, 0, fill_idle, NULL},
	{"cpu", "time on a processor (--usage)", true, 0, fill_cpu, NULL},
	{"memory", "resident memory; of one that ended, the most (--usage)",
	    true, 0, fill_memory, NULL},
	{"io", "bytes read from and written to disks (--usage)", true, 0,
	    fill_io, NULL},
	{"processes", "how many (--usage)", true, 0, fill_processes, NULL},
	{"pid", "the command's", true, 0, fill_pid, NULL},
	{"worker", "the worker's slot", true, 0, fill_worker, NULL},
	{"scope", "who may see it", false, 0, fill_scope, NULL},
	{"state", "queued, starting, running, exited or ended", false, 0,
	    fill_state, NULL},
	{"reason", "why it ended", false, 0, fill_reason, NULL},
	{"started", "when, local time", false, 0, fill_started, NULL},
	{"ended", "when, local time", false, 0, fill_ended, NULL},
	{"instance", "the id that is never used again", false, 0,
	    fill_instance, NULL},
	{"workdir", "the command's directory", false, 0, fill_workdir, NULL},
	{"label", "the text of exec --label", false, 0, fill_label, NULL},
	{"command", "all of it", false, 0, fill_command, NULL},
	{"tags", "of exec --tag", false, 0, fill_tags, NULL},
	{"name", "its name: verb and target of the command", false, 0,
	    fill_name, NULL},
	{"what", "its label, else its command", false, 9, fill_what, NULL},
};
const size_t list_column_count = sizeof(list_columns) / sizeof(list_columns[0]);
