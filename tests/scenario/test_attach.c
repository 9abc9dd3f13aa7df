/* SPDX-License-Identifier: MIT */
/*
 * People at a session's terminal. The person's own terminal is another
 * session's: what it shows is that one's output, what is typed is written to
 * it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib_scn.h"

#define ECHOES "stty -echo; echo before; " \
	       "while read x; do echo got:$x; done; exit 7"

static struct output
over(const char *id)
{
	return poll_to_the_end(id, "end");
}

static void
type(const char *id, const char *text)
{
	expect_ok(ask("write", STR("sessionId", id), STR("data", text)));
}

static bool
shown(const struct output *o, const char *text)
{
	return memmem(o->bytes, o->len, text, strlen(text)) != NULL;
}

#define on_terminal(...) background(YES("pty"), __VA_ARGS__)

/* A person who runs psup attach and then looks at the terminal's settings. */
static const char *
person(const char *id, const char *options)
{
	char command[1200];

	snprintf(command, sizeof(command),
	    "stty -echo; was=$(stty -g); "
	    "'%s/psup' attach --runtime-dir '%s' %s %s; "
	    "echo code=$?; [ \"$was\" = \"$(stty -g)\" ] && echo restored",
	    scn_bin_dir(), runtime_dir(), options, id);
	return on_terminal(STR("command", command), INT("cols", 77),
	    INT("rows", 21));
}

static void
end(const char *id)
{
	ask("kill", STR("sessionId", id), INT("graceMs", 0));
}

SCENARIO(attach, shows_what_was_there_and_hands_keys_through)
{
	const char *id, *me;
	struct output o;

	psupd();
	id = on_terminal(STR("command", ECHOES));
	await_output(id, "before");
	me = person(id, "");
	await_output(me, "Ctrl-] detaches");
	await_output(me, "before");
	type(me, "hello\r");
	await_output(me, "got:hello");
	type(me, "\004");
	o = over(me);
	expect(shown(&o, "code=7"));
	expect(shown(&o, "restored"));
	expect(shown(&o, "exited with code 7"));
}

SCENARIO(attach, detaches_with_a_key)
{
	const char *id, *me;
	struct output o;

	psupd();
	id = on_terminal(STR("command", ECHOES));
	await_output(id, "before");
	me = person(id, "");
	await_output(me, "before");
	/* what is typed before the key still goes, what comes after does not */
	type(me, "last\r\035never\r");
	o = over(me);
	expect(shown(&o, "it goes on"));
	expect(shown(&o, "code=0"));
	expect(shown(&o, "restored"));
	await_output(id, "got:last");
	type(id, "sentinel\n");
	await_output(id, "got:sentinel");
	o = read_retained(id);
	expect(!shown(&o, "never"));
	me = person(id, "--detach-key ^T");
	await_output(me, "Ctrl-T detaches");
	await_output(me, "got:sentinel");
	type(me, "a\035b\r");
	await_output(me, "got:a\035b");
	type(me, "\024");
	o = over(me);
	expect(shown(&o, "code=0"));
	/* as a program may have had the terminal say it */
	me = person(id, "");
	await_output(me, "got:sentinel");
	type(me, "\033[93;5u");
	o = over(me);
	expect(shown(&o, "code=0"));
	end(id);
}

/* On the last line, once what was there is drawn; not for long. Titles and the
 * clipboard are the person's own. */
SCENARIO(attach, the_hint_stands_below_for_a_while)
{
	const char *id, *me;
	struct output o;

	psupd();
	id = on_terminal(STR("command", "stty -echo; "
	    "printf '\033]0;title\a\033]52;c;Zm9v\abefore'; was=; "
	    "while sleep 0.05; do now=$(stty size); "
	    "[ \"$now\" = \"$was\" ] || echo $now; was=$now; done"));
	await_output(id, "before");
	me = person(id, "");
	await_output(me, "before");
	await_output(me, "\033[1;20r\033[21;1H\033[0;7mattached to ");
	await_output(me, "20 77");
	await_output(me, "\033[r\033[21;1H\033[0m\033[2K");
	await_output(me, "21 77");
	type(me, "\035");
	o = over(me);
	expect(shown(&o, "code=0"));
	expect(!shown(&o, "\033]"));
	end(id);
}

SCENARIO(attach, undoes_what_the_session_switched_on)
{
	const char *id, *me;
	struct output o;

	psupd();
	id = on_terminal(STR("command", "stty -echo; "
	    "printf '\\033[?1049h\\033[?25l\\033[?1006h\\033[6nfull'; read x"));
	await_output(id, "full");
	me = person(id, "");
	await_output(me, "full");
	type(me, "\035");
	o = over(me);
	expect(shown(&o, "\033[?1049l\033[?25h\033[?1006l"));
	expect(!shown(&o, "\033[6n"), "the question is asked again");
	expect(shown(&o, "restored"));
	end(id);
}

SCENARIO(attach, the_size_follows)
{
	const char *id, *me;
	struct output o;

	psupd();
	id = on_terminal(STR("command", "stty -echo; echo before; was=; "
	    "while sleep 0.05; do now=$(stty size); "
	    "[ \"$now\" = \"$was\" ] || echo $now; was=$now; done"));
	await_output(id, "before");
	me = person(id, "");
	await_output(id, "21 77");
	expect_ok(ask("resize", STR("sessionId", me), INT("cols", 55),
	    INT("rows", 19)));
	await_output(id, "19 55");
	type(me, "\035");
	await_end(me);
	me = person(id, "--no-resize");
	await_output(me, "19 55");
	expect_ok(ask("resize", STR("sessionId", me), INT("cols", 99),
	    INT("rows", 44)));
	type(me, "\035");
	await_end(me);
	expect_ok(ask("resize", STR("sessionId", id), INT("cols", 33),
	    INT("rows", 11)));
	await_output(id, "11 33");
	o = read_retained(id);
	expect(!shown(&o, "44 99"));
	end(id);
}

SCENARIO(attach, several_look_at_once)
{
	const char *id, *me, *you, *guest;
	struct output o;

	psupd();
	id = on_terminal(STR("command", ECHOES));
	await_output(id, "before");
	me = person(id, "");
	you = person(id, "");
	guest = person(id, "--read-only");
	await_output(me, "before");
	await_output(you, "before");
	await_output(guest, "before");
	type(guest, "guest\r");
	type(me, "mine\r");
	await_output(me, "got:mine");
	await_output(you, "got:mine");
	await_output(guest, "got:mine");
	type(you, "yours\r");
	await_output(me, "got:yours");
	await_output(guest, "got:yours");
	type(guest, "\035");
	o = over(guest);
	expect(shown(&o, "code=0"));
	expect(!shown(&o, "got:guest"));
	type(me, "\004");
	o = over(me);
	expect(shown(&o, "code=7"));
	o = over(you);
	expect(shown(&o, "code=7"));
	expect(shown(&o, "restored"));
}

/* How often the text is there. */
static unsigned
count(const struct output *o, const char *text)
{
	const char *p = o->bytes, *end = o->bytes + o->len;
	unsigned n = 0;

	while ((p = memmem(p, (size_t)(end - p), text, strlen(text))) != NULL) {
		n++;
		p++;
	}
	return n;
}

SCENARIO(attach, goes_on_where_master_and_worker_died)
{
	const char *id, *me;
	char text[32];
	struct output o;

	psupd();
	id = on_terminal(STR("command", ECHOES));
	await_output(id, "before");
	me = person(id, "");
	await_output(me, "before");
	for (unsigned i = 0; i < 6; i++) {
		if (i % 2 == 1)
			kill_master();
		else if (i > 0)
			kill_worker_of(id);
		snprintf(text, sizeof(text), "step%u.\r", i);
		type(me, text);
		snprintf(text, sizeof(text), "got:step%u.", i);
		await_output(me, text);
	}
	type(me, "\004");
	o = over(me);
	for (unsigned i = 0; i < 6; i++) {
		snprintf(text, sizeof(text), "got:step%u.", i);
		expect(count(&o, text) == 1, "%s: %u times", text,
		    count(&o, text));
	}
	expect(shown(&o, "code=7"));
	expect(shown(&o, "restored"));
	expect(!shown(&o, "not shown"));
}

/* Each master dies as soon as it is there, while keys are under way. */
SCENARIO(attach, goes_on_after_masters_that_died_in_a_row)
{
	const char *id, *me;
	struct output o;

	psupd();
	id = on_terminal(STR("command", ECHOES));
	await_output(id, "before");
	me = person(id, "");
	await_output(me, "before");
	type(me, "one.\r");
	await_output(me, "got:one.");
	for (int i = 0; i < 5; i++) {
		type(me, ".");
		kill_master();
	}
	type(me, "two.\r");
	await_output(me, ".two.");
	type(me, "\004");
	o = over(me);
	expect(count(&o, "got:one.") == 1);
	expect(count(&o, "got:.....two.") == 1);
	expect(shown(&o, "code=7"));
	expect(!shown(&o, "may be lost"));
}

SCENARIO(attach, who_does_not_look_slows_nobody)
{
	struct running *me;
	const char *id;
	struct run *done;

	psupd();
	id = on_terminal(STR("command", "stty -echo -opost; echo before; "
	    "read go; head -c 3000000 /dev/zero | tr '\\0' x; "
	    "echo after; read x; exit 3"));
	await_output(id, "before");
	me = cli_start("attach", id);
	await_run_output(me, "before");
	kill_now(pid_of_run(me), SIGSTOP);
	type(id, "\n");
	await_output(id, "after");
	kill_now(pid_of_run(me), SIGCONT);
	await_run_output(me, "after");
	type(id, "\n");
	done = await_run(me);
	expect_exit(done, 3);
	expect(strstr(done->err, "bytes of output were not shown") != NULL,
	    "%s", done->err);
}

SCENARIO(attach, refuses_what_is_no_live_terminal)
{
	const char *id;
	struct run *r;

	psupd();
	expect_exit(cli("attach", "no-such"), 4);
	expect_exit(cli("attach"), 2);
	expect_exit(cli("attach", "--json", "x"), 2);
	r = cli("attach", "--detach-key", "^", "x");
	expect_exit(cli("attach", "--detach-key", "hello", "x"), 2);
	expect_exit(cli("attach", "--detach-key", "C-1", "x"), 2);
	id = background(STR("command", "read x"));
	r = cli("attach", id);
	expect_exit(r, 1);
	expect(strstr(r->err, "psup log -f") != NULL);
	end(id);
	r = cli("attach", id);
	expect_exit(r, 1);
	expect(strstr(r->err, "has ended") != NULL);
}

SCENARIO(attach, ends_as_the_command_does)
{
	const char *id, *me;
	struct output o;

	psupd();
	id = on_terminal(STR("command", "echo before; read x; kill -9 $$"));
	me = person(id, "");
	await_output(me, "before");
	type(me, "\r");
	o = over(me);
	expect(shown(&o, "code=137"));
	id = on_terminal(STR("command", ECHOES));
	me = person(id, "");
	await_output(me, "before");
	ask("remove", STR("sessionId", id));
	o = over(me);
	expect(shown(&o, "restored"));
	expect(!shown(&o, "code=0\r"));
}

/* Signals from elsewhere detach, too; the session does not notice. */
SCENARIO(attach, a_signal_detaches)
{
	struct running *me;
	const char *id;

	psupd();
	id = on_terminal(STR("command", ECHOES));
	await_output(id, "before");
	me = cli_start("attach", id);
	await_run_output(me, "before");
	kill_now(pid_of_run(me), SIGTERM);
	expect_exit(await_run(me), 143);
	type(id, "still\n");
	await_output(id, "got:still");
	end(id);
}

/* The server of the session dies, keeper and all; the person's own terminal,
 * of another server, is put back. */
SCENARIO(attach, the_terminal_is_put_back_when_the_server_dies)
{
	const char *me, *dir;
	char command[2000];
	struct output o;

	psupd();
	dir = file_in_scenario("other");
	expect(mkdir(dir, 0700) == 0);
	snprintf(command, sizeof(command),
	    "p='%s/psup'; d='%s'; stty -echo; was=$(stty -g); "
	    "id=$($p exec --runtime-dir $d --background --pty -- "
	    "sh -c 'stty -echo; printf \"\\033[?1049hinner\"; read x'); "
	    "$p attach --runtime-dir $d $id; "
	    "echo code=$?; [ \"$was\" = \"$(stty -g)\" ] && echo restored",
	    scn_bin_dir(), dir);
	me = on_terminal(STR("command", command));
	await_output(me, "inner");
	snprintf(command, sizeof(command),
	    "d='%s'; kill -9 $('%s/psup' status --runtime-dir $d --json | "
	    "tr ',{' '\\n\\n' | sed -n 's/^\"pid\": *\\([0-9]*\\).*/\\1/p')",
	    dir, scn_bin_dir());
	expect_ok(ask("exec", STR("command", command)));
	o = over(me);
	expect(shown(&o, "\033[?1049l"));
	expect(shown(&o, "restored"));
	expect(shown(&o, "code=3"));
	expect(shown(&o, "no server runs at "));
}

/* A foreground command belongs to its exec, but its terminal can be shared by
 * who may see everything. */
SCENARIO(attach, a_foreground_command_is_shared)
{
	const psup_value *rows;
	struct question *q;
	struct output o;
	const char *me;
	char id[64];

	psupd();
	q = ask_later(peer(NULL), "exec", STR("command", ECHOES), YES("pty"),
	    NIL("yieldMs"), STR("stdin", "open"));
	do
		rows = psup_value_get(details(ask("list", YES("all"))),
		    "sessions");
	while (psup_value_count(rows) == 0);
	psup_get_copy(psup_value_at(rows, 0), "sessionId", id, sizeof(id));
	me = person(id, "");
	await_output(me, "before");
	type(me, "hi\r");
	await_output(me, "got:hi");
	type(me, "\004");
	o = over(me);
	expect(shown(&o, "code=7"));
	expect_int(answer_of(q), "exitCode", 7);
}

SCENARIO(attach, stopped_and_continued_it_draws_anew)
{
	const char *id, *me, *file;
	char command[1200], line[40] = "";
	struct output o;
	pid_t pid;
	FILE *f;

	psupd();
	id = on_terminal(STR("command", ECHOES));
	await_output(id, "before");
	file = file_in_scenario("pid");
	snprintf(command, sizeof(command),
	    "sh -c 'echo $$ >%s; exec %s/psup attach --runtime-dir %s %s'; "
	    "echo code=$?", file, scn_bin_dir(), runtime_dir(), id);
	me = on_terminal(STR("command", command));
	await_output(me, "before");
	f = fopen(file, "re");
	expect(f != NULL && fgets(line, sizeof(line), f) != NULL);
	fclose(f);
	pid = atoi(line);
	kill_now(pid, SIGTSTP);
	await_output(me, "\030\033\\\033[m"); /* the terminal is put back */
	await_stopped(pid);
	kill_now(pid, SIGCONT);
	type(me, "again\r");
	await_output(me, "got:again");
	type(me, "\035");
	o = over(me);
	expect(shown(&o, "code=0"));
	expect(count(&o, "before") == 2, "%u times", count(&o, "before"));
	end(id);
}
