/* SPDX-License-Identifier: MIT */
/* Which columns the table has, and in which order: those of the terminal's
 * width, or those that somebody chose. Pure. Called by what draws the table, by
 * conf.c and keys.c. */
#include <stdio.h>
#include <string.h>

#include "common/option.h"
#include "list.h"

#define NAME_LEAST 12 /* columns that are left to NAME */

static bool
is_name(size_t column)
{
	return columns[column].width == 0;
}

/* How wide they are together, with a gap after each but the last. */
static int
width_of_all(const struct top_list *l, int width, const size_t *shown,
    size_t count)
{
	int sum = (int)count - 1;

	for (size_t i = 0; i < count; i++)
		sum += is_name(shown[i]) ? NAME_LEAST
		                         : list_width_of(l, shown[i], width);
	return sum;
}

/* Takes out what the smallest terminals miss first, never the first one, the
 * order or the name. False: nothing can go. */
static bool
drop_one(const struct top_list *l, size_t *shown, size_t *count)
{
	size_t out = 0;

	for (size_t i = 1; i < *count; i++)
		if (!is_name(shown[i]) && shown[i] != l->sort &&
		    (out == 0 || columns[shown[i]].from_width >=
		                     columns[shown[out]].from_width))
			out = i;
	if (out == 0)
		return false;
	memmove(&shown[out], &shown[out + 1],
	    (--*count - out) * sizeof(shown[0]));
	return true;
}

size_t
list_shown(const struct top_list *l, int width, size_t *ret)
{
	bool ours = l->chosen_count > 0;
	size_t all = ours ? l->chosen_count : column_count, count = 0, at;

	for (size_t i = 0; i < all; i++) {
		at = ours ? l->chosen[i] : i;
		if (l->tree && strcmp(columns[at].name, "scope") == 0)
			continue;
		if (ours || width == 0 || columns[at].from_width <= width ||
		    l->sort == at)
			ret[count++] = at;
	}
	while (ours && width > 0 && width_of_all(l, width, ret, count) > width &&
	    drop_one(l, ret, &count))
		;
	return count;
}

/* ----------------------------------------------------------------- choosing */

/* Where it is among the chosen ones; their number: it is not. */
static size_t
place_of(const struct top_list *l, size_t column)
{
	size_t i = 0;

	while (i < l->chosen_count && l->chosen[i] != column)
		i++;
	return i;
}

/* NAME takes what is left, so it stands last. */
static void
name_last(struct top_list *l)
{
	size_t at = 0, name;

	while (at < l->chosen_count && !is_name(l->chosen[at]))
		at++;
	if (at + 1 >= l->chosen_count)
		return;
	name = l->chosen[at];
	memmove(&l->chosen[at], &l->chosen[at + 1],
	    (l->chosen_count - 1 - at) * sizeof(l->chosen[0]));
	l->chosen[l->chosen_count - 1] = name;
}

bool
list_columns_take(struct top_list *l, const char *text, char *ret_why,
    size_t size)
{
	const char *names[LIST_COLUMNS] = {0};
	char word[40], meant[MEANT_SIZE];
	struct top_list was = *l;
	size_t len;
	int at;

	for (size_t i = 0; i < column_count; i++)
		names[i] = columns[i].name;
	l->chosen_count = 0;
	for (; *(text += strspn(text, " ,\t")) != '\0'; text += len) {
		len = strcspn(text, " ,\t");
		snprintf(word, sizeof(word), "%.*s",
		    (int)(len < sizeof(word) ? len : sizeof(word) - 1), text);
		at = column_find(word);
		if (at >= 0 && place_of(l, (size_t)at) == l->chosen_count) {
			l->chosen[l->chosen_count++] = (size_t)at;
			continue;
		}
		snprintf(ret_why, size, "\"%s\" %s%s", word,
		    at < 0 ? "is no column" : "is there twice",
		    option_meant(at < 0 ? psup_nearest(word, names) : NULL,
		        meant));
		*l = was;
		return false;
	}
	name_last(l);
	if (l->chosen_count > 0)
		return true;
	snprintf(ret_why, size, "no column is named: one at least is wanted");
	*l = was;
	return false;
}

void
list_columns_text(const struct top_list *l, char *dst, size_t size)
{
	size_t len = 0;

	dst[0] = '\0';
	for (size_t i = 0; i < l->chosen_count && len < size; i++)
		len += (size_t)snprintf(dst + len, size - len, "%s%s",
		    i > 0 ? " " : "", columns[l->chosen[i]].name);
}

size_t
list_columns_offer(const struct top_list *l, size_t i)
{
	if (l->chosen_count == 0 || i < l->chosen_count)
		return l->chosen_count == 0 ? i : l->chosen[i];
	for (size_t c = 0, more = l->chosen_count; c < column_count; c++)
		if (place_of(l, c) == l->chosen_count && more++ == i)
			return c;
	return 0;
}

bool
list_column_is_chosen(const struct top_list *l, size_t column)
{
	return l->chosen_count == 0 || place_of(l, column) < l->chosen_count;
}

/* All of them, to begin with. */
static void
begin(struct top_list *l)
{
	for (size_t i = 0; l->chosen_count == 0 && i < column_count; i++)
		l->chosen[i] = i;
	if (l->chosen_count == 0)
		l->chosen_count = column_count;
}

bool
list_column_toggle(struct top_list *l, size_t column)
{
	size_t at;

	begin(l);
	at = place_of(l, column);
	if (at == l->chosen_count)
		l->chosen[l->chosen_count++] = column;
	else if (l->chosen_count == 1)
		return false;
	else
		memmove(&l->chosen[at], &l->chosen[at + 1],
		    (--l->chosen_count - at) * sizeof(l->chosen[0]));
	name_last(l);
	return true;
}

size_t
list_column_move(struct top_list *l, size_t column, bool later)
{
	size_t at, to;

	begin(l);
	at = place_of(l, column);
	to = later ? at + 1 : at - 1;
	if (at < l->chosen_count && to < l->chosen_count) {
		l->chosen[at] = l->chosen[to];
		l->chosen[to] = column;
		name_last(l);
	}
	return place_of(l, column);
}
