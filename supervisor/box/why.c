/* SPDX-License-Identifier: MIT */
/* See why.h. */
#include "supervisor/box/why.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "common/text.h"

#define NO_NAMESPACES                                                          \
	"the kernel refuses user namespaces here (container's seccomp "        \
	"profile, or AppArmor)"
#define NO_MORE "user.max_user_namespaces is reached"

/* In this order: what says why comes first. As bubblewrap 0.8 has them; they are
 * not translated. */
static const struct {
	const char *said, *means;
} known[] = {
    {"No permissions to create new namespace", NO_NAMESPACES},
    {"ENOSPC", NO_MORE},
    {"unshare user ns: No space", NO_MORE}, /* the second, --disable-userns */
    {"unshare user ns", NO_NAMESPACES},
    {"Creating new namespace failed", NO_NAMESPACES},
    {"setting up uid map", NO_NAMESPACES},
    {"psup-box: Permission denied", "its user may not enter the directory "
				    "that psup-box lies in; install psup"},
    {"Can't mount proc", "/proc is masked, as in a container; use "
			 "backend = container"},
};

static void
conclude(const char *means, char ret[BOX_WHY_MAX])
{
	(void)snprintf(ret, BOX_WHY_MAX, BOX_WHY_BEGINS "%s", means);
}

/* The last line with something in it; its length in *len. */
static const char *
last_line(const char *said, size_t *len)
{
	size_t end = *len, begin;

	while (end > 0 && (said[end - 1] == '\n' || said[end - 1] == '\r'))
		end--;
	for (begin = end; begin > 0 && said[begin - 1] != '\n';)
		begin--;
	*len = end - begin;
	return said + begin;
}

void
box_why(int exec_errno, int signal, const char *said, size_t len,
    char ret[BOX_WHY_MAX])
{
	static const char prefix[] = "bwrap: ";
	char line[BOX_WHY_MAX - sizeof(BOX_WHY_BEGINS "bwrap: ")];

	if (exec_errno == ENOENT) {
		conclude("bwrap is not installed", ret);
		return;
	}
	if (exec_errno != 0) {
		(void)snprintf(line, sizeof(line),
		    "bwrap cannot be executed: %s", strerror(exec_errno));
		conclude(line, ret);
		return;
	}
	for (size_t i = 0; i < NELEMS(known); i++)
		if (memmem(said, len, known[i].said, strlen(known[i].said)) !=
		    NULL) {
			conclude(known[i].means, ret);
			return;
		}
	said = last_line(said, &len);
	if (len == 0) {
		(void)strlcpy(line, "bwrap ended without a word", sizeof(line));
		if (signal != 0)
			(void)snprintf(line, sizeof(line),
			    "bwrap was killed by %s", text_signal_name(signal));
		conclude(line, ret);
		return;
	}
	if (len > sizeof(BOX_WHY_BEGINS) - 1 &&
	    memcmp(said, BOX_WHY_BEGINS, sizeof(BOX_WHY_BEGINS) - 1) == 0) {
		(void)text_escape(said, len, false, ret, BOX_WHY_MAX);
		return;
	}
	if (len > sizeof(prefix) - 1 &&
	    memcmp(said, prefix, sizeof(prefix) - 1) == 0) {
		said += sizeof(prefix) - 1;
		len -= sizeof(prefix) - 1;
	}
	(void)text_escape(said, len, false, line, sizeof(line));
	(void)snprintf(ret, BOX_WHY_MAX, "no sandbox: bwrap: %s", line);
	if (strstr(line, "Can't find source path") == line &&
	    strstr(line, ": Permission denied") != NULL)
		(void)strlcat(ret, "; whom boxes run as may not come to it",
		    BOX_WHY_MAX);
}
