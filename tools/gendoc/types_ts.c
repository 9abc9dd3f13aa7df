/* SPDX-License-Identifier: MIT */
/* The types as TypeScript: tools/clients/node/protocol.d.ts. */
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "tools/gendoc/types.h"

static const char *const words[][2] = {
    {"str", "string"},
    {"int", "number"},
    {"number", "number"},
    {"bool", "boolean"},
    {"bin", "Uint8Array"},
    {"nil", "null"},
    {"data", "Data"},
    {"map", "Fields"},
    {"map of str", "Record<string, string | undefined>"},
    {"map of data", "Record<string, Data | undefined>"},
    {"array of str", "string[]"},
    {"array of int", "number[]"},
    {"array of maps", "Fields[]"},
    {"array of arrays", "unknown[][]"},
    {"array of rows", "Row[]"},
    {"array of events", "EventNote[]"},
    {"stream", "boolean | 'tail'"},
    {"signal", "string | number"},
    {"stdin", "'open' | 'closed' | {text: string}"},
};

/* The shape under way; the groups of its details, joined. */
static enum types_shape shape_now;
static char groups[512];

static void
print_type(const char *type)
{
	types_print(words, NELEMS(words), type, " | ");
}

static void
ts_begin(void)
{
	puts("// Printed by psup-gendoc types ts from common/proto.def.\n"
	     "// docs/protocol.md says the rest.\n"
	     "export type Data = string | Uint8Array;\n"
	     "export type Fields = Record<string, any>;");
}

static void
ts_shape(enum types_shape shape, enum proto_method, const char *name,
    const char *doc)
{
	static const char *const suffix[] = {
	    [TYPES_GROUP] = "Group",
	    [TYPES_PARAMS] = "Params",
	    [TYPES_ANSWER] = "Answer",
	    [TYPES_NOTE] = "Note",
	};

	shape_now = shape;
	groups[0] = '\0';
	if (doc[0] != '\0')
		printf("/** %s */\n", doc);
	if (shape == TYPES_ROW)
		return;
	printf("export interface %s%s {\n", types_camel(name), suffix[shape]);
}

static void
ts_group(const char *name)
{
	size_t n = strlen(groups);

	n += (size_t)snprintf(groups + n, sizeof(groups) - n, "%s%sGroup",
	    n > 0 ? " & " : "", types_camel(name));
	CHECK(n < sizeof(groups));
}

static void
ts_field(const struct types_field *f)
{
	if (f->doc[0] != '\0')
		printf("  /** %s */\n", f->doc);
	printf("  %s%s: ", f->name, f->optional ? "?" : "");
	if (strcmp(f->type, "details") == 0)
		fputs(groups, stdout);
	else
		print_type(f->type);
	puts(";");
}

static void
ts_shape_end(void)
{
	if (shape_now == TYPES_ROW)
		printf("export type Row = %s;\n", groups);
	else
		puts("}");
}

static void
ts_end(void)
{
	puts("export interface Methods {");
	for (size_t i = 0; i < PROTO_METHOD_COUNT; i++) {
		const char *name = proto_method_name((enum proto_method)i);

		printf("  '%s': [%sParams, ", name, types_camel(name));
		printf("%sAnswer];\n", types_camel(name));
	}
	puts("}\nexport type Code =");
	for (size_t i = 0; i < PROTO_ERROR_COUNT; i++)
		printf("  | '%s'\n", proto_error_name((enum proto_error)i));
	puts("  ;");
}

const struct types_printer types_ts = {
    .language = "ts",
    .begin = ts_begin,
    .shape = ts_shape,
    .field = ts_field,
    .group = ts_group,
    .shape_end = ts_shape_end,
    .end = ts_end,
};
