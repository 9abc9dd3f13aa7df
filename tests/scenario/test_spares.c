/* SPDX-License-Identifier: MIT */
/* Rings of forgotten sessions become those of others: each has its own output,
 * and none stays behind. */
#include "lib_scn.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT_ONCE 16
#define MANY    400 /* foreground sessions: 256 answered ones are kept */
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

/* Files of rings/ that are put aside, or those that are not; their inodes. */
static size_t
files(bool spare, ino_t ret[FILES])
{
	char path[300];
	struct dirent *de;
	size_t n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/rings", runtime_dir());
	d = opendir(path);
	expect(d != NULL);
	while ((de = readdir(d)) != NULL && n < FILES) {
		if (de->d_name[0] == '.' ||
		    (strstr(de->d_name, ".spare") != NULL) != spare)
			continue;
		if (ret != NULL)
			ret[n] = de->d_ino;
		n++;
	}
	closedir(d);
	return n;
}

static void
await_no_spares(void)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	while (files(true, NULL) > 0) {
		expect(now_ms() < until, "spares stay");
		usleep(1000); /* a file that goes tells nobody */
	}
}

SCENARIO(spares, each_output_is_its_own)
{
	static ino_t spare[FILES], ring[FILES];
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	size_t n, rings, again = 0;
	int ran = MANY;

	psupd();
	run_many(0, MANY);
	/* what lies unused for seconds goes, as it may here on a busy machine */
	while (again == 0) {
		expect(now_ms() < until, "none becomes a ring again");
		n = files(true, spare);
		run_many(ran, 64);
		ran += 64;
		rings = files(false, ring);
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < rings; k++)
				again += spare[i] == ring[k];
	}
	await_no_spares(); /* nobody asks for them */
	run_many(ran, 64);
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
	await_no_spares();
	expect_ok(ask("kill", STR("sessionId", id)));
}
