/* SPDX-License-Identifier: MIT */
/* psup.conf and the environment. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/event_kind.h"
#include "lib_conf.h"

TestSuite(config, .init = conf_init, .fini = conf_fini, .timeout = 20);

Test(config, names_of_variables)
{
	cr_assert_eq(read_text("[env]\nblock = ACME_* OTHER\n"), 0, "%s", why);
	cr_assert_str_eq(config.env_block, "ACME_* OTHER");
	cr_assert_lt(read_text("[env]\nblock = A-B\n"), 0);
	cr_assert_not_null(strstr(why, "A-B"));
	cr_assert_lt(read_text("[env]\nblock = *\n"), 0);
	cr_assert_str_eq(config.env_block, "ACME_* OTHER");
}

Test(config, defaults)
{
	cr_assert_eq(config.background_ms, 10000);
	cr_assert_eq(config.timeout_sec, 1800);
	cr_assert_eq(config.cleanup_ms, 1800000);
	cr_assert(config.notify_on_exit && config.child_oom_score_adj &&
	    !config.notify_on_exit_empty_success && !config.any_fs);
	cr_assert_eq(config.frame_bytes, 4u << 20);
	cr_assert_eq(config.lane_count, 2);
	cr_assert_str_eq(config.lanes[1].name, "subagent");
	cr_assert_eq(config.lanes[1].width, 8);
	cr_assert_eq(config.lanes[0].queue, 100000);
}

Test(config, reads_a_file)
{
	cr_assert_eq(read_text("; a comment\n"
	    "[exec]\n"
	    "background_ms = 20000\n"
	    "  timeout_sec=-1 ; for ever is not on offer\n"
	    "path_prepend = /opt/bin:/srv/bin\r\n"
	    "notify_on_exit = No\n"
	    "max_output_chars = 1000000\n"
	    "[lane \"subagent\"]\nwidth = 16\n"
	    "[lane \"cron:nightly\"]\nqueue = 5\n"
	    "[server]\nworkers = 4\nany_fs = on"), 0, "%s", why);
	cr_assert_eq(config.background_ms, 20000);
	cr_assert_eq(config.timeout_sec, 1800);
	cr_assert_str_eq(config.path_prepend, "/opt/bin:/srv/bin");
	cr_assert(!config.notify_on_exit && config.any_fs);
	cr_assert_eq(config.max_output_chars, 1000000);
	cr_assert_eq(config.lane_count, 3);
	cr_assert_eq(config.lanes[1].width, 16);
	cr_assert_str_eq(config.lanes[2].name, "cron:nightly");
	cr_assert_eq(config.lanes[2].queue, 5);
	cr_assert_eq(config.lanes[2].width, 1);
	cr_assert_eq(config.workers, 4);
}

Test(config, takes_units)
{
	cr_assert_eq(read_text(
	    "[exec]\nbackground_ms = 2s\ntimeout_sec = 2h\n"
	    "[server]\nclient_memory = 100M\noutput_budget = 1.5G\n"
	    "[limits]\nmemoryBytes = 512m\ncpuSeconds = 10m\n"
	    "start_ms = 3s\n"
	    "[lane \"main\"]\nlimits.fileSizeBytes = 1G\n"), 0, "%s", why);
	cr_assert_eq(config.background_ms, 2000);
	cr_assert_eq(config.timeout_sec, 7200);
	cr_assert_eq(config.client_memory, 100u << 20);
	cr_assert_eq(config.output_budget, 3u << 29);
	cr_assert_eq(config.start_ms, 3000);
	cr_assert_eq(config.limits.value[CTL_LIMIT_MEMORY], 512 << 20);
	cr_assert_eq(config.limits.value[CTL_LIMIT_CPU], 600);
}

Test(config, refuses_with_line_and_reason)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{ "[exec]\nbackground_ms = 10q\n",
		    ":2: exec.background_ms: \"10q\" is no number" },
		{ "[exec]\nbackground_ms = 1h\n",
		    ":2: exec.background_ms: 3600000 is out of range" },
		{ "[server]\nmax_running = 1K\n",
		    ":2: server.max_running: \"1K\" is no number" },
		{ "[exec]\n\nbackground_ms = 5\n",
		    ":3: exec.background_ms: 5 is out of range; expected 10 "
		    "to 120000" },
		{ "[exec]\nbackground_ms =\n", ":2: exec.background_ms: \"\"" },
		{ "[exec]\nbackground_ms = 0x10\n", ":2: " },
		{ "[exec]\nbackground_ms = 99999999999999999999999\n",
		    "out of range" },
		{ "[exec]\nnotify_on_exit = maybe\n",
		    ":2: exec.notify_on_exit: \"maybe\"" },
		{ "[exec]\nshell = bash\n", "no absolute path" },
		{ "[exec]\npath_prepend = /a::/b\n", "no absolute path" },
		{ "[exec]\npath_prepend = /a:\n", "empty path" },
		{ "[exec]\nbackround_ms = 10\n",
		    ":2: exec.backround_ms: no such setting" },
		{ "[exce]\nbackground_ms = 10\n", "no such section" },
		{ "background_ms = 10\n", "no such section" },
		{ "[exec]\nnonsense\n", ":2: expected [section]" },
		{ "[exec\n", ":1: expected [section]" },
		{ "[lane \"a b\"]\nwidth = 1\n", "no such section" },
		{ "[lane \"\"]\nwidth = 1\n", "no such section" },
		{ "[lane main]\nwidth = 1\n", "no such section" },
		{ "[lane \"0123456789012345678901234567890X\"]\nwidth = 1\n",
		    "no such section" },
		{ "[lane \"m\"]\nwidth = 0\n", "\"0\" is no number from 1" },
		{ "[lane \"m\"]\nheight = 0\n", "expected width or queue" },
	};
	struct config before = config;
	size_t i;

	for (i = 0; i < NELEMS(cases); i++) {
		cr_expect_eq(read_text(cases[i].text), -EINVAL, "%s",
		    cases[i].text);
		cr_expect_not_null(strstr(why, cases[i].said), "%s: %s",
		    cases[i].text, why);
		cr_expect_eq(strncmp(why, conf_path, strlen(conf_path)), 0);
		cr_expect_eq(memcmp(&before, &config, sizeof(config)), 0);
	}
}

Test(config, takes_a_file_whole_or_not)
{
	static char line[9000];

	cr_assert_eq(read_text("[exec]\ngrace_ms = 1\ngrace_ms = x\n"),
	    -EINVAL);
	cr_assert_eq(config.grace_ms, 5000);
	memset(line, 'a', sizeof(line));
	memcpy(line, ";", 1);
	cr_assert_eq(read_bytes(line, sizeof(line)), -EINVAL);
	cr_assert_not_null(strstr(why, "8000 bytes"));
	cr_assert_eq(read_bytes("[exec]\ngrace_ms = 1\0;\n", 22), -EINVAL);
	cr_assert_not_null(strstr(why, "NUL"));
	cr_assert_eq(config_read_file(&config, "/nonexistent/x", why,
	    sizeof(why)), -ENOENT);
	cr_assert_eq(config_read_file(&config, conf_dir, why, sizeof(why)),
	    -EISDIR);
}

Test(config, lanes_have_an_end)
{
	char text[8192];
	size_t len = 0;
	int i;

	for (i = 0; i < CONFIG_LANES - 1; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
		    "[lane \"l%d\"]\nwidth = 2\n", i);
	cr_assert_eq(read_text(text), -EINVAL);
	cr_assert_not_null(strstr(why, "more than 64 lanes"));
}

Test(config, environment)
{
	(void)setenv("PI_BASH_YIELD_MS", "500", 1);
	(void)setenv("OPENCLAW_BASH_YIELD_MS", "", 1);
	(void)setenv("PSUP_JOB_TTL_MS", "1", 1);
	(void)setenv("OPENCLAW_BASH_JOB_TTL_MS", "100000", 1);
	(void)setenv("CLAWDBOT_BASH_PENDING_MAX_OUTPUT_CHARS", "-7", 1);
	(void)setenv("PSUP_MAX_OUTPUT_CHARS", "999999999", 1);
	(void)setenv("OPENCLAW_CHILD_OOM_SCORE_ADJ", "off", 1);
	cr_assert_eq(config_read_env(&config, why, sizeof(why)), 0, "%s", why);
	cr_assert_eq(config.background_ms, 500);
	cr_assert_eq(config.cleanup_ms, 60000);
	cr_assert_eq(config.pending_max_output_chars, 1000);
	cr_assert_eq(config.max_output_chars, 200000);
	cr_assert(!config.child_oom_score_adj);
	cr_assert_str_eq(why, "");
	/* the older families count as not set, and it is said */
	(void)setenv("PI_BASH_YIELD_MS", "soon", 1);
	(void)setenv("OPENCLAW_BASH_JOB_TTL_MS", "1h", 1);
	(void)unsetenv("PSUP_JOB_TTL_MS");
	(void)setenv("PI_BASH_JOB_TTL_MS", "70000", 1);
	cr_assert_eq(config_read_env(&config, why, sizeof(why)), 0, "%s", why);
	cr_assert_eq(config.background_ms, 500);
	cr_assert_eq(config.cleanup_ms, 70000);
	cr_assert_str_eq(why, "PI_BASH_YIELD_MS: \"soon\" is no number; "
	    "expected 10 to 120000; OPENCLAW_BASH_JOB_TTL_MS: \"1h\" is no "
	    "number; expected 60000 to 10800000");
	(void)setenv("PSUP_YIELD_MS", "12a", 1);
	(void)setenv("OPENCLAW_CHILD_OOM_SCORE_ADJ", "500", 1);
	cr_assert_eq(config_read_env(&config, why, sizeof(why)), -EINVAL);
	cr_assert_str_eq(why, "PSUP_YIELD_MS: \"12a\" is no number; expected "
	    "10 to 120000");
	cr_assert_eq(config.background_ms, 500);
}

Test(config, default_path)
{
	char found[1024];

	(void)setenv("PSUP_CONFIG", "/nonexistent/psup.conf", 1);
	config_default_path(found, sizeof(found));
	cr_assert_str_eq(found, "/nonexistent/psup.conf");
	(void)unsetenv("PSUP_CONFIG");
	(void)setenv("XDG_CONFIG_HOME", conf_dir, 1);
	(void)setenv("HOME", conf_dir, 1);
	config_default_path(found, sizeof(found));
	cr_assert(found[0] == '\0' || strncmp(found, "/etc/", 5) == 0);
}

Test(config, survives_mutation, .timeout = 60)
{
	static const char sample[] = "[exec]\nbackground_ms = 20000\nshell = "
	    "/bin/sh\nnotify_on_exit = no\n[lane \"a\"]\nwidth = 3\n";
	char text[sizeof(sample)];
	uint64_t seed = 0x5eed0002;
	int round, i, error;

	for (round = 0; round < 3000; round++) {
		memcpy(text, sample, sizeof(text));
		for (i = 0; i < 3; i++) {
			seed = seed * 6364136223846793005ull + 12345;
			text[(seed >> 40) % (sizeof(text) - 1)] =
			    (char)(seed >> 33);
		}
		config_defaults(&config);
		error = read_bytes(text, sizeof(text) - 1);
		cr_assert(error == 0 || error == -EINVAL);
		cr_assert_eq(error == 0, why[0] == '\0', "seed %#llx",
		    (unsigned long long)seed);
	}
}

Test(config, kinds_of_events)
{
	cr_assert_eq(config.event_kinds, EVENT_USUAL);
	cr_assert_eq(read_text("[retain]\nevent_kinds = none\n"), 0);
	cr_assert_eq(config.event_kinds, EVENT_ENDS);
	cr_assert_eq(read_text("[retain]\nevent_kinds = started, lane-wait\n"),
	    0);
	cr_assert_eq(config.event_kinds, EVENT_ENDS | EVENT_BIT(EVENT_STARTED) |
	    EVENT_BIT(EVENT_LANE_WAIT));
	cr_assert_eq(read_text("[retain]\nevent_kinds = all\n"), 0);
	cr_assert_eq(config.event_kinds, EVENT_ALL);
	cr_assert_eq(read_text("[retain]\nevent_kinds = started ended\n"),
	    -EINVAL);
	cr_assert_not_null(strstr(why, "\"ended\" is no kind of event"));
	cr_assert_eq(config.event_kinds, EVENT_ALL);
}
