/* SPDX-License-Identifier: MIT */
/* stdin: from the spool into the pipe, by splice(2). */
#ifndef PSUP_WORKER_INPUT_H
#define PSUP_WORKER_INPUT_H

#include "worker/child.h"

#define INPUT_TURN_BYTES (256u * 1024u)
#define INPUT_PUNCH_BYTES 65536u

/* Goes on from what the header says. */
void input_start(struct child *c);
/* The spool has grown to `end`; `eof`: no more will come. */
void input_more(struct child *c, uint64_t end, bool eof);
/* A terminal: looks again whether it takes more, and answers. */
void input_retry(struct child *c);
/* One-shot: SAY_STDIN_AT when the consumed position > pos or it is closed. */
void input_watch(struct child *c, uint64_t pos);
/* Closes here, and tells the keeper where it holds a copy. */
void input_close(struct child *c);

#endif
