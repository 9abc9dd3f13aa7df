/* SPDX-License-Identifier: MIT */
/*
 * --help, and the manual page psup-top(1) in roff: the words around the
 * tables of options, columns and keys. Called by options.c, and at build time
 * for the page that is installed.
 */
#include <stdio.h>
#include <string.h>

#include "columns.h"
#include "keys.h"
#include "options.h"

static const char about[] =
    "Show a psup server's sessions, processes and lanes as they change, from "
    "its shared memory: also while its master is down or stopped.";

/* "-n, --refreshes N" */
static void
option_words(const struct option_row *r, char *dst, size_t size)
{
	char letter[8] = "    ";

	if (r->letter != 0)
		snprintf(letter, sizeof(letter), "-%c, ", r->letter);
	snprintf(dst, size, "%s--%s%s%s", letter, r->name,
	    r->value[0] != '\0' ? " " : "", r->value);
}

/* Words, broken where a line is full. */
static void
print_wrapped(const char *text, int indent, int from)
{
	int at = from, len;
	const char *end;

	while (*text != '\0') {
		end = strchr(text, ' ');
		len = end != NULL ? (int)(end - text) : (int)strlen(text);
		if (at > indent && at + 1 + len > 78) {
			printf("\n%*s", indent, "");
			at = indent;
		} else if (at > indent) {
			putchar(' ');
			at++;
		}
		printf("%.*s", len, text);
		at += len;
		text += len;
		text += *text == ' ';
	}
	putchar('\n');
}

void
man_print_help(void)
{
	char words[64];

	fputs("Usage: psup-top [OPTIONS]\n\n", stdout);
	print_wrapped(about, 0, 0);
	fputs("Keys: h in the display.\n\n", stdout);
	for (size_t i = 0; i < option_row_count; i++) {
		option_words(&option_rows[i], words, sizeof(words));
		printf("  %-24s  ", words);
		print_wrapped(option_rows[i].doc, 28, 28);
	}
	fputs("\nColumns:", stdout);
	for (size_t i = 0; i < column_count; i++)
		printf(" %s", columns[i].name);
	fputs("\n\nExit codes: 0; 1: it failed; 2: wrong usage; 3: there is no "
	      "server, or it is of\nanother version.\n",
	    stdout);
}

/* -------------------------------------------------------------------- roff */

/* Text in which nothing is a request or an escape. */
static void
roff(const char *text)
{
	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '\\')
			fputs("\\e", stdout);
		else if (*p == '-')
			fputs("\\-", stdout);
		else if (*p == '\'')
			fputs("\\(aq", stdout);
		else if (*p == '`')
			fputs("\\(ga", stdout);
		else if (*p == '^')
			fputs("\\(ha", stdout);
		else if (*p == '~')
			fputs("\\(ti", stdout);
		else if (*p == '.' && p == text)
			fputs("\\&.", stdout);
		else
			putchar(*p);
	}
}

/* A tagged paragraph. */
static void
tagged(const char *tag, const char *text)
{
	fputs(".TP\n.B ", stdout);
	roff(tag);
	putchar('\n');
	roff(text);
	putchar('\n');
}

static void
page_keys(void)
{
	struct key_row row;

	fputs(".SH KEYS\n", stdout);
	for (size_t i = 0; keys_row(i, &row); i++)
		if (row.keys[0] != '\0')
			tagged(row.keys, row.help);
		else {
			fputs(".SS ", stdout);
			roff(row.help);
			putchar('\n');
		}
}

void
man_print_page(void)
{
	static const char before[] =
	    ".TH PSUP-TOP 1 2026-11-21 \"psup %s\" \"psup manual\"\n"
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
	    "running/width, +queued, and what holds the queue back.\n"
	    ".PP\n"
	    "Everything that a command, its name or its output says is "
	    "escaped: a control character is shown as \\ex1b. In the pane a "
	    "terminal's screen is drawn as its program wants; other output "
	    "is shown as psup log shows it.\n";
	static const char after[] =
	    ".SH BATCH\n"
	    "With \\-\\-batch each refresh is the header and the table as "
	    "text, with an empty line before the next one; names are not cut. "
	    "With \\-\\-json it is an object a line: atMs, server, totals, "
	    "processes, lanes, pressure and sessions; figures that are not "
	    "known (yet) are null. Rates need two refreshes.\n"
	    ".SH EXIT STATUS\n"
	    "0; 1: it failed; 2: wrong usage; 3: there is no server, or its "
	    "memory is of another version, which is said and never misread.\n"
	    ".SH ENVIRONMENT\n"
	    "PSUP_RUNTIME_DIR, XDG_RUNTIME_DIR: where the server is. "
	    "NO_COLOR: no colours. TERM.\n"
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
	char words[64];

	printf(before, psup_version());
	roff(about);
	putchar('\n');
	fputs(described, stdout);
	fputs(".SH OPTIONS\n", stdout);
	for (size_t i = 0; i < option_row_count; i++) {
		option_words(&option_rows[i], words, sizeof(words));
		tagged(words + strspn(words, " "), option_rows[i].doc);
	}
	fputs(".SH COLUMNS\n", stdout);
	for (size_t i = 0; i < column_count; i++)
		tagged(columns[i].name, columns[i].doc);
	page_keys();
	fputs(after, stdout);
}
