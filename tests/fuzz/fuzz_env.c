/* SPDX-License-Identifier: MIT */
/* Names of variables against the policy's lists, and what a new process is
 * handed by the keeper. */
#include <fcntl.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/abi.h"
#include "common/envpolicy.h"
#include "common/heritage.h"
#include "common/text.h"
#include "fuzz.h"

/* What is refused is told in one printable line. */
static void
names(const uint8_t **data, size_t *size)
{
	char why[256], *key, *list;
	size_t len, list_len;

	key = take_text(data, size, 100, &len);
	list = take_text(data, size, 100, &list_len);
	(void)env_is_named(key, len, list);
	if (env_may_set(key, len, why, sizeof(why)) == 0) {
		EXPECT(env_is_portable(key, len));
		EXPECT(strcasecmp(key, "PATH") != 0);
		EXPECT(env_may_inherit(key, len));
	} else {
		EXPECT(text_is_printable(why, strlen(why)));
	}
	if (env_may_inherit(key, len))
		EXPECT(len > 0 && memchr(key, '=', len) == NULL);
	EXPECT(!env_is_basic(key, len) || len >= 2);
	free(key);
	free(list);
}

/* A whole struct, changed where the input says, in the place of descriptor
 * HERITAGE_FD_INFO. */
static void
heritage(const uint8_t **data, size_t *size)
{
	struct heritage h = {.size = sizeof(h), .stamp = abi_stamp(ABI_HERITAGE),
		.role = HERITAGE_WORKER, .keeper_pid = 2, .incarnation = 3,
		.runtime_dir = "/dev/shm/x"}, got;
	unsigned cut = take_byte(data, size);
	int fd = memfd_create("fuzz", MFD_CLOEXEC), was;

	EXPECT(fd >= 0);
	for (unsigned n = take_byte(data, size) % 8; n > 0; n--) {
		size_t at = take_short(data, size) % sizeof(h);

		((char *)&h)[at] = (char)take_byte(data, size);
	}
	EXPECT(write(fd, &h, sizeof(h)) == sizeof(h));
	if (cut < 16)
		EXPECT(ftruncate(fd, (off_t)(sizeof(h) - cut)) == 0);
	was = fcntl(HERITAGE_FD_INFO, F_DUPFD_CLOEXEC, HERITAGE_FD_INFO + 1);
	EXPECT(dup2(fd, HERITAGE_FD_INFO) == HERITAGE_FD_INFO);
	if (heritage_receive(&got) == 0) {
		EXPECT(got.runtime_dir[0] == '/');
		EXPECT(strnlen(got.runtime_dir, sizeof(got.runtime_dir)) <
		    sizeof(got.runtime_dir));
		EXPECT(strnlen(got.config_path, sizeof(got.config_path)) <
		    sizeof(got.config_path));
		for (int i = 0; i < CTL_LIMITS; i++)
			EXPECT(heritage_limit_by(&got, (enum ctl_limit)i) <=
			    HERITAGE_BY_TREE);
		close(heritage_seal(&got));
	}
	EXPECT(fcntl(HERITAGE_FD_INFO, F_GETFD) < 0);
	if (was >= 0) {
		EXPECT(dup2(was, HERITAGE_FD_INFO) == HERITAGE_FD_INFO);
		close(was);
	}
	if (fd != HERITAGE_FD_INFO)
		close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	while (size > 0)
		if (take_byte(&data, &size) % 4 == 0)
			heritage(&data, &size);
		else
			names(&data, &size);
	return 0;
}
