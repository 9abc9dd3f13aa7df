/* SPDX-License-Identifier: MIT */
/*
 * Criterion's runner and its workers talk over /tmp/criterion_PID.sock. A
 * runner that was killed leaves that file, and the next one with this pid
 * cannot bind where the file is another user's. Linked into every test
 * program: the name gets our uid, and a file of that name, which can only be
 * of a dead runner with our pid, is removed first.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef int nn_fn(int sock, const char *addr);
EXPORT nn_fn nn_bind, nn_connect;

static const char scheme[] = "ipc://";

/* The address with our uid in its name; others as they are. */
static const char *
own_address(const char *addr, char *buf, size_t size)
{
	int n;

	if (strncmp(addr, scheme, sizeof(scheme) - 1) != 0 ||
	    strstr(addr, "/criterion_") == NULL)
		return addr;
	n = snprintf(buf, size, "%s.%u", addr, (unsigned)getuid());
	return n < 0 || (size_t)n >= size ? addr : buf;
}

/* nanomsg's function of that name. */
static nn_fn *
real(const char *name)
{
	void *sym = dlsym(RTLD_NEXT, name);
	nn_fn *fn;

	if (sym == NULL)
		abort();
	memcpy(&fn, &sym, sizeof(fn));
	return fn;
}

/* The runner's end. */
int
nn_bind(int sock, const char *addr)
{
	char buf[108];

	addr = own_address(addr, buf, sizeof(buf));
	if (addr == buf)
		unlink(addr + sizeof(scheme) - 1);
	return real("nn_bind")(sock, addr);
}

/* A worker's end. */
int
nn_connect(int sock, const char *addr)
{
	char buf[108];

	return real("nn_connect")(sock,
	    own_address(addr, buf, sizeof(buf)));
}
