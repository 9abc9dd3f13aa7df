/* SPDX-License-Identifier: MIT */
/*
 * psup token: makes, lists and revokes scope tokens. An admin's command: a
 * connection that is itself bound to a scope is refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#define VERBS "mint|list|revoke"

static struct {
	const char *scope, *label, *out;
} o;

/* Writes a token into a file that must be new and that nobody else reads. */
static int
write_token(const char *path, const char *token)
{
	size_t len = strlen(token);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC |
	    O_NOFOLLOW, 0600);

	if (fd < 0 || write(fd, token, len) != (ssize_t)len ||
	    write(fd, "\n", 1) != 1 || close(fd) < 0) {
		cli_say("%s: %s; no token is made", path, strerror(errno));
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

/* What was minted; with a file the token itself is not printed. */
static int
show_minted(struct cli *c, const psup_value *v, const char *out)
{
	char token[PSUP_TOKEN_SIZE], id[40];
	int code = EXIT_OK;
	json_t *shown;

	psup_get_copy(v, "token", token, sizeof(token));
	psup_get_copy(v, "id", id, sizeof(id));
	if (out != NULL)
		code = write_token(out, token);
	if (c->json && code == EXIT_OK) {
		shown = json_of_value(v);
		if (out != NULL)
			json_object_del(shown, "token");
		cli_print_json(shown);
	} else if (code == EXIT_OK) {
		printf("%s\n", out != NULL ? id : token);
	}
	explicit_bzero(token, sizeof(token));
	return code;
}

/* A token that nobody will ever see opens nothing. */
static void
withdraw(struct cli *c, const psup_value *minted)
{
	psup_reply *reply;
	char id[40];

	psup_get_copy(minted, "id", id, sizeof(id));
	if (psup_revoke_token(c->p, id, NULL, &reply) == PSUP_OK)
		psup_reply_free(&reply);
	else
		cli_say("token %s could not be revoked: %s", id,
		    psup_error_message(c->p));
}

/* psup token mint SCOPE */
static int
run_mint(struct cli *c, int argc, char **argv)
{
	psup_reply *reply;
	int code, rc;

	if (argc != 1)
		return cli_usage(c, "mint needs one scope");
	rc = psup_mint_token(c->p, argv[0], o.label, &reply);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	code = show_minted(c, psup_reply_value(reply), o.out);
	if (code != EXIT_OK)
		withdraw(c, psup_reply_value(reply));
	psup_reply_free(&reply);
	return code;
}

/* psup token list */
static int
run_list(struct cli *c, int argc, char **)
{
	const psup_value *list;
	psup_reply *reply;
	int rc;

	if (argc != 0)
		return cli_usage(c, "list takes no argument");
	rc = psup_list_tokens(c->p, o.scope, &reply);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	list = psup_value_get(psup_reply_value(reply), "tokens");
	if (c->json)
		cli_print_json(json_of_value(psup_reply_value(reply)));
	for (size_t i = 0; !c->json && i < psup_value_count(list); i++) {
		const psup_value *v = psup_value_at(list, i);
		char id[40], scope[64], label[64], line[240];
		int n;

		psup_get_copy(v, "id", id, sizeof(id));
		psup_get_copy(v, "scope", scope, sizeof(scope));
		psup_get_copy(v, "label", label, sizeof(label));
		n = snprintf(line, sizeof(line), "%s %s%s%s", id, scope,
		    label[0] != '\0' ? " :: " : "", label);
		cli_print_text(line, n < 0 ? 0 : (size_t)n);
	}
	psup_reply_free(&reply);
	return EXIT_OK;
}

/* psup token revoke ID, or --scope S */
static int
run_revoke(struct cli *c, int argc, char **argv)
{
	psup_reply *reply;
	int64_t n;
	int rc;

	if (argc + (o.scope != NULL) != 1)
		return cli_usage(c, "revoke needs one id, or --scope");
	rc = psup_revoke_token(c->p, argc == 1 ? argv[0] : NULL, o.scope,
	    &reply);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	n = psup_get_int(psup_reply_value(reply), "revoked", 0);
	if (c->json)
		cli_print_json(json_of_value(psup_reply_value(reply)));
	else
		printf("revoked %lld\n", (long long)n);
	psup_reply_free(&reply);
	return n > 0 || argc == 0 ? EXIT_OK : EXIT_NOT_FOUND;
}

static const struct {
	const char *name;
	int (*run)(struct cli *c, int argc, char **argv);
} verbs[] = {
	{"mint", run_mint}, {"list", run_list}, {"revoke", run_revoke},
};

static int
run(struct cli *c, int argc, char **argv)
{
	size_t i;
	int rc;

	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i].name, argv[0]) == 0)
			break;
	if (i == sizeof(verbs) / sizeof(verbs[0]))
		return usage_no_word(&c->usage, "a thing to do", argv[0],
		    VERBS);
	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	return verbs[i].run(c, argc - 1, argv + 1);
}

static const struct opt options[] = {
	TEXT("label", 0, "L", NULL, o.label, "shown by list"),
	TEXT("out", 0, "FILE", "@file", o.out,
	    "write it into FILE (new, mode 0600), and print its id"),
	TEXT("scope", 0, "S", "@scope", o.scope, "of this scope alone"),
	OPT_END};

const struct command cmd_token = {
	.name = "token",
	.args = "mint SCOPE | list | revoke ID|--scope S",
	.words = VERBS " @scope",
	.min_args = 1,
	.max_args = 2,
	.wants = "expected mint, list or revoke",
	.summary = "Make, list and revoke scope tokens",
	.about = "Who shows a token sees the sessions of its scope alone. mint "
	         "prints it, once.",
	.options = options,
	.run = run,
};
