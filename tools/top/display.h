/* SPDX-License-Identifier: MIT */
/* Both ways to show the model: a display, and text for scripts. */
#ifndef TOP_DISPLAY_H
#define TOP_DISPLAY_H

#include "list.h"

struct top_options {
	const char *runtime_dir;
	unsigned delay_ms;
	int64_t refreshes; /* < 0: without end */
	bool batch, json, monochrome, no_mouse;
	struct top_list list; /* sort, filter */
	char conf_why[512];   /* top.conf is not taken; "": it is, or not there */
};

/* Exit codes. */
int display_run(struct top_model *m, struct top_options *o);
int batch_run(struct top_model *m, struct top_options *o);

#endif
