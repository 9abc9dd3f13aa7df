/* SPDX-License-Identifier: MIT */
/* Boxes that die as soon as they are there: who waits for one gets another, but not
 * without end, and nobody else hears of it. */
#include "lib_boxes.h"
#include "lib_inner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WHY "no sandbox: its first process ended as soon as it was there, time " \
	"and again"

TestSuite(sandbox_young);

/* A server whose bwrap, where the box is that of the scope "bad", does this: `says`
 * is the word that the box is there, of a process that is not there any more, and
 * $n how many came before. */
static void
bad_boxes(const char *does, const char *faults)
{
	const char *path = file_in_scenario("bin/bwrap");
	FILE *f;

	expect(mkdir(file_in_scenario("bin"), 0755) == 0);
	f = fopen(path, "we");
	expect(f != NULL);
	(void)fprintf(f, "#!/bin/sh\n"
	    "case $* in *agent%%20bad*) ;; *) exec /usr/bin/bwrap \"$@\" ;; esac\n"
	    "says() { echo '{\"child-pid\": 4194304}'; echo R >&2; }\n"
	    "cd '%s'; n=$(wc -c <made); echo >>made\n%s\n",
	    file_in_scenario(""), does);
	expect(fclose(f) == 0 && chmod(path, 0755) == 0);
	f = fopen(file_in_scenario("made"), "we");
	expect(f != NULL && fchmod(fileno(f), 0666) == 0 && fclose(f) == 0);
	psupd(.workers = 2, .conf = conf(""),
	    .env = {scn_format("PATH=%s:/usr/bin:/bin", file_in_scenario("bin")),
	    faults});
}

/* How many boxes of that scope were made. */
static long long
made(void)
{
	struct stat st;

	expect(stat(file_in_scenario("made"), &st) == 0);
	return st.st_size;
}

static struct question *
wants_in(void)
{
	return ask_later(peer("bad"), "exec", STR("command", "true"));
}

static void
expect_given_up(struct question *q)
{
	struct answer *a = answer_of(q);

	expect_refused_for(a, "unsupported", "host");
	expect(strcmp(words_of(a), WHY) == 0, "%s", words_of(a));
}

SCENARIO(sandbox_young, are_made_three_times)
{
	struct answer *a;

	bad_boxes("says", NULL);
	expect_given_up(wants_in());
	expect(made() == 3, "%lld", made());
	a = ask_as(peer("good"), "exec", STR("command", "true"));
	skip_without_boxes(a);
	expect_str(a, "status", "completed");
}

#ifdef PSUP_FAULTS
#define SLOTS 3 /* two workers and the standby */

/* The worker that has stopped, and is not that one. */
static pid_t
await_another_stopped(pid_t known)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	pid_t pid;

	for (int i = 0;; i = (i + 1) % SLOTS) {
		pid = worker_in(i);
		if (pid > 0 && pid != known && is_stopped(pid))
			return pid;
		expect(now_ms() < until, "no worker has stopped");
		poll(NULL, 0, 1);
	}
}

/* Whoever has stopped goes on, but for that one. */
static void
others_go_on(pid_t held)
{
	for (int i = 0; i < SLOTS; i++) {
		pid_t pid = worker_in(i);

		if (pid > 0 && pid != held && is_stopped(pid))
			kill_now(pid, SIGCONT);
	}
	poll(NULL, 0, 1);
}

/* The first one's worker hangs, so that its end is told late: when the fourth is
 * being made, for who came after it. That one is the last all the same. */
SCENARIO(sandbox_young, are_counted_where_one_ends_late)
{
	struct question *first, *second;
	pid_t held;
	int go;

	bad_boxes("[ $n != 3 ] || read -r x <go\nsays\nexec sleep 1000",
	    "PSUP_FAULTS=stop.before-signal=stop");
	expect(mkfifo(file_in_scenario("go"), 0666) == 0);
	go = open(file_in_scenario("go"), O_RDWR | O_CLOEXEC);
	expect(go >= 0 && fchmod(go, 0666) == 0);
	first = wants_in();
	held = await_another_stopped(0);
	second = wants_in();
	while (made() < 4 && !is_answered(second))
		others_go_on(held);
	while (psup_value_count(psup_value_get(details(ask("sandboxes")),
	    "boxes")) > 1)
		others_go_on(0);
	expect(write(go, "\n", 1) == 1);
	while (!is_answered(second)) /* another worker's first */
		others_go_on(0);
	expect_given_up(first);
	expect_given_up(second);
	expect(made() <= 4, "%lld", made());
	close(go);
}
#endif
