/* SPDX-License-Identifier: MIT */
/*
 * The columns of psup list. A row is a session as the list method answers it,
 * or what shared memory knows of it under the same names. Called by cmd_list.c.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "list.h"

/* A whole number of a row. */
static json_int_t
number(const json_t *row, const char *key, json_int_t dflt)
{
	const json_t *v = json_object_get(row, key);

	return json_is_integer(v) ? json_integer_value(v) : dflt;
}

static void
text(const json_t *row, const char *key, char *cell, size_t size)
{
	const json_t *v = json_object_get(row, key);

	snprintf(cell, size, "%s", json_is_string(v) ? json_string_value(v)
	                                             : "");
}

/* A number as it is; nothing where it is not known. */
static void
plain(const json_t *row, const char *key, char *cell, size_t size)
{
	if (json_is_integer(json_object_get(row, key)))
		snprintf(cell, size, "%lld", (long long)number(row, key, 0));
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

#define FILL(name)                                                             \
	static enum style fill_##name(const json_t *row, char *cell,           \
	    size_t size)
#define TEXT_OF(name, key)                                                     \
	FILL(name)                                                             \
	{                                                                      \
		text(row, key, cell, size);                                    \
		return STYLE_NONE;                                             \
	}

FILL(id)
{
	text(row, "sessionId", cell, size);
	return STYLE_BOLD;
}

FILL(status)
{
	static const struct {
		const char *word;
		enum style style;
	} styles[] = {{"running", STYLE_GREEN}, {"failed", STYLE_RED},
	    {"lost", STYLE_RED}, {"killed", STYLE_YELLOW},
	    {"queued", STYLE_CYAN}};
	const char *word = json_string_value(json_object_get(row, "state"));

	/* one that waits is running only to programs */
	if (word == NULL || strcmp(word, "queued") != 0)
		word = json_string_value(json_object_get(row, "status"));
	if (word == NULL)
		return STYLE_NONE;
	snprintf(cell, size, "%s%s", word,
	    json_is_true(json_object_get(row, "waitingForInput")) ? " [input]"
	                                                          : "");
	for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++)
		if (strcmp(word, styles[i].word) == 0)
			return styles[i].style;
	return STYLE_NONE;
}

FILL(time)
{
	duration(number(row, "runtimeMs", -1), cell, size);
	return STYLE_NONE;
}

FILL(exit)
{
	const json_t *sig = json_object_get(row, "exitSignal");
	json_int_t code = number(row, "exitCode", -1);

	if (json_is_string(sig))
		snprintf(cell, size, "%s", json_string_value(sig) +
		    (strncmp(json_string_value(sig), "SIG", 3) == 0 ? 3 : 0));
	else if (code >= 0)
		snprintf(cell, size, "%lld", (long long)code);
	return json_is_string(sig) || code > 0 ? STYLE_RED : STYLE_NONE;
}

FILL(output)
{
	bytes(number(row, "totalOutputChars", 0), cell, size);
	return STYLE_NONE;
}

FILL(idle)
{
	duration(number(row, "idleMs", -1), cell, size);
	return STYLE_NONE;
}

FILL(cpu)
{
	if (usage(row) != NULL)
		duration(number(usage(row), "cpuMs", 0), cell, size);
	return STYLE_NONE;
}

FILL(memory)
{
	json_int_t rss = number(usage(row), "rssBytes", 0);

	if (usage(row) != NULL)
		bytes(rss > 0 ? rss : number(usage(row), "maxRssBytes", 0),
		    cell, size);
	return STYLE_NONE;
}

FILL(io)
{
	if (usage(row) != NULL)
		bytes(number(usage(row), "ioBytes", 0), cell, size);
	return STYLE_NONE;
}

FILL(processes)
{
	plain(usage(row), "pids", cell, size);
	return STYLE_NONE;
}

FILL(pid)
{
	plain(row, "pid", cell, size);
	return STYLE_NONE;
}

FILL(worker)
{
	plain(row, "worker", cell, size);
	return STYLE_NONE;
}

FILL(started)
{
	moment(row, "startedAt", cell, size);
	return STYLE_NONE;
}

FILL(ended)
{
	moment(row, "endedAt", cell, size);
	return STYLE_NONE;
}

FILL(name)
{
	text(row, "name", cell, size);
	if (cell[0] == '\0')
		text(row, "command", cell, size);
	return STYLE_NONE;
}

TEXT_OF(lane, "lane")
TEXT_OF(scope, "scope")
TEXT_OF(label, "label")
TEXT_OF(state, "state")
TEXT_OF(reason, "exitReason")
TEXT_OF(instance, "instanceId")
TEXT_OF(workdir, "cwd")
TEXT_OF(command, "command")

const struct column list_columns[] = {
	{"id", "the session's id", false, 9, fill_id},
	{"status", "queued, running, completed, failed, killed or lost; "
	    "[input]: it waits for input", false, 8, fill_status},
	{"time", "how long it has run, or ran", true, 7, fill_time},
	{"exit", "its exit code, or the signal that ended it", true, 6,
	    fill_exit},
	{"output", "bytes of output", true, 4, fill_output},
	{"lane", "its lane", false, 3, fill_lane},
	{"idle", "since its last output", true, 0, fill_idle},
	{"cpu", "time on a processor (--usage)", true, 0, fill_cpu},
	{"memory", "resident memory; of one that ended, the most (--usage)",
	    true, 0, fill_memory},
	{"io", "bytes read from and written to disks (--usage)", true, 0,
	    fill_io},
	{"processes", "how many (--usage)", true, 0, fill_processes},
	{"pid", "the command's", true, 0, fill_pid},
	{"worker", "the worker's slot", true, 0, fill_worker},
	{"scope", "who may see it", false, 0, fill_scope},
	{"state", "queued, starting, running, exited or ended", false, 0,
	    fill_state},
	{"reason", "why it ended", false, 0, fill_reason},
	{"started", "when, local time", false, 0, fill_started},
	{"ended", "when, local time", false, 0, fill_ended},
	{"instance", "the id that is never used again", false, 0,
	    fill_instance},
	{"workdir", "the command's directory", false, 0, fill_workdir},
	{"label", "the text of exec --label", false, 0, fill_label},
	{"command", "all of it", false, 0, fill_command},
	{"name", "its name: verb and target of the command", false, 9,
	    fill_name},
};
const size_t list_column_count = sizeof(list_columns) / sizeof(list_columns[0]);
