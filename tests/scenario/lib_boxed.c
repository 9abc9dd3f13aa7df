/* SPDX-License-Identifier: MIT */
/*
 * The switch PSUP_TEST_HOST=sandbox: every command of a scenario runs in a box,
 * which shows the programs of the tests and the scenario's own files where they
 * are outside.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib_inner.h"
#include "lib_scn.h"

bool
is_boxed(void)
{
	const char *host = getenv("PSUP_TEST_HOST");

	return host != NULL && strcmp(host, "sandbox") == 0;
}

/* Can this machine make one? */
static bool
has_boxes(void)
{
	return system("bwrap --unshare-all --ro-bind / / --proc /proc true "
		      ">/dev/null 2>&1") == 0;
}

/* May the user of its boxes come to this build, which may lie below a directory
 * that is root's alone? */
static bool
comes_to(const char *path)
{
	return geteuid() != 0 ||
	    system(scn_format("setpriv --reuid=65534 --regid=65534 "
			      "--clear-groups test -r '%s'", path)) == 0;
}

void
boxed_begin(const char *base)
{
	const char *files = scn_format("%s/files", base);

	if (!has_boxes())
		skip_scenario("this machine makes no boxes");
	if (!comes_to(scn_puppet()))
		skip_scenario("nobody may not come to %s", scn_puppet());
	if (chmod(base, 0711) != 0 || mkdir(files, 0700) != 0 ||
	    chmod(files, 0777) != 0)
		abort();
}

const char *
boxed_conf(const char *base, const char *text)
{
	char *helpers = scn_alloc(PATH_MAX);

	if (strstr(text, "[sandbox]") != NULL)
		return text;
	(void)strlcpy(helpers, scn_puppet(), PATH_MAX);
	*strrchr(helpers, '/') = '\0';
	return scn_format("[sandbox]\nmode = all\nworkspace = %s/boxes\n%s"
			  "bind = %s:%s:ro\nbind = %s/files:%s/files:rw\n"
			  "[server]\nany_fs = yes\n%s",
	    base, geteuid() == 0 ? "user = nobody\n" : "", helpers, helpers,
	    base, base, text);
}
