/* SPDX-License-Identifier: MIT */
/* The options of psup-chaos, and which of them go together. */
#include "chaos.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/option.h"

static const struct {
	const char *word;
	unsigned victims;
	bool together;
} victim_words[] = {
    {"worker", VICTIM_WORKER, false},
    {"master", VICTIM_MASTER, false},
    {"reader", VICTIM_READER, false},
    {"gateway", VICTIM_GATEWAY, false},
    {"all", VICTIM_WORKER | VICTIM_MASTER | VICTIM_READER | VICTIM_GATEWAY,
        true},
    {"keeper", VICTIM_KEEPER, false},
    {"box", VICTIM_BOX, false},
    {"none", 0, false},
    {"command", VICTIM_COMMAND, false},
};
#define VICTIM_WORDS (sizeof(victim_words) / sizeof(victim_words[0]))

static int64_t seed = -1;

/* Whom one word of --kill means. */
static void
take_victim(struct usage *u, const char *word)
{
	for (size_t i = 0; i < VICTIM_WORDS; i++)
		if (strcmp(victim_words[i].word, word) == 0) {
			chaos.o.victims |= victim_words[i].victims;
			chaos.o.together |= victim_words[i].together;
			return;
		}
	usage_no_word(u, "what --kill takes", word, "worker|master|reader|"
	    "gateway|all|keeper|box|none|command");
}

static void
take_kill(struct usage *u, const char *text)
{
	char word[40];

	chaos.o.victims = 0;
	while (*text != '\0' && !u->wrong) {
		size_t len = strcspn(text, ",");

		snprintf(word, sizeof(word), "%.*s", (int)len, text);
		take_victim(u, word);
		text += len + (text[len] == ',');
	}
}

static void
take_stop(struct usage *u, const char *text)
{
	chaos.o.signal = SIGSTOP;
	if (text != NULL)
		chaos.o.stop_ms = (int)usage_number(u, "--stop", text, 0,
		    60000);
}

/* Its directory is ours to name. */
static void
take_upgrade(struct usage *u, const char *dir)
{
	static char path[PATH_MAX];

	chaos.o.upgrade = true;
	if (dir != NULL && realpath(dir, path) == NULL)
		usage_wrong(u, "--upgrade: %.80s: %s", dir, strerror(errno));
	chaos.o.upgrade_dir = dir != NULL ? path : NULL;
}

static void
take_hostile(struct usage *u, const char *text)
{
	if (!hostile_known(text))
		usage_wrong(u, "--hostile: \"%.80s\" is not all, nor kinds by "
		               "commas", text);
	chaos.o.hostile = text;
}

static void
take_on(struct usage *u, const char *text)
{
	if (text[0] == '\0' || strlen(text) > 4096)
		usage_wrong(u, "--on: it takes 1 to 4096 bytes");
	chaos.o.on_text = text;
}

static const struct opt options[] = {
	CALL("kill", 0, "WHOM", NULL, take_kill,
	    "worker, master, reader, gateway, all, keeper, box, none; by commas "
	    "(worker,master); all: also worker and master at once, and with "
	    "--boxed boxes; box: its pid 1 or its bwrap, what ran in it is "
	    "lost, and must be told so; keeper: alone or with the others, then "
	    "another server is started, what ran is lost in the same way"),
	CALL("stop", 0, "[MS]", NULL, take_stop,
	    "SIGSTOP instead, SIGCONT within MS (200); 0: none"),
	DECIMAL("rate", 0, "N", chaos.o.rate, 0.01, 1000, "kills a second (5)"),
	DECIMAL("for", 0, "SECONDS", chaos.o.seconds, 0.1, 1e7,
	    "how long (30, or as long as --kills takes)"),
	NUMBER("kills", 0, "N", chaos.o.kills, 1, 1000000000,
	    "until so many kills"),
	TEXT("fault", 0, "NAME[@N[+]][=ACTION][,...]", NULL, chaos.o.fault,
	    "instead of a rate: the server's processes kill themselves (ACTION "
	    "kill, stop or abort) at the N-th pass of a fault point (N+: at "
	    "each N-th); fail, once, or a point of the porter's: they are "
	    "hindered, and killed at the rate; ~: each process "
	    "at another one (test builds)"),
	CALL("upgrade", 0, "[DIR]", "@dir", take_upgrade,
	    "the server is upgraded in place again and again meanwhile, to the "
	    "programs where its own are, and in turn those in DIR"),
	FLAG("boxed", 0, chaos.o.boxed,
	    "every other session runs in a box (host sandbox)"),
	CALL("hostile", 0, "KINDS", NULL, take_hostile,
	    "beside them clients that take all they may: all, or some of "
	    "paths, lease, requests, starts, unread, unfinished, waits, connections, "
	    "guests, sessions, queue, output, scribble, by commas; another "
	    "scope must not notice them"),
	NUMBER("late", 0, "MS", chaos.o.late_ms, 0, 60000,
	    "its answers' p99 above the idle server's (100); 0: only told"),
	NUMBER("sessions", 0, "N", chaos.o.sessions, 1, SESSIONS_MAX,
	    "at once (16)"),
	NUMBER("idle", 0, "N", chaos.o.idle, 0, 100000,
	    "more sessions, that do nothing until the end (0)"),
	NUMBER("workers", 0, "N", chaos.o.workers, 1, 32,
	    "of the server (one per core)"),
	NUMBER("seed", 0, "N", seed, 0, 4000000000,
	    "to repeat a campaign's choices"),
	TEXT("runtime-dir", 0, "DIR", "@dir", chaos.o.runtime_dir,
	    "the server that runs there, not one of its own"),
	TEXT("json", 0, "FILE", "@file", chaos.o.json,
	    "the report as JSON, too; -: on stdout, instead"),
	FLAG("quiet", 0, chaos.o.quiet, "no progress lines"),
	OPT_END};

static const struct opt of_program[] = {
	TEXT("command", 0, "CMD", NULL, chaos.o.command,
	    "with --kill command: runs CMD as sessions, kills them with "
	    "everything they started, and reports how each ended and what it "
	    "left"),
	NUMBER("after", 0, "MS", chaos.o.after_ms, 0, 100000000,
	    "kill so long after a start (else at --rate)"),
	CALL("on", 0, "TEXT", NULL, take_on, "kill when it has written TEXT"),
	NUMBER("restarts", 0, "N", chaos.o.restarts, 0, 100000000,
	    "how often each is started again (until the end)"),
	OPT_END};

static const struct command_line line = {
	.about = "Kills psup's processes while sessions of known output run, "
	         "then checks every byte, status, start, order and event, and "
	         "what is left behind. Exit code 0: nothing was lost; 1: "
	         "something was; 2: it could not be tried.",
	.options = options,
	.more_title = "A program of yours",
	.more = of_program,
};

/* What does not go together; NULL: all does. */
static const char *
conflict(const struct options *o)
{
	bool keeper = (o->victims & VICTIM_KEEPER) != 0;

	if (o->command != NULL)
		return o->upgrade ? "--upgrade: not with --command" : NULL;
	if (o->victims & VICTIM_COMMAND)
		return "--kill command: it needs --command";
	if (keeper && o->signal != SIGKILL)
		return "--kill keeper: it is not stopped";
	if (o->boxed && (keeper || o->upgrade || o->runtime_dir != NULL))
		return "--boxed: not with --kill keeper, --upgrade or "
		       "--runtime-dir";
	if ((o->victims & VICTIM_BOX) && (!o->boxed || o->signal != SIGKILL))
		return "--kill box: with --boxed, without --stop";
	if (o->victims == 0 && o->seconds <= 0)
		return "--kill none: it needs --for";
	if (o->runtime_dir != NULL &&
	    (o->fault != NULL || keeper || o->hostile != NULL))
		return "--fault, --kill keeper and --hostile need a server of "
		       "its own, without --runtime-dir";
	return NULL;
}

int
options_take(int argc, char **argv)
{
	struct usage u = {.program = "psup-chaos"};
	struct options *o = &chaos.o;
	const char *wrong;
	int code;

	*o = (struct options){.victims = VICTIM_WORKER | VICTIM_MASTER,
	    .signal = SIGKILL, .stop_ms = 200, .rate = 5, .sessions = 16,
	    .after_ms = -1, .restarts = -1, .late_ms = 100};
	code = command_line_take(&line, &u, argc, argv);
	if (code >= 0)
		return code;
	if (o->boxed && o->together && o->signal == SIGKILL)
		o->victims |= VICTIM_BOX;
	wrong = conflict(o);
	if (wrong != NULL)
		return usage_wrong(&u, "%s", wrong);
	if (o->command != NULL)
		o->victims = VICTIM_COMMAND;
	o->seed = (unsigned)(seed >= 0 ? (uint64_t)seed
	                               : clock_boot_ns() / 1000);
	if (o->seconds <= 0 && o->kills <= 0)
		o->seconds = 30;
	return -1;
}
