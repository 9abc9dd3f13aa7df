/* SPDX-License-Identifier: MIT */
/*
 * psup-mcp: any bytes on its stdin, in any pieces, with no server anywhere. What
 * it says is JSON-RPC, a line each, and nothing is left under way.
 */
#include <jansson.h>

#include "fuzz.h"
#include "tools/mcp/call.h"
#include "tools/mcp/lines.h"
#include "tools/mcp/link.h"
#include "tools/mcp/log.h"
#include "tools/mcp/options.h"
#include "tools/mcp/out.h"
#include "tools/mcp/rpc.h"
#include "tools/mcp/subscribe.h"

static struct mcp_options options = {.max_output = 30000,
    .max_yield_ms = 45000, .on_cancel = "end", .no_start = true};
const struct mcp_options *const mcp_options = &options;
static psup *handle;
static uint64_t said;

void
mcp_log(const char *fmt, ...)
{
	(void)fmt;
}

/* A message of ours: an answer or a notification. */
void
out_message(json_t *message)
{
	char *text = json_dumps(message, JSON_COMPACT);
	const json_t *id = json_object_get(message, "id");

	EXPECT(text != NULL && strchr(text, '\n') == NULL);
	EXPECT(strcmp(json_string_value(json_object_get(message, "jsonrpc")),
	           "2.0") == 0);
	EXPECT(id == NULL || rpc_is_id(id));
	EXPECT((json_object_get(message, "method") != NULL) +
	        (json_object_get(message, "result") != NULL) +
	        (json_object_get(message, "error") != NULL) == 1);
	said += strlen(text) + 1;
	free(text);
	json_decref(message);
}

size_t
out_queued(void)
{
	return 0;
}

uint64_t
out_end(void)
{
	return said;
}

uint64_t
out_written(void)
{
	return said;
}

psup *
link_handle(void)
{
	return handle;
}

/* As far as libpsup's own check of the request. */
int
link_reach(void)
{
	return PSUP_OK;
}

int
link_send(const char *method, const psup_args *a, psup_answer_fn *fn,
    void *arg, uint32_t *ret_id, bool *ret_reached)
{
	*ret_reached = true;
	return psup_send(handle, method, a, fn, arg, ret_id);
}

void
link_tell(const char *method, const psup_args *a)
{
	(void)method;
	(void)a;
}

void
link_cancel(uint32_t id)
{
	(void)id;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t piece = take_byte(&data, &size) % 64 + 1;
	struct lines l = {.len = 0};

	if (handle == NULL) {
		clearenv();
		EXPECT(psup_new(&handle) == PSUP_OK);
	}
	options.classic = piece % 2 == 0;
	for (size_t n; size > 0; data += n, size -= n) {
		n = size < piece ? size : piece;
		EXPECT(lines_feed(&l, (const char *)data, n, rpc_take_line,
		           NULL) == 0);
	}
	EXPECT(calls_count() == 0);
	subscribe_close();
	EXPECT(!subscribe_any());
	lines_free(&l);
	return 0;
}
