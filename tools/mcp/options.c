/* SPDX-License-Identifier: MIT */
/* The options of psup-mcp. Called by main. */
#include "options.h"

#include <stdio.h>

static struct mcp_options o = {
	.max_output = 30000, .max_yield_ms = 45000, .on_cancel = "end"};
const struct mcp_options *const mcp_options = &o;
static bool help_man;

const struct opt mcp_rows[] = {
	TEXT("workdir", 0, "DIR", "@dir", o.workdir,
	    "the project: where commands run, and whose sessions are seen "
	    "($CLAUDE_PROJECT_DIR, else the working directory)"),
	TEXT("scope", 0, "NAME", "@scope", o.scope,
	    "see and start sessions of this scope, not the project's"),
	TEXT("token-file", 0, "FILE", "@file", o.token_file,
	    "a scope token: its scope it is, and commands do not get to know "
	    "it"),
	TEXT("runtime-dir", 0, "DIR", "@dir", o.runtime_dir,
	    "the server's directory ($PSUP_RUNTIME_DIR, $XDG_RUNTIME_DIR/psup, "
	    "/dev/shm/psup-UID)"),
	FLAG("no-start", 0, o.no_start, "start no server where none runs"),
	FLAG("login-env", 0, o.login_env,
	    "give commands the environment of your login shell, which is asked "
	    "once, at the first command"),
	FLAG("classic", 0, o.classic,
	    "two tools, exec and process, as gateways have them"),
	FLAG("structured", 0, o.structured,
	    "details as structuredContent, for programs; many clients then show "
	    "a model nothing else"),
	NUMBER("max-output", 0, "BYTES", o.max_output, 1000, 1000000,
	    "cut the text of an answer to so much (30000)"),
	NUMBER("max-yield", 0, "MS", o.max_yield_ms, 10, 120000,
	    "the longest that one call waits (45000): less than the client's "
	    "time-out"),
	TEXT("on-cancel", 0, "WHAT", "end|background", o.on_cancel,
	    "what becomes of a command whose call the client cancels (end); "
	    "one whose call timed out goes to the background in any case"),
	FLAG("help-man", 0, help_man, "the manual page in roff"),
	OPT_END};

static void
print_more(void)
{
	fputs("\nA client starts it: claude mcp add psup -- psup-mcp\n\n"
	      "Exit codes: 0: the client closed stdin; 1: it failed; 2: wrong "
	      "usage.\n",
	    stdout);
}

int
options_take(int argc, char **argv)
{
	static const struct command_line line = {
		.about = mcp_about,
		.options = mcp_rows,
		.more_help = print_more,
	};
	struct usage u = {.program = "psup-mcp"};
	int code = command_line_take(&line, &u, argc, argv);

	if (code >= 0)
		return code;
	if (help_man) {
		man_print_page();
		return 0;
	}
	return -1;
}
