/* SPDX-License-Identifier: MIT */
#include "lib_index.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
place_open(struct place *p)
{
	bool set_aside = true;

	cr_assert_eq(index_open(p->dir, &p->ix, &set_aside), 0);
	cr_assert_not(set_aside);
}

void
place_make(struct place *p)
{
	strcpy(p->dir, "/dev/shm/psup-index-XXXXXX");
	cr_assert_not_null(mkdtemp(p->dir));
	place_open(p);
}

void
place_reopen(struct place *p)
{
	index_close(&p->ix);
	place_open(p);
}

void
place_remove(struct place *p)
{
	char cmd[80];

	index_close(&p->ix);
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", p->dir);
	cr_assert_eq(system(cmd), 0);
}
