/* SPDX-License-Identifier: MIT */
/*
 * The parts of every command: options, connecting, printing answers and
 * failures. Called by the cmd_*.c files.
 */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_HELP = 1000, OPT_JSON, OPT_DIR, OPT_NO_START };

/* A master that is only busy gets BRIEF_MS in all; one whose heartbeat (one a
 * second) is late is not waited for. */
#define TRY_MS    300
#define BRIEF_MS  3000
#define SILENT_MS 1200
#define OWN_OPTIONS 24

/* ---------------------------------------------------------------- options */

/* psup COMMAND --help */
static void
print_command_help(const struct command *cmd)
{
	printf("Usage: psup %s %s\n\n%s.\n\n%s"
	       "  --json             one JSON object on stdout\n"
	       "  --runtime-dir DIR  the server's directory\n"
	       "  --help\n",
	    cmd->name, cmd->usage, cmd->summary, cmd->help);
	if (cmd->more_help != NULL)
		cmd->more_help();
}

int
cli_option(struct cli *c, int argc, char **argv, const struct option *own)
{
	static const struct option shared[] = {
		{"help", no_argument, NULL, OPT_HELP},
		{"json", no_argument, NULL, OPT_JSON},
		{"runtime-dir", required_argument, NULL, OPT_DIR},
		{"no-start", no_argument, NULL, OPT_NO_START}, {0}};
	struct option all[OWN_OPTIONS + 5];
	char letters[2 * OWN_OPTIONS + 4] = "+:", *l = letters + 2;
	size_t n = 0;
	int opt;

	for (; own != NULL && own[n].name != NULL && n < OWN_OPTIONS; n++) {
		all[n] = own[n];
		if (own[n].val > ' ' && own[n].val < 127) {
			*l++ = (char)own[n].val;
			if (own[n].has_arg == required_argument)
				*l++ = ':';
		}
	}
	*l = '\0';
	/* Only exec's command line ends the options: the others take them
	 * behind the id too. */
	if (c->command != &cmd_exec)
		memmove(letters, letters + 1, strlen(letters));
	memcpy(all + n, shared, sizeof(shared));
	for (;;) {
		opt = getopt_long(argc, argv, letters, all, NULL);
		switch (opt) {
		case OPT_HELP:
			print_command_help(c->command);
			exit(fflush(stdout) == 0 ? EXIT_OK : EXIT_INTERNAL);
		case OPT_JSON:
			c->json = true;
			break;
		case OPT_DIR:
			c->runtime_dir = optarg;
			break;
		case OPT_NO_START:
			c->no_start = true;
			break;
		case '?':
		case ':':
			cli_usage(c, opt == ':' ? "%.80s needs a value"
			                        : "%.80s is no option",
			    argv[optind - 1]);
			return -1;
		default:
			return opt;
		}
	}
}

int
cli_usage(struct cli *c, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->usage_error = true;
	cli_say("%s: %s; see psup %s --help", c->command->name, text,
	    c->command->name);
	return EXIT_USAGE;
}

int64_t
cli_number(struct cli *c, const char *option, const char *text, int64_t lo,
    int64_t hi)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (*text == '\0' || *end != '\0' || errno != 0 || v < lo || v > hi) {
		cli_usage(c, "%s: \"%.40s\" is no whole number from %lld to "
		             "%lld",
		    option, text, (long long)lo, (long long)hi);
		return lo;
	}
	return v;
}

double
cli_seconds(struct cli *c, const char *option, const char *text)
{
	char *end;
	double v;

	v = strtod(text, &end);
	if (*text == '\0' || *end != '\0' || !(v >= 0 && v <= 31536000)) {
		cli_usage(c, "%s: \"%.40s\" is no number of seconds from 0 to "
		             "31536000",
		    option, text);
		return 0;
	}
	return v;
}

/* ------------------------------------------------------------- connecting */

int
cli_connect(struct cli *c, enum cli_start start, int timeout_ms)
{
	struct psup_options o = PSUP_OPTIONS_INIT;

	o.runtime_dir = c->runtime_dir;
	o.timeout_ms = timeout_ms;
	o.start = start == CLI_MAY_START && !c->no_start;
	return psup_connect(c->p, &o);
}

int
cli_connect_briefly(struct cli *c)
{
	int waited = 0, rc;

	do {
		rc = cli_connect(c, CLI_NEVER_START, TRY_MS);
		waited += TRY_MS;
	} while (rc == PSUP_ERR_TIMEOUT && waited < BRIEF_MS &&
	    view_master_silent_ms(c->runtime_dir) <= SILENT_MS);
	return rc;
}

json_t *
cli_error_object(const char *code, const char *field, const char *message)
{
	json_t *details = json_object();

	json_object_set_new(details, "status", json_string("failed"));
	json_object_set_new(details, "error", json_of_text(code, strlen(code)));
	if (field[0] != '\0')
		json_object_set_new(details, "field",
		    json_of_text(field, strlen(field)));
	return json_pack("{s:o, s:o, s:b}", "text",
	    json_of_text(message, strlen(message)), "details", details,
	    "isError", 1);
}

int
cli_fail(struct cli *c, int rc)
{
	const char *message = psup_error_message(c->p);
	char text[800];

	snprintf(text, sizeof(text), "%s%s", message,
	    rc == PSUP_ERR_NO_SERVER
	        ? "; start one with psupd --detach or psup exec"
	        : "");
	if (c->json)
		cli_print_json(cli_error_object(psup_error_code(c->p),
		    psup_error_field(c->p), text));
	cli_say("%s", text);
	if (rc == PSUP_ERR_NO_SERVER)
		return EXIT_NO_SERVER;
	if (rc != PSUP_ERR_REFUSED)
		return EXIT_INTERNAL;
	return strcmp(psup_error_code(c->p), "not-found") == 0 ? EXIT_NOT_FOUND
	                                                       : EXIT_FAILED;
}

int
cli_exit_code(const psup_reply *reply)
{
	if (!psup_reply_is_error(reply))
		return EXIT_OK;
	return psup_get_is(psup_reply_details(reply), "error", "not-found")
	    ? EXIT_NOT_FOUND
	    : EXIT_FAILED;
}

int
cli_answer(struct cli *c, psup_reply **reply)
{
	int code = cli_exit_code(*reply);
	const char *text;
	size_t len;

	text = psup_reply_text(*reply, &len);
	if (c->json)
		cli_print_json(json_of_value(psup_reply_value(*reply)));
	else if (code == EXIT_OK)
		cli_print_text(text, len);
	if (code != EXIT_OK)
		cli_say("%.*s", len > 2000 ? 2000 : (int)len,
		    text != NULL ? text : "");
	psup_reply_free(reply);
	return code;
}

int
cli_simple(struct cli *c, const char *method, psup_args *a, int wait_ms)
{
	psup_reply *reply;
	int rc;

	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc == PSUP_OK)
		rc = psup_call(c->p, method, a, wait_ms, &reply);
	psup_args_free(&a);
	return rc == PSUP_OK ? cli_answer(c, &reply) : cli_fail(c, rc);
}

/* ----------------------------------------------------------------- output */

void
cli_print_text(const char *s, size_t len)
{
	char *shown = NULL;

	if (s == NULL)
		return;
	if (isatty(STDOUT_FILENO))
		shown = malloc(4 * len + 1);
	if (shown != NULL) {
		len = psup_escape(s, len, true, shown, 4 * len + 1);
		s = shown;
	}
	fwrite(s, 1, len, stdout);
	if (len == 0 || s[len - 1] != '\n')
		putchar('\n');
	free(shown);
}

void
cli_print_json(json_t *v)
{
	char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);

	if (text != NULL)
		puts(text);
	free(text);
	json_decref(v);
	fflush(stdout);
}

void
cli_say(const char *fmt, ...)
{
	char text[2200], shown[4 * sizeof(text) + 1];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	psup_escape(text, strlen(text), true, shown, sizeof(shown));
	fprintf(stderr, "psup: %s\n", shown);
}
