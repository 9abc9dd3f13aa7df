/* SPDX-License-Identifier: MIT */
/* See link.h. Called by call.c and events.c for what is to be sent, and by
 * loop.c. */
#include "link.h"

#include "call.h"
#include "common/clock.h"
#include "events.h"
#include "log.h"
#include "options.h"
#include "subscribe.h"
#include "surroundings.h"

#define LOST_NS (5000 * NSEC_PER_MSEC) /* then nobody waits any more */
#define AGAIN_MS 500 /* of another try for events: it holds everybody up */

static struct {
	psup *calls, *events;
	uint64_t lost_ns; /* when the calls' connection broke; 0: it has not */
	bool held;
} ln;

int
link_init(void)
{
	int rc = psup_new(&ln.calls);

	if (rc == PSUP_OK)
		rc = psup_new(&ln.events);
	if (rc == PSUP_OK) {
		psup_on_note(ln.calls, call_note, NULL);
		psup_on_note(ln.events, events_note, NULL);
	}
	return rc;
}

void
link_fini(void)
{
	psup_free(&ln.calls);
	psup_free(&ln.events);
}

psup *
link_handle(void)
{
	return ln.calls;
}

static void
ignore_answer(void *, int, psup_reply *reply)
{
	psup_reply_free(&reply);
}

static int
connect_one(psup *p, bool start, int timeout_ms)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	psup_args *own = NULL;
	int rc;

	o.runtime_dir = mcp_options->runtime_dir;
	o.token_file = mcp_options->token_file;
	o.scope = surroundings_scope();
	o.client = "psup-mcp";
	o.start = start && !mcp_options->no_start;
	o.timeout_ms = timeout_ms;
	o.resume = p == ln.calls;
	if (p == ln.calls)
		o.defaults = own = surroundings_exec_args();
	rc = psup_connect(p, &o);
	psup_args_free(&own);
	return rc;
}

/* Events are not worth an error: the server keeps them. */
static void
connect_events(int timeout_ms)
{
	if (psup_is_connected(ln.events) ||
	    connect_one(ln.events, false, timeout_ms) != PSUP_OK)
		return;
	events_begin();
	psup_send(ln.events, "subscribe", NULL, ignore_answer, NULL, NULL);
}

/* An admin's connection sees every scope: a token that is none, or empty, must
 * not make us one. */
int
link_reach(void)
{
	int rc = PSUP_OK;

	if (!psup_is_connected(ln.calls)) {
		rc = connect_one(ln.calls, true, 0);
		if (rc != PSUP_OK)
			mcp_log("%s", psup_error_message(ln.calls));
	}
	if (rc == PSUP_OK)
		connect_events(0);
	return rc;
}

int
link_send(const char *method, const psup_args *a, psup_answer_fn *fn,
    void *arg, uint32_t *ret_id, bool *ret_reached)
{
	int rc = link_reach();

	*ret_reached = rc == PSUP_OK;
	return rc == PSUP_OK ? psup_send(ln.calls, method, a, fn, arg, ret_id)
	                     : rc;
}

void
link_tell(const char *method, const psup_args *a)
{
	if (psup_is_connected(ln.calls))
		psup_send(ln.calls, method, a, ignore_answer, NULL, NULL);
}

void
link_cancel(uint32_t id)
{
	psup_cancel(ln.calls, id);
}

/* ------------------------------------------------------------------- loop */

void
link_poll(struct pollfd pfd[LINK_FDS])
{
	pfd[0] = (struct pollfd){
		.fd = psup_fd(ln.calls), .events = psup_fd_events(ln.calls)};
	pfd[1] = (struct pollfd){
		.fd = psup_fd(ln.events), .events = psup_fd_events(ln.events)};
}

void
link_hold(bool held)
{
	if (held == ln.held)
		return;
	ln.held = held;
	psup_pause(ln.calls, held);
	psup_pause(ln.events, held);
	if (!held)
		link_dispatch(NULL);
}

void
link_dispatch(const struct pollfd *pfd)
{
	if ((pfd == NULL || pfd[0].revents != 0) &&
	    psup_is_connected(ln.calls))
		psup_dispatch(ln.calls);
	if ((pfd == NULL || pfd[1].revents != 0) &&
	    psup_is_connected(ln.events))
		psup_dispatch(ln.events);
}

/* Should events come though nobody calls? */
static bool
wants_events(void)
{
	return subscribe_any() && !psup_is_connected(ln.events);
}

void
link_tick(void)
{
	if (!psup_is_resuming(ln.calls))
		ln.lost_ns = 0;
	else if (ln.lost_ns == 0)
		ln.lost_ns = clock_boot_ns();
	else if (clock_boot_ns() - ln.lost_ns > LOST_NS) {
		ln.lost_ns = 0;
		psup_close(ln.calls); /* who waits is told */
	} else
		return;
	if (wants_events())
		connect_events(AGAIN_MS);
}

bool
link_ticks(void)
{
	return psup_is_resuming(ln.calls) || wants_events();
}
