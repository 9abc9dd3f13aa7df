/* SPDX-License-Identifier: MIT */
/* psup.conf and the environment, as a running server takes them. */
#include "lib_scn.h"

#include <signal.h>
#include <string.h>

TestSuite(config);

SCENARIO(config, a_wrong_line_is_refused_with_its_place)
{
	struct run *r;

	write_conf("[exec]\nbackground_ms = 5000\ntimeout_sec = soon\n");
	r = scn_run(NULL, 0, (const char *const[]){"psupd", NULL});
	expect(r->code != 0 && r->code < 124, "exit %d", r->code);
	expect(strstr(r->err, "psup.conf:3") != NULL &&
	        strstr(r->err, "timeout_sec") != NULL,
	    "%s", r->err);
}

/* Which name wins over which is config.c's unit test. */
SCENARIO(config, the_names_gateways_already_set)
{
	psupd(.env = {"OPENCLAW_BASH_YIELD_MS=60"});
	expect_str(ask("exec", PUPPET("hang")), "status", "running");
}

SCENARIO(config, a_reload_reaches_new_sessions_alone)
{
	const char *old;
	int64_t until;
	struct answer *a;

	psupd(.conf = "[exec]\ntimeout_sec = 1000\n");
	old = background(PUPPET("print up; hang"));
	await_output(old, "up\n");
	write_conf("[exec]\ntimeout_sec = 1\nbackground_ms = 100\n");
	kill_now(keeper_pid(), SIGHUP);
	/* The reload is seen by what it changes. */
	until = now_ms() + SCN_DEADLINE_MS;
	do {
		a = ask("exec", PUPPET("hang"), NIL("yieldMs"),
		    NUM("noOutputTimeout", 3));
		expect(now_ms() < until, "no reload");
	} while (!psup_get_is(details(a), "exitReason", "overall-timeout"));
	expect(is_alive(pid_of(old)));
}

SCENARIO(config, a_wrong_reload_changes_nothing)
{
	pid_t keeper;

	psupd(.conf = "[exec]\nbackground_ms = 50\n");
	keeper = keeper_pid();
	write_conf("[exec]\nbackground_ms = oops\n");
	kill_now(keeper, SIGHUP);
	expect_str(ask("exec", PUPPET("hang")), "status", "running");
	expect(is_alive(keeper));
}

/* A signal to psupd ends its commands, then itself. */
static void
end_by(int sig, const char *option)
{
	const char *id;
	pid_t keeper, pid;

	psupd(.conf = "[exec]\ngrace_ms = 200\n", .option = option);
	id = background(PUPPET("print up; hang"));
	await_output(id, "up\n");
	keeper = keeper_pid();
	pid = pid_of(id);
	kill_now(keeper, sig);
	await_gone(pid);
	await_gone(keeper);
	server_is_gone();
}

SCENARIO(config, sigterm_ends_the_commands_then_the_server)
{
	end_by(SIGTERM, NULL);
}

SCENARIO(config, sigint_does_too)
{
	end_by(SIGINT, NULL);
}

SCENARIO(config, sigquit_does_too)
{
	end_by(SIGQUIT, NULL);
}

SCENARIO(config, sighup_ends_somebodys_child)
{
	end_by(SIGHUP, "--foreground-child");
}
