/* SPDX-License-Identifier: MIT */
/*
 * Makes lines: what all have in common, the values of the event, escaped, and
 * what was not written before. Judges whether the same event came too often.
 * log_write.c writes them.
 */
#include "log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "clock.h"
#include "log_write.h"
#include "relaxed.h"
#include "text.h"

#define LINE_MAX_BYTES 2048 /* under PIPE_BUF: a pipe takes all or nothing */
#define VALUE_BYTES    1024
#define KEEP_BYTES     96   /* for what is said at the end of a line */
#define EVENTS         64u  /* told apart by a hash of their constant */

/* How often an event came. */
struct seen {
	const char *name;    /* its constant; NULL: none yet */
	uint64_t next_ms;    /* a bucket that leaks: full when it is ahead */
	uint64_t suppressed; /* and not said */
};

static struct {
	const char *process;
	long pid;
	bool is_worker, journal;
	uint32_t slot, generation;
	enum log_format format;
	uint64_t dropped, dropped_said;
	uint64_t waiting; /* suppressed and not said, of all */
	_Atomic uint64_t *lines_seen, *dropped_seen, *suppressed_seen;
	struct seen seen[EVENTS];
} state = { .process = "psup" };

enum log_level log_max = LOG_ERROR;

static const char *const level_names[] = { "error", "warn", "note", "debug" };
static const char *const format_names[] = { "logfmt", "json" };
/* as syslog(3) numbers them */
static const char priorities[] = { '3', '4', '5', '7' };

struct line {
	char text[LINE_MAX_BYTES];
	size_t len, max;
	bool any; /* a value stands there: a comma comes first */
};

void
log_open(const char *process, int fd, enum log_level max)
{
	log_write_open(fd);
	state.process = process;
	state.pid = (long)getpid();
	log_max = max;
	state.journal = log_is_journal(fd);
	state.is_worker = false;
	state.dropped = state.dropped_said = state.waiting = 0;
	memset(state.seen, 0, sizeof(state.seen));
}

void
log_set_format(enum log_format format)
{
	state.format = format;
}

void
log_set(uint32_t packed)
{
	if (LOG_LEVEL_OF(packed) > LOG_DEBUG ||
	    LOG_FORMAT_OF(packed) > LOG_JSON)
		return;
	log_max = LOG_LEVEL_OF(packed);
	state.format = LOG_FORMAT_OF(packed);
}

void
log_set_worker(uint32_t slot, uint32_t generation)
{
	state.is_worker = true;
	state.slot = slot;
	state.generation = generation;
}

void
log_count_into(_Atomic uint64_t *lines, _Atomic uint64_t *dropped,
    _Atomic uint64_t *suppressed)
{
	state.lines_seen = lines;
	state.dropped_seen = dropped;
	state.suppressed_seen = suppressed;
}

/* One more, where somebody may see it. One writer, no lock. */
static void
count(_Atomic uint64_t *counter)
{
	if (counter != NULL)
		COUNT_UP(*counter, 1);
}

/* A name's place in a list, or -1. */
static int
name_of(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(names[i], name) == 0)
			return (int)i;
	return -1;
}

int
log_level_of(const char *name)
{
	return name_of(level_names, NELEMS(level_names), name);
}

int
log_format_of(const char *name)
{
	return name_of(format_names, NELEMS(format_names), name);
}

/* ------------------------------------------------------------- the line */

static void
put(struct line *l, const char *s, size_t n)
{
	if (n > l->max - l->len)
		n = l->max - l->len;
	memcpy(l->text + l->len, s, n);
	l->len += n;
}

static void
puts_to(struct line *l, const char *s)
{
	put(l, s, strlen(s));
}

/* May it stand without quotes? */
static bool
is_plain(const char *s)
{
	return s[0] != '\0' && strpbrk(s, " \"=\\,{}[]") == NULL;
}

/* Between quotes, which both formats escape alike. All or nothing: a line that
 * is cut must not end within them. */
static void
put_quoted(struct line *l, const char *s)
{
	size_t from = l->len;

	puts_to(l, "\"");
	for (; *s != '\0' && l->len + 4 <= l->max; s++) {
		if (*s == '"' || *s == '\\')
			puts_to(l, "\\");
		put(l, s, 1);
	}
	/* cut: not within a character */
	if (*s != '\0')
		l->len = from + text_cut_back(l->text + from, l->len - from,
		    l->len - from);
	puts_to(l, "\"");
}

/* key= or "key": */
static bool
put_key(struct line *l, const char *key)
{
	if (l->max - l->len < strlen(key) + 32)
		return false;
	if (state.format == LOG_JSON) {
		puts_to(l, l->any ? ",\"" : "\"");
		puts_to(l, key);
		puts_to(l, "\":");
	} else {
		puts_to(l, l->any ? " " : "");
		puts_to(l, key);
		puts_to(l, "=");
	}
	l->any = true;
	return true;
}

/* A text, whatever bytes it has. */
static void
put_text(struct line *l, const char *key, const char *s)
{
	char shown[VALUE_BYTES];

	if (s == NULL || !put_key(l, key))
		return;
	text_escape(s, strlen(s), false, shown, sizeof(shown));
	if (state.format == LOG_JSON || !is_plain(shown) ||
	    strlen(shown) > l->max - l->len)
		put_quoted(l, shown);
	else
		puts_to(l, shown);
}

static void
put_uint(struct line *l, const char *key, uint64_t v)
{
	char number[24];

	(void)snprintf(number, sizeof(number), "%llu", (unsigned long long)v);
	if (put_key(l, key))
		puts_to(l, number);
}

/* One value of an event. */
static void
put_kv(struct line *l, const struct log_kv *kv)
{
	char number[24];

	switch (kv->type) {
	case LOG_KV_TEXT:
		put_text(l, kv->key, kv->s);
		break;
	case LOG_KV_UINT:
		put_uint(l, kv->key, kv->u);
		break;
	case LOG_KV_INT:
		(void)snprintf(number, sizeof(number), "%lld",
		    (long long)kv->i);
		if (put_key(l, kv->key))
			puts_to(l, number);
		break;
	case LOG_KV_BOOL:
		if (put_key(l, kv->key))
			puts_to(l, kv->u != 0 ? "true" : "false");
		break;
	}
}

/* When, unless the journal knows. */
static void
put_time(struct line *l)
{
	struct timespec ts;
	struct tm tm;
	char text[40];
	size_t n;

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(text + n, sizeof(text) - n, ".%03uZ",
	    (unsigned)(ts.tv_nsec / 1000000) % 1000u);
	put_text(l, "time", text);
}

/* What every line begins with. */
static void
line_begin(struct line *l, enum log_level level)
{
	*l = (struct line){ .max = LINE_MAX_BYTES - KEEP_BYTES };
	if (state.journal) {
		puts_to(l, "<");
		put(l, &priorities[level], 1);
		puts_to(l, ">");
	}
	if (state.format == LOG_JSON)
		puts_to(l, "{");
	if (!state.journal)
		put_time(l);
	put_text(l, "level", level_names[level]);
	put_text(l, "process", state.process);
	put_uint(l, "pid", (uint64_t)state.pid);
	if (state.is_worker) {
		put_uint(l, "slot", state.slot);
		put_uint(l, "generation", state.generation);
	}
}

/* And ends with; then it goes. */
static void
line_end(struct line *l, uint64_t suppressed)
{
	l->max = LINE_MAX_BYTES - 2;
	if (suppressed > 0)
		put_uint(l, "suppressed", suppressed);
	if (state.dropped > state.dropped_said)
		put_uint(l, "dropped", state.dropped - state.dropped_said);
	l->max = LINE_MAX_BYTES;
	puts_to(l, state.format == LOG_JSON ? "}\n" : "\n");
	if (log_write(l->text, l->len)) {
		state.dropped_said = state.dropped;
		count(state.lines_seen);
	} else {
		state.dropped++;
		count(state.dropped_seen);
	}
}

/* ------------------------------------------------------------- too often */

/* The entry of an event; another one's is taken over where the table is full,
 * which at worst lets a line more through. */
static struct seen *
seen_of(const char *name)
{
	struct seen *s = &state.seen[((uintptr_t)name >> 3) % EVENTS];

	for (size_t i = 0; i < EVENTS; i++, s++) {
		if (s == state.seen + EVENTS)
			s = state.seen;
		if (s->name == name || s->name == NULL)
			break;
	}
	if (s == state.seen + EVENTS)
		s = state.seen;
	if (s->name != name) {
		state.waiting -= s->suppressed;
		*s = (struct seen){ .name = name };
	}
	return s;
}

/* Takes room for another line of it, where there is any. */
static bool
take_room(struct seen *s, uint64_t now_ms)
{
	if (s->next_ms > now_ms + (LOG_BURST - 1) * LOG_EACH_MS)
		return false;
	s->next_ms = (s->next_ms > now_ms ? s->next_ms : now_ms) + LOG_EACH_MS;
	return true;
}

/* May it be written? Else it is counted. */
static bool
may_pass(struct seen *s, enum log_level level, uint64_t now_ms)
{
	if (level == LOG_DEBUG || take_room(s, now_ms))
		return true;
	s->suppressed++;
	state.waiting++;
	count(state.suppressed_seen);
	return false;
}

/* Takes what was suppressed of it. */
static uint64_t
take_suppressed(struct seen *s)
{
	uint64_t n = s->suppressed;

	s->suppressed = 0;
	state.waiting -= n;
	return n;
}

void
log_tick(void)
{
	uint64_t now_ms;
	struct line l;

	if (state.waiting == 0)
		return;
	now_ms = clock_boot_ns() / NSEC_PER_MSEC;
	for (size_t i = 0; i < EVENTS; i++) {
		struct seen *s = &state.seen[i];

		if (s->suppressed == 0 || !take_room(s, now_ms))
			continue;
		line_begin(&l, LOG_WARN);
		put_text(&l, "event", "suppressed");
		put_text(&l, "of", s->name);
		line_end(&l, take_suppressed(s));
	}
}

/* ----------------------------------------------------------------- lines */

void
log_event_of(enum log_level level, const char *name, const struct log_kv *kvs)
{
	int saved_errno = errno;
	struct seen *s;
	struct line l;

	CHECK((size_t)level < NELEMS(level_names));
	if (level > log_max)
		return;
	s = seen_of(name);
	if (may_pass(s, level, clock_boot_ns() / NSEC_PER_MSEC)) {
		line_begin(&l, level);
		put_text(&l, "event", name);
		for (; kvs->key != NULL; kvs++)
			put_kv(&l, kvs);
		line_end(&l, take_suppressed(s));
	}
	errno = saved_errno;
}

uint64_t
log_dropped(void)
{
	return state.dropped;
}
