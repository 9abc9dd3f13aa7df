/* SPDX-License-Identifier: MIT */
/*
 * The tables that a client needs while it runs: tools/clients/node/src/
 * methods.js. Of each method whether it may be asked for again; of those that
 * models call their parameters, too, by the names that a tool gives them.
 */
#include <stdio.h>
#include <string.h>

#include "tools/gendoc/types.h"

/* Are we among the parameters of a method that models call? */
static bool listing;

static void
print_quoted(const char *s)
{
	putchar('\'');
	for (; *s != '\0'; s++) {
		if (*s == '\'' || *s == '\\')
			putchar('\\');
		putchar(*s);
	}
	putchar('\'');
}

static void
js_begin(void)
{
	puts(
	    "// Printed by psup-gendoc types js from common/proto.def.\n\n"
	    "// Of each method: the rule by which it may be asked for again "
	    "after a lost\n// answer; of what models call its parameters: name "
	    "among the tool's, [type,\n// what it means, its name of the "
	    "wire]. A type ends by ! where the parameter is\n// required, ~ "
	    "where it is moved into its range, + where an empty list or 0\n"
	    "// means nothing; ^ where a program sets it, not a model.\n"
	    "export const METHODS = {");
}

static void
js_shape(enum types_shape shape, enum proto_method m, const char *name,
    const char *)
{
	listing = false;
	if (shape != TYPES_PARAMS)
		return;
	fputs("  ", stdout);
	print_quoted(name);
	printf(": ['%s'", proto_method_repeat(m));
	listing = proto_method_kind(m) == PROTO_TOOL ||
		  proto_method_kind(m) == PROTO_ACTION;
	puts(listing ? ", {" : "],");
}

static void
js_field(const struct types_field *f)
{
	const struct proto_param *row = f->param;
	const char *name;

	if (!listing)
		return;
	name = proto_tool_name(row);
	printf("    %s: ['%s%s%s%s%s'", name, f->type, row->required ? "!" : "",
	    row->clamp ? "~" : "",
	    types_need_more(row) ? "+" : "",
	    row->program ? "^" : "");
	if (!row->program) {
		fputs(", ", stdout);
		print_quoted(f->doc);
	}
	if (strcmp(name, row->name) != 0)
		printf(", '%s'", row->name);
	puts("],");
}

static void
js_group(const char *)
{
}

static void
js_shape_end(void)
{
	if (listing)
		puts("  }],");
	listing = false;
}

static void
js_end(void)
{
	const char *said, *meant;

	puts("};\n\n// Taken, though no method has it: the parameter it stands "
	     "for, what it means.\nexport const EXTRAS = {");
	for (size_t i = 0; i < proto_extra_count; i++) {
		const struct proto_extra *x = &proto_extras[i];

		printf("  %s: ['%s', '%s', ", x->name, x->tool, x->as);
		print_quoted(x->doc);
		puts("],");
	}
	puts(
	    "};\n\n// What was said, and what was meant: to ignore it would do "
	    "the wrong thing.\nexport const SLIPS = [");
	for (size_t at = 0; types_slip(&at, &said, &meant);)
		printf("  ['%s', '%s'],\n", said, meant);
	puts("];");
}

const struct types_printer types_js = {
    .language = "js",
    .begin = js_begin,
    .shape = js_shape,
    .field = js_field,
    .group = js_group,
    .shape_end = js_shape_end,
    .end = js_end,
};
