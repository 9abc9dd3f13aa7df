/* SPDX-License-Identifier: MIT */
/*
 * psup log --asciicast: retained output as a recording that asciinema plays
 * (asciicast v2), read from shared memory. Times are those of the ring's log of
 * stretches; older output comes at the time of what is before it, and that is
 * said.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define SIZES_MAX   64
#define BORDER_LOOK 4096u
#define PIPE_COLS   120
#define PIPE_ROWS   30

/* A recording under way. */
struct cast {
	struct psup_view_size sizes[SIZES_MAX];
	size_t size_count, size_at;
	uint64_t start_ms, last_ms;
	uint64_t untimed, missing; /* bytes */
	bool pipe;          /* no terminal made CR LF of LF */
	char carry[4];      /* an unfinished character */
	size_t carry_len;
};

/* How many bytes at the end begin a character that is not whole. */
static size_t
unfinished(const char *s, size_t len)
{
	size_t i, need;

	for (i = 1; i <= 3 && i <= len; i++) {
		unsigned char c = (unsigned char)s[len - i];

		if ((c & 0xc0) == 0x80)
			continue;
		need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
		return need > i ? i : 0;
	}
	return 0;
}

/* One event line. */
static void
print_event(struct cast *k, uint64_t wall_ms, char type, const char *data,
    size_t len)
{
	json_t *text = json_of_text(data, len);
	char *line = json_dumps(text, JSON_ENCODE_ANY);
	uint64_t ms;

	if (wall_ms > k->last_ms)
		k->last_ms = wall_ms;
	ms = k->last_ms - k->start_ms;
	if (line != NULL)
		printf("[%llu.%03u, \"%c\", %s]\n",
		    (unsigned long long)(ms / 1000), (unsigned)(ms % 1000),
		    type, line);
	free(line);
	json_decref(text);
}

/* Output: whole characters now, the rest with what comes next. */
static void
put_output(struct cast *k, uint64_t wall_ms, const char *data, size_t len)
{
	char *all = malloc(k->carry_len + 2 * len + 1);
	size_t n = 0, rest, i;

	if (all == NULL)
		return;
	memcpy(all, k->carry, k->carry_len);
	n = k->carry_len;
	for (i = 0; i < len; i++) {
		if (k->pipe && data[i] == '\n')
			all[n++] = '\r';
		all[n++] = data[i];
	}
	rest = unfinished(all, n);
	k->carry_len = rest;
	memcpy(k->carry, all + n - rest, rest);
	if (n > rest)
		print_event(k, wall_ms, 'o', all, n - rest);
	free(all);
}

/* The sizes that hold from `pos` on. */
static void
put_sizes(struct cast *k, uint64_t pos)
{
	char text[32];
	int n;

	for (; k->size_at < k->size_count; k->size_at++) {
		const struct psup_view_size *z = &k->sizes[k->size_at];

		if (z->pos > pos)
			return;
		n = snprintf(text, sizeof(text), "%dx%d", z->cols, z->rows);
		print_event(k, z->wall_ms, 'r', text, (size_t)n);
	}
}

/* Bytes are missing here. Returns how many of the next ones are the end of
 * something that began in the gap. */
static size_t
cross_gap(struct cast *k, uint64_t missing, const char *data, size_t len)
{
	/* cancels a sequence, plain text, a clear screen */
	static const char calm[] = "\030\033[m\033[H\033[2J";
	size_t i;

	k->missing += missing;
	k->carry_len = 0;
	if (k->pipe)
		return 0;
	put_output(k, 0, calm, sizeof(calm) - 1);
	for (i = 0; i < len && i < BORDER_LOOK; i++)
		if (data[i] == '\033' || data[i] == '\n')
			return data[i] == '\n' ? i + 1 : i;
	return 0;
}

/* A stretch of output. */
static void
put_stretch(void *arg, const struct psup_view_chunk *c, const char *data,
    size_t len)
{
	struct cast *k = arg;
	uint64_t pos = c->pos, next;
	size_t skip = 0, part;

	if (c->dropped > 0)
		skip = cross_gap(k, c->dropped, data, len);
	if (c->wall_ms == 0)
		k->untimed += len;
	for (pos += skip, data += skip, len -= skip; len > 0;
	     pos += part, data += part, len -= part) {
		put_sizes(k, pos);
		next = k->size_at < k->size_count ? k->sizes[k->size_at].pos
		                                  : UINT64_MAX;
		part = next - pos < len ? (size_t)(next - pos) : len;
		put_output(k, c->wall_ms, data, part);
	}
}

/* The first line of the file. */
static void
print_header(const struct cast *k, const struct psup_view_session *s)
{
	const char *title = s->label[0] != '\0' ? s->label
	    : s->name[0] != '\0'                ? s->name
	                                        : s->command;
	json_t *h = json_pack("{s:i, s:i, s:i, s:I, s:s, s:o, s:{s:s}}",
	    "version", 2, "width", k->sizes[0].cols, "height", k->sizes[0].rows,
	    "timestamp", (json_int_t)(k->start_ms / 1000), "command",
	    s->command, "title", json_of_text(title, strlen(title)), "env",
	    "TERM", "xterm-256color");

	if (h != NULL)
		cli_print_json(h);
}

int
cast_log(struct cli *c, const char *id)
{
	struct cast k = {0};
	struct psup_view_session row;
	psup_view *v;
	int n, code = view_open_session(c, id, &v, &row);

	if (code != EXIT_OK)
		return code;
	k.start_ms = row.started_ms > 0 ? row.started_ms : row.created_ms;
	k.last_ms = k.start_ms;
	n = psup_view_sizes(v, row.instance, k.sizes, SIZES_MAX);
	k.size_count = n > 0 ? (size_t)n : 0;
	k.size_at = 1;
	k.pipe = n <= 0;
	if (k.pipe) {
		k.sizes[0].cols = PIPE_COLS;
		k.sizes[0].rows = PIPE_ROWS;
	}
	print_header(&k, &row);
	code = view_each_stretch(v, &row, put_stretch, &k);
	put_sizes(&k, UINT64_MAX);
	psup_view_close(&v);
	if (k.missing > 0)
		cli_say("%llu bytes are not retained: the recording goes on "
		        "after them with a clear screen",
		    (unsigned long long)k.missing);
	if (k.untimed > 0)
		cli_say("%llu bytes are older than the log of times: they come "
		        "at once",
		    (unsigned long long)k.untimed);
	return ferror(stdout) ? EXIT_INTERNAL : code;
}
