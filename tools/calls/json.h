/* SPDX-License-Identifier: MIT */
/* Between JSON and libpsup's values, both ways. */
#ifndef PSUP_TOOLS_JSON_H
#define PSUP_TOOLS_JSON_H

#include <jansson.h>
#include <psup/psup.h>

/* Text that is no UTF-8 is repaired. A new reference. */
json_t *json_of_text(const char *s, size_t len);
json_t *json_of_value(const psup_value *v);
/* A member of an object: 0 or "" where there is none of that kind. */
json_int_t json_number(const json_t *o, const char *key);
const char *json_text(const json_t *o, const char *key);
/* Adds a member; whatever JSON it is. */
void args_add_json(psup_args *a, const char *key, const json_t *v);

#endif
