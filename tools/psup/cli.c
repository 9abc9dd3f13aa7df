/* SPDX-License-Identifier: MIT */
/*
 * The parts of every command: options, connecting, printing answers and
 * failures. Called by the cmd_*.c files.
 */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/format.h"
#include "moment.h"
#include "term_out.h"

/* A master that is only busy gets BRIEF_MS in all; one whose heartbeat (one a
 * second) is late is not waited for. */
#define TRY_MS    300
#define BRIEF_MS  3000
#define SILENT_MS 1200

/* ---------------------------------------------------------------- options */

/* It can only be read by setting it. */
int
cli_umask(void)
{
	mode_t mask = umask(0);

	(void)umask(mask);
	return (int)(mask & 0777);
}

void
cli_take_moment(struct usage *u, const char *option, const char *text,
    void *ret_ms)
{
	if (!moment_parse(text, (int64_t)clock_wall_ms(), ret_ms))
		usage_wrong(u, "%s: \"%.40s\" is neither a duration, like "
		             "90, 10m or 1h30m, nor a time, like 14:30, "
		             "2026-11-21, \"2026-11-21 14:30:00\", "
		             "2026-11-21T14:30:00Z or @1795271400",
		    option, text);
}

/* ------------------------------------------------------------- connecting */

void
cli_identity(const struct cli *c, struct psup_options *ret)
{
	ret->scope = c->scope;
	ret->token = c->token[0] != '\0' ? c->token : NULL;
	ret->token_file = c->token_file;
	ret->server_user = c->server_user;
}

bool
cli_is_scoped(const struct cli *c)
{
	const char *file = getenv("PSUP_TOKEN_FILE");

	return c->scope != NULL || c->token_file != NULL ||
	    c->token[0] != '\0' || (file != NULL && file[0] != '\0');
}

int
cli_connect(struct cli *c, enum cli_start start, int timeout_ms)
{
	struct psup_options o = PSUP_OPTIONS_INIT;

	cli_identity(c, &o);
	o.runtime_dir = c->runtime_dir;
	o.timeout_ms = timeout_ms;
	o.start = start == CLI_MAY_START && !c->no_start;
	o.resume = c->resume;
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
	json_t *text = json_of_text(message, strlen(message));

	json_object_set_new(details, "status", json_string("failed"));
	json_object_set(details, "error", text);
	json_object_set_new(details, "code", json_of_text(code, strlen(code)));
	if (field[0] != '\0')
		json_object_set_new(details, "field",
		    json_of_text(field, strlen(field)));
	return json_pack("{s:o, s:o, s:b}", "text", text, "details", details,
	    "isError", 1);
}

int
cli_fail(struct cli *c, int rc)
{
	const char *message = psup_error_message(c->p);
	char text[800];

	if (rc == PSUP_ERR_LOST &&
	    strcmp(psup_error_code(c->p), "no-server") == 0)
		rc = PSUP_ERR_NO_SERVER; /* it was there */
	snprintf(text, sizeof(text), "%s%s", message,
	    rc == PSUP_ERR_NO_SERVER
	        ? "; start one with psupd --detach or psup exec"
	        : strcmp(psup_error_code(c->p), "not-found") == 0 ? c->meant_id
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
	return psup_get_is(psup_reply_details(reply), "code", "not-found")
	    ? EXIT_NOT_FOUND
	    : EXIT_FAILED;
}

/* term_out()'s way to stdout. */
static int
show(void *, const char *data, size_t len)
{
	fwrite(data, 1, len, stdout);
	return 0;
}

void
cli_put_output(const struct cli *c, const char *s, size_t len)
{
	static struct term_out screen = {.replay = true};
	const char *rule = c->rule != NULL ? c->rule : "clean";

	if (strcmp(rule, "clean") == 0 || strcmp(rule, "shown") == 0)
		cli_put_text(s, len);
	else if (strcmp(rule, "ansi") == 0 && isatty(STDOUT_FILENO))
		(void)term_out(&screen, s, len, show, NULL);
	else
		fwrite(s, 1, len, stdout);
}

void
cli_print_output(const struct cli *c, const char *s, size_t len)
{
	if (s == NULL)
		return;
	cli_put_output(c, s, len);
	if (len == 0 || s[len - 1] != '\n')
		putchar('\n');
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
		cli_print_output(c, text, len);
	if (code != EXIT_OK)
		cli_say("%.*s%s", len > 2000 ? 2000 : (int)len,
		    text != NULL ? text : "",
		    code == EXIT_NOT_FOUND ? c->meant_id : "");
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

/* A stretch without CR. */
static void
put_escaped(const char *s, size_t len)
{
	char shown[4 * 1024 + 1];
	size_t n;

	for (; len > 0; s += n, len -= n) {
		n = len;
		if (n > 1024)
			n = 1024 - psup_open_tail(s, 1024);
		if (n == 0)
			n = 1024;
		fwrite(shown, 1, psup_escape(s, n, true, shown, sizeof(shown)),
		    stdout);
	}
}

void
cli_put_text(const char *s, size_t len)
{
	bool tty = isatty(STDOUT_FILENO);
	const char *cr;
	size_t n;

	while (len > 0) {
		cr = memchr(s, '\r', len);
		n = cr != NULL ? (size_t)(cr - s) : len;
		put_escaped(s, n);
		if (cr == NULL)
			break;
		s += n + 1;
		len -= n + 1;
		if (!tty)
			putchar('\r');
		else if (len == 0 || *s != '\n')
			fputs("\\x0d", stdout);
	}
}

void
cli_print_text(const char *s, size_t len)
{
	if (s == NULL)
		return;
	cli_put_text(s, len);
	if (len == 0 || s[len - 1] != '\n')
		putchar('\n');
}

void
cli_putf(const char *fmt, ...)
{
	char text[1200];
	int n;

	n = FORMATTED(text, sizeof(text), fmt);
	if (n > 0)
		cli_put_text(text, (size_t)n < sizeof(text) ? (size_t)n
		                                            : sizeof(text) - 1);
}

void
cli_print_json(json_t *v)
{
	/* a terminal gets no DEL, C1 or bidi characters either */
	bool tty = isatty(STDOUT_FILENO);
	size_t ascii = tty ? JSON_ENSURE_ASCII : 0;
	char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY | ascii);

	for (char *p = text; text != NULL && tty && *p != '\0';) {
		size_t n = strcspn(p, "\177");

		fwrite(p, 1, n, stdout);
		if (p[n] != '\0')
			fputs("\\u007f", stdout);
		p += n + (p[n] != '\0');
	}
	if (text != NULL)
		puts(tty ? "" : text);
	free(text);
	json_decref(v);
	fflush(stdout);
}

void
cli_say(const char *fmt, ...)
{
	char text[2200], shown[4 * sizeof(text) + 1];

	(void)FORMATTED(text, sizeof(text), fmt);
	psup_escape(text, strlen(text), true, shown, sizeof(shown));
	fprintf(stderr, "psup: %s\n", shown);
}
