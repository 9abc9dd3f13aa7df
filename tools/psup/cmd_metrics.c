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

static const char *format, *address;

static int
run(struct cli *c, int, char **)
{
	if (c->json)
		return cli_usage(c, "there is no JSON of metrics; psup status "
		    "--json has the state");
	if (address != NULL && format != NULL)
		return cli_usage(c, "over HTTP the client chooses the format");
	if (address != NULL)
		return serve(c, address);
	return print(c, format != NULL && strcmp(format, "text") == 0
	        ? PSUP_METRICS_TEXT
	        : PSUP_METRICS_OPENMETRICS);
}

static const struct opt options[] = {
	TEXT("format", 0, "FORMAT", "openmetrics|text", format,
	    "openmetrics, or text, Prometheus' older format (openmetrics)"),
	TEXT("listen", 0, "ADDRESS", "?unix:|127.0.0.1:9464", address,
	    "answer GET /metrics over HTTP at unix:/PATH, a socket of mode "
	    "0600, or at 127.0.0.1:PORT or [::1]:PORT, which everybody on "
	    "this machine can ask, until SIGINT or SIGTERM"),
	OPT_END};

const struct command cmd_metrics = {
	.name = "metrics",
	.summary = "Print or serve metrics for Prometheus",
	.about = "Counters, gauges and histograms, read from shared memory: "
	         "the server does nothing for it, and it works while the "
	         "server's master is down.",
	.options = options,
	.run = run,
};
