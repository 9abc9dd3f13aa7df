/* SPDX-License-Identifier: MIT */
/* --boxed: every other session of a campaign runs in the box of one of a few
 * scopes, which shows this program and a directory for its file of starts. */
#include "chaos.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIPPED 77 /* as ctest has it */
#define NOBODY 65534

bool
boxed_has(enum kind kind, uint32_t n)
{
	return chaos.o.boxed && kind != KIND_SPILL && kind != KIND_QUEUE &&
	    kind != KIND_IDLE && kind != KIND_TICK && n % 2 == 0;
}

unsigned
boxed_place(uint32_t n)
{
	return n / 2 % BOXES;
}

void
boxed_scope(unsigned place, char ret[ID_BYTES])
{
	snprintf(ret, ID_BYTES, "chaos-box-%u", place);
}

static _Noreturn void
skip(const char *why)
{
	fprintf(stderr, "psup-chaos: %s\n", why);
	rmdir(chaos.work);
	exit(SKIPPED);
}

/* The user of its boxes runs this program: it may lie below a directory that is
 * root's alone. */
static bool
is_readable_inside(void)
{
	int status;
	pid_t pid;

	if (geteuid() != 0)
		return true;
	pid = fork();
	if (pid == 0)
		_exit(setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 ||
		    setuid(NOBODY) != 0 || access(chaos.self, R_OK) != 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

void
boxed_prepare(void)
{
	char path[128];
	FILE *f;

	if (!chaos.o.boxed)
		return;
	if (system("bwrap --unshare-all --ro-bind / / --proc /proc true "
		   ">/dev/null 2>&1") != 0)
		skip("this machine makes no boxes");
	if (!is_readable_inside())
		skip("the user of boxes may not come to psup-chaos");
	snprintf(path, sizeof(path), "%s/out", chaos.work);
	if (chmod(chaos.work, 0711) != 0 || mkdir(path, 0700) != 0 ||
	    chmod(path, 0777) != 0)
		die("%s: %s", path, strerror(errno));
	snprintf(path, sizeof(path), "%s/psup.conf", chaos.work);
	f = fopen(path, "we");
	if (f == NULL ||
	    fprintf(f,
		"[sandbox]\nmode = named\nworkspace = %s/boxes\n%s"
		"pids = 4096\nbind = %.*s:%.*s:ro\nbind = %s/out:%s:rw\n",
		chaos.work, geteuid() == 0 ? "user = nobody\n" : "",
		(int)(strrchr(chaos.self, '/') - chaos.self), chaos.self,
		(int)strlen(BOXED_SELF) - 1, BOXED_SELF, chaos.work,
		BOXED_WORK) < 0 ||
	    fclose(f) != 0 || setenv("PSUP_CONFIG", path, 1) != 0)
		die("%s: %s", path, strerror(errno));
}

void
boxed_end(void)
{
	uint64_t since = clock_boot_ns();
	size_t left = 1;
	psup *p;

	if (!chaos.o.boxed)
		return;
	p = client_new();
	while (left > 0) {
		psup_reply *r = NULL;

		if (ask(p, "pruneSandboxes", NULL, &r) == PSUP_OK) {
			psup_reply_free(&r);
			if (ask(p, "sandboxes", NULL, &r) == PSUP_OK)
				left = psup_value_count(psup_value_get(
				    psup_reply_details(r), "boxes"));
		}
		psup_reply_free(&r);
		if (left > 0 && is_patience_over(since)) {
			lost(LOSS_STUCK, "a box does not end");
			break;
		}
		nap_ms(5);
	}
	psup_free(&p);
}
