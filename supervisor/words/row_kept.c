/* SPDX-License-Identifier: MIT */
/*
 * Rows of list that are told again as they were: of sessions that ended, until
 * something of them changes (store/record.c, session/output.c). A row is 45
 * fields from a dozen places of memory; told again it is one copy.
 */
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/fault.h"
#include "supervisor/words/result.h"

#define KEPT_BYTES (16u << 20) /* of all rows: about 20 000 */

static size_t kept_bytes; /* one master a process */

void
row_drop(struct session *s)
{
	kept_bytes -= s->row.map_bytes + s->row.line_bytes;
	free(s->row.p);
	s->row.p = NULL;
	s->row.map_bytes = s->row.line_bytes = 0;
}

/* Is it all on record, or as it was read? A parent may be forgotten, and what a
 * spill file or a terminal's input came to stands in the ring. */
static bool
stays(const struct session *s)
{
	return s->state == STATE_ENDED && s->id.parent.v == 0 &&
	    !s->terminal.pty &&
	    (s->wish.spill_path == NULL || s->wish.spill_path[0] == '\0') &&
	    s->output.tail_read && s->output.tail_at == s->output.total;
}

/* Keeps what was just told, if there is room for it. */
static void
keep(struct session *s, const char *map, size_t map_bytes, const char *line,
    size_t line_bytes)
{
	size_t bytes = map_bytes + line_bytes;

	if (kept_bytes + bytes > KEPT_BYTES ||
	    (s->row.p = malloc(bytes)) == NULL)
		return;
	memcpy(s->row.p, map, map_bytes);
	memcpy(s->row.p + map_bytes, line, line_bytes);
	s->row.map_bytes = (uint32_t)map_bytes;
	s->row.line_bytes = (uint32_t)line_bytes;
	kept_bytes += bytes;
}

/* Tells it anew. */
static void
row_make(struct master *m, struct session *s, uint64_t now_ms, struct enc *e,
    struct sbuf *text)
{
	result_row_open(m, s, NULL, e);
	enc_end(e);
	result_line(s, now_ms, text);
}

#ifdef PSUP_FAULTS
/* Every row that is told again is held against one that is made. */
static void
check_same(struct master *m, struct session *s, uint64_t now_ms)
{
	struct sbuf line = SBUF_INIT;
	struct enc e = ENC_INIT;
	size_t map = s->row.map_bytes;

	row_make(m, s, now_ms, &e, &line);
	CHECK(e.failed || line.failed || s->row.p == NULL ||
	    (e.len == map && memcmp(e.buf, s->row.p, map) == 0 &&
		line.len == s->row.line_bytes &&
		memcmp(line.p, s->row.p + map, line.len) == 0));
	enc_fini(&e);
	sbuf_fini(&line);
}
#else
#define check_same(m, s, now_ms) ((void)0)
#endif

void
row_list(struct master *m, struct session *s, uint64_t now_ms, struct enc *e,
    struct sbuf *text)
{
	size_t map = e->len, line = text->len;

	if (s->row.p != NULL) {
		check_same(m, s, now_ms);
		enc_raw(e, s->row.p, s->row.map_bytes);
		sbuf_addn(text, s->row.p + s->row.map_bytes,
		    s->row.line_bytes);
		return;
	}
	row_make(m, s, now_ms, e, text);
	if (stays(s) && !e->failed && !text->failed)
		keep(s, e->buf + map, e->len - map, text->p + line,
		    text->len - line);
}
