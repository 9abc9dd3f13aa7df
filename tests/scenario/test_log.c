/* SPDX-License-Identifier: MIT */
/* What the processes log: the same keys everywhere, as configured, and never
 * in the server's way. */
#include "lib_scn.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(logs);

SCENARIO(logs, name_event_process_and_session)
{
	const char *id;

	psupd();
	await_log("level=note process=keeper pid=");
	await_log(" event=process-ready role=master role_slot=0 ");
	await_log("level=note process=master pid=");
	(void)ask("exec", LIST("argv", "/no/such/program"));
	await_log("event=session-not-spawned session=1 slug=");
	await_log("error=\"No such file or directory\" stage=exec");
	id = background(PUPPET("hang"));
	kill_worker_of(id);
	await_log("level=warn process=keeper");
	await_log("event=process-died role=worker role_slot=");
	await_log("event=worker-succeeded ");
}

/* Each process knows that its stderr is the journal's; no command does. */
SCENARIO(logs, to_the_journal_have_priorities_and_no_time)
{
	const char *path = file_in_scenario("journal");
	int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	char var[80], line[4096];
	int masters = 0, keepers = 0;
	int64_t until;
	struct stat st;
	FILE *f;

	expect(fd >= 0 && fstat(fd, &st) == 0);
	snprintf(var, sizeof(var), "JOURNAL_STREAM=%llu:%llu",
	    (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	psupd(.env = {var}, .err = fd);
	expect(strstr(text_of(ask("exec", STR("command", "env")),
		   "aggregated"), "JOURNAL_STREAM") == NULL);
	f = fopen(path, "re");
	expect(f != NULL);
	until = now_ms() + SCN_DEADLINE_MS;
	while (masters == 0 || keepers == 0) {
		if (fgets(line, sizeof(line), f) == NULL) {
			expect(now_ms() < until, "%d, %d", masters, keepers);
			clearerr(f); /* the keeper may say it a moment later */
			continue;
		}
		expect(strncmp(line, "<5>level=note process=", 22) == 0, "%s",
		    line);
		masters += strstr(line, " event=reconciled ") != NULL;
		keepers += strstr(line, " event=ready ") != NULL;
	}
	fclose(f);
	close(fd);
}

SCENARIO(logs, are_json_where_configured)
{
	psupd(.limps = true, .conf = "[server]\nlog_format = json\n");
	await_log("\"level\":\"note\",\"process\":\"keeper\",\"pid\":");
	await_log("\"event\":\"ready\",\"workers\":2,");
	await_log("\"process\":\"master\",");
}

/* SIGHUP, and sessions until the log has this. */
static void
reload_until(const char *conf, const char *text)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	write_conf(conf);
	kill_now(keeper_pid(), SIGHUP);
	do {
		expect_ok(ask("exec", STR("command", "true")));
		expect(now_ms() < until, "nobody says %s", text);
	} while (count_log(text) == 0);
}

/* Keeper, master and workers, those that run and those that start. */
SCENARIO(logs, say_more_or_less_after_a_reload)
{
	int64_t until;
	int before;

	psupd(.limps = true, .conf = "[server]\nlog_level = warn\n");
	expect_ok(ask("exec", STR("command", "true")));
	expect(count_log("level=note") == 0 && count_log("level=debug") == 0);
	reload_until("[server]\nlog_level = debug\n",
	    "level=debug process=master");
	reload_until("[server]\nlog_level = debug\n",
	    "level=debug process=worker");
	kill_master();
	await_log("event=process-started role=master role_slot=0 "
	    "role_generation=2");
	await_log("level=note process=master");
	reload_until("[server]\nlog_level = debug\nlog_format = json\n",
	    "\"level\":\"debug\",\"process\":\"master\"");
	reload_until("[server]\nlog_level = debug\nlog_format = json\n",
	    "\"level\":\"debug\",\"process\":\"worker\"");
	write_conf("[server]\nlog_level = error\n");
	kill_now(keeper_pid(), SIGHUP);
	until = now_ms() + SCN_DEADLINE_MS;
	do {
		before = count_log("\n");
		expect_ok(ask("exec", STR("command", "true")));
		expect(now_ms() < until, "they go on");
	} while (count_log("\n") != before);
}

SCENARIO(logs, say_what_the_command_line_says)
{
	static const char conf[] =
	    "[server]\nlog_level = debug\nlog_format = json\n";

	psupd(.limps = true, .conf = "[server]\nlog_level = error\n",
	    .option = "--log-level=note");
	/* the master says it before the keeper tells it in which format */
	reload_until(conf, "event=config-read");
	while (count_log("\"event\":\"config-read\"") == 0)
		reload_until(conf, "\"event\":\"reload\"");
	expect_ok(ask("exec", STR("command", "true")));
	expect(count_log("debug") == 0);
}

SCENARIO(logs, say_as_much_as_configured)
{
	psupd(.limps = true, .conf = "[server]\nlog_level = error\n",
	    .env = {"PSUP_LOG_LEVEL=debug"});
	expect_ok(ask("exec", STR("command", "true")));
	await_log("level=debug process=master");
	await_log("event=session-state session=1 slug=");
}
