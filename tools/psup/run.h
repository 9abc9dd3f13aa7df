/* SPDX-License-Identifier: MIT */
/* A foreground exec under way: what run.c and the other run_*.c share. */
#ifndef PSUP_RUN_H
#define PSUP_RUN_H

#include <signal.h>
#include <termios.h>

#include "cli.h"
#include "progress.h"
#include "sink.h"
#include "term_out.h"

#define KILLS           8
#define RUN_INPUT_BYTES 262144u

struct run {
	struct cli *c;
	const struct run_options *o;
	uint32_t exec_id;
	bool answered;
	int status;        /* of the answer */
	psup_reply *reply; /* the answer */
	char error[640];   /* why there is none */
	char error_code[32], error_field[64];
	char session[64];  /* "": none yet */
	bool running;
	uint64_t next;     /* position of the output to come */
	uint64_t dropped;
	struct sink out, err;
	bool out_tty, err_tty; /* they are terminals */
	struct progress progress;
	/* stdin */
	bool in_open, in_tty, in_busy; /* busy: a write is under way */
	bool in_eof;           /* there is no more to read */
	bool in_ending, in_ended; /* the write has the end; it was taken */
	bool in_again;         /* a master died over the last write */
	int64_t in_pos;        /* of in_at, in the command's stdin */
	char *in;
	size_t in_at, in_len;
	/* signals */
	psup_args *kills[KILLS]; /* the first is under way; NULL: none */
	int signal_fd;
	sigset_t old_mask;
	int waiting_signal; /* came before there was a session */
	int leave_signal; /* came while no master was there to take it */
	unsigned leave_count;
	uint64_t leave_ns; /* it is waited for until then */
	bool from_terminal; /* the last SIGINT was a Ctrl-C */
	uint64_t last_int_ns;
	unsigned ints;
	/* our terminal, while the command has one of its own */
	bool raw;
	struct termios tty;  /* as it was */
	bool no_pty;         /* it was to have one, and none could be had */
	bool shows;          /* stdout is a terminal, too */
	struct term_out screen; /* what that was told */
};

/* Is there something to read our stdin for? */
bool run_input_wanted(const struct run *r);
/* May we read our terminal, or would that stop us? */
bool run_input_readable(const struct run *r);
/* Reads a piece of our stdin and sends it. */
void run_input_read(struct run *r);
/* Our terminal hands keys through; undone by close, which may be called
 * twice. Nothing where the command or we have no terminal. */
void run_tty_open(struct run *r);
void run_tty_close(struct run *r);
/* Output for stdout. 0 or -ENOMEM. */
int run_tty_show(struct run *r, const char *data, size_t len);
/* Tells the command's terminal our size. */
void run_tty_resize(struct run *r);
/* Output that a lost connection kept from us, as far as it is retained. */
void run_fetch_rest(struct run *r);
/* Says what a shell would say; the exit code. */
int run_judge(struct run *r);

#endif
