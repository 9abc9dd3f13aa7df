/* SPDX-License-Identifier: MIT */
/* See sleep.h. Called by whoever asks what a process waits for: worker,
 * master, psup-top. */
#include "common/sleep.h"

#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "common/check.h"

/* Where a poll says how many descriptors, and how long. */
enum time_form {
	FOREVER_IS_MINUS_1, /* a number of milliseconds */
	FOREVER_IS_NULL	    /* a pointer to a time */
};

struct call {
	long nr;
	enum sleep_kind kind;
	/* of a poll: which argument, from 0 */
	int count; /* says how many; -1: none does */
	int time;
	enum time_form form;
};

static const struct call calls[] = {
    {SYS_read, SLEEP_READ, 0, 0, 0},
    {SYS_readv, SLEEP_READ, 0, 0, 0},
#ifdef SYS_poll
    {SYS_poll, SLEEP_POLL, 1, 2, FOREVER_IS_MINUS_1},
    {SYS_select, SLEEP_POLL, 0, 4, FOREVER_IS_NULL},
    {SYS_epoll_wait, SLEEP_POLL, -1, 3, FOREVER_IS_MINUS_1},
    {SYS_pause, SLEEP_SIGNAL, 0, 0, 0},
#endif
    {SYS_ppoll, SLEEP_POLL, 1, 2, FOREVER_IS_NULL},
    {SYS_pselect6, SLEEP_POLL, 0, 4, FOREVER_IS_NULL},
    {SYS_epoll_pwait, SLEEP_POLL, -1, 3, FOREVER_IS_MINUS_1},
    {SYS_wait4, SLEEP_CHILD, 0, 0, 0},
    {SYS_waitid, SLEEP_CHILD, 0, 0, 0},
    {SYS_futex, SLEEP_FUTEX, 0, 0, 0},
    {SYS_rt_sigsuspend, SLEEP_SIGNAL, 0, 0, 0},
};

struct sleep
sleep_by_syscall(const char *text)
{
	struct sleep ret = {.kind = SLEEP_ELSE};
	unsigned long arg[6] = {0};
	const struct call *c = NULL;
	char *end;
	long nr;

	if (!isdigit((unsigned char)text[0]))
		return ret;
	nr = strtol(text, &end, 10);
	for (size_t i = 0; i < NELEMS(arg); i++)
		arg[i] = strtoul(end, &end, 16);
	for (size_t i = 0; i < NELEMS(calls) && c == NULL; i++)
		if (calls[i].nr == nr)
			c = &calls[i];
	if (c == NULL)
		return ret;
	ret.kind = c->kind;
	if (c->kind == SLEEP_READ)
		ret.fd = arg[0];
	if (c->kind != SLEEP_POLL)
		return ret;
	ret.timed = c->form == FOREVER_IS_NULL ? arg[c->time] != 0
					       : (int32_t)arg[c->time] >= 0;
	ret.alone = c->count >= 0 && arg[c->count] == 1;
	return ret;
}

enum sleep_kind
sleep_by_wchan(const char *text)
{
	static const struct {
		const char *prefix;
		enum sleep_kind kind;
	} rows[] = {
	    {"pipe_read", SLEEP_READ},
	    {"anon_pipe_read", SLEEP_READ},
	    {"fifo_pipe_read", SLEEP_READ},
	    {"pipe_wait", SLEEP_READ},
	    {"n_tty_read", SLEEP_READ},
	    {"tty_read", SLEEP_READ},
	    {"wait_woken", SLEEP_READ},
	    {"poll_schedule_timeout", SLEEP_POLL},
	    {"do_poll", SLEEP_POLL},
	    {"do_sys_poll", SLEEP_POLL},
	    {"do_select", SLEEP_POLL},
	    {"do_epoll_wait", SLEEP_POLL},
	    {"ep_poll", SLEEP_POLL},
	    {"do_wait", SLEEP_CHILD},
	    {"kernel_wait", SLEEP_CHILD},
	    {"futex_", SLEEP_FUTEX},
	    {"do_futex", SLEEP_FUTEX},
	    {"sigsuspend", SLEEP_SIGNAL},
	    {"__do_sys_rt_sigsuspend", SLEEP_SIGNAL},
	    {"__do_sys_pause", SLEEP_SIGNAL},
	    {"sys_pause", SLEEP_SIGNAL},
	};

	if (text[0] == '\0' || strcmp(text, "0") == 0)
		return SLEEP_UNKNOWN; /* it runs, or the kernel hides it */
	for (size_t i = 0; i < NELEMS(rows); i++)
		if (strncmp(text, rows[i].prefix, strlen(rows[i].prefix)) == 0)
			return rows[i].kind;
	return SLEEP_ELSE;
}
