/* SPDX-License-Identifier: MIT */
/* Words for upgrades, see lib_upgrade.h. */
#include "lib_upgrade.h"


#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib_inner.h"

#define STREAMS_MAX 16

static struct {
	const char *ids[STREAMS_MAX];
	const char *stop;
	int count;
} streams;

static const char *
format(const char *a, const char *b, const char *c)
{
	size_t size = strlen(a) + strlen(b) + strlen(c) + 1;
	char *s = scn_alloc(size);

	snprintf(s, size, "%s%s%s", a, b, c);
	return s;
}

const char *
build_dir(const char *name)
{
	if (name == NULL)
		return scn_bin_dir();
	return format(scn_bin_dir(), "/../tests/", name);
}

void
install_program(const char *from_dir, const char *program, const char *to_dir)
{
	const char *from = format(from_dir, "/", program);
	const char *to = format(to_dir, "/", program);
	const char *temp = format(to, ".new", "");
	static char buf[65536];
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	ssize_t n;

	expect(in >= 0 && out >= 0, "%s: %s", from, strerror(errno));
	while ((n = read(in, buf, sizeof(buf))) > 0)
		expect(write(out, buf, (size_t)n) == n);
	close(in);
	close(out);
	expect(rename(temp, to) == 0, "%s", strerror(errno));
}

const char *
dir_with_imposter(const char *kind, const char *program)
{
	static const char *const programs[] = {"psupd", "psup-master",
	    "psup-worker"};
	const char *dir = file_in_scenario(kind);
	const char *helpers = format(scn_bin_dir(), "/../tests/helpers", "");

	expect(mkdir(dir, 0700) == 0, "%s: %s", dir, strerror(errno));
	for (size_t i = 0; i < 3; i++)
		expect(symlink(format(build_dir("next"), "/", programs[i]),
			   format(dir, "/", programs[i])) == 0);
	install_program(helpers, "imposter", dir);
	expect(rename(format(dir, "/", "imposter"),
		   format(dir, "/", program)) == 0);
	return dir;
}

void
connect_again(void)
{
	scn_ask_again();
}

void
upgrade_to(const char *dir)
{
	struct run *r = cli("upgrade", dir);

	expect(r->code == 0, "%s%s", r->out, r->err);
	expect(strstr(r->out, "sessions were kept") != NULL, "%s", r->out);
	connect_again();
}

/* The server's state. */
static const psup_value *
status(void)
{
	struct answer *a = ask("status");

	expect(a->status == PSUP_OK, "%s", a->message);
	return psup_reply_value(a->reply);
}

/* Is this process of that build? */
static void
expect_one(const psup_value *process, const char *want)
{
	expect(psup_get_is(process, "build", want), "pid %d is not %s",
	    (int)psup_get_int(process, "pid", 0), want);
}

void
expect_build(const char *suffix)
{
	const char *want = format(psup_version(), suffix, "");
	const psup_value *s = status();
	const psup_value *workers = psup_value_get(s, "workers");

	expect_one(psup_value_get(s, "keeper"), want);
	expect_one(psup_value_get(s, "master"), want);
	for (size_t i = 0; i < psup_value_count(workers); i++)
		expect_one(psup_value_at(workers, i), want);
}

void
note_pids(pid_t ret[16])
{
	const psup_value *s = status();
	const psup_value *workers = psup_value_get(s, "workers");

	memset(ret, 0, 16 * sizeof(*ret));
	ret[0] = (pid_t)psup_get_int(psup_value_get(s, "keeper"), "pid", 0);
	ret[1] = (pid_t)psup_get_int(psup_value_get(s, "master"), "pid", 0);
	for (size_t i = 0; i < psup_value_count(workers) && i < 14; i++)
		ret[2 + i] = (pid_t)psup_get_int(psup_value_at(workers, i),
		    "pid", 0);
}

/* How many descriptors a process has; 0 where they are not ours to see: psup's
 * processes are not dumpable. */
static int
count_fds(pid_t pid)
{
	char path[64];
	int n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	if (d == NULL && errno == EACCES && geteuid() != 0)
		return 0;
	expect(d != NULL, "%s: %s", path, strerror(errno));
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

/* Has the keeper heard of every worker and of every session that runs? */
static bool
is_settled(int workers)
{
	const psup_value *s = status();

	return psup_value_count(psup_value_get(s, "workers")) ==
	    (size_t)workers + 1 &&
	    psup_get_int(psup_value_get(s, "keeper"), "sessions", -1) ==
	    psup_get_int(psup_value_get(s, "sessions"), "running", -2);
}

int
keeper_fds(int workers)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	while (!is_settled(workers)) {
		expect(now_ms() < until, "not settled");
		poll(NULL, 0, 1);
	}
	return count_fds(keeper_pid());
}

/* A channel may be on its way, a directory being read. */
void
await_keeper_fds(int most)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	int n;

	while ((n = count_fds(keeper_pid())) > most) {
		expect(now_ms() < until, "%d descriptors, %d before", n,
		    most);
		poll(NULL, 0, 1);
	}
}

void
begin_streams(int n)
{
	static char script[PATH_MAX + 64];

	expect(n <= STREAMS_MAX);
	await_log("event=ready "); /* before that an upgrade is refused */
	streams.stop = file_in_scenario("stop");
	streams.count = n;
	snprintf(script, sizeof(script), "stream %s; exit 7", streams.stop);
	for (int i = 0; i < n; i++) {
		streams.ids[i] = background(PUPPET(script));
		await_output(streams.ids[i], "xyz");
	}
}

void
end_streams(void)
{
	FILE *f = fopen(streams.stop, "we");

	expect(f != NULL);
	fclose(f);
	for (int i = 0; i < streams.count; i++) {
		struct output o = poll_to_the_end(streams.ids[i], "check");
		size_t n = strspn(o.bytes, "abcdefghijklmnopqrstuvwxyz");

		expect_int(o.last, "exitCode", 7);
		expect(o.dropped == 0 && o.len > n && o.bytes[n] == '\n' &&
		        strtoull(o.bytes + n + 1, NULL, 10) == n,
		    "%s: %zu bytes of %s", streams.ids[i], n, o.bytes + n);
		for (size_t k = 0; k < n; k++)
			expect(o.bytes[k] == (char)('a' + k % 26), "%s: %zu",
			    streams.ids[i], k);
	}
}
