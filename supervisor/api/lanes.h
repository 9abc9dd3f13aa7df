/* SPDX-License-Identifier: MIT */
/* What lanes.c and lanes_list.c share. */
#ifndef PSUP_SUPERVISOR_API_LANES_H
#define PSUP_SUPERVISOR_API_LANES_H

#include "supervisor/api/method.h"

/* A lane's row. */
void lanes_row(struct api_call *c, const struct lane_view *v, struct enc *e);
/* Answers op list; name "": of all lanes that the connection may see. */
void lanes_list_all(struct api_call *c, const char *name);

#endif
