/* SPDX-License-Identifier: MIT */
/*
 * psup-mcp: the tools of psup for MCP clients, over stdin and stdout. It keeps
 * nothing that another one would need: sessions, output and ends are the
 * server's.
 *
 *     loop.c       waits            lines.c, out.c   lines in and out
 *     rpc.c        JSON-RPC         era.c            versions of MCP
 *     methods.c    a row each       tools.c          what a model sees
 *     call.c       calls under way  arguments.c, progress.c, pollack.c, result.c
 *     resource.c   sessions as resources            subscribe.c
 *     link.c       the server       events.c         ends, told once
 *     surroundings.c  folder, scope, environment    scope.c, login_env.c
 */
#include <stdlib.h>

#include "link.h"
#include "log.h"
#include "loop.h"
#include "options.h"
#include "surroundings.h"

int
main(int argc, char **argv)
{
	int code = options_take(argc, argv);

	if (code >= 0)
		return code;
	if (surroundings_init() < 0)
		return EXIT_USAGE;
	if (link_init() != PSUP_OK) {
		mcp_log("no memory");
		return EXIT_FAILURE;
	}
	code = loop_run();
	link_fini();
	return code;
}
