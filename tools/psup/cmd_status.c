/* SPDX-License-Identifier: MIT */
/*
 * psup status: the server's state, as a page (status_page.c) or, --verbose, as
 * it is. Where a server is there but its socket does not answer, what shared
 * memory says.
 */
#include <stdio.h>

#include "status_page.h"

static bool verbose;

/* A line an item: of objects their members, of texts the text. */
static void print_items(const char *title, const json_t *array);

/* "title: name value" for every plain member of an object; its arrays and
 * objects follow as "title.name". */
static void
print_members(const char *title, const json_t *object)
{
	const char *name;
	json_t *v, *o = json_incref((json_t *)(uintptr_t)object);
	char inner[100];

	cli_putf("%s:", title);
	json_object_foreach(o, name, v)
	{
		if (json_is_string(v))
			cli_putf(" %s %s", name, json_string_value(v));
		else if (json_is_integer(v))
			cli_putf(" %s %lld", name,
			    (long long)json_integer_value(v));
		else if (json_is_boolean(v))
			cli_putf(" %s %s", name, json_is_true(v) ? "yes" : "no");
		else if (json_is_real(v))
			cli_putf(" %s %.2f", name, json_real_value(v));
	}
	cli_putf("\n");
	json_object_foreach(o, name, v)
	{
		snprintf(inner, sizeof(inner), "%s.%s", title, name);
		print_items(inner, v);
		if (json_is_object(v))
			print_members(inner, v);
	}
	json_decref(o);
}

static void
print_items(const char *title, const json_t *array)
{
	for (size_t i = 0; json_is_array(array) && i < json_array_size(array);
	     i++) {
		const json_t *v = json_array_get(array, i);

		if (json_is_string(v))
			cli_putf("%s: %s\n", title, json_string_value(v));
		else
			print_members(title, v);
	}
}

/* The whole state, a line each. */
static void
print_status(const json_t *status)
{
	const char *name;
	json_t *v, *s = json_incref((json_t *)(uintptr_t)status);

	json_object_foreach(s, name, v)
	{
		if (json_is_object(v))
			print_members(name, v);
		else if (json_is_string(v))
			cli_putf("%s: %s\n", name, json_string_value(v));
		else if (json_is_integer(v))
			cli_putf("%s: %lld\n", name,
			    (long long)json_integer_value(v));
		print_items(name, v);
	}
	json_decref(s);
}

/* Prints the state either way; takes the reference. */
static int
show(struct cli *c, json_t *status)
{
	if (c->json) {
		cli_print_json(status);
	} else {
		if (verbose)
			print_status(status);
		else
			status_page_print(c, status);
		json_decref(status);
	}
	return EXIT_OK;
}

static int
run(struct cli *c, int, char **)
{
	psup_reply *reply;
	json_t *status = NULL;
	int rc;

	rc = cli_connect_briefly(c);
	if (rc == PSUP_OK)
		rc = psup_status(c->p, &reply);
	if ((rc == PSUP_ERR_TIMEOUT || rc == PSUP_ERR_LOST) &&
	    !cli_is_scoped(c))
		status = view_status(c->runtime_dir);
	if (status != NULL) {
		cli_say("the server does not answer; this is from its shared "
		        "memory");
		return show(c, status);
	}
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	status = json_of_value(psup_reply_value(reply));
	psup_reply_free(&reply);
	return show(c, status);
}

static const struct opt options[] = {
	FLAG("verbose", 'v', verbose,
	    "everything that is known, layouts and shares too, a line each"),
	OPT_END};

const struct command cmd_status = {
	.name = "status",
	.summary = "Show the state of the server",
	.options = options,
	.run = run,
};
