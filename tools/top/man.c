/* SPDX-License-Identifier: MIT */
/*
 * The manual page psup-top(1) in roff: the words around the tables of options,
 * columns and keys. Called by options.c, and at build time for the page that is
 * installed.
 */
#include <stdio.h>

#include "columns.h"
#include "keys.h"
#include "options.h"
#include "tools/lib/man.h"

static void
page_keys(void)
{
	struct key_row row;

	fputs(".SH KEYS\n", stdout);
	for (size_t i = 0; keys_row(i, &row); i++)
		if (row.keys[0] != '\0')
			man_tagged(row.keys, row.help);
		else {
			fputs(".SS ", stdout);
			man_text(row.help);
			putchar('\n');
		}
}

void
man_print_page(void)
{
	static const char before[] =
	    ".SH NAME\n"
	    "psup\\-top \\- watch the sessions of a psup server\n"
	    ".SH SYNOPSIS\n"
	    ".B psup\\-top\n"
	    ".RI [ options ]\n"
	    ".SH DESCRIPTION\n";
	static const char described[] =
	    ".PP\n"
	    "It reads the server's board, rings and statistics read-only and "
	    "/proc for the rows on the screen. It asks the server nothing "
	    "unless a key tells it to, and costs it nothing. Where the master "
	    "is down or stopped, rates, totals, processor time and output go "
	    "on; states change again when it is back.\n"
	    ".PP\n"
	    "The lines above the table: the server's state, the time since it "
	    "was started, its directory; keeper, master and workers with "
	    "their pid, generation, restarts and age of the heartbeat (of a "
	    "worker also its sessions; where they do not fit, in short: g, r, "
	    "the age, n; else their sum); sessions by state; starts, ends and "
	    "output a second, the output budget; pressure (per cent of the "
	    "last 10 s in which somebody waited for it) and load; lanes as "
	    "running/width, +queued, and what holds the queue back. Small bars "
	    "are the last minute, the newest to the right. Terminals "
	    "of less than 32 lines have three lines of it, H the others.\n"
	    ".PP\n"
	    "Everything that a command, its name or its output says is "
	    "escaped: a control character is shown as \\ex1b, of emoji that are "
	    "joined the first, of a flag its letters. In the pane a "
	    "terminal's screen is drawn as its program wants; other output "
	    "is shown as psup log shows it.\n";
	static const char after[] =
	    ".SH BATCH\n"
	    "With \\-\\-batch each refresh is the header and the table as "
	    "text, with an empty line before the next one; names are not cut. "
	    "With \\-\\-json it is an object a line: atMs, server, totals, "
	    "processes, lanes, pressure and sessions; figures that are not "
	    "known (yet) are null. Rates need two refreshes.\n"
	    ".SH FILES\n"
	    ".I ~/.config/psup/top.conf\n"
	    "($XDG_CONFIG_HOME/psup/top.conf) has what the display begins "
	    "with, a line each: columns = session state age cpu name (their "
	    "order, too; what has no room is left out), sort = cpu, and "
	    "reverse, tree, live, mouse, colours = yes or no. # begins a "
	    "comment. c in the display writes the columns into it; a file with "
	    "a mistake is not taken, named, and left as it is. \\-\\-batch and "
	    "\\-\\-json do not read it.\n"
	    ".SH EXIT STATUS\n"
	    "0; 1: it failed; 2: wrong usage; 3: there is no server, or its "
	    "memory is of another version, which is said and never misread.\n"
	    ".SH ENVIRONMENT\n"
	    "PSUP_RUNTIME_DIR, XDG_RUNTIME_DIR: where the server is. "
	    "XDG_CONFIG_HOME, HOME: where top.conf is. "
	    "NO_COLOR: no colours. TERM: a terminal whose cursor can be placed; "
	    "on others there is \\-\\-batch.\n"
	    ".SH EXAMPLES\n"
	    "What writes most, once a minute, into a file:\n"
	    ".PP\n.EX\n"
	    "psup\\-top \\-\\-batch \\-d 60 \\-\\-live \\-s rate > top.log\n"
	    ".EE\n"
	    ".PP\n"
	    "Sessions that wait for input:\n"
	    ".PP\n.EX\n"
	    "psup\\-top \\-\\-json \\-n 1 | jq \\(aq.sessions[]|"
	    "select(.input==\"reads\").sessionId\\(aq\n"
	    ".EE\n"
	    ".SH SEE ALSO\n"
	    ".BR psup (1),\n"
	    ".BR psupd (8),\n"
	    ".BR psup\\-chaos (1)\n";
	man_title("PSUP-TOP");
	fputs(before, stdout);
	man_text(top_about);
	putchar('\n');
	fputs(described, stdout);
	fputs(".SH OPTIONS\n", stdout);
	man_options(top_rows);
	man_options(common_options);
	fputs(".SH COLUMNS\n", stdout);
	for (size_t i = 0; i < column_count; i++)
		man_tagged(columns[i].name, columns[i].doc);
	page_keys();
	fputs(after, stdout);
}
