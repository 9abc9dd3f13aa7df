/* SPDX-License-Identifier: MIT */
/* See box_facts.h. */
#include "box_facts.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "config_options.h"
#include "kfile.h"

/* A number of /proc/sys; -1: there is none. */
static long
sys_number(const char *path)
{
	char text[32], *end;
	long v;

	if (kfile_read(AT_FDCWD, path, text, sizeof(text)) < 0)
		return -1;
	v = strtol(text, &end, 10);
	return end == text ? -1 : v;
}

/* Is there such a program on PATH, and which? */
static bool
is_installed(const char *name, char full[PATH_MAX])
{
	const char *path = getenv("PATH");

	if (path == NULL || path[0] == '\0')
		path = "/usr/local/bin:/usr/bin:/bin";
	while (*path != '\0') {
		size_t n = strcspn(path, ":");

		(void)snprintf(full, PATH_MAX, "%.*s/%s", (int)n, path, name);
		if (n > 0 && access(full, X_OK) == 0)
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

/* Its options, by the text that it has of them: nothing is to be run here. */
static void
find_options(const char *program, struct box_facts *ret)
{
	int fd = open(program, O_RDONLY | O_CLOEXEC);
	struct stat st = {0};
	void *p = MAP_FAILED;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd,
		    0);
	if (fd >= 0)
		close(fd);
	if (p == MAP_FAILED)
		return;
	ret->knows_userns = memmem(p, (size_t)st.st_size,
				"--disable-userns", 16) != NULL;
	ret->knows_size =
	    memmem(p, (size_t)st.st_size, "--size BYTES", 12) != NULL;
	munmap(p, (size_t)st.st_size);
}

/* A box keeps the groups of a server that is not root; of these each opens the
 * machine. */
static void
find_group(char *ret, size_t size)
{
	static const char *const names[] = {"docker", "disk", "shadow", "lxd"};
	gid_t own[256];
	int n = getgroups((int)NELEMS(own), own);

	for (size_t i = 0; i < NELEMS(names); i++) {
		const struct group *g = getgrnam(names[i]);
		bool has = g != NULL && g->gr_gid == getegid();

		for (int k = 0; g != NULL && k < n; k++)
			has = has || own[k] == g->gr_gid;
		if (has) {
			(void)snprintf(ret, size, "%s", names[i]);
			return;
		}
	}
}

void
box_facts_look(const struct config_sandbox *s, struct box_facts *ret)
{
	bool container = s->backend == CONFIG_BACKEND_CONTAINER;
	char full[PATH_MAX];

	memset(ret, 0, sizeof(*ret));
	ret->root = geteuid() == 0;
	ret->has_maker = is_installed(
	    container ? config_word(OPT_BOX_ENGINE, s->engine) : "bwrap",
	    full);
	if (ret->has_maker && !container)
		find_options(full, ret);
	if (!ret->root)
		find_group(ret->group, sizeof(ret->group));
	ret->suid_dumpable = sys_number("/proc/sys/fs/suid_dumpable");
	ret->max_user_ns = sys_number("/proc/sys/user/max_user_namespaces");
	ret->user_ns_for_root =
	    sys_number("/proc/sys/kernel/unprivileged_userns_clone") == 0;
}

/* What holds for a container that is there already, too. */
static const char *
why_of_server(const struct config_sandbox *s, const struct box_facts *facts,
    char ret[BOX_FACTS_WHY])
{
	if (facts->root && s->user[0] == '\0')
		return "the server is root; say [sandbox] user = NAME";
	if (facts->suid_dumpable == 1)
		return "fs.suid_dumpable is 1, and a box's commands could open "
		       "the memory of its first process; say sysctl "
		       "fs.suid_dumpable=0";
	if (facts->group[0] == '\0')
		return NULL;
	(void)snprintf(ret, BOX_FACTS_WHY,
	    "no sandbox: the server is in group %s, whose members are as good "
	    "as root; start it without",
	    facts->group);
	return ret;
}

bool
box_facts_why(const struct config_sandbox *s, const struct box_facts *facts,
    char ret[BOX_FACTS_WHY])
{
	const char *why = NULL;

	ret[0] = '\0';
	if (!facts->has_maker && s->backend == CONFIG_BACKEND_BWRAP)
		why = "bwrap is not installed";
	else if (!facts->has_maker)
		why = s->engine == CONFIG_ENGINE_PODMAN ?
			  "podman is not installed" :
			  "docker is not installed";
	else if (s->backend == CONFIG_BACKEND_BWRAP && facts->max_user_ns == 0)
		why = "user.max_user_namespaces is reached";
	else if (s->backend == CONFIG_BACKEND_BWRAP && facts->user_ns_for_root)
		why = "the kernel refuses user namespaces here (container's "
		      "seccomp profile, or AppArmor)";
	else
		why = why_of_server(s, facts, ret);
	if (why != NULL && why != ret)
		(void)snprintf(ret, BOX_FACTS_WHY, "no sandbox: %s", why);
	return why != NULL;
}
