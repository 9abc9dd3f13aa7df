/* SPDX-License-Identifier: MIT */
#include "lib_conf.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"

char conf_dir[] = "/dev/shm/psup-test-config-XXXXXX";
char conf_path[64];
char why[600];
struct config config;

void
conf_init(void)
{
	cr_assert_not_null(mkdtemp(conf_dir));
	(void)snprintf(conf_path, sizeof(conf_path), "%s/psup.conf", conf_dir);
	config_defaults(&config);
}

void
conf_fini(void)
{
	(void)unlink(conf_path);
	(void)rmdir(conf_dir);
}

int
read_bytes(const char *text, size_t len)
{
	FILE *f = fopen(conf_path, "we");

	cr_assert_not_null(f);
	cr_assert_eq(fwrite(text, 1, len, f), len);
	cr_assert_eq(fclose(f), 0);
	why[0] = '\0';
	return config_read_file(&config, conf_path, why, sizeof(why));
}

int
read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

const char *
dir(const char *name)
{
	static char paths[64][120];
	static unsigned next;
	char *path = paths[next++ % NELEMS(paths)];

	(void)snprintf(path, sizeof(*paths), "%s/%s", conf_dir, name);
	(void)mkdir(path, 0700);
	return path;
}
