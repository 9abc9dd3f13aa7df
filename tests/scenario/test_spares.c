/* SPDX-License-Identifier: MIT */
/* Rings of forgotten sessions become those of others: each has its own output,
 * and none stays behind. */
#include "lib_scn.h"

#include "lib_inner.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT_ONCE 16
#define MANY    400 /* foreground sessions: KEPT answered ones are kept */
#define KEPT    256
#define FILES   1024

TestSuite(spares);

/* Runs so many commands in the foreground, each of which says who it is. */
static void
run_many(int from, int n)
{
	static struct question *q[AT_ONCE];
	char text[AT_ONCE][64];

	for (int i = 0; i < n + AT_ONCE; i++) {
		int at = i % AT_ONCE;

		if (i >= AT_ONCE) {
			struct answer *a = answer_of(q[at]);
			char want[64];

			snprintf(want, sizeof(want), "I am %d\n",
			    from + i - AT_ONCE);
			expect_ok(a);
			expect(strncmp(words_of(a), want, strlen(want)) == 0,
			    "%.40s, not %s", words_of(a), want);
			expect_int(a, "exitCode", 0);
		}
		if (i >= n)
			continue;
		snprintf(text[at], sizeof(text[at]), "print I am %d; bytes %d",
		    from + i, (from + i) * 37 % 3000);
		q[at] = ask_later(NULL, "exec", PUPPET(text[at]));
	}
}

struct file {
	ino_t inode;
	char name[32];
};

/* Files of rings/. */
static size_t
files(struct file ret[FILES])
{
	char path[300];
	struct dirent *de;
	size_t n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/rings", runtime_dir());
	d = opendir(path);
	expect(d != NULL);
	while ((de = readdir(d)) != NULL && n < FILES) {
		if (de->d_name[0] == '.')
			continue;
		ret[n].inode = de->d_ino;
		snprintf(ret[n++].name, sizeof(ret->name), "%.31s", de->d_name);
	}
	closedir(d);
	return n;
}

/* No ring but those of sessions that are kept, and `others`. */
static void
await_no_spares(size_t others)
{
	static struct file ring[FILES];
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	while (files(ring) > KEPT + others) {
		expect(now_ms() < until, "spares stay");
		usleep(1000); /* a file that goes tells nobody */
	}
}

/* How many files have another name than before. */
static size_t
renamed(const struct file *was, size_t n, const struct file *is, size_t count)
{
	size_t again = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < count; k++)
			again += was[i].inode == is[k].inode &&
			    strcmp(was[i].name, is[k].name) != 0;
	return again;
}

SCENARIO(spares, each_output_is_its_own)
{
	static struct file was[FILES], is[FILES];
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	size_t n, again = 0;
	int ran = MANY;

	psupd();
	run_many(0, MANY);
	/* what lies unused for seconds goes, as it may here on a busy machine */
	while (again == 0) {
		expect(now_ms() < until, "none becomes a ring again");
		n = files(was);
		run_many(ran, 64);
		ran += 64;
		again = renamed(was, n, is, files(is));
	}
	await_no_spares(0); /* nobody asks for them */
	run_many(ran, 64);
}

/* What a worker keeps is counted as large as it came, though it is emptied for the
 * next: else there would seem to be more of it with each, until a worker dropped
 * one that was not there. */
SCENARIO(spares, any_number_are_kept_and_given_on)
{
	const psup_value *all;

	psupd();
	for (int i = 0; i < MANY; i++)
		expect_ok(ask("remove", STR("sessionId",
		    id_of(ask("exec", PUPPET("bytes 20000"))))));
	all = psup_value_get(details(ask("status")), "workers");
	for (size_t i = 0; i < psup_value_count(all); i++)
		expect(psup_get_int(psup_value_at(all, i), "restarts", -1) == 0,
		    "a worker died");
}

SCENARIO(spares, a_death_leaves_none)
{
	const char *id;
	pid_t master;

	psupd();
	id = background(PUPPET("hang"));
	run_many(0, MANY);
	kill_worker_of(id);
	run_many(MANY, MANY);
	master = master_pid();
	kill_master();
	await_new_master(master);
	run_many(2 * MANY, MANY);
	await_no_spares(1);
	expect_ok(ask("kill", STR("sessionId", id)));
}

/* Runs commands until rings of forgotten ones bear their names. How many ran. */
static int
run_until_spare(void)
{
	static struct file ring[FILES];
	int ran = 0;

	do {
		run_many(ran, MANY);
		ran += MANY;
	} while (files(ring) <= KEPT + 1);
	return ran;
}

static void
damage_index(void)
{
	static const char junk[8192] = "no index";
	int fd = open(scn_format("%s/index/data.mdb", runtime_dir()),
	    O_WRONLY | O_CLOEXEC);

	expect(fd >= 0 && pwrite(fd, junk, sizeof(junk), 0) == sizeof(junk));
	close(fd);
}

static void
expect_none_came_back(int ran)
{
	static struct file ring[FILES];

	await_log("event=index-set-aside");
	run_many(ran, 1);
	expect(files(ring) <= KEPT + 1, "%zu rings", files(ring));
}

/* Its name alone says that it is a session's. */
SCENARIO(spares, the_ring_of_a_forgotten_one_is_no_session_after_damage)
{
	pid_t master;
	int ran;

	psupd();
	master = master_pid();
	ran = run_until_spare();
	damage_index();
	kill_master();
	await_new_master(master);
	expect_none_came_back(ran);
}

/* Nor where the keeper died, whose next one makes the master's page anew. */
SCENARIO(spares, nor_after_the_keepers_death)
{
	int ran;

	psupd(.first = true);
	ran = run_until_spare();
	kill_now(psupd_pid(), SIGKILL);
	server_was_killed();
	expect(await_former_server() == 128 + SIGKILL);
	damage_index();
	psupd();
	expect_none_came_back(ran);
}
