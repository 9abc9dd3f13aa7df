/* SPDX-License-Identifier: MIT */
/*
 * psup metrics --listen: libevent's HTTP server, bounded in clients, bytes and
 * time, around one page. It is a process of its own, so the server proper
 * never listens for HTTP; every answer is made from shared memory anew, so it
 * outlives servers, and an upgrade of them.
 */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "scrape.h"

#define IDLE_S    5     /* a client that says, or takes, nothing */
#define LIFE_MS   10000 /* of a connection in all, however busy */
#define HEAD_MAX  8192  /* bytes of a request's line and headers */
#define BODY_MAX  1024  /* nobody has anything to send */
#define LOOK_MS   200

#define HTTP_FORBIDDEN 403 /* event2/http.h does not have it */

/* A connection. libevent says nothing of its end, but a bufferevent that it
 * has freed, and that we still hold, has lost its callbacks' argument. */
struct client {
	struct bufferevent *bev; /* NULL: free */
	uint64_t since_ms;
};

struct scraper {
	const char *runtime_dir;
	struct event_base *base;
	struct evconnlistener *listener;
	bool local;         /* listens at a socket in the file system */
	struct event *look; /* while there are clients */
	struct client clients[SCRAPE_CLIENTS];
};

static bool
is_over(struct bufferevent *bev)
{
	void *arg = NULL;

	bufferevent_getcb(bev, NULL, NULL, NULL, &arg);
	return arg == NULL;
}

/* Lets go of those that are over and ends those that are too old. Returns how
 * many there are. */
static unsigned
look_through(struct scraper *s)
{
	uint64_t now = clock_boot_ms();
	unsigned n = 0;

	for (size_t i = 0; i < SCRAPE_CLIENTS; i++) {
		struct client *c = &s->clients[i];

		if (c->bev == NULL)
			continue;
		if (is_over(c->bev)) {
			bufferevent_decref(c->bev);
			c->bev = NULL;
			continue;
		}
		n++;
		if (now - c->since_ms >= LIFE_MS)
			(void)shutdown(bufferevent_getfd(c->bev), SHUT_RDWR);
	}
	return n;
}

/* Again and again, as long as there is anybody. */
static void
on_look(evutil_socket_t, short, void *arg)
{
	const struct timeval soon = {.tv_usec = LOOK_MS * 1000};
	struct scraper *s = arg;
	unsigned n = look_through(s);

	if (n < SCRAPE_CLIENTS)
		evconnlistener_enable(s->listener);
	if (n > 0)
		evtimer_add(s->look, &soon);
}

/* Somebody connected. */
static struct bufferevent *
on_connect(struct event_base *base, void *arg)
{
	const struct timeval soon = {.tv_usec = LOOK_MS * 1000};
	struct scraper *s = arg;
	unsigned n = look_through(s);
	struct bufferevent *bev = bufferevent_socket_new(base, -1, 0);

	for (size_t i = 0; bev != NULL && i < SCRAPE_CLIENTS; i++) {
		if (s->clients[i].bev != NULL)
			continue;
		bufferevent_incref(bev);
		s->clients[i] = (struct client){bev, clock_boot_ms()};
		break;
	}
	if (n + 1 >= SCRAPE_CLIENTS)
		evconnlistener_disable(s->listener);
	if (!evtimer_pending(s->look, NULL))
		evtimer_add(s->look, &soon);
	return bev;
}

/* A short answer in words. */
static void
answer_text(struct evhttp_request *req, int code, const char *reason,
    const char *text)
{
	struct evkeyvalq *h = evhttp_request_get_output_headers(req);
	struct evbuffer *b = evbuffer_new();

	evhttp_add_header(h, "Connection", "close");
	evhttp_add_header(h, "Content-Type", "text/plain; charset=utf-8");
	if (b != NULL)
		evbuffer_add_printf(b, "%s\n", text);
	evhttp_send_reply(req, code, reason, b);
	if (b != NULL)
		evbuffer_free(b);
}

/* What the client likes to read. */
static enum psup_metrics_format
format_for(struct evhttp_request *req)
{
	const char *accept = evhttp_find_header(
	    evhttp_request_get_input_headers(req), "Accept");

	return accept != NULL &&
	        strstr(accept, "application/openmetrics-text") != NULL
	    ? PSUP_METRICS_OPENMETRICS
	    : PSUP_METRICS_TEXT;
}

static void
free_text(const void *data, size_t, void *)
{
	free((void *)(uintptr_t)data);
}

/* GET /metrics */
static void
answer_metrics(struct scraper *s, struct evhttp_request *req)
{
	struct evkeyvalq *h = evhttp_request_get_output_headers(req);
	enum psup_metrics_format format = format_for(req);
	struct evbuffer *b = evbuffer_new();
	char why[512] = "", *text = NULL;
	psup_view *v = NULL;
	size_t len = 0;
	int rc;

	rc = psup_view_open(s->runtime_dir, &v, why, sizeof(why));
	if (rc != 0 && rc != -ENOENT) {
		/* another version's memory, say: nothing to be guessed at */
		answer_text(req, HTTP_SERVUNAVAIL, "Service Unavailable",
		    why[0] != '\0' ? why : strerror(-rc));
	} else if (b == NULL ||
	    psup_view_metrics(v, format, &text, &len) != 0) {
		answer_text(req, HTTP_INTERNAL, "Internal Server Error",
		    "out of memory");
	} else {
		evhttp_add_header(h, "Connection", "close");
		evhttp_add_header(h, "Content-Type",
		    psup_metrics_content_type(format));
		if (evbuffer_add_reference(b, text, len, free_text, NULL) != 0)
			free(text);
		evhttp_send_reply(req, HTTP_OK, "OK", b);
	}
	if (b != NULL)
		evbuffer_free(b);
	psup_view_close(&v);
}

/*
 * Is this machine's loopback what the client thinks it asks? A page of
 * somebody's in a browser here reaches us by a name of his that he lets point
 * here (DNS rebinding), and the browser says that name. A client of HTTP/1.0
 * may say none; no page gets to a socket in the file system.
 */
static bool
host_is_ours(const struct scraper *s, struct evhttp_request *req)
{
	const char *said = evhttp_find_header(
	    evhttp_request_get_input_headers(req), "Host");
	const char *target = evhttp_uri_get_host(
	    evhttp_request_get_evhttp_uri(req));

	if (s->local)
		return true;
	return (said == NULL || scrape_is_loopback(said)) &&
	    (target == NULL || scrape_is_loopback(target));
}

/* One request. */
static void
on_request(struct evhttp_request *req, void *arg)
{
	const char *path = evhttp_uri_get_path(
	    evhttp_request_get_evhttp_uri(req));
	enum evhttp_cmd_type method = evhttp_request_get_command(req);

	if (!host_is_ours(arg, req)) {
		answer_text(req, HTTP_FORBIDDEN, "Forbidden",
		    "Host is not localhost, 127.0.0.1 or [::1]");
	} else if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_HEAD) {
		evhttp_add_header(evhttp_request_get_output_headers(req),
		    "Allow", "GET, HEAD");
		answer_text(req, HTTP_BADMETHOD, "Method Not Allowed",
		    "only GET is answered");
	} else if (path == NULL || strcmp(path, "/metrics") != 0) {
		answer_text(req, HTTP_NOTFOUND, "Not Found",
		    "there is nothing but /metrics");
	} else {
		answer_metrics(arg, req);
	}
}

static void
on_signal(evutil_socket_t, short, void *arg)
{
	event_base_loopbreak(arg);
}

/* What libevent has to say goes where everything of psup's goes, escaped. */
static void
on_log(int severity, const char *text)
{
	if (severity >= EVENT_LOG_ERR)
		cli_say("%.200s", text);
}

/* Everything that evhttp can bound. */
static struct evhttp *
http_new(struct scraper *s, int fd)
{
	struct evhttp *http = evhttp_new(s->base);
	struct evhttp_bound_socket *bound;

	if (http == NULL)
		return NULL;
	evhttp_set_timeout(http, IDLE_S);
	evhttp_set_max_headers_size(http, HEAD_MAX);
	evhttp_set_max_body_size(http, BODY_MAX);
	evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD |
	    EVHTTP_REQ_POST | EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE |
	    EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH | EVHTTP_REQ_TRACE |
	    EVHTTP_REQ_CONNECT);
	evhttp_set_bevcb(http, on_connect, s);
	evhttp_set_gencb(http, on_request, s);
	bound = evhttp_accept_socket_with_handle(http, fd);
	if (bound == NULL) {
		evhttp_free(http);
		return NULL;
	}
	s->listener = evhttp_bound_socket_get_listener(bound);
	return http;
}

int
scrape_serve(struct cli *c, int fd)
{
	struct scraper s = {.runtime_dir = c->runtime_dir};
	struct sockaddr_storage at = {0};
	socklen_t at_len = sizeof(at);
	struct event *ends[2] = {NULL, NULL};
	struct evhttp *http = NULL;
	int code = EXIT_INTERNAL;

	if (getsockname(fd, (struct sockaddr *)&at, &at_len) == 0)
		s.local = at.ss_family == AF_UNIX;
	(void)signal(SIGPIPE, SIG_IGN);
	event_set_log_callback(on_log);
	s.base = event_base_new();
	if (s.base != NULL) {
		s.look = evtimer_new(s.base, on_look, &s);
		ends[0] = evsignal_new(s.base, SIGINT, on_signal, s.base);
		ends[1] = evsignal_new(s.base, SIGTERM, on_signal, s.base);
		http = http_new(&s, fd);
	}
	if (http != NULL && s.look != NULL && ends[0] != NULL &&
	    ends[1] != NULL && event_add(ends[0], NULL) == 0 &&
	    event_add(ends[1], NULL) == 0) {
		event_base_dispatch(s.base);
		code = EXIT_OK;
	} else {
		cli_say("no memory for an HTTP server");
	}
	if (http != NULL)
		evhttp_free(http);
	for (size_t i = 0; i < SCRAPE_CLIENTS; i++)
		if (s.clients[i].bev != NULL)
			bufferevent_decref(s.clients[i].bev);
	for (size_t i = 0; i < 2; i++)
		if (ends[i] != NULL)
			event_free(ends[i]);
	if (s.look != NULL)
		event_free(s.look);
	if (s.base != NULL)
		event_base_free(s.base);
	return code;
}
