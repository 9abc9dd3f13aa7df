/* SPDX-License-Identifier: MIT */
/* psup.conf, and the same text as the value of a variable. */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/config.h"
#include "fuzz.h"

/* Each line of a list is one that was checked. */
static void
check_sandbox(const struct config *c)
{
	const struct config_sandbox *s = &c->sandbox;
	const char *at = s->binds;
	struct box_bind bind;
	char line[4096];
	size_t n = 0, lines = 0;

	EXPECT(memchr(s->binds, 0, sizeof(s->binds)) != NULL);
	EXPECT(memchr(s->env, 0, sizeof(s->env)) != NULL);
	for (const char *b = s->binds; *b != '\0'; b++)
		lines += *b == '\n';
	for (; config_next_bind(&at, &bind); n++)
		EXPECT(box_path_plain(bind.host) && box_path_plain(bind.inside));
	EXPECT(n == lines && n <= BOX_BINDS);
	for (at = s->env; config_next_line(&at, line, sizeof(line));)
		EXPECT(strchr(line, '=') != NULL);
	for (at = c->elevated.scopes; config_next_line(&at, line, 48);)
		EXPECT(config_elevated_has(&c->elevated, line));
	EXPECT(s->mode < CONFIG_SANDBOX_UNKNOWN);
	EXPECT(s->memory == 0 || s->memory >= 16u << 20);
	for (uint32_t i = 0; i < c->scope_count; i++)
		(void)config_sandbox_covers(c, c->scopes[i].name);
}

/* All NUL-terminated within their fields. */
static void
check(const struct config *c)
{
	EXPECT(c->lane_count <= CONFIG_LANES);
	EXPECT(c->group_count <= CONFIG_GROUPS);
	EXPECT(c->scope_count <= CONFIG_SCOPES);
	EXPECT(c->background_ms >= 10 && c->background_ms <= 120000);
	EXPECT(c->workers <= 32);
	for (uint32_t i = 0; i < c->lane_count; i++)
		EXPECT(config_lane_for(c, c->lanes[i].name) != NULL);
	(void)config_lane_for(c, "nested:a:b");
	check_sandbox(c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config c, before;
	char path[40], why[512] = "";
	int fd = memfd_create("config", MFD_CLOEXEC), rc;
	char *value = strndup((const char *)data, size);

	EXPECT(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	config_defaults(&c);
	before = c;
	rc = config_read_file(&c, path, why, sizeof(why));
	EXPECT(rc == 0 || rc == -EINVAL || rc == -EFBIG);
	EXPECT(rc == 0 || (why[0] != '\0' && memcmp(&c, &before,
	    sizeof(c)) == 0));
	check(&c);
	close(fd);
	EXPECT(value != NULL);
	setenv("PI_BASH_YIELD_MS", value, 1);
	setenv("OPENCLAW_BASH_PENDING_MAX_OUTPUT_CHARS", value, 1);
	(void)config_read_env(&c, why, sizeof(why));
	check(&c);
	free(value);
	return 0;
}
