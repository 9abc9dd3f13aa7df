/* SPDX-License-Identifier: MIT */
/* psup-top: looks for the server, then display or batch. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"

/* Characters are UTF-8 here, whatever the locale is called. */
static void
set_characters(void)
{
	if (setlocale(LC_CTYPE, "") == NULL ||
	    strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		setlocale(LC_CTYPE, "C.UTF-8");
}

/* Is there anything to show? 0 or an exit code, and it was said. */
static int
look(const char *runtime_dir)
{
	psup_view *v = NULL;
	char why[512] = "";
	int rc = psup_view_open(runtime_dir, &v, why, sizeof(why));

	psup_view_close(&v);
	if (rc >= 0)
		return 0;
	fprintf(stderr, "psup-top: %s%s\n",
	    why[0] != '\0' ? why : strerror(-rc),
	    rc == -ENOENT ? " (psupd or any psup exec starts one)" : "");
	return rc == -ENOENT || rc == -EPROTO ? TOP_EXIT_NO_SERVER
	                                      : EXIT_FAILURE;
}

int
main(int argc, char **argv)
{
	static struct top_model m;
	struct top_options *o;
	int rc;

	set_characters();
	signal(SIGPIPE, SIG_IGN);
	rc = options_take(&o, argc, argv);
	if (rc >= 0)
		return rc;
	if (!o->batch && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))) {
		fputs("psup-top: this is no terminal; use --batch or --json\n",
		    stderr);
		return EXIT_USAGE;
	}
	rc = o->batch ? 0 : look(o->runtime_dir);
	if (rc != 0)
		return rc;
	model_init(&m, o->runtime_dir);
	rc = o->batch ? batch_run(&m, o) : display_run(&m, o);
	list_fini(&o->list);
	model_fini(&m);
	return rc;
}
