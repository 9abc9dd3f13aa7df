/* SPDX-License-Identifier: MIT */
/* What cannot start now, whatever its params are: the server stops, its
 * directory is gone, the scope is drained or another's, no host is for it; and
 * what its start found is not there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "supervisor/api/conn.h"
#include "supervisor/api/exec.h"
#include "supervisor/api/exec_host.h"
#include "supervisor/api/exec_spec.h"

/* Was the directory, or what is in it, deleted under us? Looked for once a
 * turn. */
static bool
runtime_dir_gone(struct master *m)
{
	struct stat st;

	if (m->dir_seen_ns == m->turn_began_ns)
		return false;
	if (fstat(m->dirfd, &st) < 0 || st.st_nlink == 0 ||
	    faccessat(m->dirfd, "rings", F_OK, 0) < 0)
		return true;
	m->dir_seen_ns = m->turn_began_ns;
	return false;
}

const char *
exec_scope(const struct api_call *c, char own[48])
{
	const char *scope = conn_scope(c->conn);

	if (scope != NULL)
		return scope;
	val_copy(c->params, "scope", own, 48);
	return own;
}

/* Does its scope take no new sessions? */
static bool
exec_drained(struct api_call *c, struct proto_problem *why)
{
	char own[48];
	const char *scope = exec_scope(c, own);

	if (!drains_has(c->m->drains, scope))
		return false;
	proto_problem_set(why, PROTO_E_SCOPE_DRAINING, "scope",
	    "scope %s is being drained: it takes no new sessions", scope);
	return true;
}

bool
exec_refused(
    struct api_call *c, struct box_answer *ret_host, struct proto_problem *why)
{
	char own[48];

	if (c->m->stopping) {
		proto_problem_set(why, PROTO_E_STOPPING, "",
		    "the server is shutting down");
		return true;
	}
	if (exec_check(c->params, why) < 0)
		return true;
	if (defaults_refuse(c, why))
		return true;
	if (runtime_dir_gone(c->m)) {
		proto_problem_set(why, PROTO_E_RUNTIME_GONE, "",
		    "the runtime directory %s was deleted: nothing new "
		    "starts; stop this server (psupd, pid %d) and start "
		    "another",
		    c->m->h.runtime_dir, (int)c->m->h.keeper_pid);
		return true;
	}
	if (conn_scope(c->conn) != NULL &&
	    val_get(c->params, "scope") != NULL &&
	    !val_is_str(val_get(c->params, "scope"), conn_scope(c->conn))) {
		proto_problem_set(why, PROTO_E_FORBIDDEN, "scope",
		    "this connection belongs to another scope");
		return true;
	}
	return exec_drained(c, why) ||
	    exec_host(&c->m->cfg, c->m->sandbox_why, c->params,
		exec_scope(c, own), ret_host, why) < 0;
}

/* Its child could not go to the directory: that is said as if it had been
 * known before, and nothing of the session is kept (session_ended). */
void
exec_never_was(struct req *r, const struct session *s)
{
	int error = abs(s->facts.error);
	struct proto_problem why;
	char shown[200];

	if (s->facts.stage == STAGE_BOX) {
		proto_problem_set(&why, PROTO_E_UNSUPPORTED, "host", "%s",
		    s->facts.hung_at != NULL && s->facts.hung_at[0] != '\0'
			? s->facts.hung_at
			: "no sandbox: the box ended before the command was "
			  "in it");
		req_fail(r, &why);
		return;
	}
	text_escape(s->wish.cwd, strlen(s->wish.cwd), false, shown,
	    sizeof(shown));
	((struct exec *)r->state)->cwd = s->wish.cwd;
	req_refuse(r, PROTO_E_WORKDIR, NULL, "workdir %s%s%s; nothing was run",
	    shown, error == ENOTDIR ? " is not a directory" : ": ",
	    error == ENOTDIR ? "" : strerror(error));
}
