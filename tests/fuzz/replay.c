/* SPDX-License-Identifier: MIT */
/*
 * A fuzz target without libFuzzer: every file of the given directories, each
 * beginning of it, and it with each byte changed, a bounded number of times.
 * So what was found once stays mended, with any compiler.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

#define CHANGES 60u /* of one file, at most */

/* One run, in memory of exactly that size. */
static void
run(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size > 0 ? size : 1);

	EXPECT(copy != NULL);
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

/* One file. */
static void
replay(uint8_t *data, size_t size)
{
	size_t step = size / CHANGES + 1;

	run(data, size);
	for (size_t i = 0; i < size; i += step)
		run(data, i);
	for (size_t i = 0; i < size; i += step) {
		uint8_t was = data[i];

		data[i] ^= (uint8_t)(1u << i % 8);
		run(data, size);
		data[i] = 0xff;
		run(data, size);
		data[i] = was;
	}
}

/* Every file of a directory; how many. */
static unsigned
replay_all(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;
	unsigned files = 0;

	EXPECT(d != NULL);
	while ((entry = readdir(d)) != NULL) {
		int fd = openat(dirfd(d), entry->d_name, O_RDONLY | O_CLOEXEC);
		struct stat st;
		uint8_t *data;

		EXPECT(fd >= 0 && fstat(fd, &st) == 0);
		if (S_ISREG(st.st_mode)) {
			data = malloc((size_t)st.st_size + 1);
			EXPECT(data != NULL && read(fd, data,
			    (size_t)st.st_size) == st.st_size);
			fprintf(stderr, "%s/%s\n", dir, entry->d_name);
			replay(data, (size_t)st.st_size);
			free(data);
			files++;
		}
		close(fd);
	}
	closedir(d);
	return files;
}

int
main(int argc, char **argv)
{
	unsigned files = 0;

	for (int i = 1; i < argc; i++)
		files += replay_all(argv[i]);
	return files > 0 ? 0 : 1;
}
