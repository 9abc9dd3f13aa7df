/* SPDX-License-Identifier: MIT */
/* What is damaged or taken away under the server is said, and hurts nobody
 * else. */
#include "lib_scn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib_inner.h"

/* The file that keeps a session's output. */
static const char *
ring_of(const char *id)
{
	struct answer *a = ask("list");
	const psup_value *rows = psup_value_get(details(a), "sessions");

	for (size_t i = 0; i < psup_value_count(rows); i++) {
		const psup_value *row = psup_value_at(rows, i);
		char instance[64] = "";

		if (!psup_get_is(row, "sessionId", id))
			continue;
		psup_get_copy(row, "instanceId", instance, sizeof(instance));
		expect(strlen(instance) == 33, "instance id '%s'", instance);
		return scn_format("%s/rings/%s", runtime_dir(), instance + 17);
	}
	expect(false, "%s is not listed", id);
	return NULL;
}

/* Overwrites the beginning of a file. */
static void
scribble(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	char junk[8]; /* the magic, and what else is left alone */

	memset(junk, 0x5a, sizeof(junk));
	expect(fd >= 0 && pwrite(fd, junk, sizeof(junk), 0) == sizeof(junk),
	    "%s", path);
	close(fd);
}

/* Poll and log say why there is no output. */
static void
expect_no_output(const char *id, const char *state)
{
	struct answer *a = ask("poll", STR("sessionId", id));

	expect_str(a, "outputState", state);
	expect_text(a, state);
	a = ask("log", STR("sessionId", id));
	expect_refused(a, "output-lost");
	expect(strstr(words_of(a), state) != NULL, "%s", words_of(a));
}

SCENARIO(damage, a_ring_that_is_damaged_is_said)
{
	const char *ended, *runs, *other;
	const psup_value *row;
	bool killed;

	psupd();
	ended = background(STR("command", "echo one"));
	await_end(ended);
	runs = background(PUPPET("print two; hang"));
	await_output(runs, "two");
	other = background(PUPPET("print three; cat"));
	await_output(other, "three");
	scribble(ring_of(ended));
	expect_no_output(ended, "damaged");
	scribble(ring_of(runs));
	/* it does not wait for output that nobody can read */
	expect_str(ask("poll", STR("sessionId", runs), INT("timeout", 30000)),
	    "outputState", "damaged");
	/* the record stands, and the others go on */
	expect_int(ask("poll", STR("sessionId", ended)), "exitCode", 0);
	expect_ok(ask("write", STR("sessionId", other), STR("data", "on\n")));
	await_output(other, "on\n");
	/* its worker ends it as lost where it finds the damage first */
	killed = strstr(words_of(ask("kill", STR("sessionId", runs),
	    INT("graceMs", 0))), "No active session") == NULL;
	row = await_end(runs);
	expect(psup_get_is(row, "exitReason", "lost") ||
	    (killed && psup_get_is(row, "exitReason", "manual-cancel")));
}

SCENARIO(damage, a_ring_that_is_gone_is_said)
{
	const char *ended;

	psupd();
	ended = background(STR("command", "echo one; exit 4"));
	await_end(ended);
	expect(unlink(ring_of(ended)) == 0);
	kill_master(); /* the old one may have it open */
	expect_no_output(ended, "gone");
	expect_int(ask("poll", STR("sessionId", ended)), "exitCode", 4);
}

SCENARIO(damage, a_deleted_runtime_directory_is_said)
{
	const char *runs;
	struct answer *a;

	psupd();
	runs = background(PUPPET("print up; cat; exit 3"));
	await_output(runs, "up\n");
	scn_remove_tree(runtime_dir());
	a = ask("exec", STR("command", "true"));
	expect_refused(a, "runtime-gone");
	expect(strstr(words_of(a), runtime_dir()) != NULL, "%s", words_of(a));
	await_log("event=runtime-dir-deleted ");
	/* what runs goes on to its end */
	expect_ok(ask("write", STR("sessionId", runs), YES("eof")));
	await_end(runs);
	a = ask("poll", STR("sessionId", runs));
	expect_int(a, "exitCode", 3);
	expect_str(a, "outputState", "gone");
}

SCENARIO(damage, the_key_of_a_removed_session_is_free)
{
	const char *first, *second;

	psupd();
	first = background(PUPPET("ignore 15; print up; hang"),
	    STR("requestKey", "k"));
	await_output(first, "up");
	expect(strcmp(background(PUPPET("hang"), STR("requestKey", "k")),
	           first) == 0);
	expect_ok(ask("remove", STR("sessionId", first)));
	second = background(PUPPET("print again; hang"),
	    STR("requestKey", "k"));
	expect(strcmp(first, second) != 0, "%s", second);
	await_output(second, "again");
	kill_master();
	expect(strcmp(background(PUPPET("hang"), STR("requestKey", "k")),
	           second) == 0);
}

/* Whether the master's writes to files work. */
static void
let_master_write(bool yes)
{
	struct rlimit rl;

	expect(prlimit(master_pid(), RLIMIT_FSIZE, NULL, &rl) == 0);
	rl.rlim_cur = yes ? rl.rlim_max : 0;
	expect(prlimit(master_pid(), RLIMIT_FSIZE, &rl, NULL) == 0, "%s",
	    strerror(errno));
}

SCENARIO(damage, commits_that_fail_for_a_while_lose_nothing)
{
	struct peer *gateway;
	struct question *q;
	const char *go, *on, *id;
	char script[300];
	pid_t old;

	psupd();
	old = master_pid();
	gateway = peer(NULL);
	listen_to_events(gateway, "gateway");
	go = file_in_scenario("go");
	on = file_in_scenario("on");
	snprintf(script, sizeof(script), "print up; await %s; print done; "
	    "exit 3", go);
	id = background(PUPPET(script));
	await_output(id, "up\n");
	q = ask_later(peer(NULL), "exec", STR("command", scn_format(">%s; until "
	    "[ -e %s ]; do sleep 0.02; done; echo done; exit 3", on, go)),
	    NIL("yieldMs"));
	await_file(on); /* so it was accepted */
	let_master_write(false);
	close(open(go, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	await_gone(pid_of(id));
	/* nobody is told what is not on record */
	for (int64_t until = now_ms() + 300; now_ms() < until; poll(NULL, 0, 5))
		expect(!is_answered(q));
	let_master_write(true);
	expect_int(answer_of(q), "exitCode", 3);
	expect_str(answer_of(q), "aggregated", "done\n");
	await_events(gateway, 1);
	expect(strcmp(event_at(gateway, 0)->id, id) == 0);
	expect(master_pid() == old, "it gave up");
	kill_master();
	expect_int(ask("poll", STR("sessionId", id)), "exitCode", 3);
}

SCENARIO(damage, a_master_that_cannot_commit_makes_room_for_another)
{
	struct peer *gateway;
	const char *go, *id;
	char script[300];
	pid_t old;

	psupd();
	go = file_in_scenario("go");
	snprintf(script, sizeof(script), "print up; await %s; print done; "
	    "exit 3", go);
	id = background(PUPPET(script));
	await_output(id, "up\n");
	old = master_pid();
	let_master_write(false);
	close(open(go, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	await_gone(old); /* it tried for ten seconds */
	scn_ask_again();
	gateway = peer(NULL);
	listen_to_events(gateway, "gateway");
	await_events(gateway, 1);
	expect(strcmp(event_at(gateway, 0)->id, id) == 0);
	expect_int(ask("poll", STR("sessionId", id)), "exitCode", 3);
}
