/* SPDX-License-Identifier: MIT */
/*
 * The table of lent mappings and the SIGBUS handler that looks into it. The
 * signal comes from the access itself and each process has one thread, so the
 * handler never meets the table half changed: only accesses to mapped files
 * raise it, and the functions here make none.
 */
#include "shm/lent_map.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/tree.h>

#include "common/check.h"

struct lent {
	RB_ENTRY(lent) link;
	char *at;
	size_t bytes;
	uint64_t offset;
	int prot;
	dev_t dev;
	ino_t ino;
	volatile sig_atomic_t lost;
};

static int
compare(const struct lent *a, const struct lent *b)
{
	return a->at < b->at ? -1 : a->at > b->at;
}

RB_HEAD(lent_tree, lent);
RB_GENERATE_INTERNAL(lent_tree, lent, link, compare,
    __attribute__((unused)) static)

static struct lent_tree maps = RB_INITIALIZER(&maps);
static struct sigaction before; /* whose the signal was */
static volatile sig_atomic_t losses;

/* The mapping that an address lies in. */
static struct lent *
lent_at(const void *addr)
{
	const char *p = addr;
	struct lent *l = RB_ROOT(&maps);

	while (l != NULL) {
		if (p < l->at)
			l = RB_LEFT(l, link);
		else if ((size_t)(p - l->at) >= l->bytes)
			l = RB_RIGHT(l, link);
		else
			break;
	}
	return l;
}

/* The mapping of a caller of ours. */
static struct lent *
lent_of(const void *map)
{
	struct lent *l = lent_at(map);

	CHECK(l != NULL && l->at == map);
	return l;
}

/* Private zero pages over all of it. One system call. */
static bool
cover(struct lent *l)
{
	return mmap(l->at, l->bytes, l->prot,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

/* System calls alone. The whole mapping goes: what is left of its file is made
 * again, too, and one call serves any number of pages. */
static void
on_sigbus(int sig, siginfo_t *si, void *)
{
	struct lent *l = si->si_code == BUS_ADRERR ? lent_at(si->si_addr)
						   : NULL;
	int error = errno;

	if (l == NULL || !cover(l)) {
		if (check_last_words != NULL)
			check_last_words("SIGBUS outside of shared files");
		/* the access comes again, or the signal, and is a death */
		(void)sigaction(sig, &before, NULL);
		if (si->si_code <= 0)
			(void)raise(sig);
		return;
	}
	l->lost = 1;
	losses = losses + 1;
	errno = error;
}

void
lent_map_guard(void)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = on_sigbus;
	/* the last words go to a page that may be gone itself */
	sa.sa_flags = SA_SIGINFO | SA_NODEFER;
	sigemptyset(&sa.sa_mask);
	(void)sigaction(SIGBUS, &sa, &before);
}

/* Maps it at an address of the kernel's, or at a fixed one. */
static int
map_file(struct lent *l, int fd, char *at)
{
	struct stat st;
	void *map;

	if (fstat(fd, &st) != 0)
		return -errno;
	map = mmap(at, l->bytes, l->prot,
	    MAP_SHARED | (at != NULL ? MAP_FIXED : 0), fd, (off_t)l->offset);
	if (map == MAP_FAILED)
		return errno > 0 ? -errno : -EIO;
	l->at = map;
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	l->lost = 0;
	return 0;
}

int
lent_map(int fd, uint64_t offset, size_t bytes, bool writable, void **ret)
{
	struct lent *l = calloc(1, sizeof(*l));
	int r;

	if (l == NULL)
		return -ENOMEM;
	l->bytes = bytes;
	l->offset = offset;
	l->prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;
	r = map_file(l, fd, NULL);
	if (r < 0) {
		free(l);
		return r;
	}
	RB_INSERT(lent_tree, &maps, l);
	*ret = l->at;
	return 0;
}

void
lent_unmap(void *map)
{
	struct lent *l = lent_of(map);

	RB_REMOVE(lent_tree, &maps, l);
	(void)munmap(l->at, l->bytes);
	free(l);
}

void
lent_map_forked(void *map, bool yes)
{
	const struct lent *l = lent_of(map);

	(void)madvise(l->at, l->bytes, yes ? MADV_DOFORK : MADV_DONTFORK);
}

int
lent_map_again(void *map, int fd)
{
	return map_file(lent_of(map), fd, map);
}

void
lent_map_let_go(void *map)
{
	CHECK(cover(lent_of(map)));
}

bool
lent_map_lost(const void *map)
{
	return lent_of(map)->lost != 0;
}

bool
lent_map_is_of(const void *map, int fd)
{
	const struct lent *l = lent_of(map);
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == l->dev &&
	    st.st_ino == l->ino;
}

unsigned
lent_maps_lost(void)
{
	return (unsigned)losses;
}
