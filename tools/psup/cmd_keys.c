/* SPDX-License-Identifier: MIT */
/* psup send-keys, submit, paste: input as a person at a terminal gives it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#define KEYS_MAX    1024
#define INPUT_BYTES 1048576u /* what one call may paste or submit */

/* -------------------------------------------------------------- send-keys */

/* The hex items of all --hex options; NULL-terminated. */
struct hex {
	char *items[KEYS_MAX + 1];
	size_t count;
};

/* Takes "1b 5b,41" apart, in place. */
static void
add_hex(struct usage *u, struct hex *h, char *text)
{
	char *item;

	while ((item = strsep(&text, " ,\t\n")) != NULL) {
		if (*item == '\0')
			continue;
		if (h->count == KEYS_MAX) {
			usage_wrong(u, "more than %d bytes of --hex", KEYS_MAX);
			return;
		}
		h->items[h->count++] = item;
	}
}

static struct hex hex;
static struct psup_keys k = PSUP_KEYS_INIT;

/* --hex BYTES. An argument may be written into. */
static void
take_hex(struct usage *u, const char *text)
{
	add_hex(u, &hex, (char *)(uintptr_t)text);
}

static int
send_keys(struct cli *c, int argc, char **argv)
{
	psup_reply *reply;
	int rc;

	if (argc == 1 && hex.count == 0 && k.literal == NULL)
		return cli_usage(c, "it needs a KEY, --hex or --literal");
	k.hex = (const char *const *)hex.items;
	k.keys = (const char *const *)argv + 1;
	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc == PSUP_OK)
		rc = psup_send_keys(c->p, argv[0], &k, &reply);
	return rc == PSUP_OK ? cli_answer(c, &reply) : cli_fail(c, rc);
}

static const struct opt key_options[] = {
	CALL("hex", 0, "BYTES", NULL, take_hex,
	    "bytes in hex, before the keys: \"1b 5b 41\"; may be repeated"),
	TEXT("literal", 0, "TEXT", NULL, k.literal,
	    "sent before them, as it is"),
	NUMBER("delay", 0, "MS", k.delay_ms, 0, 10000,
	    "wait so long between keys (up to 10000)"),
	FLAG("force", 0, k.force,
	    "send cursor keys though the terminal's mode is not known yet"),
	OPT_END};

/* The names, from the library's table. */
static void
print_names(void)
{
	const char *name;
	size_t column = 80;

	printf("\nNames of keys, in any case:");
	for (size_t i = 0; (name = psup_key_name(i)) != NULL; i++) {
		if (column + strlen(name) + 1 > 76) {
			printf("\n ");
			column = 2;
		}
		printf(" %s", name);
		column += strlen(name) + 1;
	}
	putchar('\n');
}

const struct command cmd_send_keys = {
	.name = "send-keys",
	.args = "ID [--] KEY...",
	.words = "@session @key...",
	.min_args = 1,
	.max_args = -1,
	.wants = "it needs a session id and keys",
	.summary = "Send keys to a running session",
	.about = "A KEY is a name, ^X, or a character, after any of C- M- S-; "
	         "other text is sent as it is.",
	.options = key_options,
	.more_help = print_names,
	.run = send_keys,
};

/* ----------------------------------------------------------- submit, paste */

/* The argument, or with "-" all of stdin. NULL: said why not. */
static char *
take_text(char *arg, size_t *ret_len)
{
	size_t len = 0;
	ssize_t n = 1;
	char *buf;

	if (strcmp(arg, "-") != 0) {
		*ret_len = strlen(arg);
		return strdup(arg);
	}
	buf = malloc(INPUT_BYTES + 1);
	while (buf != NULL && n != 0 && len <= INPUT_BYTES) {
		n = read(STDIN_FILENO, buf + len, INPUT_BYTES + 1 - len);
		if (n < 0 && errno != EINTR) {
			cli_say("stdin: %s", strerror(errno));
			free(buf);
			return NULL;
		}
		len += n > 0 ? (size_t)n : 0;
	}
	if (buf == NULL || len > INPUT_BYTES) {
		cli_say(buf == NULL ? "no memory"
		                    : "stdin: more than %u bytes; use psup "
		                      "write", INPUT_BYTES);
		free(buf);
		return NULL;
	}
	*ret_len = len;
	return buf;
}

static int
submit(struct cli *c, int argc, char **argv)
{
	const char *data = argc == 2 ? argv[1] : NULL;
	psup_reply *reply;
	int rc;

	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc == PSUP_OK)
		rc = psup_submit(c->p, argv[0], data,
		    data != NULL ? strlen(data) : 0, &reply);
	return rc == PSUP_OK ? cli_answer(c, &reply) : cli_fail(c, rc);
}

const struct command cmd_submit = {
	.name = "submit",
	.args = "ID [DATA]",
	.words = "@session",
	.min_args = 1,
	.max_args = 2,
	.summary = "Press Enter in a running session",
	.about = "DATA is sent before the carriage return.",
	.run = submit,
};

static bool plain;

static int
paste(struct cli *c, int argc, char **argv)
{
	static char from_stdin[] = "-";
	psup_reply *reply;
	size_t len;
	char *text;
	int rc;

	text = take_text(argc == 2 ? argv[1] : from_stdin, &len);
	if (text == NULL)
		return EXIT_INTERNAL;
	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc == PSUP_OK)
		rc = psup_paste(c->p, argv[0], text, len, !plain, &reply);
	free(text);
	return rc == PSUP_OK ? cli_answer(c, &reply) : cli_fail(c, rc);
}

static const struct opt paste_options[] = {
	FLAG("plain", 0, plain, "without the brackets ESC[200~ and ESC[201~"),
	OPT_END};

const struct command cmd_paste = {
	.name = "paste",
	.args = "ID [TEXT]",
	.words = "@session",
	.min_args = 1,
	.max_args = 2,
	.wants = "it needs a session id and text",
	.summary = "Paste text into a running session",
	.about = "TEXT may be -, or left out: then it is psup's own stdin.",
	.options = paste_options,
	.run = paste,
};
