/* SPDX-License-Identifier: MIT */
/*
 * Clients that are killed. `reader` lists, polls and logs whatever there is,
 * through the socket and through shared memory; `gateway` has sessions in the
 * foreground and in the background. Nobody else may notice their end.
 */
#include "chaos.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static struct bystander {
	enum victim which;
	const char *word;
	pid_t pid;
} bystanders[] = {
    {VICTIM_READER, "reader", 0},
    {VICTIM_GATEWAY, "gateway", 0},
};

/* ------------------------------------------------------- as a child of ours */

static void
read_everything(psup *p, psup_view *v)
{
	struct psup_view_session s;
	struct psup_view_chunk chunk = {0};
	static char buf[65536];
	size_t cursor = 0;

	while (psup_view_next_session(v, &cursor, &s) == 1) {
		psup_reply *r = NULL;

		while (psup_view_read_output(v, s.instance, chunk.next, buf,
		           sizeof(buf), &chunk) > 0)
			;
		if (psup_poll(p, s.id, 10, -1, "bystander", &r) == PSUP_OK)
			psup_reply_free(&r);
		if (psup_log(p, s.id, -1, -1, NULL, &r) == PSUP_OK)
			psup_reply_free(&r);
		chunk.next = 0;
	}
}

static void __attribute__((noreturn))
reader(psup *p)
{
	psup_view *v = NULL;
	psup_reply *r = NULL;

	if (psup_view_open(chaos.dir, &v, NULL, 0) != 0)
		exit(1);
	for (;;) {
		if (!reach(p)) {
			nap_ms(2);
			continue;
		}
		if (psup_list(p, true, &r) == PSUP_OK)
			psup_reply_free(&r);
		read_everything(p, v);
	}
}

static void
drop(void *, int, psup_reply *r)
{
	psup_reply_free(&r);
}

static void
start_something(psup *p, const char *command, bool background)
{
	struct psup_exec x = PSUP_EXEC_INIT;
	psup_args *a;

	x.command = command;
	x.workdir = "/";
	x.session_key = "chaos-gateway";
	x.background = background;
	x.yield_ms = background ? -1 : -2;
	a = psup_exec_args(&x);
	if (a == NULL || psup_send(p, "exec", a, drop, NULL, NULL) != PSUP_OK)
		psup_close(p);
	psup_args_free(&a);
}

static void __attribute__((noreturn))
gateway(psup *p)
{
	for (unsigned i = 0;; i++) {
		if (!reach(p)) {
			nap_ms(2);
			continue;
		}
		if (i % 8 == 0)
			start_something(p, "sleep 1000", false);
		start_something(p, "echo hi; sleep 0.05", true);
		for (int turns = 0; turns < 10; turns++)
			if (psup_turn(p, 10) != PSUP_OK)
				break;
	}
}

int
bystander_main(int argc, char **argv)
{
	psup *p;

	if (argc != 3 || psup_new(&p) != PSUP_OK)
		return 2;
	snprintf(chaos.dir, sizeof(chaos.dir), "%s", argv[1]);
	if (strcmp(argv[0], "reader") == 0)
		reader(p);
	gateway(p);
}

/* ------------------------------------------------------------ for the killer */

static void
start(struct bystander *b)
{
	b->pid = child_start("bystander", b->word);
}

void
bystanders_start(void)
{
	for (size_t i = 0; i < 2; i++)
		if (chaos.o.victims & bystanders[i].which)
			start(&bystanders[i]);
}

static void
end(struct bystander *b)
{
	if (b->pid > 0) {
		kill(b->pid, SIGKILL);
		waitpid(b->pid, NULL, 0);
	}
	b->pid = 0;
}

void
bystanders_stop(void)
{
	for (size_t i = 0; i < 2; i++)
		end(&bystanders[i]);
}

/* A client that does not read for a while. */
static void
pause_for(pid_t pid, uint32_t *random)
{
	kill(pid, SIGSTOP);
	nap_ms(1 + rnd(random) % (uint32_t)(chaos.o.stop_ms + 1));
	kill(pid, SIGCONT);
	atomic_fetch_add(&chaos.stops, 1);
}

bool
bystander_kill(enum victim which, uint32_t *random)
{
	struct bystander *b = &bystanders[which == VICTIM_READER ? 0 : 1];

	if (b->pid <= 0)
		return false;
	if (chaos.o.signal == SIGSTOP) {
		pause_for(b->pid, random);
		return true;
	}
	end(b);
	atomic_fetch_add(which == VICTIM_READER ? &chaos.kills_reader
	                                        : &chaos.kills_gateway, 1);
	start(b);
	return true;
}
