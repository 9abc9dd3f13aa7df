/* SPDX-License-Identifier: MIT */
/* How output is shown: the rules of `text`, what log finds in it, and that no
 * control byte reaches a terminal that nobody asked for it. */
#include "lib_scn.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

TestSuite(shown);

/* What a command may write, as printf's format and as each rule shows it. */
static const char format[] = "a\\033[1;31mred\\033[0m\\a\\302\\205"
    "\\342\\200\\256\\033]0;t\\007\\377\\tz\\r\\n";
static const struct {
	const char *rule, *text;
} shown_as[] = {
    {NULL, "ared\\x07\\x85\357\277\275\tz\r\n"},
    {"clean", "ared\\x07\\x85\357\277\275\tz\r\n"},
    {"ansi", "a\33[1;31mred\33[0m\\x07\\x85\33]0;t\a\357\277\275\tz\r\n"},
    {"shown", "a\\x1b[1;31mred\\x1b[0m\\x07\\x85\\xe2\\x80\\xae\\x1b]0;t\\x07"
        "\\xff\tz\r\n"},
    {"plain", "a\33[1;31mred\33[0m\a\302\205\342\200\256\33]0;t\a\357\277\275"
        "\tz\r\n"},
};
#define RULES (sizeof(shown_as) / sizeof(shown_as[0]))

/* The command that writes it. */
static const char *
writes_it(void)
{
	char *s = scn_alloc(300);

	snprintf(s, 300, "printf '%s'", format);
	return s;
}

SCENARIO(shown, each_rule_in_exec_poll_and_log)
{
	const char *id;
	struct answer *a;
	char tail[100];

	psupd();
	id = background(STR("command", writes_it()));
	await_end(id);
	for (size_t i = 0; i < RULES; i++) {
		const char *rule = shown_as[i].rule, *want = shown_as[i].text;
		struct arg text = {0};
		char reader[8], line[200];

		if (rule != NULL)
			text = (struct arg)STR("text", rule);
		snprintf(reader, sizeof(reader), "r%zu", i);
		a = ask("poll", STR("sessionId", id), STR("reader", reader),
		    text);
		expect_str(a, "output", want);
		expect_str(a, "aggregated", want);
		expect_int(a, "next", 32);
		a = ask("exec", STR("command", writes_it()), text);
		expect_str(a, "aggregated", want);
		expect(strncmp(words_of(a), want, strlen(want)) == 0, "%s",
		    words_of(a));
		a = ask("log", STR("sessionId", id), text);
		snprintf(line, sizeof(line), "%.*s", (int)strlen(want) - 2,
		    want);
		expect(strcmp(words_of(a), line) == 0, "%s", words_of(a));
	}
	a = ask("list");
	psup_get_copy(psup_value_at(psup_value_get(details(a), "sessions"), 0),
	    "tail", tail, sizeof(tail));
	expect(strcmp(tail, shown_as[0].text) == 0, "%s", tail);
	expect_refused_for(ask("poll", STR("sessionId", id),
	    STR("text", "bold")), "invalid-params", "text");
	expect_refused_for(ask("log", STR("sessionId", id),
	    STR("text", "bold")), "invalid-params", "text");
	expect_refused_for(ask("exec", STR("command", "true"),
	    STR("text", "bold")), "invalid-params", "text");
}

SCENARIO(shown, half_a_sequence_waits_for_the_rest)
{
	const char *id, *gate;
	char *command = scn_alloc(500);
	struct answer *a;
	struct question *q;

	psupd();
	gate = file_in_scenario("gate");
	snprintf(command, 500, "printf 'a\\033[3'; until [ -e %s ]; do sleep "
	    "0.01; done; printf '1mb\\033['; until [ ! -e %s ]; do sleep 0.01; "
	    "done", gate, gate);
	id = background(STR("command", command));
	await_output(id, "a");
	a = ask("poll", STR("sessionId", id));
	expect_str(a, "output", "a");
	expect_int(a, "next", 1);
	expect_text(ask("log", STR("sessionId", id)), "a");
	/* The bytes, and the rule that takes nothing for a sequence, wait for
	 * nothing. */
	a = ask("poll", STR("sessionId", id), STR("reader", "plain"),
	    STR("text", "plain"));
	expect_str(a, "output", "a\33[3");
	q = ask_later(NULL, "poll", STR("sessionId", id),
	    INT("timeout", 30000));
	expect_ok(ask_as(peer(NULL), "list"));
	expect(!is_answered(q));
	fclose(fopen(gate, "we"));
	expect_str(answer_of(q), "output", "b");
	remove(gate);
	/* Nothing will follow: what is left is told. */
	await_end(id);
	expect_str(ask("poll", STR("sessionId", id)), "output", "\\x1b[");
}

SCENARIO(shown, a_cut_shows_no_half_of_a_sequence)
{
	const char *id, *s;
	struct answer *a;
	size_t len;

	psupd();
	/* 40 000 times 13 bytes on one line */
	id = background(STR("command", "yes \"$(printf "
	    "'\\033[31;42mX\\033[0m')\" | head -40000 | tr -d '\\n'"));
	await_end(id);
	a = ask("poll", STR("sessionId", id), INT("maxBytes", 1000));
	s = psup_get_str(details(a), "output", &len);
	expect(len > 60 && strspn(s, "X") == len, "%zu: %.60s", len, s);
	s = psup_get_str(details(a), "aggregated", &len);
	expect(len > 13000 && strspn(s, "X") == len, "%zu: %.60s", len, s);
	a = ask("poll", STR("sessionId", id), INT("since", 0),
	    INT("maxBytes", 1000));
	s = psup_get_str(details(a), "output", &len);
	expect(strspn(s, "X") == len && number_of(a, "next") <= 1000);
	/* From there on it goes on, also where less than a sequence is asked
	 * for. */
	a = ask("poll", STR("sessionId", id),
	    INT("since", number_of(a, "next")), INT("maxBytes", 2));
	s = psup_get_str(details(a), "output", &len);
	expect(strspn(s, "X") == len && number_of(a, "next") > 991);
	a = ask("list");
	s = psup_get_str(psup_value_at(psup_value_get(details(a),
	    "sessions"), 0), "tail", &len);
	expect(len > 100 && strspn(s, "X") == len, "%zu: %.60s", len, s);
}

SCENARIO(shown, log_finds_lines)
{
	const char *id;
	struct answer *a;
	const psup_value *numbers;

	psupd();
	id = background(STR("command",
	    "for i in $(seq 0 99); do echo line $i; done; "
	    "printf '\\033[1mn\\033[0meedle\\r\\nlast'"));
	await_end(id);
	a = ask("log", STR("sessionId", id), STR("grep", "needle"));
	expect_text(a, "100:needle");
	expect_int(a, "matchedLines", 1);
	expect_int(a, "totalLines", 102);
	expect_int(a, "firstLine", 100);
	/* The text is looked for as it is shown. */
	a = ask("log", STR("sessionId", id), STR("grep", "needle"),
	    STR("text", "plain"));
	expect_int(a, "matchedLines", 0);
	expect_text(a, "(none of 102 lines)");
	a = ask("log", STR("sessionId", id), STR("grep", "line 5"));
	expect_int(a, "matchedLines", 11);
	numbers = psup_value_get(details(a), "lineNumbers");
	expect(psup_value_count(numbers) == 11 &&
	    psup_value_int(psup_value_at(numbers, 1), -1) == 50);
	a = ask("log", STR("sessionId", id), STR("grep", "line 5"),
	    INT("offset", 1), INT("limit", 2));
	expect(strcmp(words_of(a), "50:line 50\n51:line 51") == 0, "%s",
	    words_of(a));
	a = ask("log", STR("sessionId", id), STR("grep", "line 5"),
	    INT("limit", 1));
	expect(strcmp(words_of(a), "59:line 59") == 0, "%s", words_of(a));
	a = ask("log", STR("sessionId", id), STR("grep", "9"),
	    INT("context", 1), INT("offset", 8), INT("limit", 3));
	expect(strcmp(words_of(a), "88-line 88\n89:line 89\n90:line 90\n"
	        "91:line 91\n92-line 92") == 0, "%s", words_of(a));
	a = ask("log", STR("sessionId", id), STR("grep", "9"),
	    INT("context", 1), INT("offset", 0), INT("limit", 2));
	expect(strcmp(words_of(a), "8-line 8\n9:line 9\n10-line 10\n--\n"
	        "18-line 18\n19:line 19\n20-line 20") == 0, "%s",
	    words_of(a));
	a = ask("log", STR("sessionId", id), STR("grep", "last"),
	    INT("context", 100));
	expect(strncmp(words_of(a), "1-line 1\n", 9) == 0, "%.20s",
	    words_of(a));
	expect_text(a, "100-needle\n101:last");
	expect_refused_for(ask("log", STR("sessionId", id), STR("grep", "")),
	    "invalid-params", "grep");
	expect_refused_for(ask("log", STR("sessionId", id),
	    INT("context", 1)), "invalid-params", "context");
}

SCENARIO(shown, log_finds_lines_by_an_expression)
{
	const char *id;
	struct answer *a;
	struct run *r;

	psupd();
	id = background(STR("command",
	    "for i in $(seq 0 99); do echo line $i; done; "
	    "printf '\\033[1mn\\033[0meedle\\r\\nlast'"));
	await_end(id);
	a = ask("log", STR("sessionId", id), STR("regex", "^line [1-3]?7$"));
	expect(strcmp(words_of(a), "7:line 7\n17:line 17\n27:line 27\n"
	        "37:line 37") == 0, "%s", words_of(a));
	expect_int(a, "matchedLines", 4);
	a = ask("log", STR("sessionId", id), STR("regex", "N.*LE|t$"));
	expect(strcmp(words_of(a), "101:last") == 0, "%s", words_of(a));
	a = ask("log", STR("sessionId", id), STR("regex", "(?i)N.*LE"),
	    INT("context", 1));
	expect(strcmp(words_of(a), "99-line 99\n100:needle\n101-last") == 0,
	    "%s", words_of(a));
	/* None goes across lines. */
	a = ask("log", STR("sessionId", id), STR("regex", "needle\\slast"));
	expect_int(a, "matchedLines", 0);
	a = ask("log", STR("sessionId", id), STR("regex", "a(b|c"));
	expect_refused_for(a, "invalid-params", "regex");
	expect(strstr(a->message, "at byte") != NULL, "%s", a->message);
	expect_refused_for(ask("log", STR("sessionId", id), STR("regex", "a"),
	    STR("grep", "a")), "invalid-params", "regex");
	expect_refused_for(ask("log", STR("sessionId", id), STR("regex", "a"),
	    YES("raw")), "invalid-params", "raw");
	r = cli("log", id, "--regex", "8[12]");
	expect_exit(r, 0);
	expect(strstr(r->out, "81:line 81\n82:line 82") != NULL, "%s", r->out);
	expect(cli("log", id, "--regex", "a", "--grep", "b")->code == 2);
}

SCENARIO(shown, a_hard_search_of_a_log_holds_nobody_up)
{
	enum { SEARCHES = 4 };
	struct question *q[SEARCHES];
	struct peer *p[SEARCHES];
	const char *id;
	struct answer *a;
	int64_t t0;

	psupd();
	id = background(PUPPET("bytes 8000000"),
	    ONE("retain", "tailBytes", 8000000));
	await_end(id);
	for (int i = 0; i < SEARCHES; i++) {
		p[i] = peer(NULL);
		q[i] = ask_later(p[i], "log", STR("sessionId", id),
		    STR("regex", "[a-z]{999}[0-9]"));
		expect_ok(ask_as(p[i], "list")); /* it is under way */
	}
	t0 = now_ms();
	for (int i = 0; i < 10; i++)
		expect_ok(ask("list"));
	expect(now_ms() - t0 < 1000 + busy_ms(), "%lld ms",
	    (long long)(now_ms() - t0));
	for (int i = 0; i < SEARCHES; i++)
		expect(!is_answered(q[i]));
	/* Given up, ended with its connection, or with its session. */
	give_up(q[0]);
	expect(strcmp(answer_of(q[0])->code, "cancelled") == 0);
	hang_up(p[1]);
	expect_ok(ask("remove", STR("sessionId", id)));
	expect_str(answer_of(q[2]), "code", "not-found");
	expect_str(answer_of(q[3]), "code", "not-found");
	/* Longer than a slice, and done. */
	id = background(PUPPET("lines 100000"),
	    ONE("retain", "tailBytes", 8000000));
	await_end(id);
	a = ask("log", STR("sessionId", id),
	    STR("regex", "([a-z]+ [0-9]{1,50}){1,3}99$"), INT("limit", 1));
	expect_int(a, "matchedLines", 999);
	expect_text(a, "line 99999");
}

SCENARIO(shown, log_finds_lines_on_both_sides_of_a_gap)
{
	const char *id;
	struct answer *a;
	int64_t gap, last;

	psupd();
	id = background(PUPPET("lines 100000"));
	await_end(id);
	a = ask("log", STR("sessionId", id), STR("grep", "line 9999"));
	expect(number_of(a, "matchedLines") == 10, "%lld",
	    (long long)number_of(a, "matchedLines"));
	gap = number_of(a, "gapAt");
	last = number_of(a, "totalLines") - 1;
	a = ask("log", STR("sessionId", id), STR("grep", "line 99999"),
	    INT("context", 1));
	expect_int(a, "firstLine", last);
	expect_text(a, "-line 99998\n");
	/* The first line after the gap is half of one; around it are the last
	 * before the gap and the first whole one. */
	a = ask("log", STR("sessionId", id), INT("offset", gap + 2),
	    INT("limit", 1));
	a = ask("log", STR("sessionId", id), STR("grep", words_of(a)),
	    INT("context", 2));
	expect_int(a, "firstLine", gap + 2);
	expect(strtoll(words_of(a), NULL, 10) == gap, "%s", words_of(a));
}

/* The time of a line of the log with timestamps, in ms; it says `word`. */
static int64_t
time_of_line(const char *line, const char *word)
{
	struct tm tm = {0};
	int ms, at = 0;

	expect(sscanf(line, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ %n", &tm.tm_year,
	           &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
	           &tm.tm_sec, &ms, &at) == 7 && at == 25, "%s", line);
	expect(strncmp(line + at, word, strlen(word)) == 0, "%s", line);
	tm.tm_year -= 1900;
	tm.tm_mon--;
	return (int64_t)timegm(&tm) * 1000 + ms;
}

static int64_t
wall_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Each line comes after it was asked for and before it was seen. */
SCENARIO(shown, log_tells_when_lines_came)
{
	static const char *const words[] = {"one", "two", "three"};
	int64_t asked[3], seen[3], at;
	const char *id, *s;
	struct answer *a;

	psupd();
	id = background(STR("command", "for w in 'one\n' 'two\n' three; do "
	    "read x; printf \"$w\"; done"));
	for (int i = 0; i < 3; i++) {
		poll(NULL, 0, 20); /* what came within 10 ms has one time */
		asked[i] = wall_ms();
		expect_ok(ask("write", STR("sessionId", id),
		    STR("data", "\n")));
		await_output(id, words[i]);
		seen[i] = wall_ms();
	}
	await_end(id);
	a = ask("log", STR("sessionId", id), YES("timestamps"));
	s = words_of(a);
	for (int i = 0; i < 3; i++) {
		at = time_of_line(s, words[i]);
		expect(at >= asked[i] && at <= seen[i], "%s: %lld to %lld", s,
		    (long long)asked[i], (long long)seen[i]);
		s = strchr(s, '\n');
		expect(i == 2 || s++ != NULL);
	}
	/* With a search, number first. */
	a = ask("log", STR("sessionId", id), YES("timestamps"),
	    STR("grep", "two"));
	expect(strncmp(words_of(a), "1:20", 4) == 0, "%s", words_of(a));
	/* The log of who wrote when goes back for 200 stretches. */
	id = background(STR("command", "echo first; i=0; while [ $i -lt 210 "
	    "]; do i=$((i+1)); echo o; sleep 0.001; echo e >&2; sleep 0.001; "
	    "done"));
	await_end(id);
	a = ask("log", STR("sessionId", id), YES("timestamps"),
	    INT("offset", 0), INT("limit", 1));
	expect(strcmp(words_of(a), "- first") == 0, "%s", words_of(a));
	a = ask("log", STR("sessionId", id), YES("timestamps"),
	    INT("limit", 1));
	expect(strncmp(words_of(a), "20", 2) == 0, "%s", words_of(a));
}

SCENARIO(shown, log_gives_the_bytes)
{
	static const char bytes[] = "\33[1m\377\0\nb";
	const char *id, *s;
	struct answer *a;
	size_t len;

	psupd();
	id = background(STR("command", "printf '\\033[1m\\377\\000\\nb'"));
	await_end(id);
	a = ask("log", STR("sessionId", id), YES("raw"));
	s = psup_get_str(details(a), "output", &len);
	expect(len == sizeof(bytes) - 1 && memcmp(s, bytes, len) == 0);
	expect_text(a, "(8 bytes, in details.output)");
	a = ask("log", STR("sessionId", id), YES("raw"), INT("limit", 1));
	s = psup_get_str(details(a), "output", &len);
	expect(len == 1 && *s == 'b');
	expect_refused_for(ask("log", STR("sessionId", id), YES("raw"),
	    YES("timestamps")), "invalid-params", "raw");
	expect_refused_for(ask("log", STR("sessionId", id), YES("raw"),
	    STR("grep", "b")), "invalid-params", "raw");
}

/* ------------------------------------------------------------------ sinks */

/* Nothing in it that a terminal takes for more than text. */
static void
expect_harmless(const char *what, const char *s, size_t len, bool terminal)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];
		unsigned char d = i + 1 < len ? (unsigned char)s[i + 1] : 0;
		unsigned char e = i + 2 < len ? (unsigned char)s[i + 2] : 0;
		bool bad = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ||
		    (c == 0xc2 && d >= 0x80 && d <= 0x9f) ||
		    (c == 0xe2 && d == 0x80 && e >= 0xaa && e <= 0xae);

		if (terminal && c == '\r' && d == '\n')
			bad = false; /* the terminal's own */
		expect(!bad, "%s: byte %zu is %02x %02x: %.*s", what, i, c, d,
		    (int)(len - i < 60 ? len - i : 60), s + i);
	}
}

#define HOSTILE "\33[31m\33]0;pwned\7\302\2332J\342\200\256\177\1"

/* psup on a terminal: what it would show there. */
static void
expect_harmless_on_terminal(const char *const *argv)
{
	const char *list[14], *id, *s;
	struct answer *a;
	size_t n = 0, len;
	char *path = scn_alloc(500);

	snprintf(path, 500, "%.400s/psup", scn_bin_dir());
	list[n++] = path;
	list[n++] = "--color"; /* colours are no harm */
	list[n++] = "never";
	for (; *argv != NULL; argv++)
		list[n++] = *argv;
	list[n++] = "--runtime-dir";
	list[n++] = runtime_dir();
	list[n] = NULL;
	id = scn_background((struct arg[]){
	    {.key = "argv", .type = 'l', .list = list}, YES("pty"),
	    YES("background"), {0}});
	await_end(id);
	a = ask("log", STR("sessionId", id), YES("raw"));
	s = psup_get_str(details(a), "output", &len);
	expect(len > 0, "%s said nothing", list[3]);
	expect_harmless(list[3], s, len, true);
	expect_ok(ask("clear", STR("sessionId", id)));
}
#define harmless_on_terminal(...) \
	expect_harmless_on_terminal((const char *const[]){__VA_ARGS__, NULL})

/* psup in a pipe, which may end at a terminal, too. */
static void
expect_harmless_in_pipe(const char *const *argv)
{
	struct run *r = scn_run(NULL, 0, argv);

	expect(r->out_len + r->err_len > 0, "%s said nothing", argv[1]);
	expect_harmless(argv[1], r->out, r->out_len, false);
	expect_harmless(argv[1], r->err, r->err_len, false);
}
#define harmless_in_pipe(...) \
	expect_harmless_in_pipe((const char *const[]){"psup", __VA_ARGS__, NULL})

SCENARIO(shown, no_control_byte_reaches_a_terminal)
{
	const char *id, *live;

	psupd();
	expect_refused_for(ask("exec", STR("command", "true"),
	    STR("label", HOSTILE)), "invalid-params", "label");
	expect_refused_for(ask("exec", STR("command", "true"),
	    STR("sessionKey", HOSTILE)), "invalid-params", "sessionKey");
	id = background(STR("command", "printf '\\033]0;x\\007\\033[2Jout\\001"
	    "\\302\\2331m\\342\\200\\256\\n'; : " HOSTILE "; true"));
	live = background(STR("command", "printf '" HOSTILE "'; sleep 100"),
	    STR("lane", "main"));
	await_end(id);
	await_output(live, "");
	harmless_on_terminal("events");
	harmless_on_terminal("events", "--json");
	harmless_in_pipe("events");
	harmless_on_terminal("list");
	harmless_on_terminal("list", "--usage");
	harmless_on_terminal("list", "--json");
	harmless_on_terminal("log", id);
	harmless_on_terminal("log", id, "--text", "shown");
	harmless_on_terminal("log", id, "-t");
	harmless_on_terminal("log", id, "--grep", "out");
	harmless_on_terminal("log", id, "-f");
	harmless_on_terminal("poll", id);
	harmless_on_terminal("poll", live, "--json");
	harmless_on_terminal("status");
	harmless_on_terminal("status", "--json");
	harmless_on_terminal("wait", id);
	harmless_on_terminal("poll", HOSTILE);
	harmless_on_terminal("log", HOSTILE, "--raw");
	harmless_on_terminal("kill", HOSTILE);
	harmless_on_terminal("wait", live, "--timeout", HOSTILE);
	harmless_on_terminal("exec", "--workdir", "/" HOSTILE, "true");
	harmless_on_terminal("exec", "--env", HOSTILE "=1", "true");
	harmless_on_terminal("exec", "--lane", HOSTILE, "--background",
	    "true");
	harmless_in_pipe("list");
	harmless_in_pipe("log", id);
	harmless_in_pipe("poll", id);
	harmless_in_pipe("status");
	harmless_in_pipe("poll", HOSTILE);
	harmless_in_pipe("--runtime-dir", "/" HOSTILE, "status");
	/* Asked for, it comes. */
	expect(strstr(cli("log", id, "--text", "ansi")->out, "\33[2J") != NULL);
	expect(strstr(cli("log", id, "--raw")->out, "\33[2J") != NULL);
	expect(strstr(cli("poll", id, "--since", "0", "--text", "plain")->out,
	    "\33[2J") != NULL);
	expect(strstr(cli("log", id, "--text", "bold")->err, "\"bold\"") !=
	    NULL);
	expect(strstr(cli("log", id, "--stream", "in")->err, "\"in\"") !=
	    NULL);
	expect(cli("log", id, "--text", "bold")->code == 2);
	/* Answers hold no raw control byte either. */
	expect_harmless("text of list", words_of(ask("list")),
	    strlen(words_of(ask("list"))), false);
	expect_text(ask("poll", STR("sessionId", HOSTILE)), "\\x1b[31m");
	expect_ok(ask("kill", STR("sessionId", live)));
}
