/* SPDX-License-Identifier: MIT */
/*
 * The vocabulary of scenarios: a real psupd under the guard, real commands,
 * verbs that wait for what they name.
 *
 *     SCENARIO(exec, tells_the_exit_code)
 *     {
 *             struct answer *a;
 *
 *             psupd();
 *             a = ask("exec", STR("command", "exit 3"));
 *             expect_str(a, "status", "completed");
 *             expect_int(a, "exitCode", 3);
 *     }
 *
 * One scenario runs in a process of its own (Criterion's), so the server it
 * talks to is a global. Nothing here sleeps: every verb waits for an answer, a
 * process or a file with one deadline, SCN_DEADLINE_MS. A verb that fails
 * prints what the server said, its board and its process tree, and ends the
 * test. What a scenario left behind fails it too.
 */
#ifndef PSUP_LIB_SCN_H
#define PSUP_LIB_SCN_H

#include <criterion/criterion.h>
#include <psup/psup.h>
#include <sys/types.h>

/* Ends what hangs: longer than a busy machine and a sanitizer take. */
#define SCN_DEADLINE_MS 120000

#define SCENARIO(suite, name)                             \
	static void suite##_##name(void);                 \
	Test(suite, name)                                 \
	{                                                 \
		scn_begin(#suite "/" #name);              \
		suite##_##name();                         \
		scn_end();                                \
	}                                                 \
	static void suite##_##name(void)

/* Ends a scenario that this machine or user cannot play. */
#define skip_scenario(...) (scn_forget(), cr_skip_test(__VA_ARGS__))
#ifdef PSUP_FAULTS
#define needs_faults() (void)0
#else
#define needs_faults() skip_scenario("a build without fault points")
#endif
void scn_forget(void);

/* Ends the test with the timeline unless `cond`. */
#define expect(cond, ...)                                           \
	((cond) ? (void)0                                           \
	        : scn_fail(__FILE__, __LINE__, #cond, " " __VA_ARGS__))

/* Do all commands run in boxes (PSUP_TEST_HOST=sandbox)? */
bool is_boxed(void);
/* What a box makes another way, on purpose. */
#define not_in_a_box(why)                                           \
	do {                                                        \
		if (is_boxed())                                     \
			skip_scenario("in a box: %s", why);         \
	} while (0)

/* ----------------------------------------------------------------- server */

#define NO_CGROUP "[server]\ncgroup = off\n"

struct server {
	int workers;           /* 0: 2 */
	const char *conf;      /* text of psup.conf; NULL: none */
	const char *env[8];    /* "NAME=value" for psupd */
	size_t tmpfs_bytes;    /* its own tiny tmpfs, in its own mount
	                        * namespace; root only */
	const char *option;    /* of psupd's command line */
	bool fails;            /* it is meant not to start: do not connect */
	bool limps;            /* not all of it comes up, or says so: do not
	                        * wait for the last worker */
	bool first;            /* another one follows in its directory */
	const char *wrap[8];   /* a program and its options that run psupd */
	bool failing;          /* the programs of lib_fail.h */
	int err;               /* its stderr; 0: the log that await_log reads */
};
#define psupd(...) scn_start(&(struct server){__VA_ARGS__})
void scn_start(const struct server *how);

/* The server was killed, all of it or its keeper: psupd() may be called again.
 * How it ended once nothing of it is left, by itself or by the next one: 128 +
 * the signal; 125 where the guard had to kill. */
void server_was_killed(void);
int await_former_server(void);
/* What psupd has said on stderr. */
void await_log(const char *text);
/* How often it stands there by now. */
int count_log(const char *text);
/* psupd as this side of a pid namespace sees it. */
pid_t psupd_pid(void);

/* Paths of this scenario; the strings live as long as it does. */
const char *runtime_dir(void);
const char *file_in_scenario(const char *name);
/* Writes psup.conf anew. */
void write_conf(const char *text);

/* --------------------------------------------------------------- asking */

struct arg {
	const char *key;
	char type; /* s i d b n z(bytes) l(list) m(map) t(stdin text)
	                * M(map of one number) */
	const char *s;
	size_t len;
	int64_t i;
	double d;
	const char *const *list; /* l: items; m: key, value, key, ... */
};
#define STR(k, v)    {.key = (k), .type = 's', .s = (v)}
#define INT(k, v)    {.key = (k), .type = 'i', .i = (v)}
#define NUM(k, v)    {.key = (k), .type = 'd', .d = (v)}
#define YES(k)       {.key = (k), .type = 'b', .i = 1}
#define NO(k)        {.key = (k), .type = 'b', .i = 0}
#define NIL(k)       {.key = (k), .type = 'n'}
#define BYTES(k, v, n) {.key = (k), .type = 'z', .s = (v), .len = (n)}
#define LIST(k, ...)                      \
	{.key = (k), .type = 'l',         \
	    .list = (const char *const[]){__VA_ARGS__, NULL}}
#define MAP(k, ...)                       \
	{.key = (k), .type = 'm',         \
	    .list = (const char *const[]){__VA_ARGS__, NULL}}
#define ONE(k, n, v) {.key = (k), .type = 'M', .s = (n), .i = (v)}
#define STDIN_TEXT(v) {.key = "stdin", .type = 't', .s = (v)}
/* argv of a puppet: behaviour written in the test. */
#define PUPPET(script) LIST("argv", scn_puppet(), (script))

struct answer {
	int status;            /* PSUP_OK, or the call failed */
	char code[32];         /* "" or the error's */
	char field[64];
	char message[512];
	psup_reply *reply;     /* freed with the scenario */
	const char *method;
	struct answer *before; /* the one before it, whoever asked */
};

/* Another connection beside the scenario's own admin one. */
struct peer;
struct peer *peer(const char *scope);
/* The same, by a scope token. */
struct peer *peer_by_token(const char *token);
void hang_up(struct peer *p);
bool is_connected(struct peer *p);

/* A connection without libpsup; its descriptor. */
int raw_connect(void);

/* Events as they are notified: subscribe, wait for at least n (all there are
 * so far are counted), look at one. */
struct event {
	int64_t seq;
	char id[48], kind[24], text[256];
};
#define listen_to_events(p, subscriber) scn_listen(p, subscriber, NULL)
#define listen_to_kinds(p, subscriber, ...) \
	scn_listen(p, subscriber, (const char *const[]){__VA_ARGS__, NULL})
void scn_listen(struct peer *p, const char *subscriber,
    const char *const *kinds);
size_t await_events(struct peer *p, size_t n);
const struct event *event_at(struct peer *p, size_t i);

/* Asks and waits for the answer. */
#define ask(method, ...) \
	scn_ask(NULL, method, (struct arg[]){__VA_ARGS__ __VA_OPT__(,) {0}})
#define ask_as(p, method, ...) \
	scn_ask(p, method, (struct arg[]){__VA_ARGS__ __VA_OPT__(,) {0}})
struct answer *scn_ask(struct peer *p, const char *method,
    const struct arg *args);

/* Asks without waiting; answer_of() waits. */
struct question;
#define ask_later(p, method, ...) \
	scn_ask_later(p, method, (struct arg[]){__VA_ARGS__ __VA_OPT__(,) {0}})
struct question *scn_ask_later(struct peer *p, const char *method,
    const struct arg *args);
struct answer *answer_of(struct question *q);
bool is_answered(struct question *q);
void give_up(struct question *q);

/* What status says of a resource that is lent in shares. */
#define share_in_status(resource, key) \
	share_in_status_of(NULL, resource, key)
int64_t share_in_status_of(struct peer *p, const char *resource,
    const char *key);

const char *scn_puppet(void);
const char *scn_bin_dir(void);

/* ------------------------------------------------------- what was answered */

const psup_value *details(const struct answer *a);
/* A text of the details, copied; lives as long as the scenario. */
const char *text_of(const struct answer *a, const char *key);
int64_t number_of(const struct answer *a, const char *key);
/* The text that a model would read, or the error's words; and the error's
 * code. */
const char *words_of(const struct answer *a);
const char *code_of(const struct answer *a);
/* The sessionId of the details. */
const char *id_of(const struct answer *a);

#define expect_ok(a)             scn_ok(__FILE__, __LINE__, a)
#define expect_str(a, key, want) scn_str(__FILE__, __LINE__, a, key, want)
#define expect_int(a, key, want) scn_int(__FILE__, __LINE__, a, key, want)
#define expect_flag(a, key, want) scn_flag(__FILE__, __LINE__, a, key, want)
#define expect_absent(a, key)    scn_absent(__FILE__, __LINE__, a, key)
#define expect_text(a, part)     scn_text(__FILE__, __LINE__, a, part)
#define expect_refused(a, code)  scn_refused(__FILE__, __LINE__, a, code, NULL)
#define expect_refused_for(a, code, field) \
	scn_refused(__FILE__, __LINE__, a, code, field)
void scn_ok(const char *file, int line, const struct answer *a);
void scn_str(const char *file, int line, const struct answer *a,
    const char *key, const char *want);
void scn_int(const char *file, int line, const struct answer *a,
    const char *key, int64_t want);
void scn_flag(const char *file, int line, const struct answer *a,
    const char *key, bool want);
void scn_absent(const char *file, int line, const struct answer *a,
    const char *key);
void scn_text(const char *file, int line, const struct answer *a,
    const char *part);
void scn_refused(const char *file, int line, const struct answer *a,
    const char *code, const char *field);

/* --------------------------------------------------------------- sessions */

/* A background session; its id. */
#define background(...)                                                  \
	scn_background((struct arg[]){__VA_ARGS__, YES("background"), {0}})
const char *scn_background(const struct arg *args);

/* Waits until the session ended; its row as `list` would show it. */
const psup_value *await_end(const char *id);
/* Polls until it ended: all output that this reader got, and how much it is
 * told that is not retained any more. */
struct output {
	char *bytes;
	size_t len;
	int64_t dropped;
	struct answer *last; /* the poll that said it ended */
};
struct output poll_to_the_end(const char *id, const char *reader);
/* Reads what is retained, from the beginning, by position. */
struct output read_retained(const char *id);
/* Waits until the session has written this text (read without a cursor). */
void await_output(const char *id, const char *text);
/* Waits until its terminal shows this text; what it shows. */
struct answer *await_screen(const char *id, const char *text);
/* Line `row` of an answer of screen. */
const char *screen_line_of(const struct answer *a, size_t row);
/* Whether list shows it. */
bool is_listed(struct peer *p, const char *id);

/* A session of a lane that runs until open_gate(gate). */
const char *holder(const char *lane, const char *gate);
void open_gate(const char *gate);
/* The newest of the recorded lane-wait warnings. */
const psup_value *newest_wait(struct peer *p);

/* -------------------------------------------------------------- processes */

pid_t keeper_pid(void);
pid_t master_pid(void);
/* The worker that babysits a session, by the board. */
pid_t worker_of(const char *id);
/* ... in this slot, the standby in the last; 0: it is being replaced. */
pid_t worker_in(int slot);
pid_t pid_of(const char *id);
void kill_now(pid_t pid, int sig);
/* Waits until the process is gone, or dead and unreaped. */
void await_gone(pid_t pid);
/* The first child of a process, 0: none yet. */
pid_t child_of(pid_t parent);
/* The longest turn of its loop in processor time: "keeper", "master", or "worker",
 * the first one. */
double longest_turn_ms(const char *process);
/* Until it has stopped itself: SIGCONT before that would be lost. */
void await_stopped(pid_t pid);
bool is_stopped(pid_t pid);
/* Until the board names another one. */
void await_new_master(pid_t old);
/* Kills it and waits for that. */
void kill_master(void);
/* Each master after `old` stops itself at a fault point: some of them are
 * killed there, the next one goes on. */
void kill_heirs(pid_t old);
/* Kills it and waits until its slot has another pid. */
void kill_worker_of(const char *id);
bool is_alive(pid_t pid);
void await_file(const char *path);

/* -------------------------------------------------------------------- CLI */

struct run {
	int code; /* exit status; 128 + n for a signal */
	char *out, *err;
	size_t out_len, err_len;
};
/* Runs a program of the build under a guard of its own, with this scenario's
 * runtime directory, and waits for it. */
#define cli(...) \
	scn_run(NULL, 0, (const char *const[]){"psup", __VA_ARGS__, NULL})
#define cli_fed(text, len, ...) \
	scn_run(text, len, (const char *const[]){"psup", __VA_ARGS__, NULL})
struct run *scn_run(const char *in, size_t in_len, const char *const *argv);

/* A CLI that goes on: signal it, then wait. */
struct running;
#define cli_start(...) \
	scn_run_start((const char *const[]){"psup", __VA_ARGS__, NULL})
struct running *scn_run_start(const char *const *argv);
pid_t pid_of_run(struct running *r);
void await_run_output(struct running *r, const char *text);
struct run *await_run(struct running *r);

#define expect_exit(r, want) scn_exit(__FILE__, __LINE__, r, want)
#define expect_out(r, want)  scn_out(__FILE__, __LINE__, r, want)
void scn_exit(const char *file, int line, const struct run *r, int want);
void scn_out(const char *file, int line, const struct run *r,
    const char *want);

/* --------------------------------------------------------------- the frame */

void scn_begin(const char *name);
void scn_end(void);
/* The server is gone, and on purpose: scn_end() must not ask it to stop. */
void server_is_gone(void);
/* The scenario asked it to stop: scn_end() waits for its clean end. To ask
 * again would be to connect to a server that is on its way out. */
void server_ends(void);
void scn_fail(const char *file, int line, const char *what, const char *fmt,
    ...) __attribute__((noreturn, format(printf, 4, 5)));
/* Monotonic. */
int64_t now_ms(void);
/*
 * A bound on a duration is of a machine that runs whom there is to run: how
 * long processors and disks have kept others waiting since the machine started
 * (/proc/pressure), and what that may have added, with a little that nobody
 * counts, to any duration of this scenario until now. Where the kernel does
 * not tell: a deadline.
 */
int64_t withheld_ms(void);
int64_t busy_ms(void);
/* Memory that is freed with the scenario. */
void *scn_alloc(size_t size);

#endif
