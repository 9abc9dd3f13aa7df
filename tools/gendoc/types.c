/* SPDX-License-Identifier: MIT */
/* psup-gendoc types LANGUAGE: walks the protocol table for a printer. */
#include "tools/gendoc/types.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "tools/gendoc/gendoc.h"

static const struct types_printer *const printers[] = {&types_ts, &types_js,
	&types_py};

/* What the table says in prose only: {method or group, field, its type}. */
static const char *const known_maps[][3] = {
    {"list", "sessions", "array of rows"},
    {"events", "events", "array of events"},
};

static const char *const param_types[] = {
    [PT_STR] = "str",
    [PT_DATA] = "data",
    [PT_INT] = "int",
    [PT_NUM] = "number",
    [PT_BOOL] = "bool",
    [PT_STRMAP] = "map of str",
    [PT_STRLIST] = "array of str",
    [PT_OBJECT] = "map",
    [PT_STDIN] = "stdin",
    [PT_STREAM] = "stream",
    [PT_SIGNAL] = "signal",
};

static const struct {
	const char *said, *meant;
	bool wrong;
} slips[] = {
#define SLIP(said, meant, wrong) {said, meant, wrong},
#include "common/proto.def"
};

bool
types_slip(size_t *at, const char **ret_said, const char **ret_meant)
{
	while (*at < NELEMS(slips) && !slips[*at].wrong)
		++*at;
	if (*at == NELEMS(slips))
		return false;
	*ret_said = slips[*at].said;
	*ret_meant = slips[*at].meant;
	++*at;
	return true;
}

const char *
types_of_param(const struct proto_param *row)
{
	return row->any_bytes ? "map of data" : param_types[row->type];
}

void
types_print(const char *const (*words)[2], size_t count, const char *type,
    const char *between)
{
	for (bool first = true; *type != '\0'; first = false) {
		size_t n = strcspn(type, "|"), i = 0;

		while (i < count && (strlen(words[i][0]) != n ||
		    strncmp(words[i][0], type, n) != 0))
			i++;
		CHECK(i < count);
		printf("%s%s", first ? "" : between, words[i][1]);
		type += n + (type[n] == '|');
	}
}

const char *
types_camel(const char *name)
{
	static char camel[64];
	size_t n = 0;

	for (bool up = true; *name != '\0' && n + 1 < sizeof(camel); name++) {
		if (*name == '-') {
			up = true;
			continue;
		}
		camel[n++] = up ? (char)toupper((unsigned char)*name) : *name;
		up = false;
	}
	camel[n] = '\0';
	return camel;
}

/* Up to the first full stop that ends a sentence, and is none of "...". Good
 * until the next call. */
static const char *
first_sentence(const char *doc)
{
	static char text[512];
	size_t n = 0;

	while (
	    doc[n] != '\0' && (doc[n] != '.' || (n > 0 && doc[n - 1] == '.') ||
				  (doc[n + 1] != ' ' && doc[n + 1] != '\0')))
		n++;
	CHECK(n < sizeof(text));
	memcpy(text, doc, n);
	text[n] = '\0';
	return text;
}

static void
tell_shape(const struct types_printer *p, enum types_shape shape,
    enum proto_method m, const char *name, const char *doc)
{
	p->shape(shape, m, name, first_sentence(doc));
}

static void
tell_field(const struct types_printer *p, const char *of, const char *name,
    const char *type, bool optional, const char *doc)
{
	for (size_t i = 0; i < NELEMS(known_maps); i++)
		if (strcmp(known_maps[i][0], of) == 0 &&
		    strcmp(known_maps[i][1], name) == 0)
			type = known_maps[i][2];
	p->field(&(struct types_field){.name = name,
	    .type = type,
	    .optional = optional,
	    .doc = first_sentence(doc)});
}

/* Is the row the first of its group? They stand together. */
static bool
is_first(size_t i)
{
	return i == 0 ||
	       strcmp(proto_details[i].group, proto_details[i - 1].group) != 0;
}

static void
walk_groups(const struct types_printer *p)
{
	for (size_t i = 0; i < proto_detail_count; i++) {
		const struct proto_detail *d = &proto_details[i];

		if (is_first(i))
			p->shape(TYPES_GROUP, PROTO_METHOD_COUNT, d->group, "");
		tell_field(p, d->group, d->name, d->type, true, d->doc);
		if (i + 1 == proto_detail_count || is_first(i + 1))
			p->shape_end();
	}
	p->shape(TYPES_ROW, PROTO_METHOD_COUNT, "row", "");
	for (size_t i = 0; i < proto_detail_count; i++)
		if (is_first(i) && proto_detail_of_row(&proto_details[i]))
			p->group(proto_details[i].group);
	p->shape_end();
}

static void
walk_params(const struct types_printer *p, enum proto_method m)
{
	char type[32];

	tell_shape(
	    p, TYPES_PARAMS, m, proto_method_name(m), proto_method_doc(m));
	for (size_t i = 0; i < proto_param_count; i++) {
		const struct proto_param *row = &proto_params[i];

		if (row->method != m)
			continue;
		(void)snprintf(type, sizeof(type), "%s%s",
		    types_of_param(row),
		    row->nullable ? "|nil" : "");
		p->field(&(struct types_field){.name = row->name,
		    .type = type,
		    .optional = !row->required,
		    .doc = first_sentence(row->doc),
		    .param = row});
	}
	p->shape_end();
}

static void
walk_answer(const struct types_printer *p, enum proto_method m)
{
	bool any = false;

	tell_shape(p, TYPES_ANSWER, m, proto_method_name(m), "");
	for (size_t i = 0; i < proto_detail_count; i++) {
		if (!is_first(i) || !proto_detail_of(&proto_details[i], m))
			continue;
		p->group(proto_details[i].group);
		any = true;
	}
	for (size_t i = 0; i < proto_field_count; i++) {
		const struct proto_field *f = &proto_fields[i];

		if (f->method != m)
			continue;
		tell_field(p, proto_method_name(m), f->name,
		    any && strcmp(f->name, "details") == 0 ? "details"
							   : f->type,
		    m == PROTO_STATUS || m == PROTO_UPGRADE, f->doc);
	}
	p->shape_end();
}

/* An event has what its kind has. */
static bool
may_be_absent(const char *note, const char *field)
{
	if (strcmp(note, "event") == 0)
		return strcmp(field, "seq") != 0 && strcmp(field, "kind") != 0;
	return strcmp(field, "dropped") == 0 || strcmp(field, "pty") == 0;
}

static void
walk_notes(const struct types_printer *p)
{
	for (size_t i = 0; i < note_count; i++) {
		if (strcmp(notes[i].direction, "server to client") != 0)
			continue;
		tell_shape(p, TYPES_NOTE, PROTO_METHOD_COUNT, notes[i].name,
		    notes[i].doc);
		for (size_t k = 0; k < note_field_count; k++) {
			if (strcmp(note_fields[k].note, notes[i].name) == 0)
				tell_field(p, notes[i].name,
				    note_fields[k].name, note_fields[k].type,
				    may_be_absent(
					notes[i].name, note_fields[k].name),
				    note_fields[k].doc);
		}
		p->shape_end();
	}
}

bool
print_types(const char *language)
{
	const struct types_printer *p = NULL;

	for (size_t i = 0; i < NELEMS(printers); i++)
		if (strcmp(printers[i]->language, language) == 0)
			p = printers[i];
	if (p == NULL)
		return false;
	p->begin();
	walk_groups(p);
	for (size_t i = 0; i < PROTO_METHOD_COUNT; i++) {
		walk_params(p, (enum proto_method)i);
		walk_answer(p, (enum proto_method)i);
	}
	walk_notes(p);
	p->end();
	return true;
}
