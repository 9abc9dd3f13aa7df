/* SPDX-License-Identifier: MIT */
/* The table of table.h. Called by the commands that list something. */
#include "table.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/lib/cells.h"
#include "common/grow.h"
#include "common/text_wrap.h"

#define COLUMNS_MAX 40
#define GAP         2  /* blanks between columns */
#define LAST_MIN    20 /* the last column's least width */

void
table_default(struct table *t, const struct column *all, size_t count)
{
	*t = (struct table){.all = all, .all_count = count};
	for (size_t i = 0; i < count && t->count < COLUMNS_MAX; i++)
		if (all[i].keep > 0)
			t->columns[t->count++] = &all[i];
}

static const struct column *
find_column(const struct table *t, const char *name, size_t len)
{
	for (size_t i = 0; i < t->all_count; i++)
		if (strlen(t->all[i].name) == len &&
		    strncasecmp(t->all[i].name, name, len) == 0)
			return &t->all[i];
	return NULL;
}

/* "no column", with the nearest. */
static int
no_column(struct cli *c, const struct table *t, const char *name, size_t len)
{
	const char *names[COLUMNS_MAX + 1] = {NULL};
	char text[64], meant[MEANT_SIZE];

	snprintf(text, sizeof(text), "%.*s", len < 40 ? (int)len : 40, name);
	for (size_t i = 0; i < t->all_count && i < COLUMNS_MAX; i++)
		names[i] = t->all[i].name;
	return cli_usage(c, "--format: \"%s\" is no column%s", text,
	    option_meant(psup_nearest(text, names), meant));
}

/* Every {name} of a template must be a column. */
static int
check_template(struct cli *c, const struct table *t, const char *text)
{
	const char *end;

	for (; (text = strchr(text, '{')) != NULL; text = end) {
		end = strchr(text, '}');
		if (end == NULL)
			return cli_usage(c, "--format: a { without its }");
		if (find_column(t, text + 1, (size_t)(end - text - 1)) == NULL)
			return no_column(c, t, text + 1,
			    (size_t)(end - text - 1));
	}
	return EXIT_OK;
}

int
table_format(struct cli *c, struct table *t, const char *text)
{
	size_t len;

	if (strchr(text, '{') != NULL) {
		t->template = text;
		return check_template(c, t, text);
	}
	t->count = 0;
	t->asked = true;
	for (;; text += len + 1) {
		const struct column *column;

		len = strcspn(text, ",");
		column = find_column(t, text, len);
		if (column == NULL)
			return no_column(c, t, text, len);
		if (t->count == COLUMNS_MAX)
			return cli_usage(c, "--format: more than %d columns",
			    COLUMNS_MAX);
		t->columns[t->count++] = column;
		if (text[len] == '\0')
			return EXIT_OK;
	}
}

/* A cell as it may be shown. */
static enum style
shown_cell(const struct column *column, const json_t *row, char *dst)
{
	char raw[TABLE_CELL] = "";
	enum style style = column->fill(row, raw, sizeof(raw));

	psup_escape(raw, strlen(raw), false, dst, TABLE_CELL);
	return style;
}

/* One row by the template: {name}, \t, \n, \\; the rest as it is. */
static void
print_template(const struct table *t, const json_t *row)
{
	char cell[TABLE_CELL];

	for (const char *p = t->template; *p != '\0'; p++) {
		if (*p == '{') {
			size_t len = strcspn(p, "}");
			const struct column *column =
			    find_column(t, p + 1, len - 1);

			if (column != NULL) { /* it was checked */
				(void)shown_cell(column, row, cell);
				fputs(cell, stdout);
			}
			p += len;
		} else if (*p == '\\' && (p[1] == 't' || p[1] == 'n' ||
		    p[1] == '\\')) {
			p++;
			putchar(*p == 't' ? '\t' : *p == 'n' ? '\n' : '\\');
		} else {
			putchar(*p);
		}
	}
	putchar('\n');
}

/* A cell as it is shown: filled, escaped and measured once. */
struct shown {
	size_t at; /* in the text of all */
	int wide;
	enum style style;
};

/* What is shown of the columns, and how wide. */
struct layout {
	const struct column *columns[COLUMNS_MAX];
	size_t width[COLUMNS_MAX];
	struct shown *cells[COLUMNS_MAX]; /* of each row */
	size_t count;
	bool colors;
	char *text; /* of the cells, each with its NUL */
	size_t len, cap;
};

/* Columns of the screen that all of them take, the last at its least. */
static size_t
least_width(const struct layout *l)
{
	size_t sum = 0, last = l->count - 1;

	for (size_t i = 0; i < last; i++)
		sum += l->width[i] + GAP;
	return sum + (l->width[last] < LAST_MIN ? l->width[last] : LAST_MIN);
}

/* Leaves one out: of those least worth keeping the rightmost. */
static void
drop_one(struct layout *l)
{
	size_t worst = 0;

	for (size_t i = 1; i + 1 < l->count; i++)
		if (worst == 0 ||
		    l->columns[i]->keep <= l->columns[worst]->keep)
			worst = i;
	free(l->cells[worst]);
	for (size_t i = worst; i + 1 < l->count; i++) {
		l->columns[i] = l->columns[i + 1];
		l->width[i] = l->width[i + 1];
		l->cells[i] = l->cells[i + 1];
	}
	l->count--;
}

static void
no_memory(void)
{
	cli_say("no memory for the table");
	exit(EXIT_INTERNAL);
}

/* Fills the cells of a column, the next one. How wide the widest is; 0: there is
 * nothing in any. */
static size_t
fill(struct layout *l, const struct column *column, const json_t *rows)
{
	char cell[TABLE_CELL], copy[TABLE_CELL];
	size_t most = 0, n = json_array_size(rows), len;
	struct shown *s = calloc(n + 1, sizeof(*s));

	if (s == NULL)
		no_memory();
	for (size_t k = 0; k < n; k++) {
		s[k].style = shown_cell(column, json_array_get(rows, k), cell);
		s[k].wide = cells_copy(cell, 0, 0, copy, sizeof(copy), NULL);
		s[k].at = l->len;
		len = strlen(copy) + 1;
		if (!GROW(l->text, l->cap, l->len + len, 65536))
			no_memory();
		memcpy(l->text + l->len, copy, len);
		l->len += len;
		if ((size_t)s[k].wide > most)
			most = (size_t)s[k].wide;
	}
	l->cells[l->count] = s;
	return most;
}

static const char *
title_of(const struct column *column)
{
	return column->title != NULL ? column->title : column->name;
}

static void
lay_out(const struct table *t, const json_t *rows, size_t columns,
    struct layout *ret)
{
	size_t w, title;

	for (size_t i = 0; i < t->count; i++) {
		w = fill(ret, t->columns[i], rows);
		if (w == 0 && !t->asked && i + 1 < t->count) {
			free(ret->cells[ret->count]);
			continue;
		}
		title = strlen(title_of(t->columns[i]));
		ret->columns[ret->count] = t->columns[i];
		ret->width[ret->count++] = w > title ? w : title;
	}
	if (columns == 0)
		return;
	while (ret->count > 2 && least_width(ret) > columns)
		drop_one(ret);
	/* two that do not fit share what there is */
	w = ret->count > 1 && least_width(ret) > columns
	    ? columns / 2
	    : columns;
	for (size_t i = 0; i + 1 < ret->count; i++)
		if (ret->width[i] > w - GAP)
			ret->width[i] = w > GAP ? w - GAP : 1;
	w = 0;
	for (size_t i = 0; i + 1 < ret->count; i++)
		w += ret->width[i] + GAP;
	ret->width[ret->count - 1] = columns > w ? columns - w : 1;
}

static void
blanks(int n)
{
	while (n-- > 0)
		putchar_unlocked(' ');
}

/* One cell of a line, so wide; nothing follows the last. */
static void
print_cell(const struct cli *c, const struct layout *l, size_t i,
    const char *text, int wide, enum style style)
{
	bool last = i + 1 == l->count;
	char cut[TABLE_CELL + 8];
	int width = (int)l->width[i];

	if (wide > width) {
		wide = cells_cut(text, width, cut, sizeof(cut));
		text = cut;
	}
	if (l->columns[i]->right)
		blanks(width - wide);
	if (l->colors)
		fputs_unlocked(color_begin(c, STDOUT_FILENO, style), stdout);
	fputs_unlocked(text, stdout);
	if (l->colors)
		fputs_unlocked(color_end(c, STDOUT_FILENO, style), stdout);
	if (!l->columns[i]->right && !last)
		blanks(width - wide);
	fputs_unlocked(last ? "\n" : "  ", stdout);
}

static void
print_title(const struct cli *c, const struct layout *l)
{
	char title[40];

	for (size_t i = 0; i < l->count; i++) {
		const char *text = title_of(l->columns[i]);
		size_t n = 0;

		for (; text[n] != '\0' && n < 39; n++)
			title[n] = (char)toupper((unsigned char)text[n]);
		title[n] = '\0';
		print_cell(c, l, i, title, (int)n, STYLE_BOLD);
	}
}

void
table_print(const struct cli *c, const struct table *t, const json_t *rows,
    size_t columns, size_t lines)
{
	size_t n = json_array_size(rows), shown = n;
	struct layout l = {.colors = color_on(c, STDOUT_FILENO)};

	if (t->template != NULL) {
		for (size_t k = 0; k < n; k++)
			print_template(t, json_array_get(rows, k));
		return;
	}
	lay_out(t, rows, columns, &l);
	print_title(c, &l);
	/* the cursor stands below: it takes a line, too */
	if (lines > 3 && n > lines - 2)
		shown = lines - 3;
	for (size_t k = 0; k < shown; k++)
		for (size_t i = 0; i < l.count; i++) {
			const struct shown *s = &l.cells[i][k];
			const char *text = l.text + s->at;

			/* no empty cell: a script counts words */
			if (text[0] == '\0')
				print_cell(c, &l, i, "-", 1, STYLE_DIM);
			else
				print_cell(c, &l, i, text, s->wide, s->style);
		}
	if (shown < n)
		printf("(%zu more)\n", n - shown);
	for (size_t i = 0; i < l.count; i++)
		free(l.cells[i]);
	free(l.text);
}

void
cell_text(const json_t *row, const char *key, char *cell, size_t size)
{
	snprintf(cell, size, "%s", json_text(row, key));
}

void
cell_number(const json_t *row, const char *key, char *cell, size_t size)
{
	if (json_is_integer(json_object_get(row, key)))
		snprintf(cell, size, "%lld", (long long)json_number(row, key));
}

void
table_help(const struct column *all, size_t count)
{
	printf("\nColumns (those with * are shown unasked):\n");
	for (size_t i = 0; i < count; i++) {
		int n = printf("  %c %s", all[i].keep > 0 ? '*' : ' ',
		    all[i].name);

		printf("%*s", n < 15 ? 15 - n : 1, "");
		text_wrap(stdout, all[i].help, 15, 15);
	}
}
