/* SPDX-License-Identifier: MIT */
/*
 * psup-gendoc INTRODUCTION: prints docs/protocol.md: the introduction, an
 * example encoded by the real encoder, and every row of the protocol table;
 * psup-gendoc --metrics INTRODUCTION: docs/metrics.md; psup-gendoc types
 * LANGUAGE: the types of clients. A build tool, never installed; the one tool
 * that includes common/.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "common/keys.h"
#include "common/proto.h"
#include "tools/gendoc/gendoc.h"

static const char *const kind_words[] = {
	[PROTO_TOOL] = "any connection",
	[PROTO_ACTION] = "any connection",
	[PROTO_SYSTEM] = "any connection",
	[PROTO_ADMIN] = "admin connections",
};

void
cell(const char *s)
{
	putchar(' ');
	for (; *s != '\0'; s++) {
		if (*s == '|')
			putchar('\\');
		putchar(*s);
	}
	fputs(" |", stdout);
}

/* What a row of list shows of a session as it is kept. */
static const struct {
	const char *type, *key, *doc;
} shown[] = {
#define TYPE_STR         "str"
#define TYPE_SLUG        "str"
#define TYPE_MAP         "map"
#define TYPE_U64         "int"
#define TYPE_I64         "int"
#define TYPE_U32         "int"
#define TYPE_I32         "int"
#define TYPE_BOOL        "bool"
#define UNSHOWN          NULL, NULL
#define ALWAYS(key, doc) key, doc
#define IF_SET(key, doc) key, doc " Absent where there is none."
#define KEPT(kind, path, key, ...) { TYPE_##kind, __VA_ARGS__ },
#include "supervisor/session/session.def"
};

/* Copies the introduction. */
static bool
print_file(const char *path)
{
	FILE *f = fopen(path, "re");
	int c;

	if (f == NULL)
		return false;
	while ((c = getc(f)) != EOF)
		putchar(c);
	return fclose(f) == 0;
}

/* A parameter's type and range, in words. */
static void
type_words(const struct proto_param *p, char *dst, size_t size)
{
	long long min = (long long)p->min, max = (long long)p->max;

	if (proto_words(p) != NULL) {
		(void)strlcpy(dst, "str: ", size);
		proto_words_list(proto_words(p), dst + 5, size - 5);
		return;
	}
	switch (p->type) {
	case PT_STR:
		(void)snprintf(dst, size, "str, %lld..%lld bytes", min, max);
		break;
	case PT_DATA:
		(void)snprintf(dst, size, "data, %lld..%lld bytes", min, max);
		break;
	case PT_INT:
		(void)snprintf(dst, size, "int, %lld..%lld%s%s", min, max,
		    p->clamp ? ", clamped" : "", p->nullable ? ", or nil" : "");
		break;
	case PT_NUM:
		(void)snprintf(dst, size, "number, %lld..%lld", min, max);
		break;
	case PT_BOOL:
		(void)snprintf(dst, size, "bool");
		break;
	case PT_STRMAP:
		(void)snprintf(dst, size, "map of str to %s, at most %lld",
		    p->any_bytes ? "data" : "str", max);
		break;
	case PT_STRLIST:
		(void)snprintf(dst, size, "array of str, %lld..%lld", min, max);
		break;
	case PT_OBJECT:
		(void)snprintf(dst, size, "map");
		break;
	case PT_STREAM:
		(void)snprintf(dst, size, "true, false or \"tail\"");
		break;
	case PT_SIGNAL:
		(void)snprintf(dst, size, "str, or int, %lld..%lld", min, max);
		break;
	case PT_STDIN:
		(void)snprintf(dst, size, "\"open\", \"closed\" or {text}");
		break;
	}
}

/* One field of a result, in its table. */
static void
print_field(const char *name, const char *type, const char *doc)
{
	putchar('|');
	cell(name);
	cell(type);
	cell(doc);
	putchar('\n');
}

/* The fields of a row of list that are told as they are kept. */
static void
print_shown(void)
{
	char name[64];

	for (size_t i = 0; i < NELEMS(shown); i++) {
		if (shown[i].key == NULL)
			continue;
		(void)snprintf(name, sizeof(name), "details.sessions[].%s",
		    shown[i].key);
		print_field(name, shown[i].type, shown[i].doc);
	}
}

/* The groups of fields that its details have. */
static void
print_groups(enum proto_method m)
{
	const char *last = "";
	bool any = false;
	size_t i;

	for (i = 0; i < proto_detail_count; i++) {
		const struct proto_detail *d = &proto_details[i];

		if (strcmp(d->group, last) == 0)
			continue;
		last = d->group;
		if (!proto_detail_of(d, m))
			continue;
		printf("%s%s", any ? ", " : "Groups of fields in its details: ",
		    d->group);
		any = true;
	}
	if (any)
		puts(".\n");
}

/* All fields of details. */
static void
print_details(void)
{
	size_t i;

	puts("### Fields of details\n\nA method's answer may have those of its "
	    "groups, where they have something to say; a client ignores those "
	    "that it does not know. Groups marked row are those of the rows of "
	    "`list` and `wait`.\n\n| group | field | type | |\n|---|---|---|---|");
	for (i = 0; i < proto_detail_count; i++) {
		const struct proto_detail *d = &proto_details[i];

		printf("| %s%s |", d->group,
		    proto_detail_of_row(d) && strcmp(d->group, "row") != 0
			? ", row"
			: "");
		cell(d->name);
		cell(d->type);
		cell(d->doc);
		putchar('\n');
	}
	putchar('\n');
}

/* The tables of one method. */
static void
print_method(enum proto_method m)
{
	bool any = false;
	char type[100];
	size_t i;

	const char *repeat = proto_method_repeat(m);

	printf("### %s\n\n%s\n\nFor %s. After a lost answer: ",
	    proto_method_name(m), proto_method_doc(m),
	    kind_words[proto_method_kind(m)]);
	if (repeat[0] == '\0')
		puts("not to be asked for again unseen.\n");
	else if (repeat[0] == '*')
		puts("ask again.\n");
	else
		printf("with `%s` ask again.\n\n", repeat);
	for (i = 0; i < proto_param_count; i++) {
		const struct proto_param *p = &proto_params[i];

		if (p->method != m)
			continue;
		if (!any)
			puts("| parameter | type | default | |\n"
			    "|---|---|---|---|");
		any = true;
		type_words(p, type, sizeof(type));
		putchar('|');
		cell(p->name);
		cell(type);
		cell(p->required ? "required" : p->dflt);
		cell(p->doc);
		putchar('\n');
	}
	puts(any ? "" : "No parameters.\n");
	puts("| result | type | |\n|---|---|---|");
	for (i = 0; i < proto_field_count; i++) {
		if (proto_fields[i].method == m)
			print_field(proto_fields[i].name, proto_fields[i].type,
			    proto_fields[i].doc);
	}
	if (m == PROTO_LIST)
		print_shown();
	putchar('\n');
	print_groups(m);
}

/* The table of one notification. */
static void
print_note(const struct note *note)
{
	size_t i;

	printf("### %s\n\n%s (%s)\n\n| field | type | |\n|---|---|---|\n",
	    note->name, note->doc, note->direction);
	for (i = 0; i < note_field_count; i++) {
		if (strcmp(note_fields[i].note, note->name) == 0)
			print_field(note_fields[i].name, note_fields[i].type,
			    note_fields[i].doc);
	}
	putchar('\n');
}

/* The bytes of a key as people write them. */
static void
print_bytes(const char *s)
{
	putchar(' ');
	for (; *s != '\0'; s++) {
		if (*s == '\033')
			fputs("ESC ", stdout);
		else if (*s == '\r')
			fputs("CR", stdout);
		else if (*s <= ' ' || *s == '\177')
			printf("%02x", (unsigned)*s);
		else
			putchar(*s);
	}
	fputs(" |", stdout);
}

/* Section 13. */
static void
print_keys(void)
{
	const struct key *k;
	size_t i;

	puts("\n## 13. Keys\n\n"
	    "An item of `keys` in `send-keys`, white space around it taken "
	    "off, is the first of:\n\n"
	    "- `^X`, a control code: X is one of `@` A-Z `[ \\ ] ^ _`, or `?` "
	    "for 7f.\n"
	    "- One of the following after any number of the prefixes `C-` "
	    "(ctrl), `M-` (alt), `S-` (shift), in any order and case.\n"
	    "- A name of the table, in any case. The modifiers of a key marked "
	    "m become a parameter of its sequence, m = 1 + shift 1 + alt 2 + "
	    "ctrl 4: ESC [n~ is sent as ESC [n;m~, ESC [A as ESC [1;mA, ESC OP "
	    "as ESC [1;mP. For the other keys alt is an ESC in front; S-tab is "
	    "ESC [Z and C-space a NUL byte; else shift and ctrl say nothing. "
	    "Where the command has asked for application cursor mode (ESC "
	    "[?1h), unmodified keys send what the last column says.\n"
	    "- One character: shift makes a-z upper case, ctrl makes a control "
	    "code where there is one, alt puts an ESC in front.\n"
	    "- Other text: sent as it is, with a warning if it had "
	    "modifiers.\n\n"
	    "| name | bytes | modifiers | application mode |\n"
	    "|---|---|---|---|");
	for (i = 0; (k = key_row(i)) != NULL; i++) {
		putchar('|');
		cell(k->name);
		print_bytes(k->bytes);
		cell(k->modifiable ? "m" : "");
		if (k->application != 0)
			printf(" ESC O%c |\n", k->application);
		else
			puts(" |");
	}
}

int
main(int argc, char **argv)
{
	size_t i;
	bool of_metrics = argc == 3 && strcmp(argv[1], "--metrics") == 0;

	if (argc == 3 && strcmp(argv[1], "types") == 0 && print_types(argv[2]))
		return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
	if (argc != 2 + of_metrics || !print_file(argv[argc - 1])) {
		fputs("usage: psup-gendoc [--metrics] INTRODUCTION\n"
		      "       psup-gendoc types ts|js|py\n", stderr);
		return 2;
	}
	if (of_metrics) {
		print_metrics();
		return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
	}
	print_example();
	puts("## 9. Shapes\n\nA type like `str|nil` may be nil. Where a "
	    "number is clamped, one out of range is moved into it; elsewhere "
	    "it is refused. Times are ms since 1970 unless a row says "
	    "otherwise.\n\n## 10. Methods\n");
	for (i = 0; i < PROTO_METHOD_COUNT; i++)
		print_method((enum proto_method)i);
	print_details();
	puts("## 11. Notifications\n");
	for (i = 0; i < note_count; i++)
		print_note(&notes[i]);
	puts("## 12. Error codes\n\n| code | |\n|---|---|");
	for (i = 0; i < PROTO_ERROR_COUNT; i++) {
		putchar('|');
		cell(proto_error_name((enum proto_error)i));
		cell(proto_error_doc((enum proto_error)i));
		putchar('\n');
	}
	print_keys();
	print_tools();
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
