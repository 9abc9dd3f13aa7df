/* SPDX-License-Identifier: MIT */
/* What a box shows, and how bwrap is told. */
#include "supervisor/box/plan.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define RUNDIR "/dev/shm/psup-1000"

static char why[512];

Test(box_plan, reads_a_bind)
{
	struct box_bind b;

	cr_assert_eq(box_bind_parse("/srv/src:/src:ro", &b, why, sizeof(why)),
	    0, "%s", why);
	cr_expect_str_eq(b.host, "/srv/src");
	cr_expect_str_eq(b.inside, "/src");
	cr_expect_not(b.writable);
	cr_assert_eq(box_bind_parse("/a:/b/c:rw", &b, why, sizeof(why)), 0);
	cr_expect(b.writable);
	cr_expect_eq(box_bind_parse("/a:/usr/local/x:ro", &b, why, sizeof(why)),
	    0, "%s", why);
	cr_expect_eq(box_bind_parse("/a:/workspaces:ro", &b, why, sizeof(why)),
	    0, "%s", why);
}

Test(box_plan, says_what_is_wrong_with_a_bind)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
	    {"", "expected HOST:INSIDE:ro or HOST:INSIDE:rw"},
	    {"/a:/b", "expected HOST:INSIDE:ro or HOST:INSIDE:rw"},
	    {"/a:/b:r", "expected HOST:INSIDE:ro or HOST:INSIDE:rw"},
	    {"/a:/b:c:ro", "expected HOST:INSIDE:ro or HOST:INSIDE:rw"},
	    {"a:/b:ro", "the host's side \"a\"; expected an absolute path"},
	    {":/b:ro", "the host's side \"\"; expected an absolute path"},
	    {"/a/../etc:/b:ro", "the host's side \"/a/../etc\""},
	    {"/a:/b/.:ro", "the box's side \"/b/.\""},
	    {"/a:b:ro", "the box's side \"b\""},
	    {"/a:/b\n:ro", "the box's side"},
	    {"/a:/:ro", "/ would hide the box's own /proc"},
	    {"/a://:ro", "would hide the box's own /proc"},
	    {"/a:/proc/sys:ro", "/proc/sys would hide the box's own /proc"},
	    {"/a:/run:rw", "/run would hide the box's own /run/psup"},
	    {"/a:/run/psup/box:ro", "would hide the box's own /run/psup"},
	    {"/a:/workspace:rw", "would hide the box's own /workspace"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct box_bind b;

		why[0] = '\0';
		cr_expect_eq(box_bind_parse(bad[i].text, &b, why, sizeof(why)),
		    -EINVAL, "%s", bad[i].text);
		cr_expect_not_null(
		    strstr(why, bad[i].says), "%s: %s", bad[i].text, why);
	}
}

Test(box_plan, refuses_a_path_without_end)
{
	char text[BOX_PATH_MAX + 64];
	struct box_bind b;

	memset(text, 'x', sizeof(text));
	text[0] = '/';
	strcpy(text + BOX_PATH_MAX, ":/b:ro");
	cr_expect_eq(box_bind_parse(text, &b, why, sizeof(why)), -EINVAL);
	cr_expect_not_null(strstr(why, "expected at most 4095"), "%s", why);
}

static int
check(const char *real)
{
	struct box_bind b = {.host = "/as-written", .inside = "/b"};

	why[0] = '\0';
	return box_bind_check(&b, real, RUNDIR, why, sizeof(why));
}

Test(box_plan, shows_neither_the_runtime_directory_nor_an_engine)
{
	static const char *const bad[] = {"/", "/dev", "/dev/shm", RUNDIR,
	    RUNDIR "/rings", "/run", "/run/docker.sock", "/run/podman",
	    "/run/user", "/run/user/1000", "/run/user/7/podman", "/var",
	    "/var/run", "/run/containerd/"};
	static const char *const good[] = {"/dev/shm/psup-10",
	    "/dev/shm/psup-10000", "/home/a", "/run/user/1000/x", "/var/lib",
	    "/run/dock"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		cr_expect_eq(check(bad[i]), -EPERM, "%s", bad[i]);
		cr_expect_not_null(strstr(why, "/as-written"), "%s", why);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		cr_expect_eq(check(good[i]), 0, "%s: %s", good[i], why);
}

static const struct box_root roots[] = {
    {"/bin", "usr/bin"}, {"/lib", "usr/lib"}, {"/lib64", NULL}};

Test(box_plan, tells_bwrap_word_for_word)
{
	static const struct box_bind binds[] = {
	    {"/srv/a", "/a", false}, {"/srv/b", "/b", true}};
	struct box_plan plan = {
	    .bwrap = "/usr/bin/bwrap",
	    .program = "/lib/psup-box",
	    .workspace = "/ws/1",
	    .roots = roots,
	    .root_count = 3,
	    .binds = binds,
	    .bind_count = 2,
	    .disable_userns = true,
	    .sizes = true,
	    .tmpfs_bytes = 1 << 20,
	    .info_fd = 9,
	    .ready_fd = 8,
	};
	struct box_argv a;
	char line[4096] = "";

	box_plan_argv(&plan, &a);
	for (size_t i = 0; i < a.count; i++) {
		strcat(line, i > 0 ? " " : "");
		strcat(line, a.arg[i]);
	}
	cr_expect_null(a.arg[a.count]);
	cr_expect_str_eq(line,
	    "/usr/bin/bwrap --unshare-user --unshare-pid --unshare-ipc "
	    "--unshare-uts --unshare-cgroup-try --die-with-parent --as-pid-1 "
	    "--new-session --clearenv --unshare-net --disable-userns "
	    "--cap-drop ALL --ro-bind /usr /usr --ro-bind /etc /etc "
	    "--symlink usr/bin /bin --symlink usr/lib /lib "
	    "--ro-bind /lib64 /lib64 --dev /dev --proc /proc "
	    "--size 524288 --tmpfs /tmp --size 262144 --tmpfs /dev/shm "
	    "--size 131072 --tmpfs /run --size 131072 --tmpfs /var "
	    "--perms 0555 --dir /run/psup "
	    "--ro-bind /lib/psup-box /run/psup/box --bind /ws/1 /workspace "
	    "--ro-bind /srv/a /a --bind /srv/b /b --chdir /workspace "
	    "--remount-ro /dev --remount-ro / --info-fd 9 -- /run/psup/box 8");
	plan.agent = "/srv/agent";
	box_plan_argv(&plan, &a);
	for (size_t i = 0; i + 2 < a.count; i++)
		if (strcmp(a.arg[i], "/srv/agent") == 0) {
			cr_expect_str_eq(a.arg[i - 1], "--ro-bind");
			cr_expect_str_eq(a.arg[i + 1], "/agent");
			plan.agent = NULL;
		}
	cr_expect_null(plan.agent);
	plan.host_network = true;
	plan.disable_userns = plan.sizes = false;
	box_plan_argv(&plan, &a);
	for (size_t i = 0; i < a.count; i++)
		cr_expect(strcmp(a.arg[i], "--unshare-net") != 0 &&
			  strcmp(a.arg[i], "--size") != 0 &&
			  strcmp(a.arg[i], "--disable-userns") != 0);
}

/* The argument list has room for the most there can be. */
Test(box_plan, has_room_for_every_bind)
{
	static struct box_bind binds[BOX_BINDS];
	struct box_plan plan = {.bwrap = "b",
	    .program = "p",
	    .workspace = "w",
	    .roots = roots,
	    .root_count = 3,
	    .binds = binds,
	    .bind_count = BOX_BINDS,
	    .sizes = true,
	    .tmpfs_bytes = 1,
	    .disable_userns = true};
	struct box_argv a;

	box_plan_argv(&plan, &a);
	cr_expect_lt(a.count, BOX_ARGS);
}
