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
add_hex(struct cli *c, struct hex *h, char *text)
{
	char *item;

	while ((item = strsep(&text, " ,\t\n")) != NULL) {
		if (*item == '\0')
			continue;
		if (h->count == KEYS_MAX) {
			cli_usage(c, "more than %d bytes of --hex", KEYS_MAX);
			return;
		}
		h->items[h->count++] = item;
	}
}

static int
send_keys(struct cli *c, int argc, char **argv)
{
	static const struct option own[] = {
		{"hex", required_argument, NULL, 'x'},
		{"literal", required_argument, NULL, 'l'},
		{"delay", required_argument, NULL, 'd'},
		{"force", no_argument, NULL, 'f'}, {0}};
	static struct hex hex;
	struct psup_keys k = PSUP_KEYS_INIT;
	psup_reply *reply;
	int opt, rc;

	while ((opt = cli_option(c, argc, argv, own)) != -1) {
		if (opt == 'x')
			add_hex(c, &hex, optarg);
		else if (opt == 'l')
			k.literal = optarg;
		else if (opt == 'd')
			k.delay_ms = (int)cli_number(c, "--delay", optarg, 0,
			    10000);
		else
			k.force = true;
	}
	if (c->usage_error)
		return EXIT_USAGE;
	if (optind == argc)
		return cli_usage(c, "it needs a session id and keys");
	if (argc - optind == 1 && hex.count == 0 && k.literal == NULL)
		return cli_usage(c, "it needs a KEY, --hex or --literal");
	k.hex = (const char *const *)hex.items;
	k.keys = (const char *const *)argv + optind + 1;
	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc == PSUP_OK)
		rc = psup_send_keys(c->p, argv[optind], &k, &reply);
	return rc == PSUP_OK ? cli_answer(c, &reply) : cli_fail(c, rc);
}

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
	.usage = "ID [OPTIONS] [--] KEY...",
	.summary = "Send keys to a running session",
	.help = "  KEY                a name, ^X, or a character, after any of "
	        "C- M- S-;\n"
	        "                     other text is sent as it is\n"
	        "  --hex BYTES        bytes in hex, before the keys: "
	        "\"1b 5b 41\"; repeatable\n"
	        "  --literal TEXT     sent before them, as it is\n"
	        "  --delay MS         wait so long between keys (up to 10000)\n"
	        "  --force            send cursor keys though the terminal's "
	        "mode is not\n                     known yet\n",
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
	psup_reply *reply;
	const char *data;
	int rc;

	if (cli_option(c, argc, argv, NULL) != -1 || c->usage_error)
		return EXIT_USAGE;
	if (argc - optind < 1 || argc - optind > 2)
		return cli_usage(c, "it needs a session id");
	data = argc - optind == 2 ? argv[optind + 1] : NULL;
	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc == PSUP_OK)
		rc = psup_submit(c->p, argv[optind], data,
		    data != NULL ? strlen(data) : 0, &reply);
	return rc == PSUP_OK ? cli_answer(c, &reply) : cli_fail(c, rc);
}

const struct command cmd_submit = {
	.name = "submit",
	.usage = "ID [DATA] [--json]",
	.summary = "Press Enter in a running session",
	.help = "  DATA               sent before the carriage return\n",
	.run = submit,
};

static int
paste(struct cli *c, int argc, char **argv)
{
	static const struct option own[] = {
		{"plain", no_argument, NULL, 'p'}, {0}};
	static char from_stdin[] = "-";
	bool bracketed = true;
	psup_reply *reply;
	size_t len;
	char *text;
	int rc;

	while (cli_option(c, argc, argv, own) != -1)
		bracketed = false;
	if (c->usage_error)
		return EXIT_USAGE;
	if (argc - optind < 1 || argc - optind > 2)
		return cli_usage(c, "it needs a session id and text");
	text = take_text(argc - optind == 2 ? argv[optind + 1] : from_stdin,
	    &len);
	if (text == NULL)
		return EXIT_INTERNAL;
	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc == PSUP_OK)
		rc = psup_paste(c->p, argv[optind], text, len, bracketed,
		    &reply);
	free(text);
	return rc == PSUP_OK ? cli_answer(c, &reply) : cli_fail(c, rc);
}

const struct command cmd_paste = {
	.name = "paste",
	.usage = "ID [TEXT] [--plain] [--json]",
	.summary = "Paste text into a running session",
	.help = "  TEXT               - or none means psup's own stdin\n"
	        "  --plain            without the brackets ESC[200~ and "
	        "ESC[201~\n",
	.run = paste,
};
