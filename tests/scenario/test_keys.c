/* SPDX-License-Identifier: MIT */
/* send-keys, submit and paste, as the command reads them from its stdin. */
#include "lib_scn.h"

#include <string.h>

TestSuite(keys);

#define ESC "\033"

/* Closes stdin; what `cat` in that session was fed is exactly this. */
#define expect_fed(id, bytes) fed(__FILE__, __LINE__, id, bytes, \
	sizeof(bytes) - 1)
static void
fed(const char *file, int line, const char *id, const char *want, size_t len)
{
	struct output o;

	expect_ok(ask("write", STR("sessionId", id), YES("eof")));
	o = poll_to_the_end(id, "fed");
	if (o.len != len || memcmp(o.bytes, want, len) != 0)
		scn_fail(file, line, "expect_fed", "%zu bytes instead of %zu: "
		    "%.*s", o.len, len, (int)o.len, o.bytes);
}

SCENARIO(keys, arrive_byte_by_byte)
{
	const char *id;
	struct answer *a;

	psupd();
	id = background(PUPPET("cat"));
	a = ask("send-keys", STR("sessionId", id),
	    LIST("keys", "a", "Up", "C-c", "^D", "M-x", "S-tab", "C-space",
		"S-f5", "C-M-f1", "C-left", "kpenter", "é", ":wq", "Enter"));
	expect_ok(a);
	expect_str(a, "status", "running");
	expect_str(a, "sessionId", id);
	expect_text(a, "Sent 40 bytes");
	expect_int(a, "accepted", 40);
	expect_flag(a, "stdinWritable", true);
	expect(psup_value_count(psup_value_get(details(a), "warnings")) == 0);
	expect_fed(id, "a" ESC "[A" "\3\4" ESC "x" ESC "[Z" "\0" ESC "[15;2~"
	    ESC "[1;7P" ESC "[1;5D" ESC "OM" "\xc3\xa9" ":wq" "\r");
}

SCENARIO(keys, are_seen_by_cat_v)
{
	const char *id;

	psupd();
	id = background(STR("command", "cat -v"));
	expect_ok(ask("send-keys", STR("sessionId", id),
	    LIST("keys", "Home", "C-delete", "M-S-a", "^?", "F1", "^J")));
	await_output(id, "^[[1~^[[3;5~^[A^?^[OP\n");
	expect_ok(ask("kill", STR("sessionId", id)));
}

SCENARIO(keys, come_after_literal_and_hex)
{
	const char *id;
	struct answer *a;

	psupd();
	id = background(PUPPET("cat"));
	a = ask("send-keys", STR("sessionId", id), LIST("keys", "k", "C-oops"),
	    LIST("hex", "0xff", "zz", "80", "0"), STR("literal", "C-a \n"));
	expect_ok(a);
	expect_text(a, "Warnings:\n- Invalid hex byte: zz\n- Unknown key "
	               "\"oops\" for modifiers; sending literal.");
	expect(psup_value_count(psup_value_get(details(a), "warnings")) == 2);
	expect_fed(id, "C-a \n" "\xff\x80\0" "koops");
}

SCENARIO(keys, need_something_to_send)
{
	const char *many[101] = {NULL};
	struct arg flood = {.key = "hex", .type = 'l', .list = many};
	const char *id;
	struct answer *a;

	psupd();
	id = background(PUPPET("cat"));
	expect_refused(ask("send-keys", STR("sessionId", id)),
	    "invalid-params");
	a = ask("send-keys", STR("sessionId", id), LIST("keys", " ", ""),
	    LIST("hex", "xyz"));
	expect_refused(a, "invalid-params");
	expect_text(a, "No key data provided. Invalid hex byte: xyz");
	expect_refused(ask("send-keys", STR("sessionId", id),
	    LIST("keys", "a\xff")), "invalid-params");
	expect_refused_for(ask("send-keys", STR("sessionId", id),
	    INT("delayMs", 5), STR("keys", "a")), "invalid-params", "keys");
	a = ask("paste", STR("sessionId", id), NO("bracketed"));
	expect_refused(a, "invalid-params");
	expect_text(a, "No paste text provided.");
	/* warnings are bounded, the bytes are not lost */
	for (int i = 0; i < 100; i++)
		many[i] = "bad";
	a = ask("send-keys", STR("sessionId", id), LIST("keys", "x"), flood);
	expect_ok(a);
	expect_text(a, "68 more warnings");
	expect_fed(id, "x");
}

SCENARIO(keys, wait_for_each_other)
{
	const char *id;
	struct question *q;
	bool between;
	struct answer *a;
	int64_t start;

	psupd();
	id = background(PUPPET("cat"));
	while (pid_of(id) == 0) /* its box is being made */
		;
	start = now_ms();
	q = ask_later(NULL, "send-keys", STR("sessionId", id),
	    LIST("keys", "a", "", "b", "c"), INT("delayMs", 200));
	await_output(id, "a");
	/* others are served meanwhile, and what they write comes between: where
	 * we had a processor before the next key was due, before that */
	expect_ok(ask("write", STR("sessionId", id), STR("data", "-")));
	between = now_ms() - start < 200;
	a = answer_of(q);
	expect_ok(a);
	expect_int(a, "accepted", 3);
	/* two delays of 200 ms: an event loop's clock may be some ms behind,
	 * which is far less than a delay left out */
	expect(now_ms() - start >= 350, "%lld ms",
	    (long long)(now_ms() - start));
	if (between)
		expect_fed(id, "a-bc");
}

SCENARIO(keys, end_with_the_session)
{
	const char *id;
	struct question *q;
	struct answer *a;

	psupd();
	id = background(PUPPET("cat"));
	q = ask_later(NULL, "send-keys", STR("sessionId", id),
	    LIST("keys", "a", "b"), INT("delayMs", 10000));
	await_output(id, "a");
	expect_ok(ask("kill", STR("sessionId", id)));
	a = answer_of(q);
	expect_int(a, "accepted", 1);
	expect_refused(a, "not-running");
	id = background(PUPPET("cat"));
	q = ask_later(NULL, "send-keys", STR("sessionId", id),
	    LIST("keys", "a", "b"), INT("delayMs", 10000));
	await_output(id, "a");
	expect_ok(ask("remove", STR("sessionId", id)));
	expect_refused(answer_of(q), "not-running");
}

SCENARIO(keys, end_with_their_request)
{
	const char *id;
	struct question *q;
	struct peer *gone;

	psupd();
	id = background(PUPPET("cat"));
	q = ask_later(NULL, "send-keys", STR("sessionId", id),
	    LIST("keys", "a", "2"), INT("delayMs", 10000));
	await_output(id, "a");
	give_up(q);
	expect_refused(answer_of(q), "cancelled");
	gone = peer(NULL);
	ask_later(gone, "send-keys", STR("sessionId", id),
	    LIST("keys", "1", "2"), INT("delayMs", 10000));
	await_output(id, "1");
	hang_up(gone);
	expect_ok(ask("submit", STR("sessionId", id), STR("data", ".")));
	await_output(id, "\r");
	expect(strchr(read_retained(id).bytes, '2') == NULL);
	expect_ok(ask("kill", STR("sessionId", id)));
}

SCENARIO(keys, submit_is_enter)
{
	const char *id;
	struct answer *a;

	psupd();
	id = background(PUPPET("cat"));
	a = ask("submit", STR("sessionId", id));
	expect_ok(a);
	expect_text(a, "(sent CR)");
	expect_text(a, "It has no terminal: a line ends by a newline there");
	expect_int(a, "accepted", 1);
	a = ask("submit", STR("sessionId", id), BYTES("data", "y\0\xff", 3));
	expect_ok(a);
	expect_int(a, "accepted", 4);
	expect_fed(id, "\ry\0\xff\r");
}

SCENARIO(keys, no_paste_breaks_out)
{
	const char *id;
	struct answer *a;

	psupd();
	id = background(PUPPET("cat"));
	a = ask("paste", STR("sessionId", id),
	    STR("text", "one\n" ESC "[201~rm -rf\n"));
	expect_ok(a);
	expect_text(a, "Pasted 17 bytes");
	expect_ok(ask("paste", STR("sessionId", id), STR("text", "")));
	expect_ok(ask("paste", STR("sessionId", id), NO("bracketed"),
	    STR("text", ESC "[201~raw")));
	expect_fed(id, ESC "[200~one\n\xe2\x90\x9b[201~rm -rf\n" ESC "[201~"
	    ESC "[200~" ESC "[201~" ESC "[201~raw");
}

SCENARIO(keys, a_full_queue_takes_all_or_nothing)
{
	static char block[200000];
	const char *id;
	struct answer *a;

	psupd(.conf = "[server]\nstdin_queue = 4096\n");
	memset(block, 'w', sizeof(block) - 1);
	id = background(PUPPET("hang"));
	a = ask("paste", STR("sessionId", id), STR("text", block));
	expect_refused(a, "stdin-full");
	expect_text(a, "use write");
	expect_int(a, "accepted", 0);
	/* the pipe takes some, then the queue is full to the last byte */
	do {
		a = ask("write", STR("sessionId", id), STR("data", block),
		    INT("timeout", 200));
	} while (number_of(a, "accepted") > 0);
	a = ask("send-keys", STR("sessionId", id), LIST("keys", "up"));
	expect_refused(a, "stdin-full");
	expect_int(a, "accepted", 0);
	expect_refused(ask("submit", STR("sessionId", id)), "stdin-full");
	expect_refused(ask("paste", STR("sessionId", id)), "stdin-full");
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
}

SCENARIO(keys, the_usual_refusals)
{
	const char *ended, *closed, *foreign;
	struct peer *mine;

	psupd();
	mine = peer("mine");
	ended = background(STR("command", "true"));
	await_end(ended);
	closed = background(STR("command", "exec sleep 1000"),
	    STR("stdin", "closed"));
	foreign = background(STR("command", "cat"), STR("scope", "other"));
#define all_refused(who, id, code)                                            \
	do {                                                                  \
		expect_refused(ask_as(who, "send-keys", STR("sessionId", id), \
		    LIST("keys", "a")), code);                                \
		expect_refused(ask_as(who, "submit", STR("sessionId", id)),   \
		    code);                                                    \
		expect_refused(ask_as(who, "paste", STR("sessionId", id)),    \
		    code);                                                    \
	} while (0)
	all_refused(NULL, "nobody", "not-found");
	all_refused(NULL, ended, "not-running");
	all_refused(NULL, closed, "stdin-closed");
	all_refused(mine, foreign, "not-found");
#undef all_refused
	expect_ok(ask("kill", STR("sessionId", closed)));
	expect_ok(ask("kill", STR("sessionId", foreign)));
}
