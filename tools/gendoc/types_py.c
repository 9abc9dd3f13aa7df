/* SPDX-License-Identifier: MIT */
/*
 * The types as Python, and the tables that its client needs while it runs:
 * tools/clients/python/psup/_protocol.py.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "tools/gendoc/types.h"

static const char *const words[][2] = {
    {"str", "str"},
    {"int", "int"},
    {"number", "float"},
    {"bool", "bool"},
    {"bin", "bytes"},
    {"nil", "None"},
    {"data", "Data"},
    {"map", "Dict[str, Any]"},
    {"map of str", "Mapping[str, str]"},
    {"map of data", "Mapping[str, Data]"},
    {"array of str", "Sequence[str]"},
    {"array of int", "List[int]"},
    {"array of maps", "List[Dict[str, Any]]"},
    {"array of arrays", "List[List[Any]]"},
    {"array of rows", "List[Row]"},
    {"array of events", "List[EventNote]"},
    {"stream", "Union[bool, str]"},
    {"signal", "Union[str, int]"},
    {"stdin", "Union[str, Dict[str, str]]"},
};

/* Short, among the tables. */
static const char *const short_types[] = {
    [PT_STR] = "str",
    [PT_DATA] = "data",
    [PT_INT] = "int",
    [PT_NUM] = "num",
    [PT_BOOL] = "bool",
    [PT_STRMAP] = "strmap",
    [PT_STRLIST] = "strlist",
    [PT_OBJECT] = "map",
    [PT_STDIN] = "stdin",
    [PT_STREAM] = "stream",
    [PT_SIGNAL] = "signal",
};

/* The shape under way, and the groups that its details have. */
static enum types_shape shape_now;
static enum proto_method method_now;
static char groups[512];
static bool any_field;
static bool listing; /* the parameters of what models call */

/* Is its answer a text with details? */
static bool
has_text(enum proto_method m)
{
	for (size_t i = 0; i < proto_field_count; i++)
		if (proto_fields[i].method == m &&
		    strcmp(proto_fields[i].name, "text") == 0)
			return true;
	return false;
}

/* And are those of groups? */
static bool
has_groups(enum proto_method m)
{
	for (size_t i = 0; i < proto_detail_count; i++)
		if (proto_detail_of(&proto_details[i], m))
			return true;
	return false;
}

/* A text as a Python literal. */
static void
print_quoted(const char *s)
{
	putchar('"');
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			putchar('\\');
		putchar(*s);
	}
	putchar('"');
}

static void
print_type(const char *type)
{
	bool several = strchr(type, '|') != NULL;

	if (several)
		fputs("Union[", stdout);
	types_print(words, NELEMS(words), type, ", ");
	if (several)
		putchar(']');
}

/* A field's: its class says that it may be absent, unless it never is. */
static void
print_field(const struct types_field *f)
{
	if (f->optional) {
		print_type(f->type);
		return;
	}
	fputs("Required[", stdout);
	print_type(f->type);
	putchar(']');
}

/* "sessionId" and "send-keys" as session_id and send_keys. */
static const char *
snake(const char *name)
{
	static char text[64];
	size_t n = 0;

	for (; *name != '\0' && n + 2 < sizeof(text); name++) {
		if (isupper((unsigned char)*name))
			text[n++] = '_';
		text[n++] =
		    *name == '-' ? '_' : (char)tolower((unsigned char)*name);
	}
	text[n] = '\0';
	return text;
}

/* The tool that has the method, or "". */
static const char *
tool_of(enum proto_method m)
{
	for (size_t i = 0; i < proto_action_count; i++)
		if (proto_actions[i].method == m)
			return proto_actions[i].tool;
	return "";
}

/* A parameter's row in METHODS. */
static void
print_row(const struct types_field *f)
{
	const struct proto_param *row = f->param;

	printf("    \"%s\": (\"%s%s%s%s%s%s\", ", proto_tool_name(row),
	    short_types[row->type], row->required ? "!" : "",
	    row->nullable ? "?" : "", row->clamp ? "~" : "",
	    types_need_more(row) ? "+" : "",
	    row->program ? "^" : "");
	print_quoted(row->program ? "" : f->doc);
	printf(", \"%s\"),\n", row->name);
}

static void
py_begin(void)
{
	puts("# SPDX-License-Identifier: MIT\n"
	     "\"\"\"Printed by psup-gendoc types py from common/proto.def.\n\n"
	     "docs/protocol.md says the rest.\n\"\"\"\n"
	     "from __future__ import annotations\n\n"
	     "from typing import (TYPE_CHECKING, Any, Dict, List, Mapping, "
	     "Sequence, Tuple,\n                    TypedDict, Union)\n\n"
	     "if TYPE_CHECKING:  # what checks types has it\n"
	     "    from typing_extensions import Required\n\n"
	     "from ._answer import ABSENT, Absent, Answer, Calls\n\n"
	     "Data = Union[str, bytes]\n\n"
	     "# Of each method: the rule by which it may be asked for again "
	     "after a lost\n# answer, the tool that it belongs to, or \"\", "
	     "and of "
	     "those its parameters: name\n# among the tool's, (type, what it "
	     "means, its name of the wire). A type ends by !\n# where the "
	     "parameter is required, ? where nil means something, ~ where it "
	     "is\n# moved into its range, + where an empty list or 0 "
	     "means nothing; ^ where a\n# program sets it, not a model.\n"
	     "METHODS: Dict[str, Tuple[str, str, Dict[str, Tuple[str, str, "
	     "str]]]] = {}");
}

static void
py_shape(enum types_shape shape, enum proto_method m, const char *name,
    const char *)
{
	shape_now = shape;
	method_now = m;
	groups[0] = '\0';
	any_field = false;
	listing = false;
	if (shape == TYPES_PARAMS) {
		listing = tool_of(m)[0] != '\0';
		printf("\nMETHODS[\"%s\"] = (\"%s\", \"%s\", {%s", name,
		    proto_method_repeat(m), tool_of(m), listing ? "\n" : "");
	}
	if (shape == TYPES_GROUP || shape == TYPES_NOTE)
		printf("\n\nclass %s%s(TypedDict, total=False):\n",
		    types_camel(name), shape == TYPES_NOTE ? "Note" : "Group");
}

static void
py_group(const char *name)
{
	size_t n = strlen(groups);

	n += (size_t)snprintf(groups + n, sizeof(groups) - n, "%s%sGroup",
	    n > 0 ? ", " : "", types_camel(name));
	CHECK(n < sizeof(groups));
}

static void
py_field(const struct types_field *f)
{
	const char *name;

	if (listing) {
		print_row(f);
	} else if (shape_now == TYPES_GROUP || shape_now == TYPES_NOTE) {
		printf("    %s: ", f->name);
		print_field(f);
		putchar('\n');
	} else if (shape_now == TYPES_ANSWER && !has_text(method_now)) {
		/* not by the class statement: one field is called from */
		name = types_camel(proto_method_name(method_now));
		if (!any_field)
			printf("\n\n%sAnswer = TypedDict(\"%sAnswer\", {\n",
			    name, name);
		any_field = true;
		printf("    \"%s\": \"", f->name);
		print_field(f);
		puts("\",");
	}
}

static void
py_shape_end(void)
{
	const char *camel;

	if (shape_now == TYPES_PARAMS) {
		puts("})");
	} else if (shape_now == TYPES_ROW) {
		printf("\n\nclass Row(%s, total=False):\n    pass\n", groups);
	} else if (shape_now == TYPES_ANSWER) {
		camel = types_camel(proto_method_name(method_now));
		if (any_field)
			puts("}, total=False)");
		else if (groups[0] != '\0')
			printf("\n\nclass %sDetails(%s, total=False):\n"
			       "    pass\n",
			    camel, groups);
	}
}

/* Given without its name? */
static bool
is_positional(const struct proto_param *row)
{
	return row->required || row->type == PT_DATA ||
	       strcmp(row->name, "command") == 0 ||
	       strcmp(row->name, "sessionId") == 0;
}

static void
print_param(const struct proto_param *row)
{
	const char *type = types_of_param(row);

	printf(",\n        %s: ", snake(row->name));
	if (row->required) {
		print_type(type);
		return;
	}
	fputs("Union[", stdout);
	print_type(type);
	fputs(row->nullable ? ", None, Absent] = ABSENT" : ", None] = None",
	    stdout);
}

/* Without their names first: the others may then stand in any order. */
static void
print_def(enum proto_method m)
{
	const char *name = proto_method_name(m);
	bool any_named = false;

	printf("\n    async def %s(\n        self", snake(name));
	for (int named = 0; named < 2; named++) {
		for (size_t i = 0; i < proto_param_count; i++) {
			const struct proto_param *row = &proto_params[i];

			if (row->method != m || is_positional(row) == named)
				continue;
			if (named && !any_named)
				fputs(",\n        *", stdout);
			any_named = named;
			print_param(row);
		}
	}
	fputs("\n    ) -> ", stdout);
	if (!has_text(m))
		printf("%sAnswer", types_camel(name));
	else if (has_groups(m))
		printf("Answer[%sDetails]", types_camel(name));
	else
		fputs("Answer[Dict[str, Any]]", stdout);
	printf(":\n        \"\"\"%s\"\"\"\n", proto_method_doc(m));
	if (has_text(m))
		printf("        return Answer(await self._ask(\"%s\", "
		       "locals()))\n",
		    name);
	else
		printf("        ret: %sAnswer = await self._ask(\"%s\", "
		       "locals())\n        return ret\n",
		    types_camel(name), name);
}

static void
py_end(void)
{
	const char *said, *meant;

	puts("\n\nclass Methods(Calls):");
	puts("    \"\"\"Every method but those that a connection says itself."
	     "\"\"\"");
	for (size_t i = 0; i < PROTO_METHOD_COUNT; i++)
		if (i != PROTO_HELLO && i != PROTO_SUBSCRIBE)
			print_def((enum proto_method)i);
	puts("\n\n# Taken, though no method has it: the tool, the parameter it "
	     "stands for, what it\n# means.\nEXTRAS = {");
	for (size_t i = 0; i < proto_extra_count; i++) {
		const struct proto_extra *x = &proto_extras[i];

		printf(
		    "    \"%s\": (\"%s\", \"%s\", ", x->name, x->tool, x->as);
		print_quoted(x->doc);
		puts("),");
	}
	puts("}\n\n# What was said, and what was meant: to ignore it would do "
	     "the wrong thing.\nSLIPS = (");
	for (size_t at = 0; types_slip(&at, &said, &meant);)
		printf("    (\"%s\", \"%s\"),\n", said, meant);
	puts(")\n\nCODES = (");
	for (size_t i = 0; i < PROTO_ERROR_COUNT; i++)
		printf("    \"%s\",\n", proto_error_name((enum proto_error)i));
	puts(")");
}

const struct types_printer types_py = {
    .language = "py",
    .begin = py_begin,
    .shape = py_shape,
    .field = py_field,
    .group = py_group,
    .shape_end = py_shape_end,
    .end = py_end,
};
