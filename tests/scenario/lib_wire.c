/* SPDX-License-Identifier: MIT */
/* The server's socket without libpsup, for bytes that it would not send. */
#include "lib_wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

int
raw_connect(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s/sock", runtime_dir());
	expect(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) ==
	        0,
	    "connect: %s", strerror(errno));
	return fd;
}

struct wire *
wire_open(void)
{
	struct wire *w = scn_alloc(sizeof(*w));
	struct timeval limit = {SCN_DEADLINE_MS / 1000, 0};

	w->fd = raw_connect();
	setsockopt(w->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return w;
}

struct wire *
wire_open_as_guest(void)
{
	char base[400];
	struct wire *w;

	snprintf(base, sizeof(base), "%s/..", runtime_dir());
	expect(chmod(base, 0711) == 0);
	expect(setegid(WIRE_GUEST) == 0 && seteuid(WIRE_GUEST) == 0);
	w = wire_open();
	expect(seteuid(0) == 0 && setegid(0) == 0);
	return w;
}

void
wire_close(struct wire *w)
{
	close(w->fd);
}

void
wire_request(struct enc *e, uint32_t id, const char *method,
    const struct enc *params)
{
	enc_array(e);
	enc_uint(e, 0);
	enc_uint(e, id);
	enc_str(e, method);
	enc_raw(e, params->buf, params->len);
	enc_end(e);
}

void
wire_put(struct wire *w, const struct enc *e)
{
	expect(!e->failed &&
	    send(w->fd, e->buf, e->len, MSG_NOSIGNAL) == (ssize_t)e->len);
}

void
wire_send(struct wire *w, const char *method, const struct enc *params)
{
	struct enc e = ENC_INIT;

	wire_request(&e, 7, method, params);
	wire_put(w, &e);
	enc_fini(&e);
}

size_t
wire_answer(struct wire *w, char *ret, size_t size)
{
	for (;;) {
		struct codec_arena *arena = NULL;
		const struct val *f;
		char why[100];
		size_t used = 0;
		bool answer;
		ssize_t n;

		if (codec_decode(w->buf, w->len, &codec_limits_trusted, &used,
			&arena, &f, why, sizeof(why)) == CODEC_OK) {
			answer = f->a.items[0].u == 1;
			codec_arena_free(&arena);
			expect(used <= size);
			memcpy(ret, w->buf, used);
			memmove(w->buf, w->buf + used, w->len - used);
			w->len -= used;
			if (answer)
				return used;
			continue; /* a notification */
		}
		n = recv(w->fd, w->buf + w->len, sizeof(w->buf) - w->len, 0);
		expect(n >= 0, "no answer in time");
		if (n == 0)
			return 0;
		w->len += (size_t)n;
	}
}

void
wire_expect_forbidden(struct wire *w, const char *const *methods, size_t count)
{
	struct enc none = ENC_INIT;
	char answer[4096];

	enc_map(&none);
	enc_end(&none);
	for (size_t i = 0; i < count; i++) {
		size_t n;

		wire_send(w, methods[i], &none);
		n = wire_answer(w, answer, sizeof(answer));
		expect(memmem(answer, n, "forbidden", 9) != NULL, "%s",
		    methods[i]);
	}
	enc_fini(&none);
}

bool
wire_hello(struct wire *w, const char *scope, const char *token)
{
	char answer[4096];
	struct enc e = ENC_INIT;
	size_t n;

	enc_map(&e);
	if (scope != NULL)
		enc_kv_str(&e, "scope", scope);
	if (token != NULL)
		enc_kv_str(&e, "token", token);
	enc_end(&e);
	wire_send(w, "hello", &e);
	enc_fini(&e);
	n = wire_answer(w, answer, sizeof(answer));
	expect(n > 0);
	if (memmem(answer, n, "incarnation", 11) != NULL)
		return true;
	expect(memmem(answer, n, "forbidden", 9) != NULL ||
	    memmem(answer, n, "invalid-params", 14) != NULL);
	expect(token == NULL || memmem(answer, n, token, strlen(token)) == NULL,
	    "the token is in the answer");
	expect(wire_answer(w, answer, sizeof(answer)) == 0, "not closed");
	return false;
}
