/* SPDX-License-Identifier: MIT */
/*
 * A value as a model wrote it becomes what a row of proto.def wants, where that
 * takes no guess: null and "" are absent, and 0 where it would be too little;
 * digits are a number, "true" is true, a word is a list of one, and lists and
 * maps may be written as the text of their JSON.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "tools/calls/call.h"

#define DIGITS_MAX 15 /* whole numbers below 2^53 */

/* A text without the blanks around it. */
struct piece {
	const char *s;
	size_t len;
};

static struct piece
trimmed(const json_t *v)
{
	struct piece p = {json_string_value(v), json_string_length(v)};

	while (p.len > 0 && isspace((unsigned char)p.s[0])) {
		p.s++;
		p.len--;
	}
	while (p.len > 0 && isspace((unsigned char)p.s[p.len - 1]))
		p.len--;
	return p;
}

/* Reads digits off the front. How many. */
static size_t
take_digits(struct piece *p, double *ret)
{
	size_t n = 0;

	for (*ret = 0; n < p->len && isdigit((unsigned char)p->s[n]); n++)
		*ret = *ret * 10 + (p->s[n] - '0');
	p->s += n;
	p->len -= n;
	return n;
}

/* "-12", "1.5" of seconds. NULL: it is no number. */
static json_t *
number_of(struct piece p, bool fraction)
{
	bool negative = p.len > 0 && p.s[0] == '-';
	double whole, part = 0;
	size_t n;

	if (p.len > 0 && (negative || p.s[0] == '+')) {
		p.s++;
		p.len--;
	}
	n = take_digits(&p, &whole);
	if (n == 0 || n > DIGITS_MAX)
		return NULL;
	if (p.len == 0)
		return json_integer((json_int_t)(negative ? -whole : whole));
	if (!fraction || p.s[0] != '.')
		return NULL;
	p.s++;
	p.len--;
	n = take_digits(&p, &part);
	if (n == 0 || n > DIGITS_MAX || p.len > 0)
		return NULL;
	whole += part / pow(10, (double)n);
	return json_real(negative ? -whole : whole);
}

static bool
is_word(struct piece p, const char *word)
{
	return p.len == strlen(word) && strncasecmp(p.s, word, p.len) == 0;
}

/* "true", in any case. NULL: it is no such word. */
static json_t *
bool_of(struct piece p)
{
	if (is_word(p, "true"))
		return json_true();
	return is_word(p, "false") ? json_false() : NULL;
}

/* A host's name is compared without case and blanks. */
static json_t *
host_of(struct piece p)
{
	char name[32];

	if (p.len >= sizeof(name))
		return NULL;
	for (size_t i = 0; i < p.len; i++)
		name[i] = (char)tolower((unsigned char)p.s[i]);
	return json_stringn(name, p.len);
}

/* A text where the row wants something else, or a host. NULL: as it is. */
static json_t *
of_text(const struct proto_param *row, const json_t *v)
{
	struct piece p = trimmed(v);

	switch (row->type) {
	case PT_INT:
	case PT_SIGNAL:
		return number_of(p, false);
	case PT_NUM:
		return number_of(p, true);
	case PT_BOOL:
		return bool_of(p);
	case PT_STR:
		return strcmp(row->name, "host") == 0 ? host_of(p) : NULL;
	default:
		return NULL;
	}
}

/* Is a text nothing? Bytes may be none: that writes none. */
static bool
is_blank(const struct proto_param *row, const json_t *v)
{
	if (row->type == PT_DATA)
		return false;
	/* blanks alone are a path or a pattern, and no number */
	return json_string_length(v) == 0 ||
	    (trimmed(v).len == 0 && (row->type == PT_INT ||
		row->type == PT_NUM || row->type == PT_BOOL ||
		strcmp(row->name, "host") == 0));
}

/* What a map of texts holds for a name. NULL: nothing. */
static json_t *
map_value(const json_t *v)
{
	char text[32];

	if (json_is_null(v))
		return NULL;
	if (json_is_boolean(v))
		return json_string(json_is_true(v) ? "true" : "false");
	if (!json_is_integer(v))
		return json_deep_copy(v);
	snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(v));
	return json_string(text);
}

/* A map without its nulls; of texts, numbers and booleans become text. NULL:
 * it is empty where that means nothing. */
static json_t *
map_of(const struct proto_param *row, const json_t *v)
{
	json_t *ret = json_object(), *item;
	/* jansson's iterators take no const; nothing is changed */
	json_t *o = json_incref((json_t *)(uintptr_t)v);
	const char *key;

	json_object_foreach(o, key, item)
	{
		item = row->type == PT_STRMAP ? map_value(item)
		    : json_is_null(item)      ? NULL
		                              : json_deep_copy(item);
		if (item != NULL)
			json_object_set_new(ret, key, item);
	}
	json_decref(o);
	if (json_object_size(ret) > 0 || row->type != PT_STDIN)
		return ret;
	json_decref(ret);
	return NULL;
}

/* A list or a map that came as text: as its JSON, or a list's only word; not
 * a program's argument, which may be a whole command line. NULL: no such. */
static json_t *
unwritten(const struct proto_param *row, const json_t *v)
{
	bool list = row->type == PT_STRLIST;
	struct piece p = trimmed(v);
	json_t *ret;

	if ((!list && row->type != PT_STRMAP && row->type != PT_OBJECT &&
		row->type != PT_STDIN) ||
	    p.len == 0)
		return NULL;
	if (p.s[0] == (list ? '[' : '{')) {
		ret = json_loadb(p.s, p.len, JSON_REJECT_DUPLICATES, NULL);
		if (ret != NULL)
			return ret;
	}
	if (!list || strcmp(row->name, "argv") == 0)
		return NULL;
	for (size_t i = 0; i < p.len; i++)
		if (isspace((unsigned char)p.s[i]))
			return NULL;
	return json_pack("[s%]", p.s, p.len);
}

/* A number that is none of the row's: 0 where that has to be more. */
static bool
is_no_number(const struct proto_param *row, const json_t *v)
{
	return (row->type == PT_INT || row->type == PT_NUM) &&
	    !row->clamp && !row->required && row->min > 0 &&
	    json_is_number(v) && !(json_number_value(v) < 0) &&
	    !(json_number_value(v) > 0);
}

json_t *
toolcall_bend(const struct proto_param *row, const json_t *v)
{
	json_t *bent = NULL, *inner;

	switch (json_typeof(v)) {
	case JSON_NULL:
		return row->nullable ? json_null() : NULL;
	case JSON_STRING:
		if (is_blank(row, v))
			return NULL;
		inner = unwritten(row, v);
		if (inner != NULL) {
			bent = toolcall_bend(row, inner);
			json_decref(inner);
			return bent;
		}
		bent = of_text(row, v);
		break;
	case JSON_ARRAY:
		if (json_array_size(v) == 0 &&
		    (row->type != PT_STRLIST || row->min > 0))
			return NULL;
		break;
	case JSON_OBJECT:
		if (row->type == PT_STRMAP || row->type == PT_OBJECT ||
		    row->type == PT_STDIN)
			return map_of(row, v);
		break;
	case JSON_REAL:
		/* what is moved into a range may be moved to an integer */
		if (row->type == PT_INT && row->clamp &&
		    fabs(json_real_value(v)) < 1e15)
			return json_integer(
			    (json_int_t)floor(json_real_value(v)));
		break;
	default:
		break;
	}
	if (is_no_number(row, bent != NULL ? bent : v)) {
		json_decref(bent);
		return NULL;
	}
	return bent != NULL ? bent : json_deep_copy(v);
}

/* The next byte of an action's name that tells it from others, in lower case;
 * '\0': it is over. */
static char
next_of(const char **at)
{
	while (**at == '-' || **at == '_' || isspace((unsigned char)**at))
		(*at)++;
	return **at != '\0' ? (char)tolower((unsigned char)*(*at)++) : '\0';
}

bool
toolcall_is_action(const char *said, const char *name)
{
	char a, b;

	do {
		a = next_of(&said);
		b = next_of(&name);
	} while (a == b && a != '\0');
	return a == b;
}
