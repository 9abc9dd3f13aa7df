/* SPDX-License-Identifier: MIT */
/*
 * The line of progress.h. It is written through stderr's sink, so a terminal
 * that was stopped (Ctrl-S) blocks nobody.
 */
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "color.h"
#include "common/clock.h"

#define AFTER_NS 1000000000u /* shorter commands show nothing */
#define QUIET_NS 500000000u  /* nor those that write to the terminal */

void
progress_open(struct progress *p, struct sink *err, bool wanted)
{
	memset(p, 0, sizeof(*p));
	p->err = err;
	p->on = wanted;
	p->began_ns = clock_boot_ns();
}

/* Through the sink, at once where possible. */
static void
put(struct progress *p, const char *text)
{
	(void)sink_put(p->err, text, strlen(text));
	sink_flush(p->err);
}

void
progress_hide(struct progress *p)
{
	char text[64];

	if (p->column == 0)
		return;
	snprintf(text, sizeof(text), "\0337\033[%zuG\033[K\0338", p->column);
	p->column = 0;
	put(p, text);
}

void
progress_output(struct progress *p, const char *data, size_t len,
    bool to_terminal)
{
	p->bytes += len;
	for (const char *at = data; p->on &&
	     (at = memchr(at, '\n', (size_t)(data + len - at))) != NULL; at++)
		p->lines++;
	if (!to_terminal || len == 0)
		return;
	p->shared = true;
	p->mid_line = data[len - 1] != '\n';
	p->wrote_ns = clock_boot_ns();
	progress_hide(p);
}

void
progress_typed(struct progress *p, const char *data, size_t len)
{
	char text[64];

	p->typed = true;
	if (p->column == 0)
		return;
	/* the line above, if Enter has moved on */
	if (memchr(data, '\n', len) != NULL) {
		snprintf(text, sizeof(text), "\0337\033[A\033[%zuG\033[K\0338",
		    p->column);
		put(p, text);
	}
	progress_hide(p);
}

/* May it stand there now? */
static bool
is_free(const struct progress *p, uint64_t now)
{
	return now - p->began_ns >= AFTER_NS && !p->typed && !p->mid_line &&
	    sink_pending(p->err) == 0 &&
	    (!p->shared || now - p->wrote_ns >= QUIET_NS) &&
	    tcgetpgrp(STDERR_FILENO) == getpgrp();
}

void
progress_turn(struct progress *p, bool running)
{
	static const char spinner[] = "|/-\\";
	uint64_t now = clock_boot_ns();
	char text[160], line[240], took[32], out[32];
	struct winsize ws;
	int n;

	if (!p->on || !is_free(p, now) ||
	    ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) != 0)
		return;
	psup_duration((now - p->began_ns) / 1000000000u * 1000, took,
	    sizeof(took));
	cells_amount(p->bytes, out, sizeof(out));
	n = snprintf(text, sizeof(text), "%c %s %s  %s%s  %llu line%s",
	    spinner[p->spin++ % 4], running ? "running" : "waiting", took, out,
	    p->bytes < 1024 ? " bytes" : "", (unsigned long long)p->lines, p->lines == 1 ? "" : "s");
	if (n + 2 > ws.ws_col)
		return;
	progress_hide(p);
	p->column = (size_t)(ws.ws_col - n);
	snprintf(line, sizeof(line), "\0337\033[%zuG%s\033[K\0338", p->column,
	    text);
	put(p, line);
}
