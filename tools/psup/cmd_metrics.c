/* SPDX-License-Identifier: MIT */
/*
 * psup metrics: what the server has done and does, for Prometheus and its
 * like; once to stdout, or to whoever asks over HTTP on this machine. Reads
 * shared memory; the server need not answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "scrape.h"

/* Once, to stdout. */
static int
print(struct cli *c, enum psup_metrics_format format)
{
	psup_view *v = NULL;
	char *text;
	size_t len;
	int code = view_open(c, &v);

	if (code != EXIT_OK)
		return code;
	if (psup_view_metrics(v, format, &text, &len) == 0) {
		fwrite(text, 1, len, stdout);
		free(text);
	} else {
		cli_say("no memory");
		code = EXIT_INTERNAL;
	}
	psup_view_close(&v);
	return code;
}

/* To whoever asks, until somebody ends us. */
static int
serve(struct cli *c, const char *address)
{
	char shown[512];
	int fd, code;

	if (cli_is_scoped(c)) {
		cli_say("shared memory shows every scope: it is not served on "
		        "behalf of one");
		return EXIT_FAILED;
	}
	fd = scrape_bind(address, shown, sizeof(shown));
	if (fd < 0) {
		cli_say("%s", shown);
		return fd == SCRAPE_NO_ADDRESS ? EXIT_USAGE : EXIT_FAILED;
	}
	cli_putf("listening at %s\n", shown);
	fflush(stdout);
	code = scrape_serve(c, fd);
	scrape_unbind(address);
	return code;
}

static int
run(struct cli *c, int argc, char **argv)
{
	static const struct option own[] = {
		{"format", required_argument, NULL, 'f'},
		{"listen", required_argument, NULL, 'l'}, {0}};
	enum psup_metrics_format format = PSUP_METRICS_OPENMETRICS;
	const char *address = NULL;
	bool chosen = false;
	int opt;

	while ((opt = cli_option(c, argc, argv, own)) != -1) {
		if (opt == 'l') {
			address = optarg;
			continue;
		}
		chosen = true;
		if (strcmp(optarg, "text") == 0)
			format = PSUP_METRICS_TEXT;
		else if (strcmp(optarg, "openmetrics") != 0)
			return cli_usage(c, "--format %.40s: openmetrics or "
			    "text is expected", optarg);
	}
	if (c->usage_error)
		return EXIT_USAGE;
	if (optind != argc)
		return cli_usage(c, "it takes no argument");
	if (c->json)
		return cli_usage(c, "there is no JSON of metrics; psup status "
		    "--json has the state");
	if (address != NULL && chosen)
		return cli_usage(c, "over HTTP the client chooses the format");
	return address != NULL ? serve(c, address) : print(c, format);
}

const struct command cmd_metrics = {
	.name = "metrics",
	.usage = "[--format openmetrics|text | --listen ADDRESS]",
	.summary = "Print or serve metrics for Prometheus",
	.help = "  --format FORMAT    openmetrics (the default), or text: "
	        "Prometheus' older one\n"
	        "  --listen ADDRESS   answer GET /metrics at 127.0.0.1:PORT, "
	        "[::1]:PORT or\n"
	        "                     unix:/PATH until SIGINT or SIGTERM\n",
	.run = run,
};
