/* SPDX-License-Identifier: MIT */
/* Why there is no box, word for word. What bwrap says is as version 0.8.0 said
 * it: in a namespace whose limit is 0 or 1, without clone of namespaces, with a
 * masked /proc. */
#include "supervisor/box/why.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

static void
means(int error, const char *said, const char *expected)
{
	char why[BOX_WHY_MAX];

	box_why(error, 0, said, strlen(said), why);
	cr_expect_str_eq(why, expected);
}

Test(box_why, knows_what_bwrap_says)
{
	means(ENOENT, "", "no sandbox: bwrap is not installed");
	means(EACCES, "",
	    "no sandbox: bwrap cannot be executed: Permission denied");
	means(0,
	    "bwrap: No permissions to create new namespace, likely because the "
	    "kernel does not allow non-privileged user namespaces. See "
	    "<https://deb.li/bubblewrap> or "
	    "<file:///usr/share/doc/bubblewrap/README.Debian.gz>.\n",
	    "no sandbox: the kernel refuses user namespaces here (container's "
	    "seccomp profile, or AppArmor)");
	means(0, "bwrap: setting up uid map: Permission denied\n",
	    "no sandbox: the kernel refuses user namespaces here (container's "
	    "seccomp profile, or AppArmor)");
	means(0,
	    "bwrap: Creating new namespace failed: nesting depth or "
	    "/proc/sys/user/max_*_namespaces exceeded (ENOSPC)\n",
	    "no sandbox: user.max_user_namespaces is reached");
	means(0, "bwrap: unshare user ns: No space left on device\n",
	    "no sandbox: user.max_user_namespaces is reached");
	means(0, "bwrap: unshare user ns: Operation not permitted\n",
	    "no sandbox: the kernel refuses user namespaces here (container's "
	    "seccomp profile, or AppArmor)");
	means(0,
	    "bwrap: Can't find source path /root/psup/build/bin/psup-box: "
	    "Permission denied\n",
	    "no sandbox: its user may not enter the directory that psup-box "
	    "lies in; install psup");
	means(0,
	    "bwrap: Can't find source path /root/boxes/a: Permission denied\n",
	    "no sandbox: bwrap: Can't find source path /root/boxes/a: Permission "
	    "denied; whom boxes run as may not come to it");
	means(0,
	    "bwrap: Can't mount proc on /newroot/proc: Operation not "
	    "permitted\n",
	    "no sandbox: /proc is masked, as in a container; use backend = "
	    "container");
}

Test(box_why, shows_the_last_line_of_what_it_does_not_know)
{
	means(0, "one\nbwrap: Can't find source path /x\x1b[31m: gone\n\n",
	    "no sandbox: bwrap: Can't find source path /x\\x1b[31m: gone");
	means(0, "bwrap: ", "no sandbox: bwrap: bwrap: ");
	means(0, "Emulate Docker\nno sandbox: container x: it is exited\n",
	    "no sandbox: container x: it is exited");
	means(0, "", "no sandbox: bwrap ended without a word");
	means(0, "\n\n", "no sandbox: bwrap ended without a word");
}

Test(box_why, names_the_signal_where_nothing_was_said)
{
	char why[BOX_WHY_MAX];

	box_why(0, SIGKILL, "\n", 1, why);
	cr_assert_str_eq(why, "no sandbox: bwrap was killed by SIGKILL");
}

Test(box_why, is_bounded)
{
	char said[10000], why[BOX_WHY_MAX];

	memset(said, '\x01', sizeof(said));
	box_why(0, 0, said, sizeof(said), why);
	cr_expect_eq(
	    strncmp(why, "no sandbox: bwrap: \\x01", 23), 0, "%s", why);
	cr_expect_lt(strnlen(why, sizeof(why)), sizeof(why));
	memset(said, 'a', sizeof(said));
	box_why(0, 0, said, sizeof(said), why);
	cr_expect_lt(strnlen(why, sizeof(why)), sizeof(why));
}
