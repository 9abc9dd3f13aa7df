/* SPDX-License-Identifier: MIT */
/* Foreground commands that ended with more output than their answer had. */
#include "lib_scn.h"

#include <stdio.h>
#include <string.h>

TestSuite(cut);

/* A foreground command whose answer was cut is kept, as one of the background
 * that has ended and whose end was told: so log shows the rest of it. */
SCENARIO(cut, is_kept_and_log_shows_the_rest)
{
	char part[120];
	struct answer *a;
	struct peer *p, *other;
	const char *id;

	psupd();
	p = peer("gw");
	other = peer("gw");
	a = ask_as(p, "exec", PUPPET("bytes 210000"), NIL("yieldMs"),
	    STR("requestKey", "k"));
	id = id_of(a);
	snprintf(part, sizeof(part), "[10000 bytes of earlier output are left "
	    "out here; log of session %s with offset and limit shows them]",
	    id);
	expect_text(a, part);
	for (int round = 0; round < 2; round++) {
		expect(is_listed(other, id));
		a = ask_as(other, "log", STR("sessionId", id),
		    INT("offset", 0), INT("limit", 1));
		expect_ok(a);
		expect_int(a, "totalOutputChars", 210000);
		expect_str(ask_as(other, "poll", STR("sessionId", id)),
		    "status", "completed");
		expect(psup_value_count(psup_value_get(details(
			   ask_as(other, "events")), "events")) == 0);
		kill_master();
	}
	expect(strcmp(id_of(ask_as(p, "exec", PUPPET("bytes 210000"),
			  STR("requestKey", "k"))), id) == 0);
	other = peer("gw"); /* clear is not asked again */
	expect_ok(ask_as(other, "clear", STR("sessionId", id)));
	expect(!is_listed(other, id));
}

/* One that was told whole is its client's alone, unless that has it kept. */
SCENARIO(cut, is_not_what_was_told_whole_unless_it_is_kept)
{
	struct answer *a;
	struct peer *p;
	const char *id;

	psupd();
	p = peer("gw");
	id = id_of(ask_as(p, "exec", PUPPET("bytes 190000")));
	expect(!is_listed(p, id));
	expect_refused(ask_as(p, "log", STR("sessionId", id)), "not-found");
	a = ask_as(p, "background", STR("sessionId", id));
	expect_ok(a);
	expect_text(a, "it is kept");
	expect_str(a, "status", "completed");
	expect(is_listed(p, id));
	expect_ok(ask_as(p, "log", STR("sessionId", id)));
	expect_refused(ask_as(p, "background", STR("sessionId", id)),
	    "not-running");
	expect(psup_value_count(psup_value_get(details(ask_as(p, "events")),
		   "events")) == 0);
}
