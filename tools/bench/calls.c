/* SPDX-License-Identifier: MIT */
/* Calls as models make them, `true` each: through psup tool and psup-mcp, as
 * lines of JSON at 1, 8 and 64 at once, beside the same calls through libpsup.
 * And what psup-mcp costs: its first answer and its memory. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/procfs.h"

extern char **environ;

/* A program that takes a call a line and answers with a line. */
static const struct speaker {
	const char *name;
	const char *argv[3]; /* the program lies beside this one */
	const char *head, *rest; /* of a call, before and behind its id */
	double goal;         /* of libpsup's rate */
} speakers[] = {
	{"psup tool", {"psup", "tool", NULL},
	    "{\"id\":", ",\"tool\":\"exec\",\"command\":\"true\","
	    "\"yieldMs\":null}\n", 0.8},
	{"psup-mcp", {"psup-mcp", NULL},
	    "{\"jsonrpc\":\"2.0\",\"id\":", ",\"method\":\"tools/call\","
	    "\"params\":{\"name\":\"exec\",\"arguments\":{\"command\":\"true\"}"
	    "}}\n", 0.6},
};

struct spoken {
	const struct speaker *s;
	pid_t pid;
	int in, out;
	int next; /* id */
};

/* Starts it. */
static void
begin(struct bench *b, const struct speaker *s, struct spoken *ret)
{
	char path[4096], self[4096];
	const char *argv[3] = {path, s->argv[1], NULL};
	posix_spawn_file_actions_t actions;
	int in[2], out[2], error;

	strcpy(self, b->self);
	snprintf(path, sizeof(path), "%.4000s/%s", dirname(self), s->argv[0]);
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		die("pipe: %s", strerror(errno));
	setenv("PSUP_RUNTIME_DIR", b->dir, 1);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	error = posix_spawn(&ret->pid, path, &actions, NULL,
	    (char **)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error != 0)
		die("%s: %s", path, strerror(error));
	close(in[0]);
	close(out[1]);
	ret->s = s;
	ret->in = in[1];
	ret->out = out[0];
	ret->next = 1;
}

static void
end(struct spoken *p)
{
	int status;

	close(p->in);
	close(p->out);
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
}

static void
say(const struct spoken *p, const char *text)
{
	size_t len = strlen(text);

	if (write(p->in, text, len) != (ssize_t)len)
		die("%s does not read: %s", p->s->name, strerror(errno));
}

static void
call(struct spoken *p)
{
	char line[256];

	snprintf(line, sizeof(line), "%s%d%s", p->s->head, p->next++,
	    p->s->rest);
	say(p, line);
}

/* Waits for something; how many lines end in it. */
static int
answers(const struct spoken *p)
{
	static char buf[65536];
	ssize_t n = read(p->out, buf, sizeof(buf));
	int lines = 0;

	if (n <= 0)
		die("%s is gone", p->s->name);
	for (const char *at = buf;
	     (at = memchr(at, '\n', (size_t)(buf + n - at))) != NULL; at++)
		lines++;
	return lines;
}

/* The closed loop. */
static double
rate_of(struct bench *b, struct spoken *p, int at_once)
{
	uint64_t start = clock_boot_ns(), count = 0;
	uint64_t until = start + (uint64_t)(b->turn_sec * 1e9);
	int open = at_once;

	for (int i = 0; i < at_once; i++)
		call(p);
	while (open > 0) {
		int n = answers(p);

		open -= n;
		count += (uint64_t)n;
		for (; n > 0 && clock_boot_ns() < until; n--, open++)
			call(p);
	}
	return (double)count / ((double)(clock_boot_ns() - start) / 1e9);
}

/* From its start to its first answer, and what it takes then. */
static void
note_first(struct bench *b)
{
	uint64_t start = clock_boot_ns(), kib = 0;
	struct spoken p;

	begin(b, &speakers[1], &p);
	say(&p, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
	        "\"params\":{\"protocolVersion\":\"2025-11-25\"}}\n");
	(void)answers(&p);
	row_psup(row_get("psup-mcp, start to first answer", "ms", NULL,
	             GOAL_VALUE_MAX, 10),
	    (double)(clock_boot_ns() - start) / 1e6);
	call(&p);
	(void)answers(&p);
	(void)procfs_number(p.pid, "smaps_rollup", "Pss:", &kib);
	row_psup(row_get("psup-mcp, Pss after a call", "MB", NULL,
	             GOAL_VALUE_MAX, 2),
	    (double)kib / 1024);
	end(&p);
}

void
calls_round(struct bench *b)
{
	static const char raw_is[] = "calls: the same exec through libpsup";
	static const int depths[] = {1, 8, 64};
	struct psup_exec x = PSUP_EXEC_INIT;

	note_first(b);
	x.command = "true";
	x.yield_ms = -2;
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		double raw = psup_starts(b, &x, depths[i]).rate;

		for (size_t k = 0; k < 2; k++) {
			struct spoken p;
			char figure[64];
			struct row *r;

			snprintf(figure, sizeof(figure), "%s, %d at once",
			    speakers[k].name, depths[i]);
			r = row_get(figure, "/s", raw_is, GOAL_RATIO_MIN,
			    speakers[k].goal);
			begin(b, &speakers[k], &p);
			row_psup(r, rate_of(b, &p, depths[i]));
			row_raw(r, raw);
			end(&p);
		}
	}
}
