/* SPDX-License-Identifier: MIT */
/*
 * A keeper's state, written and read again: everything comes back, older and
 * newer records are adapted to, and nothing that is wrong is believed.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "supervisor/keeper/upgrade/save.h"

#define ROWS 5u

TestSuite(save, .timeout = 20);

static struct keeper_options opt, opt2;
static struct keeper k, got;
static char why[300];

/* A keeper with a master, two workers, a standby and a few sessions. */
static void
make(void)
{
	k = (struct keeper){ .opt = &opt, .incarnation = 77, .workers = 2,
		.slots = 3, .max_sessions = 100, .dir = 7, .lock = 8,
		.listener = 9, .nofile_soft = 1024, .core_soft = 4096,
		.had_children = true };
	strcpy(opt.runtime_dir, "/run/x");
	strcpy(opt.config_path, "/etc/x.conf");
	opt.config.grace_ms = 1234;
	opt.log_level = LOG_DEBUG;
	opt.log_format = LOG_JSON;
	opt.log_format_given = true;
	k.table = table_new(100);
	for (uint32_t i = 0; i < PROGRAMS; i++) {
		k.set[SET_NEW].fd[i] = 10 + (int)i;
		snprintf(k.set[SET_NEW].path[i], PATH_MAX, "/bin/p%u", i);
	}
	for (uint32_t i = 0; i < 4; i++) {
		struct proc *p = i == 0 ? &k.master : &k.slot[i - 1];

		*p = (struct proc){ .role = i == 0 ? HERITAGE_MASTER :
			i == 3 ? HERITAGE_STANDBY : HERITAGE_WORKER,
			.wid = { i == 0 ? 0 : i - 1, 3 + i },
			.pid = 100 + (int)i, .pidfd = 20 + (int)i,
			.chan = 30 + (int)i, .todo = TODO_ROLE | TODO_LEAVE,
			.linked = 3, .restarts = i, .started_ns = 55 };
	}
	for (uint32_t i = 0; i < ROWS; i++) {
		struct row *r = table_add(k.table, (struct sid){ 1000 + i },
		    (struct wid){ i % 2, 1 });

		if (i > 0)
			table_set_pid(k.table, r, 500 + (int)i);
		r->fds[0] = 40 + (int)i;
		r->prev = (struct wid){ 1, 9 };
		r->crashes = i;
		r->spawned_ns = 12 + i;
		r->exit.code = i == 2 ? 1 : 0;
		r->exit.status = 42;
		table_mark(k.table, r, i == 3 ? ROW_TELL : 0);
	}
	k.upgrade.id = 99;
	strcpy(k.upgrade.from, "1");
	strcpy(k.upgrade.to, "2");
}

static int
read_back(int fd)
{
	got = (struct keeper){ .opt = &opt2 };
	why[0] = '\0';
	return restore_state(&got, fd, true, why, sizeof(why));
}

Test(save, everything_comes_back)
{
	int fd;

	make();
	fd = save_state(&k);
	cr_assert_geq(fd, 0);
	cr_assert_lt(pwrite(fd, "x", 1, 0), 0, "it is sealed");
	cr_assert_eq(read_back(fd), 0, "%s", why);
	cr_assert_eq(got.incarnation, 77);
	cr_assert_eq(got.core_soft, 4096);
	cr_assert_eq(got.slots, 3);
	cr_assert_eq(got.listener, 9);
	cr_assert(got.had_children);
	cr_assert_str_eq(opt2.runtime_dir, "/run/x");
	cr_assert_str_eq(opt2.config_path, "/etc/x.conf");
	cr_assert_eq(opt2.config.grace_ms, 1234);
	cr_assert_eq(opt2.log_level, LOG_DEBUG);
	cr_assert_eq(opt2.log_format, LOG_JSON);
	cr_assert(opt2.log_format_given && !opt2.log_level_given);
	/* what was new is what there is now */
	cr_assert_str_eq(got.set[SET_OLD].path[2], "/bin/p2");
	cr_assert_eq(got.set[SET_OLD].fd[2], 12);
	cr_assert_eq(got.slot[2].role, HERITAGE_STANDBY);
	cr_assert_eq(got.slot[2].wid.generation, 6);
	cr_assert_eq(got.slot[2].pid, 103);
	cr_assert_eq(got.slot[2].todo, TODO_ROLE);
	cr_assert_eq(got.upgrade.id, 99);
	cr_assert_eq(table_count(got.table), ROWS);
	for (uint32_t i = 0; i < ROWS; i++) {
		const struct row *a = table_find(k.table,
				     (struct sid){ 1000 + i }),
				 *b = table_find(got.table,
				     (struct sid){ 1000 + i });

		cr_assert(b != NULL);
		cr_assert_eq(a->pid, b->pid);
		cr_assert_eq(a->owner, b->owner);
		cr_assert_eq(a->todo, b->todo);
		cr_assert_eq(a->crashes, b->crashes);
		cr_assert_eq(a->spawned_ns, b->spawned_ns);
		cr_assert(wid_eq(a->spawner, b->spawner));
		cr_assert(wid_eq(a->prev, b->prev));
		cr_assert_eq(memcmp(a->fds, b->fds, sizeof(a->fds)), 0);
		cr_assert_eq(a->exit.code, b->exit.code);
		cr_assert(i == 0 || table_find_pid(got.table, b->pid) == b);
	}
	table_free(got.table);
	table_free(k.table);
	close(fd);
}

/* The state as bytes, changed by a test. */
static unsigned char *bytes;
static size_t size;

static void
load(void)
{
	struct stat st;
	int fd;

	make();
	fd = save_state(&k);
	cr_assert(fd >= 0 && fstat(fd, &st) == 0);
	size = (size_t)st.st_size;
	bytes = calloc(1, size + 4096);
	cr_assert_eq(pread(fd, bytes, size, 0), (ssize_t)size);
	close(fd);
	table_free(k.table);
}

/* Its sum made right again, so that what lies behind it is looked at. */
static int
tried(bool sum)
{
	struct save_head h;
	int fd = memfd_create("test", MFD_CLOEXEC), r;

	memcpy(&h, bytes, sizeof(h));
	if (sum && size > sizeof(h)) {
		h.bytes = size;
		h.sum = save_sum(bytes + sizeof(h), size - sizeof(h));
		memcpy(bytes, &h, sizeof(h));
	}
	cr_assert_eq(write(fd, bytes, size), (ssize_t)size);
	r = read_back(fd);
	table_free(got.table);
	close(fd);
	return r;
}

/* A section's head in the bytes. */
static struct save_section
section(unsigned n)
{
	struct save_section s;

	memcpy(&s, bytes + sizeof(struct save_head) + n * sizeof(s),
	    sizeof(s));
	return s;
}

static void
set_section(unsigned n, struct save_section s)
{
	memcpy(bytes + sizeof(struct save_head) + n * sizeof(s), &s,
	    sizeof(s));
}

Test(save, another_version_is_named)
{
	struct save_head h;

	load();
	memcpy(&h, bytes, sizeof(h));
	h.stamp = ABI_STAMP(abi_table[ABI_STATE].version + 1,
	    abi_table[ABI_STATE].version + 1);
	memcpy(bytes, &h, sizeof(h));
	cr_assert_lt(tried(true), 0);
	cr_assert(strstr(why, "made by psup layout 4 (state") != NULL, "%s",
	    why);
	/* newer, and still for us */
	h.stamp = ABI_STAMP(abi_table[ABI_STATE].version + 1,
	    abi_table[ABI_STATE].version);
	memcpy(bytes, &h, sizeof(h));
	cr_assert_eq(tried(true), 0, "%s", why);
	free(bytes);
}

Test(save, a_torn_one_is_refused)
{
	load();
	bytes[size - 1] ^= 1;
	cr_assert_lt(tried(false), 0);
	cr_assert_str_eq(why, "the state's sum is wrong");
	size -= 8;
	cr_assert_lt(tried(false), 0);
	size = 10;
	cr_assert_lt(tried(false), 0);
	free(bytes);
}

Test(save, shorter_records_are_filled_with_nothing)
{
	struct save_section s;

	load();
	s = section(3); /* the upgrade, last in the file: cut it */
	s.record_bytes = 16;
	set_section(3, s);
	cr_assert_eq(tried(true), 0, "%s", why);
	cr_assert_eq(got.upgrade.id, 99);
	cr_assert_eq(got.upgrade.sessions, 0);
	free(bytes);
}

Test(save, what_cannot_be_is_named)
{
	static const struct {
		unsigned section;
		size_t at;
		uint32_t v;
		const char *why;
	} rows[] = {
		{ 0, offsetof(struct save_core, workers), 0, "workers: 0" },
		{ 0, offsetof(struct save_core, workers), 33, "workers: 33" },
		{ 0, offsetof(struct save_core, max_sessions), 1u << 30,
		    "sessions: 1073741824" },
		{ 0, offsetof(struct save_core, listener), 2, "socket 2" },
		{ 0, offsetof(struct save_core, runtime_dir), 0x41414141,
		    "a path does not end" },
		{ 1, offsetof(struct save_proc, role), 2, "process 0" },
		{ 1, offsetof(struct save_proc, pid), 1, "process 0" },
		{ 1, offsetof(struct save_proc, chan), 0, "process 0" },
		{ 2, offsetof(struct save_row, owner), 3, "slot 3" },
		{ 2, offsetof(struct save_row, pid), 503, "pid 503" },
		{ 2, offsetof(struct save_row, sid), 1001, "twice" },
		{ 2, offsetof(struct save_row, fds), 1, "descriptor 1" },
	};

	for (size_t i = 0; i < NELEMS(rows); i++) {
		struct save_section s;

		load();
		s = section(rows[i].section);
		/* rows: the last one, so that the others are there by then */
		memcpy(bytes + s.at +
			(rows[i].section == 2 ? s.count - 1 : 0) *
			    s.record_bytes + rows[i].at, &rows[i].v, 4);
		cr_expect_lt(tried(true), 0, "%zu", i);
		cr_expect(strstr(why, rows[i].why) != NULL, "%zu %s", i, why);
		free(bytes);
	}
}

/* Any bytes: no crash, no reading beyond. */
Test(save, any_bytes_are_survived)
{
	unsigned long seed = 1;

	load();
	for (int i = 0; i < 4000; i++) {
		size_t at;
		unsigned char was;

		seed = seed * 6364136223846793005ul + 1442695040888963407ul;
		at = (size_t)(seed >> 33) % (i % 2 == 0 ? 200 : size);
		was = bytes[at];
		bytes[at] = (unsigned char)(seed >> 20);
		(void)tried(true);
		bytes[at] = was;
	}
	cr_assert_eq(tried(true), 0, "%s", why);
	free(bytes);
}
