/* SPDX-License-Identifier: MIT */
/*
 * What the commands of psup share. A command is a file: comment, table entry,
 * function. psup.c holds the table of all.
 */
#ifndef PSUP_CLI_H
#define PSUP_CLI_H

#include <getopt.h>
#include <jansson.h>
#include <psup/psup.h>

/* Exit codes; `psup --help` lists them. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NO_SERVER = 3,
	EXIT_NOT_FOUND = 4,
	EXIT_TIMED_OUT = 124,
	EXIT_INTERNAL = 125,
	EXIT_CANNOT_RUN = 126,
	EXIT_NO_COMMAND = 127
};

struct cli;

struct command {
	const char *name;
	const char *usage;   /* after "psup name " */
	const char *summary; /* one line of psup --help */
	const char *help;    /* options and notes; lines end in \n */
	void (*more_help)(void); /* prints what no constant holds; NULL: none */
	int (*run)(struct cli *c, int argc, char **argv);
};

/* One run of psup. */
struct cli {
	const struct command *command;
	const char *runtime_dir; /* NULL: the default */
	bool no_start, json;
	bool usage_error; /* cli_option() has said what is wrong */
	psup *p;
};

extern const struct command cmd_exec, cmd_tool, cmd_list, cmd_poll, cmd_log,
    cmd_write, cmd_send_keys, cmd_submit, cmd_paste, cmd_resize, cmd_kill,
    cmd_clear, cmd_remove, cmd_wait, cmd_events, cmd_status, cmd_shutdown;

/* ---------------------------------------------------------------- options */

/* The next of the command's own options, as getopt_long; --help, --json,
 * --runtime-dir and --no-start are taken care of. -1: no more, then look at
 * c->usage_error. */
int cli_option(struct cli *c, int argc, char **argv,
    const struct option *own);
/* Says what is wrong, and where help is. Returns EXIT_USAGE. */
int cli_usage(struct cli *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A whole number in lo..hi; sets c->usage_error and says so otherwise. */
int64_t cli_number(struct cli *c, const char *option, const char *text,
    int64_t lo, int64_t hi);
/* Seconds, with a fraction where given. */
double cli_seconds(struct cli *c, const char *option, const char *text);

/* ------------------------------------------------------------- connecting */

enum cli_start { CLI_MAY_START, CLI_NEVER_START };

/* Connects c->p. PSUP_OK or a psup_rc; nothing is said. */
int cli_connect(struct cli *c, enum cli_start start, int timeout_ms);
/* The same for a command that has another way, the view: never starts a
 * server, and gives up (PSUP_ERR_TIMEOUT) as soon as the master's heartbeat
 * stands still. */
int cli_connect_briefly(struct cli *c);
/* Says the handle's error (as JSON with --json). Returns the exit code. */
int cli_fail(struct cli *c, int rc);
/* Prints a tool's answer: its text, or with --json the object. Frees it.
 * Returns the exit code. */
int cli_answer(struct cli *c, psup_reply **reply);
/* The exit code that a tool's answer stands for. */
int cli_exit_code(const psup_reply *reply);
/* Connects (never starting a server), calls, prints. Frees the arguments. */
int cli_simple(struct cli *c, const char *method, psup_args *a, int wait_ms);

/* ----------------------------------------------------------------- output */

/* Text for a person: escaped if stdout is a terminal. */
void cli_print_text(const char *s, size_t len);
/* One JSON value, one line, flushed. Takes the reference. */
void cli_print_json(json_t *v);
/* A line on stderr: "psup: ...", escaped. */
void cli_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The object that stands for a failure before a tool was reached. */
json_t *cli_error_object(const char *code, const char *field,
    const char *message);

/* ------------------------------------------------------------------- JSON */

/* Text that is no UTF-8 is repaired. A new reference. */
json_t *json_of_text(const char *s, size_t len);
json_t *json_of_value(const psup_value *v);
/* Adds a member; whatever JSON it is. */
void args_add_json(psup_args *a, const char *key, const json_t *v);

/* ------------------------------------------------------------------- view */

/* The list from shared memory: rows as the server's, text as the server's. */
int view_list(struct cli *c, bool all);
/* Retained output from shared memory, as it is. stream: NULL, "stdout" ... */
int view_log(struct cli *c, const char *id, const char *stream);
/* What shared memory knows of the server's state. */
json_t *view_status(const char *runtime_dir);
/* Since the master last said that it lives; UINT64_MAX: it never did. */
uint64_t view_master_silent_ms(const char *runtime_dir);

/* ------------------------------------------------------------------- exec */

struct run_options {
	psup_args *args; /* of exec; run_foreground() frees it */
	bool forward_stdin;
	bool quiet; /* --json: output comes in the answer alone */
	bool pty;   /* the command is on a terminal */
	bool fixed_size; /* of that; else it follows ours */
};
/* What a shell would exit with for a command that could not be started. */
int run_spawn_failure_code(const psup_value *details);
/* The size of our own terminal; untouched where there is none. */
void run_tty_size(int *ret_cols, int *ret_rows);
/* Runs a command as if it were a child of this terminal. The exit code. */
int run_foreground(struct cli *c, const struct run_options *o);

#endif
