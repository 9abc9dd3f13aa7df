/* SPDX-License-Identifier: MIT */
/* Who we say we are, and whom we trust to be the server; kept for connections
 * that follow. Called by client.c, and by resume.c for its hello. */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

void
identity_free(struct identity *who)
{
	free(who->client);
	free(who->scope);
	if (who->defaults != NULL) /* a command's environment */
		explicit_bzero(who->defaults->enc.buf, who->defaults->enc.len);
	psup_args_free(&who->defaults);
	explicit_bzero(who, sizeof(*who));
}

/* Who the server may be, beside ourselves and root. */
static int
find_server_user(struct psup *p, const char *text)
{
	const struct passwd *pw;
	char *end;
	unsigned long uid;

	if (text == NULL)
		text = getenv("PSUP_SERVER_USER");
	p->who.names_server = text != NULL && text[0] != '\0';
	if (!p->who.names_server)
		return PSUP_OK;
	errno = 0;
	uid = strtoul(text, &end, 10);
	pw = getpwnam(text);
	if (pw != NULL)
		uid = pw->pw_uid;
	else if (text[0] < '0' || text[0] > '9' || *end != '\0' ||
	    errno != 0 || uid >= UINT32_MAX)
		return error_set(p, PSUP_ERR_USAGE, "usage", "server_user",
		    "server_user: \"%.40s\" is no user; expected a name or a "
		    "uid", text);
	p->who.server = (uid_t)uid;
	return PSUP_OK;
}

/* The token of the options, or none. */
static int
find_token(struct psup *p, const struct psup_options *o)
{
	const char *path = o->token_file;

	if (o->token != NULL) {
		if (strlcpy(p->who.token, o->token, PSUP_TOKEN_SIZE) ==
		    PSUP_TOKEN_SIZE - 1)
			return PSUP_OK;
		return error_set(p, PSUP_ERR_USAGE, "usage", "token",
		    "psup_options.token is no token; expected %d hex digits",
		    PSUP_TOKEN_SIZE - 1);
	}
	if (path == NULL)
		path = getenv("PSUP_TOKEN_FILE");
	if (path == NULL || path[0] == '\0')
		return PSUP_OK;
	return psup_read_token_file(p, path, p->who.token);
}

int
identity_take(struct psup *p, const struct psup_options *o)
{
	const char *client = o->client != NULL ? o->client
	                                       : program_invocation_short_name;
	int rc;

	identity_free(&p->who);
	p->resume = (struct resume){.all = o->resume};
	p->who.no_process = o->no_process;
	if (client[0] != '\0' && strlen(client) <= 64 &&
	    psup_is_utf8(client, strlen(client)))
		p->who.client = strdup(client);
	if (o->scope != NULL && (p->who.scope = strdup(o->scope)) == NULL)
		return error_set(p, PSUP_ERR_NO_MEMORY, "no-memory", "",
		    "no memory for the scope");
	if (o->defaults != NULL &&
	    (p->who.defaults = args_copy(o->defaults)) == NULL)
		return error_set(p, PSUP_ERR_NO_MEMORY, "no-memory", "",
		    "no memory for the defaults");
	rc = find_server_user(p, o->server_user);
	return rc == PSUP_OK ? find_token(p, o) : rc;
}

int
client_hello(struct psup *p, psup_answer_fn *fn, void *arg)
{
	psup_args *a = psup_args_new();
	int rc;

	if (p->who.client != NULL)
		psup_args_str(a, "client", p->who.client);
	psup_args_int(a, "protocol", PROTO_VERSION);
	if (p->who.scope != NULL)
		psup_args_str(a, "scope", p->who.scope);
	if (p->who.token[0] != '\0')
		psup_args_str(a, "token", p->who.token);
	if (p->who.no_process)
		psup_args_bool(a, "process", false);
	rc = client_greet(p, "hello", a, fn, arg);
	psup_args_free(&a);
	return rc;
}

int
client_defaults(struct psup *p, psup_answer_fn *fn, void *arg)
{
	return client_greet(p, "defaults", p->who.defaults, fn, arg);
}

bool
psup_has_defaults(const struct psup *p)
{
	return p->who.kept;
}
