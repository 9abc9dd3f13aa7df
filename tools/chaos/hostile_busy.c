/* SPDX-License-Identifier: MIT */
/* Those who take time: requests that are long to answer, starts without end,
 * and starts that hang, on dead mounts or behind a lease. */
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECTIONS 100
#define PIPELINED   60
#define STARTS      64
#define HANGING     8 /* of one kind, at once */
#define HELD_MS     15000 /* longer than a start may take */
#define LINES_BYTES "33554432"

/* One session of as many lines as are kept, then everything that is long to
 * answer about it. */
void
hostile_requests(const struct hostile *h)
{
	char id[ID_BYTES] = "";
	struct crowd c;
	psup_args *a;
	unsigned turn = 0;

	crowd_init(&c, h, CONNECTIONS);
	crowd_turn(&c, 0);
	do {
		a = hostile_exec("head -c " LINES_BYTES
		    " /dev/zero | tr '\\0' '\\n'");
		psup_args_map_begin(a, "retain");
		psup_args_int(a, "headBytes", 16777216);
		psup_args_int(a, "tailBytes", 16777216);
		psup_args_map_end(a);
	} while (!hostile_start(c.p[0], a, id) && (nap_ms(100), true));
	for (;; turn++) {
		crowd_turn(&c, 20);
		for (size_t i = 0; i < c.n; i++)
			while (psup_is_connected(c.p[i]) &&
			       c.under_way[i] < PIPELINED) {
				bool poll = (turn + i) % 5 == 4;

				a = of_session(id);
				if (poll)
					psup_args_int(a, "since", 0);
				else if ((turn + i) % 5 == 0)
					psup_args_bool(a, "timestamps", true);
				else if ((turn + i) % 5 == 1)
					psup_args_int(a, "limit", 1);
				else if ((turn + i) % 5 == 2)
					psup_args_str(a, "grep", "nothing");
				else
					psup_args_str(a, "regex", "(a|b)*c");
				crowd_send(&c, i, poll ? "poll" : "log", a);
			}
	}
}

/* As many starts under way as a gateway with 64 agents has. */
void
hostile_starts(const struct hostile *h)
{
	struct crowd c;

	crowd_init(&c, h, 4);
	for (;;) {
		crowd_turn(&c, 20);
		for (size_t i = 0; i < c.n; i++)
			while (psup_is_connected(c.p[i]) &&
			       c.under_way[i] < STARTS / 4) {
				psup_args *a = hostile_exec("true");

				psup_args_bool(a, "background", false);
				crowd_send(&c, i, "exec", a);
			}
	}
}

/* ------------------------------------------------------- starts that hang */

/* The n-th way to meet a file system that does not answer. */
static psup_args *
hanging_exec(unsigned n, const char *dir)
{
	psup_args *a = psup_args_new();
	char path[160], path_env[180];

	snprintf(path, sizeof(path), "%s/%s/thing", chaos.work, dir);
	snprintf(path_env, sizeof(path_env), "%s:/usr/bin:/bin", path);
	psup_args_bool(a, "background", true);
	psup_args_str(a, "stdin", "closed");
	psup_args_str(a, "workdir", n % 5 == 0 ? path : "/");
	if (n % 5 == 1) {
		psup_args_list_begin(a, "argv");
		psup_args_str(a, NULL, path);
		psup_args_list_end(a);
	} else {
		psup_args_str(a, "command", n % 5 == 4 ? "echo a; echo b"
		                                       : "true");
	}
	if (n % 5 == 2 || n % 5 == 3) {
		psup_args_map_begin(a, "baseEnv");
		psup_args_str(a, n % 5 == 2 ? "PATH" : "SHELL",
		    n % 5 == 2 ? path_env : path);
		psup_args_map_end(a);
	}
	if (n % 5 == 4) {
		psup_args_map_begin(a, "spill");
		psup_args_str(a, "path", path);
		psup_args_map_end(a);
	}
	return a;
}

void
hostile_paths(const struct hostile *h)
{
	struct crowd c;

	/* a gateway that repeats what was not answered */
	crowd_init(&c, h, 2);
	for (unsigned n = 0;; n++) {
		crowd_turn(&c, 250);
		for (size_t i = 0; i < c.n; i++)
			if (psup_is_connected(c.p[i]) &&
			    c.under_way[i] < HANGING)
				crowd_send(&c, i, "exec", hanging_exec(n,
				    n % 8 == 7 ? SILENT_DIR : DEAD_DIR));
	}
}

/* A copy of a program with a write lease on it: its exec waits until the lease
 * is broken, 45 s by default. */
static int
lease(const char *path)
{
	char command[400];
	int fd;

	snprintf(command, sizeof(command), "cp /bin/true %.300s", path);
	if (system(command) != 0)
		exit(1);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fcntl(fd, F_SETLEASE, F_WRLCK) < 0) {
		fprintf(stderr, "psup-chaos: no lease (%s): lease is left "
		    "out\n", strerror(errno));
		for (;;)
			pause();
	}
	return fd;
}

void
hostile_lease(const struct hostile *h)
{
	struct crowd c;
	uint64_t since = clock_boot_ns();
	char path[160];
	int fd;

	signal(SIGIO, SIG_IGN);
	snprintf(path, sizeof(path), "%s/leased", chaos.work);
	fd = lease(path);
	crowd_init(&c, h, 1);
	for (;;) {
		crowd_turn(&c, 500);
		if (clock_boot_ns() - since > HELD_MS * UINT64_C(1000000)) {
			close(fd);
			unlink(path);
			fd = lease(path);
			since = clock_boot_ns();
		}
		if (psup_is_connected(c.p[0]) && c.under_way[0] < HANGING) {
			psup_args *a = psup_args_new();

			psup_args_list_begin(a, "argv");
			psup_args_str(a, NULL, path);
			psup_args_list_end(a);
			psup_args_str(a, "workdir", "/");
			psup_args_bool(a, "background", true);
			crowd_send(&c, 0, "exec", a);
		}
	}
}
