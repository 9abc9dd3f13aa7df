/* SPDX-License-Identifier: MIT */
/* The table of docs/metrics.md, from the rows that psup metrics prints. */
#include <stdio.h>

#include "common/metrics.h"
#include "tools/gendoc/gendoc.h"

/* "0.00005, 0.0001, ..." */
static void
print_bounds(const char *what, const struct metric_bounds *b)
{
	printf("- %s:", what);
	for (size_t i = 0; i < b->count; i++) {
		char text[32];
		int n = snprintf(text, sizeof(text), "%.5f",
		    (double)b->us[i] / 1e6);

		while (n > 1 && text[n - 1] == '0')
			text[--n] = '\0';
		if (n > 1 && text[n - 1] == '.')
			text[--n] = '\0';
		printf("%s %s", i > 0 ? "," : "", text);
	}
	puts(" and no bound.");
}

void
print_metrics(void)
{
	puts("| family | type | labels | |\n|---|---|---|---|");
	for (size_t i = 0; i < METRIC_COUNT; i++) {
		const struct metric *m = &metrics[i];

		printf("| `%s` |", m->name);
		cell(metric_type_name(m->type));
		cell(m->labels);
		cell(m->help);
		putchar('\n');
	}
	puts("\n## Buckets\n\nUpper bounds in seconds:\n");
	print_bounds("of what the server does",
	    &metric_bounds[METRIC_CUT_WORK]);
	print_bounds("of waits and of sessions",
	    &metric_bounds[METRIC_CUT_LIFE]);
}
