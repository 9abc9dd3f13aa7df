/* SPDX-License-Identifier: MIT */
/*
 * The manual page psup-mcp(1) in roff: the words around the table of options.
 * Called by options.c, and at build time for the page that is installed.
 */
#include <stdio.h>

#include "options.h"
#include "tools/lib/man.h"

void
man_print_page(void)
{
	static const char before[] =
	    ".SH NAME\n"
	    "psup\\-mcp \\- run commands for an MCP client\n"
	    ".SH SYNOPSIS\n"
	    ".B psup\\-mcp\n"
	    ".RI [ options ]\n"
	    ".SH DESCRIPTION\n";
	static const char described[] =
	    ".PP\n"
	    "A client starts it and speaks JSON\\-RPC, one object a line: "
	    "versions 2024\\-11\\-05 to 2025\\-11\\-25 of MCP, which begin with "
	    "initialize, and 2026\\-07\\-28, which does not, in one process. A "
	    "server is started at the first call that needs one.\n"
	    ".PP\n"
	    "The tools are exec, process_read (which changes nothing), "
	    "process_input and process_end, so that a client can grant each by "
	    "itself. A command in the foreground ends with its call, with the "
	    "client and with psup\\-mcp; one in the background goes on, and any "
	    "client of the same project finds it. A call that the client gives "
	    "up because it timed out leaves its command in the background. The "
	    "end of a background command is told once, with the next answer. "
	    "Each command is run once, also where the server dies in the "
	    "middle of a call.\n"
	    ".PP\n"
	    "A project is a folder: its sessions have a scope named by it. / "
	    "and the home directory are none; who works there sees his own "
	    "sessions alone.\n";
	static const char after[] =
	    ".SH EXIT STATUS\n"
	    "0: the client closed standard input; 1: it failed; 2: wrong "
	    "usage.\n"
	    ".SH ENVIRONMENT\n"
	    "CLAUDE_PROJECT_DIR: the project. PSUP_RUNTIME_DIR, "
	    "XDG_RUNTIME_DIR: where the server is. PSUP_TOKEN_FILE: as "
	    "\\-\\-token\\-file. SHELL: for \\-\\-login\\-env. Commands get all "
	    "of it, but for variables that begin with PSUP_TOKEN.\n"
	    ".SH FILES\n"
	    "Nothing is written but a line now and then on standard error.\n"
	    ".SH EXAMPLES\n"
	    ".EX\n"
	    "claude mcp add psup \\-\\- psup\\-mcp\n"
	    "codex mcp add psup \\-\\- psup\\-mcp\n"
	    ".EE\n"
	    ".PP\n"
	    "docs/mcp.md has more clients, and how each is told to leave its "
	    "own shell tool alone.\n"
	    ".SH SEE ALSO\n"
	    ".BR psup (1),\n"
	    ".BR psup\\-top (1),\n"
	    ".BR psupd (8)\n";

	man_title("PSUP-MCP");
	fputs(before, stdout);
	man_text(mcp_about);
	putchar('\n');
	fputs(described, stdout);
	fputs(".SH OPTIONS\n", stdout);
	man_options(mcp_rows);
	man_options(common_options);
	fputs(after, stdout);
}
