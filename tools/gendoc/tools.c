/* SPDX-License-Identifier: MIT */
/* The last section of docs/protocol.md: the tools, as models call them. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "common/proto.h"
#include "tools/gendoc/gendoc.h"

static const struct {
	const char *said, *meant;
	bool wrong;
} slips[] = {
#define SLIP(said, meant, wrong) { said, meant, wrong },
#include "common/proto.def"
};

/* Was one of that name printed before, among the first n? */
static bool
seen_slip(size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (slips[i].wrong && strcmp(slips[i].said, slips[n].said) == 0)
			return true;
	return false;
}

static void
print_slips(void)
{
	bool any = false;
	size_t i;

	for (i = 0; i < NELEMS(slips); i++) {
		if (!slips[i].wrong || seen_slip(i))
			continue;
		printf("%s`%s`", any ? ", " : "", slips[i].said);
		any = true;
	}
}

/* The actions of a tool, or its own name. */
static void
print_actions(const char *tool)
{
	bool any = false;
	size_t i;

	for (i = 0; i < proto_action_count; i++) {
		if (strcmp(proto_actions[i].tool, tool) != 0)
			continue;
		printf("%s`%s`", any ? ", " : "",
		    proto_method_name(proto_actions[i].method));
		any = true;
	}
}

static void
print_renamed(void)
{
	size_t i;

	puts("| tool | name | of the method |\n|---|---|---|");
	for (i = 0; i < proto_param_count; i++) {
		const struct proto_param *row = &proto_params[i];
		const char *name = proto_tool_name(row);

		if (strcmp(name, row->name) != 0)
			printf("| %s | %s | `%s` of %s |\n",
			    row->method == PROTO_EXEC ? "exec" : "process",
			    name, row->name, proto_method_name(row->method));
	}
	for (i = 0; i < proto_extra_count; i++) {
		const struct proto_extra *x = &proto_extras[i];

		printf("| %s | %s |", x->tool, x->name);
		cell(x->doc);
		putchar('\n');
	}
	putchar('\n');
}

void
print_tools(void)
{
	puts("\n## 14. Tool calls\n\n"
	    "What a model calls, through `psup tool` and whatever else passes "
	    "its calls on, is a tool with one flat object of arguments; the "
	    "methods above stay as strict as they are.\n");
	fputs("The tool `exec` is the method of that name. The tool `process` "
	    "takes as `action` one of ", stdout);
	print_actions("process");
	fputs(".\n\n- Every parameter of the methods of a tool is taken with "
	    "each of its actions, and without meaning where the method has "
	    "none. These have another name, or are no method's:\n\n", stdout);
	print_renamed();
	puts("- null, \"\", an empty list that means nothing, and 0 where a "
	    "number has to be more are as if they were not there. null stays where the table says nil; \"\" in a "
	    "map, and as data.\n"
	    "- Digits in a string are a number where one is expected, `true` "
	    "and `false` in any case a bool; integers and booleans in a map of "
	    "strings become strings. `host` is compared without case and "
	    "blanks, `action` without case, hyphens and underscores. A list "
	    "or a map may be the text of its JSON, and a list but `argv` its "
	    "only word. What cannot be bent is refused.\n"
	    "- A name that no method of the tool has is ignored; "
	    "`details.ignored` names it, and the last line of text.");
	fputs("- Refused, with the name that was meant, where that is not "
	    "given: ", stdout);
	print_slips();
	puts(".\n\nThe answer is the method's. One that the server did not "
	    "answer with a result has the same shape: `details.error` is the "
	    "text, `details.code` a code of section 12, `details.field` the "
	    "parameter; of exec also failureKind, exitCode (null), exitSignal "
	    "(null), durationMs, aggregated, timedOut, noOutputTimedOut and "
	    "cwd.");
}
