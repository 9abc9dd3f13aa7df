/* SPDX-License-Identifier: MIT */
/* A talk of client and server, byte by byte, for docs/protocol.md. */
#include <stdio.h>

#include "common/check.h"
#include "common/codec.h"
#include "common/proto.h"
#include "gendoc.h"

/* One message in the shortest encoding, as a client's library writes it. */
static void
print_hex(const char *notation, struct enc *e)
{
	struct codec_arena *arena;
	const struct val *v;
	struct enc compact = ENC_INIT;
	char why[100];
	size_t used, i;

	CHECK(codec_decode(e->buf, e->len, &codec_limits_default, &used,
	    &arena, &v, why, sizeof(why)) == CODEC_OK);
	enc_val(&compact, v);
	CHECK(!compact.failed);
	printf("    %s\n\n   ", notation);
	for (i = 0; i < compact.len; i++)
		printf("%s%02x", i > 0 && i % 24 == 0 ? "\n    " : " ",
		    (unsigned)(unsigned char)compact.buf[i]);
	fputs("\n\n", stdout);
	codec_arena_free(&arena);
	enc_fini(&compact);
	enc_reset(e);
}

/* [0, id, method, */
static void
begin_request(struct enc *e, uint64_t id, const char *method)
{
	enc_array(e);
	enc_uint(e, 0);
	enc_uint(e, id);
	enc_str(e, method);
}

/* An exchange, byte by byte. */
void
print_example(void)
{
	struct enc e = ENC_INIT;
	struct proto_problem problem;

	puts("The client runs a command and asks for a session that is not "
	    "there. Client:\n");
	begin_request(&e, 1, "exec");
	enc_map(&e);
	enc_kv_str(&e, "command", "echo hi");
	enc_end(&e);
	enc_end(&e);
	print_hex("[0, 1, \"exec\", {\"command\": \"echo hi\"}]", &e);
	puts("Server (of the details, two are shown):\n");
	enc_array(&e);
	enc_uint(&e, 1);
	enc_uint(&e, 1);
	enc_nil(&e);
	enc_map(&e);
	enc_kv_str(&e, "text", "hi\n");
	enc_kv_map(&e, "details");
	enc_kv_str(&e, "status", "completed");
	enc_kv_int(&e, "exitCode", 0);
	enc_end(&e);
	enc_kv_bool(&e, "isError", false);
	enc_end(&e);
	enc_end(&e);
	print_hex("[1, 1, nil, {\"text\": \"hi\\n\", \"details\": {\"status\": "
	    "\"completed\", \"exitCode\": 0}, \"isError\": false}]", &e);
	puts("Client:\n");
	begin_request(&e, 2, "kill");
	enc_map(&e);
	enc_kv_str(&e, "sessionId", "nova-gulf");
	enc_end(&e);
	enc_end(&e);
	print_hex("[0, 2, \"kill\", {\"sessionId\": \"nova-gulf\"}]", &e);
	puts("Server:\n");
	proto_problem_set(&problem, PROTO_E_NOT_FOUND, "sessionId",
	    "no session nova-gulf");
	enc_array(&e);
	enc_uint(&e, 1);
	enc_uint(&e, 2);
	proto_encode_problem(&e, &problem);
	enc_nil(&e);
	enc_end(&e);
	print_hex("[1, 2, {\"code\": \"not-found\", \"message\": \"no session "
	    "nova-gulf\", \"field\": \"sessionId\"}, nil]", &e);
	enc_fini(&e);
}
