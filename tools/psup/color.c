/* SPDX-License-Identifier: MIT */
/* Colours and columns of color.h. Called by whatever shows tables. */
#include "color.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char *const sequences[] = {
	[STYLE_NONE] = "", [STYLE_BOLD] = "\033[1m", [STYLE_DIM] = "\033[2m",
	[STYLE_RED] = "\033[31m", [STYLE_GREEN] = "\033[32m",
	[STYLE_YELLOW] = "\033[33m", [STYLE_CYAN] = "\033[36m"};

/* Set, and not empty. */
static bool
is_set(const char *name)
{
	const char *v = getenv(name);

	return v != NULL && v[0] != '\0';
}

/* Of stdin, stdout, stderr; asked once: a table asks for each cell. */
bool
color_terminal(int fd)
{
	static signed char known[3]; /* 1: it is; -1: it is not */
	const char *term = getenv("TERM");

	if (known[fd] == 0)
		known[fd] = isatty(fd) == 1 && term != NULL &&
		        term[0] != '\0' && strcmp(term, "dumb") != 0 ? 1 : -1;
	return known[fd] > 0;
}

bool
color_on(const struct cli *c, int fd)
{
	if (c->color != COLOR_AUTO)
		return c->color == COLOR_ALWAYS;
	return !is_set("NO_COLOR") && color_terminal(fd);
}

const char *
color_begin(const struct cli *c, int fd, enum style style)
{
	return color_on(c, fd) ? sequences[style] : "";
}

const char *
color_end(const struct cli *c, int fd, enum style style)
{
	return style != STYLE_NONE && color_on(c, fd) ? "\033[0m" : "";
}

/* ------------------------------------------------------------------ cells */

void
cells_amount(uint64_t n, char *ret, size_t size)
{
	static const char units[] = "KMGTPE";
	double v = (double)n;
	size_t i = 0;

	if (n < 1024) {
		snprintf(ret, size, "%llu", (unsigned long long)n);
		return;
	}
	v /= 1024;
	while (v >= 999.95 && i + 1 < strlen(units)) {
		v /= 1024;
		i++;
	}
	snprintf(ret, size, "%.1f%c", v, units[i]);
}

/* A number of 1..9999 in the environment; 0: none. */
static size_t
env_size(const char *name)
{
	const char *text = getenv(name);
	long v = text != NULL ? strtol(text, NULL, 10) : 0;

	return v > 0 && v < 10000 ? (size_t)v : 0;
}

void
cells_of_terminal(size_t *ret_columns, size_t *ret_lines)
{
	struct winsize ws;

	*ret_columns = *ret_lines = 0;
	if (isatty(STDOUT_FILENO) != 1)
		return;
	*ret_columns = env_size("COLUMNS");
	*ret_lines = env_size("LINES");
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0) {
		if (*ret_columns == 0)
			*ret_columns = ws.ws_col;
		if (*ret_lines == 0)
			*ret_lines = ws.ws_row;
	}
	if (*ret_columns == 0)
		*ret_columns = 80;
	if (*ret_lines == 0)
		*ret_lines = 24;
}
