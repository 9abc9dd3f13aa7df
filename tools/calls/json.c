/* SPDX-License-Identifier: MIT */
/* Between JSON and libpsup's values, both ways. */
#include "tools/calls/json.h"

#include <stdlib.h>
#include <string.h>

json_t *
json_of_text(const char *s, size_t len)
{
	json_t *v;
	char *repaired;

	if (s == NULL)
		return json_null();
	v = json_stringn(s, len);
	if (v != NULL)
		return v;
	repaired = malloc(3 * len + 1);
	if (repaired == NULL)
		return json_null();
	v = json_stringn(repaired, psup_repair(s, len, repaired));
	free(repaired);
	return v != NULL ? v : json_null();
}

/* A map; keys come NUL-terminated into JSON. */
static json_t *
json_of_map(const psup_value *map)
{
	json_t *object = json_object();
	const char *key;
	char name[256];
	size_t len;

	for (size_t i = 0; i < psup_value_count(map); i++) {
		key = psup_value_key(map, i, &len);
		if (key == NULL || len >= sizeof(name) ||
		    !psup_is_utf8(key, len))
			continue;
		memcpy(name, key, len);
		name[len] = '\0';
		json_object_set_new(object, name,
		    json_of_value(psup_value_at(map, i)));
	}
	return object;
}

json_int_t
json_number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

const char *
json_text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s != NULL ? s : "";
}

json_t *
json_of_value(const psup_value *v)
{
	const char *s;
	json_t *array;
	size_t len;

	switch (psup_value_type(v)) {
	case PSUP_BOOL:
		return json_boolean(psup_value_bool(v, false));
	case PSUP_INT:
		return json_integer(psup_value_int(v, 0));
	case PSUP_DOUBLE:
		return json_real(psup_value_double(v, 0));
	case PSUP_STR:
	case PSUP_BYTES:
		s = psup_value_str(v, &len);
		return json_of_text(s, len);
	case PSUP_ARRAY:
		array = json_array();
		for (size_t i = 0; i < psup_value_count(v); i++)
			json_array_append_new(array,
			    json_of_value(psup_value_at(v, i)));
		return array;
	case PSUP_MAP:
		return json_of_map(v);
	case PSUP_NIL:
		break;
	}
	return json_null();
}

/* The members of an object. */
static void
args_add_members(psup_args *a, const json_t *object)
{
	const char *name;
	json_t *v;
	/* jansson's iterators take no const; nothing is changed */
	json_t *o = json_incref((json_t *)(uintptr_t)object);

	json_object_foreach(o, name, v)
		args_add_json(a, name, v);
	json_decref(o);
}

void
args_add_json(psup_args *a, const char *key, const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_NULL:
		psup_args_nil(a, key);
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		psup_args_bool(a, key, json_is_true(v));
		break;
	case JSON_INTEGER:
		psup_args_int(a, key, json_integer_value(v));
		break;
	case JSON_REAL:
		psup_args_num(a, key, json_real_value(v));
		break;
	case JSON_STRING:
		psup_args_strn(a, key, json_string_value(v),
		    json_string_length(v));
		break;
	case JSON_ARRAY:
		psup_args_list_begin(a, key);
		for (size_t i = 0; i < json_array_size(v); i++)
			args_add_json(a, NULL, json_array_get(v, i));
		psup_args_list_end(a);
		break;
	case JSON_OBJECT:
		psup_args_map_begin(a, key);
		args_add_members(a, v);
		psup_args_map_end(a);
		break;
	}
}
