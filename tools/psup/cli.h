/* SPDX-License-Identifier: MIT */
/*
 * What the commands of psup share. A command is a file: comment, table entry,
 * function. psup.c holds the table of all.
 */
#ifndef PSUP_CLI_H
#define PSUP_CLI_H

#include <signal.h>

#include "common/option.h"
#include "tools/calls/json.h"

/* Exit codes; `psup --help` lists them. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	/* EXIT_USAGE = 2 (option.h) */
	EXIT_NO_SERVER = 3,
	EXIT_NOT_FOUND = 4,
	EXIT_TIMED_OUT = 124,
	EXIT_INTERNAL = 125,
	EXIT_CANNOT_RUN = 126,
	EXIT_NO_COMMAND = 127
};

struct cli;

/* A command: one row of what parses, explains, documents and completes it
 * (option.h). To add one: a file cmd_NAME.c with its row and function, and its
 * place in commands.def. */
struct command {
	const char *name;
	const char *also;    /* what others call it; NULL: nothing */
	const char *args;    /* operands, as the usage line shows them */
	const char *words;   /* how each is completed, as an opt's words, with a
	                      * blank between; "..." behind the last, or the
	                      * last but one: again */
	int min_args, max_args; /* operands; max < 0: any number */
	const char *wants;   /* "it needs ...", where their number is wrong;
	                      * NULL: a session, or nothing */
	const char *summary; /* one line of psup --help */
	/* Text of the help: paragraphs parted by an empty line, wrapped when
	 * shown; lines that begin with a blank stay as they are. */
	const char *about;   /* before the options; NULL: none */
	const char *notes;   /* after them; NULL: none */
	const struct opt *options; /* NULL: none of its own */
	bool stops;          /* the first operand ends the options */
	void (*more_help)(void); /* prints what no constant holds; NULL: none */
	/* argv holds the operands alone. Returns the exit code. */
	int (*run)(struct cli *c, int argc, char **argv);
};

enum cli_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* One run of psup. */
struct cli {
	struct usage usage;
	const struct command *command;
	const char *runtime_dir; /* NULL: the default */
	const char *scope;       /* $PSUP_SCOPE; NULL: none */
	const char *token_file;  /* NULL: $PSUP_TOKEN_FILE, or none */
	const char *server_user; /* NULL: $PSUP_SERVER_USER, or none */
	bool resume;             /* psup_options.resume */
	char token[PSUP_TOKEN_SIZE]; /* --token-fd; "": none */
	bool no_start, json, help, version;
	bool no_progress;
	enum cli_color color;
	const char *rule; /* of output, as psup_clean's, or "raw"; NULL: clean */
	char meant_id[MEANT_SIZE]; /* option_meant() of one that is none */
	char (*ids)[64];  /* what beginnings of ids stand for */
	size_t id_count;
	psup *p;
};

#define COMMAND(id) extern const struct command cmd_##id;
#define SESSION_COMMAND(name, also, summary, about) COMMAND(name)
#include "commands.def"

/* All of them, in the order of the help; NULL at end (psup.c). */
extern const struct command *const commands[];
/* NULL: there is none of that name. */
const struct command *command_find(const char *name);
/* A session's id in place of its beginning; room for it is in c->ids. What
 * nobody knows stays as it is, for the server to say so. EXIT_OK, or it was
 * said that it may be several (session_id.c). */
int session_id_resolve(struct cli *c, char **word);
/* "there is no command", with the nearest one. Returns EXIT_USAGE. */
int command_unknown(const char *name);

/* ---------------------------------------------------------------- options */

/* Options that every command takes, before its name or after it. */
extern const struct opt shared_options[];
/* Those of the command, if it is known, and these. */
#define CLI_TABLES(c)                                                          \
	{(c)->command != NULL ? (c)->command->options : NULL, shared_options}
/* Says what is wrong, and where help is. Returns EXIT_USAGE. */
#define cli_usage(c, ...) usage_wrong(&(c)->usage, __VA_ARGS__)
/* An option's moment (moment.h): a duration before now, or a time, as int64_t. */
void cli_take_moment(struct usage *u, const char *option, const char *text,
    void *ret_ms);
#define MOMENT(name, value, var, help)                                         \
	INTO(name, 0, value, "?10m|1h|1d", cli_take_moment, var, help)
/* Our file mode creation mask. */
int cli_umask(void);
/* The option --text RULE. */
#define CLI_TEXT_RULES "clean|ansi|shown|plain"
#define CLI_TEXT_RULES_HELP                                                    \
	"clean (no escape sequences), ansi (with them), shown (as \\xNN), "    \
	"plain (as it is) (clean)"

/* ------------------------------------------------------------------- help */

/* psup help, on one screen of 80x24; psup --help; psup COMMAND --help; psup(1)
 * as troff. */
void help_print_usual(void);
void help_print(void);
void help_print_command(const struct command *cmd);
void man_print(void);
/* What both list. A row with an empty name ends each. */
struct help_row {
	const char *name, *text;
};
extern const struct help_row help_exit_codes[], help_environment[],
    help_files[];
extern const char help_about[];

/* ------------------------------------------------------------- connecting */

enum cli_start { CLI_MAY_START, CLI_NEVER_START };

/* Who we are: scope and token. */
void cli_identity(const struct cli *c, struct psup_options *ret);
/* Is it one scope's? Then shared memory, which shows all, is no other way. */
bool cli_is_scoped(const struct cli *c);
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
/* Ends the server that is connected to, and waits for its keeper's end. EXIT_OK,
 * or what was said. */
int cli_stop_server(struct cli *c, int grace_ms, int64_t *ret_pid);
/* Connects (never starting a server), calls, prints. Frees the arguments. */
int cli_simple(struct cli *c, const char *method, psup_args *a, int wait_ms);

/* ----------------------------------------------------------------- output */

/* Text, and an end of line where it has none. No control character but TAB
 * and LF goes out, whoever reads: a pipe often ends at a terminal. CR stays
 * where stdout is none. */
void cli_print_text(const char *s, size_t len);
/* A command's output by c->rule, of which psup_clean has made what it is: with
 * "ansi" a terminal is shown no more than by psup attach. */
void cli_put_output(const struct cli *c, const char *s, size_t len);
/* The same, and an end of line where it has none. */
void cli_print_output(const struct cli *c, const char *s, size_t len);
/* The same of a part of a text: no end of line. */
void cli_put_text(const char *s, size_t len);
/* As printf, then as cli_put_text. */
void cli_putf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* One JSON value, one line, flushed. Takes the reference. */
void cli_print_json(json_t *v);
/* A line on stderr: "psup: ...", escaped. */
void cli_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The object that stands for a failure before a tool was reached. */
json_t *cli_error_object(const char *code, const char *field,
    const char *message);

/* ------------------------------------------------------------------- view */

/* Retained output from shared memory, by c->rule. stream: NULL, "stdout" ...
 * begin: where the session is there, before its output. */
int view_log(struct cli *c, const char *id, const char *stream,
    void (*begin)(const char *id));
/* Retained output as a recording of asciinema. */
int cast_log(struct cli *c, const char *id);
/* Opens the view and finds a session, or says why not. */
int view_open_session(struct cli *c, const char *id, psup_view **ret,
    struct psup_view_session *ret_session);
/* Every retained byte, by stretches of one stream; with what is missing before
 * each in chunk->dropped. The exit code. */
typedef void view_stretch_fn(void *arg, const struct psup_view_chunk *chunk,
    const char *data, size_t len);
int view_each_stretch(psup_view *v, const struct psup_view_session *s,
    view_stretch_fn *fn, void *arg);
/* The view of this command's server, or says why not: the exit code. */
int view_open(struct cli *c, psup_view **ret);
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
	int detach_key; /* a byte; -1: none */
};
/* What the answer about a session that ended means to a shell. */
int run_exit_code(const psup_value *details);
/* What a shell would exit with for a command that could not be started. */
int run_spawn_failure_code(const psup_value *details);
/* Says what an exec's answer warns of on stderr; where a person was told already
 * that there are pipes and no terminal, not that. */
void run_say_warnings(const psup_value *details, bool pipes_said);
/* SIGPIPE and SIGTTIN are ignored; those of `list` that we were not started with
 * as ignored come by the descriptor. *ret_mask: what was blocked before. -1: none
 * is left. */
int run_signals(const int *list, size_t count, sigset_t *ret_mask);
/* The size of our own terminal; untouched where there is none. */
void run_tty_size(int *ret_cols, int *ret_rows);
/* Tells it to a session's terminal. off: so many lines less than we have. */
void run_tty_tell_size(struct cli *c, const char *id, int off);
/* Our own terminal, which was so, hands every key through from now on. */
struct termios;
bool run_tty_make_raw(const struct termios *was);
/* Runs a command as if it were a child of this terminal. The exit code. */
int run_foreground(struct cli *c, const struct run_options *o);

/* ----------------------------------------------------------------- attach */

#define CLI_DETACH_KEY 0x1d /* Ctrl-] */

struct attach_options {
	int detach_key;  /* a byte; -1: none */
	bool read_only;
	bool fixed_size; /* of the session's terminal */
};
/* --detach-key: a key by its name: "^X", "C-x", "ctrl-x", "x"; -1: "none", or a
 * usage error. */
void cli_take_detach_key(struct usage *u, const char *option, const char *text,
    void *ret);
/* Is the detach key among the bytes? Its place, or -1. */
ssize_t attach_key_find(int key, const char *data, size_t len);
/* Sits at a session's terminal; the exit code. */
int attach_run(struct cli *c, const char *id, const struct attach_options *o);

#endif
