/* SPDX-License-Identifier: MIT */
/*
 * Stats pages: one per process, mapped for writing by its owner alone (and by
 * the keeper, which makes them). A dying process leaves its last words in its
 * page, where the next incarnation finds them.
 */
#include "shm/stats.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/abi.h"
#include "common/check.h"
#include "common/clock.h"
#include "shm/lent_map.h"
#include "shm/shm_file.h"

#define STATS_FILE  "stats"
#define STATS_BYTES ((size_t)STATS_PAGES * SHM_PAGE)

static struct stats_page *last_words_page;

/* Page i of the mapped file. */
static struct stats_page *
page_at(void *pages, uint32_t i)
{
	return (struct stats_page *)(void *)((char *)pages +
	    (size_t)i * SHM_PAGE);
}

/* Is this a page of our version? */
static bool
page_ok(const struct stats_page *p)
{
	return p->magic == STATS_MAGIC &&
	    abi_reads(ABI_STATS, atomic_load(&p->stamp)) &&
	    p->bytes == sizeof(*p);
}

/* Makes it an empty page of our version. */
static void
page_init(struct stats_page *p)
{
	memset((void *)p, 0, sizeof(*p));
	p->magic = STATS_MAGIC;
	atomic_store(&p->stamp, abi_stamp(ABI_STATS));
	p->bytes = sizeof(*p);
}

/* Maps `bytes` from page i on and checks the first. */
static int
attach(int dirfd, uint32_t i, size_t bytes, bool writable,
    struct stats_page **ret)
{
	uint64_t size;
	void *map;
	int fd, err;

	fd = shm_file_open(dirfd, STATS_FILE, writable, &size);
	if (fd < 0)
		return fd;
	if (size != STATS_BYTES)
		err = -EBADMSG;
	else
		err = lent_map(fd, (uint64_t)i * SHM_PAGE, bytes, writable,
		    &map);
	close(fd);
	if (err != 0)
		return err;
	if (!page_ok(map)) {
		err = ((struct stats_page *)map)->magic == STATS_MAGIC
		    ? -EPROTO
		    : -EBADMSG;
		lent_unmap(map);
		return err;
	}
	*ret = map;
	return 0;
}

/* The owner says of which build it is. */
void
stats_sign(struct stats_page *own)
{
	uint32_t i;

	static_assert(ABI_COUNT <= NELEMS(own->layouts), "room for layouts");
	atomic_store(&own->stamp, abi_stamp(ABI_STATS));
	for (i = 0; i < ABI_COUNT; i++)
		atomic_store(&own->layouts[i], abi_stamp((enum abi_id)i));
	memset(own->build, 0, sizeof(own->build));
	(void)strlcpy(own->build, abi_build(), sizeof(own->build));
}

/* What the last server's master has noted of rings holds for the next one. */
static void
forgotten_carry(int dirfd, struct stats_page *own)
{
	struct stats_page *old;

	if (attach(dirfd, STATS_PAGE_OF_MASTER, SHM_PAGE, false, &old) != 0)
		return;
	for (uint32_t i = 0; i < STATS_FORGOTTEN; i++)
		atomic_store(&own->forgotten[i],
		    atomic_load(&old->forgotten[i]));
	lent_unmap(old);
}

/* Makes all pages. */
int
stats_create(int dirfd, struct stats_page **ret_pages)
{
	void *map;
	int err;

	err = shm_file_create(dirfd, STATS_FILE, STATS_BYTES, &map);
	if (err != 0)
		return err;
	for (uint32_t i = 0; i < STATS_PAGES; i++)
		page_init(page_at(map, i));
	stats_sign(map);
	forgotten_carry(dirfd, page_at(map, STATS_PAGE_OF_MASTER));
	err = shm_file_publish(dirfd, STATS_FILE, map);
	if (err == 0)
		*ret_pages = map;
	return err;
}

/* Maps the caller's own page for writing. */
int
stats_attach_own(int dirfd, uint32_t i, struct stats_page **ret)
{
	int err;

	if (i >= STATS_PAGES)
		return -EINVAL;
	err = attach(dirfd, i, SHM_PAGE, true, ret);
	if (err == 0)
		stats_sign(*ret);
	return err;
}

/* Maps all pages for writing. */
int
stats_attach_all(int dirfd, struct stats_page **ret_pages)
{
	int err = attach(dirfd, 0, STATS_BYTES, true, ret_pages);

	if (err == 0)
		stats_sign(*ret_pages);
	return err;
}

/* Maps all pages for reading. */
int
stats_attach(int dirfd, const struct stats_page **ret_pages)
{
	struct stats_page *pages;
	int err;

	err = attach(dirfd, 0, STATS_BYTES, false, &pages);
	if (err == 0)
		*ret_pages = pages;
	return err;
}

/* Unmaps what stats_attach() or stats_create() mapped. */
void
stats_detach(const struct stats_page *pages)
{
	lent_unmap((void *)(uintptr_t)pages);
}

/* Copies all pages. */
int
stats_read(int dirfd, struct stats_page *ret_pages)
{
	uint64_t size;
	int fd, err = -EBADMSG;

	fd = shm_file_open(dirfd, STATS_FILE, false, &size);
	if (fd < 0)
		return fd;
	if (size == STATS_BYTES && pread(fd, (void *)ret_pages, STATS_BYTES,
	    0) == (ssize_t)STATS_BYTES)
		err = 0;
	close(fd);
	if (err == 0 && !page_ok(ret_pages))
		err = ret_pages->magic == STATS_MAGIC ? -EPROTO : -EBADMSG;
	return err;
}

/* ---------------------------------------------------------------- damage */

/* Opens the file that is there now. *ret_same: it is the one that is mapped,
 * whole. fd or -errno; one of another size is none. */
static int
open_again(int dirfd, const void *map, bool writable, bool *ret_same)
{
	uint64_t size;
	int fd;

	fd = shm_file_open(dirfd, STATS_FILE, writable, &size);
	if (fd < 0)
		return fd;
	if (size == STATS_BYTES) {
		*ret_same = !lent_map_lost(map) && lent_map_is_of(map, fd);
		return fd;
	}
	close(fd);
	return -EBADMSG;
}

/* What the owner counted goes on; what the keeper wrote is the new page's. */
static void
page_carry(struct stats_page *to, const struct stats_page *from)
{
	struct stats_page kept;

	memcpy((void *)&kept, (const void *)from, sizeof(kept));
	kept.pid = to->pid;
	kept.generation = to->generation;
	kept.role = to->role;
	kept.restarts = to->restarts;
	memcpy((void *)to, (const void *)&kept, sizeof(kept));
}

/* The owner's own page. */
int
stats_mend_own(int dirfd, struct stats_page *own)
{
	struct stats_page was;
	bool same = false;
	int fd, r = 0;

	fd = open_again(dirfd, own, true, &same);
	if (fd < 0)
		return fd; /* the keeper makes it */
	if (!same) {
		memcpy((void *)&was, (const void *)own, sizeof(was));
		r = lent_map_again(own, fd);
		if (r == 0 && page_ok(&was) && page_ok(own))
			page_carry(own, &was);
		r = r == 0 ? 1 : r;
	}
	close(fd);
	if (r >= 0 && !page_ok(own)) {
		page_init(own);
		r = 1;
	}
	if (r == 1)
		stats_sign(own);
	return r;
}

/* A reader's mapping of all. */
int
stats_follow(int dirfd, const struct stats_page *pages)
{
	void *map = (void *)(uintptr_t)pages;
	bool same = false;
	int r = 0, fd = open_again(dirfd, map, false, &same);

	if (fd < 0)
		return fd;
	if (!same)
		r = lent_map_again(map, fd);
	close(fd);
	return r;
}

/* Makes pages of `map` again that are none; how many. */
static int
mend_pages(void *map)
{
	int n = 0;

	for (uint32_t i = 0; i < STATS_PAGES; i++)
		if (!page_ok(page_at(map, i))) {
			page_init(page_at(map, i));
			n++;
		}
	return n;
}

/* Another file with what is left of the pages, mapped in the old one's place.
 * The name is looked up again: what is found there is what others map. */
static int
make_again(int dirfd, struct stats_page *pages)
{
	uint64_t size;
	void *map;
	int fd, r;

	r = shm_file_create(dirfd, STATS_FILE, STATS_BYTES, &map);
	if (r < 0)
		return r;
	memcpy(map, (const void *)pages, STATS_BYTES);
	(void)mend_pages(map);
	r = shm_file_publish(dirfd, STATS_FILE, map);
	if (r < 0)
		return r;
	lent_unmap(map);
	fd = shm_file_open(dirfd, STATS_FILE, true, &size);
	if (fd < 0)
		return fd;
	r = size == STATS_BYTES ? lent_map_again(pages, fd) : -EBADMSG;
	close(fd);
	return r;
}

/* The keeper's look at all pages. */
int
stats_mend_all(int dirfd, struct stats_page *pages)
{
	bool same = false;
	int r, fd = open_again(dirfd, pages, true, &same);

	if (fd >= 0)
		close(fd);
	if (same) {
		r = mend_pages(pages) > 0;
	} else {
		r = make_again(dirfd, pages);
		r = r == 0 ? 1 : r;
	}
	if (r == 1)
		stats_sign(pages);
	return r;
}

static_assert(METRIC_BOUNDS_MAX + 1 == STATS_BUCKETS, "a bucket per bound");

/* What the turn that ends took of a processor, where no other took more. */
void
stats_turn_cpu(struct stats_page *own, uint64_t *cpu_ns)
{
	uint64_t now = clock_cpu_ns(), took = now - *cpu_ns;

	if (*cpu_ns != 0 && took > RELAXED(own->longest_turn_cpu_ns))
		SET_RELAXED(own->longest_turn_cpu_ns, took);
	*cpu_ns = now;
}

/* Counts one value. */
void
stats_observe(struct stats_hist *h, enum metric_cut cut, uint64_t us)
{
	const struct metric_bounds *b = &metric_bounds[cut];
	size_t i = 0;

	/* Prometheus counts a value that is the bound below it */
	while (i < b->count && us > b->us[i])
		i++;
	stats_add(&h->sum_us, us);
	stats_add(&h->count[i], 1);
}

/* Writes the reason of a failed CHECK into the page. */
static void
leave_last_words(const char *text)
{
	struct stats_page *page = last_words_page;
	size_t len;

	len = strnlen(text, sizeof(page->last_words) - 1);
	memcpy(page->last_words, text, len);
	page->last_words[len] = '\0';
}

/* Sends check_last_words here. */
void
stats_keep_last_words(struct stats_page *own)
{
	last_words_page = own;
	check_last_words = own != NULL ? leave_last_words : NULL;
}
