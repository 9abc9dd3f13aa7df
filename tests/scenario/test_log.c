/* SPDX-License-Identifier: MIT */
/* What the processes log: the same keys everywhere, as configured, and never
 * in the server's way. */
#include "lib_scn.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

SCENARIO(logs, are_json_where_configured)
{
	psupd(.conf = "[server]\nlog_format = json\n");
	await_log("\"level\":\"note\",\"process\":\"keeper\",\"pid\":");
	await_log("\"event\":\"ready\",\"workers\":2,");
	await_log("\"process\":\"master\",");
}

SCENARIO(logs, say_as_much_as_configured)
{
	psupd(.conf = "[server]\nlog_level = error\n",
	    .env = {"PSUP_LOG_LEVEL=debug"});
	expect_ok(ask("exec", STR("command", "true")));
	await_log("level=debug process=master");
	await_log("event=session-state session=1 slug=");
}
